/* pattern_set.c: the patterns of one list in a pattern tree. */
#include "subject/pattern_set.h"

#include <stdlib.h>

int pattern_set_init(struct pattern_set *s, size_t n)
{
    memset(s, 0, sizeof *s);
    if (n >= PATTERN_NONE)
        return MF_NOMEM;
    s->at = calloc(n + 1, sizeof *s->at);
    s->n = s->at == NULL ? 0 : n;
    return s->at == NULL ? MF_NOMEM : 0;
}

int pattern_set_ready(struct pattern_set *s)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < s->n; i++) {
        s->at[i].index = (uint32_t)i;
        rc = pattern_tree_add(&s->tree, &s->at[i]);
    }
    return rc;
}

int pattern_set_strings(struct pattern_set *s, char *const *at, size_t n, const void *owner)
{
    int rc = pattern_set_init(s, n);

    for (size_t i = 0; i < s->n; i++) {
        s->at[i].text = mf_str(at[i]);
        s->at[i].owner = owner;
    }
    return rc == 0 ? pattern_set_ready(s) : rc;
}

void pattern_set_fini(struct pattern_set *s)
{
    pattern_tree_fini(&s->tree);
    free(s->at);
    memset(s, 0, sizeof *s);
}

/* Patterns without any token are not in the tree. */
static size_t first_empty(const struct pattern_set *s, enum pattern_relation how)
{
    size_t empty = s->n, all = s->n;

    for (size_t i = 0; i < s->n; i++) {
        if (s->at[i].text.len == 0 && empty < s->n && how == PATTERN_OVERLAP)
            return all < empty ? all : empty; /* it is the second */
        if (s->at[i].text.len == 0 && empty == s->n)
            empty = i;
        if (mf_eq_str(s->at[i].text, ">") && all == s->n)
            all = i;
    }
    if (empty == s->n || all == s->n)
        return s->n;
    return how == PATTERN_OVERLAP && all < empty ? all : empty;
}

int pattern_set_first(const struct pattern_set *s, enum pattern_relation how, size_t *first)
{
    struct pattern_query q = {.how = how, .most = PATTERN_STEPS + 8 * (uint64_t)s->n};
    int rc = pattern_tree_join(&s->tree, &s->tree, &q);
    size_t empty = first_empty(s, how);

    *first = q.found == PATTERN_NONE ? s->n : q.found;
    *first = empty < *first ? empty : *first;
    return rc;
}

int pattern_set_overlaps(const struct pattern_set *s, const struct pattern_tree *t,
                         const void *except)
{
    struct pattern_query q = {.how = PATTERN_OVERLAP,
                              .any = true,
                              .except = except,
                              .most = PATTERN_STEPS + 8 * (uint64_t)s->n};
    int rc = pattern_tree_join(&s->tree, t, &q);

    return rc != 0 ? rc : q.found != PATTERN_NONE;
}
