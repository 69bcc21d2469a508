/* consumer_world.h: consumers on a stream in memory, with the clock in the test's hand and a sink
 * that writes down what was delivered.  For one test program each: it has its setUp(). */
#ifndef TEST_CONSUMER_WORLD_H
#define TEST_CONSUMER_WORLD_H

#include "stream_world.h"

#include "consumer/consumer_impl.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

static struct world w;
static struct consumers *g;
static struct consumer_host host;
static char *subjects[] = {(char *)"k.>"};
static const struct stream_config plain = {.name = (char *)"S", .subjects = {subjects, 1}};
static struct mf_buf log_; /* "route subject reply hdr|payload\n" */
static struct mf_buf told; /* events */
static char here[512];     /* routes that have a listener, each with blanks around it */

static inline int64_t now_ns(void *arg)
{
    return ((struct world *)arg)->now_ns;
}

static inline int64_t wall_ns(void *arg)
{
    const struct world *x = arg;

    return x->now_ns - x->behind_ns;
}

static inline bool listens(struct mf_slice subject)
{
    char text[128];

    snprintf(text, sizeof text, " %.*s ", MF_FMT(subject));
    return strstr(here, text) != NULL;
}

static inline size_t deliver(void *arg, struct mf_slice route, const struct mf_msg *m)
{
    struct mf_slice status = m->hdr;

    (void)arg;
    if (!listens(route))
        return 0;
    if (status.len > 9)
        status = mf_slice(status.ptr + 8, status.len - 8);
    mf_buf_printf(&log_, "%.*s<%.*s %.*s", MF_FMT(route), MF_FMT(m->subject), MF_FMT(m->reply));
    for (size_t i = 0; i < status.len; i++)
        mf_buf_byte(&log_, status.ptr[i] == '\r'   ? ';'
                           : status.ptr[i] == '\n' ? ' '
                                                   : status.ptr[i]);
    mf_buf_printf(&log_, "|%.*s\n", m->payload.len > 99 ? 0 : (int)m->payload.len,
                  (const char *)m->payload.ptr);
    return 1;
}

static inline bool interest(void *arg, struct mf_slice subject, struct mf_slice queue)
{
    (void)arg;
    (void)queue;
    return listens(subject);
}

static inline uint64_t departures(void *arg)
{
    static uint64_t asked;

    (void)arg;
    return ++asked; /* somebody may always have gone */
}

static inline size_t largest(void *arg)
{
    (void)arg;
    return 1u << 20;
}

static inline void await_interest(void *arg, struct consumer *c, bool on)
{
    (void)arg;
    (void)c;
    (void)on;
}

static inline void event(void *arg, const struct consumer_event *e)
{
    (void)arg;
    mf_buf_printf(&told, "%d:%llu ", (int)e->kind, (unsigned long long)e->stream_seq);
}

/* Configurations as text are the api's; here a struct is as good. */
static inline int encode(const struct consumer_config *c, struct mf_buf *out)
{
    struct consumer_config copy = *c;

    copy.mem = (struct arena){0};
    copy.name = copy.filter_subject = copy.deliver_subject = NULL;
    memset(&copy.metadata, 0, sizeof copy.metadata);
    copy.durable_name = (char *)"D"; /* the only string a test needs back */
    mf_buf_append(out, &copy, sizeof copy);
    return 0;
}

static inline int decode(struct mf_slice text, struct consumer_config *c, struct mf_error *e)
{
    (void)e;
    memcpy(c, text.ptr, sizeof *c); /* its strings are the test's own */
    return 0;
}

static inline void consumers_up(void)
{
    struct mf_error e;

    host = (struct consumer_host){.loop = w.loop,
                                  .now_ns = now_ns,
                                  .wall_ns = wall_ns,
                                  .deliver = deliver,
                                  .interest = interest,
                                  .bound = interest,
                                  .departures = departures,
                                  .largest = largest,
                                  .await_interest = await_interest,
                                  .event = event,
                                  .arg = &w,
                                  .codec = {encode, decode}};
    TEST_ASSERT_EQUAL_INT(0, consumers_open(&g, w.stream, &host, &e));
}

void setUp(void)
{
    world_init(&w);
    here[0] = '\0';
}

void tearDown(void)
{
    if (g != NULL && w.stream != NULL)
        consumers_close(g, false);
    g = NULL;
    world_turns(&w);
    world_fini(&w);
    mf_buf_fini(&log_);
    mf_buf_fini(&told);
}

static inline void created(struct consumer_op *op, struct consumer *c, const struct js_error *e)
{
    TEST_ASSERT_NULL(e);
    op->consumer = c;
    op->wait.done = NULL;
}

static inline struct consumer *add(const char *name, struct consumer_config cfg)
{
    struct consumer_op op = {.done = created};

    op.wait.node.next = NULL;
    consumer_create(g, &cfg, mf_str(name), &op);
    world_turns(&w);
    TEST_ASSERT_NULL(op.wait.done);
    return op.consumer;
}

static inline struct consumer_config pull(void)
{
    return (struct consumer_config){.ack_policy = ACK_EXPLICIT,
                                    .ack_wait_ns = 30 * CLOCK_S,
                                    .max_deliver = -1,
                                    .max_waiting = 512,
                                    .max_ack_pending = 1000,
                                    .durable_name = (char *)"D"};
}

static inline void put(const char *subject, const char *payload)
{
    struct world_ack a = world_publish(&w, subject, NULL, payload);

    TEST_ASSERT_EQUAL_STRING("", a.text);
    world_turns(&w);
}

static inline const char *heard(void)
{
    static char text[16384];

    snprintf(text, sizeof text, "%.*s", (int)log_.len, log_.ptr == NULL ? "" : (char *)log_.ptr);
    mf_buf_clear(&log_);
    return text;
}

static inline size_t count(const char *in, const char *what)
{
    size_t n = 0;

    for (const char *p = in; (p = strstr(p, what)) != NULL; p++)
        n++;
    return n;
}

static inline void ask(struct consumer *c, const char *body)
{
    consumer_pull(c, MF_LIT("in"), mf_str(body), MF_SLICE_NONE);
    world_turns(&w);
}

static inline bool ack(struct consumer *c, const char *tokens, const char *body)
{
    bool ok = consumer_ack(c, mf_str(tokens), MF_SLICE_NONE, mf_str(body));

    world_turns(&w);
    return ok;
}

/* With max_deliver 1: its first message, refused and so given up. */
static inline struct consumer *add_giving_up(const char *name, struct consumer_config cfg)
{
    struct consumer *c = add(name, cfg);

    put("k.a", "1");
    snprintf(here, sizeof here, " in ");
    ask(c, "1");
    ack(c, "1.1.1.0.0", "-NAK");
    ask(c, "1");
    return c;
}

static inline struct consumer_info info(struct consumer *c)
{
    struct consumer_info i;

    consumer_info(c, &i);
    return i;
}

#endif
