/* check_model.c: see check_model.h. */
#include "cli/check/check_model.h"

#include "codec/checksum.h"

#include <stdlib.h>

#define FIRST_CAP 64u

void check_model_init(struct model *m)
{
    *m = (struct model){.hot = 0};
}

static void free_blob(struct blob *b)
{
    free(b->body);
    free(b);
}

void check_model_fini(struct model *m)
{
    struct table_node *n;
    size_t start = 0;

    for (size_t i = 0; i < m->cap; i++)
        free(m->page[i].e);
    free(m->page);
    while ((n = table_any(&m->blobs, &start)) != NULL) {
        table_del(&m->blobs, n);
        free_blob(mf_container(n, struct blob, node));
    }
    table_fini(&m->blobs);
    *m = (struct model){.keep_bodies = m->keep_bodies};
}

/* The slot of a page, or the free slot for it.  There is always a free one. */
static struct page *probe_page(struct page *page, size_t cap, uint64_t id)
{
    size_t i = (size_t)((id * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & (cap - 1);

    while (page[i].used && page[i].id != id)
        i = (i + 1) & (cap - 1);
    return &page[i];
}

static struct page *find_page(struct model *m, uint64_t id)
{
    struct page *p;

    if (m->cap == 0)
        return NULL;
    p = &m->page[m->hot];
    if (!p->used || p->id != id)
        p = probe_page(m->page, m->cap, id);
    if (!p->used)
        return NULL;
    m->hot = (size_t)(p - m->page);
    return p;
}

/* Room for one more; pages that ran empty are dropped on the way. */
static int make_room(struct model *m)
{
    size_t full = 0, cap = FIRST_CAP;
    struct page *page;

    if (m->cap != 0 && m->used < m->cap / 2)
        return 0;
    for (size_t i = 0; i < m->cap; i++)
        full += m->page[i].bits != 0;
    while (cap < full * 3 + 1)
        cap *= 2;
    page = calloc(cap, sizeof *page);
    if (page == NULL)
        return MF_NOMEM;
    for (size_t i = 0; i < m->cap; i++)
        if (m->page[i].bits != 0)
            *probe_page(page, cap, m->page[i].id) = m->page[i];
        else
            free(m->page[i].e);
    free(m->page);
    m->page = page;
    m->cap = cap;
    m->used = full;
    m->hot = 0;
    return 0;
}

static unsigned rank_of(const struct page *p, unsigned bit)
{
    return (unsigned)__builtin_popcountll(p->bits & ((UINT64_C(1) << bit) - 1));
}

static int page_grow(struct page *p)
{
    uint32_t cap = p->cap == 0 ? 4 : p->cap * 2;
    struct entry *e = realloc(p->e, cap * sizeof *e);

    if (e == NULL)
        return MF_NOMEM;
    p->e = e;
    p->cap = cap;
    return 0;
}

int check_model_put(struct model *m, uint64_t seq, const struct entry *e)
{
    struct page *p = find_page(m, seq / 64);
    unsigned bit = (unsigned)(seq % 64), at, count;

    if (p == NULL) {
        if (make_room(m) != 0)
            return MF_NOMEM;
        p = probe_page(m->page, m->cap, seq / 64);
        *p = (struct page){.id = seq / 64, .used = true};
        m->used++;
        m->hot = (size_t)(p - m->page);
    }
    at = rank_of(p, bit);
    if ((p->bits >> bit & 1) == 0) {
        count = (unsigned)__builtin_popcountll(p->bits);
        if (count == p->cap && page_grow(p) != 0)
            return MF_NOMEM;
        memmove(p->e + at + 1, p->e + at, (count - at) * sizeof *e);
        p->bits |= UINT64_C(1) << bit;
    }
    p->e[at] = *e;
    return 0;
}

static void page_remove(struct page *p, unsigned bit)
{
    unsigned at = rank_of(p, bit), count = (unsigned)__builtin_popcountll(p->bits);

    memmove(p->e + at, p->e + at + 1, (count - at - 1) * sizeof *p->e);
    p->bits &= ~(UINT64_C(1) << bit);
    if (p->bits == 0) {
        free(p->e);
        p->e = NULL;
        p->cap = 0;
    }
}

const struct entry *check_model_find(struct model *m, uint64_t seq)
{
    const struct page *p = find_page(m, seq / 64);

    if (p == NULL || (p->bits >> (seq % 64) & 1) == 0)
        return NULL;
    return &p->e[rank_of(p, (unsigned)(seq % 64))];
}

bool check_model_has(struct model *m, uint64_t seq)
{
    return check_model_find(m, seq) != NULL;
}

void check_model_remove(struct model *m, uint64_t seq)
{
    struct page *p = find_page(m, seq / 64);

    if (p != NULL && (p->bits >> (seq % 64) & 1) != 0)
        page_remove(p, (unsigned)(seq % 64));
}

/* Removes what lies in [first, last] and in this page. */
static void page_remove_range(struct page *p, uint64_t first, uint64_t last)
{
    unsigned lo = p->id == first / 64 ? (unsigned)(first % 64) : 0;
    unsigned hi = p->id == last / 64 ? (unsigned)(last % 64) : 63;

    for (unsigned bit = lo; bit <= hi && p->bits != 0; bit++)
        if ((p->bits >> bit & 1) != 0)
            page_remove(p, bit);
}

void check_model_remove_range(struct model *m, uint64_t first, uint64_t last)
{
    uint64_t lo = first / 64, hi = last / 64;

    if (first > last)
        return;
    if (hi - lo < m->cap) {
        for (uint64_t id = lo; id <= hi; id++) {
            struct page *p = find_page(m, id);

            if (p != NULL)
                page_remove_range(p, first, last);
        }
        return;
    }
    for (size_t i = 0; i < m->cap; i++)
        if (m->page[i].bits != 0 && m->page[i].id >= lo && m->page[i].id <= hi)
            page_remove_range(&m->page[i], first, last);
}

void check_model_set_deadline(struct model *m, uint64_t seq, int64_t deadline, uint16_t flags,
                              bool alive)
{
    struct page *p = find_page(m, seq / 64);
    struct entry *e;

    if (p == NULL || (p->bits >> (seq % 64) & 1) == 0)
        return;
    e = &p->e[rank_of(p, (unsigned)(seq % 64))];
    /* A message that the mark expired stays expired with a new deadline. */
    if (!alive && model_is_marked(m, e->deadline, seq)) {
        page_remove(p, (unsigned)(seq % 64));
        return;
    }
    e->deadline = deadline;
    e->flags = (uint16_t)((e->flags & ~MSG_BITS) | flags_hold(flags, deadline));
}

void check_model_mark(struct model *m, int64_t t, uint64_t s)
{
    if (m->marked && (t < m->mark_t || (t == m->mark_t && s <= m->mark_s)))
        return;
    m->mark_t = t;
    m->mark_s = s;
    m->marked = true;
}

void check_model_saw(struct model *m, uint64_t seq)
{
    if (seq > m->last)
        m->last = seq;
}

/* --- blobs ------------------------------------------------------------------------------------ */

static struct blob *blob_find(const struct model *m, struct mf_slice name, uint64_t hash)
{
    for (struct table_node *n = table_first(&m->blobs, hash); n != NULL; n = table_next(n)) {
        struct blob *b = mf_container(n, struct blob, node);

        if (mf_eq(mf_slice(b->name, b->name_len), name))
            return b;
    }
    return NULL;
}

const struct blob *check_model_find_blob(const struct model *m, struct mf_slice name)
{
    return blob_find(m, name, checksum64(name.ptr, name.len, 0));
}

static struct blob *add_blob(struct model *m, struct mf_slice name, uint64_t hash)
{
    struct blob *b = malloc(sizeof *b + name.len);

    if (b == NULL)
        return NULL;
    b->body = NULL;
    b->name_len = (uint16_t)name.len;
    if (name.len > 0)
        memcpy(b->name, name.ptr, name.len);
    if (table_add(&m->blobs, &b->node, hash) != 0) {
        free(b);
        return NULL;
    }
    return b;
}

int check_model_blob(struct model *m, struct mf_slice name, struct mf_slice body, bool deleted,
                     const struct blob *at)
{
    uint64_t hash = checksum64(name.ptr, name.len, 0);
    struct blob *b = blob_find(m, name, hash);
    uint8_t *copy = NULL;

    if (deleted) {
        if (b != NULL) {
            table_del(&m->blobs, &b->node);
            free_blob(b);
        }
        return 0;
    }
    if (b == NULL && (b = add_blob(m, name, hash)) == NULL)
        return MF_NOMEM;
    if (m->keep_bodies) {
        copy = malloc(body.len + 1);
        if (copy == NULL)
            return MF_NOMEM;
        if (body.len > 0)
            memcpy(copy, body.ptr, body.len);
    }
    free(b->body);
    b->body = copy;
    b->body_hash = checksum64(body.ptr, body.len, 0);
    b->body_len = (uint32_t)body.len;
    b->segment = at->segment;
    b->off8 = at->off8;
    b->padded = at->padded;
    return 0;
}

void check_model_each_blob(const struct model *m, void (*visit)(void *arg, const struct blob *b),
                           void *arg)
{
    for (size_t i = 0; i < m->blobs.cap; i++)
        for (const struct table_node *n = m->blobs.slot[i]; n != NULL; n = n->next)
            visit(arg, mf_container(n, struct blob, node));
}

/* --- all of it -------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const struct page *x = *(const struct page *const *)a, *y = *(const struct page *const *)b;

    return x->id < y->id ? -1 : x->id > y->id;
}

static int page_each(const struct model *m, const struct page *p,
                     int (*visit)(void *arg, uint64_t seq, const struct entry *e), void *arg)
{
    unsigned at = 0;
    int rc = 0;

    for (uint64_t bits = p->bits; bits != 0 && rc == 0; bits &= bits - 1, at++) {
        uint64_t seq = p->id * 64 + (unsigned)__builtin_ctzll(bits);

        if (m->show_marked || !model_is_marked(m, p->e[at].deadline, seq))
            rc = visit(arg, seq, &p->e[at]);
    }
    return rc;
}

int check_model_each(struct model *m, int (*visit)(void *arg, uint64_t seq, const struct entry *e),
                     void *arg)
{
    struct page **order;
    size_t n = 0;
    int rc = 0;

    if (m->cap == 0)
        return 0;
    order = malloc(m->cap * sizeof(*order));
    if (order == NULL)
        return MF_NOMEM;
    for (size_t i = 0; i < m->cap; i++)
        if (m->page[i].bits != 0)
            order[n++] = &m->page[i];
    qsort(order, n, sizeof(*order), by_id);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = page_each(m, order[i], visit, arg);
    free(order);
    return rc;
}
