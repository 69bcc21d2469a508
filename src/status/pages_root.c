/* pages_root.c: the page at "/" and its files at "/assets/...": embedded files, without figures.
 *
 * The page reads its figures from the other pages.  All its links are relative, so it works below a
 * base path and behind a proxy. */
#include "status/assets_impl.h"
#include "status/pages_impl.h"

/* Nothing but this server's own files may be loaded, run, or asked; no other site may frame it.
 * no-cache: a client asks whether its copy is still right (ETag), so an update shows at once. */
static const char guard[] =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src "
    "'self'; connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'\r\n"
    "Cache-Control: no-cache\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "X-Content-Type-Options: nosniff\r\n";

static void put_escaped(struct mf_buf *b, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            mf_buf_puts(b, "&lt;");
            break;
        case '>':
            mf_buf_puts(b, "&gt;");
            break;
        case '&':
            mf_buf_puts(b, "&amp;");
            break;
        case '"':
            mf_buf_puts(b, "&quot;");
            break;
        default:
            mf_buf_byte(b, (uint8_t)*text);
        }
    }
}

/* bare_base: "/a/prefix", asked for without a slash behind it: links then start from "prefix/".
 * NULL: they are right as they are. */
void page_root(const char *bare_base, struct mf_buf *out)
{
    static const char mark[] = "<head>";
    const char *page = (const char *)assets[0].bytes;
    size_t n = assets[0].n, head = 0;

    if (bare_base != NULL) {
        const char *last = strrchr(bare_base, '/');
        while (head + sizeof mark - 1 < n && memcmp(page + head, mark, sizeof mark - 1) != 0)
            head++;
        head += sizeof mark - 1;
        mf_buf_append(out, page, head);
        mf_buf_puts(out, "<base href=\"./");
        put_escaped(out, last == NULL ? bare_base : last + 1);
        mf_buf_puts(out, "/\">");
    }
    mf_buf_append(out, page + head, n - head);
}

static void get_root(void *arg, const struct monitor_request *q, struct monitor_reply *r)
{
    bool bare = monitor_path_is_bare(q);

    (void)arg;
    r->content_type = assets[0].content_type;
    r->headers = guard;
    r->etag = bare ? NULL : assets[0].etag;
    page_root(bare ? monitor_base_path(q) : NULL, r->body);
}

static void get_asset(void *arg, const struct monitor_request *q, struct monitor_reply *r)
{
    const struct asset *a = arg;

    (void)q;
    r->content_type = a->content_type;
    r->headers = guard;
    r->etag = a->etag;
    mf_buf_append(r->body, a->bytes, a->n);
}

int page_root_register(struct monitor *m)
{
    if (monitor_add(m, "/", get_root, NULL) != 0)
        return MF_NOMEM;
    for (size_t i = 1; i < asset_count; i++)
        if (monitor_add(m, assets[i].path, get_asset, (void *)&assets[i]) != 0)
            return MF_NOMEM;
    return 0;
}
