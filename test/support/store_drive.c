/* store_drive.c: see store_drive.h. */
#include "store_drive.h"

#include "base/clock.h"
#include "must.h"

#define NO_BATCH SIZE_MAX
#define POOL     (256u << 10)

static uint8_t pool[POOL]; /* random bytes: bodies are pieces of it */

/* One call that somebody waits for. */
struct ticket {
    struct store_append a;
    struct mf_list node; /* in d->open */
    const char *call;
    struct drive *d;
    uint64_t number; /* 0: in no order (checkpoint, scrub) */
    size_t batch;
    bool erases;
};

static uint64_t clock_of(struct drive *d)
{
    return d->clock == NULL ? 0 : d->clock(d->io);
}

static void on_done(struct store_wait *w, int status)
{
    struct ticket *t = mf_container(w, struct ticket, a.wait);
    struct drive *d = t->d;

    MUST(!d->inside, "a waiter was called from inside a call");
    if (t->number != 0) {
        MUST(t->number > d->called, "waiter %llu was called after %llu",
             (unsigned long long)t->number, (unsigned long long)d->called);
        d->called = t->number;
    }
    MUST(d->waiting > 0, "a waiter too many");
    d->waiting--;
    mf_list_del(&t->node);
    if (status != 0 && d->failed == 0 &&
        t->number != 0) /* a checkpoint may fail: then there is none */
        d->failed = status;
    if (status == 0 && t->erases)
        d->model.batch[t->batch].erased_at = clock_of(d);
    if (status == 0 && t->batch != NO_BATCH)
        model_commit(&d->model, t->batch, clock_of(d));
    free(t);
}

static struct ticket *ticket_new(struct drive *d, const char *call)
{
    struct ticket *t = must_alloc(NULL, 1, sizeof *t);

    *t = (struct ticket){.d = d, .batch = NO_BATCH, .call = call};
    mf_list_init(&t->node);
    if (!pick_chance(&d->pick, d->silent))
        t->a.wait.done = on_done;
    return t;
}

static struct store_wait *wait_of(struct ticket *t)
{
    return t->a.wait.done == NULL ? NULL : &t->a.wait;
}

/* The call was answered with rc: the ticket waits, or is not needed. */
static void settle(struct drive *d, struct ticket *t, int rc, bool ordered)
{
    if (rc != 0 || wait_of(t) == NULL) {
        free(t);
        return;
    }
    if (ordered) {
        t->number = ++d->tickets;
        t->batch = d->model.batches == 0 ? NO_BATCH : d->model.batches - 1;
        if (t->batch != NO_BATCH)
            d->model.batch[t->batch].waited = true;
    }
    d->waiting++;
    mf_list_push(&d->open, &t->node);
}

static void note(struct drive *d, const struct model_op *op)
{
    model_add(&d->model, op, clock_of(d), d->now_ns);
}

/* --- life ------------------------------------------------------------------------------------- */

static void keep(struct store_io *io)
{
    (void)io; /* closed with the store, opened again later */
}

void drive_init(struct drive *d, struct loop *loop, struct store_io *io, const struct store_opts *o,
                uint64_t seed)
{
    struct mf_error e;
    static bool filled;

    *d = (struct drive){.io = io, .opts = *o, .pick = {seed}, .now_ns = o->now_ns};
    d->stamps = seed << 24; /* another drive goes on with this store: its bodies are others */
    if (!filled)
        pick_bytes(&(struct pick){1}, pool, POOL);
    filled = true;
    mf_list_init(&d->open);
    d->own_loop = loop == NULL;
    d->loop = loop;
    if (loop == NULL) {
        MUST(loop_new(&d->loop, &e) == 0, "%s", e.text);
        loop_jobs_inline(d->loop);
    }
    d->io_free = io->free;
    io->free = keep;
    model_start(&d->model, o->first_seq == 0 ? 1 : o->first_seq);
}

void drive_fini(struct drive *d)
{
    if (d->store != NULL)
        drive_abandon(d);
    model_end(&d->model);
    state_fini(&d->before);
    if (d->own_loop)
        loop_free(d->loop);
    d->io->free = d->io_free;
    d->io->free(d->io);
}

int drive_try_open(struct drive *d, struct mf_error *e)
{
    d->opts.now_ns = d->now_ns;
    int rc = test_open(&d->store, &d->opts, d->io, e);
    if (rc != 0) {
        d->store = NULL;
        return rc;
    }
    rc = store_attach(d->store, d->loop, e);
    if (rc != 0)
        drive_abandon(d);
    return rc;
}

void drive_open(struct drive *d)
{
    struct mf_error e = {0};
    int rc = drive_try_open(d, &e);

    MUST(rc == 0, "opening: %d: %s", rc, e.text);
}

static void on_closed(void *arg)
{
    *(bool *)arg = true;
}

static bool is_true(void *arg)
{
    return *(bool *)arg;
}

void drive_close(struct drive *d)
{
    bool closed = false;

    store_close(d->store, on_closed, &closed);
    drive_until(d, is_true, &closed, "closing");
    d->store = NULL;
    MUST(d->waiting == 0, "closed with %zu waiters not called, the first of: %s", d->waiting,
         mf_list_empty(&d->open) ? "read" : mf_container(d->open.next, struct ticket, node)->call);
    /* With faults about, what nobody waited for may have failed without a word. */
    if (d->failed == 0 && !d->failing && d->model.batches > 0)
        model_commit(&d->model, d->model.batches - 1, clock_of(d));
}

void drive_abandon(struct drive *d)
{
    store_abandon(d->store);
    d->store = NULL;
}

void drive_turn(struct drive *d)
{
    loop_turn(d->loop);
}

void drive_until(struct drive *d, bool (*done)(void *arg), void *arg, const char *what)
{
    int64_t start = 0;

    for (size_t turns = 1; !done(arg); turns++) {
        drive_turn(d);
        if (turns % 1024 != 0)
            continue;
        if (start == 0)
            start = clock_mono_ns();
        MUST(clock_mono_ns() - start < 60 * CLOCK_S, "%s took more than a minute: %zu waiters, %s",
             what, d->waiting, d->store != NULL && store_idle(d->store) ? "idle" : "not idle");
    }
}

static bool is_idle(void *arg)
{
    const struct drive *d = arg;

    return d->waiting == 0 && store_idle(d->store);
}

void drive_idle(struct drive *d)
{
    drive_until(d, is_idle, d, "coming to rest");
    if (d->failed == 0 && d->model.batches > 0 && store_error(d->store) == NULL)
        model_commit(&d->model, d->model.batches - 1, clock_of(d));
}

bool drive_certain(const struct drive *d)
{
    return d->model.done == d->model.batches || d->model.batch[d->model.done].waited;
}

/* --- writing ---------------------------------------------------------------------------------- */

static struct mf_slice piece(struct drive *d, size_t len)
{
    MUST(len < POOL, "too long for the pool");
    return mf_slice(pool + pick_below(&d->pick, (uint32_t)(POOL - len)), len);
}

/* A piece that no other body has, if it is long enough for a stamp. */
static struct mf_slice stamped(struct drive *d, size_t len, uint64_t stamp[2])
{
    static uint8_t body[POOL];
    struct mf_slice p = piece(d, len);
    if (len < 2 * sizeof *stamp)
        return p;
    memcpy(body, p.ptr, len);
    stamp[0] = model_content(mf_slice(&d->stamps, sizeof d->stamps), MF_SLICE_NONE, MF_SLICE_NONE);
    stamp[1] = ++d->stamps * 0x9E3779B97F4A7C15u;
    memcpy(body, stamp, 2 * sizeof *stamp);
    return mf_slice(body, len);
}

int drive_append(struct drive *d, const char *key, size_t head, size_t body, int64_t deadline_ns,
                 uint16_t flags)
{
    struct ticket *t = ticket_new(d, "append");
    uint64_t stamp[2] = {0};

    t->a.key = mf_str(key);
    t->a.head = piece(d, head);
    t->a.body = stamped(d, body, stamp);
    t->a.ts_ns = d->now_ns;
    t->a.deadline_ns = deadline_ns;
    t->a.flags = flags;
    bool was = d->inside;
    d->inside = true;
    int rc = store_append(d->store, &t->a);
    d->inside = was;
    if (rc == 0) {
        struct model_op op = {.kind = MODEL_APPEND};
        op.msg = (struct model_msg){.seq = t->a.seq,
                                    .content = model_content(t->a.key, t->a.head, t->a.body),
                                    .stamp = {stamp[0], stamp[1]},
                                    .ts_ns = t->a.ts_ns,
                                    .deadline_ns = deadline_ns,
                                    .len = (uint32_t)(t->a.key.len + head + body),
                                    .flags = model_flags(flags, deadline_ns)};
        snprintf(op.msg.key, sizeof op.msg.key, "%s", key);
        MUST(t->a.seq == d->model.accepted.last_seq + 1 ||
                 (d->failing && t->a.seq > d->model.accepted.last_seq),
             "sequence %llu follows %llu", (unsigned long long)t->a.seq,
             (unsigned long long)d->model.accepted.last_seq);
        note(d, &op);
    }
    settle(d, t, rc, true);
    return rc;
}

int drive_remove(struct drive *d, uint64_t seq)
{
    struct ticket *t = ticket_new(d, "remove");
    bool was = d->inside, there = state_find(&d->model.accepted, seq) != NULL;

    d->inside = true;
    int rc = store_remove(d->store, seq, wait_of(t));
    d->inside = was;
    MUST((rc == MF_NOTFOUND) == !there || (rc != 0 && rc != MF_NOTFOUND),
         "removing %llu, which is %sthere: %d", (unsigned long long)seq, there ? "" : "not ", rc);
    if (rc == 0)
        note(d, &(struct model_op){.kind = MODEL_REMOVE, .first = seq});
    settle(d, t, rc, true);
    return rc;
}

/* Its waiter comes when the bytes are gone, so in no order. */
int drive_erase(struct drive *d, uint64_t seq)
{
    struct ticket *t = ticket_new(d, "erase");
    const struct model_msg *m = state_find(&d->model.accepted, seq);
    struct model_op op = {.kind = MODEL_ERASE, .first = seq};
    bool was = d->inside;

    op.msg = m != NULL ? *m : op.msg;
    d->inside = true;
    int rc = store_erase(d->store, seq, wait_of(t));
    d->inside = was;
    MUST((rc != 0 || m != NULL) && (rc != MF_NOTFOUND || m == NULL) &&
             (rc != MF_INVAL || d->model.open),
         "erasing %llu, which is %sthere: %d", (unsigned long long)seq, m != NULL ? "" : "not ",
         rc);
    if (rc == 0)
        note(d, &op);
    t->erases = true;
    t->batch = d->model.batches - 1; /* NO_BATCH: there is none */
    settle(d, t, rc, false);
    return rc;
}

int drive_range(struct drive *d, uint64_t first, uint64_t last)
{
    struct ticket *t = ticket_new(d, "range");
    bool was = d->inside;

    d->inside = true;
    int rc = store_remove_range(d->store, first, last, wait_of(t));
    d->inside = was;
    if (rc == 0)
        note(d, &(struct model_op){.kind = MODEL_RANGE, .first = first, .last = last});
    settle(d, t, rc, true);
    return rc;
}

int drive_set(struct drive *d, const uint64_t *seqs, size_t n)
{
    struct ticket *t = ticket_new(d, "set");
    bool was = d->inside, alone = !d->model.open;

    d->inside = true;
    int rc = store_remove_set(d->store, seqs, n, wait_of(t));
    d->inside = was;
    if (rc == 0) {
        if (alone)
            model_open(&d->model, clock_of(d), d->now_ns);
        for (size_t i = 0; i < n; i++)
            note(d, &(struct model_op){.kind = MODEL_REMOVE, .first = seqs[i]});
        if (alone)
            model_close(&d->model);
    }
    settle(d, t, rc, true);
    return rc;
}

int drive_touch(struct drive *d, uint64_t seq, int64_t deadline_ns, uint16_t flags)
{
    struct ticket *t = ticket_new(d, "touch");
    const struct model_msg *m = state_find(&d->model.accepted, seq);
    /* Past its deadline it is gone, swept or not. */
    bool was = d->inside, there = m != NULL && (m->deadline_ns == 0 || m->deadline_ns > d->now_ns);

    d->inside = true;
    int rc = store_set_deadline(d->store, seq, deadline_ns, flags, wait_of(t));
    d->inside = was;
    MUST(rc != 0 || there, "a deadline for %llu, which is not there", (unsigned long long)seq);
    MUST(rc != MF_NOTFOUND || !there, "no deadline for %llu, which is there",
         (unsigned long long)seq);
    struct model_op op = {MODEL_DEADLINE, .first = seq, .deadline_ns = deadline_ns, .flags = flags};
    if (rc == 0)
        note(d, &op);
    settle(d, t, rc, true);
    return rc;
}

int drive_blob(struct drive *d, const char *name, size_t len)
{
    struct ticket *t = ticket_new(d, "blob");
    struct mf_slice bytes = piece(d, len);
    bool was = d->inside;

    d->inside = true;
    int rc = store_blob_put(d->store, mf_str(name), bytes, wait_of(t));
    d->inside = was;
    if (rc == 0) {
        struct model_op op = {.kind = MODEL_BLOB};
        op.blob.content = model_content(mf_str(name), MF_SLICE_NONE, bytes);
        snprintf(op.blob.name, sizeof op.blob.name, "%s", name);
        note(d, &op);
    }
    settle(d, t, rc, true);
    return rc;
}

int drive_blob_del(struct drive *d, const char *name)
{
    struct ticket *t = ticket_new(d, "blob_del");
    bool was = d->inside, there = state_blob(&d->model.accepted, mf_str(name)) != NULL;

    d->inside = true;
    int rc = store_blob_del(d->store, mf_str(name), wait_of(t));
    d->inside = was;
    MUST(rc != 0 || there, "deleted blob %s, which was not there", name);
    if (rc == 0) {
        struct model_op op = {.kind = MODEL_BLOB_DEL};
        snprintf(op.blob.name, sizeof op.blob.name, "%s", name);
        note(d, &op);
    }
    settle(d, t, rc, true);
    return rc;
}

void drive_begin(struct drive *d, bool frees)
{
    store_begin(d->store, frees);
    state_copy(&d->before, &d->model.accepted);
    model_open(&d->model, clock_of(d), d->now_ns);
}

int drive_end(struct drive *d)
{
    struct ticket *t = ticket_new(d, "end");

    d->inside = true;
    int rc = store_end(d->store, wait_of(t));
    d->inside = false;
    model_close(&d->model);
    if (rc != 0) { /* nothing of it happened */
        d->model.batch[d->model.batches - 1].ops = 0;
        state_copy(&d->model.accepted, &d->before);
    }
    settle(d, t, rc, true);
    return rc;
}

static int upkeep(struct drive *d, const char *name,
                  int (*call)(struct store *s, struct store_wait *w))
{
    struct ticket *t = ticket_new(d, name);

    t->a.wait.done = on_done;
    d->inside = true;
    int rc = call(d->store, wait_of(t));
    d->inside = false;
    settle(d, t, rc, false);
    return rc;
}

int drive_checkpoint(struct drive *d)
{
    return upkeep(d, "checkpoint", store_checkpoint);
}

int drive_scrub(struct drive *d)
{
    return upkeep(d, "scrub", store_scrub);
}

/* --- reading ---------------------------------------------------------------------------------- */

struct reading {
    struct store_read r;
    struct drive *d;
    uint64_t content;
};

static void on_read(struct store_read *r, int status)
{
    struct reading *x = mf_container(r, struct reading, r);
    struct drive *d = x->d;
    const struct model_msg *m = state_find(&d->model.accepted, r->seq);

    MUST(!d->inside, "a read was answered from inside a call");
    d->waiting--;
    if (status == 0)
        MUST(model_content(r->rec.key, r->rec.head, r->rec.body) == x->content &&
                 r->rec.seq == r->seq,
             "reading %llu gave something else", (unsigned long long)r->seq);
    else /* it went meanwhile */
        MUST((status == MF_NOTFOUND && (m == NULL || !model_visible(m, d->now_ns))) || d->failing,
             "reading %llu: %d", (unsigned long long)r->seq, status);
    free(x);
}

int drive_read(struct drive *d, uint64_t seq)
{
    const struct model_msg *m = state_find(&d->model.committed, seq);
    struct reading *x = must_alloc(NULL, 1, sizeof *x);

    *x = (struct reading){.r = {.seq = seq, .done = on_read}, .d = d};
    x->content = m == NULL ? 0 : m->content;
    d->inside = true;
    int rc = store_read(d->store, &x->r);
    d->inside = false;
    if (rc == 0 && m == NULL)
        x->content = state_find(&d->model.accepted, seq)->content; /* just committed */
    if (rc == 0)
        d->waiting++;
    else
        free(x);
    return rc;
}

/* --- time ------------------------------------------------------------------------------------- */

void drive_time(struct drive *d, int64_t now_ns)
{
    if (now_ns > d->now_ns)
        d->now_ns = now_ns;
    if (d->store != NULL)
        store_now(d->store, now_ns);
}

/* A marker that finds no room makes the death wait. */
static bool on_death(void *arg, const struct store_expiry *death)
{
    struct drive *d = arg;
    const struct model_msg *m = state_due(&d->model.accepted, d->now_ns);
    char key[MODEL_KEY];
    struct model_key left;
    int rc = 0;

    MUST(m != NULL, "%llu died at %lld, but nothing is due at %lld", (unsigned long long)death->seq,
         (long long)death->deadline_ns, (long long)d->now_ns);
    MUST(m->seq == death->seq && m->deadline_ns == death->deadline_ns,
         "%llu died, due %lld; the first is %llu, due %lld", (unsigned long long)death->seq,
         (long long)death->deadline_ns, (unsigned long long)m->seq, (long long)m->deadline_ns);
    MUST(mf_eq_str(death->key, m->key) && death->flags == (m->flags & (3 | MODEL_BITS)) &&
             death->len == m->len,
         "the dead %llu has key %.*s, flags %x, %u bytes", (unsigned long long)death->seq,
         MF_FMT(death->key), death->flags, death->len);
    snprintf(key, sizeof key, "%s", m->key);
    state_key(&d->model.accepted, key, 0, &left);
    uint64_t others = left.count - 1;
    MUST(death->last == (others == 0), "%llu is %sthe last of %s, of which %llu are left",
         (unsigned long long)death->seq, death->last ? "" : "not ", key,
         (unsigned long long)others);
    if (pick_chance(&d->pick, d->marker_percent))
        rc = drive_append(d, key, 12, 0, pick_chance(&d->pick, 50) ? 0 : d->now_ns + 1000000000,
                          pick_chance(&d->pick, 50) ? 1 : 0);
    if (rc != 0) {
        d->refused = rc;
        return false;
    }
    note(d, &(struct model_op){.kind = MODEL_REMOVE, .first = death->seq});
    d->died++;
    state_key(&d->model.accepted, key, 0, &left);
    if (others > 0 && pick_chance(&d->pick, d->more_percent))
        (void)drive_remove(d, left.first_seq);
    return true;
}

size_t drive_expire(struct drive *d, size_t max, bool *more)
{
    d->died = 0;
    d->refused = 0;
    d->swept_ns = d->now_ns;
    model_open(&d->model, clock_of(d), d->now_ns);
    d->inside = true;
    size_t n = store_expire(d->store, d->now_ns, max, on_death, d, more);
    d->inside = false;
    model_close(&d->model);
    MUST(n == d->died && n <= max, "%zu expired, %zu seen, at most %zu", n, d->died, max);
    if (n == 0 && d->model.batch[d->model.batches - 1].ops == 0)
        d->model.batches--; /* nothing was written */
    const struct model_msg *due = state_due(&d->model.accepted, d->now_ns);
    /* One that is not on disk yet, even if it is condemned already, makes all after it wait. */
    MUST(*more || n == max || due == NULL || d->failing || d->refused != 0 ||
             d->model.done < d->model.batches - (n > 0),
         "%llu is still due and the store knows of no more", (unsigned long long)due->seq);
    return n;
}

/* --- choices ---------------------------------------------------------------------------------- */

uint64_t drive_pick_seq(struct drive *d)
{
    const struct model_state *s = &d->model.accepted;

    return s->msgs == 0 ? 0 : s->msg[pick_below(&d->pick, (uint32_t)s->msgs)].seq;
}

void drive_pick_key(struct drive *d, unsigned keys, char dst[MODEL_KEY])
{
    static const char *const first[] = {"a", "bb", "$KV", "orders"};
    unsigned n = pick_below(&d->pick, keys);

    switch (n % 3) {
    case 0:
        snprintf(dst, MODEL_KEY, "%s", first[n / 3 % 4]);
        if (n >= 12)
            snprintf(dst, MODEL_KEY, "%s%u", first[n / 3 % 4], n);
        break;
    case 1:
        snprintf(dst, MODEL_KEY, "%s.%u", first[n % 4], n);
        break;
    default:
        snprintf(dst, MODEL_KEY, "%s.x%u.%u", first[n % 4], n % 7, n);
        break;
    }
}
