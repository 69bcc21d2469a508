/* fuzz_http.c: a request head as any client may send it, through the parser, the WebSocket
 * handshake's judge and the monitor's query decoder. */
#include "fuzz.h"
#include "base/buf.h"
#include "monitor/monitor_impl.h"
#include "ws/upgrade_impl.h"

#define LIMIT 4096

static bool inside(struct mf_slice s, const uint8_t *data, size_t n)
{
    return s.len == 0 || (s.ptr >= data && s.ptr + s.len <= data + n);
}

static void check_parts(const struct http_request *r, const uint8_t *data, size_t n)
{
    FUZZ_CHECK(r->method.len > 0 && inside(r->method, data, n));
    FUZZ_CHECK(r->path.len > 0 && inside(r->query, data, n) && inside(r->host, data, n));
    FUZZ_CHECK(mf_eq_str(r->path, "/") || inside(r->path, data, n));
    FUZZ_CHECK(r->nfields <= HTTP_FIELDS);
    for (size_t i = 0; i < r->nfields; i++) {
        FUZZ_CHECK(r->field[i].name.len > 0 && inside(r->field[i].name, data, n));
        FUZZ_CHECK(inside(r->field[i].value, data, n));
        FUZZ_CHECK(memchr(r->field[i].name.ptr, '\n', r->field[i].name.len) == NULL);
    }
    (void)http_keep_alive(r);
    (void)http_accepts(r, "gzip");
}

/* The answer echoes nothing of the request but what was computed from its key. */
static void check_upgrade(const struct http_request *r)
{
    static const char *const origins[] = {"http://a.example", "https://b.example:8443"};
    struct ws_options options[] = {
        {.compression = true},
        {.same_origin = true, .tls = true},
        {.origins = origins, .norigins = 2, .mqtt = true, .headers = "X-A: b\r\n"},
    };
    struct mf_buf out = MF_BUF_INIT;
    struct ws_verdict v;

    for (size_t i = 0; i < MF_COUNT(options); i++) {
        ws_judge(r, &options[i], &v);
        mf_buf_clear(&out);
        ws_answer(r, &options[i], &v, 0, &out);
        FUZZ_CHECK(!mf_buf_failed(&out) && out.len > 0 && out.len < 512);
        FUZZ_CHECK((v.status == 101) == (memmem(out.ptr, out.len, " 101 ", 5) != NULL));
    }
    mf_buf_fini(&out);
}

static void check_query(const struct http_request *r)
{
    static const char *const names[] = {"a", "limit", "subs"};
    struct mf_buf body = MF_BUF_INIT;
    struct monitor_request q;

    if (monitor_request_init(&q, r, "") != 0)
        return;
    FUZZ_CHECK(q.path[0] == '/' || mf_eq_str(r->path, "*"));
    for (size_t i = 0; i < MF_COUNT(names); i++) {
        struct monitor_reply reply = {.status = 200, .content_type = "", .body = &body};
        bool flag;
        int64_t number;
        uint64_t count;
        int rc = monitor_param_bool(&q, &reply, names[i], &flag);
        FUZZ_CHECK((rc == 0) == (reply.status == 200));
        rc |= monitor_param_i64(&q, &reply, names[i], &number);
        rc |= monitor_param_u64(&q, &reply, names[i], &count);
        FUZZ_CHECK((rc == 0) == (reply.status == 200));
    }
    mf_buf_fini(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_request r;
    const char *fault = NULL, *again = NULL;
    ssize_t n = http_parse(data, size, 0, LIMIT, &r, &fault);
    char *text;

    if (n > 0) {
        FUZZ_CHECK((size_t)n <= size && n <= LIMIT);
        check_parts(&r, data, (size_t)n);
        check_upgrade(&r);
        check_query(&r);
    } else if (n < 0) {
        FUZZ_CHECK(fault != NULL);
    }
    /* Byte by byte: incomplete until the same result. */
    for (size_t have = 1, seen = 0; n > 0 && have <= (size_t)n; seen = have++)
        FUZZ_CHECK(http_parse(data, have, seen, LIMIT, &r, &again) == (have < (size_t)n ? 0 : n));
    text = mf_slice_dup(mf_slice(data, size)); /* as a Cookie header */
    FUZZ_CHECK(text != NULL);
    (void)ws_cookie(text, "jwt");
    free(text);
    return 0;
}
