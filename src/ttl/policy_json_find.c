/* policy_json_find.c: a cursor that only moves forward over the text of a payload. */
#include "ttl/policy_json_find_impl.h"

#include "ttl/policy.h"

#include <math.h>
#include <stdlib.h>

#define NUMBER_MAX   63
#define DIGITS_EXACT 15 /* so many make an integer that a double has exactly */

struct cursor {
    const uint8_t *at, *end;
    unsigned depth; /* containers that are open around the cursor */
};

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The next byte that is no blank; 0 at the end. */
static inline uint8_t peek(struct cursor *c)
{
    if (c->at<c->end && * c->at> ' ')
        return *c->at;
    while (c->at < c->end && is_blank(*c->at))
        c->at++;
    return c->at < c->end ? *c->at : 0;
}

static bool take_byte(struct cursor *c, uint8_t want)
{
    if (peek(c) != want)
        return false;
    c->at++;
    return true;
}

/* Is the quote part of the text?  Then an odd number of backslashes stands before it. */
static bool is_escaped(const uint8_t *from, const uint8_t *quote)
{
    const uint8_t *at = quote;

    while (at > from && at[-1] == '\\')
        at--;
    return (quote - at) % 2 == 1;
}

/* The cursor is at the opening quote.  *s: the text between the quotes, escapes as they are. */
static bool take_string(struct cursor *c, struct mf_slice *s)
{
    const uint8_t *from = c->at + 1, *at = from;

    while ((at = memchr(at, '"', (size_t)(c->end - at))) != NULL && is_escaped(from, at))
        at++;
    c->at = at == NULL ? c->end : at + 1;
    if (at != NULL)
        *s = mf_slice(from, (size_t)(at - from));
    return at != NULL;
}

/* ends[b]: a number or a word ends before b. */
static const bool ends[256] = {
    [' '] = true, ['\t'] = true, ['\r'] = true, ['\n'] = true, [','] = true, [']'] = true,
    ['}'] = true, [':'] = true,  ['['] = true,  ['{'] = true,  ['"'] = true, ['\0'] = true};

/* A number or a word.  It stands in a container, so it is whole only if another byte follows. */
static bool skip_scalar(struct cursor *c)
{
    const uint8_t *from = c->at, *at = from;

    while (at < c->end && !ends[*at])
        at++;
    c->at = at;
    return at > from && at < c->end;
}

/* Skips the content of an object or array.  Its brackets must pair; its commas are not checked. */
static bool skip_container(struct cursor *c)
{
    char close[JSON_FIND_DEPTH + 1];
    unsigned open = 0;

    while (c->at < c->end) {
        uint8_t b = *c->at;
        struct mf_slice s;

        if (b == '"') {
            if (!take_string(c, &s))
                return false;
            continue;
        }
        c->at++;
        if (b == '{' || b == '[') {
            if (c->depth + open >= JSON_FIND_DEPTH)
                return false;
            close[open++] = b == '{' ? '}' : ']';
        } else if (b == '}' || b == ']') {
            if (open == 0 || close[--open] != (char)b)
                return false;
            if (open == 0)
                return true;
        }
    }
    return false;
}

static bool skip_value(struct cursor *c)
{
    struct mf_slice s;
    uint8_t b = peek(c);

    if (b == '"')
        return take_string(c, &s);
    return b == '{' || b == '[' ? skip_container(c) : skip_scalar(c);
}

static bool open_container(struct cursor *c)
{
    c->at++;
    return ++c->depth <= JSON_FIND_DEPTH;
}

/* The next "name": of the object that the cursor is in.  False: the end of the object, or no JSON.
 */
static bool next_name(struct cursor *c, bool first, struct mf_slice *name)
{
    if ((!first && !take_byte(c, ',')) || peek(c) != '"')
        return false;
    return take_string(c, name) && take_byte(c, ':');
}

static bool enter_member(struct cursor *c, struct mf_slice want)
{
    struct mf_slice name;

    for (bool first = true; next_name(c, first, &name); first = false) {
        if (mf_eq(name, want))
            return true;
        if (!skip_value(c))
            return false;
    }
    return false;
}

static bool enter_element(struct cursor *c, struct mf_slice index)
{
    uint64_t n;

    if (mf_parse_u64(index, &n) != 0 || (index.len > 1 && index.ptr[0] == '0') || peek(c) == ']')
        return false;
    for (; n > 0; n--)
        if (!skip_value(c) || !take_byte(c, ','))
            return false;
    return true;
}

/* One step of the pointer: into the value that it names. */
static bool enter_token(struct cursor *c, struct mf_slice token)
{
    uint8_t b = peek(c);

    if ((b != '{' && b != '[') || !open_container(c))
        return false;
    return b == '{' ? enter_member(c, token) : enter_element(c, token);
}

/* To the first byte of the value that the pointer names. */
static bool go_to(struct cursor *c, const char *pointer)
{
    if (peek(c) != '{' && peek(c) != '[')
        return false;
    while (*pointer == '/') {
        size_t n = strcspn(++pointer, "/");

        if (!enter_token(c, mf_slice(pointer, n)))
            return false;
        pointer += n;
    }
    (void)peek(c);
    return true;
}

static struct cursor cursor_at(struct mf_slice payload)
{
    size_t n = payload.len < POLICY_JSON_SCAN_MAX ? payload.len : POLICY_JSON_SCAN_MAX;

    return (struct cursor){payload.ptr, n == 0 ? payload.ptr : payload.ptr + n, 0};
}

bool policy_json_find(struct mf_slice payload, const char *pointer, struct mf_slice *value,
                      uint32_t *scanned)
{
    struct cursor c = cursor_at(payload);
    bool found = go_to(&c, pointer);
    const uint8_t *from = c.at;

    found = found && skip_value(&c);
    if (found)
        *value = mf_slice(from, (size_t)(c.at - from));
    *scanned += payload.len == 0 ? 0 : (uint32_t)(c.at - payload.ptr);
    return found;
}

/* --- limits ----------------------------------------------------------------------------------- */

/* Most limits are a few digits: an integer below 10^15 is exact, without strtod. */
static bool parse_digits(struct mf_slice text, double *out)
{
    uint64_t v = 0;

    for (size_t i = 0; i < text.len; i++) {
        unsigned digit = text.ptr[i] - (unsigned)'0';

        if (digit > 9)
            return false;
        v = v * 10 + digit;
    }
    *out = (double)v;
    return true;
}

bool policy_limit_number(struct mf_slice text, double *out)
{
    char copy[NUMBER_MAX + 1], *end;

    if (text.len == 0 || text.len > NUMBER_MAX)
        return false;
    if (text.len <= DIGITS_EXACT && parse_digits(text, out))
        return true;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    if (strspn(copy, "+-.0123456789eE") != text.len) /* neither hexadecimal nor "inf" */
        return false;
    *out = strtod(copy, &end);
    return *end == '\0' && isfinite(*out);
}

bool policy_limit_keep(struct limit *slowest, bool found, const struct limit *l)
{
    if (!(l->capacity > 0 && l->refill > 0 && l->period_s > 0))
        return found;
    if (!found || l->capacity / l->refill * l->period_s >
                      slowest->capacity / slowest->refill * slowest->period_s)
        *slowest = *l;
    return true;
}

/* The cursor is at the '{' of a limit. */
static bool read_limit(struct cursor *c, struct limit *l)
{
    struct mf_slice name;

    *l = (struct limit){0, 0, 0};
    if (!open_container(c))
        return false;
    for (bool first = true; peek(c) != '}'; first = false) {
        double *to = NULL;
        const uint8_t *from;

        if (!next_name(c, first, &name))
            return false;
        if (mf_eq_str(name, "capacity"))
            to = &l->capacity;
        else if (mf_eq_str(name, "refill_amount"))
            to = &l->refill;
        else if (mf_eq_str(name, "refill_period_seconds"))
            to = &l->period_s;
        (void)peek(c);
        from = c->at;
        if (!skip_value(c))
            return false;
        if (to != NULL && !policy_limit_number(mf_slice(from, (size_t)(c->at - from)), to))
            *to = 0; /* skipped as missing */
    }
    c->at++;
    c->depth--;
    return true;
}

static bool read_limits(struct cursor *c, struct limit *slowest)
{
    bool found = false, array = peek(c) == '[';
    struct limit l;

    if (array && !open_container(c))
        return false;
    do {
        uint8_t b = peek(c);

        if (b == '{') {
            if (!read_limit(c, &l))
                return false;
            found = policy_limit_keep(slowest, found, &l);
        } else if (!array || (b != ']' && !skip_value(c))) {
            return false;
        }
    } while (array && take_byte(c, ','));
    return found && (!array || peek(c) == ']');
}

bool policy_json_find_fill(struct mf_slice payload, const char *pointer, struct limit *slowest,
                           uint32_t *scanned)
{
    struct cursor c = cursor_at(payload);
    bool found = go_to(&c, pointer) && read_limits(&c, slowest);

    *scanned += payload.len == 0 ? 0 : (uint32_t)(c.at - payload.ptr);
    return found;
}
