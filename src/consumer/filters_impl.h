/* filters_impl.h: the filters of a consumer, in the trees of its stream's consumers and, if they
 * are many, in trees of its own. */
#ifndef CONSUMER_FILTERS_H
#define CONSUMER_FILTERS_H

#include "consumer/consumer_config.h"
#include "subject/pattern_tree.h"
#include "router/router.h"

struct consumer;

struct filter_sub {
    struct router_sub sub;
    struct consumer *c;
};

#define FILTERS_FEW 64
struct filters {
    struct filter_sub *subs; /* n of them, in group->filters; one for ">" without any filter */
    size_t n;
    bool crossed;                 /* two of them may match the same subject */
    struct pattern_entry *claims; /* the same in group->claims; NULL: not on a work queue */
    struct filter_trees *trees;   /* more than FEW: to match subjects; else NULL */
};
struct filter_trees {
    struct pattern_tree plain, wild;
    size_t wilds; /* filters with wildcards */
    struct pattern_entry at[];
};

/* Those of a configuration, for c, beside what it has.  MF_NOMEM: nothing was made. */
MF_MUSTCHECK int filters_make(struct filters *f, struct consumer *c,
                              const struct consumer_config *cfg);
/* Notes them for the work queue that its stream may become, if they are not.  MF_NOMEM: may have
 * noted some; filters_drop() undoes it. */
MF_MUSTCHECK int filters_claim(struct filters *f, struct consumer *c);
void filters_drop(struct filters *f, struct consumer *c);
/* O(tokens). */
bool filters_want(struct consumer *c, struct mf_slice subject);
/* Is the pattern within one of them?  O(tokens). */
bool filters_contain(const struct consumer *c, struct mf_slice pattern);

#endif
