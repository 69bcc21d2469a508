/* filters.c: the filters of a consumer, in the trees of its stream's consumers, and in trees of its
 * own if they are many.
 *
 * No filter lies within another one of the same consumer (the check of its configuration sees to
 * that), so a subject that is a filter itself matches no other.  But filters with wildcards may
 * overlap, and what two of them match counts once. */
#include "consumer/consumer_impl.h"

#include <stdlib.h>

/* --- life ---------------------------------------------------------------------------------- */

static int subscribe_filters(struct filters *f, struct consumer *c, char *const *filter, size_t n)
{
    size_t count = n == 0 ? 1 : n;

    f->subs = calloc(count, sizeof *f->subs);
    if (f->subs == NULL)
        return MF_NOMEM;
    for (; f->n < count; f->n++) {
        struct filter_sub *sub = &f->subs[f->n];
        sub->c = c;
        if (router_subscribe(c->set->filters, n == 0 ? MF_LIT(">") : mf_str(filter[f->n]),
                             MF_SLICE_NONE, &sub->sub) != 0)
            return MF_NOMEM;
    }
    return 0;
}

/* The subscriptions have copies of the texts that live as long as they do. */
static struct mf_slice text_of(const struct filters *f, size_t i)
{
    return f->subs[i].sub.pattern;
}

int filters_claim(struct filters *f, struct consumer *c)
{
    if (f->claims != NULL)
        return 0;
    f->claims = calloc(f->n, sizeof *f->claims);
    if (f->claims == NULL)
        return MF_NOMEM;
    for (size_t i = 0; i < f->n; i++) {
        f->claims[i] = (struct pattern_entry){.text = text_of(f, i), .owner = c};
        if (pattern_tree_add(&c->set->claims, &f->claims[i]) != 0)
            return MF_NOMEM;
    }
    return 0;
}

static int make_trees(struct filters *f)
{
    struct filter_trees *t = calloc(1, sizeof *t + f->n * sizeof t->at[0]);

    if (t == NULL)
        return MF_NOMEM;
    f->trees = t;
    for (size_t i = 0; i < f->n; i++) {
        bool wild = subject_has_wildcard(text_of(f, i));
        t->at[i].text = text_of(f, i);
        t->wilds += wild;
        if (pattern_tree_add(wild ? &t->wild : &t->plain, &t->at[i]) != 0)
            return MF_NOMEM;
    }
    return 0;
}

/* May two of them match the same subjects?  True also if the answer needs too many steps. */
static bool find_crossed(const struct filters *f)
{
    struct pattern_query q = {.how = PATTERN_OVERLAP, .any = true, .most = PATTERN_STEPS};

    if (f->trees != NULL)
        return pattern_tree_join(&f->trees->wild, &f->trees->wild, &q) != 0 ||
               q.found != PATTERN_NONE;
    for (size_t i = 0; i < f->n; i++)
        for (size_t k = 0; k < i; k++)
            if (subject_overlap(text_of(f, k), text_of(f, i)))
                return true;
    return false;
}

int filters_make(struct filters *f, struct consumer *c, const struct consumer_config *cfg)
{
    char *const *filter;
    size_t n = consumer_filters(cfg, &filter);
    int rc;

    memset(f, 0, sizeof *f);
    rc = subscribe_filters(f, c, filter, n);
    if (rc == 0 && consumers_claims(c->set) != NULL && !cfg->direct && !cfg->sourcing)
        rc = filters_claim(f, c);
    if (rc == 0 && n > FILTERS_FEW)
        rc = make_trees(f);
    if (rc != 0)
        filters_drop(f, c);
    else
        f->crossed = find_crossed(f);
    return rc;
}

void filters_drop(struct filters *f, struct consumer *c)
{
    for (size_t i = 0; f->claims != NULL && i < f->n; i++)
        pattern_tree_del(&c->set->claims, &f->claims[i]);
    if (f->trees != NULL) {
        pattern_tree_fini(&f->trees->plain);
        pattern_tree_fini(&f->trees->wild);
    }
    for (size_t i = 0; i < f->n; i++)
        router_unsubscribe(c->set->filters, &f->subs[i].sub);
    free(f->claims);
    free(f->trees);
    free(f->subs);
    memset(f, 0, sizeof *f);
}

const struct pattern_tree *consumers_claims(const struct consumers *g)
{
    return stream_config(g->stream)->retention == RETENTION_WORKQUEUE ? &g->claims : NULL;
}

/* --- questions ----------------------------------------------------------------------------- */

/* Of the first n. */
static bool one_matches(const struct filters *f, size_t n, struct mf_slice subject)
{
    for (size_t i = 0; i < n; i++)
        if (subject_match(text_of(f, i), subject))
            return true;
    return false;
}

bool filters_want(struct consumer *c, struct mf_slice subject)
{
    struct filters *f = &c->filters;
    int rc = MF_NOMEM;

    if (f->trees != NULL && (rc = pattern_tree_match(&f->trees->plain, subject)) == 0)
        rc = pattern_tree_match(&f->trees->wild, subject);
    return rc >= 0 ? rc > 0 : one_matches(f, f->n, subject);
}

bool filters_contain(const struct consumer *c, struct mf_slice pattern)
{
    const struct filters *f = &c->filters;
    struct pattern_entry e = {.text = pattern};
    struct pattern_tree t = {0};
    struct pattern_query q = {.how = PATTERN_WITHIN, .any = true, .most = UINT64_MAX};
    int rc = f->trees == NULL ? MF_NOMEM : pattern_tree_add(&t, &e);

    if (rc == 0 && (rc = pattern_tree_join(&t, &f->trees->plain, &q)) == 0 &&
        q.found == PATTERN_NONE)
        rc = pattern_tree_join(&t, &f->trees->wild, &q);
    pattern_tree_fini(&t);
    for (size_t i = 0; rc != 0 && i < f->n; i++) /* they are few, or there is no memory */
        if (subject_is_subset(pattern, text_of(f, i)))
            return true;
    return rc == 0 && q.found != PATTERN_NONE;
}
