/* s2_pipe.c: S2 as a filter of a net connection. */
#include "session/s2_pipe.h"

#include "codec/s2.h"

#include <stdlib.h>

struct s2_pipe {
    struct s2_reader reader;
    struct mf_buf out;
    bool compress, begun; /* begun: the stream identifier is written */
    struct s2_pipe_counts counts;
};

/* Large buffers are for large messages; these are rare. */
static void trim_buffer(struct mf_buf *b)
{
    if (b->cap > S2_PIPE_KEEP)
        mf_buf_fini(b);
    else
        mf_buf_clear(b);
}

static int pipe_encode(void *state, struct net_conn *c, const uint8_t *p, size_t n)
{
    struct s2_pipe *s = state;
    int rc;

    if (!s->begun)
        s2_frame_begin(&s->out);
    s->begun = true;
    if (s->compress && n > S2_PIPE_SMALL)
        s2_frame_add(&s->out, mf_slice(p, n));
    else
        s2_frame_add_plain(&s->out, mf_slice(p, n));
    s->counts.out_plain += n;
    s->counts.out_wire += s->out.len;
    rc = mf_buf_failed(&s->out) ? MF_NOMEM : net_filter_wire(c, s->out.ptr, s->out.len);
    trim_buffer(&s->out);
    return rc;
}

static int pipe_decode(void *state, struct net_conn *c, const uint8_t *p, size_t n)
{
    struct s2_pipe *s = state;
    struct mf_buf plain = MF_BUF_INIT;
    int rc = s2_reader_feed(&s->reader, mf_slice(p, n), &plain);

    s->counts.in_wire += n;
    s->counts.in_plain += plain.len;
    if (rc == 0 && mf_buf_failed(&plain))
        rc = MF_NOMEM;
    if (rc == 0) {
        net_filter_plain(c, plain.ptr, plain.len);
        if (s2_reader_more(&s->reader) && !net_closing(c))
            net_filter_more(c);
    }
    mf_buf_fini(&plain);
    return rc;
}

static void pipe_free(void *state)
{
    struct s2_pipe *s = state;

    s2_reader_fini(&s->reader);
    mf_buf_fini(&s->out);
    free(s);
}

static const struct net_filter pipe_filter = {
    .decode = pipe_decode,
    .encode = pipe_encode,
    .free = pipe_free,
};

struct s2_pipe *s2_pipe_start(struct net_conn *c, bool compress, size_t most)
{
    struct s2_pipe *s = calloc(1, sizeof *s);

    if (s == NULL) {
        net_close(c, 0);
        return NULL;
    }
    s2_reader_init(&s->reader);
    s->reader.chunk_max = most;
    s->compress = compress;
    net_conn_set_filter(c, &pipe_filter, s);
    return net_closing(c) ? NULL : s;
}

void s2_pipe_set_level(struct s2_pipe *s, bool compress)
{
    s->compress = compress;
}

void s2_pipe_set_most(struct s2_pipe *s, size_t most)
{
    s->reader.chunk_max = most;
}

const struct s2_pipe_counts *s2_pipe_counts(const struct s2_pipe *s)
{
    return &s->counts;
}
