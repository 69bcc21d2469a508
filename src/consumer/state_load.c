/* state_load.c: consumers as they were when the server ended. */
#include "consumer/consumer_impl.h"
#include "consumer/state_blob_impl.h"

#include "base/le.h"
#include "base/log.h"

#include <stdlib.h>

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
    if (version != STATE_VERSION || n == 0 || n > bytes.len ||
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
    l->rc = consumers_reserve(l->g);
    if (l->rc == 0)
        l->rc = consumer_new(&c, l->g, &cfg, mf_slice(bytes.ptr, n), created);
    if (l->rc != 0) {
        consumer_config_fini(&cfg);
        return;
    }
    c->id = id_of(name, 2);
    c->stored = true;
    consumers_insert(l->g, c);
}

static int id_order(const void *a, const void *b)
{
    uint64_t x = (*(struct consumer *const *)a)->id, y = (*(struct consumer *const *)b)->id;

    return (x > y) - (x < y);
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
    int given = state_kind_of(name);

    if (given < 0 || n == 0 || n > 16 || (c = by_id(l, id_of(name, 3))) == NULL)
        return;
    memcpy(text, name.ptr + 20, n);
    uint64_t page = strtoull(text, NULL, 16), version = le_take(&bytes, 1);
    while (version == STATE_VERSION && bytes.len >= 22) {
        struct pend *e;
        uint64_t sseq = page * STATE_PAGE + le_take(&bytes, 2);
        uint32_t count = (uint32_t)le_take(&bytes, 4);
        uint64_t dseq = le_take(&bytes, 8);
        int64_t sent = (int64_t)le_take(&bytes, 8);
        if ((e = pending_find(&c->wait, sseq)) != NULL || pending_given(&c->wait, sseq) != NULL) {
            if (given && e != NULL) /* written before it was taken from the others */
                pending_give_up(&c->wait, e);
            state_touch(c, sseq);
            continue;
        }
        if (!stream_present(c->set->stream, sseq)) { /* removed without a notification */
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
    int64_t now = consumers_now(c->set);
    struct mf_list *pos;

    mf_list_each(pos, &c->wait.order)
    {
        struct pend *e = mf_container(pos, struct pend, order);
        int64_t wait = ack_wait_of(c, e);
        int64_t left = e->sent_ns > now || e->sent_ns < 0 ? wait : wait - (now - e->sent_ns);
        if (e->sseq > c->delivered.sseq)
            c->delivered.sseq = e->sseq;
        if (e->sseq >= c->todo.next && !listed)
            c->todo.next = e->sseq + 1;
        if (e->dseq > c->delivered.dseq)
            c->delivered.dseq = e->dseq;
        if (pending_await(&c->wait, e, consumers_delay(c->set, left > 0 ? left : 0)) != 0)
            pending_requeue(&c->wait, e);
    }
    /* After the loop: pages may know of later deliveries than the numbers. */
    if (listed)
        backlog_begin_list(c, c->delivered.sseq + 1, c->todo.next - 1);
    ack_floor_after_loss(c);
}

static void load_numbers(struct consumer *c)
{
    struct mf_slice b;
    char name[64];
    bool listed = false;

    pending_sort(&c->wait);
    if (stream_blob_get(c->set->stream, state_blob_name(name, "cs/", c->id, ""), &b) &&
        le_take(&b, 1) == STATE_VERSION && b.len >= 72) {
        c->delivered.dseq = le_take(&b, 8);
        c->delivered.sseq = le_take(&b, 8);
        c->floor.dseq = le_take(&b, 8);
        c->floor.sseq = le_take(&b, 8);
        c->delivered.at_ns = (int64_t)le_take(&b, 8);
        c->floor.acked_ns = (int64_t)le_take(&b, 8);
        c->todo.next = le_take(&b, 8);
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
        consumer_recount(g->at[i]);
    }
    return l.rc == 0 ? 0 : mf_fail(e, l.rc, "consumers of stream %s", stream_name(g->stream));
}
