/* follower.c: follows one upstream: creates a consumer there and subscribes to its deliveries.
 *
 * Happy path: follower_ask() subscribes for the answer and sends CONSUMER.CREATE; accept_answer()
 * subscribes to the deliveries, which receive.c handles.  The answer may arrive inside the
 * publish of the request.
 * Failure: every error ends in follower_fail(): the subscriptions end, and after a delay a new
 * consumer is created from the last position.
 * Close: uncommitted messages hold the follower; the last of them frees it. */
#include "source/source_impl.h"

#include "base/clock.h"
#include "proto/header.h"
#include "base/log.h"
#include "base/rand.h"

#include <stdio.h>
#include <stdlib.h>

#define LEVEL_MIRROR 4 /* sourcing consumers */
#define LEVEL_SOURCE 5 /* and which stream it is */
#define UNIQUE       8

static int64_t now_ns(const struct follower *l)
{
    return loop_mono_ns(l->all->host->loop);
}

static struct upstream_who who_of(const struct follower *l)
{
    const struct source_host *h = l->all->host;

    return (struct upstream_who){.stream = stream_name(l->all->stream),
                                 .account = account_name(h->account),
                                 .domain = h->domain(h->arg),
                                 .mirror = l->mirror};
}

size_t follower_send(const struct follower *l, struct mf_slice subject, struct mf_slice reply,
                     struct mf_slice hdr, struct mf_slice body)
{
    struct mf_msg m = {.subject = subject, .reply = reply, .hdr = hdr, .payload = body};

    return account_publish(l->all->host->account,
                           &(struct router_msg){.route = subject, .msg = &m});
}

static void make_unique(char out[UNIQUE + 1])
{
    static const char letter[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    for (size_t i = 0; i < UNIQUE; i++)
        out[i] = letter[rand_below(sizeof letter - 1)];
    out[UNIQUE] = '\0';
}

/* --- ending what is there --------------------------------------------------------------------- */

/* Best effort, and nobody waits for the answer. */
static void delete_consumer(struct follower *l, const char *name)
{
    struct upstream_who who = who_of(l);
    struct mf_buf b = MF_BUF_INIT;

    upstream_subject(&b, &who, &l->src, "CONSUMER.DELETE", name, NULL);
    if (!mf_buf_failed(&b))
        (void)follower_send(l, mf_buf_slice(&b), MF_SLICE_NONE, MF_SLICE_NONE, MF_SLICE_NONE);
    mf_buf_fini(&b);
}

static void unsubscribe_both(struct follower *l)
{
    account_unsubscribe(l->all->host->account, &l->answer_sub);
    account_unsubscribe(l->all->host->account, &l->deliver_sub);
    mf_buf_clear(&l->flow);
}

/* The previous consumer expires without a subscriber; one with a name of its own is never used
 * again and is deleted. */
static void drop_consumer(struct follower *l)
{
    if (l->name != NULL && l->src.consumer == NULL && strcmp(l->name, l->consumer) != 0)
        delete_consumer(l, l->name);
    free(l->name);
    l->name = NULL;
}

void follower_later(struct follower *l, int64_t delay_ns)
{
    unsubscribe_both(l);
    l->state = FOLLOWER_WAITING;
    loop_timer_arm(l->timer, now_ns(l) + delay_ns);
}

void follower_fail(struct follower *l, const struct js_error *e)
{
    l->fails++;
    if (e != NULL) {
        l->failed = true;
        l->error = *e;
        if (l->fails == 1)
            log_warn("stream %s: %s %s: %s", stream_name(l->all->stream),
                     l->mirror ? "mirror of" : "source", l->src.name, e->text);
    }
    follower_later(l, track_delay_ns(l->fails));
}

static void fail_text(struct follower *l, const char *text)
{
    struct js_error e;

    js_error_set_text(&e,
                      l->mirror ? JS_MIRROR_CONSUMER_SETUP_FAILED : JS_SOURCE_CONSUMER_SETUP_FAILED,
                      "%s", text);
    follower_fail(l, &e);
}

/* --- the answer ------------------------------------------------------------------------------- */

/* Sequences the upstream will not send are no messages here either. */
static int set_place(struct follower *l, const struct upstream_answer *a)
{
    uint64_t last;

    if (a->delivered > INT64_MAX)
        return MF_INVAL; /* no stream gets there */
    l->track.dseq = l->track.at = 0;
    if (!l->mirror) {
        if (l->track.sseq < a->delivered)
            l->track.sseq = a->delivered;
        return 0;
    }
    last = stream_accepted(l->all->stream);
    l->track.sseq = last > a->delivered ? last : a->delivered;
    return stream_skip(l->all->stream, a->delivered);
}

static void follow_consumer(struct follower *l, const struct upstream_answer *a, const char *ident)
{
    const char *to =
        l->src.consumer != NULL ? l->src.consumer->deliver_subject : a->deliver_subject;
    char *name = mf_slice_dup(mf_str(a->name));
    int rc = name == NULL ? MF_NOMEM : set_place(l, a);

    free(l->name);
    l->name = name;
    if (rc == 0) {
        (void)snprintf(l->ident, sizeof l->ident, "%s", ident);
        l->deliver_sub.deliver = receive_delivery;
        rc = account_subscribe(l->all->host->account, mf_str(to), MF_SLICE_NONE, &l->deliver_sub);
    }
    if (rc != 0) {
        fail_text(l, mf_err_text(rc));
        return;
    }
    l->state = FOLLOWER_FOLLOWING;
    l->probe_ns = 0;
    l->failed = false;
    l->heard_ns = now_ns(l);
    l->lag = a->pending;
    loop_timer_arm(l->timer, l->heard_ns + TRACK_SILENCE_NS);
    receive_pending(l, a->pending);
}

/* An older server does not know all that is asked; a stream that was made again has nothing of what
 * was followed.  true: it is asked in another way. */
static bool ask_otherwise(struct follower *l, const struct js_error *e)
{
    if (js_error_is(e, JS_CONSUMER_STREAM_IDENTITY_MISMATCH) && l->ident[0] != '\0') {
        log_warn("stream %s: source %s was made again: from its beginning",
                 stream_name(l->all->stream), l->src.name);
        l->ident[0] = '\0';
        l->track.sseq = l->seen = 0;
    } else if ((js_error_is(e, JS_REQUIRED_API_LEVEL) || js_error_is(e, JS_INVALID_JSON)) &&
               l->level > 0) {
        l->level = l->level > LEVEL_MIRROR ? LEVEL_MIRROR : 0;
    } else {
        return false;
    }
    follower_later(l, 0);
    return true;
}

static void judge_answer(struct follower *l, const struct upstream_answer *a, const char *ident)
{
    struct js_error e;

    if (a->refused) {
        if (!ask_otherwise(l, &a->error))
            follower_fail(l, &a->error);
        return;
    }
    if (l->src.consumer != NULL &&
        (a->ack_policy == NULL || strcmp(a->ack_policy, "flow_control") != 0)) {
        js_error_set(&e, l->mirror ? JS_MIRROR_CONSUMER_REQUIRES_ACK_FC
                                   : JS_SOURCE_CONSUMER_REQUIRES_ACK_FC);
        follower_fail(l, &e);
        return;
    }
    follow_consumer(l, a, ident);
}

static bool accept_answer(struct router_sub *sub, const struct router_msg *m)
{
    struct follower *l = mf_container(sub, struct follower, answer_sub);
    struct upstream_answer a;
    struct arena mem = {.chunks = NULL};
    struct mf_slice value;
    char ident[SHA256_SHORT] = "";
    int rc;

    if (l->state != FOLLOWER_ASKED)
        return true;
    if (m->msg->hdr.len > 0 && header_get(m->msg->hdr, "Nats-Stream-Identity", &value) &&
        value.len < sizeof ident && value.len > 0) {
        memcpy(ident, value.ptr, value.len);
        ident[value.len] = '\0';
    }
    account_unsubscribe(l->all->host->account, &l->answer_sub);
    rc = upstream_answer_read(m->msg->payload, &a, &mem);
    if (rc == 0)
        judge_answer(l, &a, ident);
    else
        fail_text(l, rc == MF_NOMEM ? mf_err_text(rc) : "invalid consumer create response");
    arena_fini(&mem);
    return true;
}

/* --- the request ------------------------------------------------------------------------------ */

/* Where the configuration lets it begin, unless it has begun. */
static struct upstream_start start_of(const struct follower *l)
{
    uint64_t last = l->mirror ? stream_accepted(l->all->stream) : l->track.sseq;

    if (last > 0)
        return (struct upstream_start){.seq = last + 1};
    if (l->src.opt_start_seq > 0)
        return (struct upstream_start){.seq = l->src.opt_start_seq};
    return (struct upstream_start){.time_ns = l->src.opt_start_time_ns,
                                   .by_time = l->src.has_start_time};
}

struct request {
    struct mf_buf subject, hdr, body, deliver;
    char name[UPSTREAM_NAME + UNIQUE + 1], reply[16 + UNIQUE];
};

static void request_header(const struct follower *l, struct mf_buf *out)
{
    if (l->level == 0 || (l->mirror && l->src.consumer != NULL))
        return;
    header_begin(out, NULL);
    header_add(out, "Nats-Required-Api-Level",
               l->level == LEVEL_SOURCE ? MF_LIT("5") : MF_LIT("4"));
    if (l->level == LEVEL_SOURCE)
        header_add(out, "Nats-Stream-Identity", mf_str(l->ident));
    header_end(out);
}

static void request_create(const struct follower *l, struct request *r)
{
    struct upstream_who who = who_of(l);
    struct upstream_start from = start_of(l);
    const char *filter = upstream_filter(&l->src);
    char id[UNIQUE + 1];

    make_unique(id);
    /* A server that knows no sourcing would take the name that stays the same for one consumer. */
    (void)snprintf(r->name, sizeof r->name, "%s%s%s", l->consumer, l->level == 0 ? "_" : "",
                   l->level == 0 ? id : "");
    make_unique(id);
    upstream_deliver(&r->deliver, &who, &l->src, id);
    upstream_subject(&r->subject, &who, &l->src, "CONSUMER.CREATE", filter == NULL ? NULL : r->name,
                     filter);
    upstream_create(&r->body, &who, &l->src, r->name, mf_buf_cstr(&r->deliver), &from,
                    l->level > 0);
}

static void request_make(const struct follower *l, struct request *r)
{
    struct upstream_who who = who_of(l);
    char id[UNIQUE + 1];

    make_unique(id);
    (void)snprintf(r->reply, sizeof r->reply, "$JSC.R.%s", id);
    request_header(l, &r->hdr);
    if (l->src.consumer != NULL)
        upstream_subject(&r->subject, &who, &l->src, "CONSUMER.RESET", l->src.consumer->name, NULL);
    else
        request_create(l, r);
}

static void request_send(struct follower *l, const struct request *r)
{
    int64_t wait = l->src.consumer != NULL ? TRACK_RESET_NS : TRACK_ANSWER_NS;

    l->answer_sub.deliver = accept_answer;
    if (account_subscribe(l->all->host->account, mf_str(r->reply), MF_SLICE_NONE, &l->answer_sub) !=
        0) {
        fail_text(l, mf_err_text(MF_NOMEM));
        return;
    }
    l->state = FOLLOWER_ASKED;
    l->asked_ns = now_ns(l);
    loop_timer_arm(l->timer, now_ns(l) + wait);
    if (follower_send(l, mf_buf_slice(&r->subject), mf_str(r->reply), mf_buf_slice(&r->hdr),
                      mf_buf_slice(&r->body)) == 0 &&
        l->state == FOLLOWER_ASKED)
        fail_text(l, "no responders available for request");
}

void follower_ask(struct follower *l)
{
    struct request r = {.subject = MF_BUF_INIT};

    if (!resume_find(l))
        return;
    unsubscribe_both(l);
    drop_consumer(l);
    request_make(l, &r);
    if (mf_buf_failed(&r.subject) || mf_buf_failed(&r.hdr) || mf_buf_failed(&r.body) ||
        mf_buf_failed(&r.deliver))
        fail_text(l, mf_err_text(MF_NOMEM));
    else
        request_send(l, &r);
    mf_buf_fini(&r.subject);
    mf_buf_fini(&r.hdr);
    mf_buf_fini(&r.body);
    mf_buf_fini(&r.deliver);
}

/* --- time ------------------------------------------------------------------------------------- */

static void check_silence(struct follower *l)
{
    int64_t now = now_ns(l);
    bool lost = l->probe_ns != 0 && l->heard_ns < l->probe_ns;

    if (lost && now < l->probe_ns + TRACK_PROBE_NS) {
        loop_timer_arm(l->timer, l->probe_ns + TRACK_PROBE_NS);
        return;
    }
    l->probe_ns = 0;
    if (lost || now - l->heard_ns >= TRACK_SILENCE_NS)
        follower_fail(l, NULL);
    else
        loop_timer_arm(l->timer, l->heard_ns + TRACK_SILENCE_NS);
}

static void fire_timer(void *arg)
{
    struct follower *l = arg;

    switch (l->state) {
    case FOLLOWER_WAITING:
        follower_ask(l);
        break;
    case FOLLOWER_ASKED:
        l->level = l->mirror ? LEVEL_MIRROR : LEVEL_SOURCE;
        fail_text(l, "no answer");
        break;
    case FOLLOWER_FOLLOWING:
        check_silence(l);
        break;
    default:
        break;
    }
}

void follower_linked(struct follower *l)
{
    int64_t now = now_ns(l);

    switch (l->state) {
    case FOLLOWER_WAITING:
        l->fails = 0;
        follower_later(l, 0);
        break;
    case FOLLOWER_ASKED:
        if (now - l->asked_ns >= TRACK_LOST_NS)
            follower_later(l, 0);
        break;
    case FOLLOWER_FOLLOWING:
        /* A server that starts again within a second has lost its consumer too: only a message
         * or a heartbeat from now on shows that it lives.  The interval of a consumer that
         * somebody else made is unknown. */
        if (l->src.consumer != NULL || l->probe_ns != 0)
            break;
        l->probe_ns = now;
        loop_timer_arm(l->timer, now + TRACK_PROBE_NS);
        break;
    default:
        break;
    }
}

/* --- coming and going ------------------------------------------------------------------------- */

static int copy_external(struct follower *l, const struct stream_source *src)
{
    if (src->external != NULL) {
        l->src.external = arena_alloc(&l->mem, sizeof *l->src.external);
        if (l->src.external == NULL)
            return MF_NOMEM;
        l->src.external->api = arena_str(&l->mem, src->external->api);
        l->src.external->deliver = arena_str(&l->mem, src->external->deliver);
    }
    if (src->consumer != NULL) {
        l->src.consumer = arena_alloc(&l->mem, sizeof *l->src.consumer);
        if (l->src.consumer == NULL)
            return MF_NOMEM;
        l->src.consumer->name = arena_str(&l->mem, src->consumer->name);
        l->src.consumer->deliver_subject = arena_str(&l->mem, src->consumer->deliver_subject);
    }
    return 0;
}

static int copy_maps(struct follower *l, const struct stream_source *src, struct mf_error *e)
{
    const struct stream_mapping *map = src->transforms.at;
    struct stream_mapping *own;
    size_t n = src->transforms.n;
    int rc = 0;

    if (n == 0)
        return 0;
    l->src.transforms.at = own = arena_alloc(&l->mem, n * sizeof *own);
    l->maps = arena_alloc(&l->mem, n * sizeof(struct transform *));
    if (own == NULL || l->maps == NULL)
        return mf_fail(e, MF_NOMEM, "transforms");
    for (size_t i = 0; i < n && rc == 0; i++) {
        own[i].src = arena_str(&l->mem, map[i].src);
        own[i].dest = arena_str(&l->mem, map[i].dest);
        if (map[i].dest != NULL && *map[i].dest != '\0')
            rc = transform_new(&l->maps[i], mf_str(map[i].src), mf_str(map[i].dest), e);
        l->nmaps = l->src.transforms.n = i + 1;
    }
    return rc;
}

static int copy_source(struct follower *l, const struct stream_source *src, struct mf_error *e)
{
    struct mf_buf index = MF_BUF_INIT;
    int rc;

    l->src = *src;
    l->src.external = NULL;
    l->src.consumer = NULL;
    l->src.transforms = (struct json_objects){NULL, 0};
    l->src.name = arena_str(&l->mem, src->name);
    l->src.filter_subject = arena_str(&l->mem, src->filter_subject);
    if (copy_external(l, src) != 0)
        return mf_fail(e, MF_NOMEM, "source");
    if ((rc = copy_maps(l, src, e)) != 0)
        return rc;
    upstream_index(&index, &l->src);
    l->index = mf_buf_failed(&index) ? NULL : arena_dup(&l->mem, mf_buf_slice(&index));
    mf_buf_fini(&index);
    return l->index == NULL || l->mem.failed ? mf_fail(e, MF_NOMEM, "source") : 0;
}

int follower_name(struct follower *l)
{
    struct upstream_who who = who_of(l);
    const struct stream_config *c = stream_config(l->all->stream);
    char name[UPSTREAM_NAME];
    int rc = upstream_consumer(name, &who, &l->src, &c->sources);

    if (rc != 0 || strcmp(name, l->consumer) == 0)
        return rc;
    if (l->name != NULL && l->src.consumer == NULL) {
        delete_consumer(l, l->name);
        free(l->name);
        l->name = NULL;
        follower_later(l, 0);
    }
    memcpy(l->consumer, name, sizeof name);
    return 0;
}

struct follower *follower_new(struct sources *all, const struct stream_source *src, bool mirror,
                              struct mf_error *e)
{
    struct follower *l = calloc(1, sizeof *l);

    if (l == NULL) {
        mf_fail(e, MF_NOMEM, "source");
        return NULL;
    }
    l->all = all;
    l->mirror = mirror;
    l->level = mirror ? LEVEL_MIRROR : LEVEL_SOURCE;
    mf_list_init(&l->work);
    l->timer = loop_timer_new(all->host->loop, fire_timer, l);
    if (l->timer == NULL)
        mf_fail(e, MF_NOMEM, "source");
    else if (copy_source(l, src, e) == 0) {
        if (follower_name(l) == 0)
            return l;
        mf_fail(e, MF_NOMEM, "source");
    }
    follower_free(l);
    return NULL;
}

void follower_free(struct follower *l)
{
    for (size_t i = 0; i < l->nmaps; i++)
        transform_free(l->maps[i]);
    loop_timer_free(l->timer);
    mf_buf_fini(&l->flow);
    free(l->name);
    arena_fini(&l->mem);
    free(l);
}

void follower_close(struct follower *l, bool forever)
{
    if (!forever)
        resume_close(l);
    unsubscribe_both(l);
    loop_timer_stop(l->timer);
    if (forever && l->src.consumer == NULL)
        delete_consumer(l, l->name != NULL ? l->name : l->consumer);
    mf_list_del(&l->work);
    l->state = FOLLOWER_CLOSED;
    l->all = NULL;
    if (l->accepted == l->completed)
        follower_free(l);
}
