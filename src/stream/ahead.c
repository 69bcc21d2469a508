/* ahead.c: looking ahead at the ends of messages (stream_ahead.h). */
#include "stream/lifetime_impl.h"

#include "stream/stream_ahead.h"

#include <stdlib.h>

struct stream_ahead {
    struct mf_list link; /* stream.looks */
    struct stream *s;
    struct store_page *page; /* one of these two; NULL: the stream was closed */
    struct store_forecast *tally;
    size_t filter_len;
    char filter[];
};

static struct stream_ahead *ahead_new(struct stream *s, struct mf_slice filter)
{
    struct stream_ahead *a = calloc(1, sizeof *a + filter.len);

    if (a == NULL)
        return NULL;
    a->s = s;
    a->filter_len = filter.len;
    if (filter.len > 0)
        memcpy(a->filter, filter.ptr, filter.len);
    mf_list_push(&s->looks, &a->link);
    return a;
}

static bool is_wanted(void *arg, uint64_t seq)
{
    struct stream_ahead *a = arg;

    return subject_match(mf_slice(a->filter, a->filter_len), store_key_at(a->s->store, seq));
}

struct stream_ahead *stream_page_new(struct stream *s, struct store_at after, int64_t to_ns,
                                     size_t limit, struct mf_slice filter)
{
    struct stream_ahead *a = ahead_new(s, filter);

    if (a == NULL)
        return NULL;
    (void)stream_now(s);
    a->page = store_page_new(s->store, after, to_ns, limit, filter.len > 0 ? is_wanted : NULL, a);
    if (a->page != NULL)
        return a;
    stream_ahead_free(a);
    return NULL;
}

struct stream_ahead *stream_forecast_new(struct stream *s, const struct store_forecast_opts *o,
                                         struct mf_slice filter)
{
    struct stream_ahead *a = ahead_new(s, filter);
    struct store_forecast_opts all = *o;

    if (a == NULL)
        return NULL;
    (void)stream_now(s);
    all.want = filter.len > 0 ? is_wanted : NULL;
    all.arg = a;
    if ((a->tally = store_forecast_new(s->store, &all)) != NULL)
        return a;
    stream_ahead_free(a);
    return NULL;
}

bool stream_ahead_step(struct stream_ahead *a, size_t steps)
{
    if (a->page != NULL)
        return store_page_step(a->page, steps);
    return a->tally == NULL || store_forecast_step(a->tally, steps);
}

size_t stream_page_items(struct stream_ahead *a, const struct store_at **items, bool *more,
                         struct store_at *next)
{
    *more = false;
    return a->page == NULL ? 0 : store_page_items(a->page, items, more, next);
}

bool stream_forecast_sum(const struct stream_ahead *a, struct store_forecast_sum *out)
{
    if (a->tally != NULL)
        store_forecast_sum(a->tally, out);
    return a->tally != NULL;
}

static void let_go(struct stream_ahead *a)
{
    store_page_free(a->page);
    store_forecast_free(a->tally);
    a->page = NULL;
    a->tally = NULL;
    mf_list_del(&a->link);
    mf_list_init(&a->link);
}

void stream_ahead_free(struct stream_ahead *a)
{
    if (a == NULL)
        return;
    let_go(a);
    free(a);
}

void ahead_stop(struct stream *s)
{
    struct mf_list *n;

    while ((n = mf_list_first(&s->looks)) != NULL)
        let_go(mf_container(n, struct stream_ahead, link));
}

uint64_t stream_next_without_deadline(struct stream *s, bool infinite, uint64_t *from_seq,
                                      size_t *steps, bool *more)
{
    stream_look_at_clock(s);
    return store_next_without_deadline(s->store, infinite, from_seq, steps, more);
}

uint64_t stream_bucket_bytes(const struct stream *s, const struct store_bucket *b)
{
    return limits_sum(s, b->bytes, b->msgs, b->flagged);
}

void stream_lives(struct stream *s, struct stream_lives *out)
{
    struct store_lives l;
    uint64_t msgs, bytes, last;

    store_lives(s->store, &l);
    store_accepted(s->store, &msgs, &bytes, &last);
    *out = (struct stream_lives){.with = l.deadlines,
                                 .infinite = l.infinite,
                                 .pinned = l.pinned,
                                 .markers = store_accepted_flagged(s->store, 0),
                                 .without = msgs - l.deadlines - l.infinite};
}

uint64_t stream_overdue(struct stream *s, struct mf_slice filter)
{
    stream_look_at_clock(s);
    return store_count_overdue(s->store, filter, 0, UINT64_MAX);
}

int64_t stream_next_expiry(const struct stream *s)
{
    int64_t next = store_next_deadline(s->store);

    return next == INT64_MAX ? 0 : next;
}
