/* test_follower.c: a stream that follows a made-up upstream: what it asks, takes, answers, and
 * where it goes on after whatever went wrong. */
#include "support/upstream_world.h"

static struct stream_source upstream_o = {.name = (char *)"O"};
static struct stream_source *list[] = {&upstream_o};
static char *subjects[] = {(char *)"own.>"};
static const struct stream_config mirror = {.name = (char *)"S", .mirror = &upstream_o};
static const struct stream_config sourcing = {
    .name = (char *)"S", .subjects = {subjects, 1}, .sources = {list, 1}};
static const char *const three[] = {"one", "two", "three"};

static void assert_starts_at(const char *seq)
{
    char got[32];

    value_of(upstream.body, "\"opt_start_seq\":", got, sizeof got);
    TEST_ASSERT_EQUAL_STRING(seq, got);
}

struct seen {
    unsigned n;
    struct source_info info;
    struct js_error error;
};

static void see(void *arg, const struct source_info *i)
{
    struct seen *s = arg;

    s->n++;
    s->info = *i;
    if (i->error != NULL)
        s->error = *i->error;
}

static struct seen look(void)
{
    struct seen s = {0};

    sources_each(all, see, &s);
    TEST_ASSERT_EQUAL_UINT(1, s.n);
    return s;
}

/* --- mirrors ---------------------------------------------------------------------------------- */

static void test_a_mirror_has_the_sequences_and_times_of_its_origin(void)
{
    struct stream_msg m;

    upstream_holds(three, 3);
    upstream.sent[2] = NULL; /* it was deleted there */
    world_open(&w, &mirror);
    follow();
    TEST_ASSERT_EQUAL_INT64(-1, look().info.active_ns);
    run_until(3, 0);
    TEST_ASSERT_EQUAL_STRING("$JS.API.CONSUMER.CREATE.O", upstream.subject);
    TEST_ASSERT_NOT_NULL(strstr(upstream.hdr, "Nats-Required-Api-Level: 4\r\n"));
    TEST_ASSERT_EQUAL_STRING("k.1||one", world_message(&w, 1));
    TEST_ASSERT_EQUAL_STRING("", world_message(&w, 2));
    TEST_ASSERT_EQUAL_STRING("k.3||three", world_message(&w, 3));
    TEST_ASSERT_EQUAL_INT(0, stream_get(w.stream, 3, &m));
    TEST_ASSERT_EQUAL_INT64(3000, m.ts_ns);
    stream_msg_end(&m);
    TEST_ASSERT_TRUE(look().info.active_ns >= 0);
    TEST_ASSERT_EQUAL_UINT64(0, look().info.lag);
    TEST_ASSERT_EQUAL_UINT(1, caught);
    TEST_ASSERT_TRUE(sources_caught_up(all));
}

static void test_a_mirror_begins_where_its_origin_does(void)
{
    struct stream_state st;

    upstream_o.opt_start_seq = 3;
    upstream_holds(three, 3);
    world_open(&w, &mirror);
    follow();
    run_until(3, 0);
    upstream_o.opt_start_seq = 0;
    stream_state(w.stream, &st);
    TEST_ASSERT_EQUAL_UINT64(3, st.first_seq);
    TEST_ASSERT_EQUAL_UINT64(0, st.deleted);
}

static void test_a_mirror_is_as_far_as_its_origin_though_it_got_nothing(void)
{
    struct stream_state st;

    upstream_o.opt_start_seq = 3;
    upstream.last = 2;
    world_open(&w, &mirror);
    follow();
    run_until(2, 0);
    upstream_o.opt_start_seq = 0;
    stream_state(w.stream, &st);
    TEST_ASSERT_EQUAL_UINT64(3, st.first_seq);
    TEST_ASSERT_EQUAL_UINT64(2, st.last_seq);
}

static void test_what_is_missing_is_asked_for_again(void)
{
    upstream_holds(three, 3);
    world_open(&w, &mirror);
    follow();
    while (upstream.to[0] == '\0')
        loop_turn(w.loop);
    deliver_next();
    upstream.next++; /* lost on the way: */
    upstream.dseq++;
    deliver_next();
    run_until(3, 0);
    TEST_ASSERT_EQUAL_UINT(2, upstream.asked);
    assert_starts_at("2");
    TEST_ASSERT_EQUAL_STRING("k.2||two", world_message(&w, 2));
    TEST_ASSERT_NOT_NULL(strstr(upstream.deleted, "-x")); /* nobody comes back to the first one */
}

static void test_a_heartbeat_tells_of_what_is_missing(void)
{
    upstream_holds(three, 1);
    world_open(&w, &mirror);
    follow();
    run_until(1, 0);
    (void)publish(upstream.to, upstream.to, "",
                  "NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: 1\r\n\r\n", "");
    upstream_holds(three, 2);
    (void)publish(upstream.to, upstream.to, "",
                  "NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: 2\r\n\r\n", "");
    upstream.to[0] = '\0';
    run_until(2, 0);
    TEST_ASSERT_EQUAL_UINT(2, upstream.asked);
}

static void test_who_is_not_asked_for_is_not_heard(void)
{
    upstream_holds(three, 1);
    world_open(&w, &mirror);
    follow();
    run_until(1, 0);
    TEST_ASSERT_EQUAL_size_t(1, publish(upstream.to, "k.2", "$JS.ACK.O.other.1.2.2.5.0", "", "x"));
    TEST_ASSERT_EQUAL_size_t(1, publish(upstream.to, "k.2", "", "", "x"));
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
}

static void full_and_emptied(const struct stream_config *cfg)
{
    struct stream_config small = *cfg;

    small.max_msgs = 2;
    small.discard = DISCARD_NEW;
    upstream_holds(three, 3);
    world_open(&w, &small);
    follow();
    run_until(0, 2);
    TEST_ASSERT_EQUAL_UINT64(2, world_count(&w));
    assert_starts_at("3");
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, 1));
    run_until(3, 0);
    TEST_ASSERT_NOT_NULL(strstr(world_message(&w, 3), "|three"));
}

static void test_a_full_mirror_comes_back_for_the_same_message(void)
{
    full_and_emptied(&mirror);
}

static void test_a_full_target_comes_back_for_the_same_message(void)
{
    full_and_emptied(&sourcing);
}

/* The refused one must not be lost behind a smaller one, whatever is on its way to the disk. */
static void nothing_overtakes(const struct stream_config *cfg)
{
    static char huge[5000];
    const char *const sizes[] = {"one", huge, "three"};
    struct stream_config small = *cfg;
    struct stream_state st;

    memset(huge, 'x', sizeof huge - 1);
    small.max_bytes = 1000;
    small.discard = DISCARD_NEW;
    upstream_holds(sizes, 3);
    world_open(&w, &small);
    follow();
    run_until(0, 2);
    world_turns(&w);
    assert_starts_at("2");
    stream_state(w.stream, &st);
    TEST_ASSERT_EQUAL_UINT64(1, st.last_seq);
}

static void test_nothing_overtakes_what_a_mirror_refused(void)
{
    nothing_overtakes(&mirror);
}

static void test_nothing_overtakes_what_a_target_refused(void)
{
    nothing_overtakes(&sourcing);
}

static void test_promotion_ends_it(void)
{
    struct stream_config own = {.name = (char *)"S", .subjects = {subjects, 1}};

    upstream_holds(three, 2);
    world_open(&w, &mirror);
    follow();
    run_until(2, 0);
    sources_close(all, true);
    all = NULL;
    TEST_ASSERT_NOT_NULL(strstr(upstream.deleted, "$JS.API.CONSUMER.DELETE.O.JS_MIRROR_"));
    TEST_ASSERT_EQUAL_size_t(0, publish(upstream.to, "k.3", "$JS.ACK.O.N.1.3.3.5.0", "", "x"));
    world_close(&w);
    world_open(&w, &own);
    follow();
    TEST_ASSERT_NULL(all);
}

/* --- flow control ----------------------------------------------------------------------------- */

static void test_flow_control_is_answered_when_what_came_before_is_on_disk(void)
{
    upstream_holds(three, 1);
    world_open(&w, &mirror);
    follow();
    while (upstream.to[0] == '\0')
        loop_turn(w.loop);
    deliver_next();
    (void)publish(upstream.to, upstream.to, "$JS.FC.O.N.1234",
                  "NATS/1.0 100 FlowControl Request\r\n\r\n", "");
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
    TEST_ASSERT_EQUAL_size_t(0, flows.len);
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
    TEST_ASSERT_EQUAL_STRING("$JS.FC.O.N.1234 NATS/1.0\r\nNats-Last-Consumer: 1\r\n"
                             "Nats-Last-Stream: 1\r\n\r\n\n",
                             mf_buf_cstr(&flows));
    mf_buf_clear(&flows);
    (void)publish(upstream.to, upstream.to, "",
                  "NATS/1.0 100 Idle Heartbeat\r\nNats-Consumer-Stalled: $JS.FC.O.N.5678\r\n\r\n",
                  "");
    world_turns(&w);
    TEST_ASSERT_NOT_NULL(strstr(mf_buf_cstr(&flows), "$JS.FC.O.N.5678"));
}

/* --- sources ---------------------------------------------------------------------------------- */

static void test_a_source_marks_what_it_brings(void)
{
    upstream_holds(three, 2);
    upstream.ident = "identity";
    world_open(&w, &sourcing);
    follow();
    run_until(2, 0);
    TEST_ASSERT_NOT_NULL(strstr(upstream.hdr, "Nats-Required-Api-Level: 5\r\n"));
    TEST_ASSERT_EQUAL_STRING("k.2|Nats-Stream-Source: O 2 > > k.2 identity|two",
                             world_message(&w, 2));
    TEST_ASSERT_EQUAL_UINT64(2, look().info.seq);
    TEST_ASSERT_EQUAL_UINT(0, caught);
}

static void kill_and_follow(const struct stream_config *cfg)
{
    sources_close(all, false);
    all = NULL;
    world_kill(&w);
    world_open(&w, cfg);
    follow();
}

static void test_a_source_goes_on_where_it_was_though_nothing_is_left(void)
{
    upstream_holds(three, 2);
    upstream.ident = "identity";
    world_open(&w, &sourcing);
    follow();
    run_until(2, 0);
    TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "", 0, 0, NULL));
    kill_and_follow(&sourcing);
    upstream_holds(three, 3);
    run_until(3, 0);
    assert_starts_at("3");
    TEST_ASSERT_NOT_NULL(strstr(upstream.hdr, "Nats-Stream-Identity: identity\r\n"));
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
}

static void marked_done(struct stream_publish *p, const struct stream_ack *a)
{
    (void)p;
    TEST_ASSERT_NULL(a->error);
}

/* As a backup brings it: without the place of the source. */
static void store_marked(const char *hdr)
{
    struct stream_publish p = {.msg = {.subject = MF_LIT("k.x"), .hdr = mf_str(hdr)},
                               .replicated = true,
                               .done = marked_done};

    stream_publish(w.stream, &p);
    world_turns(&w);
}

static void test_without_a_place_the_newest_mark_tells(void)
{
    world_open(&w, &sourcing);
    store_marked("NATS/1.0\r\nNats-Stream-Source: O 5 > > k.x old\r\n\r\n");
    store_marked("NATS/1.0\r\nNats-Stream-Source: O 6 > > k.x new\r\n\r\n");
    store_marked("NATS/1.0\r\nNats-Stream-Source: P 9 > > k.x\r\n\r\n");
    for (int i = 0; i < 600; i++) /* more than a slice */
        store_marked("");
    follow();
    run_until(0, 1);
    assert_starts_at("7");
    TEST_ASSERT_NOT_NULL(strstr(upstream.hdr, "Nats-Stream-Identity: new\r\n"));
}

/* A power failure cut a group short: messages came to disk, the place that was written with them
 * did not. */
static void test_marks_behind_the_place_that_was_written_count(void)
{
    upstream_holds(three, 1);
    upstream.ident = "identity";
    world_open(&w, &sourcing);
    follow();
    run_until(1, 0);
    sources_close(all, false);
    all = NULL;
    store_marked("NATS/1.0\r\nNats-Stream-Source: O 2 > > k.x identity\r\n\r\n");
    store_marked("");
    kill_and_follow(&sourcing);
    run_until(0, 2);
    assert_starts_at("3");
}

static void test_marks_before_the_place_that_was_written_do_not_count(void)
{
    world_open(&w, &sourcing);
    store_marked("NATS/1.0\r\nNats-Stream-Source: O 9 > > k.x\r\n\r\n");
    follow();
    run_until(0, 1);
    assert_starts_at("10");
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, 1));
    store_marked("NATS/1.0\r\nNats-Stream-Source: O 4 > > k.x\r\n\r\n");
    sources_close(all, false); /* writes that all of this is behind it */
    all = NULL;
    store_marked("");
    kill_and_follow(&sourcing);
    run_until(0, 2);
    assert_starts_at("10");
}

static void test_what_was_never_sent_was_not_seen(void)
{
    upstream_o.opt_start_seq = 3;
    upstream.last = 2;
    world_open(&w, &sourcing);
    follow();
    run_until(0, 1);
    upstream_o.opt_start_seq = 0;
    TEST_ASSERT_EQUAL_UINT64(0, look().info.seq);
    store_marked("");
    kill_and_follow(&sourcing);
    run_until(0, 2);
    assert_starts_at("3");
    TEST_ASSERT_EQUAL_UINT64(0, look().info.seq);
    upstream_holds(three, 3);
    run_until(1, 0);
    TEST_ASSERT_EQUAL_UINT64(3, look().info.seq);
}

static void test_no_mark_at_all_means_the_beginning(void)
{
    world_open(&w, &sourcing);
    store_marked("NATS/1.0\r\nNats-Stream-Source: P 9 > > k.x\r\n\r\n");
    follow();
    run_until(0, 1);
    assert_starts_at("");
}

static void test_an_origin_that_was_made_again_is_another_one(void)
{
    upstream_holds(three, 2);
    upstream.ident = "first";
    world_open(&w, &sourcing);
    follow();
    run_until(2, 0);
    kill_and_follow(&sourcing);
    upstream.ident = "second";
    upstream.refuse = "{\"error\":{\"code\":400,\"err_code\":10225,\"description\":\"no\"}}";
    upstream.refusals = 1;
    run_until(4, 0);
    TEST_ASSERT_EQUAL_STRING("k.1|Nats-Stream-Source: O 1 > > k.1 second|one",
                             world_message(&w, 3));
}

static void test_a_duplicate_is_passed_over(void)
{
    struct stream_config ids = sourcing;
    char reply[128], name[64];

    ids.duplicate_window_ns = 100 * CLOCK_S;
    world_open(&w, &ids);
    (void)world_publish(&w, "own.a", "Nats-Msg-Id: id\r\n", "own");
    follow();
    run_until(0, 1);
    while (upstream.to[0] == '\0')
        loop_turn(w.loop);
    value_of(upstream.body, "\"name\":", name, sizeof name);
    (void)snprintf(reply, sizeof reply, "$JS.ACK.O.%s-x.1.1.1.5.1", name);
    (void)publish(upstream.to, "k.1", reply, "NATS/1.0\r\nNats-Msg-Id: id\r\n\r\n", "again");
    TEST_ASSERT_EQUAL_UINT64(0, look().info.seq); /* of what is stored */
    (void)snprintf(reply, sizeof reply, "$JS.ACK.O.%s-x.1.2.2.5.0", name);
    (void)publish(upstream.to, "k.2", reply, "NATS/1.0\r\nNats-Msg-Id: other\r\n\r\n", "next");
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(2, world_count(&w));
    TEST_ASSERT_EQUAL_UINT(1, upstream.asked);
    TEST_ASSERT_EQUAL_UINT64(2, look().info.seq);
    (void)snprintf(reply, sizeof reply, "$JS.ACK.O.%s-x.1.3.3.5.0", name);
    (void)publish(upstream.to, "k.3", reply, "NATS/1.0\r\nNats-Msg-Id: other\r\n\r\n", "again");
    world_turns(&w);
    kill_and_follow(&ids);
    run_until(0, 2);
    assert_starts_at("4");
    TEST_ASSERT_EQUAL_UINT64(2, look().info.seq);
}

/* --- what goes wrong -------------------------------------------------------------------------- */

static void test_an_older_server_is_asked_for_less(void)
{
    char name[64];

    upstream.refuse = "{\"error\":{\"code\":412,\"err_code\":10185,\"description\":\"level\"}}";
    upstream.refusals = 2;
    upstream_holds(three, 1);
    world_open(&w, &sourcing);
    follow();
    run_until(1, 0);
    TEST_ASSERT_EQUAL_UINT(3, upstream.asked);
    TEST_ASSERT_EQUAL_STRING("", upstream.hdr);
    TEST_ASSERT_NULL(strstr(upstream.body, "sourcing"));
    value_of(upstream.body, "\"name\":", name, sizeof name);
    TEST_ASSERT_EQUAL_size_t(strlen("JS_SRC_12345678_12345678"), strlen(name));
}

static void test_a_refusal_is_told_and_asked_again(void)
{
    upstream.refuse = "{\"error\":{\"code\":404,\"err_code\":10059,\"description\":\"not found\"}}";
    upstream.refusals = 2;
    upstream_holds(three, 1);
    world_open(&w, &mirror);
    follow();
    run_until(0, 1);
    TEST_ASSERT_EQUAL_UINT(10059, look().error.err_code);
    TEST_ASSERT_NOT_NULL(look().info.error);
    run_until(0, 2); /* by itself */
    upstream.refusals = 0;
    sources_retry(&host, "P"); /* not of its concern */
    sources_retry(&host, "O");
    run_until(1, 0);
    TEST_ASSERT_NULL(look().info.error);
}

static void test_an_answer_that_makes_no_sense_is_a_failure(void)
{
    upstream.refuse = "{\"name\":\"N\"}";
    upstream.refusals = 1;
    upstream_holds(three, 1);
    world_open(&w, &mirror);
    follow();
    run_until(0, 1);
    TEST_ASSERT_EQUAL_UINT(10029, look().error.err_code);
    run_until(1, 0);
}

static void test_nobody_who_answers_is_a_failure(void)
{
    account_unsubscribe(home(), &api_sub);
    world_open(&w, &sourcing);
    follow();
    for (int i = 0; i < 100000 && look().info.error == NULL; i++)
        loop_turn(w.loop);
    TEST_ASSERT_EQUAL_UINT(10045, look().error.err_code);
}

/* The request may have been lost with a link that ended: it is sent again long before its time is
 * over, so it is no failure. */
static void test_a_request_is_sent_again_when_a_link_comes(void)
{
    int64_t end = clock_mono_ns() + 60 * CLOCK_S;

    upstream.mute = true;
    upstream_holds(three, 1);
    world_open(&w, &mirror);
    follow();
    run_until(0, 1);
    sources_linked(&host); /* it was sent a moment ago: no other one follows */
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT(1, upstream.asked);
    upstream.mute = false;
    while (upstream.asked < 2 && clock_mono_ns() < end) {
        sources_linked(&host);
        loop_turn(w.loop);
    }
    run_until(1, 0);
    TEST_ASSERT_EQUAL_UINT(2, upstream.asked);
    TEST_ASSERT_NULL(look().info.error);
}

/* An upstream that starts again within a second was heard of a moment ago, and knows nothing of the
 * consumer any more.  It is asked long before its silence would tell. */
static void test_a_new_link_to_a_silent_upstream_asks_again_soon(void)
{
    bool soon = false;

    upstream_holds(three, 1);
    world_open(&w, &mirror);
    follow();
    run_until(1, 0);
    for (int attempt = 0; attempt < 5 && !soon; attempt++) { /* the machine may stall */
        int64_t from = clock_mono_ns(), end = from + 60 * CLOCK_S;
        unsigned asked = upstream.asked;
        sources_linked(&host);
        while (upstream.asked == asked && clock_mono_ns() < end)
            loop_turn(w.loop);
        soon = clock_mono_ns() - from < 8 * CLOCK_S;
        run_until(1, 0);
    }
    TEST_ASSERT_TRUE(soon);
}

static void test_the_end_may_come_with_copies_on_their_way(void)
{
    upstream_holds(three, 3);
    world_open(&w, &sourcing);
    follow();
    while (upstream.to[0] == '\0')
        loop_turn(w.loop);
    deliver_next();
    deliver_next();
    sources_close(all, false);
    all = NULL;
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(2, world_count(&w));
    kill_and_follow(&sourcing);
    run_until(3, 0);
    assert_starts_at("3");
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_mirror_has_the_sequences_and_times_of_its_origin);
    RUN_TEST(test_a_mirror_begins_where_its_origin_does);
    RUN_TEST(test_what_is_missing_is_asked_for_again);
    RUN_TEST(test_a_heartbeat_tells_of_what_is_missing);
    RUN_TEST(test_who_is_not_asked_for_is_not_heard);
    RUN_TEST(test_a_mirror_is_as_far_as_its_origin_though_it_got_nothing);
    RUN_TEST(test_a_full_mirror_comes_back_for_the_same_message);
    RUN_TEST(test_a_full_target_comes_back_for_the_same_message);
    RUN_TEST(test_nothing_overtakes_what_a_mirror_refused);
    RUN_TEST(test_nothing_overtakes_what_a_target_refused);
    RUN_TEST(test_promotion_ends_it);
    RUN_TEST(test_flow_control_is_answered_when_what_came_before_is_on_disk);
    RUN_TEST(test_a_source_marks_what_it_brings);
    RUN_TEST(test_a_source_goes_on_where_it_was_though_nothing_is_left);
    RUN_TEST(test_without_a_place_the_newest_mark_tells);
    RUN_TEST(test_marks_behind_the_place_that_was_written_count);
    RUN_TEST(test_marks_before_the_place_that_was_written_do_not_count);
    RUN_TEST(test_what_was_never_sent_was_not_seen);
    RUN_TEST(test_no_mark_at_all_means_the_beginning);
    RUN_TEST(test_an_origin_that_was_made_again_is_another_one);
    RUN_TEST(test_a_duplicate_is_passed_over);
    RUN_TEST(test_an_older_server_is_asked_for_less);
    RUN_TEST(test_a_refusal_is_told_and_asked_again);
    RUN_TEST(test_an_answer_that_makes_no_sense_is_a_failure);
    RUN_TEST(test_nobody_who_answers_is_a_failure);
    RUN_TEST(test_a_request_is_sent_again_when_a_link_comes);
    RUN_TEST(test_a_new_link_to_a_silent_upstream_asks_again_soon);
    RUN_TEST(test_the_end_may_come_with_copies_on_their_way);
    return UNITY_END();
}
