/* state.c: writes the state of consumers for a restart (state_blob_impl.h has the layout).
 *
 * Written in the turn of a change, or some milliseconds later when there are many, pages before
 * numbers; before the answer when a client waits for the confirmation of its ack.  A crash may lose
 * the last unconfirmed acks, never a confirmed one. */
#include "consumer/consumer_impl.h"
#include "consumer/state_blob_impl.h"

#include "base/le.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

#define DELAY_NS (10 * CLOCK_MS)
#define RETRY_NS (1000 * CLOCK_MS)

/* --- names --------------------------------------------------------------------------------- */

static struct mf_slice page_name(char dst[64], bool given, uint64_t id, uint64_t page)
{
    char rest[24];

    snprintf(rest, sizeof rest, "/%llx", (unsigned long long)page);
    return state_blob_name(dst, state_kinds[given], id, rest);
}

/* --- writing ------------------------------------------------------------------------------- */

int state_write_config(struct consumer *c, struct store_wait *w)
{
    struct mf_buf b = MF_BUF_INIT;
    char name[64];
    int rc;

    le_append(&b, STATE_VERSION, 1);
    le_append(&b, (uint64_t)c->created_ns, 8);
    le_append(&b, strlen(c->name), 2);
    mf_buf_puts(&b, c->name);
    rc = c->set->host->codec.encode(&c->cfg, &b);
    if (rc == 0)
        rc = mf_buf_failed(&b)
                 ? MF_NOMEM
                 : stream_blob_put(c->set->stream, state_blob_name(name, "c/", c->id, ""),
                                   mf_buf_slice(&b), w);
    mf_buf_fini(&b);
    return rc;
}

static void put_entry(struct mf_buf *b, const struct pend *e)
{
    le_append(b, e->sseq % STATE_PAGE, 2);
    le_append(b, e->count, 4);
    le_append(b, e->dseq, 8);
    le_append(b, (uint64_t)e->sent_ns, 8);
}

/* O(all there are), or O(STATE_PAGE) if those are more: one has no place to start from. */
static void put_entries(struct mf_buf *b, const struct pending *p, bool given, uint64_t page)
{
    const struct mf_list *list = given ? &p->given : &p->order, *pos;
    const struct pend *e;

    if ((given ? p->given_up : p->count) > STATE_PAGE) {
        for (uint64_t i = 0; i < STATE_PAGE; i++) {
            uint64_t seq = page * STATE_PAGE + i;
            if ((e = given ? pending_given(p, seq) : pending_find(p, seq)) != NULL)
                put_entry(b, e);
        }
        return;
    }
    for (pos = list->next; pos != list; pos = pos->next) {
        e = mf_container(pos, struct pend, order);
        if (e->sseq / STATE_PAGE > page && !p->unsorted)
            break;
        if (e->sseq / STATE_PAGE == page)
            put_entry(b, e);
    }
}

static int write_kind(struct consumer *c, bool given, uint64_t page)
{
    struct mf_buf b = MF_BUF_INIT;
    char text[64];
    struct mf_slice name = page_name(text, given, c->id, page);
    int rc;

    le_append(&b, STATE_VERSION, 1);
    put_entries(&b, &c->wait, given, page);
    if (mf_buf_failed(&b))
        rc = MF_NOMEM;
    else if (b.len > 1)
        rc = stream_blob_put(c->set->stream, name, mf_buf_slice(&b), NULL);
    else
        rc = stream_blob_del(c->set->stream, name, NULL);
    mf_buf_fini(&b);
    return rc == MF_NOTFOUND ? 0 : rc;
}

/* Given-up messages are written first, so that none is missing from both lists. */
static int write_page(struct consumer *c, uint64_t page)
{
    int rc = write_kind(c, true, page);

    return rc != 0 ? rc : write_kind(c, false, page);
}

static int write_numbers(struct consumer *c)
{
    struct mf_buf b = MF_BUF_INIT;
    char name[64];
    const uint64_t n[] = {c->delivered.dseq,
                          c->delivered.sseq,
                          c->floor.dseq,
                          c->floor.sseq,
                          (uint64_t)c->delivered.at_ns,
                          (uint64_t)c->floor.acked_ns,
                          c->todo.next,
                          (uint64_t)c->cfg.pause_until_ns,
                          c->list.active};
    int rc;

    le_append(&b, STATE_VERSION, 1);
    for (size_t i = 0; i < MF_COUNT(n); i++)
        le_append(&b, n[i], 8);
    rc = mf_buf_failed(&b)
             ? MF_NOMEM
             : stream_blob_put(c->set->stream, state_blob_name(name, "cs/", c->id, ""),
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
    int kind = state_kind_of(name);

    (void)bytes;
    if (kind < 0)
        return;
    size_t n = state_blob_name(prefix, state_kinds[kind], all->c->id, "/").len;
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

static uint64_t page_at(const struct mf_list *pos)
{
    return mf_container(pos, struct pend, order)->sseq / STATE_PAGE;
}

/* Visits the pages of a sorted list, and empty pages between them if that needs fewer steps. */
static void each_page_of(const struct mf_list *list, size_t n,
                         void (*visit)(void *arg, uint64_t page), void *arg)
{
    uint64_t last = UINT64_MAX;

    if (n > 0 && page_at(list->prev) - page_at(list->next) < n) {
        for (uint64_t page = page_at(list->next); page <= page_at(list->prev); page++)
            visit(arg, page);
        return;
    }
    for (const struct mf_list *pos = list->next; pos != list; pos = pos->next) {
        if (page_at(pos) != last)
            visit(arg, page_at(pos));
        last = page_at(pos);
    }
}

/* Those of all that wait or were given up; one may come more than once.  O(pages, or all). */
static void each_page(const struct pending *p, void (*visit)(void *arg, uint64_t page), void *arg)
{
    each_page_of(&p->order, p->unsorted ? 0 : p->count, visit, arg);
    each_page_of(&p->given, p->unsorted ? 0 : p->given_up, visit, arg);
}

/* The write is tried again soon: an ack must not be confirmed before it is stored. */
static void flush_again(struct consumer *c, int rc)
{
    struct consumers *g = c->set;

    log_warn("consumer %s: its state is not written: %s", c->name, mf_err_text(rc));
    mf_list_push(&g->flush, &c->state.flush);
    if (!g->closing)
        loop_timer_arm(g->flush_timer, consumers_mono(g) + RETRY_NS);
}

/* Which pages changed is not known, for want of memory: all that are there, and all that should be.
 */
static int touch_all(struct consumer *c)
{
    struct all_pages all = {.c = c};

    stream_blob_each(c->set->stream, note_number, &all);
    each_page(&c->wait, note_page, &all);
    if (mf_buf_failed(&all.pages)) {
        mf_buf_fini(&all.pages);
        return MF_NOMEM;
    }
    mf_buf_fini(&c->state.pages);
    c->state.pages = all.pages;
    return 0;
}

int state_flush(struct consumer *c)
{
    int rc = 0;

    c->state.flushed_ns = consumers_mono(c->set);
    mf_list_del(&c->state.flush);
    if (!c->state.dirty || !c->stored)
        return 0;
    if (mf_buf_failed(&c->state.pages) && (rc = touch_all(c)) != 0) {
        flush_again(c, rc);
        return rc;
    }
    uint64_t *page = (uint64_t *)(void *)c->state.pages.ptr;
    size_t n = c->state.pages.len / sizeof *page;
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
        c->state.pages.len = kept * sizeof *page;
        flush_again(c, rc);
        return rc;
    }
    mf_buf_clear(&c->state.pages);
    c->state.dirty = false;
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
        rc = state_flush(mf_container(n, struct consumer, state.flush));
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
    struct consumers *g = c->set;
    uint64_t page = sseq / STATE_PAGE;
    const uint64_t *pages = (const uint64_t *)(const void *)c->state.pages.ptr;
    size_t n = c->state.pages.len / sizeof *pages;

    if (!c->stored)
        return;
    c->state.dirty = true;
    if (sseq != 0 && (n == 0 || pages[n - 1] != page))
        mf_buf_append(&c->state.pages, &page, sizeof page);
    if (!mf_list_empty(&c->state.flush))
        return;
    /* One that was quiet is written with this turn; a busy one some milliseconds later. */
    if (consumers_mono(g) - c->state.flushed_ns >= DELAY_NS) {
        g->flush_run.fn = state_flush_group;
        loop_defer(g->host->loop, &g->flush_run);
    } else if (mf_list_empty(&g->flush)) {
        loop_timer_arm(g->flush_timer, consumers_mono(g) + DELAY_NS);
    }
    mf_list_push(&g->flush, &c->state.flush);
}

static void touch_page(void *arg, uint64_t page)
{
    /* Page 0 holds no sequence 0, which would name no page. */
    state_touch(arg, page == 0 ? 1 : page * STATE_PAGE);
}

void state_touch_waiting(struct consumer *c)
{
    each_page(&c->wait, touch_page, c);
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

static void send_confirms(struct store_wait *w, int status)
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
        send_confirms(&all->wait, rc);
}

static struct confirms *confirms_of(struct consumers *g)
{
    struct confirms *all = g->confirms;

    if (all == NULL && (all = calloc(1, sizeof *all)) != NULL) {
        mf_list_init(&all->list);
        all->host = g->host;
        all->wait.done = send_confirms;
        g->confirms = all;
    }
    return all;
}

void state_confirm(struct consumer *c, struct mf_slice reply)
{
    struct consumers *g = c->set;
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

    (void)!stream_blob_del(c->set->stream, page_name(name, false, c->id, page), NULL);
    (void)!stream_blob_del(c->set->stream, page_name(name, true, c->id, page), NULL);
}

/* A page is written while something of it waits, or something of it changed since. */
static void delete_pages(struct consumer *c)
{
    const uint64_t *dirty = (const uint64_t *)(const void *)c->state.pages.ptr;

    each_page(&c->wait, delete_page, c);
    for (size_t i = 0; i < c->state.pages.len / sizeof *dirty; i++)
        delete_page(c, dirty[i]);
}

/* O(what waits); when memory ran out over what changed, all blobs are looked at. */
int state_delete(struct consumer *c)
{
    struct stream *s = c->set->stream;
    char name[64];
    int rc;

    mf_list_del(&c->state.flush);
    if (mf_buf_failed(&c->state.pages))
        (void)touch_all(c); /* else: what is known */
    delete_pages(c);
    (void)!stream_blob_del(s, state_blob_name(name, "cs/", c->id, ""), NULL);
    rc = stream_blob_del(s, state_blob_name(name, "c/", c->id, ""), NULL);
    return rc == MF_NOTFOUND ? 0 : rc;
}
