/* counter_source.c: a counter that sums the counters of other streams.
 *
 * A message of a source holds the value of the other counter, not its increment.  So the last value
 * of each is remembered, in a header that is copied from message to message, and the difference is
 * added here: Nats-Counter-Sources: {"<stream>":{"<its subject>":"<its value>"}} */
#include "stream/counter_impl.h"

#include "stream/decimal_impl.h"

#include "codec/jsonw.h"

#include <stdlib.h>

struct entry {
    char *stream, *subject, *value;
};
struct source_values {
    struct arena mem;
    struct entry *at;
    size_t n;
};

/* --- the header's text ------------------------------------------------------------------------ */

static bool take_char(struct mf_slice *rest, uint8_t c)
{
    *rest = mf_trim(*rest);
    if (rest->len == 0 || rest->ptr[0] != c)
        return false;
    *rest = mf_slice(rest->ptr + 1, rest->len - 1);
    return true;
}

static char *take_string(struct mf_slice *rest, struct arena *mem)
{
    struct mf_slice s = mf_trim(*rest);
    size_t i = 1;
    char *out;

    if (s.len < 2 || s.ptr[0] != '"')
        return NULL;
    while (i < s.len && s.ptr[i] != '"')
        i += s.ptr[i] == '\\' ? 2 : 1;
    if (i >= s.len || json_parse_string(mf_slice(s.ptr, i + 1), &out, mem, NULL) != 0)
        return NULL;
    *rest = mf_slice(s.ptr + i + 1, s.len - i - 1);
    return out;
}

static struct entry *find_value(const struct source_values *t, const char *stream,
                                const char *subject)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->at[i].stream, stream) == 0 && strcmp(t->at[i].subject, subject) == 0)
            return &t->at[i];
    return NULL;
}

static bool set_value(struct source_values *t, char *stream, char *subject, char *value)
{
    struct entry *x = find_value(t, stream, subject), *grown;

    if (x == NULL) {
        grown = arena_grow(&t->mem, t->at, t->n, sizeof *t->at);
        if (grown == NULL)
            return false;
        t->at = grown;
        x = &t->at[t->n++];
    }
    *x = (struct entry){stream, subject, value};
    return true;
}

/* {"<subject>":"<value>",...} of one stream. */
static bool read_stream(struct source_values *t, struct mf_slice *rest, char *stream)
{
    if (!take_char(rest, '{'))
        return false;
    if (take_char(rest, '}'))
        return true;
    do {
        char *subject = take_string(rest, &t->mem), *value;
        if (subject == NULL || !take_char(rest, ':') ||
            (value = take_string(rest, &t->mem)) == NULL || !set_value(t, stream, subject, value))
            return false;
    } while (take_char(rest, ','));
    return take_char(rest, '}');
}

static bool read_values(struct source_values *t, struct mf_slice text)
{
    struct mf_slice rest = text;

    if (text.len == 0)
        return true;
    if (!take_char(&rest, '{'))
        return false;
    if (!take_char(&rest, '}')) {
        do {
            char *stream = take_string(&rest, &t->mem);
            if (stream == NULL || !take_char(&rest, ':') || !read_stream(t, &rest, stream))
                return false;
        } while (take_char(&rest, ','));
        if (!take_char(&rest, '}'))
            return false;
    }
    return mf_trim(rest).len == 0;
}

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->stream, y->stream);

    return order != 0 ? order : strcmp(x->subject, y->subject);
}

static void write_values(struct source_values *t, struct mf_buf *out)
{
    const char *open = NULL;
    struct jsonw w;

    qsort(t->at, t->n, sizeof *t->at, by_name); /* as Go writes its maps */
    jsonw_begin(&w, out, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    for (size_t i = 0; i < t->n; i++) {
        const struct entry *x = &t->at[i];
        if (open == NULL || strcmp(open, x->stream) != 0) {
            if (open != NULL)
                jsonw_end(&w);
            jsonw_object(&w, x->stream);
            open = x->stream;
        }
        jsonw_str(&w, x->subject, x->value);
    }
    if (open != NULL)
        jsonw_end(&w);
    jsonw_end(&w);
}

/* --- one message ------------------------------------------------------------------------------ */

/* Field `index` of Nats-Stream-Source. */
static char *source_field(struct source_values *t, struct mf_slice mark, unsigned index)
{
    struct mf_slice f = MF_SLICE_NONE;

    for (unsigned i = 0; i <= index; i++) {
        const uint8_t *blank = mark.len == 0 ? NULL : memchr(mark.ptr, ' ', mark.len);
        f = mf_slice(mark.ptr, blank == NULL ? mark.len : (size_t)(blank - mark.ptr));
        mark = blank == NULL ? MF_SLICE_NONE : mf_slice(blank + 1, mark.len - f.len - 1);
    }
    return arena_dup(&t->mem, f);
}

/* The subject's counter here, from disk if it must be. */
static int find_here(struct stream *s, const struct intake *in, struct counter **x)
{
    struct stream_msg m;
    uint64_t seq;
    int rc = counter_find(s, in->subject, x, &seq);

    if (rc != MF_AGAIN)
        return rc == MF_NOTFOUND ? MF_AGAIN : rc;
    if ((rc = stream_get_now(s, seq, &m)) != 0)
        return rc == MF_CORRUPT ? MF_DENIED : rc;
    counter_learn(s, &m);
    stream_msg_end(&m);
    rc = counter_find(s, in->subject, x, &seq);
    return rc == MF_AGAIN || rc == MF_NOTFOUND ? MF_NOMEM : rc;
}

/* Nats-Incr becomes the difference to what this source said before; the rest is counter_apply()'s.
 */
static int set_difference(struct stream *s, struct counters *c, struct source_values *t,
                          struct intake *in)
{
    char *stream = source_field(t, in->h.stream_source, 0);
    char *subject = source_field(t, in->h.stream_source, 4), *value;
    struct mf_buf incr = MF_BUF_INIT, hdr = MF_BUF_INIT;
    struct decimal now, before = DECIMAL_ZERO;
    struct entry *x;
    int rc;

    mf_buf_clear(&c->sum);
    rc = counter_value_read(in->payload, &c->sum);
    if (rc != 0)
        return rc == MF_NOMEM ? rc : MF_DENIED;
    value = arena_dup(&t->mem, mf_buf_slice(&c->sum));
    if (stream == NULL || subject == NULL || value == NULL)
        return MF_NOMEM;
    if (!decimal_parse(mf_str(value), &now))
        return MF_DENIED;
    x = find_value(t, stream, subject);
    if (x != NULL && !decimal_parse(mf_str(x->value), &before))
        before = DECIMAL_ZERO;
    before.negative = !before.negative && !mf_eq_str(before.digits, "0");
    rc = decimal_add(&incr, now, before);
    if (rc == 0 && !set_value(t, stream, subject, value))
        rc = MF_NOMEM;
    if (rc == 0) {
        header_set(&hdr, in->hdr, "Nats-Incr", mf_buf_slice(&incr));
        lend_clear(&c->told);
        write_values(t, &c->told);
        if (mf_buf_failed(&c->told)) {
            mf_buf_fini(&hdr);
            rc = MF_NOMEM;
        } else {
            rc = intake_replace(s, in, &hdr);
        }
        in->counter_sources = lend_slice(&c->told);
    }
    mf_buf_fini(&incr);
    return rc;
}

int counter_source(struct stream *s, struct intake *in, struct js_error *e)
{
    struct source_values t = {.at = NULL};
    struct counters *c = counter_table(s);
    struct counter *x = NULL;
    struct decimal d;
    int rc;

    if (in->h.incr.len == 0)
        return js_error_set(e, JS_MESSAGE_INCR_MISSING);
    if (!decimal_parse(in->h.incr, &d))
        return js_error_set(e, JS_MESSAGE_INCR_INVALID);
    rc = c == NULL ? MF_NOMEM : find_here(s, in, &x);
    if (rc == 0 && x != NULL && x->sources != NULL && !read_values(&t, mf_str(x->sources)))
        rc = t.mem.failed ? MF_NOMEM : MF_DENIED;
    if (rc == 0)
        rc = set_difference(s, c, &t, in);
    arena_fini(&t.mem);
    if (rc == MF_DENIED)
        return js_error_set(e, JS_MESSAGE_COUNTER_BROKEN);
    if (rc != 0)
        stream_store_error(s, rc, e);
    return rc;
}
