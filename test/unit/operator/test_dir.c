/* test_dir.c: account JWTs in a directory: files and modes, stores and removals, limits, sweeps,
 * lists and packs, many accounts. */
#include "dir_fixture.h"

/* --- tests ------------------------------------------------------------------------------------ */

static void test_a_stored_token_is_a_private_file_with_the_bare_token(void)
{
    struct stat st;
    char *t = account_token(1, 100, 0), got[4096] = "";
    struct result out;
    FILE *f;

    rmdir(dir);
    open_it("type: full }");
    TEST_ASSERT_EQUAL(0, stat(dir, &st));
    TEST_ASSERT_EQUAL(0700, st.st_mode & 0777);
    TEST_ASSERT_EQUAL(0, store(1, 100, 0));
    TEST_ASSERT_EQUAL(0, stat(file_of(1, ".jwt"), &st));
    TEST_ASSERT_EQUAL(0600, st.st_mode & 0777);
    f = fopen(file_of(1, ".jwt"), "r");
    TEST_ASSERT_EQUAL(strlen(t), fread(got, 1, sizeof got - 1, f));
    fclose(f);
    TEST_ASSERT_EQUAL_STRING(t, got);
    out = look_up(1);
    TEST_ASSERT_EQUAL(0, out.rc);
    TEST_ASSERT_EQUAL_STRING(t, out.text);
    TEST_ASSERT_FALSE(exists(file_of(1, ".new")));
    free(t);
}

static void test_a_restart_keeps_all_and_finds_files_that_were_put_there(void)
{
    char *t = account_token(2, 100, 0);

    open_it("type: full }");
    TEST_ASSERT_EQUAL(0, store(1, 100, 0));
    put_file(file_of(2, ".jwt"), t);
    TEST_ASSERT_EQUAL(0, look_up(2).rc);
    TEST_ASSERT_EQUAL(2, walk(false).n);
    close_it();
    open_it("type: full }");
    TEST_ASSERT_EQUAL(2, walk(false).n);
    TEST_ASSERT_EQUAL(0, look_up(1).rc);
    free(t);
}

static void test_a_removed_token_is_kept_aside_or_gone(void)
{
    open_it("type: full, allow_delete: true }");
    TEST_ASSERT_EQUAL(0, store(1, 100, 0));
    TEST_ASSERT_EQUAL(0, remove_one(1).rc);
    TEST_ASSERT_TRUE(exists(file_of(1, ".jwt.deleted")) && !exists(file_of(1, ".jwt")));
    TEST_ASSERT_EQUAL(MF_NOTFOUND, look_up(1).rc);
    TEST_ASSERT_EQUAL(0, walk(false).n);
    TEST_ASSERT_EQUAL(0, remove_one(1).rc); /* absent: removed already */
    TEST_ASSERT_EQUAL(0, store(1, 101, 0));
    TEST_ASSERT_TRUE(exists(file_of(1, ".jwt.deleted")) && exists(file_of(1, ".jwt")));
    close_it();
    open_it("type: full, allow_delete: true, hard_delete: true }");
    TEST_ASSERT_EQUAL(0, store(2, 100, 0));
    TEST_ASSERT_EQUAL(0, remove_one(2).rc);
    TEST_ASSERT_TRUE(!exists(file_of(2, ".jwt")) && !exists(file_of(2, ".jwt.deleted")));
}

static void test_only_newer_tokens_replace_when_asked_for(void)
{
    char *old = account_token(1, 100, 0), *same = account_token(1, 200, 5000000000),
         *new = account_token(1, 300, 0);

    open_it("type: full }");
    TEST_ASSERT_EQUAL(0, store(1, 200, 0));
    TEST_ASSERT_EQUAL(0, store_text(1, old, true).rc);
    TEST_ASSERT_EQUAL(0, store_text(1, same, true).rc);
    TEST_ASSERT_TRUE(strcmp(look_up(1).text, old) != 0 && strcmp(look_up(1).text, same) != 0);
    TEST_ASSERT_EQUAL(0, store_text(1, new, true).rc);
    TEST_ASSERT_EQUAL_STRING(new, look_up(1).text);
    TEST_ASSERT_EQUAL(0, store_text(1, old, false).rc); /* an update may go back */
    TEST_ASSERT_EQUAL_STRING(old, look_up(1).text);
    free(old);
    free(same);
    free(new);
}

static void test_the_hash_is_that_of_the_contents_in_any_order(void)
{
    uint8_t a[32], b[32], none[32] = {0};

    open_it("type: full, allow_delete: true }");
    TEST_ASSERT_EQUAL(0, store(1, 100, 0));
    TEST_ASSERT_EQUAL(0, store(2, 100, 0));
    TEST_ASSERT_TRUE(resolver_hash(r, a));
    TEST_ASSERT_EQUAL(0, store(1, 200, 0));
    TEST_ASSERT_TRUE(resolver_hash(r, b));
    TEST_ASSERT_TRUE(memcmp(a, b, 32) != 0);
    TEST_ASSERT_EQUAL(0, store(1, 100, 0));
    close_it();
    open_it("type: full, allow_delete: true }");
    TEST_ASSERT_EQUAL(2, walk(true).n); /* the directory was read */
    TEST_ASSERT_TRUE(resolver_hash(r, b));
    TEST_ASSERT_EQUAL_MEMORY(a, b, 32);
    TEST_ASSERT_EQUAL(0, remove_one(1).rc);
    TEST_ASSERT_EQUAL(0, remove_one(2).rc);
    TEST_ASSERT_TRUE(resolver_hash(r, b));
    TEST_ASSERT_EQUAL_MEMORY(none, b, 32);
}

static void test_a_full_directory_refuses_new_accounts_and_a_cache_forgets_one(void)
{
    open_it("type: full, limit: 2 }");
    TEST_ASSERT_EQUAL(0, store(1, 100, 0));
    TEST_ASSERT_EQUAL(0, store(2, 100, 0));
    char *t = account_token(3, 100, 0);
    struct result out = store_text(3, t, false);
    TEST_ASSERT_EQUAL(MF_LIMIT, out.rc);
    TEST_ASSERT_EQUAL_STRING("jwt store is full", out.why);
    free(t);
    TEST_ASSERT_EQUAL(0, store(1, 200, 0)); /* it is there already */
    close_it();
    open_it("type: cache, limit: 2 }");
    TEST_ASSERT_EQUAL(2, walk(false).n);
    TEST_ASSERT_EQUAL(0, look_up(1).rc); /* now 2 was not used for longer */
    TEST_ASSERT_EQUAL(0, store(3, 100, 0));
    TEST_ASSERT_FALSE(exists(file_of(2, ".jwt")));
    TEST_ASSERT_TRUE(exists(file_of(1, ".jwt")) && exists(file_of(3, ".jwt")));
    TEST_ASSERT_EQUAL(2, walk(false).n);
}

static void test_expired_tokens_are_not_listed_and_are_swept(void)
{
    long now = (long)(clock_wall_ns() / CLOCK_S);

    open_it("type: full }");
    TEST_ASSERT_EQUAL(0, store(1, 100, now - 10));
    TEST_ASSERT_EQUAL(0, store(2, 100, now + 1000));
    TEST_ASSERT_EQUAL(0, store(3, 100, now - 5));
    TEST_ASSERT_EQUAL(1, walk(false).n);
    TEST_ASSERT_EQUAL(1, walk(true).n);
    close_it();
    open_it("type: full }"); /* the first sweep is a second after the start */
    for (int64_t end = clock_mono_ns() + 10 * CLOCK_S; exists(file_of(1, ".jwt"));) {
        TEST_ASSERT_TRUE(clock_mono_ns() < end);
        turn();
    }
    while (exists(file_of(3, ".jwt")))
        turn();
    TEST_ASSERT_TRUE(exists(file_of(2, ".jwt")));
    TEST_ASSERT_FALSE(exists(file_of(1, ".jwt.deleted")));
}

static void ignore_change(struct resolver_change *q, int rc, const char *why)
{
    (void)why;
    TEST_ASSERT_EQUAL(0, rc);
    q->account[0] = '\0';
}

/* Stores that arrive together share their syncs; the index knows them all; a list does not read
 * files. */
static void test_many_accounts_are_stored_in_batches_and_listed_from_memory(void)
{
    enum { N = 300 };
    struct resolver_change *q = calloc(N, sizeof *q);
    struct walked w;

    open_it("type: full }");
    for (uint32_t i = 0; i < N; i++) {
        struct token_key k = token_key(NKEY_ACCOUNT, i);
        char *t = account_token(i, 100, 0);
        q[i].done = ignore_change;
        memcpy(q[i].account, k.text, sizeof q[i].account);
        resolver_store(r, &q[i], mf_str(t), false);
        free(t);
    }
    for (bool all = false; !all; turn()) {
        all = true;
        for (uint32_t i = 0; i < N && all; i++)
            all = q[i].account[0] == '\0';
    }
    free(q);
    TEST_ASSERT_EQUAL(N, walk(false).n);
    w = walk(true);
    TEST_ASSERT_EQUAL(N, w.n);
    TEST_ASSERT_GREATER_THAN(N * 100, w.bytes);
    TEST_ASSERT_EQUAL(0, unlink(file_of(5, ".jwt")));
    TEST_ASSERT_EQUAL(N, walk(false).n); /* from memory */
    TEST_ASSERT_EQUAL(N - 1, walk(true).n);
}

static void test_requests_can_be_cancelled_and_closing_waits_for_the_workers(void)
{
    struct asked a = {.q.done = looked};
    struct walked w = {.q = {.done = walk_done, .jwt = walk_jwt}};
    struct token_key k = token_key(NKEY_ACCOUNT, 1);

    open_it("type: full }");
    TEST_ASSERT_EQUAL(0, store(1, 100, 0));
    memcpy(a.q.account, k.text, sizeof a.q.account);
    resolver_lookup(r, &a.q);
    resolver_cancel(&a.q);
    resolver_walk(r, &w.q);
    turn();
    resolver_walk_cancel(&w.q);
    resolver_lookup(r, &a.q);
    resolver_cancel(&a.q);
    close_it();
    TEST_ASSERT_FALSE(a.out.done || w.done);
}

static bool nobody(void *arg, uint64_t id, const char *account)
{
    (void)account;
    *(uint64_t *)arg = id;
    return true;
}
static void forget(void *arg, uint64_t id)
{
    TEST_ASSERT_EQUAL(*(uint64_t *)arg, id);
    *(uint64_t *)arg = 0;
}

static void open_asking(const char *resolver, struct resolver_asking *asking)
{
    struct mf_error e = {0};
    bool done = false;

    open_it(resolver);
    if (!resolver_close(r, closed, &done))
        while (!done)
            turn();
    struct resolver_setup s = {.loop = loop, .options = o, .asking = asking};
    TEST_ASSERT_EQUAL_MESSAGE(0, resolver_open(&r, &s, &e), e.text);
}

/* Another server has an older token; meanwhile a newer one is stored here. */
static void test_a_late_answer_does_not_replace_a_newer_token(void)
{
    uint64_t id = 0;
    struct resolver_asking asking = {&id, nobody, forget};
    char *old = account_token(1, 100, 0), *new = account_token(1, 200, 0);
    struct asked a = {.q.done = looked};
    struct token_key k = token_key(NKEY_ACCOUNT, 1);

    open_asking("type: full, timeout: \"60s\" }", &asking);
    for (int newest = 0; newest < 2; newest++) {
        a = (struct asked){.q.done = looked};
        id = 0;
        memcpy(a.q.account, k.text, sizeof a.q.account);
        resolver_lookup(r, &a.q);
        while (id == 0)
            turn();
        TEST_ASSERT_EQUAL(0, store(1, newest ? 100 : 200, 0));
        resolver_found(r, id, mf_str(newest ? new : old));
        while (!a.out.done)
            turn();
        TEST_ASSERT_EQUAL_STRING(new, a.out.text);
        TEST_ASSERT_EQUAL(0, store(2, 100, 0)); /* after what the answer stored */
        TEST_ASSERT_EQUAL_STRING(new, look_up(1).text);
        (void)remove_one(1);
    }
    memcpy(a.q.account, k.text, sizeof a.q.account);
    id = 0;
    resolver_lookup(r, &a.q);
    while (id == 0)
        turn();
    resolver_found(r, id, mf_str(old));
    resolver_cancel(&a.q); /* while the file is read */
    free(old);
    free(new);
}

static void test_an_unknown_account_is_asked_of_others_and_kept(void)
{
    uint64_t id = 0;
    struct resolver_asking asking = {&id, nobody, forget};
    char *t = account_token(1, 100, 0);
    struct asked a = {.q.done = looked};
    struct token_key k = token_key(NKEY_ACCOUNT, 1);

    open_asking("type: full, timeout: \"50ms\" }", &asking);
    struct result out = look_up(1);
    TEST_ASSERT_EQUAL(MF_TIMEOUT, out.rc);
    TEST_ASSERT_EQUAL_STRING("fetching jwt timed out", out.why);
    TEST_ASSERT_EQUAL(0, id);
    memcpy(a.q.account, k.text, sizeof a.q.account);
    resolver_lookup(r, &a.q);
    while (id == 0)
        turn();
    resolver_found(r, id, mf_str(t));
    while (!a.out.done)
        turn();
    TEST_ASSERT_EQUAL_STRING(t, a.out.text);
    while (!exists(file_of(1, ".jwt")))
        turn();
    a = (struct asked){.q = {.done = looked, .local = true}};
    k = token_key(NKEY_ACCOUNT, 2);
    memcpy(a.q.account, k.text, sizeof a.q.account);
    id = 0;
    resolver_lookup(r, &a.q);
    while (!a.out.done)
        turn();
    TEST_ASSERT_EQUAL(MF_NOTFOUND, a.out.rc);
    TEST_ASSERT_EQUAL(0, id);
    free(t);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_stored_token_is_a_private_file_with_the_bare_token);
    RUN_TEST(test_a_restart_keeps_all_and_finds_files_that_were_put_there);
    RUN_TEST(test_a_removed_token_is_kept_aside_or_gone);
    RUN_TEST(test_only_newer_tokens_replace_when_asked_for);
    RUN_TEST(test_the_hash_is_that_of_the_contents_in_any_order);
    RUN_TEST(test_a_full_directory_refuses_new_accounts_and_a_cache_forgets_one);
    RUN_TEST(test_expired_tokens_are_not_listed_and_are_swept);
    RUN_TEST(test_many_accounts_are_stored_in_batches_and_listed_from_memory);
    RUN_TEST(test_requests_can_be_cancelled_and_closing_waits_for_the_workers);
    RUN_TEST(test_an_unknown_account_is_asked_of_others_and_kept);
    RUN_TEST(test_a_late_answer_does_not_replace_a_newer_token);
    return UNITY_END();
}
