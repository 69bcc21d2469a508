/* origin.c: which web pages may connect.  Scheme, host and port are compared, ports defaulted. */
#include "ws/upgrade_impl.h"

#include <ctype.h>

struct origin {
    struct mf_slice scheme, host, port;
};

/* "host", "host:port", "[v6]:port"; without brackets; port "80" or "443" when there is none. */
static bool split_host(struct mf_slice s, bool tls, struct origin *o)
{
    const uint8_t *colon;

    o->port = tls ? MF_LIT("443") : MF_LIT("80");
    if (s.len > 0 && s.ptr[0] == '[') {
        const uint8_t *end = memchr(s.ptr, ']', s.len);
        if (end == NULL)
            return false;
        o->host = mf_slice(s.ptr + 1, (size_t)(end - s.ptr) - 1);
        s = mf_slice(end + 1, s.len - o->host.len - 2);
        if (s.len > 0 && s.ptr[0] != ':')
            return false;
        colon = s.len > 0 ? s.ptr : NULL;
    } else {
        colon = s.len == 0 ? NULL : memchr(s.ptr, ':', s.len);
        o->host = colon == NULL ? s : mf_slice(s.ptr, (size_t)(colon - s.ptr));
    }
    if (colon != NULL && colon + 1 < s.ptr + s.len) {
        o->port = mf_slice(colon + 1, (size_t)(s.ptr + s.len - colon - 1));
        for (size_t i = 0; i < o->port.len; i++)
            if (!isdigit(o->port.ptr[i]))
                return false;
    }
    return o->host.len > 0;
}

/* "scheme://host[:port][/...]".  A page without an origin says "null", which is none. */
static bool split_origin(struct mf_slice s, struct origin *o)
{
    const uint8_t *mark = s.len == 0 ? NULL : memmem(s.ptr, s.len, "://", 3);
    size_t n = 0;

    if (mark == NULL || mark == s.ptr)
        return false;
    o->scheme = mf_slice(s.ptr, (size_t)(mark - s.ptr));
    s = mf_slice(mark + 3, s.len - o->scheme.len - 3);
    while (n < s.len && s.ptr[n] != '/' && s.ptr[n] != '?' && s.ptr[n] != '#')
        n++;
    return split_host(mf_slice(s.ptr, n), mf_eq_nocase(o->scheme, "https"), o);
}

static bool same_text(struct mf_slice a, struct mf_slice b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (tolower(a.ptr[i]) != tolower(b.ptr[i]))
            return false;
    return true;
}

static bool same_origin(const struct origin *a, const struct origin *b)
{
    return same_text(a->scheme, b->scheme) && same_text(a->host, b->host) &&
           mf_eq(a->port, b->port);
}

bool ws_origin_allowed(const struct http_request *r, const struct ws_options *o,
                       const char **reason)
{
    struct mf_slice text = MF_SLICE_NONE;
    struct origin is, want;

    if (!o->same_origin && o->norigins == 0)
        return true;
    if ((!http_get(r, "Origin", &text) || text.len == 0) &&
        !http_get(r, "Sec-WebSocket-Origin", &text))
        return true; /* not a browser: it could claim any origin (RFC 6455, 1.6) */
    if (text.len == 0)
        return true;
    *reason = "origin not allowed: invalid origin";
    if (!split_origin(text, &is))
        return false;
    if (o->same_origin) {
        want.scheme = o->tls ? MF_LIT("https") : MF_LIT("http");
        *reason = "origin not allowed: not same origin";
        if (!split_host(r->host, o->tls, &want) || !same_origin(&is, &want))
            return false;
    }
    *reason = "origin not allowed: not in the allowed list";
    for (size_t i = 0; i < o->norigins; i++)
        if (split_origin(mf_str(o->origins[i]), &want) && same_origin(&is, &want))
            return true;
    return o->norigins == 0;
}
