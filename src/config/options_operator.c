/* options_operator.c: operators, trusted keys and the sentinel of operator mode. */
#include "config/options_operator_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* --- files ------------------------------------------------------------------------------------ */

static bool is_jwt_byte(uint8_t b)
{
    return (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || (b >= '0' && b <= '9') || b == '-' ||
           b == '_' || b == '.' || b == '=';
}

/* The token in a text that may have it between lines of dashes; else all of the text. */
static struct mf_slice take_token(struct mf_slice text)
{
    size_t at = 0;

    while (at < text.len) {
        const uint8_t *line = text.ptr + at, *end = memchr(line, '\n', text.len - at);
        size_t len = end == NULL ? text.len - at : (size_t)(end - line), good = 0;
        struct mf_slice s = mf_trim(mf_slice(line, len));
        while (good < s.len && is_jwt_byte(s.ptr[good]))
            good++;
        if (s.len > 3 && good == s.len && memcmp(s.ptr, "eyJ", 3) == 0)
            return s;
        at += len + 1;
    }
    return mf_trim(text);
}

/* MF_IO: the file cannot be read; errno says why. */
static int read_file(const char *path, struct mf_buf *out)
{
    char piece[4096];
    size_t n;
    int rc = 0;
    FILE *f = fopen(path, "re");

    if (f == NULL)
        return MF_IO;
    while (rc == 0 && (n = fread(piece, 1, sizeof piece, f)) > 0) {
        mf_buf_append(out, piece, n);
        if (out->len > JWT_SIZE_MAX)
            rc = MF_LIMIT;
    }
    if (rc == 0 && ferror(f))
        rc = MF_IO;
    fclose(f);
    return rc != 0 ? rc : out->failed ? MF_NOMEM : 0;
}

/* --- operators -------------------------------------------------------------------------------- */

static void add_operator(struct opt *c, const struct conf_value *v, struct mf_slice text)
{
    struct options_operator *p = c->o->operators;
    struct mf_error e;
    struct jwt *j, **all;

    if (jwt_decode_as(&j, JWT_OPERATOR, text, &e) != 0) {
        opt_error(c, v, "error parsing operator JWT: %s", e.text);
        return;
    }
    all = realloc(p->operators, (p->noperators + 1) * sizeof *all);
    if (all == NULL) {
        jwt_free(j);
        opt_error(c, v, "error parsing operator JWT: out of memory");
        return;
    }
    p->operators = all;
    all[p->noperators++] = j;
    c->o->operator_set = true;
    /* Another key could have written any operator's name into it. */
    if (strcmp(j->iss, j->sub) != 0)
        opt_error(c, v, "operator %s is not signed by itself, but by %s", j->sub, j->iss);
}

void opt_read_operator(struct opt *c, const struct conf_value *v, void *options)
{
    struct options_list files = {NULL, 0};

    (void)options;
    if (v->type != CONF_STRING && v->type != CONF_ARRAY) {
        opt_error(c, v, "error parsing operators: expected a file name or a JWT, got %s",
                  conf_type_name(v->type));
        return;
    }
    if (!opt_strings(c, v, &files))
        return;
    c->o->impl->operators_named = files.n;
    for (size_t i = 0; i < files.n; i++) {
        const char *f = files.items[i];
        struct mf_buf text = {0};
        int rc = read_file(f, &text);
        if (rc == 0)
            add_operator(c, v, take_token(mf_buf_slice(&text)));
        else if (strncmp(f, "eyJ", 3) == 0)
            add_operator(c, v, mf_str(f));
        else
            opt_error(c, v, "error parsing operator JWT: open %s: %s", f,
                      rc == MF_LIMIT ? "file too large"
                      : errno == ENOENT
                          ? "no such file or directory"
                          : (errno == EACCES ? "permission denied" : "cannot be read"));
        mf_buf_fini(&text);
    }
}

void opt_read_trusted_keys(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;
    struct options_list keys = {NULL, 0};

    if (!opt_strings(c, v, &keys))
        return;
    for (size_t i = 0; i < keys.n; i++)
        if (!opt_text_nkey_valid(keys.items[i], 'O'))
            opt_error(c, v, "trust key \"%.60s\" required to be a valid public operator nkey",
                      keys.items[i]);
    o->operators->trusted = keys;
    o->impl->ntrusted = keys.n;
    o->operator_set = o->operator_set || keys.n > 0;
}

void opt_read_resolver_pinned(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;
    struct options_list keys = {NULL, 0};

    if (!opt_strings(c, v, &keys))
        return;
    for (size_t i = 0; i < keys.n; i++)
        if (!opt_text_nkey_valid(keys.items[i], 'A'))
            opt_error(c, v, "pinned account key \"%.60s\" is not a valid public account nkey",
                      keys.items[i]);
    o->operators->pinned = keys;
}

void opt_read_default_sentinel(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;
    char *jwt;

    if (opt_string(c, v, &jwt) && jwt[0] != '\0')
        o->operators->default_sentinel = jwt;
}

/* --- checks that need the whole file ---------------------------------------------------------- */

static void trust_operators(struct opt *c)
{
    struct options_operator *p = c->o->operators;

    for (size_t i = 0; i < p->noperators; i++) {
        const struct jwt *j = p->operators[i];
        const struct jwt_operator *claims = j->operator_claims;
        if (!claims->strict_signing_key_usage)
            opt_list_add(c, &p->trusted, j->sub);
        for (size_t k = 0; k < claims->signing_keys.n; k++) {
            const char *key = claims->signing_keys.at[k];
            if (opt_text_nkey_valid(key, 'O'))
                opt_list_add(c, &p->trusted, key);
            else
                opt_error(c, opt_place(c->o, "operator"),
                          "trust key \"%.60s\" required to be a valid public operator nkey", key);
        }
    }
}

/* "2.15.1"; false: it is not of this form. */
static bool read_version(const char *text, uint64_t part[3])
{
    for (size_t i = 0; i < 3; i++) {
        size_t n = strcspn(text, ".");
        if (n > 6 || mf_parse_u64(mf_slice(text, n), &part[i]) != 0)
            return false;
        text += n;
        if (*text != (i < 2 ? '.' : '\0'))
            return false;
        text++;
    }
    return true;
}

/* assert_server_version: at least this version of nats-server. */
static void check_version(struct opt *c, const struct jwt *j)
{
    static const uint64_t own[3] = {2, 15, 1};
    static const char *const names[3] = {"major", "minor", "update"};
    const char *text = j->operator_claims->assert_server_version;
    uint64_t wanted[3];

    if (text[0] == '\0')
        return;
    if (!read_version(text, wanted)) {
        opt_error(c, opt_place(c->o, "operator"),
                  "operator %s expects version %.40s got error instead: asserted server version "
                  "must be of the form <major>.<minor>.<update>",
                  j->sub, text);
        return;
    }
    for (size_t i = 0; i < 3 && wanted[i] >= own[i]; i++) {
        if (wanted[i] == own[i])
            continue;
        opt_error(c, opt_place(c->o, "operator"),
                  "operator %s expected %s version %llu > server %s version %llu", j->sub, names[i],
                  (unsigned long long)wanted[i], names[i], (unsigned long long)own[i]);
        return;
    }
}

static void take_system_account(struct opt *c)
{
    struct options *o = c->o;
    struct options_operator *p = o->operators;

    for (size_t i = 0; i < p->noperators; i++) {
        const char *key = p->operators[i]->operator_claims->system_account;
        if (key[0] == '\0')
            continue;
        if (!opt_text_nkey_valid(key, 'A'))
            opt_error(c, opt_place(o, "operator"),
                      "operator %s: system account \"%.60s\" is not a public account key",
                      p->operators[i]->sub, key);
        else if (mf_has_text(o->system_account) && strcmp(o->system_account, key) != 0)
            opt_error(c, opt_place(o, "operator"),
                      "system_account in config and operator JWT must be identical");
        else if (p->noperators == 1)
            o->system_account = arena_str(c->a, key);
    }
    if (p->noperators > 0 && !mf_has_text(o->system_account))
        opt_warn(c, opt_place(o, "operator"), "Trusted Operators should utilize a System Account");
}

static bool is_empty_grant(const struct jwt_grant *g)
{
    return jwt_permissions_empty(&g->perms) && g->src.n == 0 && g->times.n == 0 &&
           g->connection_types.n == 0 && g->subs == 0 && g->data == 0 && g->payload == 0 &&
           !g->proxy_required;
}

static void check_sentinel(struct opt *c)
{
    const struct options *o = c->o;
    const struct conf_value *at = opt_place(o, "default_sentinel");
    const char *text = o->operators->default_sentinel;
    struct mf_error e;
    struct jwt *j;

    if (text == NULL)
        return;
    if (o->operators->noperators == 0) {
        opt_error(c, at, "default sentinel requires operators and accounts");
        return;
    }
    if (jwt_decode_as(&j, JWT_USER, mf_str(text), &e) != 0) {
        opt_error(c, at, "default sentinel JWT not valid");
        return;
    }
    if (!j->user->grant.bearer_token && !is_empty_grant(&j->user->grant))
        opt_error(c, at, "default sentinel must be a bearer token");
    jwt_free(j);
}

/* An account is either in the file or has a JWT. */
static void check_conflicts(struct opt *c)
{
    const struct options *o = c->o;
    const struct conf_value *at = opt_place(o, "operator");
    bool users = o->auth.nusers > 0;

    if (o->impl->operators_named == 0)
        return;
    for (size_t i = 0; i < o->naccounts; i++)
        users = users || o->accounts[i].nusers > 0;
    if (o->naccounts > 0)
        opt_error(c, at, "operators do not allow Accounts to be configured directly");
    else if (users)
        opt_error(c, at, "operators do not allow users to be configured directly");
    else if (o->impl->ntrusted > 0)
        opt_error(c, at, "conflicting options for 'TrustedKeys' and 'TrustedOperators'");
    if (o->auth.callout != NULL)
        opt_error(c, at, "operators do not allow authorization callouts to be configured directly");
}

void opt_finish_operator(struct opt *c)
{
    struct options *o = c->o;
    struct options_operator *p = o->operators;

    check_conflicts(c);
    check_sentinel(c);
    if (o->impl->ntrusted == 0)
        trust_operators(c);
    for (size_t i = 0; i < p->noperators; i++)
        check_version(c, p->operators[i]);
    take_system_account(c);
    opt_finish_resolver(c);
    if (p->pinned.n > 0 && mf_has_text(o->system_account))
        opt_list_add(c, &p->pinned, o->system_account);
}

void opt_free_operator(struct options *o)
{
    if (o->operators == NULL)
        return;
    for (size_t i = 0; i < o->operators->noperators; i++)
        jwt_free(o->operators->operators[i]);
    free(o->operators->operators);
}
