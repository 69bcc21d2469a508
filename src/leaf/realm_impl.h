/* realm_impl.h: the interest of an account from inside: realm.c counts and announces it, learn.c
 * adds what the peers of links announce. */
#ifndef LEAF_REALM_IMPL_H
#define LEAF_REALM_IMPL_H

#include "leaf/leaf_impl.h"

struct interest {
    struct table_node node;      /* leaf_realm.interest */
    struct mf_list in_marks;     /* leaf_realm.marks; else in no list */
    uint64_t local, leafs, hubs; /* members of a queue; subscribers or links without one */
    uint32_t holders;            /* clusters, and links without one, that have a part in leafs */
    bool mark;                   /* $LDS.: finds loops, is told to everybody */
    uint32_t subject_len, queue_len;
    uint8_t text[]; /* subject, queue */
};

/* --- realm.c ---------------------------------------------------------------------------------- */
uint64_t realm_key(struct mf_slice subject, struct mf_slice queue); /* hash of both tables */
struct leaf_sub *realm_find_sub(const struct leaf_link *l, struct mf_slice subject,
                                struct mf_slice queue, uint64_t hash);
struct interest *realm_find_interest(const struct leaf_realm *r, struct mf_slice subject,
                                     struct mf_slice queue, uint64_t hash);
/* The same, or a new one; NULL: no memory. */
struct interest *realm_get_interest(struct leaf_realm *r, struct mf_slice subject,
                                    struct mf_slice queue);
struct leaf_sub *realm_sub_of(const struct leaf_link *l, const struct interest *i);
/* Whether no link is told anything new when one cluster changes its part: all know the entry before
 * and after that.  holders: without that cluster. */
bool realm_is_settled(const struct leaf_realm *r, const struct interest *i, uint32_t holders);
/* Around each change of an entry: the links that must know are told; O(links).  The end frees an
 * entry that nobody wants any more. */
void realm_change_begin(struct leaf_realm *r, const struct interest *i);
void realm_change_end(struct leaf_realm *r, struct interest *i);
/* Its last link ended: frees it. */
void realm_close(struct leaf_realm *r);

/* --- family.c --------------------------------------------------------------------------------- */
MF_MUSTCHECK int family_enter(struct leaf_link *l); /* l->family; NULL: it names no cluster */
void family_leave(struct leaf_link *l);             /* all of its subscriptions have ended */
/* The part of the link's cluster (or of a link without one) in interest.leafs, in interest.hubs, or
 * in both.  O(1). */
uint64_t family_weight(const struct leaf_link *l, const struct interest *i, bool leafs, bool hubs);
/* Room for family_add(), which cannot fail then.  Before the weight of the link grows. */
MF_MUSTCHECK int family_prepare(struct leaf_link *l, const struct interest *i);
void family_add(struct leaf_link *l, struct interest *i, uint64_t by); /* by: as in unsigned sums */

#endif
