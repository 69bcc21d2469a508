/* crash_cut.c: a moment of the recorded changes, and the disks it may leave behind. */
#include "crash_log.h"

#include <stdlib.h>

/* A file at the cut.  now = durable with all pending ops applied. */
struct node {
    bool named; /* it has, or could get back, a name; else its contents do not matter any more */
    struct mf_buf durable, now;
    struct mf_buf pending; /* uint32_t: its writes and truncates since its last sync */
};

struct crash_cut {
    size_t at; /* ops applied */
    struct node *nodes;
    size_t cap;
    struct mf_buf named;   /* uint32_t: the nodes whose `named` is set */
    struct mf_buf names;   /* durable */
    struct mf_buf pending; /* uint32_t: create, rename and unlink since the last syncdir */
};

static size_t ids_count(const struct mf_buf *ids)
{
    return ids->len / sizeof(uint32_t);
}
static uint32_t id_at(const struct mf_buf *ids, size_t i)
{
    return ((const uint32_t *)(const void *)ids->ptr)[i];
}
static int id_push(struct mf_buf *ids, size_t id)
{
    uint32_t n = (uint32_t)id;
    mf_buf_append(ids, &n, sizeof n);
    return mf_buf_failed(ids) ? MF_NOMEM : 0;
}

/* Well mixed (the finish of splitmix64), so that neighbours have nothing in common. */
static uint64_t mix(uint64_t seed, uint64_t a, uint64_t b)
{
    uint64_t z = seed + a * 0x9e3779b97f4a7c15u + b * 0xd1342543de82ef95u + 0x632be59bd9b4e019u;
    for (int i = 0; i < 2; i++) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
    }
    return z;
}

/* --- contents --------------------------------------------------------------------------------- */

static int resize(struct mf_buf *b, size_t n)
{
    if (n > b->len) {
        uint8_t *p = mf_buf_reserve(b, n - b->len);
        if (p == NULL)
            return MF_NOMEM;
        memset(p, 0, n - b->len);
    }
    b->len = n;
    return 0;
}

/* The first `n` bytes of a write, or a truncate. */
static int apply_part(struct mf_buf *b, const struct crash_op *op, uint64_t n)
{
    if (op->kind == CHANGE_TRUNCATE)
        return resize(b, (size_t)op->len);
    if (n == 0)
        return 0;
    if (op->off + n > b->len && resize(b, (size_t)(op->off + n)) != 0)
        return MF_NOMEM;
    memcpy(b->ptr + op->off, op->bytes, (size_t)n);
    return 0;
}

static int apply(struct mf_buf *b, const struct crash_op *op)
{
    return apply_part(b, op, op->len);
}

/* --- names ------------------------------------------------------------------------------------ */

struct crash_name *crash_names_find(const struct mf_buf *names, const char *name)
{
    for (size_t i = 0; i < crash_names_count(names); i++)
        if (strcmp(crash_names_at(names, i)->name, name) == 0)
            return crash_names_at(names, i);
    return NULL;
}

static void drop_name(struct mf_buf *names, struct crash_name *n)
{
    *n = *crash_names_at(names, crash_names_count(names) - 1);
    names->len -= sizeof *n;
}

static uint32_t set_name(struct mf_buf *names, const char *name, uint32_t node)
{
    struct crash_name *old = crash_names_find(names, name);
    struct crash_name made = {name, node};

    if (old != NULL) {
        uint32_t gone = old->node == node ? CRASH_NO_NODE : old->node;
        *old = made;
        return gone;
    }
    mf_buf_append(names, &made, sizeof made);
    return CRASH_NO_NODE;
}

/* Must make sense of any subset of the ops: an unlink takes only its own file's name, and a rename
 * moves the file from wherever it is, so that a file has one name at most. */
uint32_t crash_names_apply(struct mf_buf *names, const struct crash_op *op)
{
    struct crash_name *n;

    switch (op->kind) {
    case CHANGE_CREATE:
        return set_name(names, op->name, op->node);
    case CHANGE_UNLINK:
        n = crash_names_find(names, op->name);
        if (n == NULL || n->node != op->node)
            return op->node;
        drop_name(names, n);
        return op->node;
    case CHANGE_RENAME:
        for (size_t i = crash_names_count(names); i-- > 0;)
            if (crash_names_at(names, i)->node == op->node)
                drop_name(names, crash_names_at(names, i));
        return set_name(names, op->to, op->node);
    default:
        return CRASH_NO_NODE;
    }
}

static int copy_names(struct mf_buf *dst, const struct mf_buf *src, size_t more)
{
    if (mf_buf_reserve(dst, src->len + more * sizeof(struct crash_name)) == NULL)
        return MF_NOMEM;
    mf_buf_append(dst, src->ptr, src->len);
    return 0;
}

/* --- moving along the log --------------------------------------------------------------------- */

static void node_forget(struct crash_cut *c, uint32_t id)
{
    struct node *n = &c->nodes[id];

    if (!n->named)
        return;
    mf_buf_fini(&n->durable);
    mf_buf_fini(&n->now);
    mf_buf_fini(&n->pending);
    n->named = false;
    uint32_t *ids = (uint32_t *)(void *)c->named.ptr;
    size_t i = 0;
    while (ids[i] != id)
        i++;
    ids[i] = ids[ids_count(&c->named) - 1];
    c->named.len -= sizeof *ids;
}

static int on_create(struct crash_cut *c, size_t i, const struct crash_op *op)
{
    if (op->node >= c->cap) {
        size_t cap = 2 * (size_t)op->node + 16;
        struct node *p = realloc(c->nodes, cap * sizeof *p);
        if (p == NULL)
            return MF_NOMEM;
        c->nodes = p;
        c->cap = cap;
    }
    if (id_push(&c->named, op->node) != 0)
        return MF_NOMEM;
    c->nodes[op->node] = (struct node){.named = true};
    return id_push(&c->pending, i);
}

static int on_sync(const struct crash_log *log, struct node *n)
{
    for (size_t i = 0; i < ids_count(&n->pending); i++)
        if (apply(&n->durable, &log->ops[id_at(&n->pending, i)]) != 0)
            return MF_NOMEM;
    n->pending.len = 0;
    return 0;
}

static bool has_name(const struct mf_buf *names, uint32_t node)
{
    for (size_t i = 0; i < crash_names_count(names); i++)
        if (crash_names_at(names, i)->node == node)
            return true;
    return false;
}

static int on_syncdir(struct crash_cut *c, const struct crash_log *log)
{
    size_t n = ids_count(&c->pending);

    if (n > 0 && mf_buf_reserve(&c->names, n * sizeof(struct crash_name)) == NULL)
        return MF_NOMEM;
    for (size_t i = 0; i < n; i++) {
        uint32_t gone = crash_names_apply(&c->names, &log->ops[id_at(&c->pending, i)]);
        if (gone != CRASH_NO_NODE && !has_name(&c->names, gone))
            node_forget(c, gone);
    }
    c->pending.len = 0;
    return 0;
}

static int step(struct crash_cut *c, const struct crash_log *log, size_t i)
{
    const struct crash_op *op = &log->ops[i];

    switch (op->kind) {
    case CHANGE_CREATE:
        return on_create(c, i, op);
    case CHANGE_RENAME:
    case CHANGE_UNLINK:
        return id_push(&c->pending, i);
    case CHANGE_SYNCDIR:
        return on_syncdir(c, log);
    default:
        break;
    }
    struct node *n = &c->nodes[op->node];
    if (!n->named)
        return 0;
    if (op->kind == CHANGE_SYNC)
        return on_sync(log, n);
    return apply(&n->now, op) != 0 ? MF_NOMEM : id_push(&n->pending, i);
}

static void cut_reset(struct crash_cut *c)
{
    while (c->named.len > 0)
        node_forget(c, id_at(&c->named, 0));
    free(c->nodes);
    mf_buf_fini(&c->named);
    mf_buf_fini(&c->names);
    mf_buf_fini(&c->pending);
    *c = (struct crash_cut){0};
}

int crash_cut_move(struct crash_cut *c, const struct crash_log *log, size_t n)
{
    if (n < c->at)
        cut_reset(c);
    for (; c->at < n; c->at++)
        if (step(c, log, c->at) != 0) {
            cut_reset(c); /* it may be half done: the next move starts anew */
            return MF_NOMEM;
        }
    return 0;
}

struct crash_unsynced crash_cut_unsynced(const struct crash_cut *c)
{
    struct crash_unsynced u = {.names = ids_count(&c->pending)};

    for (size_t i = 0; i < ids_count(&c->named); i++)
        u.writes += ids_count(&c->nodes[id_at(&c->named, i)].pending);
    return u;
}

struct crash_cut *crash_cut_new(void)
{
    return calloc(1, sizeof(struct crash_cut));
}

void crash_cut_free(struct crash_cut *c)
{
    if (c != NULL)
        cut_reset(c);
    free(c);
}

/* --- images: which names ---------------------------------------------------------------------- */

/* One image being built. */
struct image {
    const struct crash_cut *cut;
    const struct crash_log *log;
    enum crash_mode mode;
    uint64_t seed;
    uint32_t until;      /* PREFIX: ops before this one are on the disk; TORN: the torn write */
    struct mf_buf names; /* on the disk */
    struct mf_buf bytes; /* of one file, while it is put together */
};

static bool keeps_name(const struct image *m, size_t i)
{
    size_t n = ids_count(&m->cut->pending);

    switch (m->mode) {
    case CRASH_DROP:
        return false;
    case CRASH_PREFIX:
        return id_at(&m->cut->pending, i) < m->until;
    case CRASH_SECTORS:
    case CRASH_LOST_NAMES:
    case CRASH_REORDERED:
        return i < mix(m->seed, 1, n) % (n + 1);
    case CRASH_MIXED_NAMES:
        return mix(m->seed, 2, i) % 2 == 0;
    default:
        return true;
    }
}

static int choose_names(struct image *m)
{
    const struct mf_buf *pending = &m->cut->pending;

    if (copy_names(&m->names, &m->cut->names, ids_count(pending) + 1) != 0)
        return MF_NOMEM;
    for (size_t i = 0; i < ids_count(pending); i++)
        if (keeps_name(m, i))
            crash_names_apply(&m->names, &m->log->ops[id_at(pending, i)]);
    return 0;
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Each unsynced op is as likely as any to be the first one lost; so is none. */
static int choose_prefix(struct image *m)
{
    const struct crash_cut *c = m->cut;
    struct mf_buf all = MF_BUF_INIT;

    mf_buf_append(&all, c->pending.ptr, c->pending.len);
    for (size_t i = 0; i < ids_count(&c->named); i++) {
        const struct mf_buf *ids = &c->nodes[id_at(&c->named, i)].pending;
        mf_buf_append(&all, ids->ptr, ids->len);
    }
    size_t n = ids_count(&all);
    bool failed = mf_buf_failed(&all);
    if (!failed && n > 0) {
        qsort(all.ptr, n, sizeof(uint32_t), compare_ids);
        size_t k = mix(m->seed, 3, n) % (n + 1);
        m->until = k == n ? UINT32_MAX : id_at(&all, k);
    }
    mf_buf_fini(&all);
    return failed ? MF_NOMEM : 0;
}

static void choose_torn(struct image *m)
{
    const struct crash_cut *c = m->cut;

    m->until = CRASH_NO_NODE;
    for (size_t i = 0; i < ids_count(&c->named); i++) {
        const struct mf_buf *ids = &c->nodes[id_at(&c->named, i)].pending;
        for (size_t k = ids_count(ids); k-- > 0;) {
            uint32_t id = id_at(ids, k);
            if (m->log->ops[id].kind != CHANGE_WRITE)
                continue;
            if (m->until == CRASH_NO_NODE || id > m->until)
                m->until = id;
            break;
        }
    }
}

/* --- images: which bytes ---------------------------------------------------------------------- */

static int start_from(struct image *m, const struct mf_buf *bytes)
{
    mf_buf_clear(&m->bytes);
    mf_buf_append(&m->bytes, bytes->ptr, bytes->len);
    return mf_buf_failed(&m->bytes) ? MF_NOMEM : 0;
}

static int build_prefix(struct image *m, const struct node *n)
{
    int rc = start_from(m, &n->durable);

    for (size_t i = 0; rc == 0 && i < ids_count(&n->pending); i++)
        if (id_at(&n->pending, i) < m->until)
            rc = apply(&m->bytes, &m->log->ops[id_at(&n->pending, i)]);
    return rc;
}

static int build_torn(struct image *m, const struct node *n)
{
    int rc = start_from(m, &n->durable);

    for (size_t i = 0; rc == 0 && i < ids_count(&n->pending); i++) {
        uint32_t id = id_at(&n->pending, i);
        const struct crash_op *op = &m->log->ops[id];
        uint64_t part = op->len;
        if (id == m->until) {
            uint64_t last = (op->off + op->len - 1) / CRASH_SECTOR * CRASH_SECTOR;
            uint64_t from = last > op->off ? last - op->off : 0;
            part = from + mix(m->seed, 4, id) % (op->len - from);
        }
        rc = apply_part(&m->bytes, op, part);
        if (rc == 0 && id == m->until && mix(m->seed, 5, id) % 2 == 0 &&
            op->off + op->len > m->bytes.len) /* the size got there, the bytes did not */
            rc = resize(&m->bytes, (size_t)(op->off + op->len));
    }
    return rc;
}

/* How many of a sector's (or the size's) `pending` states passed: often none or all. */
static size_t version(const struct image *m, uint64_t node, uint64_t sector, size_t pending)
{
    uint64_t r = mix(m->seed, node + 6, sector);
    unsigned way = r & 7;
    return way < 3 ? 0 : way < 6 ? pending : (size_t)((r >> 3) % (pending + 1));
}

/* Op i of the node's pending ones in [from, to): only the sectors that hold it. */
static void lay_sectors(struct image *m, uint32_t node, const struct node *n, size_t i,
                        uint64_t from, uint64_t to)
{
    const struct crash_op *op = &m->log->ops[id_at(&n->pending, i)];

    while (from < to) {
        uint64_t end = (from / CRASH_SECTOR + 1) * CRASH_SECTOR;
        size_t len = (size_t)((end < to ? end : to) - from);
        if (version(m, node, from / CRASH_SECTOR, ids_count(&n->pending)) > i) {
            if (op->kind == CHANGE_WRITE)
                memcpy(m->bytes.ptr + from, op->bytes + (from - op->off), len);
            else
                memset(m->bytes.ptr + from, 0, len);
        }
        from += len;
    }
}

static int build_sectors(struct image *m, uint32_t id, const struct node *n)
{
    size_t pending = ids_count(&n->pending), states = version(m, id, UINT64_MAX, pending);
    uint64_t size = n->durable.len, chosen = size, most = size;

    for (size_t i = 0; i < pending; i++) {
        const struct crash_op *op = &m->log->ops[id_at(&n->pending, i)];
        uint64_t end = op->kind == CHANGE_TRUNCATE ? op->len : op->off + op->len;
        size = op->kind == CHANGE_TRUNCATE || end > size ? end : size;
        most = size > most ? size : most;
        if (i < states)
            chosen = size;
    }
    if (start_from(m, &n->durable) != 0 || resize(&m->bytes, (size_t)most) != 0)
        return MF_NOMEM;
    for (size_t i = 0; i < pending; i++) {
        const struct crash_op *op = &m->log->ops[id_at(&n->pending, i)];
        if (op->kind == CHANGE_TRUNCATE)
            lay_sectors(m, id, n, i, op->len, most);
        else
            lay_sectors(m, id, n, i, op->off, op->off + op->len);
    }
    return resize(&m->bytes, (size_t)chosen);
}

static int build_zeros(struct image *m, const struct node *n)
{
    int rc = start_from(m, &n->durable);
    return rc != 0 || n->now.len <= n->durable.len ? rc : resize(&m->bytes, n->now.len);
}

/* *out: the contents on this disk, of the node's own or in m->bytes. */
static int contents(struct image *m, uint32_t id, const struct mf_buf **out)
{
    const struct node *n = &m->cut->nodes[id];

    *out = &n->durable;
    if (ids_count(&n->pending) == 0)
        return 0;
    switch (m->mode) {
    case CRASH_DROP:
        return 0;
    case CRASH_KEEP:
        *out = &n->now;
        return 0;
    case CRASH_LOST_NAMES:
    case CRASH_MIXED_NAMES:
        *out = mix(m->seed, 7, 0) % 2 == 0 ? &n->now : &n->durable;
        return 0;
    case CRASH_REORDERED:
        *out = mix(m->seed, 8, id) % 2 == 0 ? &n->now : &n->durable;
        return 0;
    default:
        break;
    }
    *out = &m->bytes;
    if (m->mode == CRASH_ZEROS)
        return build_zeros(m, n);
    if (m->mode == CRASH_PREFIX)
        return build_prefix(m, n);
    return m->mode == CRASH_TORN ? build_torn(m, n) : build_sectors(m, id, n);
}

/* --- images: the files ------------------------------------------------------------------------ */

static int write_file(struct store_io *io, const char *name, const struct mf_buf *bytes)
{
    struct store_file *f;
    int rc = io->open(io, name, true, &f, NULL);

    if (rc != 0)
        return rc;
    rc = bytes->len == 0 ? 0 : io->pwrite(io, f, bytes->ptr, bytes->len, 0, NULL);
    io->close(io, f);
    return rc;
}

static int build(struct image *m, struct store_io *io)
{
    int rc = m->mode == CRASH_PREFIX ? choose_prefix(m) : 0;

    if (m->mode == CRASH_TORN)
        choose_torn(m);
    if (rc == 0)
        rc = choose_names(m);
    for (size_t i = 0; rc == 0 && i < crash_names_count(&m->names); i++) {
        const struct crash_name *n = crash_names_at(&m->names, i);
        const struct mf_buf *bytes;
        rc = contents(m, n->node, &bytes);
        if (rc == 0)
            rc = write_file(io, n->name, bytes);
    }
    return rc;
}

int crash_cut_image(struct crash_cut *c, const struct crash_log *log, enum crash_mode mode,
                    uint64_t seed, struct store_io **out)
{
    struct image m = {.cut = c, .log = log, .mode = mode, .seed = seed};
    struct store_io *io;
    int rc = store_io_memory(&io, NULL);

    if (rc != 0)
        return rc;
    rc = build(&m, io);
    mf_buf_fini(&m.names);
    mf_buf_fini(&m.bytes);
    if (rc == 0)
        *out = io;
    else
        io->free(io);
    return rc == MF_FULL ? MF_NOMEM : rc;
}
