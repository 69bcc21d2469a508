/* test_log.c: lines of the log as operators and their tools read them. */
#include "base/log.h"
#include "codec/log_json.h"

#include "base/buf.h"
#include "base/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "unity.h"

#define NAME      256 /* more than any file name has */
#define FILE_NAME 384

static char dir[64], path[96];
static struct mf_buf text; /* what was read last */
static int real_stderr;

void setUp(void)
{
    snprintf(dir, sizeof dir, "test-log-XXXXXX"); /* in the build folder */
    TEST_ASSERT_NOT_NULL(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/server.log", dir);
    text = MF_BUF_INIT;
    real_stderr = dup(STDERR_FILENO);
}

/* The files of the test's folder, but not . and ..  No assertions: they would end tearDown early.
 */
static size_t list_dir(char names[][NAME], size_t cap)
{
    DIR *d = opendir(dir);
    const struct dirent *e;
    size_t n = 0;

    while (d != NULL && (e = readdir(d)) != NULL)
        if (e->d_name[0] != '.' && n < cap)
            snprintf(names[n++], NAME, "%s", e->d_name);
    if (d != NULL)
        closedir(d);
    return n;
}

void tearDown(void)
{
    static char names[256][NAME];

    log_close();
    mf_buf_fini(&text);
    dup2(real_stderr, STDERR_FILENO);
    close(real_stderr);
    size_t n = list_dir(names, 256);
    for (size_t i = 0; i < n; i++) {
        char file[FILE_NAME];
        snprintf(file, sizeof file, "%s/%s", dir, names[i]);
        (void)remove(file); /* a test that failed may have left a folder */
    }
    TEST_ASSERT_EQUAL(0, rmdir(dir));
}

static const char *read_file(const char *name)
{
    char chunk[4096];
    ssize_t n;
    int fd = open(name, O_RDONLY | O_CLOEXEC);

    TEST_ASSERT_TRUE_MESSAGE(fd >= 0, name);
    mf_buf_clear(&text);
    while ((n = read(fd, chunk, sizeof chunk)) > 0)
        mf_buf_append(&text, chunk, (size_t)n);
    close(fd);
    return mf_buf_cstr(&text);
}

static void open_log(const struct log_options *o)
{
    struct mf_error e = {.text = ""};

    TEST_ASSERT_EQUAL_MESSAGE(0, log_open(o, &e), e.text);
}

static void check_matches(const char *pattern, const char *subject)
{
    regex_t re;

    TEST_ASSERT_EQUAL(0, regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB));
    TEST_ASSERT_EQUAL_MESSAGE(0, regexec(&re, subject, 0, NULL, 0), subject);
    regfree(&re);
}

static const char *pid_line(const char *rest)
{
    static char line[512];

    snprintf(line, sizeof line, "[%d] %s", (int)getpid(), rest);
    return line;
}

static void test_line_has_pid_time_level_and_text(void)
{
    open_log(&(struct log_options){.file = path, .time = true});
    log_info("Listening on %s:%d", "127.0.0.1", 4222);
    check_matches("^\\[[0-9]+\\] [0-9]{4}/[0-9]{2}/[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6} "
                  "\\[INF\\] Listening on 127\\.0\\.0\\.1:4222\n$",
                  read_file(path));
}

static void test_each_level_has_its_label(void)
{
    open_log(&(struct log_options){.file = path, .debug = true, .trace = true});
    log_fatal("f");
    log_error("e");
    log_warn("w");
    log_info("i");
    log_debug("d");
    log_trace("t");
    char expect[256];
    int p = (int)getpid();
    snprintf(expect, sizeof expect,
             "[%d] [FTL] f\n[%d] [ERR] e\n[%d] [WRN] w\n[%d] [INF] i\n[%d] [DBG] d\n[%d] [TRC] t\n",
             p, p, p, p, p, p);
    TEST_ASSERT_EQUAL_STRING(expect, read_file(path));
}

static int evaluated;
static int costly(void)
{
    return ++evaluated;
}

static void test_levels_that_are_off_cost_nothing_and_write_nothing(void)
{
    evaluated = 0;
    open_log(&(struct log_options){.file = path});
    TEST_ASSERT_TRUE(log_enabled(LOG_INFO_));
    TEST_ASSERT_FALSE(log_enabled(LOG_DEBUG_));
    TEST_ASSERT_FALSE(log_enabled(LOG_TRACE_));
    log_debug("%d", costly());
    log_trace("%d", costly());
    log_write(LOG_DEBUG_, "x");
    TEST_ASSERT_EQUAL(0, evaluated);
    TEST_ASSERT_EQUAL_STRING("", read_file(path));
    open_log(&(struct log_options){.file = path, .trace = true}); /* trace without debug */
    log_debug("%d", costly());
    log_trace("%d", costly());
    TEST_ASSERT_EQUAL(1, evaluated);
    TEST_ASSERT_EQUAL_STRING(pid_line("[TRC] 1\n"), read_file(path));
}

/* A client's name must not be able to write "[1] [INF] all is well" into the log, nor to speak to
 * the terminal of who reads it (ESC; U+009B is the one-character form of ESC [). */
static void test_text_of_a_client_cannot_forge_a_line(void)
{
    open_log(&(struct log_options){.file = path});
    log_info("name %s", "a\n[1] [INF] b\r\x1b[2J\tc\x7f\xc2\x9b\xff \xc3\xa4 \\ z");
    TEST_ASSERT_EQUAL_STRING(
        pid_line("[INF] name a\\n[1] [INF] b\\r\\x1b[2J\\tc\\x7f\\xc2\\x9b\\xff \xc3\xa4 \\ z\n"),
        read_file(path));
}

static void test_text_of_any_length_is_one_line(void)
{
    enum { N = 100000 };
    char *big = malloc(N + 1);

    TEST_ASSERT_NOT_NULL(big);
    memset(big, 'x', N);
    big[N] = '\0';
    open_log(&(struct log_options){.file = path});
    log_info("%s", big);
    read_file(path);
    TEST_ASSERT_EQUAL_size_t(strlen(pid_line("[INF] \n")) + N, text.len);
    free(big);
}

static void test_json_lines_are_json(void)
{
    char expect[256];

    open_log(&(struct log_options){.file = path, .json = log_json_line});
    log_warn("a \"b\"\n<c>");
    snprintf(expect, sizeof expect,
             "{\"level\":\"warn\",\"pid\":%d,\"msg\":\"a \\\"b\\\"\\n\\u003cc\\u003e\"}\n",
             (int)getpid());
    TEST_ASSERT_EQUAL_STRING(expect, read_file(path));
    open_log(&(struct log_options){.file = path, .json = log_json_line, .time = true});
    log_error("x");
    check_matches("\n\\{\"time\":\"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\\.[0-9]+)?Z\",\"level\":"
                  "\"error\",\"pid\":[0-9]+,\"msg\":\"x\"\\}\n$",
                  read_file(path));
}

/* Seconds of the day in the first line of the file. */
static int second_of_day(void)
{
    int h, m, s;

    TEST_ASSERT_EQUAL(3, sscanf(strchr(read_file(path), ' '), " %*d/%*d/%*d %d:%d:%d", &h, &m, &s));
    return h * 3600 + m * 60 + s;
}

static void test_time_is_local_or_utc_as_asked(void)
{
    char *former = getenv("TZ");
    int utc = (int)(clock_wall_ns() / CLOCK_S % 86400);

    former = former == NULL ? NULL : mf_slice_dup(mf_str(former));
    setenv("TZ", "TST-5:30", 1); /* five and a half hours east */
    open_log(&(struct log_options){.file = path, .time = true});
    log_info("x");
    TEST_ASSERT_INT_WITHIN(60, 0, (second_of_day() - utc - 19800 + 2 * 86400 + 30) % 86400 - 30);
    unlink(path);
    open_log(&(struct log_options){.file = path, .time = true, .utc = true});
    log_info("x");
    TEST_ASSERT_INT_WITHIN(60, 0, (second_of_day() - utc + 86400 + 30) % 86400 - 30);
    if (former == NULL)
        unsetenv("TZ");
    else
        setenv("TZ", former, 1);
    free(former);
}

static void test_file_is_appended_to_and_closed_to_others(void)
{
    struct stat st;

    open_log(&(struct log_options){.file = path});
    log_info("one");
    log_close();
    TEST_ASSERT_EQUAL(0, stat(path, &st));
    TEST_ASSERT_EQUAL_HEX(0, st.st_mode & 0027); /* 0640, or less under a stricter umask */
    open_log(&(struct log_options){.file = path});
    log_info("two");
    TEST_ASSERT_NOT_NULL(strstr(read_file(path), "one\n"));
    TEST_ASSERT_NOT_NULL(strstr(mf_buf_cstr(&text), "two\n"));
}

static void test_log_that_cannot_be_opened_leaves_the_former_in_use(void)
{
    struct mf_error e = {.text = ""};
    char wrong[128];

    open_log(&(struct log_options){.file = path});
    snprintf(wrong, sizeof wrong, "%s/missing/x.log", dir);
    TEST_ASSERT_EQUAL(MF_IO, log_open(&(struct log_options){.file = wrong, .debug = true}, &e));
    TEST_ASSERT_NOT_NULL(strstr(e.text, "missing/x.log: No such file or directory"));
    TEST_ASSERT_FALSE(log_enabled(LOG_DEBUG_));
    log_info("still here");
    TEST_ASSERT_EQUAL_STRING(pid_line("[INF] still here\n"), read_file(path));
}

/* The steps of logrotate: move the file, signal, expect a new file of the old name. */
static void test_reopened_log_writes_to_a_new_file_of_the_old_name(void)
{
    char moved[128];

    open_log(&(struct log_options){.file = path});
    log_info("one");
    snprintf(moved, sizeof moved, "%s.1", path);
    TEST_ASSERT_EQUAL(0, rename(path, moved));
    log_info("two");
    log_reopen();
    log_info("three");
    TEST_ASSERT_NULL(strstr(read_file(path), "two"));
    TEST_ASSERT_NOT_NULL(strstr(mf_buf_cstr(&text), "[INF] File log re-opened\n"));
    TEST_ASSERT_NOT_NULL(strstr(mf_buf_cstr(&text), "three"));
    TEST_ASSERT_NOT_NULL(strstr(read_file(moved), "two"));
    TEST_ASSERT_NULL(strstr(mf_buf_cstr(&text), "three"));
}

static void test_log_that_cannot_be_reopened_goes_on_in_the_old_file(void)
{
    char moved[128];

    open_log(&(struct log_options){.file = path});
    snprintf(moved, sizeof moved, "%s.1", path);
    TEST_ASSERT_EQUAL(0, rename(path, moved));
    TEST_ASSERT_EQUAL(0, mkdir(path, 0700)); /* a folder of that name: not even root may write it */
    log_reopen();
    log_info("after");
    TEST_ASSERT_EQUAL(0, rmdir(path));
    TEST_ASSERT_NOT_NULL(strstr(read_file(moved), "[ERR] File log not re-opened: open log file"));
    TEST_ASSERT_NOT_NULL(strstr(mf_buf_cstr(&text), "[INF] after\n"));
}

static void capture_stderr(void)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    TEST_ASSERT_TRUE(fd >= 0);
    dup2(fd, STDERR_FILENO);
    close(fd);
}

static void test_stderr_gets_the_lines_when_there_is_no_file_and_no_colors_off_a_terminal(void)
{
    capture_stderr();
    open_log(&(struct log_options){.color = true});
    log_info("plain");
    log_reopen();
    log_close();
    log_warn("after close");
    dup2(real_stderr, STDERR_FILENO);
    TEST_ASSERT_EQUAL_STRING_LEN(pid_line("[INF] plain\n"), read_file(path),
                                 strlen(pid_line("[INF] plain\n")));
    TEST_ASSERT_NOT_NULL(
        strstr(mf_buf_cstr(&text), "[INF] File log re-open ignored, not a file logger\n"));
    TEST_ASSERT_NOT_NULL(strstr(mf_buf_cstr(&text), "[WRN] after close\n"));
}

/* A terminal of our own: the master's end reads what a person would see. */
static void test_terminal_gets_colors_only_when_asked(void)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    struct termios raw;
    char seen[512] = "";

    TEST_ASSERT_TRUE(master >= 0);
    TEST_ASSERT_EQUAL(0, grantpt(master));
    TEST_ASSERT_EQUAL(0, unlockpt(master));
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    TEST_ASSERT_TRUE(slave >= 0);
    TEST_ASSERT_EQUAL(0, tcgetattr(slave, &raw));
    cfmakeraw(&raw);
    TEST_ASSERT_EQUAL(0, tcsetattr(slave, TCSANOW, &raw));
    dup2(slave, STDERR_FILENO);
    open_log(&(struct log_options){.color = true});
    log_info("x");
    open_log(&(struct log_options){.color = false});
    log_info("y");
    dup2(real_stderr, STDERR_FILENO);
    size_t have = 0;
    struct pollfd p = {.fd = master, .events = POLLIN};
    while (strchr(seen, 'y') == NULL && have < sizeof seen - 1 && poll(&p, 1, 60000) == 1) {
        ssize_t n = read(master, seen + have, sizeof seen - 1 - have);
        TEST_ASSERT_TRUE(n > 0);
        have += (size_t)n;
    }
    close(slave);
    close(master);
    char expect[128];
    snprintf(expect, sizeof expect, "[%d] [\x1b[32mINF\x1b[0m] x\n[%d] [INF] y", (int)getpid(),
             (int)getpid());
    TEST_ASSERT_EQUAL_STRING_LEN(expect, seen, strlen(expect));
}

static void test_file_beyond_its_limit_is_renamed_and_begun_anew(void)
{
    static char names[8][NAME];
    char backup[FILE_NAME];

    open_log(&(struct log_options){.file = path, .size_limit = 200});
    for (int i = 0; i < 100 && list_dir(names, 8) == 1; i++) {
        read_file(path);
        TEST_ASSERT_TRUE(text.len <= 200);
        log_info("0123456789");
    }
    TEST_ASSERT_EQUAL_size_t(2, list_dir(names, 8));
    const char *old = strcmp(names[0], "server.log") == 0 ? names[1] : names[0];
    check_matches("^server\\.log\\.[0-9]{4}(\\.[0-9]{2}){5}\\.[0-9]{9}$", old);
    snprintf(backup, sizeof backup, "%s/%s", dir, old);
    char expect[FILE_NAME + 100];
    snprintf(expect, sizeof expect, "[%d] [INF] Rotated log, backup saved as \"%s\"\n",
             (int)getpid(), backup);
    TEST_ASSERT_EQUAL_STRING(expect, read_file(path));
    read_file(backup);
    TEST_ASSERT_TRUE(text.len > 200);
}

static void test_file_found_beyond_its_limit_is_rotated_at_once(void)
{
    static char names[8][NAME];

    open_log(&(struct log_options){.file = path});
    for (int i = 0; i < 20; i++)
        log_info("0123456789");
    open_log(&(struct log_options){.file = path, .size_limit = 100});
    TEST_ASSERT_EQUAL_size_t(2, list_dir(names, 8));
    TEST_ASSERT_NOT_NULL(strstr(read_file(path), "Rotated log, backup saved as"));
}

static void touch(const char *name)
{
    char file[FILE_NAME];

    snprintf(file, sizeof file, "%s/%s", dir, name);
    int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    TEST_ASSERT_TRUE(fd >= 0);
    close(fd);
}

static bool exists(const char *name)
{
    char file[FILE_NAME];

    snprintf(file, sizeof file, "%s/%s", dir, name);
    return access(file, F_OK) == 0;
}

/* Three kept: the one being written and the two youngest others.  Files with merely similar names
 * stay. */
static void test_oldest_rotated_files_are_purged_and_nothing_else(void)
{
    static char names[16][NAME];

    touch("server.log.2020.01.01.00.00.00.000000001");
    touch("server.log.2021.01.01.00.00.00.000000001");
    touch("server.log.2022.01.01.00.00.00.000000001");
    touch("server.log.gz");
    touch("server.log.2020.01.01.00.00.00.00000000");
    touch("server.log.2020.01.01.00.00.00.000000001.gz");
    touch("server.log-2020.01.01.00.00.00.000000001");
    touch("other.log.2020.01.01.00.00.00.000000001");
    open_log(&(struct log_options){.file = path, .size_limit = 100, .max_files = 3});
    for (int i = 0; i < 100 && exists("server.log.2020.01.01.00.00.00.000000001"); i++)
        log_info("0123456789");
    TEST_ASSERT_NOT_NULL(strstr(
        read_file(path), "[INF] Purged log file \"server.log.2020.01.01.00.00.00.000000001\"\n"));
    TEST_ASSERT_FALSE(exists("server.log.2021.01.01.00.00.00.000000001"));
    TEST_ASSERT_TRUE(exists("server.log.2022.01.01.00.00.00.000000001"));
    TEST_ASSERT_TRUE(exists("server.log.gz"));
    TEST_ASSERT_TRUE(exists("server.log.2020.01.01.00.00.00.00000000"));
    TEST_ASSERT_TRUE(exists("server.log.2020.01.01.00.00.00.000000001.gz"));
    TEST_ASSERT_TRUE(exists("server.log-2020.01.01.00.00.00.000000001"));
    TEST_ASSERT_TRUE(exists("other.log.2020.01.01.00.00.00.000000001"));
    TEST_ASSERT_EQUAL_size_t(8, list_dir(names, 16));
}

/* The file was moved away: there is nothing to rename.  Lines must go on, and one error is enough.
 */
static void test_failed_rotation_goes_on_in_the_same_file_and_is_told_once_per_doubling(void)
{
    char moved[128];
    unsigned errors = 0;

    open_log(&(struct log_options){.file = path, .size_limit = 400});
    snprintf(moved, sizeof moved, "%s.moved", path);
    TEST_ASSERT_EQUAL(0, rename(path, moved));
    for (int i = 0; i < 100; i++)
        log_info("0123456789");
    for (const char *p = read_file(moved); (p = strstr(p, "Unable to rotate log")) != NULL; p++)
        errors++;
    TEST_ASSERT_UINT_WITHIN(1, 3, errors); /* at 400, 800, 1600 bytes of about 3000 */
    unsigned lines = 0;
    for (const char *p = mf_buf_cstr(&text); (p = strstr(p, "0123456789\n")) != NULL; p++)
        lines++;
    TEST_ASSERT_EQUAL_UINT(100, lines);
}

enum { WRITERS = 4, LINES = 300 };

struct writer {
    struct log *log;
    int id;
};

static void *write_lines(void *arg)
{
    const struct writer *w = arg;

    (void)log_use(w->log);
    for (int i = 0; i < LINES; i++)
        log_info("writer %d line %d end", w->id, i);
    return NULL;
}

/* Every line of a file is whole, and each writer's lines are in order. */
static void check_lines(const char *name, unsigned *next)
{
    char *save = NULL, *copy = mf_slice_dup(mf_str(read_file(name)));

    TEST_ASSERT_NOT_NULL(copy);
    for (char *line = strtok_r(copy, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        unsigned writer, n;
        char end[4] = "";
        check_matches("^\\[[0-9]+\\] \\[INF\\] (writer [0-9]+ line [0-9]+ end|Rotated .*|File .*)$",
                      line);
        if (sscanf(line, "[%*d] [INF] writer %u line %u %3s", &writer, &n, end) == 3)
            TEST_ASSERT_EQUAL_UINT(next[writer]++, n);
    }
    free(copy);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void test_lines_of_many_threads_stay_whole_across_rotation_and_reopening(void)
{
    static char names[256][NAME];
    pthread_t t[WRITERS];
    struct writer w[WRITERS];
    unsigned next[WRITERS] = {0};

    open_log(&(struct log_options){.file = path, .size_limit = 4000});
    for (int i = 0; i < WRITERS; i++) {
        w[i] = (struct writer){log_current(), i};
        TEST_ASSERT_EQUAL(0, pthread_create(&t[i], NULL, write_lines, &w[i]));
    }
    for (int i = 0; i < 10; i++)
        log_reopen();
    for (int i = 0; i < WRITERS; i++)
        pthread_join(t[i], NULL);
    size_t n = list_dir(names, 256);
    TEST_ASSERT_TRUE(n > 5);
    qsort(names, n, sizeof *names, by_name);
    for (size_t i = 1; i <= n; i++) { /* "server.log" sorts first and is the youngest */
        char file[FILE_NAME];
        snprintf(file, sizeof file, "%s/%s", dir, names[i % n]);
        check_lines(file, next);
    }
    for (int i = 0; i < WRITERS; i++)
        TEST_ASSERT_EQUAL_UINT(LINES, next[i]);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_line_has_pid_time_level_and_text);
    RUN_TEST(test_each_level_has_its_label);
    RUN_TEST(test_levels_that_are_off_cost_nothing_and_write_nothing);
    RUN_TEST(test_text_of_a_client_cannot_forge_a_line);
    RUN_TEST(test_text_of_any_length_is_one_line);
    RUN_TEST(test_json_lines_are_json);
    RUN_TEST(test_time_is_local_or_utc_as_asked);
    RUN_TEST(test_file_is_appended_to_and_closed_to_others);
    RUN_TEST(test_log_that_cannot_be_opened_leaves_the_former_in_use);
    RUN_TEST(test_reopened_log_writes_to_a_new_file_of_the_old_name);
    RUN_TEST(test_log_that_cannot_be_reopened_goes_on_in_the_old_file);
    RUN_TEST(test_stderr_gets_the_lines_when_there_is_no_file_and_no_colors_off_a_terminal);
    RUN_TEST(test_terminal_gets_colors_only_when_asked);
    RUN_TEST(test_file_beyond_its_limit_is_renamed_and_begun_anew);
    RUN_TEST(test_file_found_beyond_its_limit_is_rotated_at_once);
    RUN_TEST(test_oldest_rotated_files_are_purged_and_nothing_else);
    RUN_TEST(test_failed_rotation_goes_on_in_the_same_file_and_is_told_once_per_doubling);
    RUN_TEST(test_lines_of_many_threads_stay_whole_across_rotation_and_reopening);
    return UNITY_END();
}
