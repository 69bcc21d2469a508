/* options_leaf_url.c: URLs of remotes in parts; user info kept apart from what may be shown. */
#include "config/options_impl.h"
#include "config/options_leaf.h"

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* %41 is A; a % without two hex digits stays as it is. */
static char *decode_percent(struct arena *a, struct mf_slice s)
{
    char *text = arena_alloc(a, s.len + 1), *out = text;
    for (size_t i = 0; text != NULL && i < s.len; i++) {
        int high = -1, low = -1;
        if (s.ptr[i] == '%' && i + 2 < s.len) {
            high = hex_digit(s.ptr[i + 1]);
            low = hex_digit(s.ptr[i + 2]);
        }
        if (high >= 0 && low >= 0 && high + low > 0) {
            *out++ = (char)(high << 4 | low);
            i += 2;
        } else {
            *out++ = (char)s.ptr[i];
        }
    }
    return text;
}

static struct mf_slice until(struct mf_slice s, const char *stops)
{
    size_t n = 0;
    while (n < s.len && strchr(stops, s.ptr[n]) == NULL)
        n++;
    return mf_slice(s.ptr, n);
}

static struct mf_slice after(struct mf_slice s, size_t n)
{
    return mf_slice(s.ptr + n, s.len - n);
}

/* Cuts "user:password@" off; the last @ counts, as a password may hold one. */
static bool split_user(struct arena *a, struct mf_slice *authority, struct options_leaf_url *out)
{
    size_t at = authority->len;
    while (at > 0 && authority->ptr[at - 1] != '@')
        at--;
    if (at == 0)
        return true;
    struct mf_slice info = mf_slice(authority->ptr, at - 1), user = until(info, ":");
    *authority = after(*authority, at);
    if (info.len == 0)
        return true;
    out->user = decode_percent(a, user);
    if (out->user == NULL)
        return false;
    if (user.len == info.len)
        return true;
    out->password = decode_percent(a, after(info, user.len + 1));
    return out->password != NULL;
}

static bool split_port(struct arena *a, struct mf_slice host, struct options_leaf_url *out)
{
    uint64_t port;
    size_t colon = host.len;
    while (colon > 0 && host.ptr[colon - 1] != ':' && host.ptr[colon - 1] != ']')
        colon--;
    if (colon > 0 && host.ptr[colon - 1] == ':') {
        if (mf_parse_u64(after(host, colon), &port) == 0)
            out->port = port > 65535 ? 0 : (int)port; /* 0 can never connect */
        host.len = colon - 1;
    }
    if (host.len >= 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']')
        host = mf_slice(host.ptr + 1, host.len - 2);
    out->host = arena_dup(a, host);
    return out->host != NULL;
}

bool opt_split_leaf_url(struct arena *a, const char *text, int port, struct options_leaf_url *out)
{
    struct mf_slice s = mf_trim(mf_str(text));
    const char *mark = strstr(text, "://");
    *out = (struct options_leaf_url){.port = port};
    struct mf_slice scheme = mf_slice(s.ptr, mark == NULL ? 0 : (size_t)(mark - (char *)s.ptr));
    char *name = arena_dup(a, scheme);
    out->scheme = name == NULL ? NULL : opt_text_lower(a, name);
    if (out->scheme == NULL)
        return false;
    s = after(s, mark == NULL ? 0 : scheme.len + 3);
    struct mf_slice authority = until(s, "/?#");
    struct mf_slice path = until(after(s, authority.len), "?#");
    while (path.len > 0 && path.ptr[path.len - 1] == '/')
        path.len--;
    out->path = arena_dup(a, path);
    out->ws = strcmp(out->scheme, "ws") == 0 || strcmp(out->scheme, "wss") == 0;
    out->tls = strcmp(out->scheme, "tls") == 0 || strcmp(out->scheme, "wss") == 0;
    if (out->path == NULL || !split_user(a, &authority, out) || !split_port(a, authority, out))
        return false;
    const char *open = strchr(out->host, ':') != NULL ? "[" : "";
    out->shown = arena_printf(a, "%s%s%s%s%s:%d%s", out->scheme, mark == NULL ? "" : "://", open,
                              out->host, open[0] == '[' ? "]" : "", out->port, out->path);
    return out->shown != NULL;
}
