/* test_js_error.c: JetStream's error table.  With MAYFLY_SHARED naming the folder that holds
 * data/jetstream-errors.json, every row is compared with nats-server's own table. */
#include "stream/js_error.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

static const struct {
    const char *id;
    uint16_t code, err_code;
    const char *text;
} rows[] = {
#define ROW(id, code, err_code, text) {#id, code, err_code, text},
    JS_ERRORS(ROW)
#undef ROW
};
static struct js_error e;

void setUp(void)
{
    memset(&e, 0, sizeof e);
}

void tearDown(void)
{
}

/* Enough arguments for every description: each takes strings only. */
static void test_every_entry_has_its_code_and_takes_strings(void)
{
    char want[1024];

    for (int i = 0; i < JS_ERR_COUNT; i++) {
        TEST_ASSERT_EQUAL_INT(MF_DENIED, js_error_set(&e, (enum js_err)i, "one", "two", "three"));
        TEST_ASSERT_EQUAL_UINT16(rows[i].code, e.code);
        TEST_ASSERT_EQUAL_UINT16(rows[i].err_code, e.err_code);
        snprintf(want, sizeof want, rows[i].text, "one", "two", "three");
        TEST_ASSERT_EQUAL_STRING(want, e.text);
        for (const char *p = rows[i].text; (p = strchr(p, '%')) != NULL; p += 2)
            TEST_ASSERT_EQUAL_CHAR_MESSAGE('s', p[1], rows[i].id);
    }
}

static void test_known_entries(void)
{
    js_error_set(&e, JS_STREAM_NOT_FOUND);
    TEST_ASSERT_EQUAL_UINT16(404, e.code);
    TEST_ASSERT_EQUAL_UINT16(10059, e.err_code);
    TEST_ASSERT_EQUAL_STRING("stream not found", e.text);
    js_error_set(&e, JS_STREAM_WRONG_LAST_SEQUENCE, "7");
    TEST_ASSERT_EQUAL_STRING("wrong last sequence: 7", e.text);
    js_error_set_text(&e, JS_STREAM_INVALID_CONFIG, "maximum replicas is %d", 5);
    TEST_ASSERT_EQUAL_UINT16(500, e.code);
    TEST_ASSERT_EQUAL_UINT16(10052, e.err_code);
    TEST_ASSERT_EQUAL_STRING("maximum replicas is 5", e.text);
}

static void test_nobody_to_tell_is_still_a_refusal(void)
{
    TEST_ASSERT_EQUAL_INT(MF_DENIED, js_error_set(NULL, JS_BAD_REQUEST));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, js_error_set_text(NULL, JS_BAD_REQUEST, "%s", "x"));
}

/* A client's text may be longer than the room: it ends before a character that does not fit. */
static void test_long_text_is_cut_between_characters(void)
{
    static const char *const runes[] = {"x", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x90\x9b"};

    for (size_t r = 0; r < MF_COUNT(runes); r++)
        for (size_t lead = 0; lead < 4; lead++) {
            char text[2048] = "abc";
            size_t n = lead, w = strlen(runes[r]);
            while (n + w < sizeof text - 1) {
                memcpy(text + n, runes[r], w);
                n += w;
            }
            text[n] = '\0';
            js_error_set_text(&e, JS_STREAM_INVALID_CONFIG, "%s", text);
            n = strlen(e.text);
            TEST_ASSERT_EQUAL_size_t(0, (n - lead) % w);
            TEST_ASSERT_GREATER_THAN_size_t(sizeof e.text - 1 - w, n);
            TEST_ASSERT_EQUAL_MEMORY(text, e.text, n);
        }
}

static const char *read_shared(const char *folder)
{
    static char text[1 << 20]; /* static: a failed assertion frees nothing */
    char path[4096];
    FILE *f;

    snprintf(path, sizeof path, "%s/data/jetstream-errors.json", folder);
    f = fopen(path, "re");
    TEST_ASSERT_NOT_NULL_MESSAGE(f, path);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    TEST_ASSERT_GREATER_THAN_size_t(1000, n);
    return text;
}

/* The value behind "key": in this object; it ends at a quote or comma. */
static const char *value(const char *object, const char *key)
{
    const char *p = strstr(object, key);
    TEST_ASSERT_NOT_NULL_MESSAGE(p, key);
    p += strlen(key);
    while (*p == ' ' || *p == ':' || *p == '"')
        p++;
    return p;
}

/* "{placeholder}" as "%s", as the table has it; Go's JSON escapes '>'. */
static void to_format(char *dst, size_t cap, const char *text)
{
    size_t n = 0;
    for (; *text != '\0' && *text != '"' && n + 3 < cap; text++) {
        if (*text == '{') {
            dst[n++] = '%';
            dst[n++] = 's';
            text += strcspn(text, "}");
        } else if (strncmp(text, "\\u003e", 6) == 0) {
            dst[n++] = '>';
            text += 5;
        } else {
            dst[n++] = *text;
        }
    }
    dst[n] = '\0';
}

static void test_table_agrees_with_the_shared_one(void)
{
    const char *folder = getenv("MAYFLY_SHARED");
    size_t seen = 0;

    if (folder == NULL) {
        printf("MAYFLY_SHARED is not set: the table is not compared with nats-server's\n");
        return;
    }
    const char *text = read_shared(folder);
    for (const char *p = text; (p = strstr(p, "\"constant\"")) != NULL; p++, seen++) {
        char want[512];
        int err_code = atoi(value(p, "\"error_code\""));
        size_t i = 0;
        while (i < MF_COUNT(rows) && rows[i].err_code != err_code)
            i++;
        TEST_ASSERT_LESS_THAN_size_t(MF_COUNT(rows), i);
        TEST_ASSERT_EQUAL_INT(atoi(value(p, "\"code\"")), rows[i].code);
        to_format(want, sizeof want, value(p, "\"description\""));
        TEST_ASSERT_EQUAL_STRING(want, rows[i].text);
    }
    TEST_ASSERT_EQUAL_size_t(MF_COUNT(rows), seen);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_every_entry_has_its_code_and_takes_strings);
    RUN_TEST(test_known_entries);
    RUN_TEST(test_nobody_to_tell_is_still_a_refusal);
    RUN_TEST(test_long_text_is_cut_between_characters);
    RUN_TEST(test_table_agrees_with_the_shared_one);
    return UNITY_END();
}
