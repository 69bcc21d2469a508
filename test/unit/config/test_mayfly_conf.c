/* test_mayfly_conf.c: conf/mayfly.conf teaches every option, and teaches it right: with its # signs
 * taken away it loads, and changes nothing. */
#include "config/options_impl.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

static struct mf_buf shipped;

void setUp(void)
{
}
void tearDown(void)
{
}

static void read_shipped(void)
{
    char line[512];
    FILE *f = fopen(SHIPPED_CONF, "re");
    TEST_ASSERT_NOT_NULL_MESSAGE(f, SHIPPED_CONF);
    mf_buf_clear(&shipped);
    while (fgets(line, sizeof line, f) != NULL)
        mf_buf_puts(&shipped, line);
    fclose(f);
}

/* Each line without its #; certificates that do not exist here become an empty file. */
static void uncomment(struct mf_buf *out)
{
    char *save = NULL;
    char *copy = mf_slice_dup(mf_buf_slice(&shipped));
    TEST_ASSERT_NOT_NULL(copy);
    for (char *line = strtok_r(copy, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        char *pem = strstr(line, "\"/etc/mayfly/");
        line += line[0] == '#';
        if (pem != NULL && strstr(pem, ".pem\"") != NULL)
            mf_buf_printf(out, "%.*s\"/dev/null\"\n", (int)(pem - line), line);
        else
            mf_buf_printf(out, "%s\n", line);
    }
    free(copy);
}

static struct options *parse(const char *text)
{
    struct mf_error e = {0, ""};
    struct options *o = NULL;
    TEST_ASSERT_EQUAL_MESSAGE(0, options_parse(&o, mf_str(text), "mayfly.conf", &e), e.text);
    return o;
}

static void test_every_option_is_explained(void)
{
    struct opt_block top = options_top();
    read_shipped();
    for (size_t i = 0; i < top.n; i++) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(top.fields[i].names, " "),
                 top.fields[i].names);
        char *at = strstr(mf_buf_cstr(&shipped), name);
        TEST_ASSERT_NOT_NULL_MESSAGE(at, name);
    }
}

static void test_every_line_is_the_default(void)
{
    struct mf_buf text = MF_BUF_INIT;
    read_shipped();
    uncomment(&text);
    struct options *all = parse(mf_buf_cstr(&text)),
                   *none = parse("jetstream: true, http: \"127.0.0.1:0\"");
    const char *why = options_reload_refusal(none, all);
    TEST_ASSERT_NULL_MESSAGE(why, why == NULL ? "" : why);
    TEST_ASSERT_EQUAL(0, all->warnings.n);
    TEST_ASSERT_EQUAL_INT64(none->max_payload, all->max_payload);
    TEST_ASSERT_EQUAL_INT64(none->max_control_line, all->max_control_line);
    TEST_ASSERT_EQUAL_INT64(none->max_connections, all->max_connections);
    TEST_ASSERT_EQUAL_INT64(none->ping_interval_ns, all->ping_interval_ns);
    TEST_ASSERT_EQUAL_INT64(none->ping_max, all->ping_max);
    TEST_ASSERT_EQUAL_INT64(none->write_deadline_ns, all->write_deadline_ns);
    TEST_ASSERT_EQUAL_INT64(none->busy_poll_ns, all->busy_poll_ns);
    TEST_ASSERT_EQUAL_INT64(none->connect_error_reports, all->connect_error_reports);
    TEST_ASSERT_EQUAL_INT64(none->jetstream.request_queue_limit,
                            all->jetstream.request_queue_limit);
    TEST_ASSERT_EQUAL_INT64(none->tls.timeout_ns, all->tls.timeout_ns);
    TEST_ASSERT_EQUAL_INT64(POLICY_UNSET, all->ttl.keys.default_ttl);
    TEST_ASSERT_EQUAL_INT64(3600 * CLOCK_S, all->ttl.keys.warn_ns);
    TEST_ASSERT_EQUAL(POLICY_ENFORCE_ON, all->ttl.keys.enforce);
    TEST_ASSERT_EQUAL(0, all->ttl.npatterns + all->ttl.nnamespaces);
    TEST_ASSERT_EQUAL(none->logtime, all->logtime);
    TEST_ASSERT_EQUAL(none->trace, all->trace);
    TEST_ASSERT_FALSE(all->websocket.set || all->tls.verify || all->log_json);
    TEST_ASSERT_EQUAL(none->jetstream.compat_strict, all->jetstream.compat_strict);
    options_free(all);
    options_free(none);
    mf_buf_fini(&text);
}

/* Who starts with this file keeps streams, and is not open to the network by accident. */
static void test_as_shipped_it_keeps_streams_on_this_machine(void)
{
    read_shipped();
    struct options *o = parse(mf_buf_cstr(&shipped)),
                   *same = parse(
                       "jetstream: true, listen: \"127.0.0.1:4222\", http: \"127.0.0.1:8222\"");
    const char *why = options_reload_refusal(same, o);
    TEST_ASSERT_NULL_MESSAGE(why, why == NULL ? "" : why);
    TEST_ASSERT_EQUAL_STRING("127.0.0.1", o->host);
    TEST_ASSERT_EQUAL_STRING("127.0.0.1", o->http_host);
    TEST_ASSERT_EQUAL_INT(8222, o->http_port);
    TEST_ASSERT_TRUE(o->jetstream.enabled);
    TEST_ASSERT_NULL(o->jetstream.store_dir); /* the user's own; an installed file names one */
    TEST_ASSERT_EQUAL(0, o->warnings.n);
    options_free(o);
    options_free(same);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_every_option_is_explained);
    RUN_TEST(test_every_line_is_the_default);
    RUN_TEST(test_as_shipped_it_keeps_streams_on_this_machine);
    mf_buf_fini(&shipped);
    return UNITY_END();
}
