/* policy_expr.c: TTL expressions.
 *
 *     ttl    := "never" | "none" | [factor *] base
 *     base   := duration | source | "fill(" source ")" | "until(" source ")"
 *     source := "header(" name ")" | "json(" pointer ")"
 *
 * Times are integers.  Only the members of a limit are doubles; where they are whole numbers, the
 * time to fill is computed with integers, too. */
#include "ttl/policy_rules_impl.h"

#include "ttl/policy_keys_impl.h"
#include "base/clock.h"

#include <math.h>

#define FACTOR_DECIMALS 6
#define FILL_FACTOR     7
#define HEADER_FILL_MAX 4096               /* bytes of a header that fill() reads */
#define EXACT_MAX       9007199254740992.0 /* 2^53 */

__extension__ typedef unsigned __int128 u128;

/* --- parsing ---------------------------------------------------------------------------------- */

static struct mf_slice skip_blanks(struct mf_slice s)
{
    while (s.len > 0 && s.ptr[0] == ' ')
        s = mf_slice(s.ptr + 1, s.len - 1);
    return s;
}

/* name(inner), all of the text. */
static bool take_call(struct mf_slice text, const char *name, struct mf_slice *inner)
{
    size_t n = strlen(name);

    if (!mf_starts(text, name) || text.len < n + 2 || text.ptr[n] != '(' ||
        text.ptr[text.len - 1] != ')')
        return false;
    *inner = mf_slice(text.ptr + n + 1, text.len - n - 2);
    return true;
}

static uint32_t greatest_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* digits[.digits], 0.001 to 1000, as a fraction in lowest terms. */
static bool parse_factor(struct mf_slice s, struct expr *x)
{
    uint64_t num = 0;
    uint32_t den = 1, gcd;
    size_t i = 0;

    for (; i < s.len && s.ptr[i] >= '0' && s.ptr[i] <= '9' && num <= 1000; i++)
        num = num * 10 + (uint64_t)(s.ptr[i] - '0');
    if (i == 0)
        return false;
    if (i < s.len && s.ptr[i] == '.') {
        size_t from = ++i;

        for (; i < s.len && s.ptr[i] >= '0' && s.ptr[i] <= '9' && i - from < FACTOR_DECIMALS; i++) {
            num = num * 10 + (uint64_t)(s.ptr[i] - '0');
            den *= 10;
        }
        if (i == from)
            return false;
    }
    if (i != s.len || num * 1000 < den || num > (uint64_t)den * 1000)
        return false;
    gcd = greatest_divisor((uint32_t)num, den);
    x->num = (uint32_t)num / gcd;
    x->den = den / gcd;
    return true;
}

static int intern_pointer(struct rules *r, struct mf_slice pointer, struct arena *mem,
                          unsigned *index, struct mf_error *e)
{
    if (pointer.len > RULES_POINTER_BYTES || (pointer.len > 0 && pointer.ptr[0] != '/') ||
        (pointer.len > 0 && memchr(pointer.ptr, '~', pointer.len) != NULL))
        return MF_INVAL;
    for (*index = 0; *index < r->npointers; (*index)++)
        if (mf_eq_str(pointer, r->pointers[*index]))
            return 0;
    if (r->npointers == RULES_POINTERS_MAX)
        return mf_fail(e, MF_LIMIT, "more than %d JSON pointers", RULES_POINTERS_MAX);
    if ((r->pointers[r->npointers] = arena_dup(mem, pointer)) == NULL)
        return mf_fail(e, MF_NOMEM, "TTL expression");
    r->npointers++;
    return 0;
}

static int parse_source(struct expr *x, struct mf_slice text, struct rules *r, struct arena *mem,
                        struct mf_error *e)
{
    struct mf_slice inner;

    if (take_call(text, "header", &inner) && policy_rules_header_valid(inner)) {
        x->source = EXPR_HEADER;
        return policy_rules_intern_header(r, inner, mem, &x->index, e);
    }
    if (!take_call(text, "json", &inner))
        return MF_INVAL;
    x->source = EXPR_JSON;
    return intern_pointer(r, inner, mem, &x->index, e);
}

/* ns x factor, up to whole seconds where there is a factor; 1 s to 36500 d. */
static int64_t apply_factor(uint64_t ns, uint32_t num, uint32_t den, bool whole)
{
    u128 v = ((u128)ns * num + den - 1) / den;
    uint64_t unit = (uint64_t)(whole ? CLOCK_S : CLOCK_MS);

    if (v >= (u128)POLICY_TTL_MAX_NS)
        return POLICY_TTL_MAX_NS;
    v = (v + unit - 1) / unit * unit;
    return v < (u128)POLICY_TTL_MIN_NS ? POLICY_TTL_MIN_NS : (int64_t)v;
}

static int parse_base(struct expr *x, struct mf_slice text, bool factor, struct rules *r,
                      struct arena *mem, struct mf_error *e)
{
    struct mf_slice inner;
    int64_t ns;

    if (policy_parse_duration(text, &ns) == 0) {
        x->base = EXPR_CONST;
        x->constant = apply_factor((uint64_t)ns, x->num, x->den, factor);
        return 0;
    }
    if (take_call(text, "fill", &inner)) {
        x->base = EXPR_FILL;
        if (!factor)
            x->num = FILL_FACTOR;
        return parse_source(x, inner, r, mem, e);
    }
    x->base = EXPR_UNTIL;
    if (take_call(text, "until", &inner))
        return parse_source(x, inner, r, mem, e);
    x->base = EXPR_VALUE;
    return parse_source(x, text, r, mem, e);
}

int policy_expr_parse(struct expr *x, struct mf_slice text, struct rules *r, struct arena *mem,
                      struct mf_error *e)
{
    const uint8_t *star = text.len == 0 ? NULL : memchr(text.ptr, '*', text.len);
    struct expr made = {.base = EXPR_CONST, .num = 1, .den = 1};
    struct mf_slice base = text;
    int rc;

    /* A header's name or a pointer may hold a star: a factor has no parenthesis before it. */
    if (star != NULL && memchr(text.ptr, '(', (size_t)(star - text.ptr)) == NULL) {
        size_t n = (size_t)(star - text.ptr);

        base = skip_blanks(mf_slice(star + 1, text.len - n - 1));
        while (n > 0 && text.ptr[n - 1] == ' ')
            n--;
        if (!parse_factor(mf_slice(text.ptr, n), &made))
            return MF_INVAL;
    } else {
        star = NULL;
        if (mf_eq_str(text, "never") || mf_eq_str(text, "none")) {
            made.constant = mf_eq_str(text, "never") ? TTL_NEVER : TTL_NONE;
            *x = made;
            return 0;
        }
    }
    rc = parse_base(&made, base, star != NULL, r, mem, e);
    if (rc == 0)
        *x = made;
    return rc;
}

/* --- values ----------------------------------------------------------------------------------- */

/* Plain seconds, perhaps with a fraction; a duration.  Saturates. */
static bool read_span(struct mf_slice text, int64_t *ns)
{
    char copy[64];
    int rc = policy_keys_parse_span(text, ns);

    if (rc == MF_LIMIT) {
        *ns = INT64_MAX;
        return true;
    }
    if (rc == 0 || text.len == 0 || text.len > sizeof copy - 1)
        return rc == 0;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '.' && (text.ptr[i] < '0' || text.ptr[i] > '9'))
            return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 's';
    return clock_parse_duration(mf_slice(copy, text.len + 1), ns) == 0;
}

/* The text of the value; a JSON string without its quotes. */
static bool read_source(const struct expr *x, struct facts *f, struct mf_slice *text)
{
    if (x->source == EXPR_HEADER)
        return policy_facts_header(f, x->index, text);
    if (!policy_facts_json(f, x->index, text))
        return false;
    if (text->ptr[0] == '"')
        *text = mf_slice(text->ptr + 1, text->len - 2);
    return true;
}

/* capacity/refill_amount/period[,...] */
static bool read_header_fill(struct mf_slice text, struct limit *slowest)
{
    bool found = false;

    if (text.len > HEADER_FILL_MAX)
        return false;
    while (text.len > 0) {
        struct limit l = {0, 0, 0};
        double *const parts[] = {&l.capacity, &l.refill, &l.period_s};
        size_t n = 0, part = 0, from = 0;
        bool good = true;

        for (; n <= text.len; n++) {
            bool end = n == text.len || text.ptr[n] == ',';

            if (!end && text.ptr[n] != '/')
                continue;
            good = good && part < MF_COUNT(parts) &&
                   policy_limit_number(mf_trim(mf_slice(text.ptr + from, n - from)), parts[part]);
            part++;
            from = n + 1;
            if (end)
                break;
        }
        if (good && part == MF_COUNT(parts))
            found = policy_limit_keep(slowest, found, &l);
        text = n >= text.len ? MF_SLICE_NONE : mf_slice(text.ptr + n + 1, text.len - n - 1);
    }
    return found;
}

/* v is above 0. */
static bool is_whole(double v)
{
    return v < EXACT_MAX && v == (double)(uint64_t)v;
}

/* Seconds, rounded up. */
static int64_t fill_time(const struct limit *l, uint32_t num, uint32_t den)
{
    const int64_t most_s = POLICY_TTL_MAX_NS / CLOCK_S;
    const double most = (double)most_s;
    double s;
    u128 top, below;

    if (is_whole(l->capacity) && is_whole(l->refill) && is_whole(l->period_s) &&
        !__builtin_mul_overflow((u128)l->capacity * (u128)l->period_s, (u128)num, &top)) {
        below = (u128)l->refill * den;
        top = (top + below - 1) / below;
        s = top > (u128)most ? most : (double)(uint64_t)top;
    } else {
        s = ceil(l->capacity / l->refill * l->period_s * num / den);
        if (!(s < most)) /* NaN too */
            s = most;
    }
    return s < 1 ? POLICY_TTL_MIN_NS : (int64_t)s * CLOCK_S;
}

static bool fill_value(const struct expr *x, struct facts *f, int64_t *ttl)
{
    struct limit slowest = {0, 0, 0};
    struct mf_slice text;

    if (x->source == EXPR_JSON) {
        if (!policy_facts_json_fill(f, x->index, &slowest))
            return false;
    } else if (!policy_facts_header(f, x->index, &text) || !read_header_fill(text, &slowest)) {
        return false;
    }
    *ttl = fill_time(&slowest, x->num, x->den);
    return true;
}

static bool until_value(const struct expr *x, struct mf_slice text, int64_t ts_ns, int64_t *ttl)
{
    int64_t end;

    if ((text.len == 0 || text.ptr[0] < '0' || text.ptr[0] > '9'))
        return false;
    if (memchr(text.ptr, '-', text.len) != NULL) {
        if (json_parse_time(text, &end, NULL) != 0)
            return false;
    } else if (text.ptr[text.len - 1] > '9' || !read_span(text, &end)) { /* not a duration */
        return false;
    }
    *ttl = end <= ts_ns ? POLICY_TTL_MIN_NS
                        : apply_factor((uint64_t)end - (uint64_t)ts_ns, x->num, x->den, true);
    return true;
}

bool policy_expr_value(const struct expr *x, struct facts *f, int64_t *ttl)
{
    struct mf_slice text;
    int64_t ns;

    if (x->base == EXPR_CONST) {
        *ttl = x->constant;
        return true;
    }
    if (x->base == EXPR_FILL)
        return fill_value(x, f, ttl);
    if (!read_source(x, f, &text))
        return false;
    if (x->base == EXPR_UNTIL)
        return until_value(x, text, f->m->ts_ns, ttl);
    if (!read_span(text, &ns) || ns <= 0)
        return false;
    *ttl = apply_factor((uint64_t)ns, x->num, x->den, x->num != x->den);
    return true;
}
