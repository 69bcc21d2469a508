/* test_api_slices.c: requests that read much run in slices: other accounts are served in between,
 * the answers are those of a request that runs in one go, and the work grows with what is touched.
 * work_set_steps() makes the slices repeatable. */
#include "support/api_tenants.h"

/* {"multi_last":["S.*.<from>",...]} or with other words. */
static char *filters(const char *fmt, unsigned from, unsigned n)
{
    struct mf_buf b = MF_BUF_INIT;
    char *text;

    mf_buf_puts(&b, "{\"multi_last\":[");
    for (unsigned i = 0; i < n; i++) {
        char one[64];
        (void)snprintf(one, sizeof one, fmt, from + i);
        mf_buf_printf(&b, "%s\"%s\"", i == 0 ? "" : ",", one);
    }
    mf_buf_puts(&b, "]}");
    text = mf_slice_dup(mf_buf_slice(&b));
    mf_buf_fini(&b);
    return text;
}

/* --- others are served in between ------------------------------------------------------------- */

static void test_another_account_is_served_while_a_long_request_runs(void)
{
    struct inbox *a, *b, *behind;

    start("");
    create("A", "S", "");
    create("B", "T", "");
    fill("A", "S", 3000, 10, 1);
    work_set_steps(loop, 2);
    a = send_as("A", "$JS.API.STREAM.INFO.S", "{\"subjects_filter\":\">\"}");
    behind = send_as("A", "$JS.API.STREAM.INFO.S", "");
    b = send_as("B", "$JS.API.STREAM.NAMES", "");
    TEST_ASSERT_LESS_THAN_UINT(5, wait_for(b));
    has(mf_buf_cstr(&b->text), "\"streams\":[\"T\"]");
    TEST_ASSERT_EQUAL_UINT(0, a->count);
    TEST_ASSERT_EQUAL_UINT(0, behind->count); /* requests of one account stay in their order */
    wait_for(behind);
    TEST_ASSERT_EQUAL_UINT(1, a->count);
    has(mf_buf_cstr(&a->text), "\"total\":3000,\"offset\":0,\"limit\":100000,");
}

static void test_direct_gets_of_another_account_are_served_while_a_batch_runs(void)
{
    struct inbox *a, *b, *c;
    char *body = filters("S.*.x%u", 0, 400);

    start("");
    create("A", "S", "");
    create("B", "T", "");
    fill("A", "S", 3000, 3000, 1);
    fill("B", "T", 10, 10, 1);
    work_set_steps(loop, 2);
    a = send_as("A", "$JS.API.DIRECT.GET.S", body);
    c = send_as("A", "$JS.API.DIRECT.GET.S", "{\"batch\":3000,\"seq\":1}");
    b = send_as("B", "$JS.API.DIRECT.GET.T", "{\"batch\":5,\"seq\":1}");
    TEST_ASSERT_LESS_THAN_UINT(10, wait_for(b));
    TEST_ASSERT_EQUAL_UINT(6, b->count);
    TEST_ASSERT_EQUAL_UINT(0, a->count);
    TEST_ASSERT_LESS_THAN_UINT(3001, c->count);
    wait_for(a);
    has(mf_buf_cstr(&a->text), "404 No Results");
    wait_for(c);
    TEST_ASSERT_EQUAL_UINT(3001, c->count);
    free(body);
}

/* --- the work grows with what is touched ------------------------------------------------------ */

static unsigned turns_of_page(const char *name)
{
    char subject[64];

    (void)snprintf(subject, sizeof subject, "$JS.API.STREAM.INFO.%s", name);
    return wait_for(send_as("A", subject, "{\"subjects_filter\":\">\"}"));
}

static unsigned turns_of_multi(const char *name, unsigned n)
{
    char subject[64], fmt[32], *body;
    unsigned turns;

    (void)snprintf(subject, sizeof subject, "$JS.API.DIRECT.GET.%s", name);
    (void)snprintf(fmt, sizeof fmt, "%s.*.y%%u", name);
    body = filters(fmt, 0, n);
    turns = wait_for(send_as("A", subject, body));
    free(body);
    return turns;
}

static void test_the_work_of_filters_and_subjects_is_their_sum(void)
{
    unsigned small, large;

    start("");
    create("A", "S", "");
    create("A", "L", "");
    fill("A", "S", 1000, 1000, 1);
    fill("A", "L", 8000, 8000, 1);
    work_set_steps(loop, 4);
    small = turns_of_multi("S", 1000);
    large = turns_of_multi("L", 8000);
    TEST_ASSERT_GREATER_THAN_UINT(4 * small, large);
    TEST_ASSERT_LESS_THAN_UINT(16 * small, large); /* one times the other would be 64 */
    small = turns_of_page("S");
    large = turns_of_page("L");
    TEST_ASSERT_GREATER_THAN_UINT(4 * small, large);
    TEST_ASSERT_LESS_THAN_UINT(24 * small, large);
}

/* Literals cost a look-up each, whatever the stream holds. */
static void test_literal_filters_do_not_walk_the_subjects(void)
{
    unsigned small, large;
    char *body = filters("S.%u.none", 0, 500), *other = filters("L.%u.none", 0, 500);

    start("");
    create("A", "S", "");
    create("A", "L", "");
    fill("A", "S", 100, 100, 1);
    fill("A", "L", 8000, 8000, 1);
    work_set_steps(loop, 4);
    small = wait_for(send_as("A", "$JS.API.DIRECT.GET.S", body));
    large = wait_for(send_as("A", "$JS.API.DIRECT.GET.L", other));
    TEST_ASSERT_UINT_WITHIN(5, small, large);
    free(body);
    free(other);
}

/* --- the same answers ------------------------------------------------------------------------- */

/* Without what tells the time of the answer. */
static char *timeless(const char *text)
{
    char *copy = mf_slice_dup(mf_str(text)), *at;

    TEST_ASSERT_NOT_NULL(copy);
    while ((at = strstr(copy, "\"ts\":\"")) != NULL) {
        char *end = strchr(at + 6, '"');
        memmove(at, end + 1, strlen(end + 1) + 1);
    }
    return copy;
}

static void same_in_slices(const char *subject, const char *body)
{
    char *whole;

    work_set_steps(loop, 0);
    whole = timeless(ask("A", subject, body));
    for (unsigned steps = 1; steps < 20; steps += 6) {
        char *sliced;
        work_set_steps(loop, steps);
        sliced = timeless(ask("A", subject, body));
        TEST_ASSERT_EQUAL_STRING_MESSAGE(whole, sliced, subject);
        free(sliced);
    }
    free(whole);
    work_set_steps(loop, 0);
}

static void make_consumers(unsigned n)
{
    char subject[64], body[128];

    for (unsigned i = 0; i < n; i++) {
        (void)snprintf(subject, sizeof subject, "$JS.API.CONSUMER.CREATE.S.C%u", i);
        (void)snprintf(body, sizeof body,
                       "{\"stream_name\":\"S\",\"config\":{\"name\":\"C%u\","
                       "\"durable_name\":\"C%u\",\"ack_policy\":\"explicit\"}}",
                       i, i);
        has(ask("A", subject, body), "\"created\":");
    }
}

static void test_answers_in_slices_are_the_same(void)
{
    start("");
    create("A", "S", ",\"max_msgs_per_subject\":2");
    create("A", "R", "");
    create("A", "Q", "");
    fill("A", "S", 1200, 7, 11); /* some are pushed out */
    make_consumers(9);
    same_in_slices("$JS.API.STREAM.INFO.S", "{\"subjects_filter\":\"S.*.3*\"}");
    same_in_slices("$JS.API.STREAM.INFO.S", "{\"subjects_filter\":\">\",\"deleted_details\":true}");
    same_in_slices("$JS.API.STREAM.INFO.S", "{\"subjects_filter\":\">\",\"offset\":700}");
    same_in_slices("$JS.API.STREAM.INFO.S", "{\"deleted_details\":true}");
    same_in_slices("$JS.API.STREAM.NAMES", "{\"offset\":1}");
    same_in_slices("$JS.API.STREAM.NAMES", "{\"subject\":\"R.x\"}");
    same_in_slices("$JS.API.STREAM.LIST", "{\"offset\":9}");
    same_in_slices("$JS.API.STREAM.LIST", "");
    same_in_slices("$JS.API.CONSUMER.NAMES.S", "{\"offset\":2}");
    same_in_slices("$JS.API.CONSUMER.LIST.S", "{\"offset\":11}");
}

static void test_messages_found_in_slices_are_the_same(void)
{
    char *many = filters("S.%u.*", 0, 7);

    start("");
    create("A", "S", "");
    fill("A", "S", 900, 7, 11);
    same_in_slices("$JS.API.STREAM.MSG.GET.S", "{\"last_by_subj\":\"S.*.5\"}");
    same_in_slices("$JS.API.STREAM.MSG.GET.S", "{\"next_by_subj\":\"S.*.50\",\"seq\":3}");
    same_in_slices("$JS.API.STREAM.MSG.GET.S", "{\"next_by_subj\":\"S.*.500\",\"seq\":3}");
    same_in_slices("$JS.API.DIRECT.GET.S", "{\"last_by_subj\":\"S.*.5\"}");
    same_in_slices("$JS.API.DIRECT.GET.S", "{\"next_by_subj\":\"S.*.50\",\"seq\":3}");
    same_in_slices("$JS.API.DIRECT.GET.S.S.*.77", "");
    same_in_slices("$JS.API.DIRECT.GET.S", "{\"batch\":500,\"seq\":7,\"next_by_subj\":\"S.3.>\"}");
    same_in_slices("$JS.API.DIRECT.GET.S", "{\"batch\":500,\"seq\":7,\"next_by_subj\":\"S.3.7\"}");
    same_in_slices("$JS.API.DIRECT.GET.S", "{\"batch\":700,\"seq\":100}");
    same_in_slices("$JS.API.DIRECT.GET.S", "{\"multi_last\":[\"S.*.4\",\"S.1.4\",\"S.1.*\"]}");
    same_in_slices("$JS.API.DIRECT.GET.S", "{\"multi_last\":[\"S.>\"],\"up_to_seq\":450}");
    same_in_slices("$JS.API.DIRECT.GET.S", many);
    free(many);
}

/* A search among many subjects goes on with the trie: the same subjects are found. */
static void test_many_wildcards_find_what_each_of_them_finds(void)
{
    char *body = filters("S.*.%u", 100, 60);
    struct inbox *b;

    start("");
    create("A", "S", "");
    fill("A", "S", 2000, 2000, 1);
    work_set_steps(loop, 3);
    b = send_as("A", "$JS.API.DIRECT.GET.S", body);
    wait_for(b);
    TEST_ASSERT_EQUAL_UINT(61, b->count);
    for (unsigned i = 100; i < 160; i++) {
        char want[48];
        (void)snprintf(want, sizeof want, "Nats-Subject: S.%u.%u\r", i, i);
        has(mf_buf_cstr(&b->text), want);
    }
    free(body);
}

static void test_too_many_subjects_are_refused(void)
{
    start("");
    create("A", "S", "");
    fill("A", "S", 1025, 1025, 1);
    for (unsigned steps = 0; steps < 4; steps += 3) {
        work_set_steps(loop, steps);
        has(ask("A", "$JS.API.DIRECT.GET.S", "{\"multi_last\":[\"S.>\"]}"), "413 Too Many Results");
    }
    work_set_steps(loop, 0);
    has(ask("A", "$JS.API.STREAM.PURGE.S", "{\"filter\":\"S.0.0\"}"), "\"purged\":1");
    has(ask("A", "$JS.API.DIRECT.GET.S", "{\"multi_last\":[\"S.>\",\"S.*.*\"]}"), "204 EOB");
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_another_account_is_served_while_a_long_request_runs);
    RUN_TEST(test_direct_gets_of_another_account_are_served_while_a_batch_runs);
    RUN_TEST(test_the_work_of_filters_and_subjects_is_their_sum);
    RUN_TEST(test_literal_filters_do_not_walk_the_subjects);
    RUN_TEST(test_answers_in_slices_are_the_same);
    RUN_TEST(test_messages_found_in_slices_are_the_same);
    RUN_TEST(test_many_wildcards_find_what_each_of_them_finds);
    RUN_TEST(test_too_many_subjects_are_refused);
    return UNITY_END();
}
