/* fast.c: fast batches: many messages, few answers.  The reply subject carries what a batch needs:
 *
 *     <prefix>.<id>.<flow>.<ok|fail>.<sequence>.<operation>.$FI
 *
 * Each message is stored when it arrives.  Flow messages give the publisher the last sequence and
 * the number of messages between flow messages; they are sent to the reply subject of the message
 * that caused them, after the commit of the messages that they acknowledge.  The end is a pub ack
 * for the whole batch.
 *
 * Happy path: op 0, op 1..., op 2 (store and commit) or op 3 (commit).  Gap or error: with `ok` it
 * is reported and the batch continues; with `fail` the stored messages are committed, and the batch
 * is over. */
#include "stream/batch_impl.h"

#include "codec/hash.h"
#include "proto/header.h"
#include "codec/jsonw.h"

#include <stdlib.h>

#define MAX_PER_STREAM 1000
#define MAX_TOTAL      50000
#define TIMEOUT_NS     10000000000LL
#define FLOW_DEFAULT   10
#define FLOW_MOST      500

enum fast_op { FAST_START, FAST_APPEND, FAST_COMMIT, FAST_COMMIT_EOB, FAST_PING };

/* The parts of a reply subject. */
struct fast_reply {
    struct mf_slice id;
    uint64_t seq;
    uint16_t flow;
    bool gap_ok;
    enum fast_op op;
};

/* Sequences are those of the batch, but stored_seq. */
struct fast {
    struct table_node node;
    struct mf_list used;
    uint64_t last;        /* the highest one seen */
    uint64_t told;        /* the one of the last flow message */
    uint64_t stored_seq;  /* in the stream, of the last one stored */
    uint16_t every, most; /* a flow message every so many; what the client allows */
    bool gap_ok;
    int64_t deadline_ns;
    size_t id_len;
    char id[BATCH_ID_MAX];
};

struct fasts {
    struct table table;
    struct mf_list used;
    struct loop_timer *timer;
};

/* --- the reply subject ------------------------------------------------------------------------ */

/* Takes the last token off. */
static bool pop_token(struct mf_slice *rest, struct mf_slice *token)
{
    size_t at = rest->len;

    while (at > 0 && rest->ptr[at - 1] != '.')
        at--;
    if (at == 0)
        return false;
    *token = mf_slice(rest->ptr + at, rest->len - at);
    rest->len = at - 1;
    return true;
}

static bool reply_read(struct mf_slice rest, struct fast_reply *r)
{
    struct mf_slice end, op, seq, gap, flow;

    if (!pop_token(&rest, &end) || !pop_token(&rest, &op) || !pop_token(&rest, &seq) ||
        !pop_token(&rest, &gap) || !pop_token(&rest, &flow) || !pop_token(&rest, &r->id))
        return false;
    int64_t n = check_parse_seq(op);
    if (n < FAST_START || n > FAST_PING)
        return false;
    r->op = (enum fast_op)n;
    if (mf_parse_u64(seq, &r->seq) != 0 || r->seq == 0 || r->seq == UINT64_MAX)
        return false;
    if ((r->seq == 1 && (r->op == FAST_COMMIT_EOB || r->op == FAST_APPEND)) ||
        (r->seq != 1 && r->op == FAST_START))
        return false;
    r->gap_ok = mf_eq_str(gap, "ok");
    if (!r->gap_ok && !mf_eq_str(gap, "fail"))
        return false;
    n = check_parse_seq(flow);
    r->flow = (uint16_t)(n <= 0 ? FLOW_DEFAULT : n > UINT16_MAX ? UINT16_MAX : n);
    return true;
}

/* --- batches ---------------------------------------------------------------------------------- */

static void arm_timer(struct stream *s)
{
    struct mf_list *l = mf_list_first(&s->fasts->used);

    if (l == NULL) {
        loop_timer_stop(s->fasts->timer);
        return;
    }
    int64_t wait = mf_container(l, struct fast, used)->deadline_ns - stream_now(s);
    loop_timer_arm(s->fasts->timer, loop_mono_ns(s->host->loop) + (wait > 0 ? wait : 0));
}

static void fast_drop(struct stream *s, struct fast *b)
{
    table_del(&s->fasts->table, &b->node);
    mf_list_del(&b->used);
    --*s->host->fast_batches;
    free(b);
}

void fast_drop_silent(struct stream *s)
{
    int64_t now = stream_now(s);

    if (s->fasts == NULL)
        return;
    while (!mf_list_empty(&s->fasts->used)) {
        struct fast *b = mf_container(mf_list_first(&s->fasts->used), struct fast, used);
        if (b->deadline_ns > now)
            break;
        fast_drop(s, b); /* its messages are stored: the publisher needs no notice */
    }
    arm_timer(s);
}

static void timer_fired(void *arg)
{
    fast_drop_silent(arg);
}

void fast_drop_all(struct stream *s)
{
    struct fasts *fs = s->fasts;

    if (fs == NULL)
        return;
    while (!mf_list_empty(&fs->used))
        fast_drop(s, mf_container(mf_list_first(&fs->used), struct fast, used));
    loop_timer_free(fs->timer);
    table_fini(&fs->table);
    free(fs);
    s->fasts = NULL;
}

static struct fasts *get_fasts(struct stream *s)
{
    struct fasts *fs = s->fasts;

    if (fs != NULL || (fs = calloc(1, sizeof *fs)) == NULL)
        return fs;
    mf_list_init(&fs->used);
    fs->timer = loop_timer_new(s->host->loop, timer_fired, s);
    if (fs->timer == NULL) {
        free(fs);
        return NULL;
    }
    return s->fasts = fs;
}

static struct fast *fast_find(struct stream *s, struct mf_slice id)
{
    struct table_node *n = s->fasts == NULL ? NULL : table_first(&s->fasts->table, hash_slice(id));

    for (; n != NULL; n = table_next(n)) {
        struct fast *b = mf_container(n, struct fast, node);
        if (mf_eq(mf_slice(b->id, b->id_len), id))
            return b;
    }
    return NULL;
}

static struct fast *fast_new(struct stream *s, const struct fast_reply *r)
{
    struct fasts *fs = get_fasts(s);
    struct fast *b = fs == NULL ? NULL : calloc(1, sizeof *b);

    if (b == NULL || table_add(&fs->table, &b->node, hash_slice(r->id)) != 0) {
        free(b);
        return NULL;
    }
    b->gap_ok = r->gap_ok;
    b->most = r->flow;
    b->every = r->flow < FLOW_MOST ? r->flow : FLOW_MOST;
    if (fs->table.count > 1)
        b->every = 1; /* several share the stream: each begins slowly */
    b->id_len = r->id.len;
    memcpy(b->id, r->id.ptr, r->id.len);
    mf_list_push(&fs->used, &b->used);
    ++*s->host->fast_batches;
    return b;
}

static void fast_touch(struct stream *s, struct fast *b)
{
    int64_t timeout = s->host->batch_timeout_ns > 0 ? s->host->batch_timeout_ns : TIMEOUT_NS;
    bool first = mf_list_first(&s->fasts->used) == &b->used;

    b->deadline_ns = stream_now(s) + timeout;
    mf_list_del(&b->used);
    mf_list_push(&s->fasts->used, &b->used);
    if (first)
        arm_timer(s); /* else the timer waits for another one */
}

/* --- flow messages ---------------------------------------------------------------------------- */

/* An answer that waits for the disk, or for the end of the turn: it may be published to this very
 * stream, which is in the middle of a publish. */
struct say {
    struct store_wait wait;
    struct loop_defer defer;
    struct stream *stream;
    size_t reply_len, text_len;
    char bytes[];
};

static void publish_answer(struct stream *s, struct mf_slice reply, struct mf_slice text)
{
    s->host->publish(s->host->arg, &(struct mf_msg){.subject = reply, .payload = text});
}

static void say_done(struct store_wait *w, int status)
{
    struct say *y = mf_container(w, struct say, wait);
    struct stream *s = y->stream;

    s->inflight--;
    if (status == 0)
        publish_answer(s, mf_slice(y->bytes, y->reply_len),
                       mf_slice(y->bytes + y->reply_len, y->text_len));
    free(y);
}

static void say_now(struct loop_defer *d)
{
    say_done(&mf_container(d, struct say, defer)->wait, 0);
}

/* Behind what is on its way to the disk: answers keep their order, and an acknowledgement is true.
 */
static void say_text(struct stream *s, struct mf_slice reply, struct mf_buf *text)
{
    struct say *y = mf_buf_failed(text) ? NULL : malloc(sizeof *y + reply.len + text->len);
    int rc = 0;

    if (y != NULL) {
        *y = (struct say){.wait.done = say_done,
                          .defer.fn = say_now,
                          .stream = s,
                          .reply_len = reply.len,
                          .text_len = text->len};
        memcpy(y->bytes, reply.ptr, reply.len);
        memcpy(y->bytes + reply.len, text->ptr, text->len);
        if (store_idle(s->store) && s->purge.rests == 0)
            loop_defer(s->host->loop, &y->defer);
        else
            rc = purge_barrier(s, &y->wait);
        if (rc == 0)
            s->inflight++;
        else
            free(y);
    }
    mf_buf_fini(text);
}

/* Without them the publisher would stand still, so a stream without acks sends them too, as it does
 * gaps and errors. */
static void say_ack(struct stream *s, struct mf_slice reply, uint64_t seq, unsigned every)
{
    struct mf_buf b = MF_BUF_INIT;

    mf_buf_printf(&b, "{\"type\":\"ack\",\"seq\":%llu,\"msgs\":%u}", (unsigned long long)seq,
                  every);
    say_text(s, reply, &b);
}

static void say_gap(struct stream *s, struct mf_slice reply, uint64_t expected, uint64_t seq)
{
    struct mf_buf b = MF_BUF_INIT;

    mf_buf_printf(&b, "{\"type\":\"gap\",\"last_seq\":%llu,\"seq\":%llu}",
                  (unsigned long long)expected, (unsigned long long)seq);
    say_text(s, reply, &b);
}

static void say_error(struct stream *s, struct mf_slice reply, uint64_t seq,
                      const struct js_error *e)
{
    struct mf_buf b = MF_BUF_INIT;
    struct jsonw w;

    jsonw_begin(&w, &b, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    jsonw_str(&w, "type", "err");
    jsonw_u64(&w, "seq", seq);
    jsonw_object(&w, "error");
    jsonw_u64(&w, "code", e->code);
    jsonw_u64(&w, "err_code", e->err_code);
    jsonw_str(&w, "description", e->text);
    jsonw_end(&w);
    jsonw_end(&w);
    say_text(s, reply, &b);
}

/* Is it time for the next one?  Then the pace changes too: half a thousand messages between flow
 * messages, shared by all batches of the stream, approached by doubling and halving. */
static bool say_flow(struct stream *s, struct fast *b, struct mf_slice reply)
{
    size_t share = FLOW_MOST / s->fasts->table.count;

    if (b->last < b->told + b->every)
        return false;
    b->told += (b->last - b->told) / b->every * b->every;
    uint16_t aim = (uint16_t)(share < 1 ? 1 : share);
    if (aim > b->most)
        aim = b->most;
    if (b->every < aim)
        b->every = (uint16_t)(b->every * 2 > aim ? aim : b->every * 2);
    else if (b->every > aim)
        b->every = (uint16_t)(b->every / 2 < aim ? aim : b->every / 2);
    say_ack(s, reply, b->told, b->every);
    return true;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void nothing_to_say(struct stream_publish *p)
{
    p->done(p, &(struct stream_ack){.silent = true});
}

static void refuse_publish(struct stream *s, struct stream_publish *p, const struct js_error *e)
{
    stream_answer(s, p, &(struct stream_ack){.error = e});
}

/* The pub ack of the batch; it is over. */
static void finish_batch(struct stream *s, struct stream_publish *p, struct fast *b,
                         uint64_t duplicate)
{
    char id[BATCH_ID_MAX];
    struct stream_ack ack = {.seq = duplicate != 0 ? duplicate : b->stored_seq,
                             .duplicate = duplicate != 0,
                             .batch = mf_slice(id, b->id_len),
                             .batch_count = b->last,
                             .anyway = true};
    struct js_error e;

    memcpy(id, b->id, b->id_len);
    fast_drop(s, b);
    /* Nobody waits for the messages before it: this answer waits for them all. */
    int rc = stream_answer_later(p, &ack);
    if (rc == 0 && (rc = purge_barrier(s, stream_wait(s, p, ack.seq))) == 0) {
        s->inflight++;
        return;
    }
    free(p->answer);
    p->answer = NULL;
    stream_store_error(s, rc, &e);
    p->done(p, &(struct stream_ack){.error = &e});
}

/* --- coming in -------------------------------------------------------------------------------- */

static int fast_of(struct stream *s, const struct fast_reply *r, struct fast **out,
                   struct js_error *e)
{
    const struct stream_host *h = s->host;
    uint64_t per_stream = h->batch_max_per_stream > 0 ? h->batch_max_per_stream : MAX_PER_STREAM;
    uint64_t total = h->batch_max_total > 0 ? h->batch_max_total : MAX_TOTAL;

    if ((*out = fast_find(s, r->id)) != NULL)
        return 0;
    if (r->seq != 1)
        return js_error_set(e, JS_BATCH_PUBLISH_UNKNOWN_BATCH_ID);
    if ((s->fasts != NULL && s->fasts->table.count >= per_stream) || *h->fast_batches >= total ||
        (*out = fast_new(s, r)) == NULL)
        return js_error_set(e, JS_BATCH_PUBLISH_TOO_MANY_INFLIGHT);
    return 0;
}

/* How far are we, and has all before this sequence arrived? */
static void answer_ping(struct stream *s, struct stream_publish *p, struct fast *b,
                        const struct fast_reply *r)
{
    bool flowed = false;

    if (r->seq > b->last) {
        say_gap(s, p->msg.reply, b->last + 1, r->seq + 1);
        if (!b->gap_ok) {
            finish_batch(s, p, b, 0);
            return;
        }
        b->last = r->seq;
        flowed = say_flow(s, b, p->msg.reply);
    }
    if (!flowed)
        say_ack(s, p->msg.reply, b->told, b->every);
    nothing_to_say(p);
}

/* The next one, or a gap that may be; false: the batch is over and p answered. */
static bool in_order(struct stream *s, struct stream_publish *p, struct fast *b,
                     const struct fast_reply *r)
{
    if (r->seq != b->last + 1)
        say_gap(s, p->msg.reply, b->last + 1, r->seq);
    if (r->seq == b->last + 1 || (b->gap_ok && r->seq > b->last)) {
        b->last = r->seq;
        return true;
    }
    finish_batch(s, p, b, 0);
    return false;
}

/* The message was refused, or is a duplicate. */
static void handle_refusal(struct stream *s, struct stream_publish *p, struct fast *b,
                           const struct fast_reply *r, const struct js_error *e, bool known,
                           uint64_t seq)
{
    bool commits = r->op == FAST_COMMIT;

    if (known) {
        (void)say_flow(s, b, p->msg.reply);
        if (!commits) {
            nothing_to_say(p);
            return;
        }
    }
    if (!r->gap_ok &&
        b->last == 1) { /* answered as any other publish would be, even without acks */
        if (known) {
            finish_batch(s, p, b, seq);
            return;
        }
        fast_drop(s, b);
        stream_answer(s, p, &(struct stream_ack){.error = e, .anyway = true});
        return;
    }
    if (!known)
        say_error(s, p->msg.reply, r->seq, e);
    if (r->gap_ok && !commits) {
        nothing_to_say(p);
        return;
    }
    if (!known)
        b->last--;
    finish_batch(s, p, b, 0);
}

static int store_message(struct stream *s, struct fast *b, struct intake *in,
                         struct batch_item *item, struct js_error *e)
{
    const char *val;
    int rc = batch_check(s, NULL, item, e);

    in->in_slices = true; /* answers wait for purge_barrier() */
    if (rc != 0 || (rc = check_expected_msg_id(s, in, e)) != 0 ||
        (rc = counter_apply(s, in, &val, e)) != 0 || (rc = batch_store(s, in, false, e)) != 0)
        return rc;
    b->stored_seq = in->seq;
    notify_after_commit(s);
    return 0;
}

static void handle_message(struct stream *s, struct stream_publish *p, struct fast *b,
                           const struct fast_reply *r, struct intake *in)
{
    struct batch_item item = {.in = in};
    struct js_error e;

    if (!in_order(s, p, b, r))
        return;
    if (r->op == FAST_COMMIT_EOB) {
        b->last--; /* it was not a message */
        finish_batch(s, p, b, 0);
        return;
    }
    if (r->seq == 1 && r->op != FAST_COMMIT && !s->cfg.no_ack) /* as in nats-server */
        say_ack(s, p->msg.reply, 0, b->every);
    int rc = store_message(s, b, in, &item, &e);
    if (rc != 0) {
        handle_refusal(s, p, b, r, &e, rc == MF_EXISTS, item.duplicate_of);
    } else if (r->op == FAST_COMMIT) {
        finish_batch(s, p, b, 0);
    } else {
        (void)say_flow(s, b, p->msg.reply);
        nothing_to_say(p);
    }
}

/* The header was for us. */
static int strip_level(struct stream *s, struct intake *in, struct js_error *e)
{
    struct mf_buf out = MF_BUF_INIT;

    if (in->h.required_level.len == 0)
        return 0;
    header_remove(&out, in->hdr, "Nats-Required-Api-Level");
    int rc = intake_replace(s, in, &out);
    if (rc != 0)
        stream_store_error(s, rc, e);
    return rc;
}

bool fast_claim(struct stream *s, struct stream_publish *p, struct intake *in)
{
    struct fast_reply r;
    struct fast *b;
    struct js_error e;
    int rc;

    if (MF_LIKELY(!mf_ends(p->msg.reply, ".$FI")) || p->msg.reply.len <= 4)
        return false;
    if ((rc = batch_check_early(s, in, &e)) == 0) {
        if (!s->cfg.allow_batched)
            rc = js_error_set(&e, JS_BATCH_PUBLISH_DISABLED);
        else if (!reply_read(p->msg.reply, &r))
            rc = js_error_set(&e, JS_BATCH_PUBLISH_INVALID_PATTERN);
        else if (r.id.len > BATCH_ID_MAX)
            rc = js_error_set(&e, JS_BATCH_PUBLISH_INVALID_BATCH_ID);
        else
            rc = fast_of(s, &r, &b, &e);
    }
    if (rc != 0) {
        refuse_publish(s, p, &e);
        return true;
    }
    if (batch_level_too_high(in)) {
        fast_drop(s, b);
        js_error_set(&e, JS_REQUIRED_API_LEVEL);
        refuse_publish(s, p, &e);
        return true;
    }
    if (strip_level(s, in, &e) != 0) {
        refuse_publish(s, p, &e);
        return true;
    }
    fast_touch(s, b);
    if (r.op == FAST_PING)
        answer_ping(s, p, b, &r);
    else
        handle_message(s, p, b, &r, in);
    return true;
}
