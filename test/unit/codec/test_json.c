/* test_json.c: JSON into structs, as Go's encoding/json does it, its error texts included. */
#include "codec/json.h"

#include "base/clock.h"
#include "support/guard.h"
#include "support/no_memory.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/json_cases.h"
#include "json_time_cases.h"
#include "unity.h"

struct inner {
    int64_t start_ns;
    bool has_start;
    char *text;
    struct json_map labels;
};
struct doc {
    char *name;
    bool no_ack;
    int64_t max_msgs, count, max_age_ns, at_ns;
    int32_t small;
    uint64_t big;
    double ratio;
    struct json_strs subjects;
    struct json_map metadata;
    struct inner in;
    struct inner *mirror;
    struct json_objects list, pointers;
    int word;
    struct mf_slice raw;
};

static int parse_word(struct mf_slice raw, int *out, struct mf_error *e)
{
    if (!mf_eq_str(raw, "\"one\""))
        return json_refuse_word(raw, e);
    *out = 1;
    return 0;
}

static const struct json_field inner_fields[] = {
    {.name = "opt_start_time",
     .kind = JSON_TIME,
     .offset = offsetof(struct inner, start_ns),
     .set_offset = offsetof(struct inner, has_start)},
    {.name = "text", .kind = JSON_STR, .offset = offsetof(struct inner, text)},
    {.name = "labels", .kind = JSON_MAP, .offset = offsetof(struct inner, labels)},
};
static const struct json_type inner_type = {"Inner", sizeof(struct inner), inner_fields,
                                            MF_COUNT(inner_fields)};
static const struct json_field doc_fields[] = {
    {.name = "name", .kind = JSON_STR, .offset = offsetof(struct doc, name)},
    {.name = "no_ack", .kind = JSON_BOOL, .offset = offsetof(struct doc, no_ack)},
    {.name = "max_msgs", .kind = JSON_I64, .offset = offsetof(struct doc, max_msgs)},
    {.name = "count", .kind = JSON_INT, .offset = offsetof(struct doc, count)},
    {.name = "max_age", .kind = JSON_DURATION, .offset = offsetof(struct doc, max_age_ns)},
    {.name = "at", .kind = JSON_TIME, .offset = offsetof(struct doc, at_ns)},
    {.name = "small", .kind = JSON_I32, .offset = offsetof(struct doc, small)},
    {.name = "big", .kind = JSON_U64, .offset = offsetof(struct doc, big)},
    {.name = "ratio", .kind = JSON_F64, .offset = offsetof(struct doc, ratio)},
    {.name = "subjects", .kind = JSON_STRS, .offset = offsetof(struct doc, subjects)},
    {.name = "metadata", .kind = JSON_MAP, .offset = offsetof(struct doc, metadata)},
    {.name = "in", .kind = JSON_OBJECT, .offset = offsetof(struct doc, in), .type = &inner_type},
    {.name = "mirror",
     .kind = JSON_POINTER,
     .offset = offsetof(struct doc, mirror),
     .type = &inner_type},
    {.name = "list",
     .kind = JSON_OBJECTS,
     .offset = offsetof(struct doc, list),
     .type = &inner_type},
    {.name = "pointers",
     .kind = JSON_POINTERS,
     .offset = offsetof(struct doc, pointers),
     .type = &inner_type},
    {.name = "word", .kind = JSON_ENUM, .offset = offsetof(struct doc, word), .parse = parse_word},
    {.name = "raw", .kind = JSON_RAW, .offset = offsetof(struct doc, raw)},
};
static const struct json_type doc_type = {"StreamConfigRequest", sizeof(struct doc), doc_fields,
                                          MF_COUNT(doc_fields)};

static struct doc doc;
static struct arena mem;
static struct mf_error error;

void setUp(void)
{
    memset(&doc, 0, sizeof doc);
    error = (struct mf_error){0, ""};
}

void tearDown(void)
{
    arena_fini(&mem);
    guard_free();
}

static int read_slice(struct mf_slice text, bool strict)
{
    return json_read(text, &doc_type, &doc, &mem, strict, &error);
}

static void take(const char *text)
{
    TEST_ASSERT_EQUAL_MESSAGE(0, read_slice(mf_str(text), true), error.text);
}

/* Callers tell by the code whether a later version may understand the text. */
static int code_of(const char *why)
{
    if (why == NULL)
        return 0;
    return strncmp(why, "json: unknown field ", 20) == 0 ||
                   strncmp(why, "can not unmarshal ", 18) == 0
               ? MF_UNSUPPORTED
               : MF_INVAL;
}

static void refuse(const char *text, const char *why)
{
    TEST_ASSERT_EQUAL(code_of(why), read_slice(mf_str(text), true));
    TEST_ASSERT_EQUAL_STRING(why, error.text);
}

static void check_cases(const struct json_case *cases, size_t n, bool strict)
{
    for (size_t i = 0; i < n; i++) {
        const struct json_case *c = &cases[i];

        setUp();
        int err = read_slice(mf_slice(guard_copy(c->text, c->len), c->len), strict);
        TEST_ASSERT_EQUAL_MESSAGE(code_of(c->error), err, c->text);
        TEST_ASSERT_EQUAL_STRING_MESSAGE(c->error == NULL ? "" : c->error, error.text, c->text);
        arena_fini(&mem);
    }
}

/* People read these texts, and tools compare them. */
static void test_broken_documents_get_the_words_of_nats_server(void)
{
    check_cases(syntax_cases, MF_COUNT(syntax_cases), true);
}

static void test_times_are_taken_and_refused_as_go_does(void)
{
    check_cases(time_cases, MF_COUNT(time_cases), true);
}

/* jetstream { strict: false }: the second try reads one document and tells no offsets. */
static void test_lax_reading_skips_unknown_fields_and_has_other_words(void)
{
    static const struct json_case cases[] = {
        CASE("{", "unexpected end of JSON input"),
        CASE("x", "invalid character 'x' looking for beginning of value"),
        CASE("[1,]", "invalid character ']' looking for beginning of value"),
        CASE("{\"name\":\"X\"} x", "invalid character 'x' after top-level value"),
        CASE("{\"name\":\"X\"},{\"name\":\"X\"}", "invalid character ',' after top-level value"),
        CASE("{\"name\":\"X\"}{\"bogus\":1}", "invalid character '{' after top-level value"),
        CASE("-x", "invalid character 'x' in numeric literal"),
        CASE("{\"no_ack\":tru}", "invalid character '}' in literal true (expecting 'e')"),
        CASE("\"\\x\"", "invalid escape sequence `\\x` in string"),
        CASE("{\"bogus\":1}", NULL),
    };

    check_cases(cases, MF_COUNT(cases), false);
    setUp();
    TEST_ASSERT_EQUAL(0, read_slice(MF_LIT("{\"x\":{\"y\":[1,\"}\"]},\"name\":\"n\"}"), false));
    TEST_ASSERT_EQUAL_STRING("n", doc.name);
    TEST_ASSERT_EQUAL(MF_INVAL, json_unmarshal(MF_LIT(""), &doc_type, &doc, &mem, &error));
    TEST_ASSERT_EQUAL_STRING("unexpected end of JSON input", error.text);
    TEST_ASSERT_EQUAL(MF_INVAL, json_unmarshal(MF_LIT("{}{}"), &doc_type, &doc, &mem, &error));
    TEST_ASSERT_EQUAL_STRING("invalid character '{' after top-level value", error.text);
}

static void test_every_kind_is_read(void)
{
    take("{\"name\":\"n\\u00e9\\ud83d\\ude00\",\"no_ack\":true,\"max_msgs\":-9223372036854775808,"
         "\"count\":9223372036854775807,\"max_age\":5,\"at\":\"1970-01-01T00:00:01Z\","
         "\"small\":-2147483648,\"big\":18446744073709551615,\"ratio\":-1.5e3,"
         "\"subjects\":[\"a\",\"b\"],\"metadata\":{\"k\":\"v\"},\"in\":{\"text\":\"i\"},"
         "\"mirror\":{\"text\":\"m\"},\"list\":[{\"text\":\"0\"},{}],\"pointers\":[null,{}],"
         "\"word\":\"one\",\"raw\": {\"a\": [1]} }");
    TEST_ASSERT_EQUAL_STRING("n\xc3\xa9\xf0\x9f\x98\x80", doc.name);
    TEST_ASSERT_TRUE(doc.no_ack);
    TEST_ASSERT_EQUAL_INT64(INT64_MIN, doc.max_msgs);
    TEST_ASSERT_EQUAL_INT64(INT64_MAX, doc.count);
    TEST_ASSERT_EQUAL_INT64(5, doc.max_age_ns);
    TEST_ASSERT_EQUAL_INT64(CLOCK_S, doc.at_ns);
    TEST_ASSERT_EQUAL_INT32(INT32_MIN, doc.small);
    TEST_ASSERT_EQUAL_UINT64(UINT64_MAX, doc.big);
    TEST_ASSERT_TRUE(doc.ratio <= -1500 && doc.ratio >= -1500);
    TEST_ASSERT_EQUAL(2, doc.subjects.n);
    TEST_ASSERT_EQUAL_STRING("b", doc.subjects.at[1]);
    TEST_ASSERT_TRUE(doc.metadata.set);
    TEST_ASSERT_EQUAL_STRING("v", doc.metadata.at[0].value);
    TEST_ASSERT_EQUAL_STRING("i", doc.in.text);
    TEST_ASSERT_EQUAL_STRING("m", doc.mirror->text);
    TEST_ASSERT_EQUAL(2, doc.list.n);
    TEST_ASSERT_EQUAL_STRING("0", ((struct inner *)doc.list.at)[0].text);
    TEST_ASSERT_NULL(((struct inner **)doc.pointers.at)[0]);
    TEST_ASSERT_NOT_NULL(((struct inner **)doc.pointers.at)[1]);
    TEST_ASSERT_EQUAL(1, doc.word);
    TEST_ASSERT_TRUE(mf_eq_str(doc.raw, "{\"a\": [1]}"));
}

static void test_null_leaves_plain_values_and_empties_the_others(void)
{
    test_every_kind_is_read();
    take("{\"name\":null,\"no_ack\":null,\"max_msgs\":null,\"at\":null,\"ratio\":null,\"in\":null,"
         "\"subjects\":null,\"metadata\":null,\"mirror\":null,\"list\":null,\"pointers\":null}");
    TEST_ASSERT_EQUAL_STRING("n\xc3\xa9\xf0\x9f\x98\x80", doc.name);
    TEST_ASSERT_TRUE(doc.no_ack);
    TEST_ASSERT_EQUAL_INT64(INT64_MIN, doc.max_msgs);
    TEST_ASSERT_EQUAL_INT64(CLOCK_S, doc.at_ns);
    TEST_ASSERT_EQUAL_STRING("i", doc.in.text);
    TEST_ASSERT_EQUAL(0, doc.subjects.n + doc.metadata.n + doc.list.n + doc.pointers.n);
    TEST_ASSERT_FALSE(doc.metadata.set);
    TEST_ASSERT_NULL(doc.mirror);
    refuse("{\"word\":null}", "can not unmarshal \"null\"");
}

/* A flag tells "not given" from zero: a start time of 1970 is a start time. */
static void test_flag_tells_whether_the_field_was_there(void)
{
    take("{\"in\":{}}");
    TEST_ASSERT_FALSE(doc.in.has_start);
    take("{\"in\":{\"opt_start_time\":\"1970-01-01T00:00:00Z\"}}");
    TEST_ASSERT_TRUE(doc.in.has_start);
    TEST_ASSERT_EQUAL_INT64(0, doc.in.start_ns);
    take("{\"in\":{\"opt_start_time\":null}}");
    TEST_ASSERT_FALSE(doc.in.has_start);
}

static void test_last_of_several_wins_and_structs_are_merged(void)
{
    take(
        "{\"name\":\"a\",\"NAME\":\"b\",\"subjects\":[\"x\",\"y\",\"z\"],\"subjects\":[\"q\",null],"
        "\"list\":[{\"text\":\"t\",\"opt_start_time\":\"1970-01-01T00:00:01Z\"}],"
        "\"list\":[{\"text\":\"u\"},{}]} {\"max_msgs\":1} {\"max_msgs\":2}");
    TEST_ASSERT_EQUAL_STRING("b", doc.name);
    TEST_ASSERT_EQUAL_INT64(2, doc.max_msgs);
    TEST_ASSERT_EQUAL(2, doc.subjects.n);
    TEST_ASSERT_EQUAL_STRING("q", doc.subjects.at[0]);
    TEST_ASSERT_EQUAL_STRING("y", doc.subjects.at[1]);
    TEST_ASSERT_EQUAL(2, doc.list.n);
    TEST_ASSERT_EQUAL_STRING("u", ((struct inner *)doc.list.at)[0].text);
    TEST_ASSERT_TRUE(((struct inner *)doc.list.at)[0].has_start);
    TEST_ASSERT_FALSE(((struct inner *)doc.list.at)[1].has_start);
}

/* An exact name goes before one that differs in case only, wherever it stands in the table. */
static void test_names_match_exactly_first(void)
{
    static const struct json_field fields[] = {
        {.name = "word", .kind = JSON_INT, .offset = 0},
        {.name = "WORD", .kind = JSON_INT, .offset = sizeof(int64_t)},
    };
    static const struct json_type type = {"T", 2 * sizeof(int64_t), fields, 2};
    int64_t v[2] = {0, 0};

    TEST_ASSERT_EQUAL(0,
                      json_read(MF_LIT("{\"WORD\":1,\"Word\":2}"), &type, v, &mem, true, &error));
    TEST_ASSERT_EQUAL_INT64(2, v[0]);
    TEST_ASSERT_EQUAL_INT64(1, v[1]);
}

static void test_maps_come_out_sorted_with_the_last_of_each_key(void)
{
    static const char *const keys[] = {"", "A", "a", "aa", "b", "\xc3\xa9"};

    take("{\"metadata\":{\"b\":\"1\",\"a\":\"1\",\"b\":\"2\",\"\":\"e\"},"
         "\"metadata\":{\"aa\":null,\"A\":\"x\",\"a\":\"3\",\"\xc3\xa9\":\"y\"}}");
    TEST_ASSERT_EQUAL(MF_COUNT(keys), doc.metadata.n);
    for (size_t i = 0; i < MF_COUNT(keys); i++)
        TEST_ASSERT_EQUAL_STRING(keys[i], doc.metadata.at[i].key);
    TEST_ASSERT_EQUAL_STRING("3", doc.metadata.at[2].value);
    TEST_ASSERT_EQUAL_STRING("", doc.metadata.at[3].value);
    TEST_ASSERT_EQUAL_STRING("2", doc.metadata.at[4].value);
    take("{\"metadata\":{\"0\":\"0\"}}"); /* onto a map that has just the room it needs */
    TEST_ASSERT_EQUAL(MF_COUNT(keys) + 1, doc.metadata.n);
    TEST_ASSERT_EQUAL_STRING("0", doc.metadata.at[1].key);
}

/* U+0000 would end the string early, and "X\0Y" would pass for "X". */
static void test_zero_bytes_and_bad_text_become_replacement_characters(void)
{
    take("{\"name\":\"X\\u0000Y\"}");
    TEST_ASSERT_EQUAL_STRING("X\xef\xbf\xbdY", doc.name);
    take("{\"name\":\"\xff\\ud800\\udc00\\udc00\\ud800x\\ud800\\u0041\xe2\x82\"}");
    TEST_ASSERT_EQUAL_STRING("\xef\xbf\xbd\xf0\x90\x80\x80\xef\xbf\xbd\xef\xbf\xbdx\xef\xbf\xbd"
                             "A\xef\xbf\xbd\xef\xbf\xbd",
                             doc.name);
    take("{\"name\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}");
    TEST_ASSERT_EQUAL_STRING("\"\\/\b\f\n\r\t", doc.name);
}

/* Nobody keeps these, so they are shown as they came. */
static void test_zero_bytes_are_told_of_in_errors(void)
{
    refuse("{\"a\\u0000b\":1}", "json: unknown field \"a\\x00b\"");
    refuse("{\"at\":\"\\u0000\"}", "parsing time \"\\x00\" as \"2006-01-02T15:04:05Z07:00\": "
                                   "cannot parse \"\\x00\" as \"2006\"");
    take("{\"metadata\":{\"a\\u0000b\":\"v\"}}");
    TEST_ASSERT_EQUAL_STRING("a\xef\xbf\xbd"
                             "b",
                             doc.metadata.at[0].key);
}

static void check_time(const char *text, int64_t ns)
{
    char body[128];

    snprintf(body, sizeof body, "{\"at\":\"%s\"}", text);
    take(body);
    TEST_ASSERT_EQUAL_INT64_MESSAGE(ns, doc.at_ns, text);
}

static void test_times_are_nanoseconds_since_1970(void)
{
    check_time("1970-01-01T00:00:00Z", 0);
    check_time("2024-02-29T12:30:15.123456789Z", 1709209815123456789);
    check_time("2024-02-29T12:30:15.1234567899Z", 1709209815123456789);
    check_time("2024-02-29T14:30:15,5+02:00", 1709209815500000000);
    check_time("2024-02-29T1:30:15-11:00", 1709209815000000000);
    check_time("1969-12-31T23:59:59.9Z", -100000000);
    check_time("1900-03-01T00:00:00Z", -2203891200 * CLOCK_S);
    check_time("0001-01-01T00:00:00Z", CLOCK_ZERO);
    check_time("0001-01-01T00:00:01Z", INT64_MIN + 1);
    check_time("9999-12-31T23:59:59Z", INT64_MAX);
}

static void test_numbers_out_of_range_are_refused(void)
{
    refuse("{\"ratio\":1e999}", "json: cannot unmarshal number 1e999 into Go struct field "
                                "StreamConfigRequest.ratio of type float64");
    refuse("{\"small\":2147483648}",
           "json: cannot unmarshal number 2147483648 into Go struct field "
           "StreamConfigRequest.small of type int32");
    refuse("{\"list\":[{},1]}",
           "json: cannot unmarshal number into StreamConfigRequest.list.1 of type server.Inner");
}

/* Go's bound; without one the depth would be the sender's choice. */
static void test_nesting_is_bounded(void)
{
    enum { DEPTH = 10000 };
    char *text = malloc(2 * DEPTH + 16);

    TEST_ASSERT_NOT_NULL(text);
    memset(text, '[', DEPTH + 1);
    memset(text + DEPTH, ']', DEPTH);
    TEST_ASSERT_EQUAL(MF_INVAL, read_slice(mf_slice(text, 2 * DEPTH), true));
    TEST_ASSERT_EQUAL_STRING("json: cannot unmarshal array into Go value of type "
                             "server.StreamConfigRequest",
                             error.text);
    memset(text, '[', DEPTH + 1);
    TEST_ASSERT_EQUAL(MF_INVAL, read_slice(mf_slice(text, DEPTH), true));
    TEST_ASSERT_EQUAL_STRING("unexpected EOF", error.text);
    TEST_ASSERT_EQUAL(MF_INVAL, read_slice(mf_slice(text, DEPTH + 1), true));
    TEST_ASSERT_EQUAL_STRING("exceeded max depth at offset 10001", error.text);
    memcpy(text, "{\"x\":", 5);
    memset(text + 5, '[', DEPTH - 1);
    memset(text + 5 + DEPTH - 1, ']', DEPTH - 1);
    text[5 + 2 * (DEPTH - 1)] = '}';
    TEST_ASSERT_EQUAL(0, read_slice(mf_slice(text, 6 + 2 * (DEPTH - 1)), false));
    free(text);
}

/* Each part of a document ends at an unmapped page: nothing may be read behind it. */
static void test_document_cut_anywhere_is_never_read_beyond_its_end(void)
{
    static const char text[] = " {\"name\":\"\\u00e9\\ud83d\\ude00\xc3\xa9\",\"x\":[-1.5e+3,true,"
                               "null,{}],\"no_ack\":false,"
                               "\"metadata\":{\"a\":\"b\"},\"raw\":[1],\"in\":{\"opt_start_time\":"
                               "\"2024-01-01T00:00:00Z\"}}";

    for (size_t n = 2; n < sizeof text - 1; n++) {
        const uint8_t *cut = guard_copy(text, n);

        TEST_ASSERT_EQUAL(MF_INVAL, read_slice(mf_slice(cut, n), true));
        TEST_ASSERT_EQUAL_STRING("unexpected EOF", error.text);
        TEST_ASSERT_EQUAL(MF_INVAL, read_slice(mf_slice(cut, n), false));
    }
    TEST_ASSERT_EQUAL(0, read_slice(mf_str(text), false));
}

/* The error's room is smaller than what may be named in it. */
static void test_long_names_are_cut_between_characters(void)
{
    char text[4096] = "{\"x";

    for (size_t i = 3; i + 2 < 3000; i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    strncat(text, "\":1}", sizeof text - strlen(text) - 1);
    TEST_ASSERT_EQUAL(MF_UNSUPPORTED, read_slice(mf_str(text), true));
    size_t n = strlen(error.text);
    TEST_ASSERT_GREATER_THAN(sizeof error.text - 4, n);
    TEST_ASSERT_EQUAL_STRING("\xc3\xa9", error.text + n - 2);
}

/* A map named again and again must not be copied or sorted each time: the memory is a small
 * multiple of the text.  (The chunks of the arena are counted, each of at least 4 KiB.) */
static void test_memory_is_bounded_by_the_size_of_the_text(void)
{
    enum { KEYS = 2000, AGAIN = 5000 };
    struct mf_slice again = MF_LIT(",\"metadata\":{\"k1\":\"v\"},\"subjects\":[\"a\"]");
    size_t n = 0, room = KEYS * 16 + AGAIN * again.len + 64;
    char *text = malloc(room);

    TEST_ASSERT_NOT_NULL(text);
    n += (size_t)snprintf(text, room, "{\"metadata\":{\"x\":\"\"");
    for (int i = 0; i < KEYS; i++)
        n += (size_t)snprintf(text + n, room - n, ",\"k%d\":\"\"", i);
    text[n++] = '}';
    for (int i = 0; i < AGAIN; i++, n += again.len)
        memcpy(text + n, again.ptr, again.len);
    text[n++] = '}';
    allocations = 0;
    TEST_ASSERT_EQUAL(0, read_slice(mf_slice(text, n), true));
    TEST_ASSERT_EQUAL(KEYS + 1, doc.metadata.n);
    TEST_ASSERT_LESS_THAN(8 * n / 4096 + 32, (size_t)allocations);
    free(text);
}

/* Whichever request for memory fails: an error, and nothing half made is used. */
static void test_out_of_memory_is_told(void)
{
    int err = MF_NOMEM;
    struct mf_slice text =
        MF_LIT("{\"name\":\"n\",\"subjects\":[\"a\"],\"metadata\":{\"b\":\"c\",\"a\":\"d\"},"
               "\"mirror\":{\"text\":\"t\"},\"list\":[{},{}],\"raw\":[1],\"ratio\":1,"
               "\"at\":\"2024-01-01T00:00:00Z\"}");

    for (long n = 1; err != 0; n++) {
        setUp();
        arena_fini(&mem);
        allocations = 0;
        fail_at = n;
        err = read_slice(text, true);
        fail_at = 0;
        TEST_ASSERT_TRUE(err == 0 || err == MF_NOMEM);
    }
    TEST_ASSERT_EQUAL_STRING("a", doc.metadata.at[0].key);
}

static void test_body_is_a_document_when_it_opens_one(void)
{
    TEST_ASSERT_TRUE(json_is_document(MF_LIT("{")));
    TEST_ASSERT_TRUE(json_is_document(MF_LIT(" \r\n\t[x")));
    TEST_ASSERT_FALSE(json_is_document(MF_LIT("")));
    TEST_ASSERT_FALSE(json_is_document(MF_LIT("  ")));
    TEST_ASSERT_FALSE(json_is_document(MF_LIT("null")));
}

static void check_split(const char *text, size_t want, const char *const *items)
{
    size_t n = strlen(text), got = 99, offset = 99;
    struct mf_slice *at = NULL;

    TEST_ASSERT_EQUAL(
        0, json_split_array(mf_slice(guard_copy(text, n), n), &at, &got, &offset, &mem, NULL));
    TEST_ASSERT_EQUAL_size_t(want, got);
    for (size_t i = 0; i < want; i++)
        TEST_ASSERT_TRUE_MESSAGE(mf_eq_str(at[i], items[i]), items[i]);
}

static void check_no_split(const char *text, size_t want, const char *why)
{
    size_t got, offset = 99;
    struct mf_slice *at;
    struct mf_error e = {0, ""};

    TEST_ASSERT_EQUAL(MF_INVAL, json_split_array(mf_str(text), &at, &got, &offset, &mem, &e));
    TEST_ASSERT_EQUAL_size_t(want, offset);
    TEST_ASSERT_EQUAL_STRING(why, e.text);
}

static void test_arrays_are_split_into_the_texts_of_their_elements(void)
{
    static const char *const items[] = {"{\"a\": [1,2]}", "\"],\"", "null", "-1e5"};

    check_split("[]", 0, NULL);
    check_split("  [ ]  ", 0, NULL);
    check_split("[{\"a\": [1,2]},\"],\",null,-1e5]", 4, items);
    check_split(" [ {\"a\": [1,2]} , \"],\" , null , -1e5 ] ", 4, items);
    check_no_split("", 0, "unexpected end of JSON input");
    check_no_split("[1", 2, "unexpected end of JSON input");
    check_no_split("[1,]", 4, "invalid character ']' looking for beginning of value");
    check_no_split("[1] x", 5, "invalid character 'x' after top-level value");
    check_no_split("{\"a\":[]}", 0, "not an array");
    check_no_split("null", 0, "not an array");
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_broken_documents_get_the_words_of_nats_server);
    RUN_TEST(test_times_are_taken_and_refused_as_go_does);
    RUN_TEST(test_lax_reading_skips_unknown_fields_and_has_other_words);
    RUN_TEST(test_every_kind_is_read);
    RUN_TEST(test_null_leaves_plain_values_and_empties_the_others);
    RUN_TEST(test_flag_tells_whether_the_field_was_there);
    RUN_TEST(test_last_of_several_wins_and_structs_are_merged);
    RUN_TEST(test_names_match_exactly_first);
    RUN_TEST(test_maps_come_out_sorted_with_the_last_of_each_key);
    RUN_TEST(test_zero_bytes_and_bad_text_become_replacement_characters);
    RUN_TEST(test_zero_bytes_are_told_of_in_errors);
    RUN_TEST(test_times_are_nanoseconds_since_1970);
    RUN_TEST(test_numbers_out_of_range_are_refused);
    RUN_TEST(test_nesting_is_bounded);
    RUN_TEST(test_document_cut_anywhere_is_never_read_beyond_its_end);
    RUN_TEST(test_long_names_are_cut_between_characters);
    RUN_TEST(test_memory_is_bounded_by_the_size_of_the_text);
    RUN_TEST(test_out_of_memory_is_told);
    RUN_TEST(test_body_is_a_document_when_it_opens_one);
    RUN_TEST(test_arrays_are_split_into_the_texts_of_their_elements);
    return UNITY_END();
}
