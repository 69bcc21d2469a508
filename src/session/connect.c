/* connect.c: reads the JSON of CONNECT as Go's decoder does: keys in any case, null leaves a field
 * unchanged, the last of several values counts, a wrong type refuses the whole document. */
#include "session/connect.h"

#include "base/buf.h"
#include "base/utf8.h"

#include <jansson.h>
#include <stdlib.h>

struct field {
    const char *key;
    enum { F_BOOL, F_INT, F_STRING } type;
    size_t offset;
};
#define FIELD(key, type, member)                                                                   \
    {                                                                                              \
        key, type, offsetof(struct connect_opts, member)                                           \
    }
static const struct field fields[] = {
    FIELD("verbose", F_BOOL, verbose),
    FIELD("pedantic", F_BOOL, pedantic),
    FIELD("echo", F_BOOL, echo),
    FIELD("tls_required", F_BOOL, tls_required),
    FIELD("headers", F_BOOL, headers),
    FIELD("no_responders", F_BOOL, no_responders),
    FIELD("protocol", F_INT, protocol),
    FIELD("user", F_STRING, user),
    FIELD("pass", F_STRING, pass),
    FIELD("auth_token", F_STRING, token),
    FIELD("nkey", F_STRING, nkey),
    FIELD("sig", F_STRING, sig),
    FIELD("jwt", F_STRING, jwt),
    FIELD("name", F_STRING, name),
    FIELD("lang", F_STRING, lang),
    FIELD("version", F_STRING, version),
    FIELD("proxy_sig", F_STRING, proxy_sig),
};

static char *field_string(const json_t *value)
{
    return mf_slice_dup(mf_slice(json_string_value(value), json_string_length(value)));
}

static int field_set(const struct field *f, struct connect_opts *o, const json_t *value,
                     struct mf_error *e)
{
    void *at = (char *)o + f->offset;

    if (json_is_null(value))
        return 0;
    if (f->type == F_BOOL && json_is_boolean(value)) {
        *(bool *)at = json_is_true(value);
        return 0;
    }
    if (f->type == F_INT && json_is_integer(value)) {
        json_int_t n = json_integer_value(value);
        *(int *)at = n < -1 || n > 1000 ? -1 : (int)n;
        return 0;
    }
    if (f->type == F_STRING && json_is_string(value)) {
        char *copy = field_string(value);
        if (copy == NULL)
            return mf_fail(e, MF_NOMEM, "CONNECT");
        free(*(char **)at);
        *(char **)at = copy;
        return 0;
    }
    return mf_fail(e, MF_INVAL, "CONNECT: field \"%s\" has the wrong type", f->key);
}

static int object_read(const json_t *object, struct connect_opts *o, struct mf_error *e)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value)
    {
        struct mf_slice name = mf_str(key);
        for (size_t i = 0; i < MF_COUNT(fields); i++)
            if (mf_eq_nocase(name, fields[i].key) && field_set(&fields[i], o, value, e) != 0)
                return MF_INVAL;
        if (mf_eq_nocase(name, "account") && !json_is_string(value) && !json_is_null(value))
            return mf_fail(e, MF_INVAL, "CONNECT: field \"account\" has the wrong type");
        if ((mf_eq_nocase(name, "account") && json_string_length(value) > 0) ||
            (mf_eq_nocase(name, "new_account") && json_is_true(value)))
            o->account_named = true;
    }
    return 0;
}

static bool is_surrogate(const uint8_t *p, size_t n, char low, char high)
{
    return n >= 6 && p[0] == '\\' && p[1] == 'u' && (p[2] == 'd' || p[2] == 'D') &&
           (p[3] | 32) >= low && (p[3] | 32) <= high;
}

/* A piece of a string: malformed UTF-8 and lone surrogates become U+FFFD, as Go reads them. */
static size_t mend_string(const uint8_t *p, size_t left, struct mf_buf *out)
{
    uint32_t rune;
    size_t n = utf8_next(p, left, &rune);

    if (n == 0) {
        mf_buf_append(out, "\xef\xbf\xbd", 3);
        return 1;
    }
    if (*p == '\\' && is_surrogate(p, left, '8', 'b') && is_surrogate(p + 6, left - 6, 'c', 'f')) {
        mf_buf_append(out, p, 12);
        return 12;
    }
    if (*p == '\\' && is_surrogate(p, left, '8', 'f')) {
        mf_buf_puts(out, "\\ufffd");
        return 6;
    }
    n = *p == '\\' && left > 1 ? 2 : n; /* an escaped quote does not end, \\ does not begin \u */
    mf_buf_append(out, p, n);
    return n;
}

/* A number that does not fit 64 bits, or with an exponent, is valid in fields that are not read,
 * but jansson refuses the document.  A fraction replaces it. */
static size_t mend_number(const uint8_t *p, size_t left, struct mf_buf *out)
{
    size_t n = 0;
    bool odd = false;

    for (; n < left && p[n] != '\0' && strchr("-+0123456789.eE", p[n]) != NULL; n++)
        odd = odd || (p[n] | 32) == 'e';
    if (odd || n > 18)
        mf_buf_puts(out, "0.5");
    else
        mf_buf_append(out, p, n);
    return n;
}

static void mend_text(struct mf_slice json, struct mf_buf *out)
{
    const uint8_t *p = json.ptr, *end = json.ptr + json.len;
    bool in_string = false;

    while (p < end) {
        size_t left = (size_t)(end - p);
        if (*p == '"')
            in_string = !in_string;
        if (!in_string && (*p == '-' || (*p >= '0' && *p <= '9'))) {
            p += mend_number(p, left, out);
        } else if (in_string && *p != '"') {
            p += mend_string(p, left, out);
        } else {
            mf_buf_byte(out, *p++);
        }
    }
}

int connect_parse(struct mf_slice json, struct connect_opts *out, struct mf_error *e)
{
    struct mf_buf text = MF_BUF_INIT;
    json_error_t why;
    json_t *root;
    int rv = 0;

    mend_text(json, &text);
    root = json_loadb((const char *)text.ptr, text.len, JSON_ALLOW_NUL | JSON_DECODE_ANY, &why);
    mf_buf_fini(&text);
    if (root == NULL)
        /* jansson's text quotes the input, which may be a password */
        return mf_fail(e, MF_INVAL, "CONNECT: invalid JSON at byte %d", why.position);
    if (json_is_object(root))
        rv = object_read(root, out, e);
    else if (!json_is_null(root)) /* null is the empty object to Go */
        rv = mf_fail(e, MF_INVAL, "CONNECT: an object is expected");
    json_decref(root);
    return rv;
}

bool connect_info_ok(struct mf_slice json)
{
    static const char *const texts[] = {"server_id", "server_name", "version", "go",    "host",
                                        "nonce",     "client_ip",   "cluster", "domain"};
    static const char *const numbers[] = {"port", "proto", "max_payload", "client_id"};
    json_t *root = json_loadb((const char *)json.ptr, json.len, JSON_DECODE_ANY, NULL);
    bool ok = json_is_object(root) || json_is_null(root);

    for (size_t i = 0; i < MF_COUNT(texts); i++) {
        const json_t *value = json_object_get(root, texts[i]);
        ok = ok && (value == NULL || json_is_string(value) || json_is_null(value));
    }
    for (size_t i = 0; i < MF_COUNT(numbers); i++) {
        const json_t *value = json_object_get(root, numbers[i]);
        ok = ok && (value == NULL || json_is_integer(value) || json_is_null(value));
    }
    json_decref(root);
    return ok;
}

/* memset before free may be dropped by the compiler; this one is not. */
static void wipe_secret(char **secret)
{
    if (*secret != NULL)
        explicit_bzero(*secret, strlen(*secret));
    free(*secret);
    *secret = NULL;
}

void connect_opts_forget(struct connect_opts *o)
{
    wipe_secret(&o->pass);
    wipe_secret(&o->token);
    wipe_secret(&o->sig);
    wipe_secret(&o->jwt);
    wipe_secret(&o->proxy_sig);
}

void connect_opts_fini(struct connect_opts *o)
{
    connect_opts_forget(o);
    free(o->user);
    free(o->nkey);
    free(o->name);
    free(o->lang);
    free(o->version);
    *o = CONNECT_OPTS_INIT;
}
