/* api_world.h: the JetStream API of one account on a loop whose jobs run inline, in a folder of its
 * own, with an inbox that keeps the last answer.  For restores. */
#ifndef TEST_API_WORLD_H
#define TEST_API_WORLD_H

#include "api/api_impl.h"
#include "backup/backup_impl.h"
#include "must.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

static struct loop *loop;
static struct options *options;
static struct accounts *accounts;
static struct api *api;
static char dir[64], answer[1 << 16];
static unsigned answers, turns; /* turns of the loop that were waited for an answer */
static bool is_closed;
static struct router_sub inbox;

static inline int64_t no_time(void *arg)
{
    (void)arg;
    return 1;
}

static inline bool who(void *arg, const void *origin, struct mf_buf *json)
{
    (void)arg;
    (void)origin;
    mf_buf_puts(json, "{}");
    return true;
}

static inline void closed(void *arg)
{
    (void)arg;
    is_closed = true;
}

static inline bool received(struct router_sub *s, const struct router_msg *m)
{
    (void)s;
    (void)snprintf(answer, sizeof answer, "%.*s", MF_FMT(m->msg->payload));
    answers++;
    return true;
}

static inline void api_up(const char *more)
{
    struct api_setup setup = {.server_name = "one", .version = "2.15.1", .level = 5};
    struct mf_error e;
    char text[512];

    (void)snprintf(dir, sizeof dir, "/tmp/test_api.XXXXXX");
    MUST(mkdtemp(dir) != NULL, "%s", dir);
    (void)snprintf(text, sizeof text, "jetstream { store_dir: \"%s\" %s }\n", dir, more);
    MUST(loop_new(&loop, &e) == 0, "%s", e.text);
    loop_jobs_inline(loop);
    MUST(options_parse(&options, mf_str(text), "test", &e) == 0, "%s", e.text);
    MUST(accounts_new(&accounts, options, no_time, NULL, &e) == 0, "%s", e.text);
    inbox = (struct router_sub){.deliver = received};
    MUST(router_subscribe(account_router(accounts_global(accounts)), MF_LIT("_INBOX"),
                          MF_SLICE_NONE, &inbox) == 0,
         "inbox");
    setup.loop = loop;
    setup.accounts = accounts;
    setup.options = options;
    setup.client_info = who;
    setup.extension = &backup_extension;
    MUST(api_open(&api, &setup, &e) == 0, "%s", e.text);
}

static inline void api_down(void)
{
    char command[128];

    is_closed = false;
    api_close(api, closed, NULL);
    for (int i = 0; i < 1000 && !is_closed; i++)
        loop_turn(loop);
    MUST(is_closed, "the api does not close");
    router_unsubscribe(account_router(accounts_global(accounts)), &inbox);
    accounts_free(accounts);
    options_free(options);
    loop_free(loop);
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    MUST(system(command) == 0, "%s", command); /* NOLINT: a folder of our own making */
}

static inline struct api_account *api_world_account(void)
{
    return api_account(mf_container(mf_list_first(&api->js->list), struct js_account, link));
}

/* false: nobody answered, or not within 20 s. */
static inline bool request(const char *subject, struct mf_slice body)
{
    struct mf_msg m = {.subject = mf_str(subject), .reply = MF_LIT("_INBOX"), .payload = body};
    int64_t give_up = clock_mono_ns() + 20 * CLOCK_S;

    answers = turns = 0;
    if (account_publish(accounts_global(accounts),
                        &(struct router_msg){.route = m.subject, .msg = &m}) == 0)
        return false;
    for (; answers == 0 && clock_mono_ns() < give_up; turns++)
        loop_turn(loop);
    return answers > 0;
}

/* Begins a restore of stream S; to: where its chunks go. */
static inline void restore_begin(const char *config, char to[128])
{
    char body[512];

    (void)snprintf(body, sizeof body, "{\"config\":{\"name\":\"S\",%s},\"state\":{}}", config);
    MUST(request("$JS.API.STREAM.RESTORE.S", mf_str(body)), "no answer");
    MUST(strstr(answer, "$JS.SNAPSHOT") != NULL, "%s", answer);
    MUST(sscanf(strstr(answer, "$JS.SNAPSHOT"), "%127[^\"]", to) == 1, "%s", answer);
}

#endif
