/* test_data.c: the parts of the data commands that need no server: names, TTLs, templates, tables.
 */
#include "cli/data/data.h"

#include "cli/data/kv.h"
#include "cli/data/object.h"
#include "cli/data/stream_config.h"
#include "cli/data/template.h"
#include "cli/table.h"

#include <limits.h>
#include <stdlib.h>
#include <unity.h>

static struct mf_buf out;

void setUp(void)
{
}
void tearDown(void)
{
    mf_buf_fini(&out);
}

static const char *expand(const char *text, uint64_t count)
{
    mf_buf_fini(&out);
    template_expand(&out, mf_str(text), count);
    return mf_buf_cstr(&out);
}

static void test_templates_are_filled_in(void)
{
    TEST_ASSERT_EQUAL_STRING("n 7 of 7", expand("n {{Count}} of {{ Count }}", 7));
    TEST_ASSERT_EQUAL_size_t(22, strlen(expand("{{ID}}", 1)));
    TEST_ASSERT_EQUAL_size_t(5, strlen(expand("{{Random 5 5}}", 1)));
    TEST_ASSERT_EQUAL_size_t(100, strlen(expand("{{Random 100 100}}", 1)));
    TEST_ASSERT_EQUAL_size_t(8, strlen(expand("{{Time}}", 1)));
    TEST_ASSERT_EQUAL('T', expand("{{TimeStamp}}", 1)[10]);
    TEST_ASSERT_GREATER_THAN_INT64(1700000000, strtoll(expand("{{Unix}}", 1), NULL, 10));
    TEST_ASSERT_GREATER_THAN_INT64(1700000000000000000,
                                   strtoll(expand("{{UnixNano}}", 1), NULL, 10));
}

/* Payloads are often JSON: braces that are no template must come through as they are. */
static void test_other_braces_stay(void)
{
    static const char *const same[] = {"",
                                       "{",
                                       "{{",
                                       "{{}}",
                                       "}}",
                                       "{\"a\":{\"b\":1}}",
                                       "{{Cuont}}",
                                       "{{Random}}",
                                       "{{Random 5}}",
                                       "{{Random 9 5}}",
                                       "{{Random x y}}",
                                       "{{Random 1 99999999999}}"};

    for (size_t i = 0; i < MF_COUNT(same); i++)
        TEST_ASSERT_EQUAL_STRING(same[i], expand(same[i], 1));
    TEST_ASSERT_EQUAL_STRING("{{{3", expand("{{{{{Count}}", 3));
    TEST_ASSERT_EQUAL_STRING("{{no 3", expand("{{no {{Count}}", 3));
}

static const char *ttl(const char *text)
{
    static char dst[48];

    return data_ttl_text(text, dst, sizeof dst) == 0 ? dst : NULL;
}

static void test_ttls_become_texts_of_the_header(void)
{
    TEST_ASSERT_EQUAL_STRING("never", ttl("never"));
    TEST_ASSERT_EQUAL_STRING("90s", ttl("90s"));
    TEST_ASSERT_EQUAL_STRING("90s", ttl("90"));
    TEST_ASSERT_EQUAL_STRING("5400s", ttl("1h30m"));
    TEST_ASSERT_EQUAL_STRING("604800s", ttl("7d"));
    TEST_ASSERT_EQUAL_STRING("1500ms", ttl("1.5s"));
    TEST_ASSERT_EQUAL_STRING("9223372036855ms", ttl("9223372036854775807ns")); /* the longest */
    TEST_ASSERT_NULL(ttl(""));
    TEST_ASSERT_NULL(ttl("0"));
    TEST_ASSERT_NULL(ttl("0s"));
    TEST_ASSERT_NULL(ttl("-5s"));
    TEST_ASSERT_NULL(ttl("5 s"));
    TEST_ASSERT_NULL(ttl("1x"));
    TEST_ASSERT_NULL(ttl("99999999999999999999"));
    TEST_ASSERT_NULL(ttl("9999999999999999d"));
}

static void test_subjects_are_checked(void)
{
    TEST_ASSERT_TRUE(data_is_subject("a", false));
    TEST_ASSERT_TRUE(data_is_subject("a.b-c.$d", false));
    TEST_ASSERT_TRUE(data_is_subject("a.b*", false)); /* literal inside a token */
    TEST_ASSERT_TRUE(data_is_subject("a.*.>", true));
    TEST_ASSERT_FALSE(data_is_subject("a.*", false));
    TEST_ASSERT_FALSE(data_is_subject(">", false));
    TEST_ASSERT_FALSE(data_is_subject("a.>.b", true));
    TEST_ASSERT_FALSE(data_is_subject("", true));
    TEST_ASSERT_FALSE(data_is_subject(".", true));
    TEST_ASSERT_FALSE(data_is_subject("a.", true));
    TEST_ASSERT_FALSE(data_is_subject(".a", true));
    TEST_ASSERT_FALSE(data_is_subject("a..b", true));
    TEST_ASSERT_FALSE(data_is_subject("a b", true));
    TEST_ASSERT_FALSE(data_is_subject("a\tb", true));
    TEST_ASSERT_FALSE(data_is_subject("a\x7f", true));
}

static void test_names_are_checked(void)
{
    TEST_ASSERT_TRUE(data_is_name("ORDERS-1_x"));
    TEST_ASSERT_FALSE(data_is_name(""));
    TEST_ASSERT_FALSE(data_is_name("a.b"));
    TEST_ASSERT_FALSE(data_is_name("a b"));
    TEST_ASSERT_FALSE(data_is_name("../x"));
    TEST_ASSERT_FALSE(data_is_name("a\\b"));
    TEST_ASSERT_FALSE(data_is_name("a>"));
    TEST_ASSERT_FALSE(data_is_name("a\x1b[31m"));
    TEST_ASSERT_TRUE(kv_is_bucket("a-b_C9"));
    TEST_ASSERT_FALSE(kv_is_bucket(""));
    TEST_ASSERT_FALSE(kv_is_bucket("a.b"));
}

/* A shorter subject would be another one: `stream purge --subject` removes what it matches. */
static void test_subjects_of_keys_are_never_cut(void)
{
    struct request_stream s;
    char key[3001];

    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    request_name_stream(&s, "KV_b");
    request_subject(&s, key, &out);
    TEST_ASSERT_EQUAL_size_t(strlen("$KV.b.") + strlen(key), out.len);
    TEST_ASSERT_EQUAL_STRING(key, request_key(&s, mf_buf_cstr(&out)));
    mf_buf_clear(&out);
    request_subject(&s, "$KV.b.x", &out); /* it is whole already */
    TEST_ASSERT_EQUAL_STRING("$KV.b.x", mf_buf_cstr(&out));
}

/* An error without a code must not look like success. */
static void test_errors_of_answers_are_read(void)
{
    json_t *bad = json_pack("{s:{s:s}}", "error", "description", "no");
    json_t *good = json_pack("{s:i}", "seq", 1);
    struct request_error err;

    request_read_error(bad, &err);
    TEST_ASSERT_EQUAL_INT(500, err.code);
    TEST_ASSERT_EQUAL_STRING("no", err.text);
    request_read_error(good, &err);
    TEST_ASSERT_EQUAL_INT(0, err.code);
    request_read_error(NULL, &err);
    TEST_ASSERT_EQUAL_INT(0, err.code);
    json_decref(bad);
    json_decref(good);
}

static void test_digests_match_in_both_alphabets(void)
{
    uint8_t digest[SHA256_BYTES];
    char text[64];

    memset(digest, 0xfb, sizeof digest); /* makes + and /, or - and _ */
    object_digest_text(digest, text);
    TEST_ASSERT_TRUE(object_digest_matches(text, digest));
    for (char *p = text + 8; *p != '\0'; p++)
        *p = *p == '-' ? '+' : *p == '_' ? '/' : *p;
    TEST_ASSERT_TRUE(object_digest_matches(text, digest));
    digest[31]++;
    TEST_ASSERT_FALSE(object_digest_matches(text, digest));
    TEST_ASSERT_FALSE(object_digest_matches("", digest));
    TEST_ASSERT_FALSE(object_digest_matches("SHA-256=", digest));
    TEST_ASSERT_FALSE(object_digest_matches("MD5=aaaa", digest));
}

/* --- tables ----------------------------------------------------------------------------------- */

static const char *draw(int width, const char *align)
{
    static const char *const heads[] = {"NAME", "NOTE", "COUNT", "LAST"};
    struct term term = {.tty = true, .utf8 = true, .width = width, .height = 24};
    struct table t;

    table_init(&t, &term, align, heads);
    table_cell(&t, "alphabet soup");
    table_cell(&t, "x");
    table_cell(&t, "7");
    table_cell(&t, "9s ago");
    mf_buf_fini(&out);
    table_write(&t, &out);
    return mf_buf_cstr(&out);
}

static void test_narrow_tables_leave_columns_out(void)
{
    TEST_ASSERT_EQUAL_STRING("NAME           NOTE  COUNT    LAST\n"
                             "alphabet soup  x         7  9s ago\n",
                             draw(80, "lLrR"));
    TEST_ASSERT_EQUAL_STRING("NAME        NOTE  COUNT    LAST\n"
                             "alphabet …  x         7  9s ago\n",
                             draw(31, "lLrR"));
    TEST_ASSERT_EQUAL_STRING("NAME           NOTE  COUNT\n"
                             "alphabet soup  x         7\n",
                             draw(28, "lLrR"));
    TEST_ASSERT_EQUAL_STRING("NAME      COUNT\n"
                             "alphabe…      7\n",
                             draw(15, "lLrR"));
    /* Without letters in upper case columns at the right are left out; the first two stay. */
    TEST_ASSERT_EQUAL_STRING("NAME      NOTE\n"
                             "alphabe…  x\n",
                             draw(20, "llrr"));
}

static const char *cut(const char *text, size_t columns)
{
    struct term term = {.utf8 = true, .width = 80};

    mf_buf_fini(&out);
    table_cut(&out, &term, mf_str(text), columns);
    return mf_buf_cstr(&out);
}

static void test_texts_are_cut_at_columns(void)
{
    TEST_ASSERT_EQUAL_STRING("abc", cut("abc", 3));
    TEST_ASSERT_EQUAL_STRING("ab…", cut("abcd", 3));
    TEST_ASSERT_EQUAL_STRING("ä…", cut("äöü", 2));
    TEST_ASSERT_EQUAL_STRING("…", cut("abcd", 1));
    TEST_ASSERT_EQUAL_STRING("", cut("", 1));
}

/* --- configurations --------------------------------------------------------------------------- */

static void test_changes_of_a_configuration_are_found(void)
{
    json_error_t e;
    json_t *from =
        json_loads("{\"a\":1,\"b\":[1],\"metadata\":{\"x\":\"1\",\"_nats.v\":\"2\"}}", 0, &e);
    json_t *to =
        json_loads("{\"a\":2,\"b\":[1],\"c\":false,\"metadata\":{\"x\":\"3\",\"y\":\"4\"}}", 0, &e);
    json_t *changes = stream_config_compare(from, to);

    TEST_ASSERT_EQUAL_size_t(3, json_object_size(changes));
    TEST_ASSERT_EQUAL_INT(2, request_int(json_object_get(changes, "a"), "to"));
    TEST_ASSERT_EQUAL_STRING("1", request_text(json_object_get(changes, "metadata.x"), "from"));
    TEST_ASSERT_EQUAL_STRING("4", request_text(json_object_get(changes, "metadata.y"), "to"));
    json_decref(changes);
    json_decref(from);
    json_decref(to);
}

static const char *show(const char *field, json_t *value)
{
    mf_buf_fini(&out);
    stream_config_text(field, value, &out);
    json_decref(value);
    return mf_buf_cstr(&out);
}

static void test_fields_are_shown_as_people_read_them(void)
{
    TEST_ASSERT_EQUAL_STRING("unlimited", show("max_msgs", json_integer(-1)));
    TEST_ASSERT_EQUAL_STRING("1,000", show("max_msgs", json_integer(1000)));
    TEST_ASSERT_EQUAL_STRING("1h30m", show("max_age", json_integer(5400000000000)));
    TEST_ASSERT_EQUAL_STRING("none", show("max_age", json_integer(0)));
    TEST_ASSERT_EQUAL_STRING("2.0 KB", show("max_bytes", json_integer(2048)));
    TEST_ASSERT_EQUAL_STRING("yes", show("allow_direct", json_true()));
    TEST_ASSERT_EQUAL_STRING("a.>, b", show("subjects", json_pack("[s,s]", "a.>", "b")));
    TEST_ASSERT_EQUAL_STRING("[{\"name\":\"A\"}]",
                             show("sources", json_pack("[{s:s}]", "name", "A")));
    TEST_ASSERT_EQUAL_STRING("\\x1b[31m", show("description", json_string("\033[31m")));
    TEST_ASSERT_EQUAL_STRING("unset", show("description", NULL));
}

static void test_bytes_in_documents_are_text_or_base64(void)
{
    json_t *doc = json_object();

    data_bytes_to_json(doc, "data", MF_LIT("gr\xc3\xbc\xc3\x9f"));
    TEST_ASSERT_EQUAL_STRING("text", request_text(doc, "encoding"));
    data_bytes_to_json(doc, "data", MF_LIT("\xff\x00"));
    TEST_ASSERT_EQUAL_STRING("base64", request_text(doc, "encoding"));
    TEST_ASSERT_EQUAL_STRING("/wA=", request_text(doc, "data"));
    data_bytes_to_json(doc, "data", MF_SLICE_NONE);
    TEST_ASSERT_EQUAL_STRING("", request_text(doc, "data"));
    json_decref(doc);
    doc = data_json_text("a\xff");
    TEST_ASSERT_EQUAL_STRING("a\\xff", json_string_value(doc));
    json_decref(doc);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_templates_are_filled_in);
    RUN_TEST(test_other_braces_stay);
    RUN_TEST(test_ttls_become_texts_of_the_header);
    RUN_TEST(test_subjects_are_checked);
    RUN_TEST(test_names_are_checked);
    RUN_TEST(test_subjects_of_keys_are_never_cut);
    RUN_TEST(test_errors_of_answers_are_read);
    RUN_TEST(test_digests_match_in_both_alphabets);
    RUN_TEST(test_narrow_tables_leave_columns_out);
    RUN_TEST(test_texts_are_cut_at_columns);
    RUN_TEST(test_changes_of_a_configuration_are_found);
    RUN_TEST(test_fields_are_shown_as_people_read_them);
    RUN_TEST(test_bytes_in_documents_are_text_or_base64);
    return UNITY_END();
}
