/* linked_unseen.c: see linked_unseen_impl.h.
 * Blob BLOB_LINK "/" sequence: i64 deadline, little endian. */
#include "stream/linked_unseen_impl.h"

#include "base/le.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST 1024
#define NAME sizeof BLOB_LINK "/18446744073709551615"

static struct mf_slice name_of(char text[NAME], uint64_t seq)
{
    return mf_slice(text, (size_t)snprintf(text, NAME, BLOB_LINK "/%llu", (unsigned long long)seq));
}

static int keep_unseen(struct unseen_set *u, uint64_t seq, int64_t deadline_ns)
{
    if (u->n == u->room) {
        size_t room = u->room == 0 ? 16 : 2 * u->room;
        struct unseen *at = realloc(u->at, room * sizeof *at);
        if (at == NULL)
            return MF_NOMEM;
        u->at = at;
        u->room = room;
    }
    u->at[u->n++] = (struct unseen){seq, deadline_ns};
    return 0;
}

/* One that cannot be kept for want of memory stays infinite. */
static void load_one(void *arg, struct mf_slice name, struct mf_slice bytes)
{
    size_t n = sizeof BLOB_LINK "/" - 1;
    uint64_t seq;

    if (mf_starts(name, BLOB_LINK "/") && bytes.len == 8 &&
        mf_parse_u64(mf_slice(name.ptr + n, name.len - n), &seq) == 0)
        (void)!keep_unseen(arg, seq, (int64_t)le64_get(bytes.ptr));
}

void unseen_load(struct unseen_set *u, struct store *st)
{
    store_blob_each(st, load_one, u);
}

void unseen_fini(struct unseen_set *u)
{
    free(u->at);
}

struct unseen *unseen_find(struct unseen_set *u, uint64_t seq)
{
    for (size_t i = 0; i < u->n; i++)
        if (u->at[i].seq == seq)
            return &u->at[i];
    return NULL;
}

int unseen_add(struct unseen_set *u, struct store *st, uint64_t seq, int64_t deadline_ns)
{
    char text[NAME];
    uint8_t bytes[8];
    int rc = u->n < MOST ? keep_unseen(u, seq, deadline_ns) : MF_LIMIT;

    if (rc != 0)
        return rc;
    le64_put(bytes, (uint64_t)deadline_ns);
    rc = store_blob_put(st, name_of(text, seq), mf_slice(bytes, sizeof bytes), NULL);
    if (rc != 0)
        u->n--;
    return rc;
}

void unseen_drop(struct unseen_set *u, struct store *st, struct unseen *x)
{
    char text[NAME];
    int rc = store_blob_del(st, name_of(text, x->seq), NULL);

    if (rc == 0 || rc == MF_NOTFOUND)
        *x = u->at[--u->n];
}

void unseen_clear(struct unseen_set *u, struct store *st)
{
    for (size_t i = u->n; i-- > 0;)
        unseen_drop(u, st, &u->at[i]);
}
