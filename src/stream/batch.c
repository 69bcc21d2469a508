/* batch.c: atomic batches: Nats-Batch-Id, Nats-Batch-Sequence, Nats-Batch-Commit.
 *
 * Happy path: copies of the messages are staged in memory, each answered with an empty reply; the
 * commit runs all checks (batch_check.c) against the stream as it is and what the batch itself will
 * have done, then everything is stored as one commit batch: after a crash, and for every reader,
 * all of it exists or nothing.  The publish ack follows the commit. Failure: any message that is
 * out of order, too large or refused ends the whole batch. Silence: a batch without a message for
 * batch_timeout_ns is dropped, with an advisory. */
#include "stream/batch_impl.h"

#include "codec/hash.h"
#include "proto/header.h"

#include <stdlib.h>

#define MAX_MSGS       1000
#define MAX_PER_STREAM 50
#define MAX_TOTAL      1000
#define TIMEOUT_NS     10000000000LL
#define MAX_BYTES      (64u << 20)  /* of one batch */
#define STREAM_BYTES   (256u << 20) /* of all batches of a stream */
#define ITEM_OVERHEAD  128

/* A staged message. */
struct member {
    struct mf_list link;
    struct batch_item item;
    struct intake in;
    struct mf_buf hdr, payload; /* rewritten ones */
    uint8_t bytes[];
};

struct batch {
    struct table_node node;
    struct mf_list used; /* the one that was silent longest first */
    struct mf_list members;
    uint64_t last; /* Nats-Batch-Sequence */
    size_t size;
    int64_t deadline_ns;
    size_t id_len;
    char id[BATCH_ID_MAX];
};

struct batches {
    struct table table;
    struct mf_list used;
    size_t size;
    struct loop_timer *timer;
};

static struct mf_slice batch_id(const struct batch *b)
{
    return mf_slice(b->id, b->id_len);
}

/* --- members ---------------------------------------------------------------------------------- */

static void member_free(struct member *m)
{
    mf_buf_fini(&m->hdr);
    mf_buf_fini(&m->payload);
    free(m);
}

static struct mf_slice keep_slice(uint8_t **at, struct mf_slice from)
{
    struct mf_slice to = mf_slice(*at, from.len);

    if (from.len > 0)
        memcpy(*at, from.ptr, from.len);
    *at += from.len;
    return to;
}

/* A copy; without Nats-Required-Api-Level, which was for us. */
static struct member *member_new(const struct intake *in)
{
    struct mf_buf hdr = MF_BUF_INIT;
    struct mf_slice h = in->hdr;
    struct member *m;

    if (in->h.required_level.len > 0) {
        header_remove(&hdr, in->hdr, "Nats-Required-Api-Level");
        h = mf_buf_slice(&hdr);
    }
    m = mf_buf_failed(&hdr) ? NULL
                            : calloc(1, sizeof *m + in->subject.len + h.len + in->payload.len);
    if (m != NULL) {
        uint8_t *at = m->bytes;
        m->in.subject = keep_slice(&at, in->subject);
        m->in.hdr = keep_slice(&at, h);
        m->in.payload = keep_slice(&at, in->payload);
        intake_read(m->in.hdr, &m->in.h);
        m->item.in = &m->in;
    }
    mf_buf_fini(&hdr);
    return m;
}

/* Checks and counters leave what they rewrote in shared memory: m gets its own. */
static int member_own(struct mf_buf *own, struct mf_slice *s, const uint8_t *before)
{
    if (s->ptr == before)
        return 0;
    mf_buf_clear(own);
    mf_buf_append(own, s->ptr, s->len);
    if (mf_buf_failed(own))
        return MF_NOMEM;
    *s = mf_buf_slice(own);
    return 0;
}

/* --- batches ---------------------------------------------------------------------------------- */

static void arm_timer(struct stream *s)
{
    struct batches *bs = s->batches;
    struct mf_list *l = mf_list_first(&bs->used);

    if (l == NULL) {
        loop_timer_stop(bs->timer);
        return;
    }
    int64_t wait = mf_container(l, struct batch, used)->deadline_ns - stream_now(s);
    loop_timer_arm(bs->timer, loop_mono_ns(s->host->loop) + (wait > 0 ? wait : 0));
}

static void batch_drop(struct stream *s, struct batch *b)
{
    struct mf_list *l;

    while ((l = mf_list_pop(&b->members)) != NULL)
        member_free(mf_container(l, struct member, link));
    s->batches->size -= b->size;
    table_del(&s->batches->table, &b->node);
    mf_list_del(&b->used);
    --*s->host->batches;
    free(b);
}

static void abandon_batch(struct stream *s, struct batch *b, const char *reason)
{
    char id[BATCH_ID_MAX];
    size_t n = b->id_len;

    memcpy(id, b->id, n);
    batch_drop(s, b);
    s->host->batch_abandoned(s->host->arg, s, mf_slice(id, n), reason);
}

void batch_drop_silent(struct stream *s)
{
    int64_t now = stream_now(s);

    while (s->batches != NULL && !mf_list_empty(&s->batches->used)) {
        struct batch *b = mf_container(mf_list_first(&s->batches->used), struct batch, used);
        if (b->deadline_ns > now)
            break;
        abandon_batch(s, b, "timeout");
    }
    if (s->batches != NULL)
        arm_timer(s);
}

static void timer_fired(void *arg)
{
    batch_drop_silent(arg);
}

void batch_drop_all(struct stream *s)
{
    struct batches *bs = s->batches;

    if (bs == NULL)
        return;
    while (!mf_list_empty(&bs->used))
        batch_drop(s, mf_container(mf_list_first(&bs->used), struct batch, used));
    loop_timer_free(bs->timer);
    table_fini(&bs->table);
    free(bs);
    s->batches = NULL;
}

static struct batches *get_batches(struct stream *s)
{
    struct batches *bs = s->batches;

    if (bs != NULL || (bs = calloc(1, sizeof *bs)) == NULL)
        return bs;
    mf_list_init(&bs->used);
    bs->timer = loop_timer_new(s->host->loop, timer_fired, s);
    if (bs->timer == NULL) {
        free(bs);
        return NULL;
    }
    return s->batches = bs;
}

static struct batch *batch_find(struct stream *s, struct mf_slice id)
{
    struct table_node *n =
        s->batches == NULL ? NULL : table_first(&s->batches->table, hash_slice(id));

    for (; n != NULL; n = table_next(n)) {
        struct batch *b = mf_container(n, struct batch, node);
        if (mf_eq(batch_id(b), id))
            return b;
    }
    return NULL;
}

static struct batch *batch_new(struct stream *s, struct mf_slice id)
{
    struct batches *bs = get_batches(s);
    struct batch *b = bs == NULL ? NULL : calloc(1, sizeof *b);

    if (b == NULL || table_add(&bs->table, &b->node, hash_slice(id)) != 0) {
        free(b);
        return NULL;
    }
    mf_list_init(&b->members);
    mf_list_push(&bs->used, &b->used);
    b->id_len = id.len;
    memcpy(b->id, id.ptr, id.len);
    ++*s->host->batches;
    return b;
}

static void batch_touch(struct stream *s, struct batch *b)
{
    int64_t timeout = s->host->batch_timeout_ns > 0 ? s->host->batch_timeout_ns : TIMEOUT_NS;

    b->deadline_ns = stream_now(s) + timeout;
    mf_list_del(&b->used);
    mf_list_push(&s->batches->used, &b->used);
    arm_timer(s);
}

/* --- commit ----------------------------------------------------------------------------------- */

static int check_member(struct stream *s, struct batch_plan *plan, struct member *m,
                        struct js_error *e)
{
    const uint8_t *hdr = m->in.hdr.ptr, *payload = m->in.payload.ptr;
    const char *val;
    int rc;

    m->in.ts_ns = stream_stamp(s);
    if (m->in.h.expected_last_msg_id.len > 0)
        return js_error_set(e, JS_ATOMIC_PUBLISH_UNSUPPORTED_HEADER_BATCH,
                            "Nats-Expected-Last-Msg-Id");
    if ((rc = batch_check(s, plan, &m->item, e)) != 0 ||
        (rc = counter_apply(s, &m->in, &val, e)) != 0)
        return rc;
    stream_clamp_ttl(s, &m->in);
    /* The next message reuses the buffers of rewritten parts: copy them. */
    bool rewritten = m->in.hdr.ptr != hdr;
    if (member_own(&m->hdr, &m->in.hdr, hdr) != 0 ||
        member_own(&m->payload, &m->in.payload, payload) != 0) {
        stream_store_error(s, MF_NOMEM, e);
        return MF_NOMEM;
    }
    if (rewritten)
        intake_read(m->in.hdr, &m->in.h);
    return 0;
}

static int check_all(struct stream *s, struct batch *b, struct js_error *e)
{
    struct batch_plan plan = {0};
    struct mf_list *l;
    int rc = 0;

    mf_list_each(l, &b->members)
    {
        if ((rc = check_member(s, &plan, mf_container(l, struct member, link), e)) != 0)
            break;
    }
    batch_plan_fini(&plan);
    return rc;
}

/* The end of a batch that ended without a message of its own shows in its last message. */
static int mark_last(struct stream *s, struct batch *b, struct js_error *e)
{
    struct member *m = mf_container(b->members.prev, struct member, link);
    struct mf_buf hdr = MF_BUF_INIT;

    header_set(&hdr, m->in.hdr, "Nats-Batch-Commit", MF_LIT("1"));
    if (mf_buf_failed(&hdr)) {
        mf_buf_fini(&hdr);
        stream_store_error(s, MF_NOMEM, e);
        return MF_NOMEM;
    }
    mf_buf_fini(&m->hdr);
    m->hdr = hdr;
    m->in.hdr = mf_buf_slice(&m->hdr);
    return 0;
}

/* As if they had been published one by one: a message that a later one replaces does not make an
 * earlier one push out more than it has to. */
static void push_out_in_turn(struct stream *s, struct batch *b)
{
    struct mf_list *l;

    mf_list_each(l, &b->members)
    {
        struct intake *in = &mf_container(l, struct member, link)->in;
        if (!in->used_up)
            limits_ahead(s, in);
    }
    mf_list_each(l, &b->members)
    {
        struct intake *in = &mf_container(l, struct member, link)->in;
        if (in->used_up)
            continue;
        limits_turn(s, in);
        stream_stored(s, in);
    }
}

/* *most: how many messages roll-ups may still remove within this commit batch. */
static int store_member(struct stream *s, struct intake *in, uint64_t *most, struct js_error *e)
{
    int rc = in->rollup == ROLLUP_NONE ? 0 : purge_rest_new(s, in, most, 0);

    if (rc != 0)
        stream_store_error(s, rc, e);
    return rc != 0 ? rc : batch_store(s, in, true, e);
}

static struct intake *last_rest(struct batch *b)
{
    for (struct mf_list *l = b->members.prev; l != &b->members; l = l->prev) {
        struct intake *in = &mf_container(l, struct member, link)->in;
        if (in->rest != NULL && !in->used_up)
            return in;
    }
    return NULL;
}

/* Roll-ups that concern too many messages continue in time slices, one after the other; the last
 * one has the wait of the batch.  status: of the batch. */
static void start_rests(struct stream *s, struct batch *b, int status, struct store_wait *wait)
{
    const struct intake *last = last_rest(b);

    for (struct mf_list *l = b->members.next; l != &b->members; l = l->next) {
        struct intake *in = &mf_container(l, struct member, link)->in;
        if (in->rest != NULL)
            purge_rest(s, in, in->used_up ? MF_NOTFOUND : status, in == last ? wait : NULL);
    }
}

/* In the open batch of the store.  Limits remove older messages when all members are appended.  On
 * failure the appended members are removed in that same batch: no reader ever sees them, and their
 * sequences are used up. */
static int store_all(struct stream *s, struct batch *b, struct js_error *e)
{
    uint64_t msgs, bytes, before, published = s->stats.published;
    struct mf_buf id = s->ends.last_msg_id;
    size_t copies = s->notify.copies.len;
    uint64_t most = PURGE_SLICE; /* removed by roll-ups in the commit batch */
    struct mf_list *l;
    int rc = 0;

    s->ends.last_msg_id = (struct mf_buf)MF_BUF_INIT;
    store_accepted(s->store, &msgs, &bytes, &before);
    s->room.planned = 0;
    mf_list_each(l, &b->members)
    {
        struct member *m = mf_container(l, struct member, link);
        m->in.ts_ns = stream_stamp(s);
        if ((rc = store_member(s, &m->in, &most, e)) != 0)
            break;
    }
    if (rc != 0 && l != b->members.next) {
        for (struct mf_list *m = b->members.next; m != l; m = m->next)
            if (mf_container(m, struct member, link)->in.scheduled)
                schedule_unplan(s, &mf_container(m, struct member, link)->in);
        uint64_t last = mf_container(l->prev, struct member, link)->in.seq;
        (void)!store_remove_range(s->store, before + 1, last,
                                  NULL); /* limits_prepare() saw to it */
        dedup_withdraw(s->dedup, before + 1);
    }
    mf_buf_fini(rc == 0 ? &id : &s->ends.last_msg_id);
    if (rc == 0) {
        push_out_in_turn(s, b);
    } else {
        s->ends.last_msg_id = id;
        s->notify.copies.len = copies;
        s->stats.published = published;
    }
    limits_count(s);
    return rc;
}

static void settle_counters(struct stream *s, struct batch *b, bool stored)
{
    struct mf_list *l;

    counter_stage_end(s);
    mf_list_each(l, &b->members)
    {
        counter_settle(s, mf_container(l, struct member, link)->in.subject, stored);
    }
}

static int commit_batch(struct stream *s, struct stream_publish *p, struct batch *b, bool eob,
                        struct js_error *e)
{
    uint64_t msgs, bytes, last, count = b->last - (eob ? 1 : 0);
    int rc;

    if (s->cfg.allow_msg_counter && counter_stage(s) != 0) {
        stream_store_error(s, MF_NOMEM, e);
        return MF_NOMEM;
    }
    /* The mark counts where limits are checked. */
    if ((eob && (rc = mark_last(s, b, e)) != 0) || (rc = check_all(s, b, e)) != 0)
        goto end;
    store_accepted(s->store, &msgs, &bytes, &last);
    struct stream_ack ack = {.seq = last + count, .batch = batch_id(b), .batch_count = count};
    if ((rc = stream_answer_later(p, &ack)) != 0) {
        stream_store_error(s, rc, e);
        goto end;
    }
    store_begin(s->store, false);
    rc = store_all(s, b, e);
    struct store_wait *wait = rc == 0 ? stream_wait(s, p, ack.seq) : NULL;
    int ended = store_end(s->store, last_rest(b) == NULL ? wait : NULL);
    if (rc == 0 && (rc = ended) != 0)
        stream_store_error(s, rc, e);
    start_rests(s, b, rc, wait);
    if (rc == 0) {
        s->inflight++;
    } else {
        free(p->answer);
        p->answer = NULL;
        notify_after_commit(s);
    }
end:
    settle_counters(s, b, rc == 0);
    return rc;
}

/* --- coming in -------------------------------------------------------------------------------- */

static void refuse_publish(struct stream *s, struct stream_publish *p, const struct js_error *e)
{
    stream_answer(s, p, &(struct stream_ack){.error = e});
}

static uint32_t limit_or_default(uint32_t configured, uint32_t standard)
{
    return configured > 0 ? configured : standard;
}

static int too_large(struct stream *s, struct js_error *e)
{
    char text[24];

    text[proto_put_u64((uint8_t *)text, limit_or_default(s->host->batch_max_msgs, MAX_MSGS))] =
        '\0';
    return js_error_set(e, JS_ATOMIC_PUBLISH_TOO_LARGE_BATCH, text);
}

struct step {
    uint64_t seq, size; /* size: without the message that only ends the batch */
    bool commit, eob, invalid;
};

static int step_read(struct stream *s, const struct intake *in, struct step *st, struct js_error *e)
{
    if (!s->cfg.allow_atomic)
        return js_error_set(e, JS_ATOMIC_PUBLISH_DISABLED);
    if (in->h.batch_id.len > BATCH_ID_MAX)
        return js_error_set(e, JS_ATOMIC_PUBLISH_INVALID_BATCH_ID);
    if (mf_parse_u64(in->h.batch_seq, &st->seq) != 0)
        return js_error_set(e, JS_ATOMIC_PUBLISH_MISSING_SEQ);
    st->commit = in->h.batch_commit.len > 0;
    st->eob = mf_eq_str(in->h.batch_commit, "eob");
    st->invalid = st->commit && !st->eob && !mf_eq_str(in->h.batch_commit, "1");
    st->size = st->seq - (st->eob && st->seq > 0 ? 1 : 0);
    return 0;
}

/* The batch it belongs to; a new one for its first message. */
static int batch_of(struct stream *s, const struct intake *in, const struct step *st,
                    struct batch **out, struct js_error *e)
{
    const struct stream_host *h = s->host;

    if ((*out = batch_find(s, in->h.batch_id)) != NULL)
        return 0;
    if (st->seq != 1)
        return st->size > limit_or_default(h->batch_max_msgs, MAX_MSGS)
                   ? too_large(s, e)
                   : js_error_set(e, JS_ATOMIC_PUBLISH_INCOMPLETE_BATCH);
    if ((s->batches != NULL &&
         s->batches->table.count >= limit_or_default(h->batch_max_per_stream, MAX_PER_STREAM)) ||
        *h->batches >= limit_or_default(h->batch_max_total, MAX_TOTAL))
        return js_error_set(e, JS_ATOMIC_PUBLISH_TOO_MANY_INFLIGHT);
    if ((*out = batch_new(s, in->h.batch_id)) == NULL)
        return js_error_set(e, JS_ATOMIC_PUBLISH_INCOMPLETE_BATCH);
    return 0;
}

/* Errors that end the batch before the message is staged; b is freed then. */
static int refuse_step(struct stream *s, struct batch *b, const struct intake *in,
                       const struct step *st, struct js_error *e)
{
    if (st->invalid) {
        batch_drop(s, b);
        return js_error_set(e, JS_ATOMIC_PUBLISH_INVALID_BATCH_COMMIT);
    }
    if (batch_level_too_high(in)) {
        abandon_batch(s, b, "unsupported");
        return js_error_set(e, JS_REQUIRED_API_LEVEL);
    }
    if (b->last + 1 != st->seq || (st->seq == 1 && st->eob)) {
        abandon_batch(s, b, "incomplete");
        return js_error_set(e, JS_ATOMIC_PUBLISH_INCOMPLETE_BATCH);
    }
    size_t size = in->subject.len + in->hdr.len + in->payload.len + ITEM_OVERHEAD;
    if (st->size > limit_or_default(s->host->batch_max_msgs, MAX_MSGS) ||
        b->size + size > MAX_BYTES || s->batches->size + size > STREAM_BYTES) {
        abandon_batch(s, b, "large");
        return too_large(s, e);
    }
    return 0;
}

static int stage_message(struct stream *s, struct batch *b, const struct intake *in,
                         struct js_error *e)
{
    struct member *m = member_new(in);
    size_t size = in->subject.len + in->hdr.len + in->payload.len + ITEM_OVERHEAD;

    if (m == NULL) {
        abandon_batch(s, b, "incomplete");
        return js_error_set(e, JS_ATOMIC_PUBLISH_INCOMPLETE_BATCH);
    }
    mf_list_push(&b->members, &m->link);
    b->size += size;
    s->batches->size += size;
    return 0;
}

/* A commit may have to wait until the values of its counters are known.  Nothing has changed then:
 * the same message is published again. */
static bool wait_for_counters(struct stream *s, struct stream_publish *p, struct batch *b)
{
    struct mf_list *l;

    if (!s->cfg.allow_msg_counter)
        return false;
    mf_list_each(l, &b->members)
    {
        if (counter_park_subject(s, p, mf_container(l, struct member, link)->in.subject))
            return true;
    }
    return false;
}

bool batch_claim(struct stream *s, struct stream_publish *p, struct intake *in)
{
    struct step st = {0};
    struct batch *b;
    struct js_error e;

    if (in->h.batch_id.len == 0)
        return false;
    if (batch_check_early(s, in, &e) != 0 || step_read(s, in, &st, &e) != 0 ||
        batch_of(s, in, &st, &b, &e) != 0 || refuse_step(s, b, in, &st, &e) != 0) {
        refuse_publish(s, p, &e);
        return true;
    }
    if (st.commit && wait_for_counters(s, p, b)) {
        batch_touch(s, b);
        return true;
    }
    b->last = st.seq;
    if (!st.eob && stage_message(s, b, in, &e) != 0) {
        refuse_publish(s, p, &e);
        return true;
    }
    if (!st.commit) {
        batch_touch(s, b);
        stream_answer(s, p, &(struct stream_ack){.empty = true});
        return true;
    }
    int rc = commit_batch(s, p, b, st.eob, &e);
    batch_drop(s, b);
    if (rc != 0)
        refuse_publish(s, p, &e);
    return true;
}
