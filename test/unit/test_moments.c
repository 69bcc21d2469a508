/* test_moments.c: reads that renew a life (slide), dead letters (on_expire), warnings (warn). */
#include "stream/lifetime.h"
#include "support/fault_io.h"
#include "support/stream_world.h"

#include "mayfly/clock.h"

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

/* --- slide: read ------------------------------------------------------------------------------ */

/* A read of the last value, as the API does it. */
static void read_last(const char *subject)
{
    struct stream_msg m;

    TEST_ASSERT_EQUAL_INT(0, stream_get(w.stream, stream_last_of(w.stream, mf_str(subject)), &m));
    stream_slide(w.stream, &m);
    stream_msg_end(&m);
    world_turns(&w);
}

/* Nanoseconds that are left; 0: it has no end. */
static int64_t left(uint64_t seq)
{
    struct stream_life l = {.deadline_ns = -1};

    TEST_ASSERT_TRUE(stream_life(w.stream, seq, &l));
    return l.deadline_ns == 0 ? 0 : l.deadline_ns - w.now_ns;
}

static uint64_t by_read(void)
{
    return stream_ttl_stats(w.stream)->touched_by_read;
}

static void test_a_read_renews_what_is_used_by_more_than_a_64th(void)
{
    struct stream_config c = WITH("default", "64s", "slide", "read");

    world_open(&w, &c);
    uint64_t seq = put("k.a", NULL);
    later(CLOCK_S / 2);
    int64_t before = left(seq);
    read_last("k.a");
    TEST_ASSERT_EQUAL_INT64(before, left(seq));
    TEST_ASSERT_EQUAL_UINT64(0, by_read());
    later(CLOCK_S);
    read_last("k.a");
    TEST_ASSERT_EQUAL_INT64(64 * CLOCK_S, left(seq));
    TEST_ASSERT_EQUAL_UINT64(1, by_read());
    read_last("k.a");
    TEST_ASSERT_EQUAL_UINT64(1, by_read());
    later(63 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
    later(CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
}

static void test_a_long_life_is_renewed_after_five_minutes(void)
{
    struct stream_config c = WITH("default", "720h", "slide", "read");

    world_open(&w, &c);
    uint64_t seq = put("k.a", NULL);
    later(300 * CLOCK_S - 1);
    read_last("k.a");
    TEST_ASSERT_EQUAL_UINT64(0, by_read());
    later(CLOCK_S);
    read_last("k.a");
    TEST_ASSERT_EQUAL_INT64(720 * 3600 * CLOCK_S, left(seq));
}

static void test_a_read_renews_the_writers_own_ttl_and_max_age(void)
{
    struct stream_config c = WITH("max", "24h", "slide", "read");

    c.max_age_ns = 100 * CLOCK_S;
    world_open(&w, &c);
    uint64_t own = put("k.a", "Nats-TTL: 60\r\n"), aged = put("k.b", NULL);
    later(30 * CLOCK_S);
    read_last("k.a");
    read_last("k.b");
    TEST_ASSERT_EQUAL_INT64(60 * CLOCK_S, left(own));
    TEST_ASSERT_EQUAL_INT64(100 * CLOCK_S, left(aged));
}

static void test_reads_of_other_streams_renew_nothing(void)
{
    static const char *const off[][4] = {{"slide", "write", "enforce", "on"},
                                         {"slide", "read", "enforce", "audit"},
                                         {"slide", "read", "enforce", "off"}};

    for (size_t i = 0; i < MF_COUNT(off); i++) {
        struct stream_config c = WITH("default", "64s", off[i][0], off[i][1], off[i][2], off[i][3]);
        c.name = (char *)(i == 0 ? "A" : i == 1 ? "B" : "C");
        c.max_age_ns = 64 * CLOCK_S;
        world_open(&w, &c);
        uint64_t seq = put("k.a", NULL);
        later(10 * CLOCK_S);
        int64_t before = left(seq);
        read_last("k.a");
        TEST_ASSERT_EQUAL_INT64(before, left(seq));
        world_purge(&w, "", 0, 0, &seq);
        world_close(&w);
    }
}

static void change(uint64_t seq, int64_t deadline_ns, bool infinite);

static void test_a_deadline_set_by_hand_stays(void)
{
    struct stream_config c = WITH("default", "64s", "slide", "read", "never", "allow");

    world_open(&w, &c);
    uint64_t pinned = put("k.a", NULL), endless = put("k.b", "Nats-TTL: never\r\n");
    change(pinned, w.now_ns + 20 * CLOCK_S, false);
    later(5 * CLOCK_S);
    int64_t before = left(pinned);
    read_last("k.a");
    read_last("k.b");
    TEST_ASSERT_EQUAL_INT64(before, left(pinned));
    TEST_ASSERT_EQUAL_INT64(0, left(endless));
    TEST_ASSERT_EQUAL_UINT64(0, by_read());
}

static void test_a_read_does_not_keep_a_tombstone(void)
{
    struct stream_config c = WITH("default", "64s", "slide", "read");

    c.subject_delete_marker_ttl_ns = 32 * CLOCK_S;
    world_open(&w, &c);
    put("k.a", NULL);
    later(65 * CLOCK_S);
    uint64_t marker = stream_last_of(w.stream, MF_LIT("k.a"));
    TEST_ASSERT_EQUAL_UINT64(2, marker);
    later(10 * CLOCK_S);
    int64_t before = left(marker);
    read_last("k.a");
    TEST_ASSERT_EQUAL_INT64(before, left(marker));
}

static void test_a_renewal_is_there_after_a_restart(void)
{
    struct stream_config c = WITH("default", "64s", "slide", "read");

    world_open(&w, &c);
    uint64_t seq = put("k.a", NULL);
    later(32 * CLOCK_S);
    read_last("k.a");
    world_kill(&w);
    world_open(&w, &c);
    TEST_ASSERT_EQUAL_INT64(64 * CLOCK_S, left(seq));
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
    struct stream_life life;
    TEST_ASSERT_TRUE(stream_life(w.stream, 1, &life));
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

static void test_audit_leaves_no_letters(void)
{
    struct stream_config c = WITH("default", "10s", "on_expire", "dead", "enforce", "audit");

    c.max_age_ns = 10 * CLOCK_S;
    world_open(&w, &c);
    put("k.a", NULL);
    later(11 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
}

/* --- warn ------------------------------------------------------------------------------------- */

static struct mf_buf heard; /* "seq subject left_s\n" */
static bool deaf;

static bool hear(void *arg, struct stream *s, const struct stream_expiring *e)
{
    char line[100];

    (void)arg;
    (void)s;
    snprintf(line, sizeof line, "%llu %.*s %lld\n", (unsigned long long)e->seq, MF_FMT(e->subject),
             (long long)(e->left_ns / CLOCK_S));
    if (!deaf)
        mf_buf_puts(&heard, line);
    return !deaf;
}

static void open_warning(const struct stream_config *c)
{
    w.host.ttl_expiring = hear;
    mf_buf_clear(&heard);
    deaf = false;
    world_open(&w, c);
}

/* Time goes on, and the visits with it; what was heard meanwhile. */
static const char *listen(int64_t ns)
{
    int64_t end = w.now_ns + ns;

    mf_buf_clear(&heard);
    while (w.now_ns < end) {
        later(end - w.now_ns < CLOCK_S / 2 ? end - w.now_ns : CLOCK_S / 2);
        do {
            TEST_ASSERT_NOT_NULL(w.stream->warn);
            warn_run(w.stream);
        } while (warn_busy(w.stream));
    }
    mf_buf_byte(&heard, 0);
    return (const char *)heard.ptr;
}

static void test_R003_09_each_message_is_told_of_once_before_it_ends(void)
{
    struct stream_config c = WITH("default", "100s", "warn", "60s");

    open_warning(&c);
    put("k.a", NULL);
    later(5 * CLOCK_S);
    put("k.b", NULL);
    TEST_ASSERT_EQUAL_STRING("", listen(33 * CLOCK_S + CLOCK_S / 2));
    TEST_ASSERT_EQUAL_STRING("1 k.a 61\n", listen(CLOCK_S / 2));
    TEST_ASSERT_EQUAL_STRING("2 k.b 61\n", listen(5 * CLOCK_S));
    TEST_ASSERT_EQUAL_STRING("", listen(50 * CLOCK_S));
    TEST_ASSERT_EQUAL_UINT64(2, stream_ttl_stats(w.stream)->warned);
}

static void test_a_life_that_is_shorter_than_the_warning_has_none(void)
{
    struct stream_config c = WITH("default", "60s", "warn", "60s");

    open_warning(&c);
    put("k.a", NULL);
    put("k.b", "Nats-TTL: 20\r\n");
    put("k.c", "Nats-TTL: 61\r\n"); /* its moment is now */
    TEST_ASSERT_EQUAL_STRING("3 k.c 60\n", listen(CLOCK_S / 2));
    TEST_ASSERT_EQUAL_STRING("", listen(70 * CLOCK_S));
}

static void test_a_renewed_message_is_told_of_again(void)
{
    struct stream_config c = WITH("default", "100s", "warn", "60s", "slide", "read");

    open_warning(&c);
    put("k.a", NULL);
    TEST_ASSERT_EQUAL_STRING("1 k.a 61\n", listen(45 * CLOCK_S));
    read_last("k.a");
    TEST_ASSERT_EQUAL_STRING("", listen(38 * CLOCK_S));
    TEST_ASSERT_EQUAL_STRING("1 k.a 61\n", listen(5 * CLOCK_S));
}

static void test_after_a_restart_none_is_missed(void)
{
    struct stream_config c = WITH("default", "100s", "warn", "60s");

    open_warning(&c);
    put("k.a", NULL);
    put("k.b", "Nats-TTL: 30\r\n");
    TEST_ASSERT_EQUAL_STRING("", listen(5 * CLOCK_S));
    put("k.b", "Nats-TTL: 59\r\n");
    world_kill(&w);
    w.now_ns += 55 * CLOCK_S; /* its moment passes */
    open_warning(&c);
    TEST_ASSERT_EQUAL_STRING("1 k.a 39\n", listen(CLOCK_S));
    TEST_ASSERT_EQUAL_STRING("", listen(30 * CLOCK_S));
    world_kill(&w);
    open_warning(&c);
    TEST_ASSERT_EQUAL_STRING("", listen(5 * CLOCK_S));
}

static void test_thousands_of_warnings_take_several_turns_and_none_is_lost(void)
{
    struct stream_config c = WITH("default", "100s", "warn", "60s");
    char subject[20];

    open_warning(&c);
    for (int i = 0; i < 5000; i++) {
        snprintf(subject, sizeof subject, "k.%d", i);
        put(subject, NULL);
    }
    w.now_ns += 39 * CLOCK_S + CLOCK_S / 2;
    warn_run(w.stream);
    TEST_ASSERT_TRUE(stream_ttl_stats(w.stream)->warned <= 2000);
    (void)listen(3 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(5000, stream_ttl_stats(w.stream)->warned);
}

static void test_nobody_is_told_where_nobody_listens(void)
{
    struct stream_config c = WITH("default", "100s", "warn", "60s");

    open_warning(&c);
    deaf = true;
    put("k.a", NULL);
    (void)listen(50 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(0, stream_ttl_stats(w.stream)->warned);
}

static void test_streams_without_a_warning_look_at_nothing(void)
{
    struct stream_config c = WITH("default", "100s", "warn", "0");

    open_warning(&c);
    TEST_ASSERT_NULL(w.stream->warn);
}

static void on_changed(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    (void)op;
    TEST_ASSERT_NULL(e);
    TEST_ASSERT_EQUAL_UINT64(1, count);
}

static void change(uint64_t seq, int64_t deadline_ns, bool infinite)
{
    struct stream_life_change c = {
        .seq = seq, .deadline_ns = deadline_ns, .infinite = infinite, .pinned = true};
    struct stream_op op = {.done = on_changed};

    stream_change_lives(w.stream, STREAM_LIFE_SET, &c, 1, &op);
    world_turns(&w);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_read_renews_what_is_used_by_more_than_a_64th);
    RUN_TEST(test_a_long_life_is_renewed_after_five_minutes);
    RUN_TEST(test_a_read_renews_the_writers_own_ttl_and_max_age);
    RUN_TEST(test_reads_of_other_streams_renew_nothing);
    RUN_TEST(test_a_deadline_set_by_hand_stays);
    RUN_TEST(test_a_read_does_not_keep_a_tombstone);
    RUN_TEST(test_a_renewal_is_there_after_a_restart);
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
    RUN_TEST(test_audit_leaves_no_letters);
    RUN_TEST(test_R003_09_each_message_is_told_of_once_before_it_ends);
    RUN_TEST(test_a_life_that_is_shorter_than_the_warning_has_none);
    RUN_TEST(test_a_renewed_message_is_told_of_again);
    RUN_TEST(test_after_a_restart_none_is_missed);
    RUN_TEST(test_thousands_of_warnings_take_several_turns_and_none_is_lost);
    RUN_TEST(test_nobody_is_told_where_nobody_listens);
    RUN_TEST(test_streams_without_a_warning_look_at_nothing);
    mf_buf_fini(&text);
    mf_buf_fini(&heard);
    return UNITY_END();
}
