/* list.h: circular doubly linked list, embedded in its elements.  Every operation is O(1) but
 * mf_list_count; adding never allocates, so it never fails. */
#ifndef MAYFLY_LIST_H
#define MAYFLY_LIST_H

#include "base/base.h"

/* An element that is in no list points to itself, so deleting twice is harmless. */
struct mf_list {
    struct mf_list *next, *prev;
};

static inline void mf_list_init(struct mf_list *l)
{
    l->next = l->prev = l;
}
static inline bool mf_list_empty(const struct mf_list *l)
{
    return l->next == l;
}
static inline void mf_list_add_after(struct mf_list *at, struct mf_list *n)
{
    n->next = at->next;
    n->prev = at;
    at->next->prev = n;
    at->next = n;
}
static inline void mf_list_push(struct mf_list *head, struct mf_list *n) /* at the end */
{
    mf_list_add_after(head->prev, n);
}
static inline void mf_list_del(struct mf_list *n)
{
    n->next->prev = n->prev;
    n->prev->next = n->next;
    mf_list_init(n);
}
static inline struct mf_list *mf_list_first(const struct mf_list *head) /* NULL when empty */
{
    return mf_list_empty(head) ? NULL : head->next;
}
static inline struct mf_list *mf_list_pop(struct mf_list *head) /* NULL when empty */
{
    struct mf_list *n = mf_list_first(head);
    if (n != NULL)
        mf_list_del(n);
    return n;
}
/* All of src, in order, to the end of dst; src is empty afterwards. */
static inline void mf_list_move(struct mf_list *dst, struct mf_list *src)
{
    if (mf_list_empty(src))
        return;
    src->next->prev = dst->prev;
    src->prev->next = dst;
    dst->prev->next = src->next;
    dst->prev = src->prev;
    mf_list_init(src);
}

#define mf_list_each(pos, head) for (pos = (head)->next; pos != (head); pos = pos->next)
/* The body may delete pos, and nothing else. */
#define mf_list_each_safe(pos, tmp, head)                                                          \
    for (pos = (head)->next, tmp = pos->next; pos != (head); pos = tmp, tmp = pos->next)

#endif
