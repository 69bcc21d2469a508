/* transform.c: compiling, freeing and reversing subject mappings. */
#include "subject/transform_impl.h"

#include "subject/subject.h"

#include <stdio.h>
#include <stdlib.h>

struct info {
    uint32_t tokens, stars;
    bool tail; /* ends in '>' */
};

/* A looser grammar than subject_valid(): blanks are allowed, for `{{ wildcard(1) }}`. */
static bool inspect_pattern(struct mf_slice s, struct info *out)
{
    struct mf_slice rest = s, token;

    *out = (struct info){0, 0, false};
    while (subject_next_token(&rest, &token)) {
        if (token.len == 0 || out->tail || out->tokens == UINT32_MAX)
            return false;
        out->tokens++;
        if (token.len == 1 && token.ptr[0] == '*')
            out->stars++;
        out->tail = token.len == 1 && token.ptr[0] == '>';
    }
    return out->tokens > 0;
}

/* An empty transform with copies of the texts and room for the rest. */
static struct transform *blank_transform(struct mf_slice src, struct mf_slice dest,
                                         uint32_t sources, uint32_t pieces)
{
    struct transform *t = calloc(1, sizeof *t);
    uint8_t *text = malloc(src.len + dest.len + 1);

    if (t == NULL || text == NULL)
        goto err;
    memcpy(text, src.ptr, src.len);
    memcpy(text + src.len, dest.ptr, dest.len);
    t->src = mf_slice(text, src.len);
    t->dest = mf_slice(text + src.len, dest.len);
    t->sources = sources;
    t->scratch = calloc(sources, sizeof *t->scratch);
    t->piece = calloc((size_t)pieces + 1, sizeof *t->piece);
    if (t->scratch != NULL && t->piece != NULL)
        return t;
    free(t->scratch);
    free(t->piece);
err:
    free(text);
    free(t);
    return NULL;
}

void transform_free(struct transform *t)
{
    if (t == NULL)
        return;
    free((void *)t->src.ptr); /* the one allocation of both texts */
    free(t->scratch);
    free(t->piece);
    free(t->index);
    free(t);
}

struct mf_slice transform_source(const struct transform *t)
{
    return t->src;
}

struct mf_slice transform_dest(const struct transform *t)
{
    return t->dest;
}

/* Wildcard numbers become positions of source tokens.  Numbers below 1 mean the first token, which
 * is what nats-server makes of `$0`. */
static int resolve_indices(struct transform *t, const struct index_list *list, uint32_t stars,
                           struct mf_error *e)
{
    struct mf_slice rest = t->src, token;
    uint32_t *star;
    uint32_t n = 0;

    if (list->n == 0)
        return 0;
    star = calloc((size_t)stars + 1, sizeof *star);
    t->index = calloc(list->n, sizeof *t->index);
    if (star == NULL || t->index == NULL) {
        free(star); /* index is the transform's */
        return mf_fail(e, MF_NOMEM, "mapping");
    }
    for (uint32_t at = 0; subject_next_token(&rest, &token); at++)
        if (token.len == 1 && token.ptr[0] == '*')
            star[n++] = at;
    for (uint32_t i = 0; i < list->n; i++)
        if (list->v[i] >= 1 && list->v[i] <= n)
            t->index[i] = star[list->v[i] - 1];
    free(star);
    return 0;
}

/* Rules for one parsed token of the destination, in nats-server's order. */
static int check_piece(const struct piece *p, struct mf_slice token, const struct index_list *list,
                       const struct info *src, bool strict, struct mf_error *e)
{
    static const char range[] = "invalid mapping destination: wildcard index out of range";

    if (src->stars == 0 && !src->tail) {
        if (p->kind == PIECE_LITERAL || p->kind == PIECE_RANDOM || p->kind == PIECE_PARTITION)
            return 0;
        return mf_fail(e, MF_INVAL, "%s in %.*s", range, MF_FMT(token));
    }
    if (strict && p->kind != PIECE_LITERAL && p->kind != PIECE_WILDCARD)
        return mf_fail(e, MF_INVAL,
                       "invalid mapping destination: the only mapping function allowed for import "
                       "transforms is {{Wildcard()}} in %.*s",
                       MF_FMT(token));
    for (uint32_t i = 0; i < p->count; i++) {
        int64_t v = list->v[p->first + i];
        if (v > (int64_t)src->stars)
            return mf_fail(e, MF_INVAL, "%s in %.*s: [%lld]", range, MF_FMT(token), (long long)v);
    }
    return 0;
}

static int parse_pieces(struct transform *t, struct index_list *list, const struct info *src,
                        bool strict, struct mf_error *e)
{
    struct mf_slice rest = t->dest, token;

    while (subject_next_token(&rest, &token)) {
        struct piece *p = &t->piece[t->pieces];
        if (t->tail && rest.ptr == NULL)
            break; /* the '>' */
        int rc = transform_piece_parse(token, p, list, e);
        if (rc == 0)
            rc = check_piece(p, token, list, src, strict, e);
        if (rc != 0)
            return rc;
        if (src->stars == 0 && !src->tail)
            p->count = 0; /* a literal source has one subject: partition() takes all of it */
        t->pieces++;
    }
    return 0;
}

static int compile_mapping(struct transform **out, struct mf_slice src, struct mf_slice dest,
                           bool strict, struct mf_error *e)
{
    struct info si, di;
    struct index_list list = {NULL, 0, 0};
    struct transform *t;
    int rc;

    if (src.len == 0)
        src = MF_LIT(">");
    if (!inspect_pattern(src, &si) || !inspect_pattern(dest, &di) || di.stars > 0 ||
        si.tail != di.tail)
        return mf_fail(e, MF_INVAL, "invalid subject");
    t = blank_transform(src, dest, si.tokens, di.tokens);
    if (t == NULL)
        return mf_fail(e, MF_NOMEM, "mapping");
    t->tail = si.tail;
    rc = parse_pieces(t, &list, &si, strict, e);
    if (rc == 0 && strict && list.n < si.stars)
        rc = mf_fail(e, MF_INVAL,
                     "invalid mapping destination: not using all of the token wildcard(s) in %.*s",
                     MF_FMT(dest));
    if (rc == 0)
        rc = resolve_indices(t, &list, si.stars, e);
    free(list.v);
    if (rc != 0) {
        transform_free(t);
        return rc;
    }
    *out = t;
    return 0;
}

static bool has_blank(struct mf_slice token)
{
    for (size_t i = 0; i < token.len; i++)
        if (memchr("\t\n\f\r ", token.ptr[i], 5) != NULL)
            return true;
    return false;
}

/* The form of a configured destination, before its meaning. */
static int check_looks(struct mf_slice dest, struct mf_error *e)
{
    struct mf_slice rest = dest, token;
    bool tail = false;

    while (subject_next_token(&rest, &token)) {
        if (token.len == 0)
            return mf_fail(e, MF_INVAL, "invalid mapping destination: invalid transform");
        if (tail)
            return mf_fail(e, MF_INVAL, "invalid mapping destination: invalid transform in %.*s",
                           MF_FMT(token));
        if (transform_piece_is_function(token)) {
            if (!transform_piece_is_known(token))
                return mf_fail(e, MF_INVAL, "invalid mapping destination: unknown function in %.*s",
                               MF_FMT(token));
            continue;
        }
        tail = token.len == 1 && token.ptr[0] == '>';
        if (has_blank(token))
            return mf_fail(e, MF_INVAL, "invalid mapping destination: invalid transform");
    }
    return 0;
}

int transform_new(struct transform **out, struct mf_slice src, struct mf_slice dest,
                  struct mf_error *e)
{
    int rc = check_looks(dest, e);

    return rc != 0 ? rc : compile_mapping(out, src, dest, false, e);
}

int transform_new_strict(struct transform **out, struct mf_slice src, struct mf_slice dest,
                         struct mf_error *e)
{
    return compile_mapping(out, src, dest, true, e);
}

/* The pattern of the results of t, with '*' for its wildcards.  cap: dest's length is always
 * enough, as a '*' is shorter than any placeholder. */
static struct mf_slice image_pattern(const struct transform *t, char *dst)
{
    size_t n = 0;

    for (uint32_t i = 0; i < t->pieces; i++) {
        const struct piece *p = &t->piece[i];
        struct mf_slice s = p->kind == PIECE_LITERAL ? p->text : MF_LIT("*");
        if (n > 0)
            dst[n++] = '.';
        memcpy(dst + n, s.ptr, s.len);
        n += s.len;
    }
    if (t->tail) {
        if (n > 0)
            dst[n++] = '.';
        dst[n++] = '>';
    }
    return mf_slice(dst, n);
}

/* For each token of t's source the first piece that shows it, or t->pieces; to be freed. */
static uint32_t *pieces_of(const struct transform *t)
{
    uint32_t *of = calloc((size_t)t->sources + 1, sizeof *of);

    for (uint32_t i = 0; of != NULL && i < t->sources; i++)
        of[i] = t->pieces;
    for (uint32_t i = t->pieces; of != NULL && i-- > 0;)
        if (t->piece[i].kind == PIECE_WILDCARD)
            of[t->index[t->piece[i].first]] = i;
    return of;
}

/* Each '*' of t's source is taken from where t put it.  (nats-server copies the placeholders in
 * their order instead, which is wrong for three and more wildcards in a ring: $2.$3.$1.) */
static bool turn_pieces(struct transform *r, const struct transform *t, const uint32_t *of)
{
    struct mf_slice rest = r->dest, token;

    for (uint32_t at = 0; subject_next_token(&rest, &token); at++) {
        struct piece *p = &r->piece[r->pieces];
        if (t->tail && rest.ptr == NULL)
            break;
        *p = (struct piece){.kind = PIECE_LITERAL, .first = r->pieces, .text = token};
        if (token.len == 1 && token.ptr[0] == '*') {
            p->kind = PIECE_WILDCARD;
            p->count = 1;
            r->index[r->pieces] = of[at];
            if (of[at] == t->pieces)
                return false;
        }
        r->pieces++;
    }
    return true;
}

struct transform *transform_reverse(const struct transform *t)
{
    struct transform *r = NULL;
    uint32_t *of;
    char *text;

    for (uint32_t i = 0; i < t->pieces; i++)
        if (t->piece[i].kind != PIECE_LITERAL && t->piece[i].kind != PIECE_WILDCARD)
            return NULL;
    text = malloc(t->dest.len + 1);
    if (text == NULL)
        return NULL;
    /* Its dest reads as the pattern it leads back to. */
    r = blank_transform(image_pattern(t, text), t->src, t->pieces + t->tail, t->sources);
    free(text);
    if (r == NULL)
        return NULL;
    r->tail = t->tail;
    of = pieces_of(t);
    r->index = calloc((size_t)t->sources + 1, sizeof *r->index);
    if (of == NULL || r->index == NULL || !turn_pieces(r, t, of)) {
        transform_free(r);
        r = NULL;
    }
    free(of);
    return r;
}
