/* reply.c: the bytes of an answer: head, JSONP, gzip. */
#include "monitor/monitor_impl.h"

#include <zlib.h>

#define GZIP_ABOVE   1024
#define CALLBACK_MAX 128
#define NOT_MODIFIED 304

void monitor_answer_head(struct mf_buf *out, const struct answer *a, size_t length, int64_t wall_ns)
{
    char date[HTTP_DATE];

    mf_buf_printf(out, "HTTP/1.%d %d %s\r\n", a->http10 ? 0 : 1, a->status,
                  http_status_text(a->status));
    if (a->open_to_all)
        mf_buf_puts(out, "Access-Control-Allow-Origin: *\r\n");
    if (a->allow != NULL)
        mf_buf_printf(out, "Allow: %s\r\n", a->allow);
    if (a->etag != NULL)
        mf_buf_printf(out, "ETag: %s\r\n", a->etag);
    if (a->headers != NULL)
        mf_buf_puts(out, a->headers);
    if (a->status != NOT_MODIFIED)
        mf_buf_printf(out, "Content-Type: %s\r\n", a->content_type);
    if (a->varies)
        mf_buf_puts(out, "Vary: Accept-Encoding\r\n");
    if (a->gzip)
        mf_buf_puts(out, "Content-Encoding: gzip\r\n");
    if (a->nosniff)
        mf_buf_puts(out, "X-Content-Type-Options: nosniff\r\n");
    mf_buf_printf(out, "Date: %s\r\n", http_date(date, wall_ns));
    if (a->status != NOT_MODIFIED) /* its length would be that of the page */
        mf_buf_printf(out, "Content-Length: %zu\r\n", length);
    if (!a->keep_alive)
        mf_buf_puts(out, "Connection: close\r\n");
    else if (a->http10)
        mf_buf_puts(out, "Connection: keep-alive\r\n");
    mf_buf_puts(out, "\r\n");
}

/* Tags are compared weakly: the same file is sent plain and compressed. */
static struct mf_slice strong_tag(struct mf_slice tag)
{
    return mf_starts(tag, "W/") ? mf_slice(tag.ptr + 2, tag.len - 2) : tag;
}

bool monitor_etag_known(struct mf_slice list, const char *etag)
{
    const char *own = strncmp(etag, "W/", 2) == 0 ? etag + 2 : etag;
    struct mf_slice tag;

    while (list.len > 0 && http_next(&list, ',', &tag))
        if (mf_eq_str(tag, "*") || mf_eq_str(strong_tag(tag), own))
            return true;
    return false;
}

/* The name is run as script: letters, digits, _ and $, joined by dots; no code. */
bool monitor_callback_valid(const char *name)
{
    size_t n = strlen(name);
    bool start = true; /* of an identifier */

    if (n == 0 || n > CALLBACK_MAX)
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = name[i];
        bool digit = c >= '0' && c <= '9';
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
        if (c == '.' ? start : !(letter || (digit && !start)))
            return false;
        start = c == '.';
    }
    return !start;
}

bool monitor_gzip_wanted(const char *content_type, size_t length)
{
    struct mf_slice type = mf_str(content_type);

    return length > GZIP_ABOVE && (mf_starts(type, "application/") || mf_starts(type, "text/"));
}

int monitor_gzip(struct mf_buf *out, struct mf_slice in)
{
    z_stream z = {.zalloc = Z_NULL};
    int rc = Z_OK;

    /* 16: with gzip's header.  Speed first: JSON shrinks to a tenth even so. */
    if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return MF_NOMEM;
    while (rc == Z_OK) {
        size_t piece = in.len < (1u << 20) ? in.len : 1u << 20; /* zlib counts in 32 bits */
        size_t room = deflateBound(&z, piece) + 4096; /* and what earlier pieces left inside */
        uint8_t *to = mf_buf_reserve(out, room);
        if (to == NULL)
            break;
        z.next_in = (z_const Bytef *)in.ptr;
        z.avail_in = (uInt)piece;
        z.next_out = to;
        z.avail_out = (uInt)room;
        rc = deflate(&z, piece == in.len ? Z_FINISH : Z_NO_FLUSH);
        out->len += room - z.avail_out;
        piece -= z.avail_in;
        in = mf_slice(in.ptr + piece, in.len - piece);
    }
    deflateEnd(&z);
    return rc == Z_STREAM_END ? 0 : MF_NOMEM;
}
