/* blob.c: small named values: records of the same log, kept in memory too. */
#include "store/store_impl.h"

#include "codec/hash.h"

#include <stdlib.h>

static struct blob *blob_find(const struct store *s, struct mf_slice name)
{
    struct table_node *n = table_first(&s->blobs.by_name, hash_slice(name));

    for (; n != NULL; n = table_next(n)) {
        struct blob *b = mf_container(n, struct blob, node);
        if (mf_eq(mf_slice(b->name, b->name_len), name))
            return b;
    }
    return NULL;
}

static void blob_free(struct blob *b)
{
    mf_list_del(&b->in_batch);
    free(b->name);
    free(b->bytes);
    free(b);
}

static struct blob *blob_new(struct mf_slice name, struct mf_slice bytes)
{
    struct blob *b = calloc(1, sizeof *b);

    if (b == NULL)
        return NULL;
    mf_list_init(&b->in_batch);
    b->name = malloc(name.len + 1);
    b->bytes = malloc(bytes.len + 1);
    if (b->name == NULL || b->bytes == NULL) {
        blob_free(b);
        return NULL;
    }
    memcpy(b->name, name.ptr, name.len);
    if (bytes.len > 0)
        memcpy(b->bytes, bytes.ptr, bytes.len);
    b->name_len = name.len;
    b->bytes_len = bytes.len;
    return b;
}

#define NOWHERE 0 /* no segment has this number */

/* They are alive as messages are: what is kept of a segment counts them too. */
static void blob_lies(struct store *s, struct blob *b, uint64_t segment)
{
    struct segment *from = segs_get(s, b->segment), *to = segs_get(s, segment);
    uint64_t size = record_blob_size(b->name_len, b->bytes_len) + store_box(s);

    if (from != NULL) {
        from->blobs--;
        from->blob_bytes -= size;
        s->blobs.bytes -= size;
    }
    if (to != NULL) {
        to->blobs++;
        to->blob_bytes += size;
        s->blobs.bytes += size;
    }
    b->segment = segment;
}

static void blob_drop(struct store *s, struct blob *b)
{
    blob_lies(s, b, NOWHERE);
    table_del(&s->blobs.by_name, &b->node);
    blob_free(b);
}

/* Puts the record into the log.  In a batch its segment is known only when that ends:
 * blob_place(). */
static int blob_write(struct store *s, struct mf_slice name, struct mf_slice bytes, bool deleted,
                      bool frees, uint64_t *segment)
{
    struct record r = {.type = RECORD_BLOB,
                       .cipher = store_cipher(s),
                       .key = name,
                       .body = bytes,
                       .deleted = deleted};
    size_t size = record_blob_size(name.len, bytes.len) + store_box(s);
    struct record_pos at;
    int rc;
    uint8_t *p = write_open(s, size, frees, &at, &rc);

    if (p == NULL)
        return rc;
    record_encode(p, &r);
    write_close(s, p, size);
    *segment = s->batch.open ? BLOB_IN_BATCH : at.segment;
    return 0;
}

int store_blob_put(struct store *s, struct mf_slice name, struct mf_slice bytes,
                   struct store_wait *w)
{
    int rc = write_check(s);

    if (rc != 0)
        return rc;
    if (name.len == 0 || name.len > 255)
        return MF_INVAL;
    if (bytes.len > STORE_BLOB_MAX)
        return MF_LIMIT;
    struct blob *b = blob_new(name, bytes), *old = blob_find(s, name);
    uint64_t segment = NOWHERE;
    if (b == NULL || table_add(&s->blobs.by_name, &b->node, hash_slice(name)) != 0) {
        if (b != NULL)
            blob_free(b);
        return MF_NOMEM;
    }
    if ((rc = blob_write(s, name, bytes, false, false, &segment)) != 0) {
        table_del(&s->blobs.by_name, &b->node);
        blob_free(b);
        s->log.starved |= rc == MF_FULL;
        return rc;
    }
    if (old != NULL)
        blob_drop(s, old);
    blob_lies(s, b, segment);
    if (segment == BLOB_IN_BATCH)
        mf_list_push(&s->blobs.in_batch, &b->in_batch);
    write_add_wait(s, w);
    return 0;
}

int store_blob_del(struct store *s, struct mf_slice name, struct store_wait *w)
{
    struct blob *b = blob_find(s, name);
    uint64_t segment;
    int rc = write_check(s);

    if (rc != 0)
        return rc;
    if (b == NULL)
        return MF_NOTFOUND;
    if ((rc = blob_write(s, name, MF_SLICE_NONE, true, true, &segment)) != 0)
        return rc;
    blob_drop(s, b);
    write_add_wait(s, w);
    return 0;
}

bool store_blob_get(struct store *s, struct mf_slice name, struct mf_slice *bytes)
{
    const struct blob *b = blob_find(s, name);

    if (b != NULL)
        *bytes = mf_slice(b->bytes, b->bytes_len);
    return b != NULL;
}

/* Calls f for every blob; f may not add or delete. */
static void for_each_blob(struct store *s, void (*f)(struct store *s, struct blob *b, void *arg),
                          void *arg)
{
    for (size_t i = 0; i < s->blobs.by_name.cap; i++)
        for (struct table_node *n = s->blobs.by_name.slot[i]; n != NULL; n = n->next)
            f(s, mf_container(n, struct blob, node), arg);
}

struct visitor {
    void (*visit)(void *arg, struct mf_slice name, struct mf_slice bytes);
    void *arg;
};

static void visit_one(struct store *s, struct blob *b, void *arg)
{
    const struct visitor *v = arg;

    (void)s;
    v->visit(v->arg, mf_slice(b->name, b->name_len), mf_slice(b->bytes, b->bytes_len));
}

void store_blob_each(struct store *s,
                     void (*visit)(void *arg, struct mf_slice name, struct mf_slice bytes),
                     void *arg)
{
    for_each_blob(s, visit_one, &(struct visitor){visit, arg});
}

void blob_place(struct store *s, uint64_t segment)
{
    struct mf_list *n;

    while ((n = mf_list_pop(&s->blobs.in_batch)) != NULL)
        blob_lies(s, mf_container(n, struct blob, in_batch), segment);
}

struct mover {
    uint64_t segment;
    int rc;
};

static void move_one(struct store *s, struct blob *b, void *arg)
{
    struct mover *m = arg;
    uint64_t to = 0;

    if (b->segment != m->segment || m->rc != 0)
        return;
    m->rc = blob_write(s, mf_slice(b->name, b->name_len), mf_slice(b->bytes, b->bytes_len), false,
                       true, &to);
    if (m->rc == 0)
        blob_lies(s, b, to);
}

int blob_move(struct store *s, uint64_t segment)
{
    struct mover m = {.segment = segment};

    for_each_blob(s, move_one, &m);
    return m.rc;
}

int blob_restore(struct store *s, struct recovered_blob *r)
{
    struct blob *b = blob_new(mf_slice(r->name, r->name_len), mf_slice(r->bytes, r->bytes_len));

    if (b == NULL ||
        table_add(&s->blobs.by_name, &b->node, hash_slice(mf_slice(r->name, r->name_len))) != 0) {
        if (b != NULL)
            blob_free(b);
        return MF_NOMEM;
    }
    /* A blob from a checkpoint lies somewhere in the log.  It counts for the first segment, so it
     * is written again before its segment can be reclaimed. */
    blob_lies(s, b, r->segment == 0 ? segs_first(s)->number : r->segment);
    return 0;
}

void blob_fini(struct store *s)
{
    struct table_node *n;
    size_t start = 0;

    while ((n = table_any(&s->blobs.by_name, &start)) != NULL) {
        table_del(&s->blobs.by_name, n);
        blob_free(mf_container(n, struct blob, node));
    }
    table_fini(&s->blobs.by_name);
}
