/* test_stream_model.c: a stream against a naive model of it: random publishes, expectations,
 * rollups, removals, purges, steps of the clock, kills and reopens.  After each step both must hold
 * the same messages, and the same markers. */
#include "stream/stream_impl.h"
#include "support/stream_world.h"

#include "base/clock.h"
#include "base/rand.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

#define STEPS    1500
#define SUBJECTS 6
#define MARKER_S 3

struct message {
    bool there, tombstone, marker;
    int subject;
    int64_t deadline_ns; /* 0: never */
    char text[200];      /* as world_message() writes it */
};

static struct world w;
static struct message model[4 * STEPS]; /* by sequence */
static uint64_t last;
static int per_subject;
static uint64_t dice_state;
static char *subjects[] = {(char *)"k.>"};

void setUp(void)
{
    world_init(&w);
    last = 0;
}

void tearDown(void)
{
    world_fini(&w);
}

static unsigned dice(unsigned n)
{
    dice_state = dice_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(dice_state >> 33) % n;
}

static void open_again(void)
{
    struct stream_config c = {.name = (char *)"S",
                              .subjects = {subjects, 1},
                              .allow_msg_ttl = true,
                              .max_msgs_per_subject = per_subject,
                              .subject_delete_marker_ttl_ns = MARKER_S * CLOCK_S};

    world_open(&w, &c);
}

/* --- the model ------------------------------------------------------------------------------ */

static uint64_t model_last(int subject)
{
    for (uint64_t seq = last; seq > 0; seq--)
        if (model[seq].there && model[seq].subject == subject)
            return seq;
    return 0;
}

static void model_add(int subject, int64_t deadline_ns, bool tombstone, const char *text)
{
    struct message *m = &model[++last];

    *m = (struct message){true, tombstone, false, subject, deadline_ns, ""};
    snprintf(m->text, sizeof m->text, "%s", text);
}

static void model_mark(int subject, const char *reason)
{
    char text[200];

    snprintf(text, sizeof text, "k.%d|Nats-Marker-Reason: %s,Nats-TTL: %ds,Nats-Rollup: sub|",
             subject, reason, MARKER_S);
    model_add(subject, w.now_ns + MARKER_S * CLOCK_S, true, text);
    model[last].marker = true;
}

static void model_remove(uint64_t seq, const char *reason)
{
    model[seq].there = false;
    if (reason != NULL && !model[seq].tombstone && model_last(model[seq].subject) == 0)
        model_mark(model[seq].subject, reason);
}

/* By deadline, then by sequence. */
static void model_expire(void)
{
    for (;;) {
        uint64_t next = 0;
        for (uint64_t seq = 1; seq <= last; seq++)
            if (model[seq].there && model[seq].deadline_ns != 0 &&
                model[seq].deadline_ns <= w.now_ns &&
                (next == 0 || model[seq].deadline_ns < model[next].deadline_ns))
                next = seq;
        if (next == 0)
            return;
        model_remove(next, "MaxAge");
    }
}

static void model_stored(int subject, bool rollup)
{
    uint64_t count = 0;

    for (uint64_t seq = last; seq > 0; seq--)
        if (model[seq].there && model[seq].subject == subject) {
            count++;
            if (count > 1 && (rollup || (per_subject > 0 && count > (uint64_t)per_subject)))
                model[seq].there = false;
        }
}

/* --- steps ---------------------------------------------------------------------------------- */

static void compare(void)
{
    uint64_t count = 0;

    for (uint64_t seq = 1; seq <= last; seq++) {
        TEST_ASSERT_EQUAL_STRING(model[seq].there ? model[seq].text : "", world_message(&w, seq));
        count += model[seq].there;
    }
    TEST_ASSERT_EQUAL_UINT64(count, world_count(&w));
    TEST_ASSERT_EQUAL_UINT64(0, stream_next(w.stream, last + 1));
}

/* A marker's time is the stream's to choose, to the nanosecond. */
static void learn_times(uint64_t from)
{
    struct stream_msg m;

    for (uint64_t seq = from; seq <= last; seq++)
        if (model[seq].marker && stream_get(w.stream, seq, &m) == 0) {
            model[seq].deadline_ns = m.ts_ns + MARKER_S * CLOCK_S;
            stream_msg_end(&m);
        }
}

/* Nothing is swept before it: the publish itself has to put the markers in front. */
static void step_publish(void)
{
    int subject = (int)dice(SUBJECTS), ttl = (int)dice(4) == 0 ? 0 : MARKER_S + (int)dice(20);
    bool rollup = dice(8) == 0, del = dice(6) == 0;
    char lines[200], name[16], text[200], payload[16];
    size_t n = 0;

    model_expire();
    uint64_t expected = model_last(subject) + (dice(4) == 0);
    bool expects = dice(3) == 0;
    lines[0] = '\0';
    if (del)
        n += (size_t)snprintf(lines + n, sizeof lines - n, "KV-Operation: DEL\r\n");
    if (rollup)
        n += (size_t)snprintf(lines + n, sizeof lines - n, "Nats-Rollup: sub\r\n");
    if (expects)
        n += (size_t)snprintf(lines + n, sizeof lines - n,
                              "Nats-Expected-Last-Subject-Sequence: %llu\r\n",
                              (unsigned long long)expected);
    if (ttl > 0)
        n += (size_t)snprintf(lines + n, sizeof lines - n, "Nats-TTL: %d\r\n", ttl);
    snprintf(name, sizeof name, "k.%d", subject);
    char *rest;
    snprintf(payload, sizeof payload, "%u", dice(1000));
    struct world_ack a = world_publish(&w, name, n > 0 ? lines : NULL, payload);
    if (expects && expected != model_last(subject)) {
        TEST_ASSERT_EQUAL_INT(10071, a.err_code);
        return;
    }
    TEST_ASSERT_EQUAL_STRING("", a.text);
    n = (size_t)snprintf(text, sizeof text, "%s|", name);
    for (char *line = strtok_r(lines, "\r\n", &rest), *sep = (char *)""; line != NULL;
         line = strtok_r(NULL, "\r\n", &rest), sep = (char *)",")
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", sep, line);
    snprintf(text + n, sizeof text - n, "|%s", payload);
    struct stream_msg m;
    TEST_ASSERT_EQUAL_INT(0, stream_get(w.stream, a.seq, &m));
    model_add(subject, ttl > 0 ? m.ts_ns + ttl * CLOCK_S : 0, del, text);
    stream_msg_end(&m);
    TEST_ASSERT_EQUAL_UINT64(last, a.seq);
    model_stored(subject, rollup);
}

static void step_remove(void)
{
    uint64_t seq = last == 0 ? 1 : 1 + dice((unsigned)last);

    /* What is dead elsewhere may be swept now or later, which decides the numbers: now. */
    world_time(&w, w.now_ns);
    model_expire();
    bool there = seq <= last && model[seq].there;
    TEST_ASSERT_EQUAL(there, world_remove(&w, seq) == 0);
    if (there)
        model_remove(seq, "Remove");
}

static void step_purge(void)
{
    int subject = (int)dice(SUBJECTS);
    uint64_t end = 0, newest = 0, n = 0, purged,
             below = dice(2) == 0 ? 0 : 1 + dice((unsigned)last + 1);
    char name[16];

    world_time(&w, w.now_ns);
    model_expire();
    snprintf(name, sizeof name, "k.%d", subject);
    end = below > 0 ? below : last + 1;
    for (uint64_t seq = 1; seq < end && seq <= last; seq++)
        if (model[seq].there && model[seq].subject == subject) {
            model[seq].there = false;
            newest = seq;
            n++;
        }
    if (newest != 0)
        model_remove(newest, "Purge");
    TEST_ASSERT_EQUAL_INT(0, world_purge(&w, name, below, 0, &purged));
    TEST_ASSERT_EQUAL_UINT64(n, purged);
}

static void step(void)
{
    switch (dice(16)) {
    case 0:
        step_remove();
        break;
    case 1:
        step_purge();
        break;
    case 2:
        w.now_ns += dice(5) * CLOCK_S + dice(1000) * 1000000;
        break; /* whoever comes next finds the dead */
    case 3:
        w.now_ns += dice(12) * CLOCK_S;
        world_time(&w, w.now_ns);
        model_expire();
        break;
    case 4:
        if (dice(4) == 0) {
            world_kill(&w);
            open_again(); /* what was dead and not swept is swept now */
            world_time(&w, w.now_ns);
            model_expire();
        }
        break;
    default:
        step_publish();
    }
}

static void run(int limit, uint64_t seed)
{
    per_subject = limit;
    dice_state = seed;
    printf("seed %llu\n", (unsigned long long)seed);
    open_again();
    for (int i = 0; i < STEPS; i++) {
        uint64_t known = last;
        step();
        learn_times(known + 1);
        if (i % 8 == 0) {
            world_time(&w, w.now_ns);
            known = last;
            model_expire();
            learn_times(known + 1);
            compare();
        }
    }
}

static void test_stream_without_limits_is_its_model(void)
{
    run(-1, rand_fast());
}

static void test_stream_of_single_values_is_its_model(void)
{
    run(1, rand_fast());
}

static void test_stream_with_history_is_its_model(void)
{
    run(3, rand_fast());
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_stream_without_limits_is_its_model);
    RUN_TEST(test_stream_of_single_values_is_its_model);
    RUN_TEST(test_stream_with_history_is_its_model);
    return UNITY_END();
}
