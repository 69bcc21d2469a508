/* test_api_ttl.c: requests of the TTL API that go over many streams, subjects or messages run in
 * slices, and their work grows with what they look at.  work_set_steps() makes slices repeatable.
 * Counts of more than 100,000 deadlines tell how exact they are. */
#include "support/api_tenants.h"

#include "base/clock.h"
#include "jetstream/jetstream_impl.h"

#define DAY ",\"metadata\":{\"mayfly.ttl.default\":\"10h\"}"

static void create_many(const char *account, const char *prefix, unsigned n)
{
    char name[16];

    for (unsigned i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "%s%u", prefix, i);
        create(account, name, DAY);
        fill(account, name, 2, 2, 1);
        if (i % 100 == 99) /* inboxes are few */
            forget_inboxes();
    }
}

static void lacks(const char *text, const char *part)
{
    TEST_ASSERT_NULL_MESSAGE(strstr(text, "\"error\""), text);
    TEST_ASSERT_NULL_MESSAGE(strstr(text, part), part);
}

static unsigned turns_of(const char *account, const char *subject, const char *body)
{
    return wait_for(send_as(account, subject, body));
}

/* --- an account ------------------------------------------------------------------------------- */

static void test_the_sum_of_an_account_takes_turns_by_its_streams(void)
{
    struct inbox *a, *b;

    start("");
    create_many("A", "S", 800);
    create_many("B", "S", 100);
    work_set_steps(loop, 2);
    unsigned small = turns_of("B", "$MAYFLY.TTL.STATS", "");
    unsigned large = turns_of("A", "$MAYFLY.TTL.STATS", "");
    TEST_ASSERT_GREATER_THAN_UINT(5 * small, large);
    TEST_ASSERT_LESS_THAN_UINT(11 * small, large);
    a = send_as("A", "$MAYFLY.TTL.STATS", "");
    b = send_as("B", "$JS.API.STREAM.NAMES", "");
    TEST_ASSERT_LESS_THAN_UINT(300, wait_for(b)); /* its own slices; the other's are 1,600 */
    TEST_ASSERT_EQUAL_UINT(0, a->count);
    wait_for(a);
    has(mf_buf_cstr(&a->text), "\"namespace\":\"A\",\"items_with_ttl\":1600,");
    has(mf_buf_cstr(&a->text), "\"expiring_next_day\":1600,");
    has(mf_buf_cstr(&a->text), "\"streams\":800}");
}

/* The stream that is being counted is deleted, and those before and behind it. */
static void test_streams_deleted_during_the_sum_are_left_out(void)
{
    char subject[64];

    start("");
    create_many("A", "S", 50);
    for (unsigned early = 0; early < 40; early++) {
        work_set_steps(loop, 1);
        struct inbox *a = send_as("A", "$MAYFLY.TTL.STATS", "");
        for (unsigned i = 0; i < early; i++)
            loop_turn(loop);
        (void)snprintf(subject, sizeof subject, "$JS.API.STREAM.DELETE.S%u", early);
        struct inbox *gone = listen_on("A", "gone");
        struct account *account = accounts_get(accounts, "A");
        struct mf_msg m = {.subject = mf_str(subject), .reply = MF_LIT("gone")};
        struct router_msg request = {.route = m.subject, .msg = &m, .origin = account};
        (void)account_publish(account, &request); /* a client's: it does not wait behind the sum */
        wait_for(a);
        has(mf_buf_cstr(&a->text), "\"streams\":");
        wait_for(gone);
        work_set_steps(loop, 0);
        forget_inboxes();
    }
    has(ask("A", "$MAYFLY.TTL.STATS", ""), "\"streams\":10}");
}

/* Neither is it begun, nor does it go on when the one who asked has left. */
static void test_a_sum_that_nobody_waits_for_takes_no_turns(void)
{
    start("");
    create_many("A", "S", 100);
    fill("A", "S0", 2000, 2000, 1);
    work_set_steps(loop, 1);
    unsigned alone = turns_of("A", "$JS.API.STREAM.NAMES", "");
    send_to("A", "$MAYFLY.TTL.STATS", "", "");
    send_to("A", "$MAYFLY.TTL.STATS", "_INBOX.nobody", "");
    TEST_ASSERT_UINT_WITHIN(4, alone, turns_of("A", "$JS.API.STREAM.NAMES", ""));
    unsigned sum = turns_of("A", "$MAYFLY.TTL.STATS", "");
    TEST_ASSERT_GREATER_THAN_UINT(50, sum);
    struct inbox *a = send_as("A", "$MAYFLY.TTL.STATS", "");
    loop_turn(loop);
    router_unsubscribe(account_router(a->account), &a->sub);
    TEST_ASSERT_UINT_WITHIN(6, alone, turns_of("A", "$JS.API.STREAM.NAMES", ""));
    struct inbox *b = send_as("A", "$MAYFLY.TTL.STATS.S0", "{\"depth\":3}");
    loop_turn(loop);
    TEST_ASSERT_EQUAL_UINT(0, b->count);
    router_unsubscribe(account_router(b->account), &b->sub);
    TEST_ASSERT_UINT_WITHIN(6, alone, turns_of("A", "$JS.API.STREAM.NAMES", ""));
    struct inbox *x = send_as("A", "$MAYFLY.TTL.POLICY.S0", "{\"what_if\":{}}");
    loop_turn(loop);
    TEST_ASSERT_EQUAL_UINT(0, x->count);
    router_unsubscribe(account_router(x->account), &x->sub);
    TEST_ASSERT_UINT_WITHIN(6, alone, turns_of("A", "$JS.API.STREAM.NAMES", ""));
    TEST_ASSERT_EQUAL_UINT(0, a->count + b->count + x->count);
}

/* --- subjects and messages -------------------------------------------------------------------- */

static void test_groups_filters_and_trials_take_turns_by_what_they_look_at(void)
{
    static const struct {
        const char *op, *body;
    } walks[] = {{"STATS", "{\"depth\":2}"},
                 {"STATS", "{\"filter\":\"%s.>\"}"},
                 {"FORECAST", "{\"filter\":\"%s.>\"}"},
                 {"POLICY", "{\"what_if\":{\"mayfly.ttl.default\":\"5h\"}}"}};
    char subject[64], body[64];

    start("");
    create("A", "S", DAY);
    create("A", "L", DAY);
    fill("A", "S", 1000, 1000, 1);
    fill("A", "L", 8000, 8000, 1);
    work_set_steps(loop, 1);
    for (size_t i = 0; i < MF_COUNT(walks); i++) {
        unsigned turns[2];
        for (int large = 0; large < 2; large++) {
            const char *name = large ? "L" : "S";
            (void)snprintf(subject, sizeof subject, "$MAYFLY.TTL.%s.%s", walks[i].op, name);
            /* NOLINTNEXTLINE: the formats are those above */
            (void)snprintf(body, sizeof body, walks[i].body, name);
            turns[large] = turns_of("A", subject, body);
        }
        TEST_ASSERT_GREATER_THAN_UINT_MESSAGE(4 * turns[0], turns[1], walks[i].body);
        TEST_ASSERT_LESS_THAN_UINT_MESSAGE(16 * turns[0], turns[1], walks[i].body);
    }
}

/* Without what tells the time of the answer: times, and ages in whole seconds. */
static void cut_times(char *text)
{
    char *at;

    while ((at = strstr(text, "\"age_p")) != NULL) {
        char *end = at + strcspn(at, ",}");
        memmove(at, end, strlen(end) + 1);
    }
    while ((at = strstr(text, ":\"20")) != NULL) {
        char *end = strchr(at + 2, '"');
        memmove(at, end + 1, strlen(end + 1) + 1);
    }
}

static void same_in_slices(const char *subject, const char *body)
{
    char *whole, *sliced;

    work_set_steps(loop, 0);
    whole = mf_slice_dup(mf_str(ask("A", subject, body)));
    TEST_ASSERT_NULL(strstr(whole, "\"error\""));
    cut_times(whole);
    for (unsigned steps = 1; steps < 20; steps += 6) {
        work_set_steps(loop, steps);
        sliced = mf_slice_dup(mf_str(ask("A", subject, body)));
        cut_times(sliced);
        TEST_ASSERT_EQUAL_STRING_MESSAGE(whole, sliced, body);
        free(sliced);
    }
    free(whole);
}

static void test_answers_in_slices_are_the_same(void)
{
    start("");
    create("A", "S", DAY ",\"max_msgs_per_subject\":3");
    create("A", "T", "");
    fill("A", "S", 2000, 70, 3);
    fill("A", "T", 100, 7, 3);
    same_in_slices("$MAYFLY.TTL.STATS", "");
    same_in_slices("$MAYFLY.TTL.STATS.S", "{\"depth\":2}");
    same_in_slices("$MAYFLY.TTL.STATS.S", "{\"depth\":8,\"filter\":\"S.1.*\"}");
    same_in_slices("$MAYFLY.TTL.STATS.T", "{\"filter\":\"T.*.5\"}");
}

/* --- changes of many -------------------------------------------------------------------------- */

/* A client's request: it does not wait behind what others asked for. */
static struct inbox *send_as_client(const char *subject, const char *reply, const char *body)
{
    struct inbox *b = listen_on("A", reply);
    struct account *account = accounts_get(accounts, "A");
    struct mf_msg m = {.subject = mf_str(subject), .reply = mf_str(reply), .payload = mf_str(body)};

    (void)account_publish(account,
                          &(struct router_msg){.route = m.subject, .msg = &m, .origin = account});
    return b;
}

/* Looked at by the page before it was persisted: what was acknowledged meanwhile holds. */
static void test_a_page_takes_back_nothing_that_came_meanwhile(void)
{
    static const char *const pages[] = {"TOUCH.S", "{\"filter\":\"S.>\"}", "SET.S",
                                        "{\"filter\":\"S.>\",\"ttl\":\"1h\",\"if\":\"set\"}"};
    char subject[64];

    start("");
    create("A", "S", DAY);
    fill("A", "S", 40, 40, 40);
    for (unsigned i = 0; i < 4; i += 2) {
        work_set_steps(loop, 2);
        (void)snprintf(subject, sizeof subject, "$MAYFLY.TTL.%s", pages[i]);
        struct inbox *page = send_as("A", subject, pages[i + 1]);
        for (int turns = 0; turns < 5; turns++)
            loop_turn(loop);
        TEST_ASSERT_EQUAL_UINT(0, page->count);
        (void)snprintf(subject, sizeof subject, "$MAYFLY.TTL.PERSIST.S.S.%u.0", i);
        struct inbox *persist = send_as_client(subject, "persist", "");
        wait_for(persist);
        TEST_ASSERT_EQUAL_UINT(0, page->count);
        wait_for(page);
        has(mf_buf_cstr(&page->text), i == 0 ? "\"count\":39,\"skipped\":1" : "\"count\":38,");
        work_set_steps(loop, 0);
        (void)snprintf(subject, sizeof subject, "$MAYFLY.TTL.GET.S.S.%u.0", i);
        has(ask("A", subject, ""), "\"state\":\"infinite\"");
        forget_inboxes();
    }
}

/* --- more deadlines than are counted one by one ----------------------------------------------- */

/* An hour after a multiple of 2^52 ns: the timer wheel counts parts of 4 s from 4 hours to 52
 * days ahead, whatever the date of the test. */
static int64_t set_clock(void)
{
    int64_t border_ns = ((jetstream_now_ns(api->js) >> 52) + 1) << 52;

    steady_raise(&jetstream_impl(api->js)->clock, border_ns + 3600 * CLOCK_S);
    return border_ns + 3600 * CLOCK_S;
}

static void put_with_ttl(const char *subject, int64_t ttl_ns)
{
    struct account *a = accounts_get(accounts, "A");
    char hdr[64];
    struct mf_msg m = {.subject = mf_str(subject), .payload = MF_LIT("x")};

    (void)snprintf(hdr, sizeof hdr, "NATS/1.0\r\nNats-TTL: %lldms\r\n\r\n",
                   (long long)(ttl_ns / CLOCK_MS));
    m.hdr = mf_str(hdr);
    (void)account_publish(a, &(struct router_msg){.route = m.subject, .msg = &m});
}

/* n deadlines in the second of the clock that begins at second_ns. */
static void fill_second(int64_t second_ns, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        put_with_ttl("L.a", second_ns + 100 * CLOCK_MS - jetstream_now_ns(api->js));
    settle();
}

/* n deadlines, evenly from `from_s` to `to_s` ahead. */
static void fill_evenly(int64_t from_s, int64_t to_s, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        put_with_ttl("L.a", from_s * CLOCK_S + (to_s - from_s) * CLOCK_S / n * i);
        if (i % 1000 == 999)
            settle();
    }
}

static void test_counts_of_many_deadlines_tell_their_resolution(void)
{
    static const char blurred[] = ",\"counts_approximate\":true,\"resolution_ms\":4000,";
    char at[CLOCK_TEXT], peak[160];

    start("");
    int64_t now_ns = set_clock(), hour_ns = 3600 * CLOCK_S;
    create("A", "L", ",\"allow_msg_ttl\":true");
    fill_evenly(5 * 3600, 14 * 3600, 70000);
    has(ask("A", "$MAYFLY.TTL.STATS.L", ""), "\"items_with_ttl\":70000,");
    lacks(ask("A", "$MAYFLY.TTL.STATS.L", ""), "counts_approximate");
    lacks(ask("A", "$MAYFLY.TTL.FORECAST.L", ""), "resolution_ms");
    fill_evenly(16 * 3600, 26 * 3600, 73000);
    /* A part of 4 s that is fuller than the one with the peak, but not in any of its seconds. */
    int64_t part_ns = (now_ns + 15 * hour_ns) / (4 * CLOCK_S) * (4 * CLOCK_S);
    for (int64_t i = 0; i < 4; i++)
        fill_second(part_ns + i * CLOCK_S, 1000);
    int64_t peak_ns = part_ns + hour_ns / 2 + 2 * CLOCK_S;
    fill_second(peak_ns, 3000);
    has(ask("A", "$MAYFLY.TTL.STATS.L", ""), "\"items_with_ttl\":150000,");
    has(ask("A", "$MAYFLY.TTL.STATS.L", ""), blurred);
    has(ask("A", "$MAYFLY.TTL.FORECAST.L", ""), blurred);
    (void)snprintf(peak, sizeof peak, "\"peak\":{\"at\":\"%s\",\"msgs\":3000,\"per_second\":3000}",
                   clock_rfc3339(at, peak_ns));
    has(ask("A", "$MAYFLY.TTL.FORECAST.L", ""), peak);
    has(ask("A", "$MAYFLY.TTL.FORECAST.L", "{\"filter\":\"L.>\"}"), peak);
    lacks(ask("A", "$MAYFLY.TTL.FORECAST.L", "{\"filter\":\"L.>\"}"), "counts_approximate");
}

static void test_steps_of_the_clock_are_shown_in_both_stats(void)
{
    start("");
    create("A", "S", "");
    has(ask("A", "$MAYFLY.TTL.STATS.S", ""), ",\"clock\":{\"steps\":0}}");
    jetstream_impl(api->js)->steps = (struct clock_steps){
        .count = 2, .last_ns = -3600 * CLOCK_S, .at_ns = 1790000000 * CLOCK_S, .looked = true};
    has(ask("A", "$MAYFLY.TTL.STATS.S", ""), ",\"clock\":{\"steps\":2,\"last_step\":\"-1h0m0s\","
                                             "\"last_step_at\":\"2026-09-21T14:13:20Z\"}}");
    has(ask("A", "$MAYFLY.TTL.STATS", ""), ",\"clock\":{\"steps\":2,");
    lacks(ask("A", "$MAYFLY.TTL.STATS.S", "{\"filter\":\"S.>\"}"), "\"clock\"");
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_steps_of_the_clock_are_shown_in_both_stats);
    RUN_TEST(test_the_sum_of_an_account_takes_turns_by_its_streams);
    RUN_TEST(test_streams_deleted_during_the_sum_are_left_out);
    RUN_TEST(test_a_sum_that_nobody_waits_for_takes_no_turns);
    RUN_TEST(test_groups_filters_and_trials_take_turns_by_what_they_look_at);
    RUN_TEST(test_answers_in_slices_are_the_same);
    RUN_TEST(test_a_page_takes_back_nothing_that_came_meanwhile);
    RUN_TEST(test_counts_of_many_deadlines_tell_their_resolution);
    return UNITY_END();
}
