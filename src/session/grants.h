/* grants.h: allow_responses.  A peer that may not publish to a subject may still answer the
 * requests it received: each delivery grants its reply subject, for as many answers and as long as
 * the permissions say.  Memory: at most GRANTS_MAX grants; the oldest are dropped first. */
#ifndef MAYFLY_SESSION_GRANTS_H
#define MAYFLY_SESSION_GRANTS_H

#include "base/list.h"
#include "base/table.h"

#define GRANTS_MAX 65536

struct grants {
    struct table table;   /* grant.node, by subject */
    struct mf_list order; /* grant.link; all live equally long, so the oldest expires first */
};
void grants_init(struct grants *g);
void grants_fini(struct grants *g); /* drops all; g can be used again */
/* Grants `answers` (negative: no limit) to subject within lifetime_ns (0: for ever).  Without
 * memory nothing is granted. */
void grants_add(struct grants *g, struct mf_slice subject, int64_t answers, int64_t lifetime_ns,
                int64_t now_ns);
/* Uses up one answer; false: none is granted. */
bool grants_use(struct grants *g, struct mf_slice subject, int64_t now_ns);

#endif
