/* test_password.c: plain and bcrypt passwords. */
#include "auth/auth.h"

#include <stdio.h>

#include "unity.h"

/* Published test vectors of the algorithm: "U*U", "U*U*", "U*U*U". */
#define HASH1 "CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"
#define HASH2 "CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK"
#define HASH3 "XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a"

void setUp(void)
{
}

void tearDown(void)
{
}

static void test_bcrypt_is_told_by_letter_and_cost(void)
{
    TEST_ASSERT_TRUE(password_is_bcrypt("$2a$05$" HASH1));
    TEST_ASSERT_TRUE(password_is_bcrypt("$2b$11$"));
    TEST_ASSERT_TRUE(password_is_bcrypt("$2x$11$x"));
    TEST_ASSERT_TRUE(password_is_bcrypt("$2y$11$x"));
    TEST_ASSERT_FALSE(password_is_bcrypt("$2z$11$x"));
    TEST_ASSERT_FALSE(password_is_bcrypt("$2$11$x"));
    TEST_ASSERT_FALSE(password_is_bcrypt("$2a$1$x"));
    TEST_ASSERT_FALSE(password_is_bcrypt("$2a$1x$x"));
    TEST_ASSERT_FALSE(password_is_bcrypt("2a$11$x"));
    TEST_ASSERT_FALSE(password_is_bcrypt("$"));
    TEST_ASSERT_FALSE(password_is_bcrypt("$2"));
    TEST_ASSERT_FALSE(password_is_bcrypt("$2a"));
    TEST_ASSERT_FALSE(password_is_bcrypt(""));
    TEST_ASSERT_FALSE(password_is_bcrypt(NULL));
}

static void test_published_vectors_match(void)
{
    TEST_ASSERT_TRUE(password_matches("$2a$05$" HASH1, "U*U"));
    TEST_ASSERT_TRUE(password_matches("$2a$05$" HASH2, "U*U*"));
    TEST_ASSERT_TRUE(password_matches("$2a$05$" HASH3, "U*U*U"));
    TEST_ASSERT_FALSE(password_matches("$2a$05$" HASH1, "U*U*"));
    TEST_ASSERT_FALSE(password_matches("$2a$05$" HASH1, ""));
    TEST_ASSERT_FALSE(password_matches("$2a$05$" HASH1, NULL));
}

/* nats-server computes all letters alike (asked: the same hash logs in under each of them). */
static void test_every_letter_means_the_same_hash(void)
{
    char stored[] = "$2?$05$" HASH1;

    for (const char *letter = "abxy"; *letter != '\0'; letter++) {
        stored[2] = *letter;
        TEST_ASSERT_TRUE(password_matches(stored, "U*U"));
        TEST_ASSERT_FALSE(password_matches(stored, "u*u"));
    }
    /* Where 2x differs: the byte 0xa3, once hashed right and once with the old bug. */
    TEST_ASSERT_TRUE(
        password_matches("$2x$05$/OK.fbVrR/bpIqNJ5ianF.Sa7shbm4.OzKpvFnX1pQLmQW96oUlCq", "\xa3"));
    TEST_ASSERT_FALSE(
        password_matches("$2x$05$/OK.fbVrR/bpIqNJ5ianF.CE5elHaaO4EbggVDjb8P19RukzXSM3e", "\xa3"));
}

/* Who knows only the hash must not get in. */
static void test_the_hash_itself_is_no_password(void)
{
    TEST_ASSERT_FALSE(password_matches("$2a$05$" HASH1, "$2a$05$" HASH1));
    TEST_ASSERT_FALSE(password_matches("$2a$05$", "$2a$05$"));
    TEST_ASSERT_FALSE(password_matches("$2a$99$" HASH1, "U*U"));
    TEST_ASSERT_FALSE(password_matches("$2a$05$" HASH1 "x", "U*U"));
}

static void test_plain_password_matches_only_itself(void)
{
    TEST_ASSERT_TRUE(password_matches("s3cr3t", "s3cr3t"));
    TEST_ASSERT_FALSE(password_matches("s3cr3t", "s3cr3"));
    TEST_ASSERT_FALSE(password_matches("s3cr3t", "s3cr3tt"));
    TEST_ASSERT_FALSE(password_matches("s3cr3t", "s3cr3ts3cr3t"));
    TEST_ASSERT_FALSE(password_matches("aa", "a"));
    TEST_ASSERT_FALSE(password_matches("a", "aa"));
    TEST_ASSERT_FALSE(password_matches("s3cr3t", ""));
    TEST_ASSERT_FALSE(password_matches("", "x"));
    TEST_ASSERT_TRUE(password_matches("$2z$05$x", "$2z$05$x"));
}

/* Users of certificates have none; both sides empty is equal, as in nats-server. */
static void test_absent_password_equals_an_empty_one(void)
{
    TEST_ASSERT_TRUE(password_matches(NULL, NULL));
    TEST_ASSERT_TRUE(password_matches("", NULL));
    TEST_ASSERT_FALSE(password_matches(NULL, "x"));
    TEST_ASSERT_FALSE(password_matches("x", NULL));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_bcrypt_is_told_by_letter_and_cost);
    RUN_TEST(test_published_vectors_match);
    RUN_TEST(test_every_letter_means_the_same_hash);
    RUN_TEST(test_the_hash_itself_is_no_password);
    RUN_TEST(test_plain_password_matches_only_itself);
    RUN_TEST(test_absent_password_equals_an_empty_one);
    return UNITY_END();
}
