/* text.c: subjects computed while a message is published: transformed, mapped, intersected. */
#include "account/account_impl.h"

#include "subject/subject.h"

#include <stdlib.h>

/* A control line bounds the subjects of clients, and no transform lengthens them this much. */
#define MAX_SUBJECT (1u << 20)

typedef ssize_t (*maker)(const void *how, struct mf_slice a, struct mf_slice b, char *dst,
                         size_t cap);

/* Tries the room on the stack, then larger and larger memory. */
static ssize_t make_text(struct text *t, maker fn, const void *how, struct mf_slice a,
                         struct mf_slice b)
{
    ssize_t n = fn(how, a, b, t->room, sizeof t->room);

    t->more = NULL;
    t->s = mf_slice(t->room, n > 0 ? (size_t)n : 0);
    for (size_t cap = 8192; n == MF_LIMIT && cap <= MAX_SUBJECT; cap *= 4) {
        free(t->more);
        t->more = malloc(cap);
        if (t->more == NULL)
            return MF_NOMEM;
        n = fn(how, a, b, t->more, cap);
        t->s = mf_slice(t->more, n > 0 ? (size_t)n : 0);
    }
    return n;
}

void text_fini(struct text *t)
{
    free(t->more);
    t->more = NULL;
}

static ssize_t do_transform(const void *how, struct mf_slice a, struct mf_slice b, char *dst,
                            size_t cap)
{
    (void)b;
    return transform_apply(how, a, dst, cap);
}

ssize_t text_transform(struct text *t, const struct transform *tr, struct mf_slice subject)
{
    return make_text(t, do_transform, tr, subject, MF_SLICE_NONE);
}

static ssize_t do_pattern(const void *how, struct mf_slice a, struct mf_slice b, char *dst,
                          size_t cap)
{
    (void)b;
    return transform_pattern(how, a, dst, cap);
}

ssize_t text_pattern(struct text *t, const struct transform *tr, struct mf_slice pattern)
{
    return make_text(t, do_pattern, tr, pattern, MF_SLICE_NONE);
}

static ssize_t do_map(const void *how, struct mf_slice a, struct mf_slice b, char *dst, size_t cap)
{
    (void)b;
    return mappings_apply(how, a, dst, cap);
}

ssize_t text_map(struct text *t, const struct mappings *m, struct mf_slice subject)
{
    return make_text(t, do_map, m, subject, MF_SLICE_NONE);
}

/* --- intersection ----------------------------------------------------------------------------- */

struct out {
    char *dst;
    size_t cap, len;
};

static bool put_token(struct out *o, struct mf_slice token)
{
    size_t dot = o->len > 0;

    if (o->len + dot + token.len > o->cap)
        return false;
    if (dot)
        o->dst[o->len++] = '.';
    memcpy(o->dst + o->len, token.ptr, token.len);
    o->len += token.len;
    return true;
}

static bool is_token(struct mf_slice t, char c)
{
    return t.len == 1 && t.ptr[0] == (uint8_t)c;
}

static bool put_rest(struct out *o, struct mf_slice first, struct mf_slice rest)
{
    bool ok = put_token(o, first);
    struct mf_slice token;

    while (ok && subject_next_token(&rest, &token))
        ok = put_token(o, token);
    return ok;
}

/* Chooses the narrower token of the two; '>' is replaced by all remaining tokens of the other one.
 */
static ssize_t do_intersect(const void *how, struct mf_slice a, struct mf_slice b, char *dst,
                            size_t cap)
{
    struct out o = {dst, cap, 0};
    struct mf_slice at, bt;
    bool more_a = subject_next_token(&a, &at), more_b = subject_next_token(&b, &bt);

    (void)how;
    for (; more_a && more_b;
         more_a = subject_next_token(&a, &at), more_b = subject_next_token(&b, &bt)) {
        if (is_token(at, '>'))
            return put_rest(&o, bt, b) ? (ssize_t)o.len : MF_LIMIT;
        if (is_token(bt, '>'))
            return put_rest(&o, at, a) ? (ssize_t)o.len : MF_LIMIT;
        if (!is_token(at, '*') && !is_token(bt, '*') && !mf_eq(at, bt))
            return 0;
        if (!put_token(&o, is_token(at, '*') ? bt : at))
            return MF_LIMIT;
    }
    return more_a || more_b ? 0 : (ssize_t)o.len;
}

ssize_t text_intersect(struct text *t, struct mf_slice a, struct mf_slice b)
{
    return make_text(t, do_intersect, NULL, a, b);
}
