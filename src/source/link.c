/* link.c: one origin: asking for a consumer, and what comes of it.
 *
 * Happy path: link_ask() subscribes for the answer and sends CONSUMER.CREATE; answered() subscribes
 * to what the consumer delivers; from there on take.c has it.  The answer may come from inside the
 * sending.  Failure: whatever goes wrong ends in link_fail(): nothing is listened to any more, and
 * after a while it is asked again from where it got to.  Close: what is under way to the disk holds
 * the link, which is freed by the last of it. */
#include "source/source_impl.h"

#include "base/clock.h"
#include "proto/header.h"
#include "base/log.h"
#include "base/rand.h"

#include <stdio.h>
#include <stdlib.h>

#define LEVEL_MIRROR 4 /* sourcing consumers */
#define LEVEL_SOURCE 5 /* and which stream it is */
#define ERR_JSON     10025
#define ERR_LEVEL    10185
#define ERR_IDENTITY 10225
#define UNIQUE       8

static int64_t now_ns(const struct link *l)
{
    return loop_mono_ns(l->all->host->loop);
}

static struct origin_who who_of(const struct link *l)
{
    const struct source_host *h = l->all->host;

    return (struct origin_who){.stream = stream_name(l->all->stream),
                               .account = account_name(h->account),
                               .domain = h->domain(h->arg),
                               .mirror = l->mirror};
}

size_t link_send(const struct link *l, struct mf_slice subject, struct mf_slice reply,
                 struct mf_slice hdr, struct mf_slice body)
{
    struct mf_msg m = {.subject = subject, .reply = reply, .hdr = hdr, .payload = body};

    return account_publish(l->all->host->account,
                           &(struct router_msg){.route = subject, .msg = &m});
}

static void unique(char out[UNIQUE + 1])
{
    static const char letter[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    for (size_t i = 0; i < UNIQUE; i++)
        out[i] = letter[rand_below(sizeof letter - 1)];
    out[UNIQUE] = '\0';
}

/* --- ending what is there --------------------------------------------------------------------- */

/* Best effort, and nobody waits for the answer. */
static void delete_consumer(struct link *l, const char *name)
{
    struct origin_who who = who_of(l);
    struct mf_buf b = MF_BUF_INIT;

    origin_subject(&b, &who, &l->src, "CONSUMER.DELETE", name, NULL);
    if (!mf_buf_failed(&b))
        (void)link_send(l, mf_buf_slice(&b), MF_SLICE_NONE, MF_SLICE_NONE, MF_SLICE_NONE);
    mf_buf_fini(&b);
}

static void unlisten(struct link *l)
{
    account_unsubscribe(l->all->host->account, &l->answer_sub);
    account_unsubscribe(l->all->host->account, &l->deliver_sub);
    mf_buf_clear(&l->flow);
}

/* The consumer of the last time ends by itself when nobody listens; but if it has a name of its
 * own, nobody will ever listen again. */
static void drop_consumer(struct link *l)
{
    if (l->name != NULL && l->src.consumer == NULL && strcmp(l->name, l->consumer) != 0)
        delete_consumer(l, l->name);
    free(l->name);
    l->name = NULL;
}

void link_later(struct link *l, int64_t delay_ns)
{
    unlisten(l);
    l->state = LINK_WAITING;
    loop_timer_arm(l->timer, now_ns(l) + delay_ns);
}

void link_fail(struct link *l, const struct js_error *e)
{
    l->fails++;
    if (e != NULL) {
        l->failed = true;
        l->error = *e;
        if (l->fails == 1)
            log_warn("stream %s: %s %s: %s", stream_name(l->all->stream),
                     l->mirror ? "mirror of" : "source", l->src.name, e->text);
    }
    link_later(l, track_delay_ns(l->fails));
}

static void fail_text(struct link *l, const char *text)
{
    struct js_error e;

    js_refuse_text(&e,
                   l->mirror ? JS_MIRROR_CONSUMER_SETUP_FAILED : JS_SOURCE_CONSUMER_SETUP_FAILED,
                   "%s", text);
    link_fail(l, &e);
}

/* --- the answer ------------------------------------------------------------------------------- */

/* Sequences the origin will not send are no messages here either. */
static int place(struct link *l, const struct origin_answer *a)
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

static void follow(struct link *l, const struct origin_answer *a, const char *ident)
{
    const char *to =
        l->src.consumer != NULL ? l->src.consumer->deliver_subject : a->deliver_subject;
    char *name = mf_slice_dup(mf_str(a->name));
    int rc = name == NULL ? MF_NOMEM : place(l, a);

    free(l->name);
    l->name = name;
    if (rc == 0) {
        (void)snprintf(l->ident, sizeof l->ident, "%s", ident);
        l->deliver_sub.deliver = take_deliver;
        rc = account_subscribe(l->all->host->account, mf_str(to), MF_SLICE_NONE, &l->deliver_sub);
    }
    if (rc != 0) {
        fail_text(l, mf_err_text(rc));
        return;
    }
    l->state = LINK_FOLLOWING;
    l->failed = false;
    l->heard_ns = now_ns(l);
    l->lag = a->pending;
    loop_timer_arm(l->timer, l->heard_ns + TRACK_SILENCE_NS);
    take_near(l, a->pending);
}

/* An older server does not know all that is asked; a stream that was made again has nothing of what
 * was followed.  true: it is asked in another way. */
static bool ask_otherwise(struct link *l, const struct js_error *e)
{
    if (e->err_code == ERR_IDENTITY && l->ident[0] != '\0') {
        log_warn("stream %s: source %s was made again: from its beginning",
                 stream_name(l->all->stream), l->src.name);
        l->ident[0] = '\0';
        l->track.sseq = l->seen = 0;
    } else if ((e->err_code == ERR_LEVEL || e->err_code == ERR_JSON) && l->level > 0) {
        l->level = l->level > LEVEL_MIRROR ? LEVEL_MIRROR : 0;
    } else {
        return false;
    }
    link_later(l, 0);
    return true;
}

static void judge(struct link *l, const struct origin_answer *a, const char *ident)
{
    struct js_error e;

    if (a->refused) {
        if (!ask_otherwise(l, &a->error))
            link_fail(l, &a->error);
        return;
    }
    if (l->src.consumer != NULL &&
        (a->ack_policy == NULL || strcmp(a->ack_policy, "flow_control") != 0)) {
        js_refuse(&e, l->mirror ? JS_MIRROR_CONSUMER_REQUIRES_ACK_FC
                                : JS_SOURCE_CONSUMER_REQUIRES_ACK_FC);
        link_fail(l, &e);
        return;
    }
    follow(l, a, ident);
}

static bool answered(struct router_sub *sub, const struct router_msg *m)
{
    struct link *l = mf_container(sub, struct link, answer_sub);
    struct origin_answer a;
    struct arena mem = {.chunks = NULL};
    struct mf_slice value;
    char ident[SHA256_SHORT] = "";
    int rc;

    if (l->state != LINK_ASKED)
        return true;
    if (m->msg->hdr.len > 0 && header_get(m->msg->hdr, "Nats-Stream-Identity", &value) &&
        value.len < sizeof ident && value.len > 0) {
        memcpy(ident, value.ptr, value.len);
        ident[value.len] = '\0';
    }
    account_unsubscribe(l->all->host->account, &l->answer_sub);
    rc = origin_answer_read(m->msg->payload, &a, &mem);
    if (rc == 0)
        judge(l, &a, ident);
    else
        fail_text(l, rc == MF_NOMEM ? mf_err_text(rc) : "invalid consumer create response");
    arena_fini(&mem);
    return true;
}

/* --- the request ------------------------------------------------------------------------------ */

/* Where the configuration lets it begin, unless it has begun. */
static struct origin_start start_of(const struct link *l)
{
    uint64_t last = l->mirror ? stream_accepted(l->all->stream) : l->track.sseq;

    if (last > 0)
        return (struct origin_start){.seq = last + 1};
    if (l->src.opt_start_seq > 0)
        return (struct origin_start){.seq = l->src.opt_start_seq};
    return (struct origin_start){.time_ns = l->src.opt_start_time_ns,
                                 .by_time = l->src.has_start_time};
}

struct request {
    struct mf_buf subject, hdr, body, deliver;
    char name[ORIGIN_NAME + UNIQUE + 1], reply[16 + UNIQUE];
};

static void request_header(const struct link *l, struct mf_buf *out)
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

static void request_create(const struct link *l, struct request *r)
{
    struct origin_who who = who_of(l);
    struct origin_start from = start_of(l);
    const char *filter = origin_filter(&l->src);
    char id[UNIQUE + 1];

    unique(id);
    /* A server that knows no sourcing would take the name that stays the same for one consumer. */
    (void)snprintf(r->name, sizeof r->name, "%s%s%s", l->consumer, l->level == 0 ? "_" : "",
                   l->level == 0 ? id : "");
    unique(id);
    origin_deliver(&r->deliver, &who, &l->src, id);
    origin_subject(&r->subject, &who, &l->src, "CONSUMER.CREATE", filter == NULL ? NULL : r->name,
                   filter);
    origin_create(&r->body, &who, &l->src, r->name, mf_buf_cstr(&r->deliver), &from, l->level > 0);
}

static void request_make(const struct link *l, struct request *r)
{
    struct origin_who who = who_of(l);
    char id[UNIQUE + 1];

    unique(id);
    (void)snprintf(r->reply, sizeof r->reply, "$JSC.R.%s", id);
    request_header(l, &r->hdr);
    if (l->src.consumer != NULL)
        origin_subject(&r->subject, &who, &l->src, "CONSUMER.RESET", l->src.consumer->name, NULL);
    else
        request_create(l, r);
}

static void request_send(struct link *l, const struct request *r)
{
    int64_t wait = l->src.consumer != NULL ? TRACK_RESET_NS : TRACK_ANSWER_NS;

    l->answer_sub.deliver = answered;
    if (account_subscribe(l->all->host->account, mf_str(r->reply), MF_SLICE_NONE, &l->answer_sub) !=
        0) {
        fail_text(l, mf_err_text(MF_NOMEM));
        return;
    }
    l->state = LINK_ASKED;
    loop_timer_arm(l->timer, now_ns(l) + wait);
    if (link_send(l, mf_buf_slice(&r->subject), mf_str(r->reply), mf_buf_slice(&r->hdr),
                  mf_buf_slice(&r->body)) == 0 &&
        l->state == LINK_ASKED)
        fail_text(l, "no responders available for request");
}

void link_ask(struct link *l)
{
    struct request r = {.subject = MF_BUF_INIT};

    if (!resume_find(l))
        return;
    unlisten(l);
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

static void fire(void *arg)
{
    struct link *l = arg;

    switch (l->state) {
    case LINK_WAITING:
        link_ask(l);
        break;
    case LINK_ASKED:
        l->level = l->mirror ? LEVEL_MIRROR : LEVEL_SOURCE;
        fail_text(l, "no answer");
        break;
    case LINK_FOLLOWING:
        if (now_ns(l) - l->heard_ns < TRACK_SILENCE_NS)
            loop_timer_arm(l->timer, l->heard_ns + TRACK_SILENCE_NS);
        else
            link_fail(l, NULL);
        break;
    default:
        break;
    }
}

/* --- coming and going ------------------------------------------------------------------------- */

static int copy_external(struct link *l, const struct stream_source *src)
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

static int copy_maps(struct link *l, const struct stream_source *src, struct mf_error *e)
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

static int copy_source(struct link *l, const struct stream_source *src, struct mf_error *e)
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
    origin_index(&index, &l->src);
    l->index = mf_buf_failed(&index) ? NULL : arena_dup(&l->mem, mf_buf_slice(&index));
    mf_buf_fini(&index);
    return l->index == NULL || l->mem.failed ? mf_fail(e, MF_NOMEM, "source") : 0;
}

int link_name(struct link *l)
{
    struct origin_who who = who_of(l);
    const struct stream_config *c = stream_config(l->all->stream);
    char name[ORIGIN_NAME];
    int rc = origin_consumer(name, &who, &l->src, &c->sources);

    if (rc != 0 || strcmp(name, l->consumer) == 0)
        return rc;
    if (l->name != NULL && l->src.consumer == NULL) {
        delete_consumer(l, l->name);
        free(l->name);
        l->name = NULL;
        link_later(l, 0);
    }
    memcpy(l->consumer, name, sizeof name);
    return 0;
}

struct link *link_new(struct sources *all, const struct stream_source *src, bool mirror,
                      struct mf_error *e)
{
    struct link *l = calloc(1, sizeof *l);

    if (l == NULL) {
        mf_fail(e, MF_NOMEM, "source");
        return NULL;
    }
    l->all = all;
    l->mirror = mirror;
    l->level = mirror ? LEVEL_MIRROR : LEVEL_SOURCE;
    mf_list_init(&l->work);
    l->timer = loop_timer_new(all->host->loop, fire, l);
    if (l->timer == NULL)
        mf_fail(e, MF_NOMEM, "source");
    else if (copy_source(l, src, e) == 0) {
        if (link_name(l) == 0)
            return l;
        mf_fail(e, MF_NOMEM, "source");
    }
    link_free(l);
    return NULL;
}

void link_free(struct link *l)
{
    for (size_t i = 0; i < l->nmaps; i++)
        transform_free(l->maps[i]);
    loop_timer_free(l->timer);
    mf_buf_fini(&l->flow);
    free(l->name);
    arena_fini(&l->mem);
    free(l);
}

void link_close(struct link *l, bool forever)
{
    if (!forever)
        resume_close(l);
    unlisten(l);
    loop_timer_stop(l->timer);
    if (forever && l->src.consumer == NULL)
        delete_consumer(l, l->name != NULL ? l->name : l->consumer);
    mf_list_del(&l->work);
    l->state = LINK_CLOSED;
    l->all = NULL;
    if (l->accepted == l->completed)
        link_free(l);
}
