/* test_source.c: the pure parts of following a stream: names, requests, marks, replies, and which
 * message is the next one. */
#include "source/track_impl.h"

#include "codec/sha256.h"

#include <stdio.h>

#include "unity.h"

static struct mf_buf out;

void setUp(void)
{
    out = MF_BUF_INIT;
}

void tearDown(void)
{
    mf_buf_fini(&out);
}

static const char *text(void)
{
    return mf_buf_cstr(&out);
}

/* --- names ------------------------------------------------------------------------------------ */

static struct stream_source plain = {.name = (char *)"O"};
static struct stream_source filtered = {.name = (char *)"O", .filter_subject = (char *)"a.>"};
static struct stream_mapping two_maps[] = {{(char *)"a.*", (char *)"b.$1"},
                                           {(char *)"c.>", (char *)""}};
static struct stream_source mapped = {.name = (char *)"O", .transforms = {two_maps, 2}};
static struct stream_source one_map = {.name = (char *)"O", .transforms = {two_maps, 1}};
static struct stream_external hub = {(char *)"$JS.hub.API", (char *)"deliver.me."};
static struct stream_source_consumer durable = {(char *)"dur", (char *)"to.me"};
static struct stream_source external = {.name = (char *)"O", .external = &hub};
static struct stream_source premade = {.name = (char *)"O", .external = &hub, .consumer = &durable};

static void test_an_index_tells_sources_apart(void)
{
    static const struct {
        const struct stream_source *src;
        const char *index;
    } rows[] = {
        {&plain, "O > >"},
        {&filtered, "O a.> >"},
        {&mapped, "O a.*\fc.> b.$1\f>"},
        {&external, "O:bTMUkJQk > >"},
        {&premade, "O:bTMUkJQk:C=lS2bloCe > >"},
    };

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        mf_buf_clear(&out);
        upstream_index(&out, rows[i].src);
        TEST_ASSERT_EQUAL_STRING(rows[i].index, text());
    }
}

static void assert_consumer(const char *name, const char *domain, bool mirror,
                            const struct stream_source *src, const struct json_objects *siblings)
{
    struct upstream_who who = {"M", "$G", domain, mirror};
    char got[UPSTREAM_NAME];

    TEST_ASSERT_EQUAL_INT(0, upstream_consumer(got, &who, src, siblings));
    TEST_ASSERT_EQUAL_STRING(name, got);
}

static void test_a_consumer_has_the_same_name_each_time(void)
{
    struct stream_source *once[] = {&plain}, *twice[] = {&plain, &filtered};
    struct json_objects alone = {once, 1}, both = {twice, 2};

    assert_consumer("JS_MIRROR_ih8eMwqr", NULL, true, &plain, NULL);
    assert_consumer("JS_MIRROR_CLWpCkl6", "hub", true, &plain, NULL);
    assert_consumer("JS_SRC_3nPB4eeG", "", false, &filtered, &alone);
    assert_consumer("JS_SRC_vG4iEoX0", NULL, false, &filtered, &both);
}

/* --- requests --------------------------------------------------------------------------------- */

static void test_subjects_begin_with_the_prefix_of_the_origin(void)
{
    struct upstream_who mirror = {"M", "A", NULL, true}, source = {"M", "A", NULL, false};
    struct stream_external odd = {(char *)"$JS.hub.API.", NULL};
    struct stream_source dotted = {.name = (char *)"O", .external = &odd};

    upstream_subject(&out, &mirror, &plain, "CONSUMER.CREATE", NULL, NULL);
    mf_buf_byte(&out, '|');
    upstream_subject(&out, &mirror, &filtered, "CONSUMER.CREATE", "N", upstream_filter(&filtered));
    mf_buf_byte(&out, '|');
    upstream_subject(&out, &mirror, &dotted, "CONSUMER.DELETE", "N", NULL);
    TEST_ASSERT_EQUAL_STRING("$JS.API.CONSUMER.CREATE.O|$JS.API.CONSUMER.CREATE.O.N.a.>|"
                             "$JS.hub.API.CONSUMER.DELETE.O.N",
                             text());
    mf_buf_clear(&out);
    upstream_deliver(&out, &mirror, &plain, "12345678");
    mf_buf_byte(&out, '|');
    upstream_deliver(&out, &source, &external, "12345678");
    mf_buf_byte(&out, '|');
    upstream_deliver(&out, &source, &dotted, "12345678");
    TEST_ASSERT_EQUAL_STRING("$JS.M.12345678|deliver.me.S.12345678|$JS.S.12345678", text());
    TEST_ASSERT_NULL(upstream_filter(&mapped));
    TEST_ASSERT_EQUAL_STRING("a.*", upstream_filter(&one_map));
}

/* Inside the server no mapping leads from the domain's name to the plain one. */
static void test_the_own_domain_has_the_plain_prefix(void)
{
    static const char *const apis[] = {"$JS.hub.API", "$JS.hub.API.", "$JS.hub2.API", "$JS.hu.API",
                                       "$JS.hub.APIX"};
    static const char *const want[] = {"$JS.API", "$JS.API", "$JS.hub2.API", "$JS.hu.API",
                                       "$JS.hub.APIX"};
    struct upstream_who who = {"M", "A", "hub", true};

    for (size_t i = 0; i < MF_COUNT(apis); i++) {
        struct stream_external x = {(char *)apis[i], NULL};
        struct stream_source src = {.name = (char *)"O", .external = &x};
        char full[64];
        mf_buf_clear(&out);
        upstream_subject(&out, &who, &src, "CONSUMER.RESET", "N", NULL);
        (void)snprintf(full, sizeof full, "%s.CONSUMER.RESET.O.N", want[i]);
        TEST_ASSERT_EQUAL_STRING(full, text());
    }
}

static void test_a_request_is_nats_servers(void)
{
    struct upstream_who who = {"M", "A", "hub", false};
    struct upstream_start from = {.seq = 7};

    upstream_create(&out, &who, &mapped, "JS_SRC_x", "$JS.S.y", &from, true);
    TEST_ASSERT_EQUAL_STRING(
        "{\"stream_name\":\"O\",\"config\":{\"name\":\"JS_SRC_x\",\"deliver_policy\":"
        "\"by_start_sequence\",\"opt_start_seq\":7,\"ack_policy\":\"none\",\"ack_wait\":"
        "79200000000000,\"max_deliver\":1,\"filter_subjects\":[\"a.*\",\"c.\\u003e\"],"
        "\"replay_policy\":\"instant\",\"flow_control\":true,\"deliver_subject\":\"$JS.S.y\","
        "\"idle_heartbeat\":1000000000,\"inactive_threshold\":10000000000,\"num_replicas\":0,"
        "\"direct\":true,\"sourcing\":true,\"metadata\":{\"_nats.src.acc\":\"A\","
        "\"_nats.src.domain\":\"hub\",\"_nats.src.stream\":\"M\"}},\"action\":\"\"}",
        text());
    mf_buf_clear(&out);
    from = (struct upstream_start){.by_time = true, .time_ns = 1000000000};
    who.mirror = true;
    upstream_create(&out, &who, &one_map, "N", "d", &from, false);
    TEST_ASSERT_NOT_NULL(strstr(text(), "\"deliver_policy\":\"by_start_time\",\"opt_start_time\":"
                                        "\"1970-01-01T00:00:01Z\""));
    TEST_ASSERT_NOT_NULL(strstr(text(), "\"filter_subject\":\"a.*\""));
    TEST_ASSERT_NULL(strstr(text(), "sourcing"));
    mf_buf_clear(&out);
    from = (struct upstream_start){.seq = 0};
    upstream_create(&out, &who, &plain, "N", "d", &from, true);
    TEST_ASSERT_NOT_NULL(strstr(text(), "\"deliver_policy\":\"all\",\"ack_policy\""));
}

static void test_answers_are_read(void)
{
    struct arena mem = {.chunks = NULL};
    struct upstream_answer a;

    TEST_ASSERT_EQUAL_INT(
        0, upstream_answer_read(MF_LIT("{\"type\":\"t\",\"stream_name\":\"O\",\"name\":\"N-1\","
                                       "\"config\":{\"deliver_subject\":\"d\",\"ack_policy\":"
                                       "\"none\",\"x\":[1]},\"delivered\":{\"consumer_seq\":3,"
                                       "\"stream_seq\":9},\"num_pending\":12}"),
                                &a, &mem));
    TEST_ASSERT_FALSE(a.refused);
    TEST_ASSERT_EQUAL_STRING("N-1", a.name);
    TEST_ASSERT_EQUAL_STRING("d", a.deliver_subject);
    TEST_ASSERT_EQUAL_STRING("none", a.ack_policy);
    TEST_ASSERT_EQUAL_UINT64(9, a.delivered);
    TEST_ASSERT_EQUAL_UINT64(12, a.pending);
    TEST_ASSERT_EQUAL_INT(0,
                          upstream_answer_read(MF_LIT("{\"error\":{\"code\":404,\"err_code\":10059,"
                                                      "\"description\":\"stream not found\"}}"),
                                               &a, &mem));
    TEST_ASSERT_TRUE(a.refused);
    TEST_ASSERT_EQUAL_UINT(10059, a.error.err_code);
    TEST_ASSERT_EQUAL_STRING("stream not found", a.error.text);
    TEST_ASSERT_EQUAL_INT(MF_INVAL, upstream_answer_read(MF_LIT("{\"name\":\"N\"}"), &a, &mem));
    TEST_ASSERT_EQUAL_INT(MF_INVAL, upstream_answer_read(MF_LIT("{"), &a, &mem));
    TEST_ASSERT_EQUAL_INT(MF_INVAL, upstream_answer_read(MF_SLICE_NONE, &a, &mem));
    arena_fini(&mem);
}

/* --- deliveries ------------------------------------------------------------------------------- */

static void test_replies_are_read_in_both_forms(void)
{
    static const char *const good[] = {"$JS.ACK.O.N.1.20.3.1700000000000000005.7",
                                       "$JS.ACK.hub.hash.O.N.1.20.3.1700000000000000005.7",
                                       "$JS.ACK._.hash.O.N.1.20.3.1700000000000000005.7.more"};
    static const char *const bad[] = {"",
                                      "$JS.ACK.O.N.1.20.3.17",
                                      "$JS.ACK.O.N.1.20.3.17.7.8",
                                      "$JS.ACK.O.N.x.20.3.17.7",
                                      "$JS.FC.O.N.1.20.3.17.7",
                                      "$JS.ACK.O.N.1.20.3.17.-7"};
    struct upstream_reply r;

    for (size_t i = 0; i < MF_COUNT(good); i++) {
        TEST_ASSERT_TRUE_MESSAGE(upstream_reply_read(mf_str(good[i]), &r), good[i]);
        TEST_ASSERT_TRUE(mf_eq_str(r.consumer, "N"));
        TEST_ASSERT_EQUAL_UINT64(1, r.deliveries);
        TEST_ASSERT_EQUAL_UINT64(20, r.sseq);
        TEST_ASSERT_EQUAL_UINT64(3, r.dseq);
        TEST_ASSERT_EQUAL_INT64(1700000000000000005, r.ts_ns);
        TEST_ASSERT_EQUAL_UINT64(7, r.pending);
    }
    for (size_t i = 0; i < MF_COUNT(bad); i++)
        TEST_ASSERT_FALSE_MESSAGE(upstream_reply_read(mf_str(bad[i]), &r), bad[i]);
}

static void test_a_mark_tells_where_a_message_is_from(void)
{
    upstream_mark(&out, MF_LIT("O > >"), 1, MF_LIT("o.a"), "aw6AcvjB");
    TEST_ASSERT_EQUAL_STRING("O 1 > > o.a aw6AcvjB", text());
    mf_buf_clear(&out);
    upstream_mark(&out, MF_LIT("O:h a.*\fc.> b.$1\f>"), 18446744073709551615u, MF_LIT("a.x"), "");
    TEST_ASSERT_EQUAL_STRING("O:h 18446744073709551615 a.*\fc.> b.$1\f> a.x", text());
}

static void test_marks_of_all_times_are_read(void)
{
    static const struct {
        const char *value;
        uint64_t seq; /* 0: not of this source */
        const char *ident;
    } rows[] = {
        {"O 12 a.> > a.b ident", 12, "ident"},
        {"O 12 a.> > a.b", 12, ""},
        {"O 12 a.> >", 12, ""},
        {"O 12", 12, ""},
        {"$JS.ACK.O.N.1.12.3.17.7", 12, ""},
        {"$JS.ACK.d.h.O.N.1.12.3.17.7", 12, ""},
        {"P 12 a.> > a.b ident", 0, ""},
        {"O 12 b.> > b.b ident", 0, ""},
        {"O 12 a.> c.> a.b ident", 0, ""},
        {"O x a.> > a.b ident", 0, ""},
        {"$JS.ACK.P.N.1.12.3.17.7", 0, ""},
        {"O", 0, ""},
        {"", 0, ""},
    };
    struct mf_slice ident;

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        uint64_t seq = 0;
        bool mine = upstream_mark_read(mf_str(rows[i].value), MF_LIT("O a.> >"), &seq, &ident);
        TEST_ASSERT_EQUAL_MESSAGE(rows[i].seq > 0, mine, rows[i].value);
        if (!mine)
            continue;
        TEST_ASSERT_EQUAL_UINT64_MESSAGE(rows[i].seq, seq, rows[i].value);
        TEST_ASSERT_TRUE_MESSAGE(mf_eq_str(ident, rows[i].ident), rows[i].value);
    }
}

static void test_headers_of_copies(void)
{
    static const struct {
        const char *from, *mark, *to;
    } rows[] = {
        {"", "", ""},
        {"NATS/1.0\r\nA: b\r\n\r\n", "", "NATS/1.0\r\nA: b\r\n\r\n"},
        {"NATS/1.0\r\nNats-Expected-Stream: O\r\n\r\n", "", ""},
        {"NATS/1.0\r\nA: b\r\nNats-Expected-Last-Msg-Id: x\r\nNats-Batch-Id: y\r\nC: d\r\n\r\n", "",
         "NATS/1.0\r\nA: b\r\nC: d\r\n\r\n"},
        {"NATS/1.0\r\nNats-Stream-Source: old\r\n\r\n", "",
         "NATS/1.0\r\nNats-Stream-Source: old\r\n\r\n"},
        {"", "O 1", "NATS/1.0\r\nNats-Stream-Source: O 1\r\n\r\n"},
        {"NATS/1.0\r\nNats-Stream-Source: old\r\nA: b\r\n\r\n", "O 1",
         "NATS/1.0\r\nA: b\r\nNats-Stream-Source: O 1\r\n\r\n"},
        {"NATS/1.0\r\nNats-Batch-Id: y\r\nA: Nats-Expected-\r\n\r\n", "O 1",
         "NATS/1.0\r\nA: Nats-Expected-\r\nNats-Stream-Source: O 1\r\n\r\n"},
        {"NATS/1.0\r\nA: b", "O 1", "NATS/1.0\r\nA: b\r\nNats-Stream-Source: O 1\r\n\r\n"},
        {"NATS/1.0", "O 1", "NATS/1.0\r\nNats-Stream-Source: O 1\r\n\r\n"},
    };

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        struct mf_slice got = upstream_header(&out, mf_str(rows[i].from), mf_str(rows[i].mark));
        TEST_ASSERT_EQUAL_size_t_MESSAGE(strlen(rows[i].to), got.len, rows[i].from);
        TEST_ASSERT_TRUE_MESSAGE(mf_eq_str(got, rows[i].to), rows[i].from);
    }
}

/* --- the next one ----------------------------------------------------------------------------- */

static enum track_verdict say(struct track *t, bool mirror, uint64_t sseq, uint64_t dseq)
{
    struct upstream_reply r = {.deliveries = 1, .sseq = sseq, .dseq = dseq};

    return track_message(t, mirror, &r);
}

static void assert_at(const struct track *t, uint64_t sseq, uint64_t dseq)
{
    TEST_ASSERT_EQUAL_UINT64(sseq, t->sseq);
    TEST_ASSERT_EQUAL_UINT64(dseq, t->dseq);
}

static void test_messages_in_order_are_taken_once(void)
{
    for (int mirror = 0; mirror <= 1; mirror++) {
        struct track t = {.sseq = 4};
        TEST_ASSERT_EQUAL(TRACK_IGNORE, say(&t, mirror, 3, 1)); /* known, but it was delivered */
        assert_at(&t, 4, 1);
        TEST_ASSERT_EQUAL_UINT64(3, t.at); /* that is what flow control may speak of */
        TEST_ASSERT_EQUAL(TRACK_NEXT, say(&t, mirror, 5, 2));
        TEST_ASSERT_EQUAL_UINT64(5, t.at);
        TEST_ASSERT_EQUAL(TRACK_IGNORE, say(&t, mirror, 5, 2));
        TEST_ASSERT_EQUAL(TRACK_NEXT, say(&t, mirror, 9, 3)); /* a gap of the upstream's */
        assert_at(&t, 9, 3);
        TEST_ASSERT_EQUAL(TRACK_LOST, say(&t, mirror, 11, 5)); /* one of the delivery's */
        assert_at(&t, 9, 3);
    }
}

static void test_what_is_delivered_again_is_of_no_meaning(void)
{
    struct track t = {.sseq = 4, .dseq = 1};
    struct upstream_reply r = {.deliveries = 2, .sseq = 5, .dseq = 2};

    TEST_ASSERT_EQUAL(TRACK_IGNORE, track_message(&t, true, &r));
    assert_at(&t, 4, 1);
}

static void test_a_mirrors_next_sequence_is_proof_enough(void)
{
    struct track mirror = {.sseq = 4, .dseq = 1}, source = mirror;

    TEST_ASSERT_EQUAL(TRACK_NEXT, say(&mirror, true, 5, 7));
    assert_at(&mirror, 5, 7);
    TEST_ASSERT_EQUAL(TRACK_LOST, say(&source, false, 5, 7));
    TEST_ASSERT_EQUAL(TRACK_IGNORE, say(&source, false, 6, 1)); /* of a consumer before */
    TEST_ASSERT_EQUAL(TRACK_LOST, say(&mirror, true, 9, 3));
}

static void test_heartbeats_tell_what_is_missing(void)
{
    struct track t = {.sseq = 4, .dseq = 3};

    TEST_ASSERT_EQUAL(TRACK_IGNORE, track_beat(&t, 3));
    TEST_ASSERT_EQUAL(TRACK_IGNORE, track_beat(&t, 0));
    TEST_ASSERT_EQUAL(TRACK_LOST, track_beat(&t, 4));
    TEST_ASSERT_EQUAL(TRACK_LOST, track_beat(&t, 2));
}

static void test_patience_grows_and_has_an_end(void)
{
    TEST_ASSERT_EQUAL_INT64(0, track_delay_ns(0));
    TEST_ASSERT_EQUAL_INT64(250000000, track_delay_ns(1));
    TEST_ASSERT_EQUAL_INT64(500000000, track_delay_ns(2));
    TEST_ASSERT_EQUAL_INT64(10000000000, track_delay_ns(7));
    TEST_ASSERT_EQUAL_INT64(10000000000, track_delay_ns(4000000000u));
    TEST_ASSERT_EQUAL_UINT64(0, track_lag(0));
    TEST_ASSERT_EQUAL_UINT64(0, track_lag(1));
    TEST_ASSERT_EQUAL_UINT64(41, track_lag(42));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_an_index_tells_sources_apart);
    RUN_TEST(test_a_consumer_has_the_same_name_each_time);
    RUN_TEST(test_subjects_begin_with_the_prefix_of_the_origin);
    RUN_TEST(test_the_own_domain_has_the_plain_prefix);
    RUN_TEST(test_a_request_is_nats_servers);
    RUN_TEST(test_answers_are_read);
    RUN_TEST(test_replies_are_read_in_both_forms);
    RUN_TEST(test_a_mark_tells_where_a_message_is_from);
    RUN_TEST(test_marks_of_all_times_are_read);
    RUN_TEST(test_headers_of_copies);
    RUN_TEST(test_messages_in_order_are_taken_once);
    RUN_TEST(test_what_is_delivered_again_is_of_no_meaning);
    RUN_TEST(test_a_mirrors_next_sequence_is_proof_enough);
    RUN_TEST(test_heartbeats_tell_what_is_missing);
    RUN_TEST(test_patience_grows_and_has_an_end);
    return UNITY_END();
}
