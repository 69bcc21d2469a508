/* realm_impl.h: the interest of an account from inside: realm.c counts and announces it, learn.c
 * adds what the peers of links announce. */
#ifndef LEAF_REALM_IMPL_H
#define LEAF_REALM_IMPL_H

#include "leaf/leaf_impl.h"

struct interest {
    struct table_node node;      /* leaf_realm.interest */
    struct mf_list in_marks;     /* leaf_realm.marks; else in no list */
    uint64_t local, leafs, hubs; /* members of a queue; subscribers or links without one */
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
/* Around each change of an entry: the links that must know are told.  The end frees an entry that
 * nobody wants any more. */
void realm_change_begin(struct leaf_realm *r, const struct interest *i);
void realm_change_end(struct leaf_realm *r, struct interest *i);
void realm_count_twins(struct leaf_link *l, uint32_t by);
/* Its last link ended: frees it. */
void realm_close(struct leaf_realm *r);

#endif
