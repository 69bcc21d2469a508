/* direct_batch.c: DIRECT.GET for many messages, and for what must be searched by time.
 *
 * Happy path: steps follow each other, each a bounded slice of work: find the start by time, count
 * what is there (or resolve the subjects), send.  A slice that is over asks for another turn, so
 * that a large batch holds nobody up; a message that is on disk is waited for.
 * Failure: "500" without memory; a stream that is not found again at a step ends the batch.
 * Close: direct_stop() ends all of an account; one that waits for the disk is freed when it comes.
 * direct_forget() drops the cursors over a stream before it ends. */
#include "direct.h"

#include "mayfly/clock.h"
#include "mayfly/subject.h"

#include <stdio.h>
#include <stdlib.h>

#define SLICE_MSGS  256
#define SLICE_BYTES 65536
#define SLICE_STEPS 4096
#define MULTI_MAX   1024  /* subjects in one answer */
#define MULTI_FOUND 16384 /* before those found twice are dropped */

struct direct_batch {
    struct mf_list link; /* batches */
    struct api_account *aa;
    struct direct_req req;
    struct arena mem; /* of req */
    char *name;       /* of the stream, and when it was made: is it still the same? */
    int64_t created_ns;
    struct mf_slice reply;
    void (*step)(struct direct_batch *b, struct stream *s);
    struct work_task turn;
    struct stream_load load;
    struct stream_seek seek;
    bool waiting;                 /* for load or seek */
    bool stopped;                 /* the account is gone */
    struct stream_cursor *cursor; /* of this step, over cursor_of; NULL: none yet */
    struct stream *cursor_of;
    uint64_t seq;      /* go on here */
    uint64_t up_to;    /* counted up to there.  multi: the last sequence asked for */
    uint64_t pending;  /* what is left behind the last one sent */
    uint64_t last_seq; /* of the last one sent */
    int64_t sent, sent_bytes;
    bool full;      /* max_bytes were reached */
    uint64_t *seqs; /* multi: what to send, ascending */
    size_t nseqs, at;
    char **partial; /* multi: subjects that also have messages behind up_to; in mem */
    size_t npartial;
};

static struct mf_list batches = {&batches, &batches}; /* of all accounts */

/* --- life ----------------------------------------------------------------------------------- */

static void cursor_drop(struct direct_batch *b)
{
    stream_cursor_free(b->cursor);
    b->cursor = NULL;
}

/* The cursor of this step: it goes on where its last slice ended.  NULL: no memory. */
static struct stream_cursor *cursor_get(struct direct_batch *b, struct stream *s,
                                        struct mf_slice pattern, uint64_t from)
{
    if (b->cursor == NULL && stream_cursor_new(&b->cursor, s, pattern, false, from) != 0)
        b->cursor = NULL;
    b->cursor_of = s;
    return b->cursor;
}

void direct_forget(const struct stream *s)
{
    struct mf_list *pos;

    mf_list_each(pos, &batches)
    {
        struct direct_batch *b = mf_container(pos, struct direct_batch, link);

        if (b->cursor_of == s)
            cursor_drop(b);
    }
}

static void batch_free(struct direct_batch *b)
{
    mf_list_del(&b->link);
    cursor_drop(b);
    arena_fini(&b->mem);
    free(b->seqs);
    free(b);
}

static void batch_end(struct direct_batch *b, const char *status)
{
    if (status != NULL)
        direct_send_status(b->aa, b->reply, status);
    batch_free(b);
}

static void batch_run(struct direct_batch *b)
{
    struct stream *s = catalog_find(b->aa->catalog, mf_str(b->name));

    if (s == NULL || stream_created_ns(s) != b->created_ns)
        batch_end(b, DIRECT_NOT_FOUND);
    else
        b->step(b, s);
}

static bool batch_turn(struct work_task *t)
{
    batch_run(mf_container(t, struct direct_batch, turn));
    return false; /* a step that has more to do asks for its turn itself, or has ended it */
}

static void batch_later(struct direct_batch *b)
{
    work_add(b->aa->api->loop, &b->aa->work, &b->turn);
}

void direct_stop(struct api_account *aa)
{
    struct mf_list *pos, *tmp;

    mf_list_each_safe(pos, tmp, &batches)
    {
        struct direct_batch *b = mf_container(pos, struct direct_batch, link);

        if (b->aa != aa)
            continue;
        if (b->waiting) {
            b->stopped = true;
            cursor_drop(b); /* the stream may end before what is waited for comes */
            mf_list_del(&b->link);
        } else {
            work_cancel(aa->api->loop, &b->turn);
            batch_free(b);
        }
    }
}

/* What was waited for is here.  false: nobody wants it any more. */
static bool batch_awake(struct direct_batch *b)
{
    bool stopped = b->stopped;

    b->waiting = false;
    if (stopped)
        batch_free(b);
    return !stopped;
}

/* --- sending -------------------------------------------------------------------------------- */

static bool is_multi(const struct direct_batch *b)
{
    return b->req.multi.n > 0;
}

static bool has_filter(const struct direct_batch *b)
{
    return mf_str(b->req.next).len > 0;
}

static struct mf_slice filter_of(const struct direct_batch *b)
{
    return has_filter(b) ? mf_str(b->req.next) : MF_LIT(">");
}

static void send_end(struct direct_batch *b)
{
    char text[256];
    int n = snprintf(text, sizeof text,
                     "NATS/1.0 204 EOB\r\nNats-Num-Pending: %llu\r\nNats-Last-Sequence: %llu\r\n",
                     (unsigned long long)b->pending, (unsigned long long)b->last_seq);

    if (is_multi(b))
        n += snprintf(text + n, sizeof text - (size_t)n, "Nats-UpTo-Sequence: %llu\r\n",
                      (unsigned long long)b->up_to);
    (void)snprintf(text + n, sizeof text - (size_t)n, "\r\n");
    batch_end(b, text);
}

static void send_msg(struct direct_batch *b, const struct stream_msg *m)
{
    bool bare = b->req.no_hdr && !is_multi(b);

    /* Without headers nobody is told, and nats-server does not count down. */
    if (!is_multi(b) && !bare && b->pending > 0)
        b->pending--;
    if (bare)
        direct_send_bare(b->aa, b->reply, m);
    else if (b->req.batch == 0 && !is_multi(b))
        direct_send(b->aa, b->name, b->reply, m, NULL);
    else
        direct_send(b->aa, b->name, b->reply, m, &(struct direct_place){b->pending, b->last_seq});
    b->sent++;
    b->sent_bytes += (int64_t)(m->subject.len + m->hdr.len + m->payload.len);
    b->full = b->sent_bytes >= b->req.max_bytes;
    b->last_seq = m->seq;
    b->seq = m->seq + 1;
}

static void load_done(struct stream_load *l, int status)
{
    struct direct_batch *b = mf_container(l, struct direct_batch, load);

    if (!batch_awake(b))
        return;
    if (status == MF_NOMEM) {
        batch_end(b, DIRECT_NO_MEMORY);
        return;
    }
    if (status == 0)
        send_msg(b, &l->msg);
    else
        b->seq = l->seq + 1; /* gone, or damaged: the others are still wanted */
    batch_run(b);
}

enum sent { SENT_YES, SENT_NOT_THERE, SENT_LATER, SENT_NEVER };

static enum sent send_seq(struct direct_batch *b, struct stream *s, uint64_t seq)
{
    struct stream_msg m;
    int rc = stream_get(s, seq, &m);

    b->seq = seq + 1;
    if (rc == 0) {
        send_msg(b, &m);
        stream_msg_end(&m);
        return SENT_YES;
    }
    if (rc != MF_AGAIN)
        return SENT_NOT_THERE;
    b->load.seq = seq;
    b->load.done = load_done;
    b->waiting = true;
    rc = stream_load(s, &b->load);
    if (rc == 0)
        return SENT_LATER;
    b->waiting = false;
    return rc == MF_NOTFOUND ? SENT_NOT_THERE : SENT_NEVER;
}

/* --- by time -------------------------------------------------------------------------------- */

static void seek_done(struct stream_seek *k, uint64_t seq)
{
    struct direct_batch *b = mf_container(k, struct direct_batch, seek);

    if (!batch_awake(b))
        return;
    b->seq = seq;
    batch_run(b);
}

/* b->seq will be the first one at or after the time, 0: none; then comes the step. */
static void seek_start(struct direct_batch *b, struct stream *s, int64_t ts_ns,
                       void (*step)(struct direct_batch *b, struct stream *s))
{
    b->step = step;
    b->waiting = true;
    b->seek = (struct stream_seek){.ts_ns = ts_ns, .done = seek_done};
    stream_seek(s, &b->seek);
}

/* --- a range -------------------------------------------------------------------------------- */

/* What came since the stream was counted is pending too; of very much, the first part. */
static void count_newer(struct direct_batch *b, struct stream *s)
{
    struct stream_cursor *c;
    uint64_t n;
    bool more;

    if (stream_count_readable(s, filter_of(b), b->up_to + 1, UINT64_MAX, &n)) {
        b->pending += n;
        return;
    }
    if (stream_cursor_new(&c, s, filter_of(b), false, b->up_to + 1) != 0)
        return;
    while (stream_cursor_steps(c) < SLICE_STEPS && stream_cursor_next(c, &more) != 0)
        b->pending++;
    stream_cursor_free(c);
}

static void range_end(struct direct_batch *b, struct stream *s)
{
    if (b->req.batch == 0) {
        batch_end(b, b->sent == 0 ? DIRECT_NOT_FOUND : NULL);
        return;
    }
    count_newer(b, s);
    send_end(b);
}

/* A range that has nothing to send. */
static void range_dry(struct direct_batch *b, struct stream *s)
{
    if (b->sent == 0 || b->req.batch == 1)
        batch_end(b, DIRECT_NOT_FOUND);
    else
        range_end(b, s);
}

static bool range_complete(const struct direct_batch *b)
{
    return b->full || b->sent >= (b->req.batch == 0 ? 1 : b->req.batch);
}

static uint64_t range_next(struct direct_batch *b, struct stream *s, struct stream_cursor *c,
                           bool *more)
{
    *more = false;
    return c == NULL ? stream_next(s, b->seq) : stream_cursor_next(c, more);
}

static void range_send(struct direct_batch *b, struct stream *s)
{
    int64_t bytes = b->sent_bytes + SLICE_BYTES, msgs = b->sent + SLICE_MSGS;
    struct stream_cursor *c = NULL;
    enum sent sent = SENT_YES;
    bool more = false;

    if (has_filter(b) && !range_complete(b) &&
        (c = cursor_get(b, s, filter_of(b), b->seq)) == NULL) {
        batch_end(b, DIRECT_NO_MEMORY);
        return;
    }
    while (!range_complete(b) && b->sent < msgs && b->sent_bytes < bytes) {
        uint64_t seq = range_next(b, s, c, &more);

        if (seq == 0) {
            if (more)
                batch_later(b);
            else
                range_dry(b, s);
            return;
        }
        sent = send_seq(b, s, seq);
        if (sent == SENT_LATER || sent == SENT_NEVER)
            break;
    }
    if (sent == SENT_NEVER)
        batch_end(b, DIRECT_NO_MEMORY);
    else if (sent != SENT_LATER && range_complete(b))
        range_end(b, s);
    else if (sent != SENT_LATER)
        batch_later(b);
}

/* Counts one by one, a slice at a time, what no sum can tell. */
static void range_walk(struct direct_batch *b, struct stream *s)
{
    struct stream_cursor *c = cursor_get(b, s, filter_of(b), b->seq);
    bool more = false, over = false;

    if (c == NULL) {
        batch_end(b, DIRECT_NO_MEMORY);
        return;
    }
    for (uint64_t stop = stream_cursor_steps(c) + SLICE_STEPS;
         !over && stream_cursor_steps(c) < stop;) {
        uint64_t seq = stream_cursor_next(c, &more);
        over = (seq == 0 && !more) || seq > b->up_to;
        b->pending += seq != 0 && !over;
    }
    if (over) {
        cursor_drop(b);
        b->step = range_send;
    }
    batch_later(b);
}

/* How many match from b->seq on: by sums if they tell it. */
static void range_count(struct direct_batch *b, struct stream *s)
{
    struct stream_state st;

    stream_state(s, &st);
    b->up_to = st.last_seq;
    b->pending = 0;
    b->step = range_walk;
    if (stream_count_readable(s, filter_of(b), b->seq, b->up_to, &b->pending))
        b->step = range_send;
    b->step(b, s);
}

static void range_found(struct direct_batch *b, struct stream *s)
{
    if (b->seq == 0) { /* nothing is as young as that */
        struct stream_state st;

        stream_state(s, &st);
        b->seq = st.last_seq + 1;
    }
    b->step = b->req.batch == 0 ? range_send : range_count;
    b->step(b, s);
}

static void range_start(struct direct_batch *b, struct stream *s)
{
    if (b->req.has_start) {
        seek_start(b, s, b->req.start_ns, range_found);
        return;
    }
    b->seq = b->req.seq;
    range_count(b, s);
}

/* --- the last ones of several subjects ------------------------------------------------------- */

static void multi_send(struct direct_batch *b, struct stream *s)
{
    int64_t bytes = b->sent_bytes + SLICE_BYTES;

    for (int i = 0; i < SLICE_MSGS && b->sent_bytes < bytes; i++) {
        enum sent sent = SENT_YES;
        uint64_t seq;

        if (b->full || b->at == b->nseqs || (b->req.batch > 0 && b->sent >= b->req.batch)) {
            send_end(b);
            return;
        }
        seq = b->seqs[b->at++];
        b->pending = b->nseqs - b->at;
        if (seq >= b->req.seq)
            sent = send_seq(b, s, seq);
        if (sent == SENT_LATER)
            return;
        if (sent == SENT_NEVER) {
            batch_end(b, DIRECT_NO_MEMORY);
            return;
        }
    }
    batch_later(b);
}

static int compare_u64(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

    return (a > b) - (a < b);
}

static void multi_sort(struct direct_batch *b, struct stream *s)
{
    size_t n = 0;

    if (b->nseqs > 0)
        qsort(b->seqs, b->nseqs, sizeof b->seqs[0], compare_u64);
    for (size_t i = 0; i < b->nseqs; i++)
        if (n == 0 || b->seqs[n - 1] != b->seqs[i])
            b->seqs[n++] = b->seqs[i];
    b->nseqs = n;
    if (n == 0) {
        batch_end(b, DIRECT_NO_RESULTS);
    } else if (n > MULTI_MAX) {
        batch_end(b, DIRECT_TOO_MANY);
    } else {
        b->step = multi_send;
        multi_send(b, s);
    }
}

/* The last message of each of those subjects up to b->up_to: forward, as sequences are kept. */
static void multi_resolve(struct direct_batch *b, struct stream *s)
{
    int steps = 0;

    while (b->npartial > 0) {
        struct mf_slice subject = mf_str(b->partial[b->npartial - 1]);
        struct stream_cursor *c = cursor_get(b, s, subject, 0);
        bool more = false, over = false;

        if (c == NULL) {
            batch_end(b, DIRECT_NO_MEMORY);
            return;
        }
        while (!over && steps++ < SLICE_STEPS) {
            uint64_t seq = stream_cursor_next(c, &more);
            over = (seq == 0 && !more) || seq > b->up_to;
            if (seq != 0 && !over)
                b->last_seq = seq; /* not used otherwise yet */
        }
        if (!over) {
            batch_later(b);
            return;
        }
        cursor_drop(b);
        if (b->last_seq > 0)
            b->seqs[b->nseqs++] = b->last_seq; /* room for all was made */
        b->last_seq = 0;
        b->npartial--;
    }
    multi_sort(b, s);
}

static bool multi_visit(void *arg, const struct stream_subject *x)
{
    struct direct_batch *b = arg;

    if (x->first_seq > b->up_to)
        return true;
    if (b->nseqs + b->npartial >= MULTI_FOUND) {
        b->full = true;
        return false;
    }
    if (x->last_seq <= b->up_to) {
        b->seqs[b->nseqs++] = x->last_seq;
        return true;
    }
    char **grown = arena_grow(&b->mem, b->partial, b->npartial, sizeof *grown);
    char *copy = arena_dup(&b->mem, x->subject);
    if (grown == NULL || copy == NULL)
        return false;
    b->partial = grown;
    b->partial[b->npartial++] = copy;
    return true;
}

static void multi_collect(struct direct_batch *b, struct stream *s)
{
    b->seqs = malloc(MULTI_FOUND * sizeof b->seqs[0]);
    if (b->seqs == NULL) {
        batch_end(b, DIRECT_NO_MEMORY);
        return;
    }
    for (size_t i = 0; i < b->req.multi.n && !b->full && !b->mem.failed; i++) {
        size_t before = b->nseqs + b->npartial;

        stream_each_subject(s, mf_str(b->req.multi.at[i]), multi_visit, b);
        b->full = b->full || b->nseqs + b->npartial - before > MULTI_MAX;
    }
    if (b->mem.failed) {
        batch_end(b, DIRECT_NO_MEMORY);
    } else if (b->full) {
        batch_end(b, DIRECT_TOO_MANY);
    } else {
        b->step = multi_resolve;
        multi_resolve(b, s);
    }
}

static void multi_found(struct direct_batch *b, struct stream *s)
{
    struct stream_state st;

    stream_state(s, &st);
    if (b->seq == 0)
        b->seq = st.last_seq + 1;
    if (b->seq <= st.first_seq) {
        batch_end(b, DIRECT_NO_RESULTS);
        return;
    }
    b->up_to = b->seq - 1;
    multi_collect(b, s);
}

static void multi_start(struct direct_batch *b, struct stream *s)
{
    struct stream_state st;

    if (b->req.has_up_to) {
        seek_start(b, s, b->req.up_to_ns, multi_found);
        return;
    }
    stream_state(s, &st);
    b->up_to = b->req.up_to_seq > 0 ? b->req.up_to_seq : st.last_seq;
    multi_collect(b, s);
}

/* --- in ------------------------------------------------------------------------------------- */

void direct_batch_start(struct api_account *aa, struct stream *s, struct mf_slice reply,
                        const struct direct_req *req, struct arena *mem)
{
    struct direct_batch *b = calloc(1, sizeof *b);
    char *name = arena_str(mem, stream_name(s)), *to = arena_dup(mem, reply);

    if (b == NULL || name == NULL || to == NULL) {
        free(b);
        direct_send_status(aa, reply, DIRECT_NO_MEMORY);
        return;
    }
    b->aa = aa;
    b->req = *req;
    b->mem = *mem;
    *mem = (struct arena){.chunks = NULL};
    b->name = name;
    b->created_ns = stream_created_ns(s);
    b->reply = mf_slice(to, reply.len);
    b->turn = (struct work_task){.run = batch_turn, .cause = WORK_DIRECT};
    if (b->req.max_bytes == 0)
        b->req.max_bytes = aa->api->options->max_pending;
    mf_list_push(&batches, &b->link);
    b->step = is_multi(b) ? multi_start : range_start;
    b->step(b, s);
}
