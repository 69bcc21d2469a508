/* msgtrace_header.c: what the headers of a message ask for.  Names are compared as nats-server
 * compares them: traceparent without case, all others exactly; blanks around a value do not
 * count. */
#include "msgtrace/msgtrace_impl.h"

#include "proto/header.h"

static bool line_asks(struct mf_slice line)
{
    return line.len > 11 && (((line.ptr[0] == 'N') && mf_starts(line, MSGTRACE_DEST ":")) ||
                             ((line.ptr[0] | 0x20) == 't' && line.ptr[11] == ':' &&
                              mf_eq_nocase(mf_slice(line.ptr, 11), "traceparent")));
}

bool msgtrace_asked(struct mf_slice hdr)
{
    const uint8_t *p = hdr.ptr, *end, *lf;

    if (hdr.len < MSGTRACE_LEAST)
        return false;
    end = p + hdr.len;
    while ((lf = memchr(p, '\n', (size_t)(end - p))) != NULL) {
        p = lf + 1;
        if (MF_UNLIKELY(line_asks(mf_slice(p, (size_t)(end - p)))))
            return true;
    }
    return false;
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* version-trace-parent-flags, and the lowest bit of the flags says "sampled".  More than 7f is no
 * number to nats-server. */
static bool is_sampled(struct mf_slice v)
{
    size_t dashes = 0, at = 0;

    for (size_t i = 0; i < v.len; i++)
        if (v.ptr[i] == '-') {
            dashes++;
            at = i + 1;
        }
    if (dashes != 3 || v.len - at != 2)
        return false;
    int high = hex_digit(v.ptr[at]), low = hex_digit(v.ptr[at + 1]);
    return high >= 0 && high < 8 && low >= 0 && (low & 1);
}

static bool holds_nocase(struct mf_slice v, const char *word)
{
    size_t n = strlen(word);

    for (size_t i = 0; i + n <= v.len; i++)
        if (mf_eq_nocase(mf_slice(v.ptr + i, n), word))
            return true;
    return false;
}

static enum msgtrace_coding coding_of(struct mf_slice v)
{
    if (holds_nocase(v, "snappy") || holds_nocase(v, "s2"))
        return MSGTRACE_SNAPPY;
    return holds_nocase(v, "gzip") ? MSGTRACE_GZIP : MSGTRACE_IDENTITY;
}

static bool is_yes(struct mf_slice v)
{
    return mf_eq_str(v, "1") || mf_eq_nocase(v, "true") || mf_eq_nocase(v, "on");
}

/* Of each name the first value counts. */
static void note_value(struct msgtrace_request *q, struct mf_slice name, struct mf_slice v,
                       bool *only_seen)
{
    if (mf_eq_str(name, "Nats-Trace-Only")) {
        q->only = *only_seen ? q->only : is_yes(v);
        *only_seen = true;
    } else if (mf_eq_str(name, MSGTRACE_HOP) && q->hop.len == 0) {
        q->hop = v;
    } else if (mf_eq_str(name, "Nats-Trace-Origin-Account")) {
        q->forged = true;
    } else if (mf_eq_str(name, "Accept-Encoding") && q->coding == MSGTRACE_PLAIN) {
        q->coding = coding_of(v);
    }
}

bool msgtrace_read(struct mf_slice hdr, struct msgtrace_request *out)
{
    struct mf_slice name, v;
    bool only_seen = false, sampled = false;
    size_t pos = 0;

    *out = (struct msgtrace_request){.hdr = hdr};
    while (header_next(hdr, &pos, &name, &v)) {
        v = msgtrace_trim(v);
        if (name.len == 0 || v.len == 0)
            continue;
        if (mf_eq_str(name, MSGTRACE_DEST) && out->dest.len == 0) {
            if (mf_eq_str(v, MSGTRACE_DISABLED))
                return false;
            out->dest = v;
        } else if (mf_eq_nocase(name, "traceparent")) {
            sampled = sampled || is_sampled(v);
        } else {
            note_value(out, name, v, &only_seen);
        }
    }
    out->external = out->dest.len == 0;
    if (out->external)
        out->only = false; /* a caller that knows nothing of it wants its message delivered */
    return sampled || !out->external;
}

bool msgtrace_set_dest(struct mf_buf *out, struct mf_slice hdr, struct mf_slice dest)
{
    struct mf_buf rest = MF_BUF_INIT;
    bool failed;

    header_remove(&rest, hdr, MSGTRACE_DEST);
    failed = mf_buf_failed(&rest);
    if (!failed)
        header_set(out, mf_buf_slice(&rest), MSGTRACE_DEST, dest);
    mf_buf_fini(&rest);
    return !failed && !mf_buf_failed(out);
}
