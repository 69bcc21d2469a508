/* ttl_policy.c: POLICY: the effective TTL policy of a stream with the origin of each value, and a
 * try-out of one message (`test`), also with keys that are not set (`policy`).  Other keys for all
 * messages (`what_if`): ttl_what_if.c. */
#include "api/ttl_api_impl.h"

#include "base/clock.h"
#include "proto/header.h"
#include "subject/subject.h"

#include <stdio.h>
#include <stdlib.h>

#define PAGE_DEFAULT 100
#define PAGE_MAX     256
#define PAYLOAD_MAX  POLICY_JSON_SCAN_MAX

/* --- the request ------------------------------------------------------------------------------ */

struct test_request {
    char *subject, *payload;
    struct json_map headers;
};
struct policy_request {
    struct test_request *test;
    struct json_map policy, what_if;
};
#define TEST_FIELD(json, sort, member)                                                             \
    {                                                                                              \
        .name = (json), .kind = (sort), .offset = offsetof(struct test_request, member)            \
    }
static const struct json_field test_fields[] = {
    TEST_FIELD("subject", JSON_STR, subject),
    TEST_FIELD("payload", JSON_STR, payload),
    TEST_FIELD("headers", JSON_MAP, headers),
};
static const struct json_type test_type = {"TTLPolicyTest", sizeof(struct test_request),
                                           test_fields, MF_COUNT(test_fields)};
static const struct json_field policy_fields[] = {
    {.name = "test",
     .kind = JSON_POINTER,
     .offset = offsetof(struct policy_request, test),
     .type = &test_type},
    {.name = "policy", .kind = JSON_MAP, .offset = offsetof(struct policy_request, policy)},
    {.name = "what_if", .kind = JSON_MAP, .offset = offsetof(struct policy_request, what_if)},
};
static const struct json_type policy_type = {"TTLPolicyRequest", sizeof(struct policy_request),
                                             policy_fields, MF_COUNT(policy_fields)};

struct page_request {
    int64_t offset, limit;
};
static const struct json_field page_fields[] = {
    {.name = "offset", .kind = JSON_INT, .offset = offsetof(struct page_request, offset)},
    {.name = "limit", .kind = JSON_INT, .offset = offsetof(struct page_request, limit)},
};
static const struct json_type page_type = {"TTLPoliciesRequest", sizeof(struct page_request),
                                           page_fields, MF_COUNT(page_fields)};

/* --- the policy ------------------------------------------------------------------------------- */

void ttl_json_policy(struct jsonw *w, struct stream *s, const struct policy *p)
{
    const struct policy_view *v = js_policy_view(p);
    const struct stream_config *c = stream_config(s);
    const uint64_t *hits = p == stream_policy(s) ? stream_rule_hits(s) : NULL;
    char text[CLOCK_TEXT];

    jsonw_str(w, "stream", stream_name(s));
    jsonw_bool(w, "governed", v->governed);
    jsonw_bool(w, "active", v->active);
    jsonw_bool(w, "valid", v->invalid == NULL);
    jsonw_opt_str(w, "invalid", v->invalid);
    js_json_policy(w, p, hits);
    if (hits != NULL)
        jsonw_u64(w, "no_rule", hits[v->nrules]);
    jsonw_str(w, "max_age", clock_duration(text, c->max_age_ns));
    jsonw_str(w, "marker_ttl", clock_duration(text, c->subject_delete_marker_ttl_ns));
    jsonw_bool(w, "allow_msg_ttl", c->allow_msg_ttl);
    if (v->nnotes > 0) {
        jsonw_array(w, "notes");
        for (size_t i = 0; i < v->nnotes; i++)
            jsonw_str(w, NULL, v->notes[i]);
        jsonw_end(w);
    }
}

/* --- one message, tried out ------------------------------------------------------------------- */

struct trace {
    struct arena *mem;
    const char **lines;
    size_t n;
};

static void add_line(void *arg, const char *line)
{
    struct trace *t = arg;
    const char **lines = arena_grow(t->mem, t->lines, t->n, sizeof *lines);

    if (lines == NULL)
        return;
    t->lines = lines;
    t->lines[t->n++] = arena_str(t->mem, line);
}

static bool write_header(const struct json_map *map, struct mf_buf *out)
{
    header_begin(out, NULL);
    for (size_t i = 0; i < map->n; i++) {
        const char *k = map->at[i].key, *v = map->at[i].value;
        if (k[0] == '\0' || strpbrk(k, ": \r\n") != NULL || strpbrk(v, "\r\n") != NULL)
            return false;
        header_add(out, k, mf_str(v));
    }
    header_end(out);
    return true;
}

/* NULL: it is as it must be. */
static const char *find_mistake(const struct test_request *t, struct mf_buf *hdr)
{
    if (t->subject == NULL || !subject_valid_literal(mf_str(t->subject)))
        return "test needs a subject without wildcards and empty tokens";
    if (mf_str(t->payload).len > PAYLOAD_MAX)
        return "payload must be at most 16384 bytes";
    if (t->headers.n > 0 && !write_header(&t->headers, hdr))
        return "headers have a name or a value that no header can have";
    return NULL;
}

static void write_result(struct jsonw *w, const struct policy *p, const struct stream_try *r)
{
    static const char *const verdicts[] = {"ok", "clamped", "rejected"};
    const struct policy_decision *d = &r->decision;
    struct stream_lifetime life = {.infinite = d->ttl == TTL_NEVER, .deadline_ns = r->deadline_ns};
    char ttl[POLICY_TEXT], by[POLICY_BY_TEXT];

    jsonw_object(w, "result");
    jsonw_str(w, "ttl", policy_ttl_text(ttl, d->ttl));
    jsonw_str(w, "state", ttl_state_word(&life));
    jsonw_str(w, "decided_by", policy_by_text(by, p, d));
    jsonw_str(w, "verdict", verdicts[r->refused ? POLICY_REJECTED : d->verdict]);
    if (r->refused)
        js_json_error(w, &r->error);
    else if (life.deadline_ns != 0)
        jsonw_time(w, "expires", life.deadline_ns);
    jsonw_end(w);
}

static void write_test(struct api_call *call, struct jsonw *w, struct stream *s,
                       const struct policy *p, const struct test_request *t, struct mf_slice hdr)
{
    struct trace trace = {.mem = &call->mem};
    struct stream_try r = {.subject = mf_str(t->subject),
                           .hdr = hdr,
                           .payload = mf_str(t->payload),
                           .trace = add_line,
                           .trace_arg = &trace};

    stream_ttl_try(s, p, jetstream_now_ns(call->aa->api->js), &r);
    write_result(w, p, &r);
    jsonw_array(w, "trace");
    for (size_t i = 0; i < trace.n; i++)
        jsonw_str(w, NULL, trace.lines[i]);
    jsonw_end(w);
}

/* --- the handlers ----------------------------------------------------------------------------- */

bool ttl_policy_try(struct api_call *call, struct stream *s, const struct json_map *keys,
                    struct policy **out)
{
    struct mf_error why;
    struct js_error e;
    int rc = stream_policy_try(s, keys, out, &why);

    if (rc == 0)
        return true;
    if (rc == MF_NOMEM) {
        api_reply_no_memory(call);
        return false;
    }
    js_error_set_text(&e, JS_STREAM_INVALID_CONFIG, "%s", why.text);
    api_reply_error(call, &e);
    return false;
}

static void answer_request(struct api_call *call, struct stream *s, const struct policy_request *r,
                           struct mf_slice hdr)
{
    struct policy *tried = NULL;
    const struct policy *p = stream_policy(s);
    struct jsonw *w;

    if (r->policy.n > 0) {
        if (!ttl_policy_try(call, s, &r->policy, &tried))
            return;
        p = tried;
    }
    w = api_reply_begin(call);
    ttl_json_policy(w, s, p);
    if (r->test != NULL)
        write_test(call, w, s, p, r->test, hdr);
    policy_free(tried);
    api_reply_end_quietly(call);
}

void ttl_policy_handle(struct api_call *call)
{
    struct policy_request r = {0};
    struct mf_buf hdr = MF_BUF_INIT;
    const char *why;
    struct stream *s = NULL;

    if (!ttl_read(call, &policy_type, &r))
        return;
    if (r.what_if.set && (r.test != NULL || r.policy.set))
        why = "what_if goes without test and policy";
    else
        why = r.test == NULL ? NULL : find_mistake(r.test, &hdr);
    if (why != NULL)
        ttl_refuse_request(call, why);
    else if ((s = api_call_stream(call, 1)) != NULL && r.what_if.set)
        ttl_what_if_start(call, s, &r.what_if);
    else if (s != NULL)
        answer_request(call, s, &r, mf_buf_slice(&hdr));
    mf_buf_fini(&hdr);
}

static void add_policy(struct jsonw *w, struct stream *s)
{
    jsonw_object(w, NULL);
    ttl_json_policy(w, s, stream_policy(s));
    jsonw_end(w);
}

void ttl_policies_handle(struct api_call *call)
{
    struct page_request r = {.limit = PAGE_DEFAULT};
    struct catalog *c = call->ja->catalog;
    struct catalog_item item;
    struct jsonw *w;

    if (!ttl_read(call, &page_type, &r))
        return;
    if (r.offset < 0 || r.limit < 1 || r.limit > PAGE_MAX) {
        ttl_refuse_request(call, "offset must be 0 or more, limit 1 to 256");
        return;
    }
    w = api_reply_begin(call);
    jsonw_u64(w, "total", catalog_count(c));
    jsonw_i64(w, "offset", r.offset);
    jsonw_i64(w, "limit", r.limit);
    jsonw_array(w, "streams");
    for (int64_t i = 0; i < r.limit && catalog_at(c, (size_t)(r.offset + i), &item); i++)
        if (item.stream != NULL)
            add_policy(w, item.stream);
    jsonw_end(w);
    api_reply_end_quietly(call);
}
