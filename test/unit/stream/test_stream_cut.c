/* test_stream_cut.c: the power is cut after every change that a stream makes to its files.
 *
 * A few operations run one after the other on files that remember every change (crash_io.h).  From
 * each disk that a power cut may leave the stream is opened again, and must show exactly what it
 * showed after the last operation that was answered, or after the one under way: nothing in
 * between, such as a removal without its marker or a value beside the one it replaces. */
#include "support/crash_io.h"
#include "support/stream_world.h"

#include "base/clock.h"
#include "base/log.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

#define STEPS 16

static struct world w;
static struct stream_config cfg;
static char *subjects[] = {(char *)"k.>"};

/* What the stream showed after each operation, and how many changes it had made by then. */
static char *shown[STEPS];
static uint64_t changes[STEPS];
static size_t steps;

void setUp(void)
{
    struct store_io *io;
    struct mf_error e;

    world_init(&w);
    TEST_ASSERT_EQUAL_INT(0, crash_io_new(&io, NULL, &e));
    world_files(&w, io);
    cfg = (struct stream_config){.name = (char *)"S",
                                 .subjects = {subjects, 1},
                                 .allow_msg_ttl = true,
                                 .subject_delete_marker_ttl_ns = 1000 * CLOCK_S};
    steps = 0;
}

void tearDown(void)
{
    while (steps > 0)
        free(shown[--steps]);
    world_fini(&w);
}

/* Every message, a line each. */
static char *all_of(struct world *x)
{
    struct mf_buf b = MF_BUF_INIT;

    for (uint64_t seq = stream_next(x->stream, 0); seq != 0; seq = stream_next(x->stream, seq + 1))
        mf_buf_printf(&b, "%llu %s\n", (unsigned long long)seq, world_message(x, seq));
    mf_buf_byte(&b, '\0');
    TEST_ASSERT_FALSE(mf_buf_failed(&b));
    return (char *)b.ptr;
}

/* An operation was answered. */
static void step(void)
{
    TEST_ASSERT_TRUE(steps < STEPS);
    world_turns(&w);
    shown[steps] = all_of(&w);
    changes[steps++] = crash_io_ops(w.io);
}

static void put(const char *subject, const char *lines, const char *payload)
{
    struct world_ack a = world_publish(&w, subject, lines, payload);

    TEST_ASSERT_EQUAL_STRING("", a.text);
    step();
}

/* Opens the stream on the disk of one cut; `done` operations were answered before it. */
static void look(uint64_t at, enum crash_mode mode, uint64_t seed, size_t done)
{
    struct world x;
    struct store_io *disk;
    char text[200], what[300];

    world_init(&x);
    TEST_ASSERT_EQUAL_INT(0, crash_io_image(w.io, at, mode, seed, &disk));
    world_files(&x, disk);
    world_open(&x, &cfg); /* at the time of the beginning: nothing is overdue */
    char *now = all_of(&x);
    snprintf(what, sizeof what, "cut %llu, %s, after: %s; answered: %zu operations",
             (unsigned long long)at, crash_mode_name(mode),
             crash_io_describe(w.io, at, text, sizeof text), done);
    if (done == steps || strcmp(now, shown[done]) != 0)
        TEST_ASSERT_EQUAL_STRING_MESSAGE(shown[done - 1], now, what);
    free(now);
    world_kill(&x);
    world_fini(&x);
}

/* From the first answer on. */
static void cut_everywhere(void)
{
    uint64_t looked = 0;
    size_t done = 1;

    for (uint64_t at = changes[0]; at <= crash_io_ops(w.io); at++) {
        struct crash_unsynced u;
        while (done < steps && changes[done] <= at)
            done++;
        TEST_ASSERT_EQUAL_INT(0, crash_io_unsynced(w.io, at, &u));
        for (int mode = 0; mode < (u.writes + u.names == 0 ? 1 : (int)CRASH_MODES); mode++)
            for (uint64_t seed = 0; seed < 32; seed++, looked++)
                look(at, (enum crash_mode)mode, seed, done);
    }
    TEST_ASSERT_GREATER_THAN_UINT64(50, looked);
}

/* Long enough that a marker and what it tells of lie in different sectors. */
static const char *long_subject(const char *head)
{
    static char text[700];

    snprintf(text, sizeof text, "%s%0600d", head, 0);
    return text;
}

static void test_value_replaces_the_one_before_as_one(void)
{
    cfg.max_msgs_per_subject = 1;
    world_open(&w, &cfg);
    put("k.a", NULL, "1");
    put("k.a", NULL, "2");
    put(long_subject("k.b"), NULL, "3");
    put(long_subject("k.b"), NULL, "4");
    cut_everywhere();
}

static void test_rollup_is_one_with_what_it_replaces(void)
{
    cfg.allow_rollup = true;
    world_open(&w, &cfg);
    put("k.a", NULL, "1");
    put("k.a", NULL, "2");
    put("k.b", NULL, "3");
    put("k.a", "Nats-Rollup: sub\r\n", "4");
    put("k.b", "Nats-Rollup: all\r\n", "5");
    cut_everywhere();
}

static void test_push_out_is_one_with_what_pushes(void)
{
    cfg.max_msgs = 2;
    world_open(&w, &cfg);
    put("k.a", NULL, "1");
    put("k.b", NULL, "2");
    put("k.c", NULL, "3");
    put(long_subject("k.d"), NULL, "4");
    cut_everywhere();
}

static void test_removal_has_its_marker(void)
{
    world_open(&w, &cfg);
    put("k.a", NULL, "1");
    put(long_subject("k.b"), NULL, "2");
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, 1));
    step();
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, 2));
    step();
    cut_everywhere();
}

static void test_purge_has_its_markers(void)
{
    world_open(&w, &cfg);
    put("k.a", NULL, "1");
    put("k.b", NULL, "2");
    put(long_subject("k.c"), NULL, "3");
    TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "k.*", 0, 0, NULL));
    step();
    cut_everywhere();
}

static void test_death_has_its_marker(void)
{
    world_open(&w, &cfg);
    put("k.a", "Nats-TTL: 2000\r\n", "1");
    put(long_subject("k.b"), "Nats-TTL: 2000\r\n", "2");
    put("k.c", NULL, "3");
    world_time(&w, w.now_ns + 2001 * CLOCK_S);
    step();
    cut_everywhere();
}

static void test_death_has_its_letter(void)
{
    static char *both[] = {(char *)"k.>", (char *)"dead.k.>"};
    static struct json_pair keys[] = {{(char *)"mayfly.ttl.default", (char *)"2000s"},
                                      {(char *)"mayfly.ttl.on_expire", (char *)"dead"}};

    cfg.subjects = (struct json_strs){both, 2};
    cfg.metadata = (struct json_map){keys, 2, true};
    world_open(&w, &cfg);
    put("k.a", NULL, "1");
    put(long_subject("k.b"), NULL, "2");
    world_time(&w, w.now_ns + 2001 * CLOCK_S);
    step();
    cut_everywhere();
}

/* One that a publish finds before the sweep does. */
static void test_death_that_a_publish_finds_has_its_marker(void)
{
    world_open(&w, &cfg);
    put("k.a", "Nats-TTL: 2000\r\n", "1");
    put(long_subject("k.b"), "Nats-TTL: 2000\r\n", "2");
    cut_everywhere(); /* what follows are two batches: the marker, and the value after it */
    uint64_t before = crash_io_ops(w.io);
    w.now_ns += 2001 * CLOCK_S;
    TEST_ASSERT_EQUAL_STRING("", world_publish(&w, long_subject("k.b"), NULL, "3").text);
    world_turns(&w);
    for (uint64_t at = before; at <= crash_io_ops(w.io); at++) {
        struct store_io *disk;
        struct world x;
        world_init(&x);
        TEST_ASSERT_EQUAL_INT(0, crash_io_image(w.io, at, CRASH_PREFIX, at, &disk));
        world_files(&x, disk);
        x.now_ns = w.now_ns;
        world_open(&x, &cfg);
        world_time(&x, x.now_ns);
        /* Both are dead by now, and each has exactly one marker, whoever wrote it. */
        char *now = all_of(&x);
        int markers = 0;
        for (char *p = now; (p = strstr(p, "Nats-Marker-Reason: MaxAge")) != NULL; p++)
            markers++;
        TEST_ASSERT_EQUAL_INT_MESSAGE(2, markers, now);
        free(now);
        world_kill(&x);
        world_fini(&x);
    }
}

int main(void)
{
    struct mf_error e;

    /* A torn tail at nearly every start: they say so. */
    if (log_open(&(struct log_options){.file = "/dev/null"}, &e) != 0)
        return 1;
    UNITY_BEGIN();
    RUN_TEST(test_value_replaces_the_one_before_as_one);
    RUN_TEST(test_rollup_is_one_with_what_it_replaces);
    RUN_TEST(test_push_out_is_one_with_what_pushes);
    RUN_TEST(test_removal_has_its_marker);
    RUN_TEST(test_purge_has_its_markers);
    RUN_TEST(test_death_has_its_marker);
    RUN_TEST(test_death_has_its_letter);
    RUN_TEST(test_death_that_a_publish_finds_has_its_marker);
    log_close();
    return UNITY_END();
}
