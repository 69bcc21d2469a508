/* options_text.c: checks of texts (nkeys, URLs), and the nearest known name. */
#include "config/options_impl.h"

#include "base/spell.h"
#include "codec/nkey.h"

#include <stdio.h>

/* --- nkeys ------------------------------------------------------------------------------------ */

bool opt_text_nkey_valid(const char *s, char prefix)
{
    enum nkey_kind kind;
    return s != NULL && nkey_is_public(mf_str(s), &kind) && (prefix == 0 || s[0] == prefix);
}

bool opt_text_nkey_seed_valid(const char *s, char prefix)
{
    enum nkey_kind kind;
    uint8_t raw[32];
    return s != NULL && nkey_decode_seed(mf_str(s), &kind, raw) == 0 && s[1] == prefix;
}

/* --- URLs ------------------------------------------------------------------------------------- */

bool opt_text_url_scheme(const char *url, const char *scheme)
{
    size_t n = strlen(scheme);
    return strlen(url) > n && mf_eq_nocase(mf_slice(url, n), scheme) && url[n] == ':';
}

/* host, host:port, [::1] or [::1]:port. */
static bool port_valid(struct mf_slice host)
{
    const uint8_t *end = host.ptr + host.len, *p = end;
    while (p > host.ptr && p[-1] != ':' && p[-1] != ']')
        p--;
    if (p == host.ptr || p[-1] == ']')
        return true;
    for (; p < end; p++)
        if (*p < '0' || *p > '9')
            return false;
    return true;
}

char *opt_text_url_redacted(struct arena *a, const char *url)
{
    while (*url == ' ' || *url == '\t')
        url++;
    size_t len = strlen(url);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)url[i] < 0x20 || url[i] == 0x7f)
            return NULL;
    const char *host = strstr(url, "://");
    if (host == NULL) {
        bool letter = (url[0] >= 'a' && url[0] <= 'z') || (url[0] >= 'A' && url[0] <= 'Z');
        bool bad = memchr(url, '@', len) != NULL || (!letter && memchr(url, ':', len) != NULL);
        return bad ? NULL : arena_str(a, url);
    }
    if (host == url)
        return NULL;
    host += 3;
    size_t n = strcspn(host, "/?#");
    const char *at = NULL;
    for (size_t i = 0; i < n; i++) {
        if (host[i] == '@')
            at = &host[i];
        if (host[i] == ' ')
            return NULL;
    }
    const char *name = at == NULL ? host : at + 1;
    if (!port_valid(mf_slice(name, n - (size_t)(name - host))))
        return NULL;
    if (at != NULL)
        return arena_printf(a, "%.*s[REDACTED]@%s", (int)(host - url), url, at + 1);
    return n == 0 ? NULL : arena_str(a, url);
}

/* --- case ------------------------------------------------------------------------------------- */

char *opt_text_lower(struct arena *a, const char *s)
{
    char *t = arena_str(a, s);
    for (char *p = t; p != NULL && *p != '\0'; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p + ('a' - 'A'));
    return t;
}

char *opt_text_upper(struct arena *a, const char *s)
{
    char *t = arena_str(a, s);
    for (char *p = t; p != NULL && *p != '\0'; p++)
        if (*p >= 'a' && *p <= 'z')
            *p = (char)(*p - ('a' - 'A'));
    return t;
}

/* --- suggestions ------------------------------------------------------------------------------ */

const char *opt_nearest(const struct opt_block *b, const char *key, char *buf, size_t cap)
{
    size_t len = strlen(key);
    unsigned best = len <= 3 ? 2 : len <= 8 ? 3 : 4; /* exclusive */
    const char *found = NULL;
    for (size_t i = 0; i < b->n; i++) {
        const char *name = b->fields[i].names;
        while (name != NULL) {
            const char *space = strchr(name, ' ');
            size_t n = space == NULL ? strlen(name) : (size_t)(space - name);
            unsigned d = spell_distance(mf_slice(key, len), mf_slice(name, n));
            if (d < best && d < n) {
                best = d;
                snprintf(buf, cap, "%.*s", (int)n, name);
                found = buf;
            }
            name = space == NULL ? NULL : space + 1;
        }
    }
    return found;
}
