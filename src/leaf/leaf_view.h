/* leaf_view.h: leaf links and remotes as pages, metrics and events look at them, piece by piece. */
#ifndef MAYFLY_LEAF_VIEW_H
#define MAYFLY_LEAF_VIEW_H

#include "base/table.h"
#include "leaf/leaf.h"

/* The usable link of this id, or NULL.  O(links) */
const struct leaf_link *leaf_find(const struct leaf *lf, uint64_t id);
/* Visits at most `max` usable links whose ids are above `after`, the oldest first.  Returns the id
 * of the last one, 0 after the last link of all.  O(links) */
uint64_t leaf_scan(const struct leaf *lf, uint64_t after, unsigned max,
                   void (*visit)(void *arg, const struct leaf_link *l), void *arg);

const char *leaf_user(const struct leaf_link *l);       /* never a secret; NULL: nobody logged in */
struct login_user *leaf_who(const struct leaf_link *l); /* by a login service; NULL: another user */
const char *leaf_reason(const struct leaf_link *l);     /* why it ends; NULL while it is usable */

/* Some of the subscriptions that the peer announced; false: no more.  Each one that stays is
 * visited once, whatever happens between two calls. */
void leaf_subs_begin(const struct leaf_link *l, struct table_scan *scan);
bool leaf_subs_scan(const struct leaf_link *l, struct table_scan *scan,
                    void (*visit)(void *arg, struct mf_slice subject, struct mf_slice queue),
                    void *arg);

struct leaf_remote_info {
    const char *account, *urls; /* urls: without user info, "host:port, host:port" */
    bool up, disabled;
    uint64_t attempts, established; /* since the start */
};
/* urls is valid during the call. */
void leaf_each_remote(const struct leaf *lf,
                      void (*visit)(void *arg, const struct leaf_remote_info *r), void *arg);

#endif
