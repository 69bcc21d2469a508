/* ttl_list.c: LIST: messages by the time of their end, or those without one.
 *
 * Happy path: the request becomes a page (stream_ahead.h) that is collected in slices; then its
 * messages are shown one by one, those that are not in memory read from disk in between.  The page
 * of messages without an end is collected and shown in one go, in the order of sequences. */
#include "api/ttl_api_impl.h"

#include "base/clock.h"
#include "stream/stream_ahead.h"
#include "subject/subject.h"

#include <stdlib.h>

#define PAGE_DEFAULT 100
#define PAGE_MAX     1000
#define STEPS        256 /* between two looks at the clock */

struct list_from {
    int64_t expires_ns;
    bool has_expires;
    uint64_t seq;
};
struct list_request {
    char *within, *filter, *state;
    int64_t limit;
    struct list_from *from;
};
static const struct json_field from_fields[] = {
    {.name = "expires",
     .kind = JSON_TIME,
     .offset = offsetof(struct list_from, expires_ns),
     .set_offset = offsetof(struct list_from, has_expires)},
    {.name = "seq", .kind = JSON_U64, .offset = offsetof(struct list_from, seq)},
};
static const struct json_type from_type = {"TTLListFrom", sizeof(struct list_from), from_fields,
                                           MF_COUNT(from_fields)};
#define FIELD(json, sort, member)                                                                  \
    {                                                                                              \
        .name = (json), .kind = (sort), .offset = offsetof(struct list_request, member)            \
    }
static const struct json_field list_fields[] = {
    FIELD("within", JSON_STR, within),
    FIELD("filter", JSON_STR, filter),
    FIELD("state", JSON_STR, state),
    FIELD("limit", JSON_INT, limit),
    {.name = "from",
     .kind = JSON_POINTER,
     .offset = offsetof(struct list_request, from),
     .type = &from_type},
};
static const struct json_type list_type = {"TTLListRequest", sizeof(struct list_request),
                                           list_fields, MF_COUNT(list_fields)};

enum list_state { LIST_WITH, LIST_WITHOUT, LIST_INFINITE };

struct list {
    struct api_call *call;
    struct list_request r;
    enum list_state state;
    int64_t created_ns; /* of its stream */
    struct stream_ahead *page;
    bool collected;
    uint64_t *seqs; /* of the page */
    size_t n, at;
    struct store_at next;
    uint64_t from_seq;
    bool more, writing;
    uint64_t shown;
};

static void list_fini(void *state)
{
    struct list *l = state;

    stream_ahead_free(l->page);
    free(l->seqs);
}

static struct stream *stream_of(struct list *l)
{
    struct api_call *call = l->call;
    struct stream *s =
        call->ja->closing ? NULL : catalog_find(call->ja->catalog, api_call_token(call, 1));

    return s != NULL && stream_created_ns(s) == l->created_ns ? s : NULL;
}

/* --- the answer ------------------------------------------------------------------------------- */

static void begin_items(struct list *l, struct stream *s)
{
    struct jsonw *w = api_reply_begin(l->call);
    struct stream_lives lives;

    l->writing = true;
    jsonw_str(w, "stream", stream_name(s));
    stream_lives(s, &lives);
    if (l->r.filter == NULL && l->r.within == NULL)
        jsonw_u64(w, "total",
                  l->state == LIST_WITH      ? lives.with
                  : l->state == LIST_WITHOUT ? lives.without
                                             : lives.infinite);
    if (lives.markers > 0)
        jsonw_u64(w, "markers", lives.markers);
    jsonw_array(w, "items");
}

static void write_item(struct list *l, struct stream *s, const struct stream_msg *m)
{
    struct jsonw *w = &l->call->w;
    int64_t now_ns = jetstream_now_ns(l->call->aa->api->js), left_ms;
    struct stream_lifetime life;

    if (!stream_lifetime(s, m->seq, &life))
        return; /* it ended while the others were shown */
    left_ms = (life.deadline_ns - now_ns) / CLOCK_MS;
    jsonw_object(w, NULL);
    jsonw_slice(w, "subject", m->subject);
    jsonw_u64(w, "seq", m->seq);
    jsonw_time(w, "time", m->ts_ns);
    if (life.deadline_ns != 0) {
        jsonw_time(w, "expires", life.deadline_ns);
        jsonw_i64(w, "left_ms", left_ms > 0 ? left_ms : 1);
    }
    jsonw_bool(w, "pinned", life.pinned);
    if (life.tombstone)
        jsonw_bool(w, "tombstone", true);
    jsonw_u64(w, "size", stream_size_of(s, m->subject.len, m->hdr.len, m->payload.len));
    jsonw_end(w);
    l->shown++;
}

static void end_items(struct list *l)
{
    struct jsonw *w = &l->call->w;

    jsonw_end(w);
    jsonw_u64(w, "count", l->shown);
    if (l->more) {
        jsonw_object(w, "next");
        if (l->state == LIST_WITH)
            jsonw_time(w, "expires", l->next.deadline_ns);
        jsonw_u64(w, "seq", l->next.seq);
        jsonw_end(w);
    }
    api_reply_end_quietly(l->call);
}

/* --- showing ---------------------------------------------------------------------------------- */

static bool list_step(struct api_call *call);

static void finish_load(struct stream_load *m, int status)
{
    struct api_call *call = mf_container(m, struct api_call, load);
    struct list *l = call->state;
    struct stream *s = stream_of(l);

    if (s == NULL) {
        ttl_refuse(call, JS_STREAM_NOT_FOUND);
        return;
    }
    if (status == 0)
        write_item(l, s, &m->msg);
    api_call_slices(call, list_step);
}

/* false: it is being read. */
static bool show_message(struct list *l, struct stream *s, uint64_t seq)
{
    struct stream_msg m;
    int rc = stream_get(s, seq, &m);

    if (rc == 0) {
        write_item(l, s, &m);
        stream_msg_end(&m);
    }
    if (rc != MF_AGAIN)
        return true;
    api_call_dequeue(l->call);
    l->call->load = (struct stream_load){.seq = seq, .done = finish_load};
    if (stream_load(s, &l->call->load) == 0)
        return false;
    api_call_slices(l->call, list_step);
    return true;
}

/* --- collecting ------------------------------------------------------------------------------- */

static bool collect_by_deadline(struct list *l)
{
    const struct store_at *items;

    if (!stream_ahead_step(l->page, STEPS))
        return false;
    l->n = stream_page_items(l->page, &items, &l->more, &l->next);
    for (size_t i = 0; i < l->n; i++)
        l->seqs[i] = items[i].seq;
    return true;
}

static bool matches_filter(struct list *l, struct stream *s, uint64_t seq)
{
    return l->r.filter == NULL || subject_match(mf_str(l->r.filter), stream_subject_at(s, seq));
}

static bool collect_endless(struct list *l, struct stream *s)
{
    size_t steps = STEPS;
    bool more = true;

    while (steps > 0 && more) {
        uint64_t seq =
            stream_next_without_deadline(s, l->state == LIST_INFINITE, &l->from_seq, &steps, &more);
        if (seq == 0)
            return !more;
        if (l->n == (size_t)l->r.limit) {
            l->more = true;
            l->next.seq = l->seqs[l->n - 1];
            return true;
        }
        if (matches_filter(l, s, seq))
            l->seqs[l->n++] = seq;
        l->from_seq = seq + 1;
    }
    return false;
}

static bool list_step(struct api_call *call)
{
    struct list *l = call->state;
    struct stream *s = stream_of(l);

    if (s == NULL) {
        ttl_refuse(call, JS_STREAM_NOT_FOUND);
        return false;
    }
    do {
        if (!l->collected)
            l->collected = l->state == LIST_WITH ? collect_by_deadline(l) : collect_endless(l, s);
        else if (!l->writing)
            begin_items(l, s);
        else if (l->at == l->n) {
            end_items(l);
            return false;
        } else if (!show_message(l, s, l->seqs[l->at++]))
            return false;
    } while (!js_slice_spent(call->ja, 1));
    return true;
}

/* --- the request ------------------------------------------------------------------------------ */

/* NULL: it is as it must be. */
static const char *find_mistake(struct list *l)
{
    static const char *const states[] = {"with", "without", "infinite"};
    struct list_request *r = &l->r;
    size_t i = 0;

    r->filter = r->filter != NULL && r->filter[0] != '\0' ? r->filter : NULL;
    r->within = r->within != NULL && r->within[0] != '\0' ? r->within : NULL;
    while (r->state != NULL && r->state[0] != '\0' && i < MF_COUNT(states) &&
           strcmp(r->state, states[i]) != 0)
        i++;
    l->state = (enum list_state)i;
    if (i == MF_COUNT(states))
        return "state must be with, without or infinite";
    if (r->limit < 1 || r->limit > PAGE_MAX)
        return "limit must be 1 to 1000";
    if (r->filter != NULL && !subject_valid(mf_str(r->filter)))
        return TTL_BAD_FILTER;
    return r->within != NULL && l->state != LIST_WITH ? "within goes with state with alone" : NULL;
}

/* False: answered. */
static bool start_page(struct list *l, struct stream *s)
{
    struct store_at after = {0, 0};
    int64_t to_ns = INT64_MAX, within;

    if (l->r.within != NULL) {
        if (policy_parse_duration(mf_str(l->r.within), &within) != 0) {
            ttl_refuse_request(l->call, "within must be a duration of 1s to 36500d");
            return false;
        }
        to_ns = jetstream_now_ns(l->call->aa->api->js) + within;
    }
    if (l->r.from != NULL)
        after =
            (struct store_at){l->r.from->has_expires ? l->r.from->expires_ns : 0, l->r.from->seq};
    l->page = stream_page_new(s, after, to_ns, (size_t)l->r.limit, mf_str(l->r.filter));
    if (l->page != NULL)
        return true;
    api_reply_no_memory(l->call); /* frees l */
    return false;
}

void ttl_list_handle(struct api_call *call)
{
    struct list *l = calloc(1, sizeof *l);
    const char *why;
    struct stream *s;

    api_call_set_state(call, l, list_fini);
    if (l == NULL) {
        api_reply_no_memory(call);
        return;
    }
    *l = (struct list){.call = call, .r = {.limit = PAGE_DEFAULT}};
    if (!ttl_read(call, &list_type, &l->r))
        return;
    if ((why = find_mistake(l)) != NULL) {
        ttl_refuse_request(call, why);
        return;
    }
    if ((s = api_call_stream(call, 1)) == NULL)
        return;
    l->created_ns = stream_created_ns(s);
    l->from_seq = l->r.from == NULL             ? 1
                  : l->r.from->seq < UINT64_MAX ? l->r.from->seq + 1
                                                : UINT64_MAX;
    if ((l->seqs = calloc((size_t)l->r.limit, sizeof *l->seqs)) == NULL)
        api_reply_no_memory(call);
    else if ((l->state != LIST_WITH || start_page(l, s)) && api_call_heard(call))
        api_call_slices(call, list_step);
}
