/* transform_apply.c: applies a compiled mapping to a subject. */
#include "subject/transform_impl.h"

#include "base/rand.h"
#include "subject/subject.h"

#include <stdio.h>

/* Writes as much as fits; `len` counts on, so that an overflow is seen once, at the end. */
struct out {
    char *dst;
    size_t cap, len;
};

static void put_text(struct out *o, struct mf_slice s)
{
    if (s.len > 0 && o->len <= o->cap && s.len <= o->cap - o->len)
        memcpy(o->dst + o->len, s.ptr, s.len);
    o->len += s.len;
}

static void put_dot(struct out *o)
{
    put_text(o, MF_LIT("."));
}

static void put_u32(struct out *o, uint32_t v)
{
    char text[16];
    int n = snprintf(text, sizeof text, "%u", (unsigned)v);

    put_text(o, mf_slice(text, (size_t)n));
}

static ssize_t finish_text(const struct out *o)
{
    if (o->len > o->cap)
        return MF_LIMIT;
    return o->len > 0 ? (ssize_t)o->len : MF_INVAL;
}

static struct mf_slice slice_part(struct mf_slice s, size_t from, size_t to)
{
    return mf_slice(s.ptr + from, to - from);
}

/* FNV-1a, 32 bit: part of the contract, as other servers must choose the same partition. */
#define FNV_START 2166136261u
static uint32_t hash_fnv(uint32_t h, struct mf_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        h = (h ^ s.ptr[i]) * 16777619u;
    return h;
}

static void put_partition(struct out *o, const struct transform *t, const struct piece *p,
                          struct mf_slice subject)
{
    uint32_t h = FNV_START, buckets = (uint32_t)p->arg;

    if (p->count == 0)
        h = hash_fnv(h, subject);
    for (uint32_t i = 0; i < p->count; i++)
        h = hash_fnv(h, t->scratch[t->index[p->first + i]]);
    put_u32(o, buckets == 0 ? 0 : h % buckets);
}

static void put_random(struct out *o, int32_t arg)
{
    uint32_t n = arg < 0 ? 0u - (uint32_t)arg : (uint32_t)arg;

    put_u32(o, n == 0 ? 0 : rand_below(n));
}

/* One '.' between [0,at) and [at,end), if both have bytes. */
static void put_split_at(struct out *o, struct mf_slice s, size_t at)
{
    put_text(o, slice_part(s, 0, at));
    if (at > 0 && at < s.len)
        put_dot(o);
    put_text(o, slice_part(s, at, s.len));
}

/* Pieces of `size`, the odd one first (from the right) or last (from the left). */
static void put_slices(struct out *o, struct mf_slice s, size_t size, size_t first)
{
    size_t from = 0, to = first > 0 ? first : size;

    while (from < s.len) {
        if (from > 0)
            put_dot(o);
        put_text(o, slice_part(s, from, to));
        from = to;
        to = s.len - to < size ? s.len : to + size;
    }
}

/* Bytes of the UTF-8 character at the front; 1 for a byte that is no UTF-8. */
static size_t char_len(struct mf_slice s)
{
    static const struct {
        uint8_t mask, lead, len, low, high; /* bounds of the second byte, where they are narrower */
    } form[] = {{0xff, 0xe0, 3, 0xa0, 0xbf}, {0xff, 0xed, 3, 0x80, 0x9f},
                {0xff, 0xf0, 4, 0x90, 0xbf}, {0xff, 0xf4, 4, 0x80, 0x8f},
                {0xe0, 0xc0, 2, 0x80, 0xbf}, {0xf0, 0xe0, 3, 0x80, 0xbf},
                {0xf8, 0xf0, 4, 0x80, 0xbf}};
    uint8_t c = s.ptr[0];

    if (c < 0xc2 || c > 0xf4)
        return 1;
    for (size_t i = 0; i < MF_COUNT(form); i++) {
        if ((c & form[i].mask) != form[i].lead)
            continue;
        if (s.len < form[i].len || s.ptr[1] < form[i].low || s.ptr[1] > form[i].high)
            return 1;
        for (size_t k = 2; k < form[i].len; k++)
            if ((s.ptr[k] & 0xc0) != 0x80)
                return 1;
        return form[i].len;
    }
    return 1;
}

/* Where the next part ends, and how long the delimiter after it is; an empty delimiter splits into
 * characters. */
static size_t part_end(struct mf_slice s, struct mf_slice delim, size_t from, size_t *skip)
{
    size_t at = from;

    *skip = 0;
    if (delim.len == 0)
        return from < s.len ? from + char_len(slice_part(s, from, s.len)) : from;
    for (; delim.len <= s.len - at; at++) {
        if (memcmp(s.ptr + at, delim.ptr, delim.len) == 0) {
            *skip = delim.len;
            return at;
        }
    }
    return s.len;
}

/* Empty parts leave no token, with nats-server's exception: after an empty first part the second
 * gets no '.', whichever it is; so "--a" gives ".a". */
static void put_split(struct out *o, struct mf_slice s, struct mf_slice delim)
{
    bool first_empty = false;
    size_t from = 0, skip;

    for (uint32_t j = 0;; j++) {
        size_t to = part_end(s, delim, from, &skip);
        if (j == 0)
            first_empty = to == from;
        if (j > 0 && to > from && !(j == 1 && first_empty))
            put_dot(o);
        put_text(o, slice_part(s, from, to));
        from = to + skip;
        if (skip == 0 && (delim.len > 0 || from >= s.len))
            return;
    }
}

/* The functions of one token and a number n; out of 1..length-1 the token stays whole. */
static void put_sized(struct out *o, const struct piece *p, struct mf_slice s)
{
    size_t n = (size_t)p->arg;

    if (p->arg <= 0 || n >= s.len) {
        put_text(o, s);
        return;
    }
    switch (p->kind) {
    case PIECE_SPLIT_FROM_LEFT:
        put_split_at(o, s, n);
        break;
    case PIECE_SPLIT_FROM_RIGHT:
        put_split_at(o, s, s.len - n);
        break;
    case PIECE_SLICE_FROM_LEFT:
        put_slices(o, s, n, 0);
        break;
    case PIECE_SLICE_FROM_RIGHT:
        put_slices(o, s, n, s.len % n);
        break;
    case PIECE_LEFT:
        put_text(o, slice_part(s, 0, n));
        break;
    default: /* PIECE_RIGHT */
        put_text(o, slice_part(s, s.len - n, s.len));
        break;
    }
}

static void put_piece(struct out *o, const struct transform *t, const struct piece *p,
                      struct mf_slice subject)
{
    switch (p->kind) {
    case PIECE_LITERAL:
        put_text(o, p->text);
        break;
    case PIECE_WILDCARD:
        put_text(o, t->scratch[t->index[p->first]]);
        break;
    case PIECE_PARTITION:
        put_partition(o, t, p, subject);
        break;
    case PIECE_RANDOM:
        put_random(o, p->arg);
        break;
    case PIECE_SPLIT:
        put_split(o, t->scratch[t->index[p->first]], p->text);
        break;
    default:
        put_sized(o, p, t->scratch[t->index[p->first]]);
        break;
    }
}

ssize_t transform_apply(const struct transform *t, struct mf_slice subject, char *dst, size_t cap)
{
    struct out o = {dst, cap, 0};
    struct mf_slice rest = subject;

    if (!subject_is_subset(subject, t->src))
        return 0;
    for (uint32_t i = 0; i < t->sources; i++)
        (void)subject_next_token(&rest, &t->scratch[i]); /* as many are there: it matched */
    for (uint32_t i = 0; i < t->pieces; i++) {
        if (i > 0)
            put_dot(&o);
        put_piece(&o, t, &t->piece[i], subject);
    }
    if (t->tail) {
        const uint8_t *from = t->scratch[t->sources - 1].ptr;
        if (t->pieces > 0)
            put_dot(&o);
        put_text(&o, mf_slice(from, (size_t)(subject.ptr + subject.len - from)));
    }
    return finish_text(&o);
}

ssize_t transform_pattern(const struct transform *t, struct mf_slice pattern, char *dst, size_t cap)
{
    for (uint32_t i = 0; i < t->pieces; i++)
        if (t->piece[i].kind != PIECE_LITERAL && t->piece[i].kind != PIECE_WILDCARD)
            return 0;
    return transform_apply(t, pattern, dst, cap);
}

ssize_t transform_tokenize(struct mf_slice pattern, char *dst, size_t cap)
{
    struct out o = {dst, cap, 0};
    struct mf_slice rest = pattern, token;
    uint32_t star = 0;

    for (bool first = true; subject_next_token(&rest, &token); first = false) {
        if (!first)
            put_dot(&o);
        if (token.len == 1 && token.ptr[0] == '*') {
            put_text(&o, MF_LIT("$"));
            put_u32(&o, ++star);
        } else {
            put_text(&o, token);
        }
    }
    return o.len > cap ? MF_LIMIT : (ssize_t)o.len;
}

/* `$` and a digit, or wildcard() with any argument: only the form counts here;
 * transform_new_strict() checks the number. */
static bool is_placeholder(struct mf_slice token)
{
    if (token.len > 1 && token.ptr[0] == '$')
        return token.ptr[1] >= '1' && token.ptr[1] <= '9';
    return transform_piece_is_wildcard(token);
}

ssize_t transform_untokenize(struct mf_slice dest, char *dst, size_t cap)
{
    struct out o = {dst, cap, 0};
    struct mf_slice rest = dest, token;

    for (bool first = true; subject_next_token(&rest, &token); first = false) {
        if (!first)
            put_dot(&o);
        put_text(&o, is_placeholder(token) ? MF_LIT("*") : token);
    }
    return o.len > cap ? MF_LIMIT : (ssize_t)o.len;
}
