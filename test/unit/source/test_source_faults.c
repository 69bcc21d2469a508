/* test_source_faults.c: a stream that follows another while its disk is full, or fails for good:
 * nothing is passed over, and where it can go on it does. */
#include "support/fault_io.h"
#include "support/upstream_world.h"

static struct stream_source upstream_o = {.name = (char *)"O"};
static struct stream_source *list[] = {&upstream_o};
static char *subjects[] = {(char *)"own.>"};
static const struct stream_config mirror = {.name = (char *)"S", .mirror = &upstream_o};
static const struct stream_config sourcing = {
    .name = (char *)"S", .subjects = {subjects, 1}, .sources = {list, 1}};

static char large[100000];
static const char *many[UPSTREAM_MSGS - 1];

static void fill_origin(void)
{
    memset(large, 'x', sizeof large - 1);
    for (size_t i = 0; i < MF_COUNT(many); i++)
        many[i] = large;
    upstream_holds(many, MF_COUNT(many));
}

/* It is asked for; then so long that what can be taken was. */
static void turns(void)
{
    run_until(0, 1);
    for (int i = 0; i < 500; i++) {
        loop_turn(w.loop);
        if (upstream.to[0] != '\0' && upstream.next <= upstream.last)
            deliver_next(); /* each in a group of its own */
    }
}

static void full_and_free_again(const struct stream_config *cfg)
{
    struct stream_state st;

    fill_origin();
    world_wrap(&w, fault_io_new);
    world_open(&w, cfg);
    upstream.last = 3;
    follow();
    run_until(3, 0);
    fault_io_budget(w.io, fault_io_used(w.io));
    upstream_holds(many, MF_COUNT(many));
    turns();
    stream_state(w.stream, &st);
    TEST_ASSERT_TRUE(st.msgs >= 3 && st.msgs < upstream.last);
    fault_io_budget(w.io, UINT64_MAX);
    run_until(upstream.last, 0);
    stream_state(w.stream, &st);
    TEST_ASSERT_EQUAL_UINT64(upstream.last, st.msgs);
    TEST_ASSERT_EQUAL_UINT64(upstream.last, st.last_seq);
}

static void test_a_mirror_on_a_full_disk_goes_on_when_there_is_room(void)
{
    full_and_free_again(&mirror);
}

static void test_a_source_on_a_full_disk_goes_on_when_there_is_room(void)
{
    full_and_free_again(&sourcing);
}

/* An upstream that removes what was acknowledged must not hear so of what is not on disk. */
static void test_flow_control_waits_for_the_disk(void)
{
    fill_origin();
    upstream.last = 1;
    world_wrap(&w, fault_io_new);
    world_open(&w, &mirror);
    fault_io_arm(w.io, &(struct fault_plan){
                           .kinds = FAULT_WRITE, .nth = 1, .code = MF_FULL, .forever = true});
    follow();
    turns();
    (void)publish(upstream.to, upstream.to, "$JS.FC.O.N.1234",
                  "NATS/1.0 100 FlowControl Request\r\n\r\n", "");
    turns();
    TEST_ASSERT_TRUE(fault_io_hit(w.io));
    TEST_ASSERT_EQUAL_size_t(0, flows.len);
    fault_io_disarm(w.io);
    run_until(1, 0);
    turns();
    TEST_ASSERT_NOT_NULL(strstr(mf_buf_cstr(&flows), "Nats-Last-Stream: 1\r\n"));
}

static void read_only_then_restarted(const struct stream_config *cfg)
{
    struct stream_state st;

    fill_origin();
    world_wrap(&w, fault_io_new);
    world_open(&w, cfg);
    fault_io_arm(
        w.io, &(struct fault_plan){.kinds = FAULT_SYNC, .nth = 3, .code = MF_IO, .forever = true});
    follow();
    turns();
    TEST_ASSERT_TRUE(fault_io_hit(w.io));
    TEST_ASSERT_NOT_NULL(stream_error(w.stream));
    sources_close(all, false);
    all = NULL;
    fault_io_disarm(w.io);
    world_kill(&w);
    world_open(&w, cfg);
    upstream.to[0] = '\0';
    follow();
    run_until(upstream.last, 0);
    stream_state(w.stream, &st);
    TEST_ASSERT_EQUAL_UINT64(upstream.last, st.msgs);
    TEST_ASSERT_EQUAL_UINT64(upstream.last, st.last_seq);
}

static void test_a_mirror_whose_disk_failed_has_all_after_a_restart(void)
{
    read_only_then_restarted(&mirror);
}

static void test_a_source_whose_disk_failed_has_all_after_a_restart(void)
{
    read_only_then_restarted(&sourcing);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_mirror_on_a_full_disk_goes_on_when_there_is_room);
    RUN_TEST(test_a_source_on_a_full_disk_goes_on_when_there_is_room);
    RUN_TEST(test_flow_control_waits_for_the_disk);
    RUN_TEST(test_a_mirror_whose_disk_failed_has_all_after_a_restart);
    RUN_TEST(test_a_source_whose_disk_failed_has_all_after_a_restart);
    return UNITY_END();
}
