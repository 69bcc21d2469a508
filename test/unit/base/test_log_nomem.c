/* test_log_nomem.c: logging without memory.  That is when a server has something to say: its lines
 * are written all the same.  (Linked with --wrap.) */
#include "base/log.h"
#include "codec/log_json.h"

#include "support/no_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unity.h"

#define LONG 5000

static char path[64], text[4 * LONG];

void setUp(void)
{
    snprintf(path, sizeof path, "test-log-nomem-XXXXXX"); /* in the build folder */
    int fd = mkstemp(path);
    TEST_ASSERT_TRUE(fd >= 0);
    close(fd);
    memory_also = 0;
}

void tearDown(void)
{
    memory_disarm();
    log_close();
    unlink(path);
}

static void open_log(bool json)
{
    struct mf_error e = {.text = ""};

    TEST_ASSERT_EQUAL_MESSAGE(
        0,
        log_open(
            &(struct log_options){.file = path, .time = true, .json = json ? log_json_line : NULL},
            &e),
        e.text);
}

static const char *written(void)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    TEST_ASSERT_TRUE(fd >= 0);
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    TEST_ASSERT_TRUE(n >= 0);
    text[n] = '\0';
    return text;
}

/* From now on every allocation fails. */
static void none(void)
{
    memory_also = 1000000;
    memory_arm(0);
}

static void test_a_line_is_whole_without_memory(void)
{
    open_log(false);
    none();
    log_error("store %s: no memory to write a group", "ORDERS");
    memory_disarm();
    TEST_ASSERT_NOT_NULL(strstr(written(), "[ERR] store ORDERS: no memory to write a group\n"));
}

/* Each byte of it is spelled out, which is the most room that a text can take. */
static void test_a_line_of_control_characters_is_whole_without_memory(void)
{
    char bytes[1001], expect[6 * 1000 + 1];

    memset(bytes, '\x1b', 1000);
    bytes[1000] = '\0';
    for (int json = 0; json < 2; json++) {
        size_t each = json ? 6 : 4;
        for (size_t i = 0; i < 1000; i++)
            memcpy(expect + each * i, json ? "\\u001b" : "\\x1b", each);
        expect[1000 * each] = '\0';
        open_log(json);
        none();
        log_warn("%s", bytes);
        memory_disarm();
        TEST_ASSERT_NOT_NULL(strstr(written(), expect));
    }
}

static void test_a_long_line_is_cut_without_memory_and_whole_with_it(void)
{
    static char body[LONG + 1];

    memset(body, 'x', LONG);
    open_log(false);
    none();
    log_error("first %s", body);
    memory_disarm();
    const char *line = strstr(written(), "[ERR] first xxxxxxxxxxxxxxxx");
    TEST_ASSERT_NOT_NULL(line);
    TEST_ASSERT_EQUAL_CHAR('\n', line[strlen(line) - 1]);
    TEST_ASSERT_LESS_THAN(LONG, strlen(line));
    log_error("then %s", body);
    line = strstr(written(), "[ERR] then ");
    TEST_ASSERT_NOT_NULL(line);
    TEST_ASSERT_EQUAL_size_t(strlen("[ERR] then \n") + LONG, strlen(line));
}

/* Whichever allocation fails: a line, with its text, whole or cut. */
static void test_no_line_is_empty_or_missing(void)
{
    static char body[LONG + 1];
    int n = 0;

    memset(body, 'y', LONG);
    do {
        open_log(false);
        TEST_ASSERT_EQUAL_INT(0, truncate(path, 0));
        memory_arm(n++);
        log_info("some %s", body);
        memory_disarm();
        TEST_ASSERT_NOT_NULL(strstr(written(), "[INF] some yyyyyyyyyyyyyyyy"));
        log_close();
    } while (memory_hit);
    TEST_ASSERT_GREATER_THAN(1, n);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_line_is_whole_without_memory);
    RUN_TEST(test_a_line_of_control_characters_is_whole_without_memory);
    RUN_TEST(test_a_long_line_is_cut_without_memory_and_whole_with_it);
    RUN_TEST(test_no_line_is_empty_or_missing);
    return UNITY_END();
}
