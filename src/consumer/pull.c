/* pull.c: pull requests: read, queued, served in turn, ended with their status.  The exact words of
 * the statuses are the protocol: clients compare them. */
#include "consumer/consumer_impl.h"
#include "consumer/pull_groups_impl.h"

#include "codec/json.h"

#include <stdio.h>
#include <stdlib.h>

/* --- statuses ------------------------------------------------------------------------------ */

static void put_line(struct mf_buf *b, const char *name, uint64_t n)
{
    uint8_t text[20];

    header_add(b, name, mf_slice(text, proto_put_u64(text, n)));
}

/* Messages still due to the request, as nats-server counts.  A request for less than one message
 * gets one; its number is below zero then and wraps. */
static uint64_t count_due(const struct request *r)
{
    return r->batch - r->served - r->under;
}

static void status_to(struct consumer *c, struct mf_slice reply, const char *status,
                      const struct request *pending)
{
    struct mf_buf *b = lend_take();

    if (b == NULL)
        return;
    header_begin(b, status);
    if (pending != NULL) {
        char left[24];
        int n = snprintf(left, sizeof left, "%lld", (long long)count_due(pending));
        header_add(b, "Nats-Pending-Messages", mf_slice(left, (size_t)n));
        put_line(b, "Nats-Pending-Bytes", pending->has_bytes ? pending->bytes_left : 0);
    }
    header_end(b);
    struct mf_msg m = {.subject = reply, .hdr = mf_buf_slice(b)};
    if (!mf_buf_failed(b))
        (void)c->set->host->deliver(c->set->host->arg, reply, &m);
    lend_give(b);
}

void pull_status(struct consumer *c, struct request *r, const char *status, bool pending_headers)
{
    status_to(c, mf_slice(r->reply, r->reply_len), status, pending_headers ? r : NULL);
}

static void refuse_pull(struct consumer *c, struct mf_slice reply, const char *fmt, ...)
    MF_PRINTF(3, 4);
static void refuse_pull(struct consumer *c, struct mf_slice reply, const char *fmt, ...)
{
    char status[640];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(status, sizeof status, fmt, ap);
    va_end(ap);
    status_to(c, reply, status, NULL);
}

static void send_heartbeat(struct consumer *c, struct request *r)
{
    struct mf_buf *b = lend_take();
    struct mf_slice reply = mf_slice(r->reply, r->reply_len);

    if (b == NULL)
        return;
    header_begin(b, "100 Idle Heartbeat");
    put_line(b, "Nats-Last-Consumer", c->delivered.dseq);
    put_line(b, "Nats-Last-Stream", backlog_last(c));
    header_end(b);
    struct mf_msg m = {.subject = reply, .hdr = mf_buf_slice(b)};
    if (!mf_buf_failed(b))
        (void)c->set->host->deliver(c->set->host->arg, reply, &m);
    lend_give(b);
}

/* --- the queue ----------------------------------------------------------------------------- */

void pull_drop(struct consumer *c, struct request *r)
{
    mf_list_del(&r->link);
    if (--c->pulls.count == 0)
        c->pulls.at_ns = NEVER;
    free(r);
}

bool pull_there(const struct consumer *c, const struct request *r)
{
    const struct consumer_host *h = c->set->host;

    return h->interest(h->arg, mf_slice(r->reply, r->reply_len), MF_SLICE_NONE);
}

void pull_prune(struct consumer *c)
{
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &c->pulls.list)
    {
        struct request *r = mf_container(pos, struct request, link);
        if (!pull_there(c, r))
            pull_drop(c, r);
    }
}

/* The timer fires up to a millisecond after a request has expired. */
uint64_t pull_waiting(const struct consumer *c)
{
    int64_t now = consumers_mono(c->set);
    struct mf_list *pos;
    uint64_t n = 0;

    mf_list_each(pos, &c->pulls.list) n +=
        mf_container(pos, struct request, link)->expires_ns > now;
    return n;
}

void pull_end_all(struct consumer *c, const char *status, bool pending_headers)
{
    struct mf_list *n;

    while ((n = mf_list_first(&c->pulls.list)) != NULL) {
        struct request *r = mf_container(n, struct request, link);
        pull_status(c, r, status, pending_headers);
        pull_drop(c, r);
    }
}

/* A request that is passed over moves to the end of the list.  The walk ends by nats-server's rule,
 * which also decides the next request. */
struct request *pull_next(struct consumer *c, size_t *passed)
{
    struct mf_list *n;

    while ((n = mf_list_first(&c->pulls.list)) != NULL) {
        struct request *r = mf_container(n, struct request, link);
        switch (groups_turn(c, r)) {
        case TURN_SERVE:
            return r;
        case TURN_PASS:
            mf_list_del(&r->link);
            mf_list_push(&c->pulls.list, &r->link);
            if (++*passed >= c->pulls.count)
                return NULL;
            break;
        case TURN_END:
            pull_status(c, r, "423 Nats-Wrong-Pin-Id", true);
            pull_drop(c, r);
            break;
        }
    }
    return NULL;
}

void pull_served(struct consumer *c, struct request *r, size_t bytes)
{
    r->served++;
    if (r->has_bytes)
        r->bytes_left -= bytes < r->bytes_left ? bytes : r->bytes_left;
    if (r->heartbeat_ns > 0)
        r->beat_ns = consumers_delay(c->set, r->heartbeat_ns);
    if (r->served == r->batch || (r->has_bytes && r->bytes_left == 0)) {
        if (r->has_bytes && r->bytes_left > 0)
            pull_status(c, r, "409 Batch Completed", true);
        pull_drop(c, r);
        return;
    }
    mf_list_del(&r->link); /* the others' turn */
    groups_insert(c, r);
}

/* Is there anything that could be delivered now? */
static bool has_messages(const struct consumer *c)
{
    return c->todo.pending > 0 || !mf_list_empty(&c->wait.redeliver);
}

/* Those that do not wait. */
void pull_nobody(struct consumer *c)
{
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &c->pulls.list)
    {
        struct request *r = mf_container(pos, struct request, link);
        if (!r->no_wait || (r->expires_ns != NEVER && r->served == 0))
            continue;
        pull_status(c, r, "404 No Messages", false);
        pull_drop(c, r);
    }
}

void pull_exhausted(struct consumer *c)
{
    if (!has_messages(c))
        pull_nobody(c);
}

/* O(1): it may be too early by requests that have ended and heartbeats that were put off, since the
 * timer, which is not put off either, looks at all of them anew. */
int64_t pull_next_time(const struct consumer *c)
{
    return c->pin.id[0] != '\0' && c->pin.until_ns < c->pulls.at_ns ? c->pin.until_ns
                                                                    : c->pulls.at_ns;
}

static void note_time(struct consumer *c, const struct request *r)
{
    if (r->expires_ns < c->pulls.at_ns)
        c->pulls.at_ns = r->expires_ns;
    if (r->heartbeat_ns > 0 && r->beat_ns < c->pulls.at_ns)
        c->pulls.at_ns = r->beat_ns;
}

void pull_timeouts(struct consumer *c)
{
    int64_t now = consumers_mono(c->set);
    struct mf_list *pos, *next;
    bool any = false;

    c->pulls.at_ns = NEVER;
    mf_list_each_safe(pos, next, &c->pulls.list)
    {
        struct request *r = mf_container(pos, struct request, link);
        any |= r->expires_ns <= now || (r->heartbeat_ns > 0 && r->beat_ns <= now);
        if (r->expires_ns <= now) {
            pull_status(c, r, "408 Request Timeout", true);
            pull_drop(c, r);
            continue;
        }
        if (r->heartbeat_ns > 0 && r->beat_ns <= now) {
            r->beat_ns = consumers_delay(c->set, r->heartbeat_ns);
            send_heartbeat(c, r);
        }
        note_time(c, r);
    }
    if (any) /* as in nats-server: even those that max_ack_pending holds up */
        pull_nobody(c);
}

/* --- new requests -------------------------------------------------------------------------- */

struct ask {
    uint64_t under; /* how much less than one batch was */
    int64_t batch, expires, max_bytes, heartbeat, min_pending, min_ack_pending, priority;
    bool no_wait;
    char *group, *id;
};
#define F(n, k, m)                                                                                 \
    {                                                                                              \
        .name = n, .kind = k, .offset = offsetof(struct ask, m)                                    \
    }
static const struct json_field ask_fields[] = {
    F("batch", JSON_INT, batch),
    F("expires", JSON_DURATION, expires),
    F("max_bytes", JSON_INT, max_bytes),
    F("no_wait", JSON_BOOL, no_wait),
    F("idle_heartbeat", JSON_DURATION, heartbeat),
    F("group", JSON_STR, group),
    F("min_pending", JSON_I64, min_pending),
    F("min_ack_pending", JSON_I64, min_ack_pending),
    F("id", JSON_STR, id),
    F("priority", JSON_INT, priority),
};
static const struct json_type ask_type = {
    .go_name = "", /* read through a pointer to a pointer: Go names no type */
    .size = sizeof(struct ask),
    .fields = ask_fields,
    .nfields = MF_COUNT(ask_fields)};

/* Empty, a number, or a document. */
static int ask_read(struct mf_slice body, struct ask *a, struct arena *mem, struct mf_error *e)
{
    uint64_t n;

    *a = (struct ask){.batch = 1};
    body = mf_trim(body);
    if (body.len == 0)
        return 0;
    if (body.ptr[0] != '{') {
        bool sign = body.ptr[0] == '-' || body.ptr[0] == '+', minus = body.ptr[0] == '-';
        if (mf_parse_u64(mf_slice(body.ptr + sign, body.len - sign), &n) == 0) {
            a->batch = n > INT32_MAX ? INT32_MAX : (int64_t)n;
            a->batch = minus ? -a->batch : a->batch;
        } /* anything else asks for one */
    } else {
        a->batch = 0;
        if (json_unmarshal(body, &ask_type, a, mem, e) != 0)
            return e->code;
    }
    if (a->batch <= 0) {
        a->under = 1 - (uint64_t)a->batch;
        a->batch = 1;
    }
    return 0;
}

/* Limits of the consumer; false: it was answered. */
static bool ask_allowed(struct consumer *c, const struct ask *a, struct mf_slice reply)
{
    char text[CLOCK_TEXT];

    if (a->heartbeat > 0 && (a->expires == 0 || a->heartbeat > a->expires / 2)) {
        refuse_pull(c, reply, "400 Bad Request - heartbeat value too large");
        return false;
    }
    if (c->cfg.max_batch > 0 && a->batch > c->cfg.max_batch) {
        refuse_pull(c, reply, "409 Exceeded MaxRequestBatch of %lld", (long long)c->cfg.max_batch);
        return false;
    }
    if (c->cfg.max_expires_ns > 0 && a->expires > c->cfg.max_expires_ns) {
        refuse_pull(c, reply, "409 Exceeded MaxRequestExpires of %s",
                    clock_duration(text, c->cfg.max_expires_ns));
        return false;
    }
    if (c->cfg.max_bytes > 0 && a->max_bytes > c->cfg.max_bytes) {
        refuse_pull(c, reply, "409 Exceeded MaxRequestMaxBytes of %lld",
                    (long long)c->cfg.max_bytes);
        return false;
    }
    return true;
}

static struct request *request_new(struct consumer *c, const struct ask *a, struct mf_slice reply)
{
    struct request *r = calloc(1, sizeof *r + reply.len);

    if (r == NULL)
        return NULL;
    memcpy(r->reply, reply.ptr, reply.len);
    r->reply_len = reply.len;
    r->batch = (uint64_t)a->batch;
    r->under = a->under;
    r->expires_ns =
        a->expires == 0 ? NEVER : consumers_delay(c->set, a->expires > 0 ? a->expires : 0);
    r->heartbeat_ns = a->heartbeat > 0 ? a->heartbeat : 0;
    r->beat_ns = consumers_delay(c->set, r->heartbeat_ns);
    r->has_bytes = a->max_bytes > 0;
    r->bytes_left = a->max_bytes > 0 ? (uint64_t)a->max_bytes : 0;
    r->no_wait = a->no_wait;
    r->min_pending = a->min_pending;
    r->min_ack_pending = a->min_ack_pending;
    r->priority = (uint8_t)(a->priority < 0 || a->priority > 9 ? 255 : a->priority);
    snprintf(r->id, sizeof r->id, "%s", a->id != NULL ? a->id : "");
    return r;
}

/* Messages due to the requests before it. */
static uint64_t spoken_for(const struct consumer *c)
{
    struct mf_list *pos;
    uint64_t n = 0;

    mf_list_each(pos, &c->pulls.list)
    {
        const struct request *r = mf_container(pos, struct request, link);
        n += count_due(r);
    }
    return n;
}

/* A request that does not wait; false: it was answered. */
static bool no_wait_admit(struct consumer *c, const struct request *r, struct mf_slice reply)
{
    uint64_t there = c->todo.pending;
    struct mf_list *pos;

    if (!r->no_wait || count_runs(c)) /* answered after the count */
        return true;
    mf_list_each(pos, &c->wait.redeliver) there++;
    if (there == 0 && r->expires_ns == NEVER) {
        refuse_pull(c, reply, "404 No Messages");
        return false;
    }
    if (there > 0 && spoken_for(c) > there) {
        refuse_pull(c, reply, "408 Requests Pending");
        return false;
    }
    return true;
}

/* Is there a place for it in the queue?  false: it was answered. */
static bool room_for(struct consumer *c, const struct request *r, struct mf_slice reply)
{
    if (c->cfg.max_waiting > 0 && c->pulls.count >= (size_t)c->cfg.max_waiting) {
        pull_timeouts(c);
        pull_prune(c);
    }
    if (c->cfg.max_waiting > 0 && c->pulls.count >= (size_t)c->cfg.max_waiting) {
        if (r->heartbeat_ns == 0)
            refuse_pull(c, reply, "409 Exceeded MaxWaiting");
        return false;
    }
    if (r->no_wait && r->expires_ns == NEVER && pump_paused(c)) { /* nothing can be delivered */
        refuse_pull(c, reply, "404 No Messages");
        return false;
    }
    return true;
}

static void accept_request(struct consumer *c, const struct ask *a, bool formal,
                           struct mf_slice reply)
{
    struct request *r;

    if (!ask_allowed(c, a, reply) || (r = request_new(c, a, reply)) == NULL)
        return;
    if (!groups_admit(c, r, mf_str(a->group), formal, reply) || !no_wait_admit(c, r, reply) ||
        !room_for(c, r, reply)) {
        free(r);
        return;
    }
    if (a->expires < 0) { /* already expired; it still lets exhausted messages be given up */
        struct pend *e;
        while ((e = pending_again(&c->wait)) != NULL && ack_given_up(c, e))
            continue;
        pull_status(c, r, "408 Request Timeout", true);
        free(r);
        return;
    }
    groups_insert(c, r);
    c->pulls.count++;
    note_time(c, r);
    consumer_alive(c);
    if (c->pulls.count == 1 && mf_list_empty(&c->ready))
        pump(c, 64); /* usually there is something: no need to wait for the end of the turn */
    else
        pump_soon(c);
    pump_timer(c);
}

void consumer_pull(struct consumer *c, struct mf_slice reply, struct mf_slice body,
                   struct mf_slice hdr)
{
    struct arena mem = {0};
    struct mf_error e;
    struct ask a;

    (void)hdr;
    if (reply.len == 0)
        return;
    if (c->push != NULL) {
        refuse_pull(c, reply, "409 Consumer is push based");
        return;
    }
    consumers_catch_up(c->set);
    if (ask_read(body, &a, &mem, &e) != 0)
        refuse_pull(c, reply, "400 Bad Request - %s", e.text);
    else
        accept_request(c, &a, mf_trim(body).len > 0 && mf_trim(body).ptr[0] == '{', reply);
    arena_fini(&mem);
}
