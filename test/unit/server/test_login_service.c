/* test_login_service.c: clients whose login a service decides: they wait for its answer, end while
 * it works, and are looked at again, in slices, when the claims of their account change. */
#include "loop/work.h"
#include "server/server_impl.h"
#include "session/login.h"

#include "unity.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS 300 /* more than are renewed at once */

static struct loop *loop;
static struct server *server;
static bool stopped;
static int fds[CLIENTS];

/* --- a service -------------------------------------------------------------------------------- */

struct user {
    struct login_user u;
    uint64_t cid;
};
static unsigned users, cancelled;
static struct login *asked; /* the last one that was not answered */
static bool answers, refuses, no_memory;
static uint64_t renewed[2 * CLIENTS];
static size_t nrenewed;
static uint64_t ends_from; /* renewal ends clients from this id on; 0: none */

static void user_free(struct login_user *u)
{
    users--;
    free(u->shown);
    free(mf_container(u, struct user, u));
}

static struct login_user *user_new(uint64_t cid)
{
    struct user *u = calloc(1, sizeof *u);

    TEST_ASSERT_NOT_NULL(u);
    u->u.refs = 1;
    u->u.free = user_free;
    u->u.shown = mf_slice_dup(mf_str("somebody"));
    u->cid = cid;
    users++;
    return &u->u;
}

static bool decides(void *arg, const struct login *q)
{
    (void)arg, (void)q;
    return true;
}

static void answer(struct login *q)
{
    struct login_refusal no = LOGIN_REFUSED("no");
    struct login_result r = {.account = accounts_get(server_accounts(server), ACCOUNT_GLOBAL),
                             .max_subs = -1,
                             .max_payload = -1};

    asked = NULL;
    q->state = NULL;
    if (refuses) {
        q->done(q, NULL, &no);
        return;
    }
    r.user = user_new(q->cid);
    q->done(q, &r, NULL);
}

static struct loop_defer later;
static void answer_later(struct loop_defer *d)
{
    (void)d;
    answer(asked);
}

static int start_login(void *arg, struct login *q)
{
    (void)arg;
    if (no_memory)
        return MF_NOMEM;
    TEST_ASSERT_NULL(asked);
    asked = q;
    q->state = &asked;
    if (answers) {
        later.fn = answer_later;
        loop_defer(loop, &later);
    }
    return 0;
}

static void cancel_login(void *arg, struct login *q)
{
    (void)arg;
    TEST_ASSERT_EQUAL_PTR(asked, q);
    asked = NULL;
    cancelled++;
}

static int renew_user(void *arg, struct account *a, struct login_user *u, struct login_result *out,
                      struct login_refusal *no)
{
    uint64_t cid = mf_container(u, struct user, u)->cid;

    (void)arg;
    TEST_ASSERT_TRUE(nrenewed < MF_COUNT(renewed));
    renewed[nrenewed++] = cid;
    if (ends_from != 0 && cid >= ends_from) {
        *no =
            (struct login_refusal){.err = "User Authentication Revoked", .reason = REASON_REVOKED};
        return MF_DENIED;
    }
    *out = (struct login_result){
        .account = a, .max_subs = -1, .max_payload = -1, .user = login_user_retain(u)};
    return 0;
}

static const struct login_service service = {.required = true,
                                             .decides = decides,
                                             .start = start_login,
                                             .cancel = cancel_login,
                                             .renew = renew_user};

/* --- a server --------------------------------------------------------------------------------- */

static void on_stopped(void *arg)
{
    (void)arg;
    stopped = true;
}

void setUp(void)
{
    struct server_setup setup = {.stopped = on_stopped, .login = &service};
    struct mf_error e = {0, ""};

    stopped = refuses = no_memory = false;
    answers = true;
    users = cancelled = 0;
    nrenewed = 0;
    ends_from = 0;
    asked = NULL;
    for (size_t i = 0; i < CLIENTS; i++)
        fds[i] = -1;
    TEST_ASSERT_EQUAL(0, loop_new(&loop, &e));
    TEST_ASSERT_EQUAL(0,
                      options_parse(&setup.options, mf_str("listen: \"127.0.0.1:-1\""), "t", &e));
    TEST_ASSERT_EQUAL_MESSAGE(0, server_start(&server, loop, &setup, &e), e.text);
}

void tearDown(void)
{
    for (size_t i = 0; i < CLIENTS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    server_shutdown(server);
    while (!stopped)
        loop_turn(loop);
    server_free(server);
    loop_free(loop);
    TEST_ASSERT_EQUAL_UINT(0, users); /* nobody is kept */
}

static void turns(int n)
{
    while (n-- > 0)
        loop_turn(loop);
}

/* All that came within a few turns. */
static const char *received(int fd)
{
    static char text[65536];
    size_t n = 0;
    ssize_t got;

    for (int i = 0; i < 50; i++) {
        loop_turn(loop);
        while ((got = recv(fd, text + n, sizeof text - 1 - n, MSG_DONTWAIT)) > 0)
            n += (size_t)got;
    }
    text[n] = '\0';
    return text;
}

static void say(int fd, const char *text)
{
    TEST_ASSERT_EQUAL(strlen(text), send(fd, text, strlen(text), MSG_NOSIGNAL));
}

static int dial(void)
{
    struct mf_error e;
    int pair[2];

    TEST_ASSERT_EQUAL(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
    TEST_ASSERT_EQUAL(0, server_adopt(server, pair[1], &e));
    return pair[0];
}

static void log_in(int fd)
{
    uint32_t before = users;

    say(fd, "CONNECT {\"verbose\":false,\"jwt\":\"x\"}\r\nPING\r\n");
    for (int i = 0; i < 1000 && users == before; i++)
        loop_turn(loop);
    TEST_ASSERT_EQUAL_UINT(before + 1, users);
}

static struct account *global(void)
{
    return accounts_get(server_accounts(server), ACCOUNT_GLOBAL);
}

/* --- logins ----------------------------------------------------------------------------------- */

static void test_a_client_waits_for_the_service_with_its_input(void)
{
    answers = false;
    fds[0] = dial();
    TEST_ASSERT_NOT_NULL(strstr(received(fds[0]), "\"nonce\":"));
    say(fds[0], "CONNECT {\"verbose\":false}\r\nSUB a 1\r\nPUB a 2\r\nhi\r\nPING\r\n");
    TEST_ASSERT_EQUAL_STRING("", received(fds[0]));
    TEST_ASSERT_NOT_NULL(asked);
    TEST_ASSERT_EQUAL(LOGIN_IN_PROCESS, asked->kind);
    TEST_ASSERT_EQUAL_size_t(15, strlen(asked->nonce));
    answer(asked);
    TEST_ASSERT_NOT_NULL(strstr(received(fds[0]), "MSG a 1 2\r\nhi\r\nPONG\r\n"));
    TEST_ASSERT_EQUAL_UINT64(1, account_counters(global())->clients);
}

static void test_a_refused_client_is_told_so_and_closed(void)
{
    refuses = true;
    fds[0] = dial();
    say(fds[0], "CONNECT {\"verbose\":false}\r\nPING\r\n");
    const char *text = received(fds[0]);
    TEST_ASSERT_NOT_NULL(strstr(text, "-ERR 'Authorization Violation'\r\n"));
    TEST_ASSERT_NULL(strstr(text, "PONG"));
    TEST_ASSERT_EQUAL_UINT32(0, server_clients(server));
}

static void test_a_client_that_leaves_cancels_its_login(void)
{
    answers = false;
    fds[0] = dial();
    say(fds[0], "CONNECT {\"verbose\":false}\r\n");
    (void)received(fds[0]);
    TEST_ASSERT_NOT_NULL(asked);
    server_account_renew(server, global()); /* it is in no account yet */
    server_shutdown(server);
    turns(50);
    TEST_ASSERT_EQUAL_UINT(1, cancelled);
    TEST_ASSERT_NULL(asked);
}

static void test_without_memory_the_client_is_closed(void)
{
    no_memory = true;
    fds[0] = dial();
    say(fds[0], "CONNECT {\"verbose\":false}\r\n");
    TEST_ASSERT_NULL(strstr(received(fds[0]), "-ERR"));
    TEST_ASSERT_EQUAL_UINT32(0, server_clients(server));
}

/* --- new claims ------------------------------------------------------------------------------- */

static void connect_all(void)
{
    for (size_t i = 0; i < CLIENTS; i++) {
        fds[i] = dial();
        log_in(fds[i]);
    }
    TEST_ASSERT_EQUAL_UINT64(CLIENTS, account_counters(global())->clients);
}

static void test_all_clients_are_renewed_once_the_oldest_first(void)
{
    connect_all();
    server_account_renew(server, global());
    TEST_ASSERT_TRUE(nrenewed >= 256 && nrenewed < CLIENTS);
    turns(20);
    TEST_ASSERT_EQUAL_size_t(CLIENTS, nrenewed);
    for (size_t i = 1; i < nrenewed; i++)
        TEST_ASSERT_TRUE(renewed[i] > renewed[i - 1]);
}

/* One client in each turn: the next one leaves, and so does the last one. */
static void test_clients_may_leave_between_the_slices(void)
{
    connect_all();
    work_set_steps(loop, 1);
    server_account_renew(server, global());
    size_t first = nrenewed;
    TEST_ASSERT_TRUE(first < CLIENTS - 10);
    close(fds[first]);
    close(fds[first + 1]);
    close(fds[CLIENTS - 1]);
    fds[first] = fds[first + 1] = fds[CLIENTS - 1] = -1;
    turns(2 * CLIENTS);
    work_set_steps(loop, 0);
    TEST_ASSERT_EQUAL_UINT64(CLIENTS - 3, account_counters(global())->clients);
    TEST_ASSERT_TRUE(nrenewed >= CLIENTS - 3 && nrenewed <= CLIENTS);
    for (size_t i = 1; i < nrenewed; i++)
        TEST_ASSERT_TRUE(renewed[i] > renewed[i - 1]);
}

static void test_a_second_change_begins_anew(void)
{
    connect_all();
    work_set_steps(loop, 1);
    server_account_renew(server, global());
    size_t first = nrenewed;
    turns(3);
    nrenewed = 0;
    server_account_renew(server, global());
    TEST_ASSERT_EQUAL_size_t(first, nrenewed);
    turns(2 * CLIENTS);
    work_set_steps(loop, 0);
    TEST_ASSERT_EQUAL_size_t(CLIENTS, nrenewed);
}

static void test_clients_that_may_not_stay_are_told_and_closed(void)
{
    connect_all();
    server_account_renew(server, global());
    turns(20);
    ends_from = renewed[CLIENTS - 30];
    nrenewed = 0;
    server_account_renew(server, global());
    TEST_ASSERT_NOT_NULL(
        strstr(received(fds[CLIENTS - 1]), "-ERR 'User Authentication Revoked'\r\n"));
    TEST_ASSERT_EQUAL_UINT64(CLIENTS - 30, account_counters(global())->clients);
    TEST_ASSERT_NULL(strstr(received(fds[0]), "-ERR"));
}

static void test_a_server_may_stop_meanwhile(void)
{
    connect_all();
    server_account_renew(server, global());
    TEST_ASSERT_TRUE(nrenewed < CLIENTS); /* tearDown() stops it */
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_client_waits_for_the_service_with_its_input);
    RUN_TEST(test_a_refused_client_is_told_so_and_closed);
    RUN_TEST(test_a_client_that_leaves_cancels_its_login);
    RUN_TEST(test_without_memory_the_client_is_closed);
    RUN_TEST(test_all_clients_are_renewed_once_the_oldest_first);
    RUN_TEST(test_clients_may_leave_between_the_slices);
    RUN_TEST(test_a_second_change_begins_anew);
    RUN_TEST(test_clients_that_may_not_stay_are_told_and_closed);
    RUN_TEST(test_a_server_may_stop_meanwhile);
    return UNITY_END();
}
