/* state.c: what of a consumer survives a restart, as blobs of the stream's store.
 *
 *     c/<id>       u8 version 1, i64 created, u16 length of the name, name,
 *                  the configuration (the codec's text)
 *     cs/<id>      u8 version 1, then u64 each: consumer seq, stream seq,
 *                  floors of both, when delivered, when acked, next,
 *                  pause until, snapshot (0 or 1)
 *     cp/<id>/<n>  u8 version 1, then for each message of sequences
 *                  [n * 1024, (n + 1) * 1024) that waits for its ack:
 *                  u16 sequence - n * 1024, u32 deliveries,
 *                  u64 consumer seq, i64 when sent
 *     cg/<id>/<n>  the same, for those that were given up and wait no more
 *
 * <id> is 16 hex digits, <n> hex; numbers are little endian.
 *
 * Written with the turn of a change, or some milliseconds later when there are many, pages before
 * numbers; at once when a client waits for the answer to its ack.  A crash may lose the last
 * unconfirmed acks, never a confirmed one. */
#include "consumer_impl.h"

#include "mayfly/le.h"
#include "mayfly/log.h"

#include <stdio.h>
#include <stdlib.h>

#define PAGE     1024u
#define DELAY_NS (10 * CLOCK_MS)
#define RETRY_NS (1000 * CLOCK_MS)
#define VERSION  1

/* --- names --------------------------------------------------------------------------------- */

static struct mf_slice blob_name(char dst[64], const char *kind, uint64_t id, const char *rest)
{
    int n = snprintf(dst, 64, "%s%016llx%s", kind, (unsigned long long)id, rest);

    return mf_slice(dst, (size_t)n);
}

static const char *const kinds[] = {"cp/", "cg/"}; /* that wait, that were given up */

static struct mf_slice page_name(char dst[64], bool given, uint64_t id, uint64_t page)
{
    char rest[24];

    snprintf(rest, sizeof rest, "/%llx", (unsigned long long)page);
    return blob_name(dst, kinds[given], id, rest);
}

/* A page of which kind?  -1: no page. */
static int kind_of(struct mf_slice name)
{
    for (int i = 0; i < (int)MF_COUNT(kinds); i++)
        if (mf_starts(name, kinds[i]))
            return i;
    return -1;
}

/* --- writing ------------------------------------------------------------------------------- */

int state_write_config(struct consumer *c, struct store_wait *w)
{
    struct mf_buf b = MF_BUF_INIT;
    char name[64];
    int rc;

    le_append(&b, VERSION, 1);
    le_append(&b, (uint64_t)c->created_ns, 8);
    le_append(&b, strlen(c->name), 2);
    mf_buf_puts(&b, c->name);
    rc = c->group->host->codec.encode(&c->cfg, &b);
    if (rc == 0)
        rc = mf_buf_failed(&b) ? MF_NOMEM
                               : stream_blob_put(c->group->stream, blob_name(name, "c/", c->id, ""),
                                                 mf_buf_slice(&b), w);
    mf_buf_fini(&b);
    return rc;
}

static void put_entry(struct mf_buf *b, const struct pend *e)
{
    le_append(b, e->sseq % PAGE, 2);
    le_append(b, e->count, 4);
    le_append(b, e->dseq, 8);
    le_append(b, (uint64_t)e->sent_ns, 8);
}

/* O(all there are), or O(PAGE) if those are more: one has no place to start from. */
static void put_entries(struct mf_buf *b, const struct pending *p, bool given, uint64_t page)
{
    const struct mf_list *list = given ? &p->given : &p->order, *pos;
    const struct pend *e;

    if ((given ? p->given_up : p->count) > PAGE) {
        for (uint64_t i = 0; i < PAGE; i++) {
            uint64_t seq = page * PAGE + i;
            if ((e = given ? pending_given(p, seq) : pending_find(p, seq)) != NULL)
                put_entry(b, e);
        }
        return;
    }
    for (pos = list->next; pos != list; pos = pos->next) {
        e = mf_container(pos, struct pend, order);
        if (e->sseq / PAGE > page && !p->unsorted)
            break;
        if (e->sseq / PAGE == page)
            put_entry(b, e);
    }
}

static int write_kind(struct consumer *c, bool given, uint64_t page)
{
    struct mf_buf b = MF_BUF_INIT;
    char text[64];
    struct mf_slice name = page_name(text, given, c->id, page);
    int rc;

    le_append(&b, VERSION, 1);
    put_entries(&b, &c->wait, given, page);
    if (mf_buf_failed(&b))
        rc = MF_NOMEM;
    else if (b.len > 1)
        rc = stream_blob_put(c->group->stream, name, mf_buf_slice(&b), NULL);
    else
        rc = stream_blob_del(c->group->stream, name, NULL);
    mf_buf_fini(&b);
    return rc == MF_NOTFOUND ? 0 : rc;
}

/* What is given up is written first: it must not be missing from both. */
static int write_page(struct consumer *c, uint64_t page)
{
    int rc = write_kind(c, true, page);

    return rc != 0 ? rc : write_kind(c, false, page);
}

static int write_numbers(struct consumer *c)
{
    struct mf_buf b = MF_BUF_INIT;
    char name[64];
    const uint64_t n[] = {c->dseq,
                          c->sseq,
                          c->floor_dseq,
                          c->floor_sseq,
                          (uint64_t)c->delivered_ns,
                          (uint64_t)c->acked_ns,
                          c->next,
                          (uint64_t)c->cfg.pause_until_ns,
                          c->snapshot != NULL};
    int rc;

    le_append(&b, VERSION, 1);
    for (size_t i = 0; i < MF_COUNT(n); i++)
        le_append(&b, n[i], 8);
    rc = mf_buf_failed(&b) ? MF_NOMEM
                           : stream_blob_put(c->group->stream, blob_name(name, "cs/", c->id, ""),
                                             mf_buf_slice(&b), NULL);
    mf_buf_fini(&b);
    return rc;
}

struct all_pages {
    const struct consumer *c;
    struct mf_buf pages; /* uint64_t each */
};

static void note_page(void *arg, uint64_t page)
{
    mf_buf_append(&((struct all_pages *)arg)->pages, &page, sizeof page);
}

static void note_number(void *arg, struct mf_slice name, struct mf_slice bytes)
{
    struct all_pages *all = arg;
    char prefix[64], digits[24] = "";
    int kind = kind_of(name);

    (void)bytes;
    if (kind < 0)
        return;
    size_t n = blob_name(prefix, kinds[kind], all->c->id, "/").len;
    if (!mf_starts(name, prefix) || name.len - n >= sizeof digits)
        return;
    memcpy(digits, name.ptr + n, name.len - n);
    note_page(all, strtoull(digits, NULL, 16));
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Those of all that wait or were given up; one may come more than once. */
static void each_page(const struct pending *p, void (*visit)(void *arg, uint64_t page), void *arg)
{
    const struct mf_list *lists[] = {&p->order, &p->given};
    const struct mf_list *pos;

    for (size_t i = 0; i < MF_COUNT(lists); i++) {
        uint64_t last = UINT64_MAX;
        for (pos = lists[i]->next; pos != lists[i]; pos = pos->next) {
            uint64_t page = mf_container(pos, struct pend, order)->sseq / PAGE;
            if (page != last)
                visit(arg, page);
            last = page;
        }
    }
}

/* It is tried again soon: a client that asks for its ack's confirmation must not be told of what is
 * not there. */
static void flush_again(struct consumer *c, int rc)
{
    struct consumers *g = c->group;

    log_warn("consumer %s: its state is not written: %s", c->name, mf_err_text(rc));
    mf_list_push(&g->flush, &c->flush);
    if (!g->closing)
        loop_timer_arm(g->flush_timer, group_mono(g) + RETRY_NS);
}

/* Which pages changed is not known, for want of memory: all that are there, and all that should be.
 */
static int touch_all(struct consumer *c)
{
    struct all_pages all = {.c = c};

    stream_blob_each(c->group->stream, note_number, &all);
    each_page(&c->wait, note_page, &all);
    if (mf_buf_failed(&all.pages)) {
        mf_buf_fini(&all.pages);
        return MF_NOMEM;
    }
    mf_buf_fini(&c->dirty_pages);
    c->dirty_pages = all.pages;
    return 0;
}

int state_flush(struct consumer *c)
{
    int rc = 0;

    c->flushed_ns = group_mono(c->group);
    mf_list_del(&c->flush);
    if (!c->dirty || !c->stored)
        return 0;
    if (mf_buf_failed(&c->dirty_pages) && (rc = touch_all(c)) != 0) {
        flush_again(c, rc);
        return rc;
    }
    uint64_t *page = (uint64_t *)(void *)c->dirty_pages.ptr;
    size_t n = c->dirty_pages.len / sizeof *page;
    if (n > 1)
        qsort(page, n, sizeof *page, by_number);
    for (size_t i = 0; i < n && rc == 0; i++)
        if (i == 0 || page[i] != page[i - 1])
            rc = write_page(c, page[i]);
    if (rc == 0)
        rc = write_numbers(c);
    if (rc != 0) {
        size_t kept = 0;
        for (size_t i = 0; i < n; i++) /* once each: a disk that fails may do so for long */
            if (i == 0 || page[i] != page[kept - 1])
                page[kept++] = page[i];
        c->dirty_pages.len = kept * sizeof *page;
        flush_again(c, rc);
        return rc;
    }
    mf_buf_clear(&c->dirty_pages);
    c->dirty = false;
    return 0;
}

/* The first that failed, or 0. */
static int flush_all(struct consumers *g)
{
    struct mf_list now, *n;
    int first = 0, rc;

    mf_list_init(&now);
    mf_list_move(&now, &g->flush);
    while ((n = mf_list_pop(&now)) != NULL) {
        rc = state_flush(mf_container(n, struct consumer, flush));
        first = first == 0 ? rc : first;
    }
    return first;
}

void state_flush_fire(void *group)
{
    (void)flush_all(group);
}

void state_touch(struct consumer *c, uint64_t sseq)
{
    struct consumers *g = c->group;
    uint64_t page = sseq / PAGE;
    const uint64_t *last =
        (const uint64_t *)(const void *)(c->dirty_pages.ptr + c->dirty_pages.len);

    if (!c->stored)
        return;
    c->dirty = true;
    if (sseq != 0 && (c->dirty_pages.len == 0 || last[-1] != page))
        mf_buf_append(&c->dirty_pages, &page, sizeof page);
    if (!mf_list_empty(&c->flush))
        return;
    /* One that was quiet is written with this turn; a busy one some milliseconds later. */
    if (group_mono(g) - c->flushed_ns >= DELAY_NS) {
        g->flush_run.fn = state_flush_group;
        loop_defer(g->host->loop, &g->flush_run);
    } else if (mf_list_empty(&g->flush)) {
        loop_timer_arm(g->flush_timer, group_mono(g) + DELAY_NS);
    }
    mf_list_push(&g->flush, &c->flush);
}

/* --- confirmed acks ------------------------------------------------------------------------ */

struct confirm {
    struct mf_list node;
    size_t len;
    char reply[];
};
/* All of one turn; they need no consumer any more.  Made with the first of them, so that answering
 * needs no memory. */
struct confirms {
    struct store_wait wait;
    const struct consumer_host *host;
    struct mf_list list;
};

static void confirmed(struct store_wait *w, int status)
{
    struct confirms *all = mf_container(w, struct confirms, wait);
    struct mf_list *n;

    while ((n = mf_list_pop(&all->list)) != NULL) {
        struct confirm *x = mf_container(n, struct confirm, node);
        struct mf_msg m = {.subject = mf_slice(x->reply, x->len)};
        if (status == 0)
            (void)all->host->deliver(all->host->arg, m.subject, &m);
        free(x);
    }
    free(all);
}

void state_flush_group(struct loop_defer *d)
{
    struct consumers *g = mf_container(d, struct consumers, flush_run);
    struct confirms *all = g->confirms;
    int rc = flush_all(g);

    if (all == NULL)
        return;
    g->confirms = NULL;
    if (rc == 0)
        rc = stream_barrier(g->stream, &all->wait);
    if (rc != 0)
        confirmed(&all->wait, rc);
}

static struct confirms *confirms_of(struct consumers *g)
{
    struct confirms *all = g->confirms;

    if (all == NULL && (all = calloc(1, sizeof *all)) != NULL) {
        mf_list_init(&all->list);
        all->host = g->host;
        all->wait.done = confirmed;
        g->confirms = all;
    }
    return all;
}

void state_confirm(struct consumer *c, struct mf_slice reply)
{
    struct consumers *g = c->group;
    struct confirms *all = confirms_of(g);
    struct confirm *x = all == NULL ? NULL : malloc(sizeof *x + reply.len);

    if (x == NULL)
        return; /* the client will ask again */
    x->len = reply.len;
    memcpy(x->reply, reply.ptr, reply.len);
    mf_list_push(&all->list, &x->node);
    g->flush_run.fn = state_flush_group;
    loop_defer(g->host->loop, &g->flush_run);
}

/* --- deleting ------------------------------------------------------------------------------ */

static void delete_page(void *arg, uint64_t page)
{
    const struct consumer *c = arg;
    char name[64];

    (void)!stream_blob_del(c->group->stream, page_name(name, false, c->id, page), NULL);
    (void)!stream_blob_del(c->group->stream, page_name(name, true, c->id, page), NULL);
}

/* A page is written while something of it waits, or something of it changed since. */
static void delete_pages(struct consumer *c)
{
    const uint64_t *dirty = (const uint64_t *)(const void *)c->dirty_pages.ptr;

    each_page(&c->wait, delete_page, c);
    for (size_t i = 0; i < c->dirty_pages.len / sizeof *dirty; i++)
        delete_page(c, dirty[i]);
}

/* O(what waits); when memory ran out over what changed, all blobs are looked at. */
int state_delete(struct consumer *c)
{
    struct stream *s = c->group->stream;
    char name[64];
    int rc;

    mf_list_del(&c->flush);
    if (mf_buf_failed(&c->dirty_pages))
        (void)touch_all(c); /* else: what is known */
    delete_pages(c);
    (void)!stream_blob_del(s, blob_name(name, "cs/", c->id, ""), NULL);
    rc = stream_blob_del(s, blob_name(name, "c/", c->id, ""), NULL);
    return rc == MF_NOTFOUND ? 0 : rc;
}

/* --- loading ------------------------------------------------------------------------------- */

struct loading {
    struct consumers *g;
    struct mf_error *e;
    struct consumer **by_id; /* all of them, sorted; NULL: no memory for it */
    int rc;
};

static uint64_t id_of(struct mf_slice name, size_t prefix)
{
    char text[17] = "";

    if (name.len >= prefix + 16)
        memcpy(text, name.ptr + prefix, 16);
    return strtoull(text, NULL, 16);
}

static void load_config(void *arg, struct mf_slice name, struct mf_slice bytes)
{
    struct loading *l = arg;
    struct consumer_config cfg;
    struct consumer *c;
    struct mf_error e;

    if (!mf_starts(name, "c/") || l->rc != 0)
        return;
    uint64_t version = le_take(&bytes, 1);
    int64_t created = (int64_t)le_take(&bytes, 8);
    size_t n = le_take(&bytes, 2);
    consumer_config_init(&cfg);
    if (version != VERSION || n == 0 || n > bytes.len ||
        l->g->host->codec.decode(mf_slice(bytes.ptr + n, bytes.len - n), &cfg, &e) != 0) {
        log_error("stream %s: a consumer cannot be read (%.*s): left alone",
                  stream_name(l->g->stream), MF_FMT(name));
        consumer_config_fini(&cfg);
        return;
    }
    if (consumers_find(l->g, mf_slice(bytes.ptr, n)) != NULL) {
        log_error("stream %s: consumer %.*s is there twice: one is left alone",
                  stream_name(l->g->stream), (int)n, (const char *)bytes.ptr);
        consumer_config_fini(&cfg);
        return;
    }
    l->rc = group_room(l->g);
    if (l->rc == 0)
        l->rc = consumer_new(&c, l->g, &cfg, mf_slice(bytes.ptr, n), created);
    if (l->rc != 0) {
        consumer_config_fini(&cfg);
        return;
    }
    c->id = id_of(name, 2);
    c->stored = true;
    group_insert_at(l->g, c);
}

static int id_order(const void *a, const void *b)
{
    return by_number(&(*(struct consumer *const *)a)->id, &(*(struct consumer *const *)b)->id);
}

static void sort_by_id(struct loading *l)
{
    size_t n = l->g->count;

    if (n == 0 || (l->by_id = malloc(n * sizeof(struct consumer *))) == NULL)
        return;
    memcpy(l->by_id, l->g->at, n * sizeof(struct consumer *));
    qsort(l->by_id, n, sizeof(struct consumer *), id_order);
}

static struct consumer *by_id(const struct loading *l, uint64_t id)
{
    struct consumer *const *at = l->by_id != NULL ? l->by_id : l->g->at;
    size_t low = 0, high = l->g->count;

    while (l->by_id != NULL && high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (at[middle]->id <= id)
            low = middle;
        else
            high = middle;
    }
    for (; low < high; low++)
        if (at[low]->id == id)
            return at[low];
    return NULL;
}

static void load_page(void *arg, struct mf_slice name, struct mf_slice bytes)
{
    struct loading *l = arg;
    struct consumer *c;
    char text[24] = "";
    size_t n = name.len > 20 ? name.len - 20 : 0;
    int given = kind_of(name);

    if (given < 0 || n == 0 || n > 16 || (c = by_id(l, id_of(name, 3))) == NULL)
        return;
    memcpy(text, name.ptr + 20, n);
    uint64_t page = strtoull(text, NULL, 16), version = le_take(&bytes, 1);
    while (version == VERSION && bytes.len >= 22) {
        struct pend *e;
        uint64_t sseq = page * PAGE + le_take(&bytes, 2);
        uint32_t count = (uint32_t)le_take(&bytes, 4);
        uint64_t dseq = le_take(&bytes, 8);
        int64_t sent = (int64_t)le_take(&bytes, 8);
        if (pending_find(&c->wait, sseq) != NULL || pending_given(&c->wait, sseq) != NULL)
            continue;
        if (!stream_present(c->group->stream, sseq)) { /* it went, and its consumer was not told */
            c->wait.lost = c->wait.lost || !given;
            state_touch(c, sseq);
            continue;
        }
        c->wait.unsorted = true; /* pages come in any order */
        if (pending_add(&c->wait, sseq, dseq, &e) != 0)
            return;
        e->count = count < INT32_MAX ? count : INT32_MAX;
        e->sent_ns = sent;
        c->wait.redelivered += count > 1;
        if (given)
            pending_give_up(&c->wait, e);
    }
}

/* Numbers are written after pages: what is pending was delivered. */
void state_settle(struct consumer *c, bool listed)
{
    int64_t now = group_now(c->group);
    struct mf_list *pos;

    mf_list_each(pos, &c->wait.order)
    {
        struct pend *e = mf_container(pos, struct pend, order);
        int64_t wait = ack_wait_of(c, e);
        int64_t left = e->sent_ns > now || e->sent_ns < 0 ? wait : wait - (now - e->sent_ns);
        if (e->sseq > c->sseq)
            c->sseq = e->sseq;
        if (e->sseq >= c->next && c->snapshot == NULL && !listed)
            c->next = e->sseq + 1;
        if (e->dseq > c->dseq)
            c->dseq = e->dseq;
        if (pending_await(&c->wait, e, group_after(c->group, left > 0 ? left : 0)) != 0)
            pending_requeue(&c->wait, e);
    }
    /* After the loop: pages may know of later deliveries than the numbers. */
    if (listed && walk_snapshot_again(c) != 0)
        log_error("consumer %s: no memory to list subjects: it goes on with news", c->name);
    ack_floor_after_loss(c);
}

static void load_numbers(struct consumer *c)
{
    struct mf_slice b;
    char name[64];
    bool listed = false;

    pending_sort(&c->wait);
    if (stream_blob_get(c->group->stream, blob_name(name, "cs/", c->id, ""), &b) &&
        le_take(&b, 1) == VERSION && b.len >= 72) {
        c->dseq = le_take(&b, 8);
        c->sseq = le_take(&b, 8);
        c->floor_dseq = le_take(&b, 8);
        c->floor_sseq = le_take(&b, 8);
        c->delivered_ns = (int64_t)le_take(&b, 8);
        c->acked_ns = (int64_t)le_take(&b, 8);
        c->next = le_take(&b, 8);
        c->cfg.pause_until_ns = (int64_t)le_take(&b, 8);
        listed = le_take(&b, 8) != 0;
    } else {
        consumer_start(c);
    }
    state_settle(c, listed);
}

int state_load(struct consumers *g, struct mf_error *e)
{
    struct loading l = {.g = g, .e = e};

    stream_blob_each(g->stream, load_config, &l);
    sort_by_id(&l);
    if (l.rc == 0)
        stream_blob_each(g->stream, load_page, &l);
    free(l.by_id);
    for (size_t i = 0; l.rc == 0 && i < g->count; i++) {
        load_numbers(g->at[i]);
        l.rc = consumer_listen(g->at[i]);
        consumer_recount(g->at[i]);
    }
    return l.rc == 0 ? 0 : mf_fail(e, l.rc, "consumers of stream %s", stream_name(g->stream));
}
