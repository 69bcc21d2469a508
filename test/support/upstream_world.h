/* upstream_world.h: a stream that follows a made-up upstream: an API that writes down what it is
 * asked and answers as the test says, and a consumer that delivers what the test puts into it.  For
 * one test program each: it has its setUp(). */
#ifndef TEST_ORIGIN_WORLD_H
#define TEST_ORIGIN_WORLD_H

#include "stream_world.h"

#include "base/clock.h"
#include "source/source.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

#define UPSTREAM_MSGS 16

static struct world w;
static struct options options;
static struct accounts *accounts;
static struct source_host host;
static struct sources *all;
static struct router_sub api_sub, flow_sub;

/* The upstream. */
static struct {
    unsigned asked;
    char subject[256], hdr[256], body[1024]; /* of the last request but DELETE */
    char deleted[256];                       /* subject of the last DELETE */
    const char *refuse;                      /* error of the next answer; NULL: none */
    const char *ident;
    unsigned refusals;               /* so many times */
    bool mute;                       /* it does not answer */
    const char *sent[UPSTREAM_MSGS]; /* payload of each sequence; NULL: not there */
    uint64_t last;
    uint64_t dseq, next;
    char to[64]; /* where it delivers; "": nowhere */
} upstream;
static struct mf_buf flows; /* what flow control was answered: "subject hdr\n" */
static unsigned caught;

static inline struct account *home(void)
{
    return accounts_global(accounts);
}

static inline size_t publish(const char *route, const char *subject, const char *reply,
                             const char *hdr, const char *payload)
{
    struct mf_msg m = {.subject = mf_str(subject),
                       .reply = mf_str(reply),
                       .hdr = mf_str(hdr),
                       .payload = mf_str(payload)};

    return account_publish(home(), &(struct router_msg){.route = mf_str(route), .msg = &m});
}

/* The value behind "key": in the body, up to a comma or brace; quotes are left out. */
static inline void value_of(const char *body, const char *key, char *to, size_t cap)
{
    const char *at = strstr(body, key);
    size_t n = 0;

    for (at = at == NULL ? "" : at + strlen(key); *at != '\0' && *at != ',' && *at != '}'; at++)
        if (*at != '"' && n + 1 < cap)
            to[n++] = *at;
    to[n] = '\0';
}

static inline void answer_create(struct mf_slice reply)
{
    char text[512], seq[32], name[64], to[64], ident[64] = "";

    value_of(upstream.body, "\"deliver_subject\":", to, sizeof to);
    value_of(upstream.body, "\"opt_start_seq\":", seq, sizeof seq);
    value_of(upstream.body, "\"name\":", name, sizeof name);
    upstream.next = seq[0] == '\0' ? 1 : strtoull(seq, NULL, 10);
    upstream.dseq = 0;
    (void)snprintf(upstream.to, sizeof upstream.to, "%s", to);
    (void)snprintf(text, sizeof text,
                   "{\"name\":\"%s-x\",\"config\":{\"deliver_subject\":\"%s\"},\"delivered\":{"
                   "\"stream_seq\":%llu},\"num_pending\":%llu}",
                   name, to, (unsigned long long)(upstream.next - 1),
                   (unsigned long long)(upstream.last + 1 - upstream.next));
    if (upstream.ident != NULL)
        (void)snprintf(ident, sizeof ident, "NATS/1.0\r\nNats-Stream-Identity: %s\r\n\r\n",
                       upstream.ident);
    char back[64];
    (void)snprintf(back, sizeof back, "%.*s", MF_FMT(reply));
    (void)publish(back, back, "", ident, text);
}

static inline bool api_asked(struct router_sub *s, const struct router_msg *m)
{
    char back[64];

    (void)s;
    if (mf_starts(m->msg->subject, "$JS.API.CONSUMER.DELETE.")) {
        (void)snprintf(upstream.deleted, sizeof upstream.deleted, "%.*s", MF_FMT(m->msg->subject));
        return true;
    }
    upstream.asked++;
    upstream.to[0] = '\0';
    (void)snprintf(upstream.subject, sizeof upstream.subject, "%.*s", MF_FMT(m->msg->subject));
    (void)snprintf(upstream.hdr, sizeof upstream.hdr, "%.*s", MF_FMT(m->msg->hdr));
    (void)snprintf(upstream.body, sizeof upstream.body, "%.*s", MF_FMT(m->msg->payload));
    if (upstream.mute)
        return true;
    if (upstream.refusals > 0) {
        upstream.refusals--;
        (void)snprintf(back, sizeof back, "%.*s", MF_FMT(m->msg->reply));
        (void)publish(back, back, "", "", upstream.refuse);
    } else {
        answer_create(m->msg->reply);
    }
    return true;
}

static inline bool flow_answered(struct router_sub *s, const struct router_msg *m)
{
    (void)s;
    mf_buf_printf(&flows, "%.*s %.*s\n", MF_FMT(m->msg->subject), MF_FMT(m->msg->hdr));
    return true;
}

static inline void caught_up(void *arg, struct stream *s)
{
    (void)arg;
    (void)s;
    caught++;
}

static inline const char *no_domain(void *arg)
{
    (void)arg;
    return "";
}

static inline int64_t zero_time(void *arg)
{
    (void)arg;
    return 0;
}

void setUp(void)
{
    struct mf_error e;

    world_init(&w);
    memset(&upstream, 0, sizeof upstream);
    memset(&options, 0, sizeof options);
    caught = 0;
    all = NULL;
    TEST_ASSERT_EQUAL_INT(0, accounts_new(&accounts, &options, zero_time, NULL, &e));
    host = (struct source_host){
        .loop = w.loop, .account = home(), .domain = no_domain, .caught_up = caught_up};
    source_host_init(&host);
    api_sub = (struct router_sub){.deliver = api_asked};
    flow_sub = (struct router_sub){.deliver = flow_answered};
    TEST_ASSERT_EQUAL_INT(0,
                          account_subscribe(home(), MF_LIT("$JS.API.>"), MF_SLICE_NONE, &api_sub));
    TEST_ASSERT_EQUAL_INT(0,
                          account_subscribe(home(), MF_LIT("$JS.FC.>"), MF_SLICE_NONE, &flow_sub));
}

void tearDown(void)
{
    sources_close(all, false);
    world_fini(&w);
    source_fini();
    account_unsubscribe(home(), &api_sub);
    account_unsubscribe(home(), &flow_sub);
    accounts_free(accounts);
    mf_buf_fini(&flows);
}

/* Begins to follow what the stream's configuration says. */
static inline void follow(void)
{
    struct mf_error e;

    TEST_ASSERT_EQUAL_INT(0, sources_follow(&all, w.stream, &host, &e));
}

/* One delivery, and in the turns that follow it comes to disk. */
static inline void deliver_next(void)
{
    char reply[128], subject[32], name[64];
    uint64_t seq = upstream.next++;

    if (seq > upstream.last || upstream.sent[seq] == NULL)
        return;
    value_of(upstream.body, "\"name\":", name, sizeof name);
    (void)snprintf(subject, sizeof subject, "k.%llu", (unsigned long long)seq);
    (void)snprintf(reply, sizeof reply, "$JS.ACK.O.%s-x.1.%llu.%llu.%llu.%llu", name,
                   (unsigned long long)seq, (unsigned long long)++upstream.dseq,
                   (unsigned long long)(seq * 1000), (unsigned long long)(upstream.last - seq));
    (void)publish(upstream.to, subject, reply, "", upstream.sent[seq]);
}

static inline void upstream_holds(const char *const *payloads, size_t n)
{
    for (size_t i = 0; i < n; i++)
        upstream.sent[i + 1] = payloads[i];
    upstream.last = n;
}

/* Turns, and all that the upstream has is delivered, until the stream ends with this sequence or
 * the upstream was asked so often (0: that does not count). */
static inline void run_until(uint64_t last_seq, unsigned asked)
{
    int64_t end = clock_mono_ns() + 30 * CLOCK_S;
    struct stream_state st;

    do {
        loop_turn(w.loop);
        while (upstream.to[0] != '\0' && upstream.next <= upstream.last)
            deliver_next();
        stream_state(w.stream, &st);
        if ((asked > 0 && upstream.asked >= asked) || (asked == 0 && st.last_seq >= last_seq))
            return;
    } while (clock_mono_ns() < end);
    TEST_FAIL_MESSAGE("waited in vain");
}

#endif
