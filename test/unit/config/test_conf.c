/* test_conf.c: the configuration language: every form a value can take, every way to go wrong. */
#include "config/conf.h"

#include "unity.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct mf_error e;
static struct conf_value *root;
static char dir[64];

void setUp(void)
{
    e = (struct mf_error){0, ""};
    root = NULL;
}
void tearDown(void)
{
    conf_free(root);
    root = NULL;
}

static int parse(const char *text)
{
    conf_free(root);
    root = NULL;
    return conf_parse_text(&root, mf_str(text), "t.conf", NULL, &e);
}

static const struct conf_value *value(const char *text)
{
    TEST_ASSERT_EQUAL_MESSAGE(0, parse(text), e.text);
    const struct conf_value *v = conf_get(root, "v");
    TEST_ASSERT_NOT_NULL_MESSAGE(v, text);
    return v;
}

static void expect_int(const char *text, int64_t want)
{
    const struct conf_value *v = value(text);
    TEST_ASSERT_EQUAL_MESSAGE(CONF_INT, v->type, text);
    TEST_ASSERT_EQUAL_INT64_MESSAGE(want, v->u.i, text);
}

static void expect_string(const char *text, const char *want)
{
    const struct conf_value *v = value(text);
    TEST_ASSERT_EQUAL_MESSAGE(CONF_STRING, v->type, text);
    TEST_ASSERT_EQUAL_STRING_MESSAGE(want, v->u.s, text);
}

static void expect_error(const char *text, const char *want)
{
    e = (struct mf_error){0, ""};
    TEST_ASSERT_NOT_EQUAL_MESSAGE(0, parse(text), text);
    TEST_ASSERT_NULL(root);
    if (strstr(e.text, want) == NULL) {
        char both[1200];
        snprintf(both, sizeof both, "%s\n  gave: %s\n  want: %s", text, e.text, want);
        TEST_FAIL_MESSAGE(both);
    }
}

/* --- values ----------------------------------------------------------------------------------- */

static void test_every_separator_and_terminator_is_accepted(void)
{
    static const char *const forms[] = {
        "v = 5",         "v: 5",         "v 5",
        "v=5;",          "v=5,w=6",      "v:5;w:6",
        "v\n5",          "v 5 # why",    "v 5 // why",
        "v\t=\t5\t",     "\r\nv: 5\r\n", "{ v: 5 }",
        "{ v: 5, }",     "{ { v: 5 } }", "{\"v\": 5}",
        "'v' : 5",       "\"v\" = 5",    "V: 5",
        "# c\n//d\nv=5", "v: 5\n}\n",    "\xef\xbb\xbfv: 5",
    };
    for (size_t i = 0; i < MF_COUNT(forms); i++)
        expect_int(forms[i], 5);
}

/* 10M and 10MB differ, and both differ from what a shell user would guess: fixed by nats-server. */
static void test_units_are_powers_of_1000_alone_and_of_1024_with_a_b_or_i(void)
{
    static const struct {
        const char *text;
        int64_t want;
    } t[] = {
        {"v: 0", 0},
        {"v: -7", -7},
        {"v: 1k", 1000},
        {"v: 1K", 1000},
        {"v: 1kb", 1024},
        {"v: 1Ki", 1024},
        {"v: 1KiB", 1024},
        {"v: 2m", 2000000},
        {"v: 1MB", 1048576},
        {"v: 1mib", 1048576},
        {"v: 1g", 1000000000},
        {"v: 1GB", 1073741824},
        {"v: 1t", 1000000000000},
        {"v: 1TiB", 1099511627776},
        {"v: 1p", 1000000000000000},
        {"v: 1pb", 1125899906842624},
        {"v: 1e", 1000000000000000000},
        {"v: 1Ei", 1152921504606846976},
        {"v: -2kb", -2048},
        {"v: 9223372036854775807", INT64_MAX},
        {"v: -9223372036854775808", INT64_MIN},
        {"{v: 5}", 5},
        {"v: 5}", 5},
    };
    for (size_t i = 0; i < MF_COUNT(t); i++)
        expect_int(t[i].text, t[i].want);
    TEST_ASSERT_EQUAL_STRING("2m", value("v: 2m")->text);
}

static void test_booleans_are_words_without_quotes_in_any_case(void)
{
    static const char *const yes[] = {"v: true", "v: YES", "v: On", "v true"};
    static const char *const no[] = {"v: false", "v: No", "v: oFF", "v = false;"};
    for (size_t i = 0; i < MF_COUNT(yes); i++) {
        TEST_ASSERT_EQUAL(CONF_BOOL, value(yes[i])->type);
        TEST_ASSERT_TRUE(value(yes[i])->u.b);
        TEST_ASSERT_EQUAL(CONF_BOOL, value(no[i])->type);
        TEST_ASSERT_FALSE(value(no[i])->u.b);
    }
    expect_string("v: \"true\"", "true");
    expect_string("v: 'off'", "off");
    expect_string("v: truely", "truely");
}

static void test_floats_need_digits_on_both_sides(void)
{
    TEST_ASSERT_EQUAL(CONF_FLOAT, value("v: 1.5")->type);
    TEST_ASSERT_TRUE(value("v: 1.5")->u.f == 1.5);
    TEST_ASSERT_TRUE(value("v: -0.25")->u.f == -0.25);
    expect_error("v: .5", "Floats must start with a digit");
    expect_string("v: 5.", "5.");
}

static void test_dates_are_read_in_zulu_time(void)
{
    const struct conf_value *v = value("v: 2016-05-04T18:53:41Z");
    TEST_ASSERT_EQUAL(CONF_DATE, v->type);
    TEST_ASSERT_EQUAL_INT64(1462388021000000000, v->u.date_ns);
    TEST_ASSERT_EQUAL_INT64(0, value("v: 1970-01-01T00:00:00Z")->u.date_ns);
    TEST_ASSERT_EQUAL_INT64(951827696000000000, value("v: 2000-02-29T12:34:56Z")->u.date_ns);
    expect_error("v: 2001-02-29T00:00:00Z", "Zulu formatted DateTime");
    expect_error("v: 2016-13-04T18:53:41Z", "Zulu formatted DateTime");
    expect_string("v: 2016-05-04", "2016-05-04");
}

/* Words that only begin like a number are text: addresses, durations, versions. */
static void test_words_that_are_no_numbers_are_strings(void)
{
    static const char *const words[] = {
        "10s",        "1h",   "1m30s",      "127.0.0.1", "a",   "x.y.>", "1.5s",  "127.0.0.1:4222",
        "0.0.0.0:-1", "5kbb", "nats://h:1", "_INBOX.>",  "a#b", "1.2.3", "12-34", "a(b",
        "a{b",        "*"};
    for (size_t i = 0; i < MF_COUNT(words); i++) {
        char text[64];
        snprintf(text, sizeof text, "v: %s\n", words[i]);
        expect_string(text, words[i]);
        snprintf(text, sizeof text, "m { v: %s }\n", words[i]);
        TEST_ASSERT_EQUAL(0, parse(text));
        TEST_ASSERT_EQUAL_STRING(words[i], conf_get(conf_get(root, "m"), "v")->u.s);
    }
}

static void test_escapes_are_resolved_in_double_quotes_and_words_only(void)
{
    expect_string("v: \"a\\tb\\nc\\rd\\\"e\\\\f\\x41\"", "a\tb\nc\rd\"e\\fA");
    expect_string("v: 'a\\tb'", "a\\tb");
    expect_string("v: a\\x41b", "aAb");
    expect_string("v: \"\"", "");
    expect_string("v: ''", "");
    expect_string("v: \"line\nnext\"", "line\nnext");
    expect_string("v: tru\\x65", "true"); /* with escapes it is never a boolean */
    expect_string("v: \"\xc3\xa9\"", "\xc3\xa9");
    expect_error("v: \"a\\qb\"", "Invalid escape character 'q'");
    expect_error("v: \"a\\x4g\"", "Expected two hexadecimal digits after '\\x'");
    expect_error("v: \"a\\x4\n\"", "hit end of line");
    expect_error("v: \"a\\x00\"", "NUL");
}

static void test_block_string_ends_at_a_bracket_alone_on_its_line(void)
{
    expect_string("v: (\nhello ) not yet\n  )\n)\n", "\nhello ) not yet\n  )\n");
    expect_string("v (\nx\n)", "\nx\n");
    expect_error("v: (\nx", "Unexpected EOF processing block");
}

static void test_arrays_take_commas_or_newlines_and_any_values(void)
{
    const struct conf_value *v =
        value("v: [ 1, two, \"three\"\n 4 # c\n 5,\n // d\n [6], {k: 7}, ]\n");
    TEST_ASSERT_EQUAL(CONF_ARRAY, v->type);
    TEST_ASSERT_EQUAL(7, v->nitems);
    TEST_ASSERT_EQUAL_INT64(1, v->items[0]->u.i);
    TEST_ASSERT_EQUAL_STRING("two", v->items[1]->u.s);
    TEST_ASSERT_EQUAL(CONF_ARRAY, v->items[5]->type);
    TEST_ASSERT_EQUAL_INT64(7, conf_get(v->items[6], "k")->u.i);
    TEST_ASSERT_EQUAL(0, value("v: []")->nitems);
    TEST_ASSERT_EQUAL(2, value("v [1,2]")->nitems);
    TEST_ASSERT_EQUAL(2, value("v[1,2]")->nitems);
}

static void test_maps_nest_with_or_without_a_separator(void)
{
    const struct conf_value *v = value("v{ a{ b: 1 }, \"c\" : { 'd' = 2 }\n e { } }");
    TEST_ASSERT_EQUAL(CONF_MAP, v->type);
    TEST_ASSERT_EQUAL_INT64(1, conf_get(conf_get(v, "a"), "b")->u.i);
    TEST_ASSERT_EQUAL_INT64(2, conf_get(conf_get(v, "C"), "D")->u.i);
    TEST_ASSERT_EQUAL(0, conf_get(v, "e")->nitems);
    TEST_ASSERT_NULL(conf_get(v, "nope"));
    TEST_ASSERT_EQUAL_INT64(3, conf_get(value("v: {\n a:\n 3 }"), "a")->u.i);
}

static void test_json_documents_are_read(void)
{
    const struct conf_value *v = value("{\n  \"v\": {\"a\": [1, 2, {\"b\": true}], \"c\": null},\n"
                                       "  \"w\":\n [ \"x\" ]\n}\n");
    TEST_ASSERT_EQUAL(3, conf_get(v, "a")->nitems);
    TEST_ASSERT_EQUAL_STRING("null", conf_get(v, "c")->u.s);
    TEST_ASSERT_EQUAL(1, conf_get(root, "w")->nitems);
}

/* Accounts `A` and `a` are two; options are found in any case. */
static void test_same_key_again_replaces_and_another_case_does_not(void)
{
    TEST_ASSERT_EQUAL(0, parse("v: 1\nw: 2\nv: 3\nV: 4"));
    TEST_ASSERT_EQUAL(3, root->nitems);
    TEST_ASSERT_EQUAL_INT64(3, root->items[0]->u.i);
    TEST_ASSERT_EQUAL_INT64(4, conf_get(root, "v")->u.i);
}

static void test_values_know_where_their_key_stands(void)
{
    const struct conf_value *v = value("a: 1\n  v: [\n   x ]\n");
    TEST_ASSERT_EQUAL_STRING("t.conf", v->file);
    TEST_ASSERT_EQUAL(2, v->line);
    TEST_ASSERT_EQUAL(3, v->col);
    TEST_ASSERT_EQUAL(3, v->items[0]->line);
    TEST_ASSERT_EQUAL(4, v->items[0]->col);
}

/* --- variables -------------------------------------------------------------------------------- */

static void test_variables_are_found_in_this_map_then_outwards(void)
{
    expect_int("x: 5\nv: $x", 5);
    TEST_ASSERT_TRUE(conf_get(root, "x")->used);
    TEST_ASSERT_FALSE(conf_get(root, "v")->used);
    TEST_ASSERT_EQUAL(0, parse("x: 1\nm { x: 2, n { v: $x } }\n w: $x"));
    TEST_ASSERT_EQUAL_INT64(2, conf_get(conf_get(conf_get(root, "m"), "n"), "v")->u.i);
    TEST_ASSERT_EQUAL_INT64(1, conf_get(root, "w")->u.i);
    TEST_ASSERT_EQUAL(2, value("x: {a: 1, b: [2]}\nv: $x")->nitems);
    TEST_ASSERT_EQUAL_INT64(9, value("x: 9\nv: [$x]")->items[0]->u.i);
    expect_error("v: $x\nx: 5", "variable reference for 'x' on line 1 can not be found");
    expect_error("a { x: 1 }\nv: $x", "can not be found");
    expect_error("X: 1\nv: $x", "can not be found"); /* exact case, as nats-server has it */
}

static void test_variables_come_from_the_environment_as_values_of_the_language(void)
{
    setenv("MF_T_INT", "4222", 1);
    setenv("MF_T_QUOTED", "'4222'", 1);
    setenv("MF_T_MAP", "{a: 1, b: [x, y]}", 1);
    setenv("MF_T_OTHER", "$MF_T_INT", 1);
    setenv("MF_T_CYCLE", "$MF_T_CYCLE", 1);
    setenv("MF_T_BAD", "\"open", 1);
    expect_int("v: $MF_T_INT", 4222);
    expect_string("v: $MF_T_QUOTED", "4222");
    TEST_ASSERT_EQUAL(2, conf_get(value("v: $MF_T_MAP"), "b")->nitems);
    expect_int("v: $MF_T_OTHER", 4222);
    expect_error("v: $MF_T_CYCLE", "could not be parsed");
    expect_error("v: $MF_T_BAD", "variable reference for 'MF_T_BAD' on line 1 could not be parsed");
    TEST_ASSERT_NULL(strstr(e.text, "open"));
}

static void test_bcrypt_hashes_need_no_quotes(void)
{
    expect_string("v: $2a$11$PWIFAL8RsWyGI3jVZtO9Nu8.6jOxzxfZo7c/W0eLk017hjgUKWrhy",
                  "$2a$11$PWIFAL8RsWyGI3jVZtO9Nu8.6jOxzxfZo7c/W0eLk017hjgUKWrhy");
    expect_error("v: $2b$11$abc", "can not be found");
}

static void test_an_unresolved_secret_is_not_repeated(void)
{
    expect_error("password: $hunter2", "can not be found");
    TEST_ASSERT_NULL(strstr(e.text, "hunter2"));
    expect_error("users: [$hunter2]", "can not be found");
    TEST_ASSERT_NULL(strstr(e.text, "hunter2"));
    expect_error("token: 99999999999999999999", "integer is out of the range");
    TEST_ASSERT_NULL(strstr(e.text, "99999"));
}

/* --- errors ----------------------------------------------------------------------------------- */

static void test_broken_texts_tell_file_line_column_and_what_was_expected(void)
{
    static const struct {
        const char *text, *want;
    } t[] = {
        {"v:", "config is invalid (t.conf:1:3): expected a value for \"v\""},
        {"v", "config is invalid (t.conf:1:2)"},
        {"v:\n", "t.conf:1:3: Parse error on line 1: 'Expected value but found new line"},
        {"m {\n v: 1\n", "t.conf:3:1: Parse error on line 3: 'Unexpected EOF processing map.'"},
        {"{ v: 1", "but got 'EOF'"},
        {"{ v: 1\n", "Unexpected EOF processing map"},
        {"v: [1, 2", "but got 'EOF'"},
        {"v: [1,\n", "Unexpected EOF processing array"},
        {"v: \"abc\n\n", "The \" opened on line 1 is not closed"},
        {"v: 'abc", "The ' opened on line 1 is not closed"},
        {"\"v: 1", "Unexpected EOF processing quoted key"},
        {"= 5", "Unexpected key separator '='"},
        {": 5", "Unexpected key separator ':'"},
        {"m { : 5 }", "Unexpected key separator ':'"},
        {"v: 1 w: 2",
         "t.conf:1:6: Parse error on line 1: 'Expected a top-level value to end with a "
         "new line, comment or EOF, but got 'w' instead.'"},
        {"m { v: 1 w: 2 }", "Expected a map value terminator \",\" or a map terminator \"}\""},
        {"v: [1 2]", "Expected an array value terminator \",\" or an array terminator \"]\", but "
                     "got '2' instead."},
        {"v: [,]", "Unexpected array value terminator ','"},
        {"v: [1,,2]", "Unexpected array value terminator ','"},
        {"m { v: , }", "Expected value but found ','"},
        {"m { v }", "Expected value but found '}' (key \"v\")"},
        {"m ] ", "Expected value but found ']'"},
        {"m { ] }", "Unexpected array end ']' processing map."},
        {"}\nv: 1", "Unexpected '}': no map is open here"},
        {"v: 1\n}\nw: 2", "Unexpected '}'"},
        {",", "Expected a key but got ','"},
        {"[1]", "Expected a key but got '['"},
        {"v: -x", "Expected a digit but got 'x'"},
        {"v: 9223372036854775808", "integer is out of the range"},
        {"v: 10e", "integer is out of the range"},
        {"v: -9223372036854775809", "integer is out of the range"},
        {"include x.conf", "no files may be included here"},
        {"include {", "Expected include value but found start of a map"},
        {"include \n", "Expected include value but found new line"},
        {"include 'x", "Unexpected EOF in quoted include"},
    };
    for (size_t i = 0; i < MF_COUNT(t); i++)
        expect_error(t[i].text, t[i].want);
}

static void test_nul_bytes_are_refused_wherever_they_stand(void)
{
    const struct mf_slice texts[] = {MF_LIT("v: a\0b"),   MF_LIT("v\0: 1"),
                                     MF_LIT("\0"),        MF_LIT("v: \"a\0\""),
                                     MF_LIT("v: 'a\0b'"), MF_LIT("v: (\n\0\n)\n")};
    for (size_t i = 0; i < MF_COUNT(texts); i++) {
        TEST_ASSERT_EQUAL(MF_INVAL, conf_parse_text(&root, texts[i], "t.conf", NULL, &e));
        TEST_ASSERT_NULL(root);
    }
}

/* The text ends where the memory ends: a sanitizer sees a single byte read too far. */
static void test_every_cut_of_a_document_is_survived(void)
{
    static const char doc[] = "a: [1, \"x\\x41\", 'y', {b: (\nz\n)\n}] # c\nd = $2a$x; e { f: 1.5, "
                              "g: 2020-01-01T00:00:00Z }\nh: 10MB // i\n";
    for (size_t n = 0; n < sizeof doc; n++) {
        char *copy = malloc(n + 1);
        TEST_ASSERT_NOT_NULL(copy);
        memcpy(copy, doc, n);
        char *exact = n == 0 ? NULL : realloc(copy, n);
        int rc = conf_parse_text(&root, mf_slice(exact, n), "t.conf", NULL, &e);
        TEST_ASSERT_TRUE(rc == 0 || e.text[0] != '\0');
        conf_free(root);
        root = NULL;
        free(n == 0 ? copy : exact);
    }
}

static void test_nesting_and_copies_are_bounded(void)
{
    char *deep = malloc(200001);
    TEST_ASSERT_NOT_NULL(deep);
    memset(deep, '[', 200000);
    deep[0] = 'v';
    deep[200000] = '\0';
    expect_error(deep, "nested deeper than 100 levels");
    memset(deep, '{', 200000);
    deep[200000] = '\0';
    expect_error(deep, "nested deeper than 100 levels");
    free(deep);
    /* Each line is ten times the one before: a billion laughs in ten lines. */
    char bomb[2048] = "a0: [1,1,1,1,1,1,1,1,1,1]\n";
    for (int i = 1; i < 10; i++) {
        size_t n = strlen(bomb);
        n += (size_t)snprintf(bomb + n, sizeof bomb - n, "a%d: [", i);
        for (int k = 0; k < 10; k++)
            n += (size_t)snprintf(bomb + n, sizeof bomb - n, "$a%d,", i - 1);
        snprintf(bomb + n, sizeof bomb - n, "]\n");
    }
    expect_error(bomb, "more than 1000000 values");
}

/* A hundred thousand keys are read in a blink, not in the square of that. */
static void test_large_maps_stay_linear(void)
{
    size_t cap = 100000 * 20, n = 0;
    char *text = malloc(cap);
    TEST_ASSERT_NOT_NULL(text);
    for (int i = 0; i < 100000; i++)
        n += (size_t)snprintf(text + n, cap - n, "k%d: %d\n", i % 90000, i);
    TEST_ASSERT_EQUAL(0, conf_parse_text(&root, mf_slice(text, n), "t.conf", NULL, &e));
    TEST_ASSERT_EQUAL(90000, root->nitems);
    TEST_ASSERT_EQUAL_INT64(90005, root->items[5]->u.i);
    free(text);
}

/* --- files ------------------------------------------------------------------------------------ */

static const char *path(const char *name)
{
    static char buf[4][160];
    static int i;
    i = (i + 1) % 4;
    snprintf(buf[i], sizeof buf[i], "%s/%s", dir, name);
    return buf[i];
}

static void file(const char *name, const char *text)
{
    FILE *f = fopen(path(name), "we");
    TEST_ASSERT_NOT_NULL(f);
    fputs(text, f);
    fclose(f);
}

static void expect_file_error(const char *name, const char *want)
{
    e = (struct mf_error){0, ""};
    TEST_ASSERT_NOT_EQUAL(0, conf_parse_file(&root, path(name), &e));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(e.text, want), e.text);
}

static void test_includes_are_relative_to_the_including_file(void)
{
    mkdir(path("sub"), 0700);
    file("a.conf", "x: 1\ninclude sub/b.conf\nm { include 'sub/c.conf' }\nz: $y\n");
    file("sub/b.conf", "y: 2\ninclude \"c.conf\";\nx: 7");
    file("sub/c.conf", "deep: 3");
    TEST_ASSERT_EQUAL_MESSAGE(0, conf_parse_file(&root, path("a.conf"), &e), e.text);
    TEST_ASSERT_EQUAL_INT64(7, conf_get(root, "x")->u.i); /* the later one wins */
    TEST_ASSERT_EQUAL_INT64(2, conf_get(root, "z")->u.i); /* its keys serve as variables */
    TEST_ASSERT_EQUAL_INT64(3, conf_get(root, "deep")->u.i);
    TEST_ASSERT_EQUAL_INT64(3, conf_get(conf_get(root, "m"), "deep")->u.i);
    TEST_ASSERT_EQUAL_STRING(path("sub/c.conf"), conf_get(root, "deep")->file);
}

static void test_include_errors_name_both_files(void)
{
    file("a.conf", "\n  include nope.conf\n");
    expect_file_error("a.conf", "a.conf:2:11: error parsing include file 'nope.conf', open ");
    file("a.conf", "include b.conf\n");
    file("b.conf", "\nv: [\n");
    expect_file_error("a.conf", "b.conf:3:1: Parse error on line 3");
    expect_file_error("missing.conf", "missing.conf: No such file");
    expect_file_error(".", "is not a file");
}

static void test_include_circles_and_depth_end_with_an_error(void)
{
    file("a.conf", "include b.conf\n");
    file("b.conf", "include a.conf\n");
    expect_file_error("a.conf", "a file can not include itself");
    for (int i = 0; i < 40; i++) {
        char name[32], text[64];
        snprintf(name, sizeof name, "d%d.conf", i);
        snprintf(text, sizeof text, "include d%d.conf\nv: 1", i + 1);
        file(name, text);
    }
    expect_file_error("d0.conf", "more than 32 includes inside each other");
}

static void test_files_beyond_the_limit_are_refused(void)
{
    int fd = open(path("big.conf"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    TEST_ASSERT_GREATER_OR_EQUAL(0, fd);
    TEST_ASSERT_EQUAL(0, ftruncate(fd, (16 << 20) + 1));
    close(fd);
    expect_file_error("big.conf", "larger than 16 MB");
}

static int remove_entry(const char *name, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(name);
}

int main(void)
{
    snprintf(dir, sizeof dir, "conf_test_XXXXXX");
    if (mkdtemp(dir) == NULL)
        return 1;
    UNITY_BEGIN();
    RUN_TEST(test_every_separator_and_terminator_is_accepted);
    RUN_TEST(test_units_are_powers_of_1000_alone_and_of_1024_with_a_b_or_i);
    RUN_TEST(test_booleans_are_words_without_quotes_in_any_case);
    RUN_TEST(test_floats_need_digits_on_both_sides);
    RUN_TEST(test_dates_are_read_in_zulu_time);
    RUN_TEST(test_words_that_are_no_numbers_are_strings);
    RUN_TEST(test_escapes_are_resolved_in_double_quotes_and_words_only);
    RUN_TEST(test_block_string_ends_at_a_bracket_alone_on_its_line);
    RUN_TEST(test_arrays_take_commas_or_newlines_and_any_values);
    RUN_TEST(test_maps_nest_with_or_without_a_separator);
    RUN_TEST(test_json_documents_are_read);
    RUN_TEST(test_same_key_again_replaces_and_another_case_does_not);
    RUN_TEST(test_values_know_where_their_key_stands);
    RUN_TEST(test_variables_are_found_in_this_map_then_outwards);
    RUN_TEST(test_variables_come_from_the_environment_as_values_of_the_language);
    RUN_TEST(test_bcrypt_hashes_need_no_quotes);
    RUN_TEST(test_an_unresolved_secret_is_not_repeated);
    RUN_TEST(test_broken_texts_tell_file_line_column_and_what_was_expected);
    RUN_TEST(test_nul_bytes_are_refused_wherever_they_stand);
    RUN_TEST(test_every_cut_of_a_document_is_survived);
    RUN_TEST(test_nesting_and_copies_are_bounded);
    RUN_TEST(test_large_maps_stay_linear);
    RUN_TEST(test_includes_are_relative_to_the_including_file);
    RUN_TEST(test_include_errors_name_both_files);
    RUN_TEST(test_include_circles_and_depth_end_with_an_error);
    RUN_TEST(test_files_beyond_the_limit_are_refused);
    nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return UNITY_END();
}
