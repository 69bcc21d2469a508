/* snapshot.c: STREAM.SNAPSHOT: sends a stream as an archive, in chunks.
 *
 * Happy path: the answer shows the stream; then slices of it are written into the archive,
 * compressed, and sent in chunks of the requested size, no more of them at a time than the window
 * allows: each acknowledged chunk lets another be sent.  The last, partial chunk asks for no
 * acknowledgement; an empty message is the end.
 * Failure: no subscriber, no acknowledgement for 5 s, the stream was deleted, no memory: the empty
 * message has the error.
 * Subscriber: nats.go uses a subject of its inbox, which a wildcard subscription for all replies
 * already matches, and subscribes to the subject itself only after the answer.  So, as in
 * nats-server, a subscription to exactly that subject is awaited; others count if none arrives in
 * time.
 * Close: snapshots_stop() ends all of an account; one that waits for the disk is freed when the
 * read returns.
 *
 * Consumers stand before the messages and after the state with their number, so they are gathered
 * first, in slices too, and kept compressed. */
#include "backup/backup_impl.h"
#include "backup/consumer_backup_impl.h"

#include "base/clock.h"
#include "codec/json.h"
#include "base/log.h"
#include "base/rand.h"
#include "codec/archive.h"
#include "codec/s2.h"
#include "stream/stream_ttl.h"
#include "subject/subject.h"

#include <stdio.h>
#include <stdlib.h>

#define KIB              1024
#define MIB              (1024 * KIB)
#define CHUNK_DEFAULT    (128 * KIB)
#define WINDOW_DEFAULT   (8 * MIB)
#define SLICE            (64 * KIB) /* of the archive: one frame, one step */
#define SNAPSHOTS_MAX    16         /* under way in an account */
#define ACK_TIMEOUT_NS   (5 * CLOCK_S)
#define INTEREST_WAIT_NS (2 * CLOCK_S)
#define INTEREST_POLL_NS (20 * CLOCK_MS)
#define FLOW_POLL_NS     (200 * CLOCK_MS)

struct snapshot {
    struct mf_list link; /* backup_account.snapshots */
    struct api_account *aa;
    char *name, *deliver; /* all three behind the struct */
    struct mf_slice client;
    int64_t created_ns, start_ns;
    struct stream_state state; /* when it began */
    bool gathering;            /* consumers, by name: behind `after`; frames, and how many */
    struct mf_buf after, consumers;
    uint64_t nconsumers;
    bool no_consumers;
    uint64_t seq, last_seq;  /* the next one to write, and the last */
    bool written;            /* all of the archive is in `out` */
    struct mf_buf raw, out;  /* a slice of the archive; frames that were not sent yet */
    size_t sent;             /* of `out` */
    size_t chunk;            /* bytes of a full one */
    size_t slots, max_slots; /* how many more may go now; the window */
    uint64_t index;          /* of the last full chunk */
    char ack[sizeof "$JS.SNAPSHOT.ACK.." + 255 + RAND_NUID];
    struct router_sub ack_sub;
    struct loop_timer *timer; /* interest, then acknowledgements */
    int64_t interest_until;   /* 0: there is a subscriber */
    bool exact;               /* to the subject itself, not to a pattern */
    int64_t flow_until;       /* deadline of the next acknowledgement */
    struct work_task task;
    struct stream_load load;
    bool loading, stopped;
};

/* --- the end -------------------------------------------------------------------------------- */

static void snapshot_free(struct snapshot *n)
{
    if (!mf_list_empty(&n->link)) {
        mf_list_del(&n->link);
        backup_account(n->aa)->nsnapshots--;
    }
    loop_timer_free(n->timer);
    mf_buf_fini(&n->raw);
    mf_buf_fini(&n->out);
    mf_buf_fini(&n->after);
    mf_buf_fini(&n->consumers);
    free(n);
}

/* No more events but that of the disk. */
static void snapshot_quiet(struct snapshot *n)
{
    work_cancel(n->aa->ja->js->loop, &n->task);
    loop_timer_stop(n->timer);
    router_unsubscribe(account_router(n->aa->ja->account), &n->ack_sub);
}

static void snapshot_wake(struct snapshot *n)
{
    work_add(n->aa->ja->js->loop, &n->aa->ja->work, &n->task);
}

/* status: of the last message, NULL: none; error: for the advisory, NULL: success. */
static void snapshot_end(struct snapshot *n, const char *status, const char *error)
{
    js_publish(n->aa->ja, mf_str(n->deliver), MF_SLICE_NONE, mf_str(status), MF_SLICE_NONE);
    advisory_snapshot_complete(n->aa, n->name, n->client, n->start_ns,
                               jetstream_now_ns(n->aa->ja->js), error);
    if (error != NULL)
        log_warn("account %s: snapshot of stream %s failed: %s", account_name(n->aa->ja->account),
                 n->name, error);
    snapshot_quiet(n);
    if (n->loading)
        n->stopped = true;
    else
        snapshot_free(n);
}

static void snapshot_fail(struct snapshot *n, const char *why)
{
    char status[128];

    (void)snprintf(status, sizeof status, "NATS/1.0 500 %s\r\n\r\n", why);
    snapshot_end(n, status, why);
}

void snapshots_stop(struct api_account *aa)
{
    struct mf_list *pos;

    backup_account(aa)->nsnapshots = 0;
    while ((pos = mf_list_pop(&backup_account(aa)->snapshots)) != NULL) {
        struct snapshot *n = mf_container(pos, struct snapshot, link);

        snapshot_quiet(n);
        if (n->loading)
            n->stopped = true;
        else
            snapshot_free(n);
    }
}

/* --- writing -------------------------------------------------------------------------------- */

static void write_msg(struct snapshot *n, struct stream *s, const struct stream_msg *m)
{
    struct mf_buf room = MF_BUF_INIT;
    bool other = stream_export_header(s, m, &room);

    n->raw.failed = n->raw.failed || mf_buf_failed(&room);
    archive_add(&n->raw, &(struct archive_entry){.name = m->subject,
                                                 .ts_ns = m->ts_ns,
                                                 .seq = m->seq,
                                                 .hdr = other ? mf_buf_slice(&room) : m->hdr,
                                                 .payload = m->payload});
    mf_buf_fini(&room);
    n->seq = m->seq + 1;
}

static void load_done(struct stream_load *l, int status)
{
    struct snapshot *n = mf_container(l, struct snapshot, load);

    n->loading = false;
    if (n->stopped) {
        snapshot_free(n);
        return;
    }
    if (status == 0)
        write_msg(n, l->stream, &l->msg);
    else if (status == MF_NOTFOUND)
        n->seq = l->seq + 1; /* it died meanwhile: a gap */
    if (status == 0 || status == MF_NOTFOUND)
        snapshot_wake(n);
    else
        snapshot_fail(n, mf_err_text(status));
}

/* 0: written, or removed.  MF_AGAIN: load_done() follows. */
static int write_seq(struct snapshot *n, struct stream *s, uint64_t seq)
{
    struct stream_msg m;
    int rc = stream_get(s, seq, &m);

    if (rc == 0) {
        write_msg(n, s, &m);
        stream_msg_end(&m);
        return 0;
    }
    if (rc == MF_AGAIN) {
        n->load = (struct stream_load){.seq = seq, .done = load_done};
        n->loading = true;
        rc = stream_load(s, &n->load);
        if (rc == 0)
            return MF_AGAIN;
        n->loading = false;
    }
    n->seq = seq + 1;
    return rc == MF_NOTFOUND ? 0 : rc;
}

/* The next slice of the archive, into n->out.  MF_AGAIN: a message is being loaded. */
static int write_slice(struct snapshot *n, struct stream *s)
{
    while (n->raw.len < SLICE && !n->written) {
        uint64_t seq = stream_next(s, n->seq);
        int rc;

        if (seq == 0 || seq > n->last_seq) {
            archive_end(&n->raw);
            n->written = true;
            break;
        }
        rc = write_seq(n, s, seq);
        if (rc != 0)
            return rc;
    }
    mf_buf_consume(&n->out, n->sent);
    n->sent = 0;
    s2_frame_add(&n->out, mf_buf_slice(&n->raw));
    if (mf_buf_failed(&n->raw) || mf_buf_failed(&n->out))
        return MF_NOMEM;
    mf_buf_clear(&n->raw);
    return 0;
}

/* Of the archive: its beginning. */
static void write_state(struct mf_buf *out, const struct stream_state *st, uint64_t consumers,
                        int64_t now_ns)
{
    struct mf_buf json = MF_BUF_INIT;
    struct jsonw w;

    jsonw_begin(&w, &json, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    jsonw_u64(&w, "messages", st->msgs);
    jsonw_u64(&w, "bytes", st->bytes);
    jsonw_u64(&w, "first_seq", st->first_seq);
    jsonw_time(&w, "first_ts", st->first_ts_ns);
    jsonw_u64(&w, "last_seq", st->last_seq);
    jsonw_time(&w, "last_ts", st->last_ts_ns);
    jsonw_u64(&w, "num_subjects", st->subjects);
    jsonw_u64(&w, "num_deleted", st->deleted);
    jsonw_u64(&w, "consumer_count", consumers); /* of those in the archive */
    jsonw_end(&w);
    archive_begin(out);
    archive_add(out, &(struct archive_entry){.name = MF_LIT(ARCHIVE_STATE),
                                             .ts_ns = now_ns,
                                             .payload = mf_buf_slice(&json)});
    out->failed = out->failed || json.failed;
    mf_buf_fini(&json);
}

static void write_consumer(struct snapshot *n, struct consumer *c)
{
    struct mf_buf name = MF_BUF_INIT, json = MF_BUF_INIT;

    mf_buf_puts(&name, ARCHIVE_CONSUMERS);
    mf_buf_puts(&name, consumer_name(c));
    consumer_backup_write(&json, c, n->last_seq);
    archive_add(&n->raw, &(struct archive_entry){.name = mf_buf_slice(&name),
                                                 .ts_ns = n->start_ns,
                                                 .payload = mf_buf_slice(&json)});
    n->raw.failed = n->raw.failed || name.failed || json.failed;
    mf_buf_fini(&name);
    mf_buf_fini(&json);
    n->nconsumers++;
}

/* The next slice of consumers; after the last the state, and they behind it. */
static int gather_consumers(struct snapshot *n, struct stream *s)
{
    struct consumers *g = n->no_consumers ? NULL : js_consumers(s);
    struct consumer *c = NULL;

    while (n->raw.len < SLICE && g != NULL) {
        c = consumers_after(g, mf_buf_slice(&n->after));
        if (c == NULL)
            break;
        mf_buf_clear(&n->after);
        mf_buf_puts(&n->after, consumer_name(c));
        if (!consumer_config(c)->direct)
            write_consumer(n, c);
        if (mf_buf_failed(&n->after) || mf_buf_failed(&n->raw))
            return MF_NOMEM;
    }
    if (n->raw.len > 0)
        s2_frame_add(&n->consumers, mf_buf_slice(&n->raw));
    mf_buf_clear(&n->raw);
    if (c != NULL)
        return mf_buf_failed(&n->consumers) ? MF_NOMEM : 0;
    n->gathering = false;
    write_state(&n->raw, &n->state, n->nconsumers, n->start_ns);
    s2_frame_add(&n->out, mf_buf_slice(&n->raw));
    mf_buf_append(&n->out, n->consumers.ptr, n->consumers.len);
    if (mf_buf_failed(&n->raw) || mf_buf_failed(&n->consumers) || mf_buf_failed(&n->out))
        return MF_NOMEM;
    mf_buf_fini(&n->consumers);
    mf_buf_clear(&n->raw);
    return 0;
}

/* --- sending -------------------------------------------------------------------------------- */

static void arm_timer(struct snapshot *n, int64_t after_ns)
{
    loop_timer_arm(n->timer, loop_mono_ns(n->aa->ja->js->loop) + after_ns);
}

/* Full chunks, as the window allows; at the end the rest.  true: it has ended. */
static bool send_chunks(struct snapshot *n)
{
    while (n->out.len - n->sent >= n->chunk && n->slots > 0) {
        char reply[sizeof n->ack + 48];

        n->index++;
        (void)snprintf(reply, sizeof reply, "%s.%zu.%llu", n->ack, n->chunk,
                       (unsigned long long)n->index);
        n->slots--;
        js_publish(n->aa->ja, mf_str(n->deliver), mf_str(reply), MF_SLICE_NONE,
                   mf_slice(n->out.ptr + n->sent, n->chunk));
        n->sent += n->chunk;
        n->flow_until = loop_mono_ns(n->aa->ja->js->loop) + ACK_TIMEOUT_NS;
    }
    if (!n->written || n->out.len - n->sent >= n->chunk || n->slots == 0)
        return false;
    if (n->out.len > n->sent)
        js_publish(n->aa->ja, mf_str(n->deliver), MF_SLICE_NONE, MF_SLICE_NONE,
                   mf_slice(n->out.ptr + n->sent, n->out.len - n->sent));
    snapshot_end(n, n->index > 0 ? "NATS/1.0 204\r\n\r\n" : NULL, NULL);
    return true;
}

static bool has_exact(struct snapshot *n)
{
    return router_has_exact(account_router(n->aa->ja->account), mf_str(n->deliver), MF_SLICE_NONE);
}

/* Unknown for lack of memory counts as subscribed. */
static bool has_interest(struct snapshot *n)
{
    struct router *r = account_router(n->aa->ja->account);
    bool heard = n->exact ? has_exact(n) : router_has_interest(r, mf_str(n->deliver));

    return heard || router_search_failed(r);
}

static void no_interest(struct snapshot *n)
{
    snapshot_end(n, "NATS/1.0 408 No Interest\r\n\r\n", "no interest");
}

/* One step.  true: go on; else it has ended, or waits for the disk or an acknowledgement. */
static bool snapshot_step(struct snapshot *n)
{
    struct stream *s = catalog_find(n->aa->ja->catalog, mf_str(n->name));
    int rc;

    if (!has_interest(n)) {
        no_interest(n);
        return false;
    }
    if (s == NULL || stream_created_ns(s) != n->created_ns) {
        snapshot_fail(n, "stream not found");
        return false;
    }
    if (!n->written && n->slots > 0) {
        rc = n->gathering ? gather_consumers(n, s) : write_slice(n, s);
        if (rc == MF_AGAIN)
            return false;
        if (rc != 0) {
            snapshot_fail(n, mf_err_text(rc));
            return false;
        }
    }
    return !send_chunks(n) && n->slots > 0;
}

static bool snapshot_turn(struct work_task *t)
{
    struct snapshot *n = mf_container(t, struct snapshot, task);
    struct loop *l = n->aa->ja->js->loop;

    while (snapshot_step(n))
        if (work_spent(l))
            return true;
    return false;
}

static bool accept_ack(struct router_sub *sub, const struct router_msg *m)
{
    struct snapshot *n = mf_container(sub, struct snapshot, ack_sub);

    (void)m;
    if (n->slots < n->max_slots) /* a duplicate counts once */
        n->slots++;
    if (!n->loading && n->interest_until == 0)
        snapshot_wake(n);
    return true;
}

/* At the beginning: is there a listener?  true: begin. */
static bool listener_came(struct snapshot *n, int64_t now)
{
    n->exact = has_exact(n);
    return n->exact || (now >= n->interest_until && has_interest(n));
}

static void timer_fired(void *arg)
{
    struct snapshot *n = arg;
    int64_t now = loop_mono_ns(n->aa->ja->js->loop);

    if (n->interest_until != 0) {
        if (listener_came(n, now)) {
            n->interest_until = 0;
            n->flow_until = now + ACK_TIMEOUT_NS;
            snapshot_wake(n);
        } else if (now >= n->interest_until) {
            no_interest(n);
            return;
        }
    } else if (!has_interest(n)) {
        no_interest(n);
        return;
    } else if (n->slots == 0 && now >= n->flow_until) {
        snapshot_end(n, "NATS/1.0 408 No Flow Response\r\n\r\n", "no flow response");
        return;
    }
    arm_timer(n, n->interest_until != 0 ? INTEREST_POLL_NS : FLOW_POLL_NS);
}

/* --- the request ---------------------------------------------------------------------------- */

struct snapshot_req {
    char *deliver;
    bool no_consumers, check;
    int64_t chunk, window;
};
#define FIELD(name, kind, member)                                                                  \
    {                                                                                              \
        name, kind, offsetof(struct snapshot_req, member), NULL, NULL, 0                           \
    }
static const struct json_field fields[] = {
    FIELD("deliver_subject", JSON_STR, deliver),
    FIELD("no_consumers", JSON_BOOL, no_consumers),
    FIELD("chunk_size", JSON_INT, chunk),
    FIELD("window_size", JSON_INT, window),
    FIELD("jsck", JSON_BOOL, check), /* every message is checked when it is read */
};
static const struct json_type req_type = {"JSApiStreamSnapshotRequest", sizeof(struct snapshot_req),
                                          fields, MF_COUNT(fields)};

static int64_t clamp_size(int64_t v, int64_t otherwise, int64_t max)
{
    if (v == 0)
        return otherwise;
    return v < KIB ? KIB : v > max ? max : v;
}

static struct snapshot *snapshot_new(struct api_call *call, struct stream *s,
                                     const struct snapshot_req *req)
{
    size_t name = strlen(stream_name(s)) + 1, deliver = strlen(req->deliver) + 1;
    struct snapshot *n = calloc(1, sizeof *n + name + deliver + call->client.len);
    int64_t chunk = clamp_size(req->chunk, CHUNK_DEFAULT, MIB);
    int64_t window = clamp_size(req->window, WINDOW_DEFAULT, 32 * MIB);
    char nuid[RAND_NUID + 1];

    if (n == NULL)
        return NULL;
    mf_list_init(&n->link);
    n->aa = call->aa;
    n->name = memcpy(n + 1, stream_name(s), name);
    n->deliver = memcpy(n->name + name, req->deliver, deliver);
    n->client = mf_slice(n->deliver + deliver, call->client.len);
    if (call->client.len > 0)
        memcpy(n->deliver + deliver, call->client.ptr, call->client.len);
    n->created_ns = stream_created_ns(s);
    n->start_ns = jetstream_now_ns(call->ja->js);
    n->chunk = (size_t)chunk;
    n->slots = n->max_slots = (size_t)(window < chunk ? 1 : window / chunk);
    n->task.run = snapshot_turn;
    n->task.cause = WORK_BACKUP;
    n->task.what = "snapshot";
    rand_nuid(nuid);
    (void)snprintf(n->ack, sizeof n->ack, "$JS.SNAPSHOT.ACK.%s.%s", n->name, nuid);
    n->timer = loop_timer_new(call->ja->js->loop, timer_fired, n);
    if (n->timer == NULL) {
        snapshot_free(n);
        return NULL;
    }
    return n;
}

static bool snapshot_listen(struct snapshot *n)
{
    char pattern[sizeof n->ack + 2];

    (void)snprintf(pattern, sizeof pattern, "%s.>", n->ack);
    n->ack_sub.deliver = accept_ack;
    return router_subscribe(account_router(n->aa->ja->account), mf_str(pattern), MF_SLICE_NONE,
                            &n->ack_sub) == 0;
}

static void snapshot_start(struct api_call *call, struct stream *s, const struct snapshot_req *req)
{
    struct snapshot *n = snapshot_new(call, s, req);
    struct jsonw *w;

    if (n == NULL || !snapshot_listen(n)) {
        if (n != NULL)
            snapshot_free(n);
        api_reply_no_memory(call);
        return;
    }
    stream_state(s, &n->state);
    n->seq = n->state.first_seq;
    n->last_seq = n->state.last_seq;
    n->gathering = true;
    n->no_consumers = req->no_consumers;
    s2_frame_begin(&n->out);
    mf_list_push(&backup_account(call->aa)->snapshots, &n->link);
    backup_account(call->aa)->nsnapshots++;
    advisory_snapshot_create(call, s);
    w = api_reply_begin(call);
    config_json_write(w, "config", stream_config(s), false);
    state_json_write(w, "state", s);
    api_reply_end(call);

    n->interest_until = loop_mono_ns(n->aa->ja->js->loop) + INTEREST_WAIT_NS;
    arm_timer(n, 0);
}

void snapshot_handle(struct api_call *call)
{
    struct snapshot_req req = {.deliver = NULL};
    struct stream *s;
    struct js_error e;

    if (api_body_empty(call->body)) {
        js_error_set(&e, JS_BAD_REQUEST);
        api_reply_error(call, &e);
        return;
    }
    s = api_call_stream(call, 2);
    if (s == NULL)
        return;
    if (!api_call_read(call, &req_type, &req))
        return;
    if (req.deliver == NULL || !subject_valid_literal(mf_str(req.deliver))) {
        js_error_set(&e, JS_SNAPSHOT_DELIVER_SUBJECT_INVALID);
        api_reply_error(call, &e);
    } else if (backup_account(call->aa)->nsnapshots >= SNAPSHOTS_MAX) {
        js_error_set(&e, JS_STREAM_SNAPSHOT, "too many snapshots are under way");
        api_reply_error(call, &e);
    } else {
        snapshot_start(call, s, &req);
    }
}
