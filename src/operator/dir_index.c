/* dir_index.c: the index of a directory resolver: a table, a list by use, a heap by expiry. */
#include "operator/dir_index_impl.h"

#include "base/array.h"
#include "codec/hash.h"

#include <stdlib.h>

void dir_index_init(struct dir_index *x)
{
    *x = (struct dir_index){0};
    mf_list_init(&x->used);
}

void dir_index_fini(struct dir_index *x)
{
    struct table_node *n;
    size_t at = 0;

    while ((n = table_any(&x->table, &at)) != NULL) {
        table_del(&x->table, n);
        free(mf_container(n, struct dir_entry, node));
    }
    table_fini(&x->table);
    free(x->heap);
}

/* --- the heap --------------------------------------------------------------------------------- */

static void heap_set(struct dir_index *x, size_t i, struct dir_entry *d)
{
    x->heap[i] = d;
    d->heap_at = i + 1;
}

static void heap_up(struct dir_index *x, size_t i, struct dir_entry *d)
{
    for (; i > 0 && x->heap[(i - 1) / 2]->exp > d->exp; i = (i - 1) / 2)
        heap_set(x, i, x->heap[(i - 1) / 2]);
    heap_set(x, i, d);
}

static void heap_down(struct dir_index *x, size_t i, struct dir_entry *d)
{
    for (;;) {
        size_t child = 2 * i + 1;
        if (child + 1 < x->nheap && x->heap[child + 1]->exp < x->heap[child]->exp)
            child++;
        if (child >= x->nheap || x->heap[child]->exp >= d->exp)
            break;
        heap_set(x, i, x->heap[child]);
        i = child;
    }
    heap_set(x, i, d);
}

static void heap_del(struct dir_index *x, struct dir_entry *d)
{
    size_t i = d->heap_at - 1;
    struct dir_entry *last;

    if (d->heap_at == 0)
        return;
    d->heap_at = 0;
    last = x->heap[--x->nheap];
    if (last == d)
        return;
    if (i > 0 && x->heap[(i - 1) / 2]->exp > last->exp)
        heap_up(x, i, last);
    else
        heap_down(x, i, last);
}

/* --- entries ---------------------------------------------------------------------------------- */

static void hash_in(struct dir_index *x, const uint8_t hash[32])
{
    for (size_t i = 0; i < 32; i++)
        x->hash[i] ^= hash[i];
}

static uint64_t key_hash(const uint8_t key[32])
{
    return hash_bytes(key, 32);
}

static struct dir_entry *find_key(const struct dir_index *x, const uint8_t key[32])
{
    for (struct table_node *n = table_first(&x->table, key_hash(key)); n != NULL;
         n = table_next(n)) {
        struct dir_entry *d = mf_container(n, struct dir_entry, node);
        if (memcmp(d->key, key, 32) == 0)
            return d;
    }
    return NULL;
}

struct dir_entry *dir_index_find(const struct dir_index *x, const char *account)
{
    uint8_t key[32];

    return nkey_decode(mf_str(account), NKEY_ACCOUNT, key) != 0 ? NULL : find_key(x, key);
}

void dir_index_use(struct dir_index *x, struct dir_entry *d, int64_t now_s)
{
    mf_list_del(&d->used);
    mf_list_push(&x->used, &d->used);
    d->used_s = now_s;
}

int dir_index_put(struct dir_index *x, const char *account, const uint8_t hash[32], int64_t exp,
                  int64_t now_s)
{
    uint8_t key[32];
    struct dir_entry *d;

    if (nkey_decode(mf_str(account), NKEY_ACCOUNT, key) != 0)
        return MF_INVAL;
    if (exp > 0 && mf_array_reserve(&x->heap, &x->heap_cap, x->nheap + 1, sizeof(void *)) != 0)
        return MF_NOMEM;
    d = find_key(x, key);
    if (d == NULL) {
        d = calloc(1, sizeof *d);
        if (d == NULL || table_add(&x->table, &d->node, key_hash(key)) != 0) {
            free(d);
            return MF_NOMEM;
        }
        mf_list_init(&d->used);
        memcpy(d->key, key, 32);
    }
    hash_in(x, d->hash); /* zeros if it is new */
    memcpy(d->hash, hash, 32);
    hash_in(x, d->hash);
    dir_index_use(x, d, now_s);
    heap_del(x, d);
    d->exp = exp;
    if (exp > 0)
        heap_up(x, x->nheap++, d);
    return 0;
}

void dir_index_drop(struct dir_index *x, struct dir_entry *d)
{
    if (d == NULL)
        return;
    hash_in(x, d->hash);
    heap_del(x, d);
    mf_list_del(&d->used);
    table_del(&x->table, &d->node);
    free(d);
}

struct dir_entry *dir_index_oldest(const struct dir_index *x)
{
    return mf_list_empty(&x->used) ? NULL : mf_container(x->used.next, struct dir_entry, used);
}

struct dir_entry *dir_index_next(const struct dir_index *x)
{
    return x->nheap == 0 ? NULL : x->heap[0];
}

void dir_entry_account(const struct dir_entry *d, char account[NKEY_TEXT])
{
    nkey_encode(account, NKEY_ACCOUNT, d->key);
}
