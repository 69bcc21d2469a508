/* test_transform.c: subject mappings.  Results and error texts were taken from nats-server 2.15.1
 * (`mappings` in its configuration, a raw client on '>'), not from its documentation. */
#include "subject/transform.h"

#include "subject/subject.h"

#include "base/buf.h"
#include "subject/transform_impl.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

void setUp(void)
{
}
void tearDown(void)
{
}

static struct transform *make(const char *src, const char *dest)
{
    struct mf_error e = {0};
    struct transform *t = NULL;

    TEST_ASSERT_EQUAL_INT_MESSAGE(0, transform_new(&t, mf_str(src), mf_str(dest), &e), e.text);
    return t;
}

static struct transform *make_strict(const char *src, const char *dest)
{
    struct mf_error e = {0};
    struct transform *t = NULL;

    TEST_ASSERT_EQUAL_INT_MESSAGE(0, transform_new_strict(&t, mf_str(src), mf_str(dest), &e),
                                  e.text);
    return t;
}

/* The result as a string; "" when src does not match. */
static const char *apply(const struct transform *t, const char *subject)
{
    static char out[512];
    ssize_t n = transform_apply(t, mf_str(subject), out, sizeof out - 1);

    TEST_ASSERT_GREATER_OR_EQUAL(0, n);
    out[n] = '\0';
    return out;
}

static void expect(const char *src, const char *dest, const char *subject, const char *result)
{
    struct transform *t = make(src, dest);

    TEST_ASSERT_EQUAL_STRING_MESSAGE(result, apply(t, subject), dest);
    transform_free(t);
}

static void test_literals_wildcards_and_tails_are_placed(void)
{
    expect("foo", "bar", "foo", "bar");
    expect("foo", "bar.baz", "foo", "bar.baz");
    expect("foo.*", "bar.$1", "foo.x", "bar.x");
    expect("foo.*.*", "$2.bar.{{wildcard(1)}}", "foo.a.b", "b.bar.a");
    expect("foo.*", "{{ Wildcard ( 1 ) }}", "foo.x", "x");
    expect("foo.>", "bar.>", "foo.r.s", "bar.r.s");
    expect(">", "bar.>", "foo.r", "bar.foo.r");
    expect("", "bar.>", "foo.r", "bar.foo.r");
    expect("foo.>", ">", "foo.r.s", "r.s");
    expect(">", ">", "foo.r", "foo.r");
    expect("*.x.*.>", "$2.$1.>", "a.x.b.c.d", "b.a.c.d");
    expect("foo.*", "bar.$1.$1", "foo.x", "bar.x.x");
}

/* Tokens that only look like placeholders stay what they are. */
static void test_lookalikes_stay_literal(void)
{
    expect("foo", "$x", "foo", "$x");
    expect("foo.*", "x.$1x", "foo.a", "x.$1x");
    expect("foo.*", "{{}}", "foo.a", "{{}}");
    expect("foo.*", "{{wildcard(1)}}x", "foo.a", "{{wildcard(1)}}x");
    expect("foo.*", "x{{wildcard(1)}}", "foo.a", "x{{wildcard(1)}}");
    expect("foo.*", "bar.{{split(1,.)}}", "foo.a", "bar.{{split(1,.)}}");
    expect("foo.*", "$0", "foo.a", "foo");
    expect("foo.*", "$-1", "foo.a", "foo");
    expect("foo.*", "x.$+1", "foo.a", "x.a");
}

static void test_subjects_outside_the_source_are_not_mapped(void)
{
    static const char *const others[] = {"foo", "foo.a.b", "bar.a", "foo.", "", "foo.>", ".a"};
    struct transform *t = make("foo.*", "bar.$1");

    for (size_t i = 0; i < MF_COUNT(others); i++)
        TEST_ASSERT_EQUAL_STRING_MESSAGE("", apply(t, others[i]), others[i]);
    TEST_ASSERT_EQUAL_STRING("bar.*", apply(t, "foo.*"));
    transform_free(t);
}

/* Every server must choose the same partition: these numbers are nats-server's. */
static void test_partitions_are_nats_servers(void)
{
    expect("orders.*", "p.{{partition(10,1)}}", "orders.foo", "p.3");
    expect("orders.*", "p.{{partition(10,1)}}", "orders.bar", "p.2");
    expect("orders.*", "p.{{Partition(10, 1)}}", "orders.customer42", "p.3");
    expect("o.*.*", "p.{{partition(7,1,2)}}", "o.eu.42", "p.5");
    expect("q.*.*", "p.{{partition(7,2,1)}}", "q.eu.42", "p.4");
    expect("r.*.*", "p.{{partition(1000)}}", "r.eu.42", "p.393");
    expect("s.*", "p.{{partition(4294967,1)}}", "s.x", "p.2015299");
    expect("s.*", "p.{{partition(4294967,1)}}", "s.A_very_long_token_for_hashing", "p.177621");
    expect("foo.*", "{{partition(0,1)}}", "foo.t-ok-en", "0");
    expect("foo.*", "{{partition(-3,1)}}", "foo.t-ok-en", "2745165620");
}

static void test_tokens_are_split_sliced_and_cut(void)
{
    static const struct {
        const char *function, *token, *result;
    } table[] = {
        {"{{splitFromLeft(1,3)}}", "12345", "123.45"},
        {"{{SplitFromRight(1,3)}}", "12345", "12.345"},
        {"{{splitfromleft(1,5)}}", "12345", "12345"},
        {"{{splitFromLeft(1,0)}}", "12345", "12345"},
        {"{{splitFromRight(1,-1)}}", "12345", "12345"},
        {"{{splitFromRight(1,9)}}", "12345", "12345"},
        {"{{sliceFromLeft(1,3)}}", "1234567890", "123.456.789.0"},
        {"{{SliceFromLeft(1,5)}}", "1234567890", "12345.67890"},
        {"{{sliceFromRight(1,3)}}", "1234567890", "1.234.567.890"},
        {"{{sliceFromRight(1,5)}}", "1234567890", "12345.67890"},
        {"{{sliceFromLeft(1,10)}}", "1234567890", "1234567890"},
        {"{{sliceFromRight(1,0)}}", "1234567890", "1234567890"},
        {"{{sliceFromLeft(1,1)}}", "123", "1.2.3"},
        {"{{left(1,2)}}", "12345", "12"},
        {"{{Left(1,9)}}", "12345", "12345"},
        {"{{right(1,2)}}", "12345", "45"},
        {"{{Right(1,0)}}", "12345", "12345"},
        {"{{split(1,-)}}", "t-ok-en", "t.ok.en"},
        {"{{Split(1,--)}}", "a--b-c", "a.b-c"},
        {"{{split(1,-)}}", "-a--b-", "a.b"},
        {"{{split(1,-)}}", "--a", ".a"}, /* nats-server's own */
        {"{{split(1,x)}}", "abc", "abc"},
        {"{{split(1, )}}", "t\xc3\xa4\xe2\x82\xacz", "t.\xc3\xa4.\xe2\x82\xac.z"},
        {"{{split(1,)}}", "\xf0\x9f\x98\x80\xff", "\xf0\x9f\x98\x80.\xff"},
    };

    for (size_t i = 0; i < MF_COUNT(table); i++) {
        char dest[64], subject[64], result[64];
        snprintf(dest, sizeof dest, "x.%s.y", table[i].function);
        snprintf(subject, sizeof subject, "in.%s", table[i].token);
        snprintf(result, sizeof result, "x.%s.y", table[i].result);
        expect("in.*", dest, subject, result);
    }
}

static void test_random_stays_below_its_bound_and_reaches_it(void)
{
    struct transform *t = make("foo", "x.{{random(3)}}"), *zero = make("foo.*", "x.{{random(0)}}"),
                     *minus = make("foo.*", "x.{{random(-2)}}");
    unsigned seen = 0;

    for (int i = 0; i < 300; i++) {
        const char *s = apply(t, "foo");
        TEST_ASSERT_TRUE(s[2] >= '0' && s[2] <= '2' && s[3] == '\0');
        seen |= 1u << (s[2] - '0');
        s = apply(minus, "foo.a");
        TEST_ASSERT_TRUE(s[2] >= '0' && s[2] <= '1' && s[3] == '\0');
    }
    TEST_ASSERT_EQUAL_UINT(7, seen);
    TEST_ASSERT_EQUAL_STRING("x.0", apply(zero, "foo.a"));
    transform_free(t);
    transform_free(zero);
    transform_free(minus);
}

static void refuse(const char *src, const char *dest, const char *text)
{
    struct mf_error e = {0};
    struct transform *t = NULL;

    TEST_ASSERT_EQUAL_INT_MESSAGE(MF_INVAL, transform_new(&t, mf_str(src), mf_str(dest), &e), dest);
    TEST_ASSERT_EQUAL_STRING(text, e.text);
    TEST_ASSERT_NULL(t);
}

static void test_bad_mappings_are_refused_in_nats_servers_words(void)
{
#define BAD "invalid mapping destination: "
    static const struct {
        const char *dest, *text;
    } table[] = {
        {"bar.$2", BAD "wildcard index out of range in $2: [2]"},
        {"bar.{{wildcard(2)}}", BAD "wildcard index out of range in {{wildcard(2)}}: [2]"},
        {"x.{{partition(3,2)}}", BAD "wildcard index out of range in {{partition(3,2)}}: [2]"},
        {"{{wildcard()}}", BAD "not enough arguments passed to the function in {{wildcard()}}"},
        {"{{split(1)}}", BAD "not enough arguments passed to the function in {{split(1)}}"},
        {"{{left(1)}}", BAD "not enough arguments passed to the function in {{left(1)}}"},
        {"{{random(1,2)}}", BAD "not enough arguments passed to the function in {{random(1,2)}}"},
        {"{{wildcard(1,2)}}", BAD "too many arguments passed to the function in {{wildcard(1,2)}}"},
        {"{{split(1,-,x)}}", BAD "too many arguments passed to the function in {{split(1,-,x)}}"},
        {"{{wildcard(a)}}",
         BAD "function argument is invalid or in the wrong format in {{wildcard(a)}}"},
        {"{{partition()}}",
         BAD "function argument is invalid or in the wrong format in {{partition()}}"},
        {"{{partition(5,)}}",
         BAD "function argument is invalid or in the wrong format in {{partition(5,)}}"},
        {"{{partition(2147483648,1)}}",
         BAD "function argument is invalid or in the wrong format in {{partition(2147483648,1)}}"},
        {"{{random()}}", BAD "function argument is invalid or in the wrong format in {{random()}}"},
        {"{{left(1,99999999999)}}",
         BAD "function argument is invalid or in the wrong format in {{left(1,99999999999)}}"},
        {"{{split(1,a b)}}",
         BAD "function argument is invalid or in the wrong format in {{split(1,a b)}}"},
        {"{{wildcard(1)}}{{wildcard(1)}}", BAD
         "function argument is invalid or in the wrong format in {{wildcard(1)}}{{wildcard(1)}}"},
        {"{{unknown(1)}}", BAD "unknown function in {{unknown(1)}}"},
        {"{{wildcard 1}}", BAD "unknown function in {{wildcard 1}}"},
        {"{{WILDCARD(1)}}", BAD "unknown function in {{WILDCARD(1)}}"},
        {"{{ }}", BAD "unknown function in {{ }}"},
        {"{{wildcard(9)}}.{{bogus(1)}}", BAD "unknown function in {{bogus(1)}}"},
        {"bar.", BAD "invalid transform"},
        {"bar. x", BAD "invalid transform"},
        {"a..b", BAD "invalid transform"},
        {"bar.>.x", BAD "invalid transform in x"},
        {"bar.*", "invalid subject"},
        {"bar.>", "invalid subject"},
        {"", "invalid subject"},
    };

    for (size_t i = 0; i < MF_COUNT(table); i++)
        refuse("foo.*", table[i].dest, table[i].text);
    refuse("foo", "{{wildcard(1)}}", BAD "wildcard index out of range in {{wildcard(1)}}");
    refuse("foo", "{{split(1,-)}}", BAD "wildcard index out of range in {{split(1,-)}}");
    refuse("foo", "$1", BAD "wildcard index out of range in $1");
    refuse("foo.>", "bar", "invalid subject");
    refuse("foo.", "bar", "invalid subject");
    refuse("foo.>.x", "bar", "invalid subject");
#undef BAD
}

static void refuse_strict(const char *src, const char *dest, const char *text)
{
    struct mf_error e = {0};
    struct transform *t = NULL;

    TEST_ASSERT_EQUAL_INT(MF_INVAL, transform_new_strict(&t, mf_str(src), mf_str(dest), &e));
    TEST_ASSERT_EQUAL_STRING(text, e.text);
}

static void test_strict_mappings_must_be_reversible(void)
{
    refuse_strict("foo.*", "bar.{{partition(3,1)}}",
                  "invalid mapping destination: the only mapping function allowed for import "
                  "transforms is {{Wildcard()}} in {{partition(3,1)}}");
    refuse_strict("foo.*.*", "bar.$1",
                  "invalid mapping destination: not using all of the token wildcard(s) in bar.$1");
    refuse_strict("foo.*", "bar.", "invalid subject");
    transform_free(make_strict("foo.*.*", "bar.$2.$1"));
    transform_free(make_strict("foo.>", "bar.>"));
}

static void test_result_that_does_not_fit_is_refused_whole(void)
{
    struct transform *t = make("foo.*", "bar.$1.{{split(1,-)}}");
    char out[64];
    size_t need = strlen("bar.a-b.a.b");

    for (size_t cap = 0; cap < need; cap++) {
        char *exact = malloc(cap > 0 ? cap : 1); /* the sanitizer watches the end */
        TEST_ASSERT_NOT_NULL(exact);
        TEST_ASSERT_EQUAL_INT(MF_LIMIT, transform_apply(t, mf_str("foo.a-b"), exact, cap));
        free(exact);
    }
    TEST_ASSERT_EQUAL_INT(need, transform_apply(t, mf_str("foo.a-b"), out, need));
    TEST_ASSERT_EQUAL_INT(0, memcmp(out, "bar.a-b.a.b", need));
    transform_free(t);
}

static void test_empty_result_is_no_subject(void)
{
    struct transform *t = make("foo.*", "{{split(1,-)}}");
    char out[8];

    TEST_ASSERT_EQUAL_INT(MF_INVAL, transform_apply(t, mf_str("foo.---"), out, sizeof out));
    transform_free(t);
}

static void expect_pattern(const struct transform *t, const char *pattern, const char *result)
{
    char out[64];
    ssize_t n = transform_pattern(t, mf_str(pattern), out, sizeof out);

    TEST_ASSERT_GREATER_OR_EQUAL(0, n);
    TEST_ASSERT_TRUE_MESSAGE(mf_eq_str(mf_slice(out, (size_t)n), result), pattern);
}

static void test_patterns_are_mapped_with_their_wildcards(void)
{
    struct transform *t = make_strict("foo.*.>", "bar.x.$1.>"),
                     *p = make("f.*", "{{partition(2,1)}}");

    expect_pattern(t, "foo.a.b", "bar.x.a.b");
    expect_pattern(t, "foo.*.b", "bar.x.*.b");
    expect_pattern(t, "foo.a.>", "bar.x.a.>");
    expect_pattern(t, "foo.*.*.>", "bar.x.*.*.>");
    expect_pattern(t, "foo.>", ""); /* wider than the source */
    expect_pattern(t, "*.a.b", "");
    expect_pattern(p, "f.*", ""); /* the partition of '*' is unknown */
    transform_free(t);
    transform_free(p);
}

/* Out and back must be the identity, for every order of three wildcards (a ring of three is where
 * nats-server's own reversal goes wrong). */
static void test_reverse_leads_back(void)
{
    static const char *const dest[] = {"bar.$1.x.$2.$3.>", "bar.$1.x.$3.$2.>", "bar.$2.x.$1.$3.>",
                                       "bar.$2.x.$3.$1.>", "bar.$3.x.$1.$2.>", "bar.$3.x.$2.$1.>",
                                       "$3.$2.$1.$1.>"};

    for (size_t i = 0; i < MF_COUNT(dest); i++) {
        struct transform *t = make_strict("foo.*.*.y.*.>", dest[i]), *r = transform_reverse(t);
        char image[64];
        TEST_ASSERT_NOT_NULL(r);
        snprintf(image, sizeof image, "%s", apply(t, "foo.a.b.y.c.d.e"));
        TEST_ASSERT_EQUAL_STRING_MESSAGE("foo.a.b.y.c.d.e", apply(r, image), dest[i]);
        struct transform *again = transform_reverse(r);
        if (i < 6)
            TEST_ASSERT_EQUAL_STRING(image, apply(again, "foo.a.b.y.c.d.e"));
        else
            TEST_ASSERT_NULL(again); /* shown twice, taken back once: half of it is lost */
        transform_free(again);
        transform_free(r);
        transform_free(t);
    }
}

static void test_reverse_shows_patterns_on_both_sides(void)
{
    struct transform *t = make_strict("foo.*.*", "bar.$2.{{wildcard(1)}}"),
                     *r = transform_reverse(t);

    TEST_ASSERT_NOT_NULL(r);
    TEST_ASSERT_TRUE(mf_eq_str(transform_source(r), "bar.*.*"));
    TEST_ASSERT_TRUE(mf_eq_str(transform_dest(r), "foo.*.*"));
    TEST_ASSERT_TRUE(mf_eq_str(transform_source(t), "foo.*.*"));
    TEST_ASSERT_TRUE(mf_eq_str(transform_dest(t), "bar.$2.{{wildcard(1)}}"));
    transform_free(r);
    transform_free(t);
}

static void test_what_is_lost_cannot_be_reversed(void)
{
    struct transform *lossy = make("foo.*.*", "bar.$1"),
                     *hashed = make("f.*", "{{partition(2,1)}}");

    TEST_ASSERT_NULL(transform_reverse(lossy));
    TEST_ASSERT_NULL(transform_reverse(hashed));
    transform_free(lossy);
    transform_free(hashed);
    transform_free(NULL);
}

static void test_patterns_are_tokenized_and_back(void)
{
    char out[64];
    ssize_t n = transform_tokenize(mf_str("foo.*.bar.*.>"), out, sizeof out);

    TEST_ASSERT_TRUE(mf_eq_str(mf_slice(out, (size_t)n), "foo.$1.bar.$2.>"));
    n = transform_untokenize(mf_str("foo.$2.bar.{{wildcard(1)}}.$x.>"), out, sizeof out);
    TEST_ASSERT_TRUE(mf_eq_str(mf_slice(out, (size_t)n), "foo.*.bar.*.$x.>"));
    TEST_ASSERT_EQUAL_INT(MF_LIMIT, transform_tokenize(mf_str("a.*"), out, 3));
    TEST_ASSERT_EQUAL_INT(MF_LIMIT, transform_untokenize(mf_str("a.$1"), out, 2));
}

/* --- steps ---------------------------------------------------------------------------------- */

static uint64_t tokens;

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
bool __real_subject_next_token(struct mf_slice *rest, struct mf_slice *token);
bool __wrap_subject_next_token(struct mf_slice *rest, struct mf_slice *token);
bool __wrap_subject_next_token(struct mf_slice *rest, struct mf_slice *token)
{
    tokens++;
    return __real_subject_next_token(rest, token);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

static struct mf_buf long_src, long_dest;

/* Tokens and bytes that are looked at to compile what stands in long_src and long_dest. */
static uint64_t cost(bool reversed)
{
    struct transform *t = NULL, *back = NULL;
    struct mf_slice src = mf_buf_slice(&long_src), dest = mf_buf_slice(&long_dest);

    tokens = transform_piece_steps = 0;
    int rc =
        reversed ? transform_new_strict(&t, src, dest, NULL) : transform_new(&t, src, dest, NULL);
    if (rc == 0 && reversed)
        back = transform_reverse(t);
    TEST_ASSERT_TRUE(!reversed || back != NULL);
    transform_free(t);
    transform_free(back);
    return tokens + transform_piece_steps;
}

/* n wildcards, the last one first; n uses of them in one partition; n beginnings of a call; n ends.
 */
static void lengthen(int kind, int n)
{
    mf_buf_clear(&long_src);
    mf_buf_clear(&long_dest);
    mf_buf_puts(&long_src, "*");
    if (kind == 1)
        mf_buf_puts(&long_dest, "{{partition(8");
    if (kind > 1)
        mf_buf_puts(&long_dest, "{{x");
    for (int i = 0; i < n; i++) {
        if (i > 0 && kind < 2)
            mf_buf_puts(&long_src, ".*");
        if (kind == 0)
            mf_buf_printf(&long_dest, i == 0 ? "$%d" : ".$%d", n - i);
        else if (kind == 1)
            mf_buf_printf(&long_dest, ",%d", n - i);
        else
            mf_buf_puts(&long_dest, kind == 2 ? "{{wildcard(" : "{{wildcard(1)  ");
    }
    if (kind == 1)
        mf_buf_puts(&long_dest, ")");
    if (kind > 0)
        mf_buf_puts(&long_dest, "}}");
}

static void test_ten_times_as_long_takes_ten_times_the_steps(void)
{
    for (int kind = 0; kind < 4; kind++) {
        lengthen(kind, 300);
        uint64_t few = cost(kind == 0);
        lengthen(kind, 3000);
        TEST_ASSERT_LESS_OR_EQUAL_UINT64(15 * few, cost(kind == 0));
    }
    mf_buf_fini(&long_src);
    mf_buf_fini(&long_dest);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_literals_wildcards_and_tails_are_placed);
    RUN_TEST(test_lookalikes_stay_literal);
    RUN_TEST(test_subjects_outside_the_source_are_not_mapped);
    RUN_TEST(test_partitions_are_nats_servers);
    RUN_TEST(test_tokens_are_split_sliced_and_cut);
    RUN_TEST(test_random_stays_below_its_bound_and_reaches_it);
    RUN_TEST(test_bad_mappings_are_refused_in_nats_servers_words);
    RUN_TEST(test_strict_mappings_must_be_reversible);
    RUN_TEST(test_result_that_does_not_fit_is_refused_whole);
    RUN_TEST(test_empty_result_is_no_subject);
    RUN_TEST(test_patterns_are_mapped_with_their_wildcards);
    RUN_TEST(test_reverse_leads_back);
    RUN_TEST(test_reverse_shows_patterns_on_both_sides);
    RUN_TEST(test_what_is_lost_cannot_be_reversed);
    RUN_TEST(test_patterns_are_tokenized_and_back);
    RUN_TEST(test_ten_times_as_long_takes_ten_times_the_steps);
    return UNITY_END();
}
