/* api_tenants.h: the JSON API of two accounts on a catalog in a temporary folder, for tests about
 * how its work is shared out.  All of it is static: include it once. */
#ifndef TEST_API_TENANTS_H
#define TEST_API_TENANTS_H

#include "api/api.h"
#include "base/rand.h"

#include "api/api_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unity.h"

#define TWO                                                                                        \
    "jetstream { store_dir: \"%s\"\n%s\n}\n"                                                       \
    "accounts { A { jetstream: enabled }, B { jetstream: enabled } }\n"
static struct loop *loop;
static struct options *options;
static struct accounts *accounts;
static struct api *api;
static bool is_closed;
static char dir[64];

/* Everything that came to one inbox: header block and payload of each message, one after another.
 */
struct inbox {
    struct router_sub sub;
    struct account *account;
    struct mf_buf text;
    unsigned count;
};
#define INBOXES 256
static struct inbox inbox[INBOXES];
static unsigned used;

/* --- the world -------------------------------------------------------------------------------- */

static struct options *parse(const char *fmt, const char *more)
{
    struct options *o;
    struct mf_error e;
    char text[1024];

    (void)snprintf(text, sizeof text, fmt, dir, more);
    TEST_ASSERT_EQUAL_MESSAGE(0, options_parse(&o, mf_str(text), "test", &e), e.text);
    return o;
}

static int64_t no_time(void *arg)
{
    (void)arg;
    return 1;
}

static void start(const char *more)
{
    struct mf_error e;

    options = parse(TWO, more);
    TEST_ASSERT_EQUAL(0, accounts_new(&accounts, options, no_time, NULL, &e));
    struct api_setup setup = {.loop = loop,
                              .accounts = accounts,
                              .options = options,
                              .server_name = "one",
                              .server_id = "ID",
                              .version = "2.15.1",
                              .level = 5};
    TEST_ASSERT_EQUAL_MESSAGE(0, api_open(&api, &setup, &e), e.text);
}

static void closed(void *arg)
{
    (void)arg;
    is_closed = true;
}

void setUp(void)
{
    struct mf_error e;

    (void)snprintf(dir, sizeof dir, "/tmp/test_api_slices.XXXXXX");
    TEST_ASSERT_NOT_NULL(mkdtemp(dir));
    TEST_ASSERT_EQUAL(0, loop_new(&loop, &e));
    loop_jobs_inline(loop);
}

static void forget_inboxes(void)
{
    for (unsigned i = 0; i < used; i++) {
        router_unsubscribe(account_router(inbox[i].account), &inbox[i].sub);
        mf_buf_fini(&inbox[i].text);
    }
    used = 0;
}

void tearDown(void)
{
    char command[128];

    work_set_steps(loop, 0);
    is_closed = false;
    api_close(api, closed, NULL);
    for (int i = 0; i < 1000 && !is_closed; i++)
        loop_turn(loop);
    TEST_ASSERT_TRUE_MESSAGE(is_closed, "the API never closed");
    forget_inboxes();
    accounts_free(accounts);
    options_free(options);
    loop_free(loop);
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    TEST_ASSERT_EQUAL(0, system(command)); /* NOLINT: a folder of our own making */
}

static bool received(struct router_sub *s, const struct router_msg *m)
{
    struct inbox *b = mf_container(s, struct inbox, sub);

    mf_buf_append(&b->text, m->msg->hdr.ptr, m->msg->hdr.len);
    mf_buf_append(&b->text, m->msg->payload.ptr, m->msg->payload.len);
    mf_buf_byte(&b->text, '\n');
    b->count++;
    return true;
}

static struct inbox *listen_on(const char *account, const char *subject)
{
    struct inbox *b = &inbox[used++];

    TEST_ASSERT_LESS_OR_EQUAL_UINT(INBOXES, used);
    *b = (struct inbox){
        .sub.deliver = received, .account = accounts_get(accounts, account), .text = MF_BUF_INIT};
    TEST_ASSERT_EQUAL(
        0, router_subscribe(account_router(b->account), mf_str(subject), MF_SLICE_NONE, &b->sub));
    return b;
}

/* A request of nobody: it may be queued.  Those of clients keep their order. */
static void send_to(const char *account, const char *subject, const char *reply, const char *body)
{
    struct account *a = accounts_get(accounts, account);
    struct mf_msg m = {.subject = mf_str(subject), .reply = mf_str(reply), .payload = mf_str(body)};

    (void)account_publish(a, &(struct router_msg){.route = m.subject, .msg = &m});
}

static struct inbox *send_as(const char *account, const char *subject, const char *body)
{
    char reply[32];
    struct inbox *b;

    (void)snprintf(reply, sizeof reply, "_INBOX.%u", used);
    b = listen_on(account, reply);
    send_to(account, subject, reply, body);
    return b;
}

/* Is this the last message of an answer? */
static bool is_complete(const struct inbox *b)
{
    const char *text = b->count == 0 ? "" : mf_buf_cstr((struct mf_buf *)&b->text);

    return b->count > 0 &&
           (strstr(text, "\"type\":") != NULL || strstr(text, "NATS/1.0 ") != NULL ||
            strstr(text, "Nats-Num-Pending") == NULL);
}

/* Turns until the answer is complete. */
static unsigned wait_for(const struct inbox *b)
{
    unsigned turns = 0;

    for (; !is_complete(b) && turns < 1000000; turns++)
        loop_turn(loop);
    TEST_ASSERT_TRUE_MESSAGE(is_complete(b), "an answer");
    return turns;
}

static const char *ask(const char *account, const char *subject, const char *body)
{
    struct inbox *b = send_as(account, subject, body);

    wait_for(b);
    return mf_buf_cstr(&b->text);
}

static void has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        printf("looked for %s\nin %.2000s\n", part, text);
        TEST_FAIL();
    }
}

static void create(const char *account, const char *name, const char *more)
{
    char subject[64], body[256];

    (void)snprintf(subject, sizeof subject, "$JS.API.STREAM.CREATE.%s", name);
    (void)snprintf(body, sizeof body,
                   "{\"name\":\"%s\",\"subjects\":[\"%s.>\"],\"storage\":\"memory\","
                   "\"allow_direct\":true%s}",
                   name, name, more);
    has(ask(account, subject, body), "\"did_create\":true");
}

static void settle(void)
{
    for (int i = 0; i < 50; i++)
        loop_turn(loop);
}

/* n messages on subjects S.<i % rows>.<i / each>. */
static void fill(const char *account, const char *name, unsigned n, unsigned rows, unsigned each)
{
    char subject[64];

    for (unsigned i = 0; i < n; i++) {
        (void)snprintf(subject, sizeof subject, "%s.%u.%u", name, i % rows, i / each);
        send_to(account, subject, "", "x");
        if (i % 1000 == 999)
            settle();
    }
    settle();
}

#endif
