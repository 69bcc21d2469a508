/* direct_batch.c: DIRECT.GET for many messages, and for messages that must be searched.
 *
 * Happy path: find the start by time, count the messages (or resolve the subjects, direct_multi.c),
 * send.  The first slice runs in the turn of the request and is short; the others are slices of the
 * account's time.  A message on disk is read before the next step.
 * Full: at most BATCHES of an account are under way; others wait.
 * Failure: the stream is looked up again in every slice; the batch ends if the stream was deleted
 * or the reply subject has no subscriber any more.  No memory: "500".
 * Close: direct_stop() ends all of an account; a batch that waits for the disk is freed when the
 * read returns. */
#include "jetstream/direct_batch_impl.h"

#include "stream/stream_ttl.h"

#include <stdio.h>
#include <stdlib.h>

#define FIRST_STEPS 256 /* of the slice in the turn of the request */
#define BATCHES     16
#define LATER_BYTES ((size_t)64 << 20)

/* --- life ----------------------------------------------------------------------------------- */

static void begin_next(struct js_account *ja);

/* Frees the objects of the stream that are kept between slices. */
static void drop_walks(struct direct_batch *b)
{
    stream_cursor_free(b->cursor);
    stream_subjects_free(b->subjects);
    stream_find_free(b->find);
    b->cursor = NULL;
    b->subjects = NULL;
    b->find = NULL;
}

void direct_forget(const struct stream *s)
{
    struct js_account *ja = stream_host(s)->arg;
    struct mf_list *pos;

    mf_list_each(pos, &js_wire(ja)->direct.batches)
    {
        struct direct_batch *b = mf_container(pos, struct direct_batch, link);

        if (b->created_ns == stream_created_ns(s) && strcmp(b->name, stream_name(s)) == 0)
            drop_walks(b); /* the next slice finds that the stream was deleted */
    }
}

void batch_free(struct direct_batch *b)
{
    struct js_account *ja = b->ja;
    bool stopped = b->stopped, begun = b->bytes == 0;

    mf_list_del(&b->link);
    if (!stopped) {
        work_cancel(ja->js->loop, &b->task);
        js_wire(ja)->direct.nbatches -= begun;
        js_wire(ja)->direct.later_bytes -= b->bytes;
    }
    drop_walks(b);
    pattern_tree_fini(&b->tree);
    free(b->entries);
    arena_fini(&b->mem);
    free(b->seqs);
    free(b->seen);
    free(b);
    if (!stopped && begun)
        begin_next(ja);
}

void batch_end(struct direct_batch *b, const char *status)
{
    if (status != NULL)
        direct_send_status(b->ja, b->reply, status);
    batch_free(b);
}

static void batch_run(struct direct_batch *b)
{
    struct stream *s = catalog_find(b->ja->catalog, mf_str(b->name));

    if (!js_subject_heard(b->ja, b->reply))
        batch_free(b);
    else if (s == NULL || stream_created_ns(s) != b->created_ns)
        batch_end(b, DIRECT_NOT_FOUND);
    else
        b->step(b, s);
}

static bool batch_slice(struct work_task *t)
{
    batch_run(mf_container(t, struct direct_batch, task));
    return false; /* batch_later() has added it again, if there is more */
}

void batch_later(struct direct_batch *b)
{
    b->first_steps = 0;
    work_add(b->ja->js->loop, &b->ja->work, &b->task);
}

bool batch_spent(struct direct_batch *b, size_t units)
{
    if (b->first_steps == 0)
        return js_slice_spent(b->ja, units);
    b->first_steps -= units + 1 < b->first_steps ? (unsigned)units + 1 : b->first_steps;
    return b->first_steps == 0;
}

/* The oldest one that waits for the end of another. */
static void begin_next(struct js_account *ja)
{
    struct mf_list *n = mf_list_pop(&js_wire(ja)->direct.later);
    struct direct_batch *b;

    if (n == NULL)
        return;
    b = mf_container(n, struct direct_batch, link);
    js_wire(ja)->direct.later_bytes -= b->bytes;
    b->bytes = 0;
    js_wire(ja)->direct.nbatches++;
    mf_list_push(&js_wire(ja)->direct.batches, &b->link);
    batch_later(b);
}

void direct_stop(struct js_account *ja)
{
    struct mf_list *pos, *next;

    direct_queue_stop(ja);
    mf_list_each_safe(pos, next, &js_wire(ja)->direct.later)
        batch_free(mf_container(pos, struct direct_batch, link));
    mf_list_each_safe(pos, next, &js_wire(ja)->direct.batches)
    {
        struct direct_batch *b = mf_container(pos, struct direct_batch, link);

        if (!b->waiting) {
            batch_free(b);
            continue;
        }
        b->stopped = true;
        drop_walks(b); /* the stream may be closed before the read returns */
        mf_list_del(&b->link);
        js_wire(ja)->direct.nbatches--;
    }
}

/* A read or seek has ended.  False: the batch was stopped and freed. */
static bool batch_awake(struct direct_batch *b)
{
    bool stopped = b->stopped;

    b->waiting = false;
    if (stopped)
        batch_free(b);
    return !stopped;
}

/* --- sending -------------------------------------------------------------------------------- */

static bool has_filter(const struct direct_batch *b)
{
    return b->req.next != NULL && *b->req.next != '\0';
}

static struct mf_slice filter_of(const struct direct_batch *b)
{
    return has_filter(b) ? mf_str(b->req.next) : MF_LIT(">");
}

void batch_send_end(struct direct_batch *b)
{
    char text[256];
    int n = snprintf(text, sizeof text,
                     "NATS/1.0 204 EOB\r\nNats-Num-Pending: %llu\r\nNats-Last-Sequence: %llu\r\n",
                     (unsigned long long)b->pending, (unsigned long long)b->last_seq);

    if (batch_is_multi(b))
        n += snprintf(text + n, sizeof text - (size_t)n, "Nats-UpTo-Sequence: %llu\r\n",
                      (unsigned long long)(b->req.up_to_seq > 0 ? b->req.up_to_seq : b->up_to));
    (void)snprintf(text + n, sizeof text - (size_t)n, "\r\n");
    batch_end(b, text);
}

static void send_msg(struct direct_batch *b, struct stream *s, const struct stream_msg *m)
{
    struct stream_lifetime room, *life = b->req.life ? stream_lifetime_of(s, m, &room) : NULL;
    bool bare = b->req.no_hdr && !batch_is_multi(b);

    /* Without headers there is no pending count to show; nats-server does not count down either. */
    if (!batch_is_multi(b) && !bare && b->pending > 0)
        b->pending--;
    if (bare)
        direct_send_bare(b->ja, b->reply, m);
    else if (b->req.batch == 0 && !batch_is_multi(b))
        direct_send(b->ja, b->name, b->reply, m, NULL, life);
    else
        direct_send(b->ja, b->name, b->reply, m, &(struct direct_place){b->pending, b->last_seq},
                    life);
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
        send_msg(b, l->stream, &l->msg);
    else
        b->seq = l->seq + 1; /* removed or damaged: the others are still sent */
    batch_later(b);
}

enum sent batch_send_seq(struct direct_batch *b, struct stream *s, uint64_t seq)
{
    struct stream_msg m;
    int rc = stream_get(s, seq, &m);

    b->seq = seq + 1;
    if (rc == 0) {
        send_msg(b, s, &m);
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
    batch_later(b);
}

void batch_seek(struct direct_batch *b, struct stream *s, int64_t ts_ns,
                void (*step)(struct direct_batch *b, struct stream *s))
{
    b->step = step;
    b->waiting = true;
    b->seek = (struct stream_seek){.ts_ns = ts_ns, .done = seek_done};
    if (stream_seek(s, &b->seek, &b->seq))
        seek_done(&b->seek, b->seq);
}

/* --- a range -------------------------------------------------------------------------------- */

/* The cursor of a step, made by its first slice.  false: the batch has ended. */
static bool have_cursor(struct direct_batch *b, struct stream *s, uint64_t from)
{
    if (b->cursor != NULL || stream_cursor_new(&b->cursor, s, filter_of(b), false, from) == 0)
        return true;
    batch_end(b, DIRECT_NO_MEMORY);
    return false;
}

/* Counts up to `last`, in slices.  false: there is more to count, or the batch has ended. */
static bool range_counted(struct direct_batch *b, struct stream *s, uint64_t first, uint64_t last,
                          uint64_t *n)
{
    int rc;

    while ((rc = stream_tally(s, filter_of(b), first, last, n)) == MF_AGAIN)
        if (batch_spent(b, 64)) {
            batch_later(b);
            return false;
        }
    if (rc != 0)
        batch_end(b, DIRECT_NO_MEMORY);
    return rc == 0;
}

/* Messages stored since the count are pending, too. */
static void range_newer(struct direct_batch *b, struct stream *s)
{
    uint64_t newer;

    if (!range_counted(b, s, b->up_to + 1, b->newest, &newer))
        return;
    b->pending += newer;
    batch_send_end(b);
}

static void range_end(struct direct_batch *b, struct stream *s)
{
    struct stream_state st;

    if (b->req.batch == 0) {
        batch_end(b, b->sent == 0 ? DIRECT_NOT_FOUND : NULL);
        return;
    }
    stream_state(s, &st);
    b->newest = st.last_seq;
    b->step = range_newer;
    range_newer(b, s);
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

static uint64_t range_next(struct direct_batch *b, struct stream *s, bool *more)
{
    *more = false;
    return b->cursor == NULL ? stream_next(s, b->seq) : stream_cursor_next(b->cursor, more);
}

static void range_send(struct direct_batch *b, struct stream *s)
{
    if (has_filter(b) && !have_cursor(b, s, b->seq))
        return;
    while (!range_complete(b)) {
        bool more;
        int64_t bytes = b->sent_bytes;
        uint64_t seq = range_next(b, s, &more);

        if (seq != 0 && b->req.batch > 0)
            stream_tally_pass(s, filter_of(b), b->seq, seq);
        enum sent sent = seq == 0 ? SENT_NOT_THERE : batch_send_seq(b, s, seq);

        if (seq == 0 && !more) {
            range_dry(b, s);
            return;
        }
        if (sent == SENT_NEVER)
            batch_end(b, DIRECT_NO_MEMORY);
        if (sent == SENT_NEVER || sent == SENT_LATER)
            return;
        if (batch_spent(b, (size_t)(b->sent_bytes - bytes) / 4096) && !range_complete(b)) {
            batch_later(b);
            return;
        }
    }
    range_end(b, s);
}

/* How many match from b->seq on. */
static void range_tally(struct direct_batch *b, struct stream *s)
{
    if (!range_counted(b, s, b->seq, b->up_to, &b->pending))
        return;
    b->step = range_send;
    range_send(b, s);
}

static void range_count(struct direct_batch *b, struct stream *s)
{
    struct stream_state st;

    stream_state(s, &st);
    b->up_to = st.last_seq;
    b->step = range_tally;
    range_tally(b, s);
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
        batch_seek(b, s, b->req.start_ns, range_found);
        return;
    }
    b->seq = b->req.seq;
    range_count(b, s);
}

/* --- one message that must be searched ------------------------------------------------------- */

static struct stream_find *find_new(struct stream *s, const struct direct_req *r)
{
    return r->last != NULL ? stream_find_last(s, mf_str(r->last))
                           : stream_find_next(s, mf_str(r->next), r->seq);
}

static void find_step(struct direct_batch *b, struct stream *s)
{
    uint64_t seq;

    if (b->find == NULL)
        b->find = find_new(s, &b->req);
    if (b->find == NULL) {
        batch_end(b, DIRECT_NO_MEMORY);
        return;
    }
    do {
        if (stream_find_step(b->find, &seq)) {
            direct_get_one(b->ja, s, b->reply, seq, direct_how(&b->req));
            batch_free(b);
            return;
        }
    } while (!batch_spent(b, 3));
    batch_later(b);
}

/* --- in ------------------------------------------------------------------------------------- */

/* NULL: answered. */
static struct direct_batch *batch_new(struct js_account *ja, struct stream *s,
                                      struct mf_slice reply, const struct direct_req *req,
                                      struct arena *mem)
{
    struct direct_batch *b = calloc(1, sizeof *b);
    char *name = arena_str(mem, stream_name(s)), *to = arena_dup(mem, reply);

    if (b == NULL || name == NULL || to == NULL) {
        free(b);
        direct_send_status(ja, reply, DIRECT_NO_MEMORY);
        return NULL;
    }
    b->ja = ja;
    b->req = *req;
    b->mem = *mem;
    *mem = (struct arena){.chunks = NULL};
    b->name = name;
    b->created_ns = stream_created_ns(s);
    b->reply = mf_slice(to, reply.len);
    b->task.run = batch_slice;
    b->task.cause = WORK_DIRECT;
    b->task.what = "batch";
    mf_list_init(&b->link);
    return b;
}

/* About the memory of a request. */
static size_t bytes_of(const struct direct_req *r)
{
    size_t n = sizeof(struct direct_batch) + r->multi.n * sizeof(char *) + mf_str(r->last).len +
               mf_str(r->next).len;

    for (size_t i = 0; i < r->multi.n; i++)
        n += strlen(r->multi.at[i]) + 1;
    return n;
}

/* Begins with its first slice, or waits until there are fewer. */
static void batch_begin(struct direct_batch *b, struct stream *s)
{
    struct direct_queue *q = &js_wire(b->ja)->direct;
    size_t bytes;

    if (q->nbatches < BATCHES) {
        q->nbatches++;
        mf_list_push(&q->batches, &b->link);
        b->first_steps = FIRST_STEPS;
        b->step(b, s);
        return;
    }
    bytes = bytes_of(&b->req);
    mf_list_push(&q->later, &b->link);
    q->later_bytes += bytes;
    b->bytes = bytes;
    if (q->later_bytes > LATER_BYTES)
        batch_end(b, DIRECT_NO_MEMORY);
}

void direct_batch_start(struct js_account *ja, struct stream *s, struct mf_slice reply,
                        const struct direct_req *req, struct arena *mem)
{
    struct direct_batch *b = js_subject_heard(ja, reply) ? batch_new(ja, s, reply, req, mem) : NULL;

    if (b == NULL)
        return;
    if (b->req.max_bytes == 0)
        b->req.max_bytes = ja->js->options->max_pending;
    b->step = batch_is_multi(b) ? multi_start : range_start;
    batch_begin(b, s);
}

/* If the first step finds the message, no batch is needed. */
void direct_find_start(struct js_account *ja, struct stream *s, struct mf_slice reply,
                       const struct direct_req *req, struct arena *mem)
{
    struct stream_find *find = find_new(s, req);
    struct direct_batch *b;
    uint64_t seq;

    if (find == NULL || stream_find_step(find, &seq)) {
        if (find == NULL)
            direct_send_status(ja, reply, DIRECT_NO_MEMORY);
        else
            direct_get_one(ja, s, reply, seq, direct_how(req));
        stream_find_free(find);
        return;
    }
    b = js_subject_heard(ja, reply) ? batch_new(ja, s, reply, req, mem) : NULL;
    if (b == NULL ||
        js_wire(ja)->direct.nbatches >= BATCHES) { /* while it waits it keeps the request only */
        stream_find_free(find);
        find = NULL;
    }
    if (b == NULL)
        return;
    b->find = find;
    b->step = find_step;
    batch_begin(b, s);
}
