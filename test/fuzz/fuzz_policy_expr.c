/* fuzz_policy_expr.c: a TTL expression in the first line, the value of header X in the second, the
 * payload behind it. */
#include "fuzz.h"
#include "base/clock.h"
#include "ttl/policy_rules_impl.h"

static struct mf_slice take_line(struct mf_slice *rest)
{
    const uint8_t *lf = rest->len == 0 ? NULL : memchr(rest->ptr, '\n', rest->len);
    struct mf_slice line = mf_slice(rest->ptr, lf == NULL ? rest->len : (size_t)(lf - rest->ptr));
    size_t used = lf == NULL ? rest->len : line.len + 1;

    *rest = rest->len == 0 ? *rest : mf_slice(rest->ptr + used, rest->len - used);
    return line;
}

static void check_value(const struct expr *x, const struct rules *r, const struct policy_message *m)
{
    struct facts f;
    int64_t ttl = 0, again = 0;

    policy_facts_init(&f, r, m);
    bool has = policy_expr_value(x, &f, &ttl);
    uint32_t scanned = f.scanned;
    FUZZ_CHECK(scanned <= 2 * POLICY_JSON_SCAN_MAX);
    FUZZ_CHECK(policy_expr_value(x, &f, &again) == has && again == ttl);
    FUZZ_CHECK(f.scanned == scanned); /* the facts are kept */
    if (!has || x->base == EXPR_CONST)
        return;
    FUZZ_CHECK(ttl >= POLICY_TTL_MIN_NS && ttl <= POLICY_TTL_MAX_NS);
    FUZZ_CHECK(x->base == EXPR_VALUE ? ttl % CLOCK_MS == 0 : ttl % CLOCK_S == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mf_slice rest = mf_slice(data, size), text = take_line(&rest), value = take_line(&rest);
    struct arena mem = {0};
    struct mf_error e = {0, ""};
    struct rules r = {.n = 0};
    struct expr x;
    char *block = arena_printf(&mem, "NATS/1.0\r\nX: %.*s\r\n\r\n", (int)value.len,
                               value.len == 0 ? "" : (const char *)value.ptr);
    struct policy_message m = {
        .hdr = mf_str(block), .payload = rest, .ts_ns = 1790000000 * CLOCK_S};
    int rc = policy_expr_parse(&x, text, &r, &mem, &e);

    FUZZ_CHECK(rc == 0 || rc == MF_INVAL);
    if (rc == 0) {
        FUZZ_CHECK(x.num > 0 && x.den > 0 && x.num <= (uint64_t)x.den * 1000);
        FUZZ_CHECK(x.base != EXPR_CONST || x.constant == TTL_NEVER || x.constant == TTL_NONE ||
                   (x.constant >= POLICY_TTL_MIN_NS && x.constant <= POLICY_TTL_MAX_NS));
        check_value(&x, &r, &m);
    }
    arena_fini(&mem);
    return 0;
}
