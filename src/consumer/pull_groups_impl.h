/* pull_groups_impl.h: priority groups: which of the waiting pull requests is served. */
#ifndef PULL_GROUPS_H
#define PULL_GROUPS_H

#include "consumer/consumer_impl.h"

bool groups_admit(struct consumer *c, struct request *r, struct mf_slice group, bool formal,
                  struct mf_slice reply); /* false: it was answered */
/* It is served, others go first, or it ends: its id is an old one. */
enum turn { TURN_SERVE, TURN_PASS, TURN_END };
enum turn groups_turn(struct consumer *c, const struct request *r);
void groups_insert(struct consumer *c, struct request *r); /* in its place of the queue */
void groups_sort(struct consumer *c);                      /* its policy is another one now */
void groups_timeout(struct consumer *c);
/* Before a delivery; true: the header is due.  fresh: it was pinned by this; groups_unpin() undoes
 * it. */
bool groups_pin(struct consumer *c, struct request *r, bool *fresh);
void groups_unpin(struct consumer *c);

#endif
