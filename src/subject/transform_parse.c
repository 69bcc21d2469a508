/* transform_parse.c: one token of a mapping's destination: `$1`, `{{wildcard(1)}}`, or plain text.
 *
 * The form of a call was measured on nats-server: "{{", blanks, the name with the first letter of
 * each of its words in either case, blanks, "(", anything, ")", blanks, "}}".  The search is not
 * anchored and the argument list is as long as possible, so `{{wildcard(1)}}{{wildcard(1)}}` is
 * one call with a bad argument. */
#include "subject/transform_impl.h"

#include "base/array.h"

/* A capital matches either case.  Order matters: the first that fits is taken. */
static const struct {
    const char *name;
    enum piece_kind kind;
} functions[] = {
    {"Wildcard", PIECE_WILDCARD},
    {"Partition", PIECE_PARTITION},
    {"SplitFromLeft", PIECE_SPLIT_FROM_LEFT},
    {"SplitFromRight", PIECE_SPLIT_FROM_RIGHT},
    {"SliceFromLeft", PIECE_SLICE_FROM_LEFT},
    {"SliceFromRight", PIECE_SLICE_FROM_RIGHT},
    {"Right", PIECE_RIGHT},
    {"Left", PIECE_LEFT},
    {"Split", PIECE_SPLIT},
    {"Random", PIECE_RANDOM},
};

#define FEW_ARGS  "not enough arguments passed to the function"
#define MANY_ARGS "too many arguments passed to the function"
#define BAD_ARG   "function argument is invalid or in the wrong format"

_Thread_local uint64_t transform_piece_steps;

static int refuse_token(struct mf_error *e, const char *what, struct mf_slice token)
{
    return mf_fail(e, MF_INVAL, "invalid mapping destination: %s in %.*s", what, MF_FMT(token));
}

static size_t skip_blank(struct mf_slice s, size_t i)
{
    size_t from = i;

    while (i < s.len && (s.ptr[i] == ' ' || s.ptr[i] == '\t' || s.ptr[i] == '\n' ||
                         s.ptr[i] == '\f' || s.ptr[i] == '\r'))
        i++;
    transform_piece_steps += i - from;
    return i;
}

static bool closes_call(struct mf_slice s, size_t i)
{
    return i + 1 < s.len && s.ptr[i] == '}' && s.ptr[i + 1] == '}';
}

/* The end of name in s from i on, or 0. */
static size_t skip_name(struct mf_slice s, size_t i, const char *name)
{
    for (; *name != '\0'; name++, i++) {
        if (i == s.len)
            return 0;
        uint8_t c = s.ptr[i];
        if (c != (uint8_t)*name && !(*name >= 'A' && *name <= 'Z' && c == (uint8_t)(*name | 0x20)))
            return 0;
    }
    return i;
}

/* Where the last ")", blanks, "}}" begins; 0: nowhere.  Every call ends there, wherever it begins.
 */
static size_t last_close(struct mf_slice s)
{
    for (size_t end = s.len; end-- > 1; transform_piece_steps++)
        if (s.ptr[end] == ')' && closes_call(s, skip_blank(s, end + 1)))
            return end;
    return 0;
}

static bool call_at(struct mf_slice s, size_t i, const char *name, size_t close,
                    struct mf_slice *args)
{
    i = skip_name(s, skip_blank(s, i), name);
    if (i == 0)
        return false;
    i = skip_blank(s, i);
    if (i == s.len || s.ptr[i] != '(' || close <= i)
        return false;
    *args = mf_slice(s.ptr + i + 1, close - i - 1);
    return true;
}

/* O(length): no part is scanned again for a second "{{". */
static bool find_call(struct mf_slice s, const char *name, struct mf_slice *args)
{
    size_t close = last_close(s);

    for (size_t i = 0; close > 0 && i + 1 < s.len; i++, transform_piece_steps++)
        if (s.ptr[i] == '{' && s.ptr[i + 1] == '{' && call_at(s, i + 2, name, close, args))
            return true;
    return false;
}

/* Arguments are separated by a comma and any blanks after it. */
static bool next_arg(struct mf_slice *rest, struct mf_slice *arg)
{
    if (rest->ptr == NULL)
        return false;
    const uint8_t *comma = rest->len > 0 ? memchr(rest->ptr, ',', rest->len) : NULL;
    if (comma == NULL) {
        *arg = *rest;
        *rest = MF_SLICE_NONE;
        return true;
    }
    size_t len = (size_t)(comma - rest->ptr), next = skip_blank(*rest, len + 1);
    *arg = mf_slice(rest->ptr, len);
    *rest = mf_slice(rest->ptr + next, rest->len - next);
    return true;
}

/* Spaces around, one sign, decimal digits. */
static bool parse_int(struct mf_slice s, int64_t min, int64_t max, int64_t *out)
{
    uint64_t v;
    bool minus = false;

    while (s.len > 0 && s.ptr[0] == ' ')
        s = mf_slice(s.ptr + 1, s.len - 1);
    while (s.len > 0 && s.ptr[s.len - 1] == ' ')
        s.len--;
    if (s.len > 0 && (s.ptr[0] == '-' || s.ptr[0] == '+')) {
        minus = s.ptr[0] == '-';
        s = mf_slice(s.ptr + 1, s.len - 1);
    }
    if (mf_parse_u64(s, &v) != 0 || v > INT64_MAX)
        return false;
    *out = minus ? -(int64_t)v : (int64_t)v;
    return *out >= min && *out <= max;
}

static int add_index(struct index_list *l, struct piece *p, int64_t value)
{
    if (mf_array_reserve(&l->v, &l->cap, l->n + 1, sizeof *l->v) != 0)
        return MF_NOMEM;
    l->v[l->n++] = value;
    p->count++;
    return 0;
}

static int parse_wildcard(struct mf_slice args, struct mf_slice token, struct piece *p,
                          struct index_list *l, struct mf_error *e)
{
    struct mf_slice arg = MF_SLICE_NONE;
    int64_t v;

    next_arg(&args, &arg);
    if (args.ptr != NULL)
        return refuse_token(e, MANY_ARGS, token);
    if (arg.len == 0)
        return refuse_token(e, FEW_ARGS, token);
    if (!parse_int(arg, INT64_MIN, INT64_MAX, &v))
        return refuse_token(e, BAD_ARG, token);
    return add_index(l, p, v) == 0 ? 0 : mf_fail(e, MF_NOMEM, "mapping");
}

/* partition(buckets[, wildcard...]).  The count of buckets may be negative: nats-server takes it as
 * an unsigned number, and so do we. */
static int parse_partition(struct mf_slice args, struct mf_slice token, struct piece *p,
                           struct index_list *l, struct mf_error *e)
{
    struct mf_slice arg = MF_SLICE_NONE;
    int64_t v;

    next_arg(&args, &arg);
    if (!parse_int(arg, INT64_MIN, INT32_MAX, &v))
        return refuse_token(e, BAD_ARG, token);
    p->arg = (int32_t)(uint32_t)(uint64_t)v;
    while (next_arg(&args, &arg)) {
        if (!parse_int(arg, INT64_MIN, INT64_MAX, &v))
            return refuse_token(e, BAD_ARG, token);
        if (add_index(l, p, v) != 0)
            return mf_fail(e, MF_NOMEM, "mapping");
    }
    return 0;
}

static int parse_random(struct mf_slice args, struct mf_slice token, struct piece *p,
                        struct mf_error *e)
{
    struct mf_slice arg = MF_SLICE_NONE;
    int64_t v;

    next_arg(&args, &arg);
    if (args.ptr != NULL)
        return refuse_token(e, FEW_ARGS, token); /* nats-server's words, though it means too many */
    if (!parse_int(arg, INT64_MIN, INT32_MAX, &v))
        return refuse_token(e, BAD_ARG, token);
    p->arg = (int32_t)(uint32_t)(uint64_t)v;
    return 0;
}

/* Functions of a wildcard and one more argument: a number, or split's delimiter. */
static int parse_two(struct mf_slice args, struct mf_slice token, struct piece *p,
                     struct index_list *l, struct mf_error *e)
{
    struct mf_slice which = MF_SLICE_NONE, arg;
    int64_t v, n;

    next_arg(&args, &which);
    if (!next_arg(&args, &arg))
        return refuse_token(e, FEW_ARGS, token);
    if (args.ptr != NULL)
        return refuse_token(e, MANY_ARGS, token);
    if (!parse_int(which, INT64_MIN, INT64_MAX, &v))
        return refuse_token(e, BAD_ARG, token);
    if (p->kind == PIECE_SPLIT) {
        if (arg.len > 0 && memchr(arg.ptr, ' ', arg.len) != NULL)
            return refuse_token(e, BAD_ARG, token);
        p->text = arg;
    } else {
        if (!parse_int(arg, INT32_MIN, INT32_MAX, &n))
            return refuse_token(e, BAD_ARG, token);
        p->arg = (int32_t)n;
    }
    return add_index(l, p, v) == 0 ? 0 : mf_fail(e, MF_NOMEM, "mapping");
}

bool transform_piece_is_function(struct mf_slice token)
{
    return token.len > 4 && token.ptr[0] == '{' && token.ptr[1] == '{' &&
           closes_call(token, token.len - 2);
}

bool transform_piece_is_known(struct mf_slice token)
{
    struct mf_slice args;

    for (size_t i = 0; i < MF_COUNT(functions); i++)
        if (find_call(token, functions[i].name, &args))
            return true;
    return false;
}

bool transform_piece_is_wildcard(struct mf_slice token)
{
    struct mf_slice args;

    return find_call(token, functions[0].name, &args) && args.len > 0 &&
           memchr(args.ptr, ',', args.len) == NULL;
}

int transform_piece_parse(struct mf_slice token, struct piece *p, struct index_list *list,
                          struct mf_error *e)
{
    struct mf_slice args;
    int64_t v;

    *p = (struct piece){.kind = PIECE_LITERAL, .first = list->n, .text = token};
    if (token.len > 1 && token.ptr[0] == '$') {
        /* No spaces here; and what is no number is an ordinary token, such as $SYS. */
        struct mf_slice number = mf_slice(token.ptr + 1, token.len - 1);
        if (memchr(number.ptr, ' ', number.len) != NULL ||
            !parse_int(number, INT64_MIN, INT64_MAX, &v))
            return 0;
        p->kind = PIECE_WILDCARD;
        return add_index(list, p, v) == 0 ? 0 : mf_fail(e, MF_NOMEM, "mapping");
    }
    if (!transform_piece_is_function(token))
        return 0;
    for (size_t i = 0; i < MF_COUNT(functions); i++) {
        if (!find_call(token, functions[i].name, &args))
            continue;
        p->kind = functions[i].kind;
        if (p->kind == PIECE_WILDCARD)
            return parse_wildcard(args, token, p, list, e);
        if (p->kind == PIECE_PARTITION)
            return parse_partition(args, token, p, list, e);
        if (p->kind == PIECE_RANDOM)
            return parse_random(args, token, p, e);
        return parse_two(args, token, p, list, e);
    }
    return refuse_token(e, "unknown function", token);
}
