/* fuzz_policy.c: the metadata of a stream as any client may send them: lines "key=value", keys
 * without mayfly.ttl.; an empty line, then the payload of a message.  Whatever compiles keeps its
 * bounds; whatever does not says why. */
#include "fuzz.h"
#include "base/clock.h"
#include "ttl/policy.h"

#define KEYS 16

struct input {
    struct json_pair pairs[KEYS];
    struct json_map map;
    struct mf_slice payload;
};

static bool take_line(struct mf_slice *rest, struct mf_slice *line)
{
    const uint8_t *lf = rest->len == 0 ? NULL : memchr(rest->ptr, '\n', rest->len);

    if (lf == NULL)
        return false;
    *line = mf_slice(rest->ptr, (size_t)(lf - rest->ptr));
    *rest = mf_slice(lf + 1, rest->len - line->len - 1);
    return true;
}

static void read_input(struct input *in, struct mf_slice text, struct arena *mem)
{
    struct mf_slice line;

    in->map = (struct json_map){in->pairs, 0, true};
    while (take_line(&text, &line) && line.len > 0 && in->map.n < KEYS) {
        const uint8_t *eq = memchr(line.ptr, '=', line.len);
        struct json_pair *p = &in->pairs[in->map.n];

        if (eq == NULL || memchr(line.ptr, '\0', line.len) != NULL)
            continue;
        p->key = arena_printf(mem, POLICY_PREFIX "%.*s", (int)(eq - line.ptr), line.ptr);
        p->value = arena_dup(mem, mf_slice(eq + 1, line.len - (size_t)(eq - line.ptr) - 1));
        if (p->key != NULL && p->value != NULL)
            in->map.n++;
    }
    in->payload = text;
}

static bool permanent(void *arg, struct mf_slice subject)
{
    (void)arg;
    FUZZ_CHECK(subject.len > 0);
    return subject.len % 2 == 0;
}

static void visit(void *arg, struct mf_slice filter)
{
    (void)arg;
    FUZZ_CHECK(filter.len > 0);
}

static void check_message(const struct policy *p, struct mf_slice payload, const char *subject,
                          int64_t client)
{
    const struct policy_keys *k = &policy_view(p)->keys;
    struct policy_message m = {.subject = mf_str(subject),
                               .hdr = MF_LIT("NATS/1.0\r\nA: 60\r\nL: 1/3/7,9/1/1\r\n\r\n"),
                               .payload = payload,
                               .ts_ns = 1790000000 * CLOCK_S,
                               .client_ttl = client,
                               .permanent = permanent};
    struct policy_decision d;
    char text[POLICY_REFUSAL], by[POLICY_BY_TEXT];

    policy_resolve(p, &m, &d);
    FUZZ_CHECK(d.ttl == TTL_NONE || d.ttl == TTL_NEVER || d.ttl >= CLOCK_S);
    FUZZ_CHECK(d.rules_tried <= POLICY_RULES_MAX);
    FUZZ_CHECK(d.scanned <= 8 * POLICY_JSON_SCAN_MAX);
    FUZZ_CHECK(policy_by_text(by, p, &d)[0] != '\0');
    if (d.verdict == POLICY_REJECTED) {
        FUZZ_CHECK(policy_refusal(text, &d)[0] != '\0');
        return;
    }
    FUZZ_CHECK(d.ttl <= 0 || k->max_ns <= 0 || d.ttl <= k->max_ns);
    FUZZ_CHECK(d.ttl <= 0 || k->min_ns <= 0 || d.ttl >= k->min_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char first[] = "s.>", second[] = "c.>", third[] = "dead.>";
    char *subject_list[] = {first, second, third};
    const struct json_strs subjects = {subject_list, MF_COUNT(subject_list)};
    struct arena mem = {0};
    struct input in;
    struct mf_error e = {0, ""};
    struct policy *p = NULL, *again = NULL;

    read_input(&in, mf_slice(data, size), &mem);
    struct policy_stream s = {.account = "A",
                              .name = "S",
                              .subjects = &subjects,
                              .metadata = &in.map,
                              .limits_retention = true,
                              .max_msgs_per_subject = 5};
    int rc = policy_compile(&p, &s, NULL, &e);
    FUZZ_CHECK(rc == 0 || (rc == MF_INVAL && e.text[0] != '\0' && p == NULL));
    (void)policy_pedantic(&s, NULL, &mem);
    if (p != NULL) {
        FUZZ_CHECK(policy_compile(&again, &s, NULL, &e) == 0 && policy_equal(p, again));
        check_message(p, in.payload, "s.a.b", TTL_NONE);
        check_message(p, in.payload, "c.x", TTL_NEVER);
        check_message(p, in.payload, "dead.s.a", 3600 * CLOCK_S);
        policy_linked_by(p, MF_LIT("c.x.y"), visit, NULL);
    }
    policy_free(p);
    policy_free(again);
    arena_fini(&mem);
    return 0;
}
