/* test_creds.c: .creds files as nsc writes them, files that are something else, and signatures. */
#include "auth/creds.h"

#include "auth/auth.h"
#include "unity.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEED "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
#define JWT  "eyJ0eXAiOiJKV1QifQ.eyJzdWIiOiJVQSJ9.c2ln-_A"

static char path[64];
static struct mf_error e;

void setUp(void)
{
    snprintf(path, sizeof path, "/tmp/mayfly-creds-%d", (int)getpid());
    e = (struct mf_error){0, ""};
}

void tearDown(void)
{
    unlink(path);
}

static void write_file(const char *text, size_t n)
{
    FILE *f = fopen(path, "w");

    TEST_ASSERT_NOT_NULL(f);
    TEST_ASSERT_EQUAL(n, fwrite(text, 1, n, f));
    TEST_ASSERT_EQUAL(0, fclose(f));
}

static const char whole[] =
    "-----BEGIN NATS USER JWT-----\n" JWT "\n------END NATS USER JWT------\n"
    "\n************************* IMPORTANT *************************\n"
    "NKEY Seed printed below can be used to sign and prove identity.\n\n"
    "-----BEGIN USER NKEY SEED-----\n" SEED "\n------END USER NKEY SEED------\n\n*****\n";

static void check_signature(const struct creds *c)
{
    char sig[CREDS_SIG];

    creds_sign(c, MF_LIT("36xDhLyoRx9poVs"), sig);
    TEST_ASSERT_EQUAL(86, strlen(sig));
    TEST_ASSERT_TRUE(nkey_verify(mf_str(c->nkey), MF_LIT("36xDhLyoRx9poVs"), mf_str(sig)));
    TEST_ASSERT_FALSE(nkey_verify(mf_str(c->nkey), MF_LIT("36xDhLyoRx9poVt"), mf_str(sig)));
}

static void test_a_creds_file_gives_jwt_and_key(void)
{
    struct creds c;

    write_file(whole, sizeof whole - 1);
    TEST_ASSERT_EQUAL_MESSAGE(0, creds_load(&c, path, &e), e.text);
    TEST_ASSERT_EQUAL_STRING(JWT, c.jwt);
    check_signature(&c);
    creds_wipe(&c);
    TEST_ASSERT_NULL(c.jwt);
    for (size_t i = 0; i < sizeof c.seed; i++)
        TEST_ASSERT_EQUAL(0, c.seed[i]);
}

static void test_other_line_ends_and_blank_lines_are_fine(void)
{
    static const char text[] = "\r\n---x---\r\n\r\n  " JWT "  \r\n---y---\r\n---x---\r\n" SEED
                               "\r\n---y---"; /* no line end at all */
    struct creds c;

    write_file(text, sizeof text - 1);
    TEST_ASSERT_EQUAL_MESSAGE(0, creds_load(&c, path, &e), e.text);
    TEST_ASSERT_EQUAL_STRING(JWT, c.jwt);
    creds_wipe(&c);
}

static void test_a_seed_alone_signs(void)
{
    struct creds c;

    TEST_ASSERT_EQUAL(0, creds_from_seed(&c, MF_LIT(SEED), &e));
    TEST_ASSERT_NULL(c.jwt);
    TEST_ASSERT_EQUAL('U', c.nkey[0]);
    check_signature(&c);
    creds_wipe(&c);
}

static void refuse_file(const char *why)
{
    struct creds c;

    TEST_ASSERT_NOT_EQUAL(0, creds_load(&c, path, &e));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(e.text, why), e.text);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(e.text, path), e.text);
    TEST_ASSERT_NULL_MESSAGE(strstr(e.text, "hunter2"), e.text); /* nothing of what is in it */
    TEST_ASSERT_NULL_MESSAGE(strstr(e.text, SEED), e.text);
    TEST_ASSERT_NULL(c.jwt);
}

static void test_files_that_are_something_else_are_refused_without_their_contents(void)
{
    static const char *const rows[][2] = {
        {"", "expected a block"},
        {"hunter2", "expected a block"},
        {SEED, "expected a block"},
        {"---a---\n" JWT "\n---b---\n", "expected a block"},
        {"---a---\n" JWT, "expected a block"},
        {"---a---\nhunter2\n---b---\n---a---\n" SEED "\n---b---\n", "expected a block"},
        {"---a---\n" JWT "\nhunter2\n---b---\n---a---\n" SEED "\n---b---\n", "expected a block"},
        {"---a---\n" JWT "\n---b---\n---a---\nhunter2\n---b---\n", "not that of a user"},
        {"---a---\n" JWT "\n---b---\n---a---\n"
         "SAANDLKMXL6CUS3CP52WIXBEDN6YJ545GDKC65U5JZPPV6WH6ESWUA6YAI\n---b---\n",
         "not that of a user"},
    };

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        write_file(rows[i][0], strlen(rows[i][0]));
        refuse_file(rows[i][1]);
    }
}

static void test_no_file_a_large_one_and_a_pipe_are_refused(void)
{
    char *large = calloc(1, CREDS_FILE_MAX + 1);

    TEST_ASSERT_NOT_NULL(large);
    refuse_file("No such file");
    memcpy(large, whole, sizeof whole - 1);
    write_file(large, CREDS_FILE_MAX + 1);
    refuse_file("at most 65536 bytes");
    free(large);
    unlink(path);
    TEST_ASSERT_EQUAL(0, mkfifo(path, 0600)); /* would wait for its writer for ever */
    refuse_file("not a file");
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_creds_file_gives_jwt_and_key);
    RUN_TEST(test_other_line_ends_and_blank_lines_are_fine);
    RUN_TEST(test_a_seed_alone_signs);
    RUN_TEST(test_files_that_are_something_else_are_refused_without_their_contents);
    RUN_TEST(test_no_file_a_large_one_and_a_pipe_are_refused);
    return UNITY_END();
}
