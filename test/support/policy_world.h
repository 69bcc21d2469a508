/* policy_world.h: a stream, a server and one policy, for tests of src/policy.  Included once by a
 * test; world_reset() in setUp(), world_fini() in tearDown(). */
#ifndef TEST_POLICY_WORLD_H
#define TEST_POLICY_WORLD_H

#include "base/clock.h"
#include "ttl/policy.h"
#include "unity.h"

#include <stdio.h>

#define S    CLOCK_S
#define H    (3600 * CLOCK_S)
#define DAY  (24 * H)
#define T0   (1790000000 * CLOCK_S)
#define SAID TTL_NONE /* of client_ttl: the writer said nothing */

#define LIMIT(c, a, p)                                                                             \
    "{\"capacity\":" #c ",\"refill_amount\":" #a ",\"refill_period_seconds\":" #p "}"
#define BUCKET(limits) "{\"limits\":" limits "}"

#define WORLD_KEYS  24
#define WORLD_TRACE 80

static struct {
    struct policy_stream s;
    struct policy_server srv;
    struct json_strs subjects;
    char *subject[8];
    struct json_map metadata;
    struct json_pair pairs[WORLD_KEYS];
    struct policy *p;
    struct policy_decision d;
    const char *permanent; /* the subject that has a permanent record */
    char asked[512];       /* the last subject that a link named */
    unsigned links;        /* links that were followed */
    char trace[WORLD_TRACE][200];
    size_t ntrace;
    bool tracing;
    struct mf_error e;
} world;

static inline void world_subject(const char *subject)
{
    world.subject[world.subjects.n++] = (char *)(uintptr_t)subject;
}

static inline void world_fini(void)
{
    policy_free(world.p);
    world.p = NULL;
}

/* Stream S on s.> with limits retention, in a server without a ttl block. */
static inline void world_reset(void)
{
    world_fini();
    memset(&world, 0, sizeof world);
    world.subjects.at = world.subject;
    world.metadata = (struct json_map){world.pairs, 0, true};
    world.s = (struct policy_stream){
        .account = "APP",
        .name = "S",
        .subjects = &world.subjects,
        .metadata = &world.metadata,
        .limits_retention = true,
        .max_msgs_per_subject = -1,
    };
    world.srv.keys = (struct policy_keys)POLICY_KEYS_INIT;
    world_subject("s.>");
}

/* Another set of subjects. */
static inline void world_subjects(const char *a, const char *b)
{
    world.subjects.n = 0;
    world_subject(a);
    if (b != NULL)
        world_subject(b);
}

/* Sets mayfly.ttl.<key>; the map stays sorted.  `key` with a dot is a whole key. */
static inline void world_set(const char *key, const char *value)
{
    static char names[WORLD_KEYS][64];
    char full[64];
    size_t i = 0;

    snprintf(full, sizeof full, "%s%s", strchr(key, '.') == NULL ? POLICY_PREFIX : "", key);
    for (; i < world.metadata.n; i++)
        if (strcmp(world.pairs[i].key, full) == 0) {
            world.pairs[i].value = (char *)(uintptr_t)value;
            return;
        }
    snprintf(names[i], sizeof names[i], "%s", full);
    world.pairs[world.metadata.n++] = (struct json_pair){names[i], (char *)(uintptr_t)value};
    for (; i > 0 && strcmp(world.pairs[i].key, world.pairs[i - 1].key) < 0; i--) {
        struct json_pair t = world.pairs[i];
        world.pairs[i] = world.pairs[i - 1];
        world.pairs[i - 1] = t;
    }
}

static inline void world_unset_all(void)
{
    world.metadata.n = 0;
}

static inline int world_try(void)
{
    world_fini();
    world.e = (struct mf_error){0, ""};
    return policy_compile(&world.p, &world.s, &world.srv, &world.e);
}

static inline const struct policy_view *world_compile(void)
{
    int rc = world_try();

    TEST_ASSERT_EQUAL_STRING("", world.e.text);
    TEST_ASSERT_EQUAL(0, rc);
    TEST_ASSERT_NOT_NULL_MESSAGE(world.p, "there is no policy");
    return policy_view(world.p);
}

static inline void world_refused(const char *text)
{
    int rc = world_try();

    TEST_ASSERT_EQUAL_STRING(text, world.e.text);
    TEST_ASSERT_EQUAL(MF_INVAL, rc);
    TEST_ASSERT_NULL(world.p);
}

static inline bool world_permanent(void *arg, struct mf_slice subject)
{
    (void)arg;
    snprintf(world.asked, sizeof world.asked, "%.*s", MF_FMT(subject));
    world.links++;
    return world.permanent != NULL && mf_eq_str(subject, world.permanent);
}

static inline void world_trace(void *arg, const char *line)
{
    (void)arg;
    if (world.ntrace < WORLD_TRACE)
        snprintf(world.trace[world.ntrace++], sizeof world.trace[0], "%s", line);
}

/* The decision about a message.  `headers` is "Name: value\r\n" lines, or NULL. */
static inline const struct policy_decision *world_message(const char *subject, const char *headers,
                                                          const char *payload, int64_t client)
{
    char block[2048];
    struct policy_message m = {
        .subject = mf_str(subject),
        .payload = mf_str(payload),
        .ts_ns = T0,
        .client_ttl = client,
        .permanent = world_permanent,
        .trace = world.tracing ? world_trace : NULL,
    };

    if (headers != NULL) {
        snprintf(block, sizeof block, "NATS/1.0\r\n%s\r\n", headers);
        m.hdr = mf_str(block);
    }
    world.ntrace = 0;
    policy_resolve(world.p, &m, &world.d);
    return &world.d;
}

/* The TTL and decided_by of a message whose writer said nothing but this TTL. */
static inline void world_gives(int64_t ttl, const char *by, const char *subject, int64_t client)
{
    const struct policy_decision *d = world_message(subject, NULL, NULL, client);
    char text[POLICY_BY_TEXT];

    TEST_ASSERT_EQUAL_INT64(ttl, d->ttl);
    TEST_ASSERT_EQUAL_STRING(by, policy_by_text(text, world.p, d));
}

/* The same with headers and a payload, for rules. */
static inline void world_rule_gives(int64_t ttl, const char *by, const char *subject,
                                    const char *headers, const char *payload)
{
    const struct policy_decision *d = world_message(subject, headers, payload, SAID);
    char text[POLICY_BY_TEXT];

    TEST_ASSERT_EQUAL_STRING(by, policy_by_text(text, world.p, d));
    TEST_ASSERT_EQUAL_INT64(ttl, d->ttl);
}

/* One rule for all subjects with this expression. */
static inline void world_use_ttl(const char *ttl)
{
    static char rules[256];

    snprintf(rules, sizeof rules, "[{\"ttl\":\"%s\"}]", ttl);
    world_set("rules", rules);
    world_compile();
}

static inline void world_json_gives(int64_t ttl, const char *expression, const char *payload)
{
    world_use_ttl(expression);
    world_rule_gives(ttl, "rule:1", "s.a", NULL, payload);
}

static inline void world_header_gives(int64_t ttl, const char *expression, const char *header)
{
    world_use_ttl(expression);
    world_rule_gives(ttl, "rule:1", "s.a", header, NULL);
}

static inline void world_no_value(const char *expression, const char *header, const char *payload)
{
    world_use_ttl(expression);
    world_rule_gives(TTL_NONE, "none", "s.a", header, payload);
}

#endif
