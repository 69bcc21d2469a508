/* dir_index_impl.h: what a directory resolver knows of each file without reading it: the hash of
 * its token, when it expires, and how long it was not used.
 *
 * Find, put, use and drop are O(1) on average, plus O(log n) for tokens that expire; 128 bytes for
 * each account.  Private to operator. */
#ifndef MAYFLY_OPERATOR_DIR_INDEX_IMPL_H
#define MAYFLY_OPERATOR_DIR_INDEX_IMPL_H

#include "base/list.h"
#include "base/table.h"
#include "codec/nkey.h"

struct dir_entry {
    struct table_node node;
    struct mf_list used; /* dir_index.used: not used for the longest time first */
    int64_t exp;         /* seconds; 0: never */
    int64_t used_s;      /* of the last use, on any clock that goes forward */
    size_t heap_at;      /* plus one; 0: it does not expire */
    uint8_t key[32], hash[32];
};
struct dir_index {
    struct table table;
    struct mf_list used;
    struct dir_entry **heap; /* the next one to expire first */
    size_t nheap, heap_cap;
    uint8_t hash[32]; /* of all, XORed */
};

void dir_index_init(struct dir_index *x);
void dir_index_fini(struct dir_index *x);
struct dir_entry *dir_index_find(const struct dir_index *x, const char *account); /* or NULL */
/* Adds or replaces; counts as a use. */
MF_MUSTCHECK int dir_index_put(struct dir_index *x, const char *account, const uint8_t hash[32],
                               int64_t exp, int64_t now_s);
void dir_index_use(struct dir_index *x, struct dir_entry *d, int64_t now_s);
void dir_index_drop(struct dir_index *x, struct dir_entry *d); /* NULL is fine */
struct dir_entry *dir_index_oldest(const struct dir_index *x); /* by use; NULL: empty */
struct dir_entry *dir_index_next(const struct dir_index *x);   /* to expire; NULL: none does */
void dir_entry_account(const struct dir_entry *d, char account[NKEY_TEXT]);

#endif
