/* test_dead_letters.c: dead letters (on_expire). */
#include "stream/lifetime_impl.h"
#include "support/fault_io.h"
#include "support/no_memory.h"
#include "support/stream_world.h"

#include "base/clock.h"

#include "unity.h"

#include <stdio.h>

static struct world w;
static char *subjects[] = {(char *)"k.>", (char *)"dead.k.>"};
static struct json_pair pairs[8];

void setUp(void)
{
    world_init(&w);
}

void tearDown(void)
{
    world_fini(&w);
}

/* A stream with these keys, "default", "24h" and so on, ended by NULL. */
static struct stream_config with(const char *const *keys)
{
    static char names[8][40];
    struct stream_config c = {.name = (char *)"S", .subjects = {subjects, 2}};

    c.allow_msg_ttl = true;
    for (size_t n = 0; keys[n * 2] != NULL; n++) {
        snprintf(names[n], sizeof names[n], POLICY_PREFIX "%s", keys[n * 2]);
        pairs[n] = (struct json_pair){names[n], (char *)keys[n * 2 + 1]};
        c.metadata = (struct json_map){pairs, n + 1, true};
    }
    return c;
}
#define WITH(...) with((const char *const[]){__VA_ARGS__, NULL})

static uint64_t put(const char *subject, const char *lines)
{
    struct world_ack a = world_publish(&w, subject, lines, "x");

    TEST_ASSERT_EQUAL_STRING("", a.text);
    return a.seq;
}

static void later(int64_t ns)
{
    world_time(&w, w.now_ns + ns);
}

/* Nanoseconds that are left; 0: it has no end. */
static int64_t left(uint64_t seq)
{
    struct stream_lifetime l = {.deadline_ns = -1};

    TEST_ASSERT_TRUE(stream_lifetime(w.stream, seq, &l));
    return l.deadline_ns == 0 ? 0 : l.deadline_ns - w.now_ns;
}

/* --- on_expire -------------------------------------------------------------------------------- */

static struct mf_buf text;

static const char *all(void)
{
    world_text(&w, &text);
    mf_buf_byte(&text, 0);
    return (const char *)text.ptr;
}

static void test_R003_20_a_message_that_ends_leaves_a_letter(void)
{
    struct stream_config c = WITH("on_expire", "dead", "rules",
                                  "[{\"id\":\"d\",\"subject\":\"dead.>\",\"ttl\":\"168h\"}]");

    w.now_ns = 1700000000 * CLOCK_S;
    world_open(&w, &c);
    put("k.a",
        "A: b\r\nNats-TTL: 10\r\nNats-Msg-Id: 7\r\nNats-Expected-Last-Sequence: 0\r\nC: d e\r\n");
    struct stream_lifetime life;
    TEST_ASSERT_TRUE(stream_lifetime(w.stream, 1, &life));
    later(9 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
    later(2 * CLOCK_S);
    char want[400], at[CLOCK_TEXT], born[CLOCK_TEXT];
    snprintf(want, sizeof want,
             "2 dead.k.a|A: b,C: d e,Mayfly-Expired-Subject: k.a,Mayfly-Expired-Sequence: 1,"
             "Mayfly-Expired-Time: %s,Mayfly-Expired-At: %s,Mayfly-Expired-Reason: TTL|x\n",
             clock_rfc3339(born, life.deadline_ns - 10 * CLOCK_S),
             clock_rfc3339(at, life.deadline_ns));
    TEST_ASSERT_EQUAL_STRING(want, all());
    TEST_ASSERT_EQUAL_UINT64(1, stream_ttl_stats(w.stream)->dead_letters);
    TEST_ASSERT_TRUE(left(2) > 167 * 3600 * CLOCK_S && left(2) <= 168 * 3600 * CLOCK_S);
    later(168 * 3600 * CLOCK_S); /* a letter leaves none */
    TEST_ASSERT_EQUAL_STRING("", all());
    TEST_ASSERT_EQUAL_UINT64(1, stream_ttl_stats(w.stream)->dead_letters);
}

static void test_a_letter_stands_before_the_marker_and_a_tombstone_leaves_none(void)
{
    struct stream_config c = WITH("on_expire", "dead", "never", "allow");

    c.subject_delete_marker_ttl_ns = 5 * CLOCK_S;
    c.max_age_ns = 10 * CLOCK_S;
    world_open(&w, &c);
    put("k.a", NULL);
    later(11 * CLOCK_S);
    const char *got = all(), *letter = strstr(got, "2 dead.k.a|"), *marker = strstr(got, "3 k.a|");
    TEST_ASSERT_NOT_NULL(letter);
    TEST_ASSERT_NOT_NULL(marker);
    TEST_ASSERT_NOT_NULL(strstr(letter, "Mayfly-Expired-Reason: MaxAge"));
    TEST_ASSERT_NOT_NULL(strstr(marker, "Nats-Marker-Reason: MaxAge"));
    later(6 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(1, stream_ttl_stats(w.stream)->dead_letters);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
}

/* What is published to the subject right at that time settles the death itself. */
static void test_a_letter_is_written_ahead_of_the_sweep(void)
{
    struct stream_config c = WITH("default", "10s", "on_expire", "dead");
    struct world_ack a = {0};

    world_open(&w, &c);
    put("k.a", NULL);
    w.now_ns += 11 * CLOCK_S; /* the timer has not fired */
    world_send(&w, "k.a", NULL, NULL, "y", &a);
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(3, a.seq);
    TEST_ASSERT_NOT_NULL(strstr(all(), "2 dead.k.a|"));
    TEST_ASSERT_NOT_NULL(strstr(all(), "3 k.a||y"));
    TEST_ASSERT_EQUAL_UINT64(1, stream_ttl_stats(w.stream)->dead_letters);
}

static void test_of_a_subject_only_the_last_one_leaves_a_letter(void)
{
    static const char *const scopes[] = {"subject", "message"};

    for (size_t i = 0; i < 2; i++) {
        struct stream_config c = WITH("default", "10s", "on_expire", "dead", "scope", scopes[i]);
        c.name = (char *)(i == 0 ? "A" : "B");
        c.max_msgs_per_subject = 5;
        world_open(&w, &c);
        put("k.a", NULL);
        put("k.a", NULL);
        uint64_t last = put("k.a", NULL);
        later(10 * CLOCK_S - 1);
        later(CLOCK_S);
        TEST_ASSERT_EQUAL_UINT64(i == 0 ? 1 : 3, stream_ttl_stats(w.stream)->dead_letters);
        char want[60];
        snprintf(want, sizeof want, "Mayfly-Expired-Sequence: %llu,", (unsigned long long)last);
        TEST_ASSERT_NOT_NULL(strstr(all(), want));
        uint64_t n;
        TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "", 0, 0, &n));
        world_close(&w);
    }
}

static void test_expiry_wins_where_limits_refuse_the_letter(void)
{
    struct stream_config c = WITH("default", "10s", "on_expire", "dead");

    c.discard = DISCARD_NEW;
    c.max_msgs = 2;
    c.max_bytes = 200;
    world_open(&w, &c);
    put("k.a", NULL);
    put("k.b", NULL);
    later(11 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(2, stream_ttl_stats(w.stream)->dead_letters +
                                    stream_ttl_stats(w.stream)->dead_letters_dropped);
    TEST_ASSERT_EQUAL_UINT64(2, stream_ttl_stats(w.stream)->dead_letters_dropped);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
}

/* The dead one makes room for its letter. */
static void test_a_full_stream_keeps_its_letters(void)
{
    struct stream_config c = WITH("on_expire", "dead");

    c.discard = DISCARD_NEW;
    c.max_msgs = 2;
    world_open(&w, &c);
    put("k.a", "Nats-TTL: 10\r\n");
    put("k.b", "Nats-TTL: 10\r\n");
    later(11 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(2, stream_ttl_stats(w.stream)->dead_letters);
    TEST_ASSERT_EQUAL_UINT64(2, world_count(&w));
}

static void test_a_full_stream_that_discards_old_loses_the_oldest(void)
{
    struct stream_config c = WITH("on_expire", "dead");

    c.max_bytes = 250;
    world_open(&w, &c);
    put("k.old", NULL);
    put("k.a", "Nats-TTL: 10\r\n");
    later(11 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(1, stream_ttl_stats(w.stream)->dead_letters);
    TEST_ASSERT_NULL(strstr(all(), " k.old|"));
    TEST_ASSERT_NOT_NULL(strstr(all(), " dead.k.a|"));
}

static void test_letters_of_a_subject_keep_to_its_limit(void)
{
    struct stream_config c = WITH("on_expire", "dead", "scope", "message");

    c.max_msgs_per_subject = 1;
    world_open(&w, &c);
    put("k.a", "Nats-TTL: 10\r\n");
    later(11 * CLOCK_S);
    uint64_t second = put("k.a", "Nats-TTL: 10\r\n");
    later(11 * CLOCK_S);
    char want[60];
    snprintf(want, sizeof want, "Mayfly-Expired-Sequence: %llu,", (unsigned long long)second);
    TEST_ASSERT_NOT_NULL(strstr(all(), want));
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
}

static void test_letters_and_deaths_are_one_batch(void)
{
    struct stream_config c = WITH("default", "10s", "on_expire", "dead", "rules",
                                  "[{\"id\":\"d\",\"subject\":\"dead.>\",\"ttl\":\"168h\"}]");

    world_open(&w, &c);
    for (int i = 0; i < 1200; i++) {
        char subject[20];
        snprintf(subject, sizeof subject, "k.%d", i);
        put(subject, NULL);
    }
    later(20 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(1200, world_count(&w));
    world_kill(&w);
    world_open(&w, &c);
    later(20 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(1200, world_count(&w));
    TEST_ASSERT_EQUAL_UINT64(0, stream_ttl_stats(w.stream)->dead_letters);
}

/* Bodies that are not in memory are read by a worker, one after the other. */
static void test_letters_of_messages_that_are_on_disk_only(void)
{
    struct stream_config c = WITH("default", "10s", "on_expire", "dead", "rules",
                                  "[{\"id\":\"d\",\"subject\":\"dead.>\",\"ttl\":\"168h\"}]");

    world_wrap(&w, fault_io_new);
    world_open(&w, &c);
    for (int i = 0; i < 20; i++)
        put(i % 2 == 0 ? "k.a" : "k.b", NULL);
    fault_io_cold(w.io, true);
    later(11 * CLOCK_S);
    for (int i = 0; i < 100 && stream_ttl_stats(w.stream)->dead_letters < 20; i++)
        later(CLOCK_S / 10); /* timers of the loop */
    fault_io_cold(w.io, false);
    TEST_ASSERT_EQUAL_UINT64(20, stream_ttl_stats(w.stream)->dead_letters);
    TEST_ASSERT_EQUAL_UINT64(20, world_count(&w));
    TEST_ASSERT_NOT_NULL(
        strstr(all(), "21 dead.k.a|Mayfly-Expired-Subject: k.a,Mayfly-Expired-Sequence: 1,"));
    TEST_ASSERT_NOT_NULL(
        strstr(all(), "40 dead.k.b|Mayfly-Expired-Subject: k.b,Mayfly-Expired-Sequence: 20,"));
}

static void test_a_letter_ahead_of_the_sweep_is_read_from_disk(void)
{
    struct stream_config c = WITH("default", "10s", "on_expire", "dead");
    struct world_ack a = {0};

    world_wrap(&w, fault_io_new);
    world_open(&w, &c);
    put("k.a", NULL);
    fault_io_cold(w.io, true);
    w.now_ns += 11 * CLOCK_S;
    world_send(&w, "k.a", NULL, NULL, "y", &a);
    world_turns(&w);
    fault_io_cold(w.io, false);
    TEST_ASSERT_EQUAL_UINT64(3, a.seq);
    TEST_ASSERT_NOT_NULL(strstr(all(), "2 dead.k.a|"));
    TEST_ASSERT_EQUAL_UINT64(1, stream_ttl_stats(w.stream)->dead_letters);
}

static void test_a_stream_closes_while_a_letter_is_read(void)
{
    struct stream_config c = WITH("default", "10s", "on_expire", "dead");

    world_wrap(&w, fault_io_new);
    world_open(&w, &c);
    put("k.a", NULL);
    fault_io_cold(w.io, true);
    w.now_ns += 11 * CLOCK_S;
    (void)expire_settle_all(w.stream, 10); /* the body is on its way */
    world_close(&w);
    fault_io_cold(w.io, false);
    world_open(&w, &c);
    later(CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(1, stream_ttl_stats(w.stream)->dead_letters);
}

/* How many letters of this message there are. */
static unsigned letters_of(uint64_t seq)
{
    char want[60];
    unsigned n = 0;

    snprintf(want, sizeof want, "Mayfly-Expired-Sequence: %llu,", (unsigned long long)seq);
    for (const char *at = all(); (at = strstr(at, want)) != NULL; at++)
        n++;
    return n;
}

static void open_again(struct stream_config *c)
{
    world_fini(&w);
    world_init(&w);
    world_open(&w, c);
}

/* Whatever fails, each message leaves one letter. */
static void test_a_sweep_without_memory_leaves_one_letter_each(void)
{
    struct stream_config c = WITH("default", "10s", "on_expire", "dead", "rules",
                                  "[{\"id\":\"d\",\"subject\":\"dead.>\",\"ttl\":\"168h\"}]");

    c.subject_delete_marker_ttl_ns = 5 * CLOCK_S;
    for (long nth = 0;; nth++) {
        open_again(&c);
        put("k.a", NULL);
        put("k.b", NULL);
        w.now_ns += 20 * CLOCK_S;
        memory_arm(nth);
        (void)expire_settle_all(w.stream, 100);
        bool hit = memory_hit;
        memory_disarm();
        later(CLOCK_S);
        TEST_ASSERT_EQUAL_UINT(1, letters_of(1));
        TEST_ASSERT_EQUAL_UINT(1, letters_of(2));
        TEST_ASSERT_EQUAL_UINT64(4, world_count(&w)); /* and two markers */
        TEST_ASSERT_EQUAL_UINT64(2, stream_ttl_stats(w.stream)->dead_letters);
        if (!hit)
            break;
    }
}

static void test_a_publish_without_memory_leaves_one_letter_each(void)
{
    struct stream_config c =
        WITH("default", "10s", "on_expire", "dead", "scope", "message", "rules",
             "[{\"id\":\"d\",\"subject\":\"dead.>\",\"ttl\":\"168h\"}]");

    for (long nth = 0;; nth++) {
        open_again(&c);
        for (int i = 0; i < 4; i++)
            put("k.a", NULL);
        w.now_ns += 20 * CLOCK_S;
        for (bool hit = true; hit; nth++) {
            memory_arm(nth);
            int rc = expire_settle(w.stream, MF_LIT("k.a"));
            hit = memory_hit;
            memory_disarm();
            if (rc == 0)
                break;
        }
        bool hit = memory_hit;
        later(CLOCK_S);
        for (uint64_t seq = 1; seq <= 4; seq++)
            TEST_ASSERT_EQUAL_UINT(1, letters_of(seq));
        TEST_ASSERT_EQUAL_UINT64(4, world_count(&w));
        if (!hit)
            break;
    }
}

/* Until what was accepted is on disk; then the process is killed. */
static void kill_after_commit(const struct stream_config *c)
{
    uint64_t msgs, bytes, last;

    store_accepted(w.stream->store, &msgs, &bytes, &last);
    for (int i = 0; i < 10000 && store_committed(w.stream->store) < last; i++)
        loop_turn(w.loop);
    world_kill(&w);
    world_open(&w, c);
}

/* A letter without the end of its message would be written again after a restart. */
static void test_a_kill_after_a_shortage_doubles_no_letter(void)
{
    struct stream_config c =
        WITH("default", "10s", "on_expire", "dead", "scope", "message", "rules",
             "[{\"id\":\"d\",\"subject\":\"dead.>\",\"ttl\":\"168h\"}]");

    c.subject_delete_marker_ttl_ns = 5 * CLOCK_S;
    for (long nth = 0;; nth++) {
        bool settled = nth % 2 == 0; /* by a publish, or by the sweep */
        open_again(&c);
        for (int i = 0; i < 3; i++)
            put("k.a", NULL);
        put("k.b", NULL);
        w.now_ns += 20 * CLOCK_S;
        memory_arm(nth / 2);
        if (settled)
            (void)!expire_settle(w.stream, MF_LIT("k.a"));
        else
            (void)expire_settle_all(w.stream, 100);
        bool hit = memory_hit;
        memory_disarm();
        kill_after_commit(&c);
        later(CLOCK_S);
        for (uint64_t seq = 1; seq <= 4; seq++)
            TEST_ASSERT_EQUAL_UINT(1, letters_of(seq));
        TEST_ASSERT_EQUAL_UINT64(6, world_count(&w)); /* and two markers */
        if (!hit && !settled)
            break;
    }
}

static void test_audit_leaves_no_letters(void)
{
    struct stream_config c = WITH("default", "10s", "on_expire", "dead", "enforce", "audit");

    c.max_age_ns = 10 * CLOCK_S;
    world_open(&w, &c);
    put("k.a", NULL);
    later(11 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
}

/* Two come for the one that goes. */
static void test_a_letter_and_a_marker_keep_to_the_limits(void)
{
    struct stream_config c = WITH("default", "24h", "on_expire", "dead");

    c.max_msgs = 3;
    c.subject_delete_marker_ttl_ns = 10 * CLOCK_S;
    world_open(&w, &c);
    (void)put("k.old", NULL);
    (void)put("k.a", "Nats-TTL: 20\r\n");
    (void)put("k.b", NULL);
    later(21 * CLOCK_S);
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(3, world_count(&w));
    TEST_ASSERT_EQUAL_STRING("", world_message(&w, 1));
    world_close(&w);
}

static void test_a_letter_beside_a_marker_is_refused_by_a_full_stream(void)
{
    struct stream_config c = WITH("default", "24h", "on_expire", "dead");

    c.max_msgs = 2;
    c.discard = DISCARD_NEW;
    c.subject_delete_marker_ttl_ns = 10 * CLOCK_S;
    world_open(&w, &c);
    (void)put("k.old", NULL);
    (void)put("k.a", "Nats-TTL: 20\r\n");
    later(21 * CLOCK_S);
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(2, world_count(&w));
    TEST_ASSERT_EQUAL_UINT64(1, stream_ttl_stats(w.stream)->dead_letters_dropped);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_R003_20_a_message_that_ends_leaves_a_letter);
    RUN_TEST(test_a_letter_stands_before_the_marker_and_a_tombstone_leaves_none);
    RUN_TEST(test_a_letter_is_written_ahead_of_the_sweep);
    RUN_TEST(test_of_a_subject_only_the_last_one_leaves_a_letter);
    RUN_TEST(test_expiry_wins_where_limits_refuse_the_letter);
    RUN_TEST(test_a_full_stream_keeps_its_letters);
    RUN_TEST(test_a_full_stream_that_discards_old_loses_the_oldest);
    RUN_TEST(test_letters_of_a_subject_keep_to_its_limit);
    RUN_TEST(test_letters_and_deaths_are_one_batch);
    RUN_TEST(test_letters_of_messages_that_are_on_disk_only);
    RUN_TEST(test_a_letter_ahead_of_the_sweep_is_read_from_disk);
    RUN_TEST(test_a_stream_closes_while_a_letter_is_read);
    RUN_TEST(test_a_sweep_without_memory_leaves_one_letter_each);
    RUN_TEST(test_a_publish_without_memory_leaves_one_letter_each);
    RUN_TEST(test_a_kill_after_a_shortage_doubles_no_letter);
    RUN_TEST(test_audit_leaves_no_letters);
    mf_buf_fini(&text);
    RUN_TEST(test_a_letter_and_a_marker_keep_to_the_limits);
    RUN_TEST(test_a_letter_beside_a_marker_is_refused_by_a_full_stream);
    return UNITY_END();
}
