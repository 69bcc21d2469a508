/* test_leaf_end.c: the end of a leaf link with many subscriptions, in time slices. */
#include "leaf/leaf_impl.h"

#include "loop/work.h"
#include "support/leaf_world.h"
#include "unity.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#define HUB "leafnodes { listen: \"127.0.0.1:1\", compression: off }"
#define INFO                                                                                       \
    "INFO {\"server_id\":\"NPEER\",\"server_name\":\"PEER\",\"version\":\"2.15.1\","               \
    "\"headers\":true,\"max_payload\":1000,\"client_id\":7,\"nonce\":\"abc\","                     \
    "\"info_on_connect\":true} \r\n"
#define ANSWER "INFO {\"server_id\":\"NPEER\",\"connect_info\":true,\"remote_account\":\"X\"} \r\n"
#define MANY   3000       /* more than end at once */
#define STEP   50         /* subscriptions that end in one time slice */
#define TURN   (2 * STEP) /* loop_turn() runs tasks before and after it looks for events */

#define PAYLOAD (1u << 20)

static struct loop *loop;
static struct leaf_world hub;
static struct leaf_peer peer, other;
static const char *login = ""; /* more members of CONNECT */

void setUp(void)
{
    struct mf_error e;

    TEST_ASSERT_EQUAL_INT(0, loop_new(&loop, &e));
}

void tearDown(void)
{
    loop_free(loop);
}

/* --- leafs that the test plays ---------------------------------------------------------------- */

static void enter(struct leaf_peer *p, const char *name)
{
    char line[256];

    leaf_peer_dial(p, loop, leaf_world_port(&hub));
    leaf_peer_expect(p, "INFO {");
    (void)snprintf(line, sizeof line,
                   "CONNECT {\"name\":\"%s\",\"headers\":true,\"remote_account\":\"X\","
                   "\"server_id\":\"N%s\"%s}\r\n",
                   name, name, login);
    leaf_peer_send(p, line);
    leaf_peer_expect(p, "\"connect_info\":true");
    leaf_peer_expect(p, "LS+ $LDS.");
}

/* MANY subjects and a mark; all of it is known when this returns. */
static void announce_many(const char *mark)
{
    struct mf_buf text = MF_BUF_INIT;

    for (int i = 0; i < MANY; i++)
        mf_buf_printf(&text, "LS+ many.%d\r\n", i);
    mf_buf_printf(&text, "LS+ $LDS.%s\r\nPING\r\n", mark);
    leaf_peer_send_bytes(&peer, text.ptr, text.len);
    mf_buf_fini(&text);
    leaf_peer_expect(&peer, "PONG\r\n");
}

static void enter_with_many(const char *mark)
{
    enter(&peer, "P");
    announce_many(mark);
}

static bool has_left(void *arg)
{
    return leaf_count(hub.lf) == *(unsigned *)arg;
}

/* The connection breaks, and the server has seen it: the end is under way. */
static void break_off(unsigned remaining)
{
    leaf_peer_close(&peer);
    TEST_ASSERT_TRUE(leaf_until(loop, has_left, &remaining));
}

/* The link whose end is under way; NULL: it is freed. */
static struct leaf_link *ending(void)
{
    struct mf_list *pos;

    mf_list_each(pos, &hub.lf->links)
    {
        struct leaf_link *l = mf_container(pos, struct leaf_link, all);
        if (l->phase == LEAF_CLOSING)
            return l;
    }
    return NULL;
}

static size_t subs_left(void)
{
    const struct leaf_link *l = ending();

    return l == NULL ? 0 : l->subs.count;
}

/* Holds the end up for as long as a test wants. */
static void pause_end(void)
{
    TEST_ASSERT_TRUE(work_queued(&ending()->rest));
    work_cancel(loop, &ending()->rest);
}

static void resume_end(void)
{
    struct leaf_link *l = ending();

    work_add(loop, &l->realm->work, &l->rest);
}

static bool is_freed(void *arg)
{
    (void)arg;
    return ending() == NULL;
}

static void open_hub(const char *text)
{
    leaf_world_open(&hub, loop, "HUB", text, 0);
    work_set_steps(loop, STEP);
}

/* --- time slices ------------------------------------------------------------------------------ */

static void test_the_end_of_a_link_with_many_subscriptions_is_sliced(void)
{
    size_t left, turns = 0;

    open_hub(HUB);
    struct account *a = accounts_global(hub.as);
    enter_with_many("MARK");
    TEST_ASSERT_TRUE(router_has_interest(account_router(a), mf_str("many.1")));
    break_off(0);
    TEST_ASSERT_EQUAL_UINT64(0, account_counters(a)->leafnodes);
    TEST_ASSERT_EQUAL_UINT(1, hub.downs);
    TEST_ASSERT_EQUAL_size_t(0, leaf_say(a, "many.1", "", "", "x")); /* nobody gets it */
    left = subs_left();
    TEST_ASSERT_GREATER_OR_EQUAL_size_t(MANY - TURN, left);
    while (left > 0) {
        size_t before = left;
        loop_turn(loop);
        left = subs_left();
        TEST_ASSERT_LESS_OR_EQUAL_size_t(TURN, before - left);
        turns++;
    }
    TEST_ASSERT_GREATER_OR_EQUAL_size_t(MANY / TURN - 1, turns);
    TEST_ASSERT_TRUE(leaf_until(loop, is_freed, NULL));
    TEST_ASSERT_FALSE(router_has_interest(account_router(a), mf_str("many.1")));
    TEST_ASSERT_TRUE(mf_list_empty(&hub.lf->realms));
    leaf_world_close(&hub);
}

static void test_other_links_hear_of_the_end_and_first_of_marks(void)
{
    open_hub(HUB);
    enter(&other, "O");
    enter_with_many("MARK");
    leaf_peer_expect(&other, "LS+ $LDS.MARK\r\n");
    break_off(1);
    leaf_peer_expect(&other, "LS- $LDS.MARK\r\n");
    TEST_ASSERT_GREATER_THAN_size_t(MANY / 2, subs_left());
    TEST_ASSERT_TRUE(leaf_until(loop, is_freed, NULL));
    for (int i = 0; i < MANY; i += 100) {
        char line[64];
        (void)snprintf(line, sizeof line, "LS- many.%d\r\n", i);
        leaf_peer_wait(&other, line);
    }
    leaf_peer_close(&other);
    leaf_world_close(&hub);
}

/* --- meanwhile -------------------------------------------------------------------------------- */

static void test_a_peer_that_comes_back_meanwhile_is_not_told_of_itself(void)
{
    struct leaf_ear ear;
    char subject[64], line[80];

    open_hub(HUB);
    struct account *a = accounts_global(hub.as);
    enter(&other, "O");
    enter_with_many("MARK");
    leaf_peer_expect(&other, "LS+ $LDS.MARK\r\n");
    break_off(1);
    pause_end();
    enter(&peer, "P");
    leaf_peer_send(&peer, "LS+ $LDS.MARK\r\nLS+ many.5\r\nPING\r\n");
    leaf_peer_wait(&peer, "PONG\r\n");
    TEST_ASSERT_GREATER_THAN_size_t(STEP, subs_left());
    TEST_ASSERT_FALSE(leaf_peer_has(&peer, "LS+ many"));
    TEST_ASSERT_FALSE(leaf_peer_has(&peer, "LS+ $LDS.MARK"));
    /* What this server itself wants is told, although the last link has it still. */
    struct mf_slice still =
        mf_container(table_any(&ending()->subs, &(size_t){0}), struct leaf_sub, node)->rs.pattern;
    (void)snprintf(subject, sizeof subject, "%.*s", MF_FMT(still));
    (void)snprintf(line, sizeof line, "LS+ %s\r\n", subject);
    leaf_listen(&ear, a, subject, "");
    leaf_peer_expect(&peer, line);
    resume_end();
    TEST_ASSERT_TRUE(leaf_until(loop, is_freed, NULL));
    leaf_deafen(&ear);
    line[2] = '-';
    leaf_peer_expect(&peer, line);
    TEST_ASSERT_EQUAL_size_t(1, leaf_say(a, "many.5", "", "", "x"));
    leaf_peer_expect(&peer, "LMSG many.5 1\r\nx\r\n");
    TEST_ASSERT_FALSE(leaf_peer_has(&other, "LS- many.5\r\n"));
    leaf_peer_close(&peer);
    leaf_peer_close(&other);
    leaf_world_close(&hub);
}

static void test_a_shutdown_meanwhile_frees_everything(void)
{
    open_hub(HUB);
    enter_with_many("MARK");
    break_off(0);
    TEST_ASSERT_GREATER_THAN_size_t(STEP, subs_left());
    leaf_leaving(hub.lf);
    TEST_ASSERT_EQUAL_size_t(0, subs_left());
    TEST_ASSERT_TRUE(mf_list_empty(&hub.lf->realms));
    leaf_world_close(&hub);
}

static void test_an_account_that_is_removed_meanwhile_has_no_interest_left(void)
{
    static const char with[] = "accounts { A { users [ { user: u, password: p } ] } }\n"
                               "leafnodes { listen: \"127.0.0.1:1\", compression: off, "
                               "authorization { user: l, password: p, account: A } }",
                      without[] = "accounts { B { users [ { user: u, password: p } ] } }\n" HUB;

    for (int broken = 0; broken < 2; broken++) {
        open_hub(with);
        login = ",\"user\":\"l\",\"pass\":\"p\"";
        enter_with_many("MARK");
        login = "";
        if (broken) {
            break_off(0);
        } else { /* the server closes, and waits until the peer has heard of it */
            leaf_peer_send(&peer, "BOGUS\r\n");
            TEST_ASSERT_TRUE(leaf_until(loop, has_left, &(unsigned){0}));
        }
        TEST_ASSERT_GREATER_THAN_size_t(STEP, subs_left());
        leaf_world_reload(&hub, without, 0);
        TEST_ASSERT_EQUAL_size_t(0, subs_left());
        TEST_ASSERT_TRUE(mf_list_empty(&hub.lf->realms));
        leaf_peer_close(&peer);
        TEST_ASSERT_TRUE(leaf_until(loop, is_freed, NULL));
        leaf_world_close(&hub);
    }
}

static bool has_ended(void *arg)
{
    (void)arg;
    return subs_left() == 0;
}

/* The peer reads nothing: its connection outlives its interest. */
static void test_a_connection_that_breaks_after_the_interest_ended_is_freed(void)
{
    char *payload = calloc(1, PAYLOAD + 1);

    open_hub(HUB);
    enter_with_many("MARK");
    memset(payload, 'x', PAYLOAD);
    for (int i = 0; i < 16; i++) /* more than the kernel takes */
        TEST_ASSERT_EQUAL_size_t(1, leaf_say(accounts_global(hub.as), "many.1", "", "", payload));
    leaf_peer_send(&peer, "BOGUS\r\n");
    TEST_ASSERT_TRUE(leaf_until(loop, has_left, &(unsigned){0}));
    TEST_ASSERT_GREATER_THAN_size_t(STEP, subs_left());
    TEST_ASSERT_FALSE(ending()->gone);
    work_set_steps(loop, 2 * MANY);
    TEST_ASSERT_TRUE(leaf_until(loop, has_ended, NULL));
    TEST_ASSERT_TRUE(mf_list_empty(&hub.lf->realms));
    leaf_peer_close(&peer);
    TEST_ASSERT_TRUE(leaf_until(loop, is_freed, NULL));
    leaf_world_close(&hub);
    free(payload);
}

static void answer_the_dial(void)
{
    leaf_peer_accept(&peer);
    leaf_peer_send(&peer, INFO);
    leaf_peer_expect(&peer, "CONNECT {");
    leaf_peer_send(&peer, ANSWER);
    leaf_peer_expect(&peer, "LS+ $LDS.");
}

/* A remote does not wait for the end of its last link. */
static void test_a_remote_dials_again_meanwhile(void)
{
    leaf_peer_listen(&peer, loop);
    leaf_world_open(&hub, loop, "LEAF",
                    "leafnodes { reconnect: \"10ms\", compression: off, remotes [ { url: "
                    "\"nats-leaf://127.0.0.1:PORT\" } ] }",
                    peer.port);
    work_set_steps(loop, STEP);
    answer_the_dial();
    announce_many("MARK");
    shutdown(peer.fd, SHUT_RDWR);
    TEST_ASSERT_TRUE(leaf_until(loop, has_left, &(unsigned){0}));
    pause_end();
    answer_the_dial();
    TEST_ASSERT_EQUAL_UINT32(1, leaf_count(hub.lf));
    TEST_ASSERT_GREATER_THAN_size_t(STEP, subs_left());
    resume_end();
    TEST_ASSERT_TRUE(leaf_until(loop, is_freed, NULL));
    TEST_ASSERT_EQUAL_UINT32(1, leaf_count(hub.lf));
    leaf_peer_close(&peer);
    leaf_world_close(&hub);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_the_end_of_a_link_with_many_subscriptions_is_sliced);
    RUN_TEST(test_other_links_hear_of_the_end_and_first_of_marks);
    RUN_TEST(test_a_peer_that_comes_back_meanwhile_is_not_told_of_itself);
    RUN_TEST(test_a_shutdown_meanwhile_frees_everything);
    RUN_TEST(test_an_account_that_is_removed_meanwhile_has_no_interest_left);
    RUN_TEST(test_a_connection_that_breaks_after_the_interest_ended_is_freed);
    RUN_TEST(test_a_remote_dials_again_meanwhile);
    return UNITY_END();
}
