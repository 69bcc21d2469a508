/* test_lifetime.c: the TTL policy on the way into a stream, and deadlines that are set by hand. */
#include "stream/lifetime_impl.h"
#include "support/stream_world.h"

#include "base/clock.h"

#include "unity.h"

#include <stdio.h>

static struct world w;
static char *subjects[] = {(char *)"k.>"};
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
    struct stream_config c = {.name = (char *)"S", .subjects = {subjects, 1}};

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

/* Seconds from its timestamp to its end; 0: none; -1: it is not there. */
static int64_t life(uint64_t seq)
{
    struct stream_msg m;
    int64_t s = -1;

    if (stream_get(w.stream, seq, &m) == 0) {
        s = m.deadline_ns == 0 ? 0 : (m.deadline_ns - m.ts_ns) / CLOCK_S;
        stream_msg_end(&m);
    }
    return s;
}

static struct stream_lifetime state(uint64_t seq)
{
    struct stream_lifetime l = {.deadline_ns = -1};

    (void)!stream_lifetime(w.stream, seq, &l);
    return l;
}

static void refused(const char *subject, const char *lines, const char *text)
{
    struct world_ack a = world_publish(&w, subject, lines, "x");

    TEST_ASSERT_EQUAL_INT(10165, a.err_code);
    TEST_ASSERT_EQUAL_STRING(text, a.text);
}

/* --- on the way in ---------------------------------------------------------------------------- */

static void test_R000_33_client_then_default(void)
{
    struct stream_config c = WITH("default", "24h");

    world_open(&w, &c);
    TEST_ASSERT_EQUAL_INT64(86400, life(put("k.a", NULL)));
    TEST_ASSERT_EQUAL_INT64(60, life(put("k.a", "Nats-TTL: 60\r\n")));
    TEST_ASSERT_EQUAL_UINT64(1, stream_ttl_stats(w.stream)->decided[POLICY_BY_DEFAULT]);
    TEST_ASSERT_EQUAL_UINT64(1, stream_ttl_stats(w.stream)->decided[POLICY_BY_CLIENT]);
}

/* The server decides alone: the policy does not need allow_msg_ttl. */
static void test_policy_works_where_clients_may_not_send_ttls(void)
{
    struct stream_config c = WITH("default", "10s");

    c.allow_msg_ttl = false;
    world_open(&w, &c);
    TEST_ASSERT_EQUAL_INT64(10, life(put("k.a", NULL)));
    TEST_ASSERT_EQUAL_INT(10166, world_publish(&w, "k.a", "Nats-TTL: 5\r\n", "x").err_code);
}

static void test_a_message_stays_as_it_was_published(void)
{
    struct stream_config c = WITH("default", "10s");

    world_open(&w, &c);
    uint64_t plain = put("k.a", NULL), own = put("k.b", "A: b\r\nNats-TTL: 5\r\n");
    TEST_ASSERT_EQUAL_STRING("k.a||x", world_message(&w, plain));
    TEST_ASSERT_EQUAL_STRING("k.b|A: b,Nats-TTL: 5|x", world_message(&w, own));
}

static void test_R000_28_never_is_denied_where_a_policy_governs(void)
{
    struct stream_config c = WITH("default", "10s");

    world_open(&w, &c);
    refused("k.a", "Nats-TTL: never\r\n", "invalid per-message TTL: never is not allowed here");
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
    TEST_ASSERT_EQUAL_UINT64(1, stream_ttl_stats(w.stream)->rejected);
}

static void test_never_is_infinite_where_it_is_allowed(void)
{
    struct stream_config c = WITH("default", "10s", "never", "allow");

    world_open(&w, &c);
    uint64_t seq = put("k.a", "Nats-TTL: never\r\n");
    TEST_ASSERT_EQUAL_INT64(0, life(seq));
    TEST_ASSERT_TRUE(state(seq).infinite);
    TEST_ASSERT_FALSE(state(seq).pinned);
}

static void test_R000_71_a_ttl_above_the_maximum_is_clamped_with_its_header(void)
{
    struct stream_config c = WITH("max", "24h");

    world_open(&w, &c);
    uint64_t seq = put("k.a", "A: b\r\nNats-TTL: 48h\r\n");
    TEST_ASSERT_EQUAL_INT64(86400, life(seq));
    TEST_ASSERT_EQUAL_STRING("k.a|A: b,Nats-TTL: 86400|x", world_message(&w, seq));
    TEST_ASSERT_EQUAL_UINT64(1, stream_ttl_stats(w.stream)->clamped);
}

static void test_a_ttl_outside_the_bounds_is_refused_where_bounds_reject(void)
{
    struct stream_config c = WITH("max", "24h", "min", "10s", "bounds", "reject");

    world_open(&w, &c);
    refused("k.a", "Nats-TTL: 48h\r\n",
            "invalid per-message TTL: 48h0m0s is above the maximum of 24h0m0s");
    refused("k.a", "Nats-TTL: 5\r\n", "invalid per-message TTL: 5s is below the minimum of 10s");
    TEST_ASSERT_EQUAL_INT64(86400, life(put("k.a", NULL))); /* a bound is not evaded by silence */
}

/* Nothing a writer or reader can see changes; the counters tell what would. */
static void test_R000_77_audit_stores_what_the_writer_said(void)
{
    struct stream_config c =
        WITH("default", "10s", "max", "1h", "bounds", "reject", "enforce", "audit");

    world_open(&w, &c);
    TEST_ASSERT_EQUAL_INT64(0, life(put("k.a", NULL)));
    TEST_ASSERT_EQUAL_INT64(7200, life(put("k.a", "Nats-TTL: 2h\r\n")));
    TEST_ASSERT_EQUAL_INT64(0, life(put("k.a", "Nats-TTL: never\r\n")));
    const struct stream_ttl_stats *t = stream_ttl_stats(w.stream);
    TEST_ASSERT_EQUAL_UINT64(1, t->would_set);
    TEST_ASSERT_EQUAL_UINT64(2, t->would_reject);
    TEST_ASSERT_EQUAL_UINT64(0, t->rejected + t->clamped);
}

static void test_enforce_off_is_plain_jetstream(void)
{
    struct stream_config c = WITH("default", "10s", "enforce", "off");

    world_open(&w, &c);
    TEST_ASSERT_EQUAL_INT64(0, life(put("k.a", NULL)));
    TEST_ASSERT_NULL(w.stream->governor);
    TEST_ASSERT_NOT_NULL(stream_policy(w.stream));
}

static void test_R000_64_deadlines_of_a_policy_survive_a_kill(void)
{
    struct stream_config c = WITH("default", "100s", "never", "allow");

    world_open(&w, &c);
    uint64_t a = put("k.a", NULL), b = put("k.b", "Nats-TTL: never\r\n");
    world_kill(&w);
    world_open(&w, &c);
    TEST_ASSERT_EQUAL_INT64(100, life(a));
    TEST_ASSERT_TRUE(state(b).infinite);
}

/* A newer server wrote it: the stream opens, publishes go on, nothing is lost. */
static void test_a_policy_that_is_not_understood_is_not_in_force(void)
{
    struct stream_config c = WITH("default", "10s", "colour", "blue");
    struct policy *p = NULL;

    TEST_ASSERT_EQUAL_INT(0, lifetime_compile(&c, &w.host, &p));
    TEST_ASSERT_EQUAL_STRING("unknown TTL policy key \"mayfly.ttl.colour\"",
                             policy_view(p)->invalid);
    TEST_ASSERT_FALSE(policy_view(p)->active);
    policy_free(p);
}

/* --- scope: subject ----------------------------------------------------------------------------
 */

static struct stream_config with_history(int64_t n)
{
    struct stream_config c = WITH("default", "100s");

    c.max_msgs_per_subject = n;
    return c;
}

/* An older value never comes back when the newest one ends. */
static void test_R003_07_an_older_message_ends_with_the_newer_one(void)
{
    struct stream_config c = with_history(5);

    world_open(&w, &c);
    uint64_t a = put("k.a", NULL), b = put("k.a", "Nats-TTL: 200\r\n");
    TEST_ASSERT_EQUAL_INT64(100, life(a));
    uint64_t last = put("k.a", "Nats-TTL: 10\r\n");
    TEST_ASSERT_EQUAL_INT64(state(last).deadline_ns, state(a).deadline_ns);
    TEST_ASSERT_EQUAL_INT64(state(last).deadline_ns, state(b).deadline_ns);
    w.now_ns = state(last).deadline_ns; /* not swept yet */
    TEST_ASSERT_EQUAL_UINT64(0, stream_last_of(w.stream, MF_LIT("k.a")));
    world_time(&w, w.now_ns + 1);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
}

static void test_scope_message_leaves_older_messages_alone(void)
{
    struct stream_config c = WITH("default", "100s", "scope", "message");

    c.max_msgs_per_subject = 5;
    world_open(&w, &c);
    uint64_t a = put("k.a", NULL);
    (void)put("k.a", "Nats-TTL: 10\r\n");
    TEST_ASSERT_EQUAL_INT64(100, life(a));
}

/* --- by hand ------------------------------------------------------------------------------------
 */

static struct js_error told;
static uint64_t changed;
static void on_changed(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    (void)op;
    told = e == NULL ? (struct js_error){0} : *e;
    changed = count;
}

static struct stream_deadline_change change(uint64_t seq, int64_t seconds, bool infinite)
{
    struct stream_op op = {.done = on_changed};
    struct stream_deadline_change c = {.seq = seq,
                                       .deadline_ns = infinite ? 0 : w.now_ns + seconds * CLOCK_S,
                                       .infinite = infinite,
                                       .pinned = true};

    changed = UINT64_MAX;
    stream_change_deadlines(w.stream, infinite ? STREAM_LIFE_PERSIST : STREAM_LIFE_SET, &c, 1, &op);
    world_turns(&w);
    TEST_ASSERT_TRUE(changed != UINT64_MAX);
    return c;
}

static void test_R000_53_a_message_made_infinite_stays_so_after_a_kill(void)
{
    struct stream_config c = WITH("default", "10s");

    world_open(&w, &c);
    uint64_t seq = put("k.a", NULL);
    (void)change(seq, 0, true);
    world_kill(&w);
    world_open(&w, &c);
    world_time(&w, w.now_ns + 1000 * CLOCK_S);
    TEST_ASSERT_EQUAL_INT64(0, life(seq));
    TEST_ASSERT_TRUE(state(seq).infinite && state(seq).pinned);
}

static void test_nothing_brings_back_what_is_past_its_deadline(void)
{
    struct stream_config c = WITH("default", "10s");

    world_open(&w, &c);
    uint64_t seq = put("k.a", NULL);
    w.now_ns += 10 * CLOCK_S; /* not swept yet */
    TEST_ASSERT_FALSE(change(seq, 0, true).done);
    TEST_ASSERT_EQUAL_UINT64(0, changed);
    TEST_ASSERT_EQUAL_INT64(-1, life(seq));
}

static void test_an_end_in_the_past_ends_it_at_once(void)
{
    struct stream_config c = WITH("default", "10s");

    c.subject_delete_marker_ttl_ns = 5 * CLOCK_S;
    world_open(&w, &c);
    uint64_t seq = put("k.a", NULL);
    (void)change(seq, -5, false);
    world_time(&w, w.now_ns + 1);
    TEST_ASSERT_EQUAL_INT64(-1, life(seq));
    TEST_ASSERT_NOT_NULL(strstr(world_message(&w, seq + 1), "Nats-Marker-Reason: MaxAge"));
}

/* An old revision cannot outlive the newest one, and cutting that one short takes it along. */
static void test_scope_holds_for_deadlines_set_by_hand(void)
{
    struct stream_config c = with_history(5);

    world_open(&w, &c);
    uint64_t a = put("k.a", NULL), b = put("k.a", NULL);
    int64_t end = state(b).deadline_ns;
    TEST_ASSERT_TRUE(change(a, 0, true).cut);
    TEST_ASSERT_EQUAL_INT64(end, state(a).deadline_ns);
    TEST_ASSERT_FALSE(change(b, 3, false).cut);
    TEST_ASSERT_EQUAL_INT64(state(b).deadline_ns, state(a).deadline_ns);
    TEST_ASSERT_EQUAL_INT64(w.now_ns + 3 * CLOCK_S, state(b).deadline_ns);
}

static void test_a_sealed_stream_refuses_changes(void)
{
    struct stream_config c = WITH("default", "10s");

    c.sealed = true;
    world_open(&w, &c);
    (void)change(1, 10, false);
    TEST_ASSERT_EQUAL_INT(10109, told.err_code);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_R000_33_client_then_default);
    RUN_TEST(test_policy_works_where_clients_may_not_send_ttls);
    RUN_TEST(test_a_message_stays_as_it_was_published);
    RUN_TEST(test_R000_28_never_is_denied_where_a_policy_governs);
    RUN_TEST(test_never_is_infinite_where_it_is_allowed);
    RUN_TEST(test_R000_71_a_ttl_above_the_maximum_is_clamped_with_its_header);
    RUN_TEST(test_a_ttl_outside_the_bounds_is_refused_where_bounds_reject);
    RUN_TEST(test_R000_77_audit_stores_what_the_writer_said);
    RUN_TEST(test_enforce_off_is_plain_jetstream);
    RUN_TEST(test_R000_64_deadlines_of_a_policy_survive_a_kill);
    RUN_TEST(test_a_policy_that_is_not_understood_is_not_in_force);
    RUN_TEST(test_R003_07_an_older_message_ends_with_the_newer_one);
    RUN_TEST(test_scope_message_leaves_older_messages_alone);
    RUN_TEST(test_R000_53_a_message_made_infinite_stays_so_after_a_kill);
    RUN_TEST(test_nothing_brings_back_what_is_past_its_deadline);
    RUN_TEST(test_an_end_in_the_past_ends_it_at_once);
    RUN_TEST(test_scope_holds_for_deadlines_set_by_hand);
    RUN_TEST(test_a_sealed_stream_refuses_changes);
    return UNITY_END();
}
