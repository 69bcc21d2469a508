/* ttl_outlook.c: how many messages expire within an hour and within a day, at /metrics.
 *
 * A scrape does not wait for the count of deadlines: it shows the result of the last look, and
 * starts another one if that is older than AGE_NS.  A look visits the first SHOWN streams by
 * account and name, one tally of the wheel each (stream_ahead.h), in slices.  Without scrapes there
 * is no look.  Streams may be added and removed meanwhile: each is found by name again. */
#include "status/js_pages_impl.h"

#include "base/clock.h"
#include "stream/stream_ahead.h"

#include <stdlib.h>

#define SHOWN  1000u
#define AGE_NS (15 * CLOCK_S)
#define HOURS  24
#define EXACT  10000u /* messages of a stream whose bytes are counted one by one */
#define STEPS  256

struct look {
    struct arena mem;
    struct ttl_soon *rows;
    size_t n, cap;
};
struct ttl_outlook {
    struct js_status *st;
    struct look shown, next; /* the last one that is complete, and the one under way */
    size_t at;               /* of next */
    bool running;
    int64_t began_ns;    /* 0: never */
    const char *account; /* while streams are listed */
    struct stream_ahead *tally;
    struct work_owner owner;
    struct work_task task;
};

static void look_fini(struct look *k)
{
    free(k->rows);
    arena_fini(&k->mem);
    *k = (struct look){.rows = NULL};
}

/* NULL: deleted, or created anew. */
static struct stream *stream_in(struct js_account *ja, const struct ttl_soon *r)
{
    struct stream *s = catalog_find(ja->catalog, mf_str(r->stream));

    return s != NULL && stream_created_ns(s) == r->created_ns ? s : NULL;
}

static struct stream *find_stream(struct js_status *st, const struct ttl_soon *r)
{
    struct account *acc = accounts_get(st->js->accounts, r->account);
    struct js_account *ja = acc == NULL ? NULL : js_account_of(st->js, acc);

    return ja == NULL || ja->closing || ja->catalog == NULL ? NULL : stream_in(ja, r);
}

/* --- a look ----------------------------------------------------------------------------------- */

static void note_sum(struct ttl_soon *r, struct stream *s, const struct store_forecast_sum *sum)
{
    struct store_bucket day = {0};

    for (unsigned i = 0; i < sum->buckets; i++)
        stream_bucket_add(&day, &sum->bucket[i]);
    r->known = true;
    r->msgs[0] = sum->bucket[0].msgs;
    r->msgs[1] = day.msgs;
    r->bytes[0] = stream_bucket_bytes(s, &sum->bucket[0]);
    r->bytes[1] = stream_bucket_bytes(s, &day);
}

static void begin_stream(struct ttl_outlook *o, struct stream *s)
{
    int64_t now_ns = jetstream_now_ns(o->st->js);
    struct store_forecast_opts opts = {.from_ns = now_ns,
                                       .to_ns = now_ns + HOURS * 3600 * CLOCK_S,
                                       .buckets = HOURS,
                                       .exact = EXACT};

    o->tally = stream_forecast_new(s, &opts, MF_SLICE_NONE);
}

/* One step.  true: this stream has more. */
static bool step_stream(struct ttl_outlook *o, struct ttl_soon *r)
{
    struct store_forecast_sum sum;
    struct stream *s;

    if (o->tally == NULL && (s = find_stream(o->st, r)) != NULL)
        begin_stream(o, s);
    if (o->tally == NULL)
        return false;
    if (!stream_ahead_step(o->tally, STEPS))
        return true;
    if (stream_forecast_sum(o->tally, &sum) && (s = find_stream(o->st, r)) != NULL)
        note_sum(r, s, &sum);
    stream_ahead_free(o->tally);
    o->tally = NULL;
    return false;
}

static bool look_slice(struct work_task *t)
{
    struct ttl_outlook *o = mf_container(t, struct ttl_outlook, task);

    while (o->at < o->next.n) {
        if (!step_stream(o, &o->next.rows[o->at]))
            o->at++;
        if (work_spent(o->st->js->loop))
            return true;
    }
    look_fini(&o->shown);
    o->shown = o->next;
    o->next = (struct look){.rows = NULL};
    o->running = false;
    return false;
}

static void list_stream(void *arg, struct stream *s)
{
    struct ttl_outlook *o = arg;
    struct look *k = &o->next;
    struct ttl_soon r;

    if (k->n == k->cap)
        return;
    r = (struct ttl_soon){.account = arena_dup(&k->mem, mf_str(o->account)),
                          .stream = arena_dup(&k->mem, mf_str(stream_name(s))),
                          .created_ns = stream_created_ns(s)};
    if (r.account != NULL && r.stream != NULL)
        k->rows[k->n++] = r;
}

static void look_start(struct ttl_outlook *o, struct js_account *const *at, size_t n)
{
    o->began_ns = loop_mono_ns(o->st->js->loop);
    o->next = (struct look){.rows = calloc(SHOWN, sizeof *o->next.rows)};
    if (o->next.rows == NULL)
        return; /* the next scrape tries again when this one is old */
    o->next.cap = SHOWN;
    for (size_t i = 0; i < n; i++) {
        o->account = account_name(at[i]->account);
        catalog_each(at[i]->catalog, MF_SLICE_NONE, list_stream, o);
    }
    o->at = 0;
    o->running = true;
    work_add(o->st->js->loop, &o->owner, &o->task);
}

/* --- the result ------------------------------------------------------------------------------- */

static int by_name(const void *name, const void *at)
{
    return strcmp(name, account_name((*(struct js_account *const *)at)->account));
}

/* Streams deleted since the look are not shown. */
static void forget_gone(struct look *k, struct js_account *const *at, size_t n)
{
    for (size_t i = 0; i < k->n; i++) {
        struct ttl_soon *r = &k->rows[i];
        struct js_account *const *ja = bsearch(r->account, at, n, sizeof *at, by_name);
        r->known = r->known && ja != NULL && stream_in(*ja, r) != NULL;
    }
}

static struct ttl_outlook *outlook_of(struct js_status *st)
{
    if (st->outlook == NULL && (st->outlook = calloc(1, sizeof *st->outlook)) != NULL)
        *st->outlook = (struct ttl_outlook){
            .st = st, .task = {.run = look_slice, .cause = WORK_PAGE, .what = "TTL outlook"}};
    return st->outlook;
}

const struct ttl_soon *ttl_outlook(struct js_status *st, struct js_account *const *at, size_t n,
                                   size_t *count)
{
    struct ttl_outlook *o = outlook_of(st);

    *count = 0;
    if (o == NULL)
        return NULL;
    forget_gone(&o->shown, at, n);
    if (!o->running && (o->began_ns == 0 || loop_mono_ns(st->js->loop) - o->began_ns >= AGE_NS))
        look_start(o, at, n);
    *count = o->shown.n;
    return o->shown.rows;
}

void ttl_outlook_free(struct js_status *st)
{
    struct ttl_outlook *o = st->outlook;

    if (o == NULL)
        return;
    work_cancel(st->js->loop, &o->task);
    stream_ahead_free(o->tally);
    look_fini(&o->shown);
    look_fini(&o->next);
    free(o);
    st->outlook = NULL;
}
