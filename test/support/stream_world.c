/* stream_world.c: see stream_world.h. */
#include "stream_world.h"

#include "stream/stream_impl.h"
#include "must.h"
#include "secret.h"

#include "base/clock.h"
#include "base/steady.h"

#include <stdio.h>
#include <stdlib.h>

static int64_t now_ns(void *arg)
{
    struct world *w = arg;

    return w->now_ns += w->step_ns;
}

static void publish(void *arg, const struct mf_msg *m)
{
    struct world *w = arg;

    mf_buf_printf(&w->said, "%.*s|%.*s|%.*s\n", MF_FMT(m->subject), MF_FMT(m->hdr),
                  MF_FMT(m->payload));
}

static void abandoned(void *arg, struct stream *s, struct mf_slice batch, const char *reason)
{
    struct world *w = arg;

    (void)s;
    mf_buf_printf(&w->said, "abandoned|%.*s|%s\n", MF_FMT(batch), reason);
}

static void keep_io(struct store_io *io)
{
    (void)io;
}

void world_files(struct world *w, struct store_io *io)
{
    if (w->io != NULL)
        w->io_free(w->io);
    w->io = io;
    w->io_free = io->free;
    io->free = keep_io;
}

static int64_t wall_ns(void *arg)
{
    struct world *w = arg;

    return now_ns(w) - w->behind_ns;
}

void world_init(struct world *w)
{
    struct mf_error e;

    *w = (struct world){.now_ns = 1700000000 * CLOCK_S};
    MUST(loop_new(&w->loop, &e) == 0, "%s", e.text);
    loop_jobs_inline(w->loop);
    struct store_io *io;
    MUST(store_io_memory(&io, &e) == 0, "%s", e.text);
    world_files(w, io);
    w->host = (struct stream_host){.loop = w->loop,
                                   .now_ns = now_ns,
                                   .wall_ns = wall_ns,
                                   .publish = publish,
                                   .batch_abandoned = abandoned,
                                   .arg = w,
                                   .account = "$G",
                                   .account_usage = &w->account,
                                   .server_usage = &w->server,
                                   .account_max = {-1, -1, -1},
                                   .server_max = {-1, -1, -1},
                                   .batches = &w->batches,
                                   .fast_batches = &w->fasts,
                                   .batch_max_msgs = 1000,
                                   .batch_max_per_stream = 50,
                                   .batch_max_total = 1000,
                                   .batch_timeout_ns = 10 * CLOCK_S};
}

void world_wrap(struct world *w,
                int (*wrap)(struct store_io **out, struct store_io *under, struct mf_error *e))
{
    struct store_io *io;
    struct mf_error e;

    w->io->free = w->io_free; /* of its new owner now */
    MUST(wrap(&io, w->io, &e) == 0, "%s", e.text);
    w->io = io;
    w->io_free = io->free;
    io->free = keep_io;
}

void world_fini(struct world *w)
{
    if (w->stream != NULL)
        world_close(w);
    w->io_free(w->io);
    loop_free(w->loop);
    mf_buf_fini(&w->said);
}

void world_open(struct world *w, const struct stream_config *cfg)
{
    struct store_opts o = {.name = cfg->name, .first_seq = cfg->first_seq, .now_ns = w->now_ns};
    struct stream_config c = *cfg;
    struct js_error je;
    struct mf_error e;
    struct store *st;
    struct stream_config_world cw = {
        .strict = w->host.strict, .max_stream_bytes_memory = -1, .max_stream_bytes_file = -1};

    int rc = stream_config_check(&c, &cw, &je);
    MUST(rc == 0, "configuration refused: %s", je.text);
    o.secret = test_secret();
    MUST(store_open(&st, &o, w->io, &e) == 0, "%s", e.text);
    MUST(store_attach(st, w->loop, &e) == 0, "%s", e.text);
    MUST(stream_new(&w->stream, &c, w->now_ns, st, &w->host, &e) == 0, "%s", e.text);
    if (w->later_ns != 0 && stream_clock_floor(w->stream) > w->now_ns)
        w->now_ns = w->later_ns;
    world_turns(w);
}

static void closed(void *arg)
{
    *(bool *)arg = true;
}

void world_close(struct world *w)
{
    bool done = false;

    stream_close(w->stream, closed, &done);
    for (int i = 0; i < 10000 && !done; i++)
        loop_turn(w->loop);
    MUST(done, "the stream did not close");
    w->stream = NULL;
}

void world_kill(struct world *w)
{
    struct store *st = w->stream->store;

    for (int i = 0; i < 10000 && !store_idle(st); i++)
        loop_turn(w->loop); /* jobs end, nothing new begins */
    stream_forget(w->stream);
    store_abandon(st);
    w->stream = NULL;
}

void world_turns(struct world *w)
{
    int64_t give_up = clock_mono_ns() + 10 * CLOCK_S; /* a store may pause and try again */

    for (int i = 0; i < 20 || !(w->stream == NULL || store_idle(w->stream->store)); i++) {
        MUST(i < 20 || clock_mono_ns() < give_up, "the store is never idle");
        loop_turn(w->loop);
    }
}

void world_time(struct world *w, int64_t now)
{
    int64_t give_up = clock_mono_ns() + 10 * CLOCK_S;

    w->now_ns = now;
    if (w->stream == NULL)
        return;
    stream_clock_stepped(w->stream);
    /* Timers need their millisecond. */
    while (store_next_deadline(w->stream->store) <= now) {
        MUST(clock_mono_ns() < give_up, "what is due is not swept");
        loop_turn(w->loop);
    }
    world_turns(w);
}

/* --- publishing ------------------------------------------------------------------------------- */

struct sent {
    struct stream_publish p;
    struct world_ack *ack;
};

static void answered(struct stream_publish *p, const struct stream_ack *a)
{
    struct sent *s = mf_container(p, struct sent, p);
    struct world_ack *to = s->ack;

    MUST(!to->done, "answered twice");
    *to = (struct world_ack){.done = true,
                             .seq = a->seq,
                             .duplicate = a->duplicate,
                             .empty = a->empty,
                             .silent = a->silent,
                             .batch_count = a->batch_count};
    if (a->error != NULL) {
        to->err_code = a->error->err_code;
        snprintf(to->text, sizeof to->text, "%s", a->error->text);
    }
    snprintf(to->val, sizeof to->val, "%s", a->val != NULL ? a->val : "");
    snprintf(to->batch, sizeof to->batch, "%.*s", MF_FMT(a->batch));
    free(s);
}

void world_send(struct world *w, const char *subject, const char *reply, const char *lines,
                const char *payload, struct world_ack *a)
{
    struct sent *s = must_alloc(NULL, 1, sizeof *s);
    struct mf_buf hdr = MF_BUF_INIT;

    if (lines != NULL)
        mf_buf_printf(&hdr, "NATS/1.0\r\n%s\r\n", lines);
    *a = (struct world_ack){0};
    *s = (struct sent){.ack = a,
                       .p = {.msg = {.subject = mf_str(subject),
                                     .reply = mf_str(reply),
                                     .hdr = mf_buf_slice(&hdr),
                                     .payload = mf_str(payload)},
                             .done = answered}};
    stream_publish(w->stream, &s->p);
    mf_buf_fini(&hdr);
}

struct world_ack world_publish(struct world *w, const char *subject, const char *lines,
                               const char *payload)
{
    struct world_ack a;

    world_send(w, subject, "reply", lines, payload, &a);
    for (int i = 0; i < 10000 && !a.done; i++)
        loop_turn(w->loop);
    MUST(a.done, "no answer to a publish to %s", subject);
    return a;
}

/* --- removing and reading ------------------------------------------------------------------ */

struct asked {
    struct stream_op op;
    bool done;
    int err_code;
    uint64_t count;
};

static void op_answered(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    struct asked *a = mf_container(op, struct asked, op);

    a->done = true;
    a->err_code = e == NULL ? 0 : e->err_code;
    a->count = count;
}

static int wait_for(struct world *w, struct asked *a)
{
    for (int i = 0; i < 100000 && !a->done; i++)
        loop_turn(w->loop);
    MUST(a->done, "no answer");
    return a->err_code;
}

int world_remove(struct world *w, uint64_t seq)
{
    struct asked a = {.op.done = op_answered};

    stream_remove(w->stream, seq, false, &a.op);
    return wait_for(w, &a);
}

int world_purge(struct world *w, const char *filter, uint64_t below, uint64_t keep,
                uint64_t *purged)
{
    struct asked a = {.op.done = op_answered};
    int rc;

    stream_purge(w->stream, mf_str(filter), below, keep, &a.op);
    rc = wait_for(w, &a);
    if (purged != NULL)
        *purged = a.count;
    return rc;
}

const char *world_message(struct world *w, uint64_t seq)
{
    static char text[4096];
    struct stream_msg m;
    struct mf_slice name, value;
    size_t pos = 0, n;

    if (stream_get(w->stream, seq, &m) != 0)
        return "";
    n = (size_t)snprintf(text, sizeof text, "%.*s|", MF_FMT(m.subject));
    for (bool first = true; m.hdr.len > 0 && header_next(m.hdr, &pos, &name, &value); first = false)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%.*s: %.*s", first ? "" : ",",
                              MF_FMT(name), MF_FMT(value));
    snprintf(text + n, sizeof text - n, "|%.*s", MF_FMT(m.payload));
    stream_msg_end(&m);
    return text;
}

uint64_t world_count(struct world *w)
{
    struct stream_state t;

    stream_state(w->stream, &t);
    return t.msgs;
}

struct blob_count {
    const char *prefix;
    size_t n;
};

static void count_blob(void *arg, struct mf_slice name, struct mf_slice bytes)
{
    struct blob_count *c = arg;

    (void)bytes;
    c->n += mf_starts(name, c->prefix);
}

size_t world_blobs(struct world *w, const char *prefix)
{
    struct blob_count c = {.prefix = prefix};

    store_blob_each(w->stream->store, count_blob, &c);
    return c.n;
}

void world_text(struct world *w, struct mf_buf *out)
{
    mf_buf_clear(out);
    for (uint64_t seq = stream_next(w->stream, 0); seq != 0; seq = stream_next(w->stream, seq + 1))
        mf_buf_printf(out, "%llu %s\n", (unsigned long long)seq, world_message(w, seq));
    MUST(!mf_buf_failed(out), "no memory for the text");
}
