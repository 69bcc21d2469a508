/* consumer_manage.c: CONSUMER.INFO, NAMES, LIST, DELETE, PAUSE, RESET and UNPIN.
 *
 * Happy path: the consumer is found and asked; changes are answered after their commit.
 * Failure: nothing was changed.
 * Order: nats-server reads some requests before it checks the API level and some after; so each
 * handler checks the level itself. */
#include "api/api_impl.h"

#include "base/clock.h"
#include "proto/header.h"
#include "codec/json.h"

#include <stdio.h>
#include <stdlib.h>

#define NAMES_LIMIT 1024
#define LIST_LIMIT  256
#define PAGE_BYTES  ((size_t)4 << 20) /* a page of LIST ends when it is as long as that */

/* --- finding ---------------------------------------------------------------------------------- */

struct consumers *api_call_consumers(struct api_call *call, unsigned token)
{
    struct stream *s = api_call_stream(call, token);
    struct consumers *g = s == NULL ? NULL : js_consumers(s);
    struct js_error e;

    if (s != NULL && g == NULL) {
        js_error_set(&e, JS_STREAM_OFFLINE_REASON, "its consumers could not be loaded");
        api_reply_error(call, &e);
    }
    return g;
}

/* The one CONSUMER.X.<stream>.<consumer> speaks of; NULL: answered, or parked. */
static struct consumer *named_consumer(struct api_call *call)
{
    struct consumers *g = api_call_consumers(call, 2);
    struct consumer *c = g == NULL ? NULL : consumers_find(g, api_call_token(call, 3));
    struct js_error e;

    if (g != NULL && c == NULL) {
        js_error_set(&e, JS_CONSUMER_NOT_FOUND);
        api_reply_error(call, &e);
    }
    return c;
}

/* true: the body is empty.  Otherwise answered. */
static bool must_be_empty(struct api_call *call)
{
    struct js_error e;

    if (api_body_empty(call->body))
        return true;
    js_error_set(&e, JS_NOT_EMPTY_REQUEST);
    api_reply_error(call, &e);
    return false;
}

/* --- counting --------------------------------------------------------------------------------- */

/* The count is known: the request is served from its beginning. */
static void resume_call(struct consumer_op *op, struct consumer *c, const struct js_error *e)
{
    struct api_call *call = mf_container(op, struct api_call, cop);

    (void)c, (void)e; /* deleted meanwhile: the request finds that out by itself */
    if (call->ja->closing)
        api_call_free(call);
    else
        api_call_run(call);
}

/* An answer shows how many messages are pending.  true: that is being counted, the call waits. */
static bool wait_for_count(struct api_call *call, struct consumer *c)
{
    if (c == NULL)
        return false;
    call->cop.done = resume_call;
    return !consumer_settled(c, &call->cop);
}

/* --- INFO ------------------------------------------------------------------------------------- */

void consumer_info_handle(struct api_call *call)
{
    struct consumer *c;

    if (!must_be_empty(call) || !api_call_level(call) || !api_call_enabled(call))
        return;
    c = named_consumer(call);
    if (c == NULL || wait_for_count(call, c))
        return;
    consumer_info_json_write(api_reply_begin(call), c, jetstream_now_ns(call->aa->api->js), true);
    api_reply_end(call);
}

/* --- NAMES and LIST --------------------------------------------------------------------------- */

struct page_request {
    int64_t offset;
};
static const struct json_field page_fields[] = {
    {.name = "offset", .kind = JSON_INT, .offset = offsetof(struct page_request, offset)},
};
static const struct json_type page_type = {"JSApiConsumersRequest", sizeof(struct page_request),
                                           page_fields, MF_COUNT(page_fields)};

/* call->state.  Consumers of followers are not shown.  Consumers may be added and removed between
 * slices: the walk continues after the last name. */
struct page {
    uint64_t at, first, limit, shown;
    int64_t created_ns; /* of the stream */
    bool names, full;
    char behind[256]; /* the last name that was met */
    struct mf_buf text;
    struct jsonw w;
};

static void page_fini(void *state)
{
    mf_buf_fini(&((struct page *)state)->text);
}

static void page_show(struct page *p, struct consumer *c, int64_t now_ns)
{
    if (p->names) {
        jsonw_str(&p->w, NULL, consumer_name(c));
    } else {
        jsonw_object(&p->w, NULL);
        consumer_info_json_write(&p->w, c, now_ns, false);
        jsonw_end(&p->w);
    }
    p->full = ++p->shown == p->limit || p->text.len >= PAGE_BYTES;
}

static void page_reply(struct api_call *call, const struct consumers *g)
{
    struct page *p = call->state;
    uint64_t total = consumers_count(g);
    struct jsonw *w;

    jsonw_end(&p->w);
    if (mf_buf_failed(&p->text)) {
        api_reply_no_memory(call);
        return;
    }
    w = api_reply_begin(call);
    jsonw_u64(w, "total", total);
    jsonw_u64(w, "offset", p->first < total ? p->first : total);
    jsonw_u64(w, "limit", p->limit);
    jsonw_raw(w, "consumers", mf_buf_slice(&p->text));
    api_reply_end(call);
}

/* One slice: from behind the last name to the end of the page. */
static bool page_walk(struct page *p, struct consumers *g, const struct api_account *aa)
{
    int64_t now_ns = jetstream_now_ns(aa->api->js);
    struct consumer *c;

    while (!p->full && (c = consumers_after(g, mf_str(p->behind))) != NULL) {
        size_t before = p->text.len;
        if (!p->names && p->at >= p->first && !consumer_counted(c))
            return true; /* the number of its messages is being counted */
        (void)snprintf(p->behind, sizeof p->behind, "%s", consumer_name(c));
        if (!consumer_config(c)->direct && p->at++ >= p->first)
            page_show(p, c, now_ns);
        if (js_slice_spent(aa->ja, (p->text.len - before) / 128))
            return true;
    }
    return false;
}

static bool page_step(struct api_call *call)
{
    struct page *p = call->state;
    struct stream *s = catalog_find(call->ja->catalog, api_call_token(call, 2));
    struct consumers *g = s == NULL ? NULL : js_consumers(s);
    struct js_error e;

    if (g == NULL || stream_created_ns(s) != p->created_ns) {
        js_error_set(&e, JS_STREAM_NOT_FOUND);
        api_reply_error(call, &e);
        return false;
    }
    if (page_walk(p, g, call->aa))
        return true;
    page_reply(call, g);
    return false;
}

static void page_handle(struct api_call *call, bool names)
{
    struct page_request r = {0};
    struct consumers *g;
    struct page *p;

    if (json_is_document(call->body) && !api_call_read(call, &page_type, &r))
        return;
    g = api_call_consumers(call, 2);
    if (g == NULL || !api_call_heard(call))
        return;
    p = calloc(1, sizeof *p);
    api_call_set_state(call, p, page_fini);
    if (p == NULL) {
        api_reply_no_memory(call);
        return;
    }
    p->names = names;
    p->limit = names ? NAMES_LIMIT : LIST_LIMIT;
    p->first = r.offset < 0 ? 0 : (uint64_t)r.offset;
    p->created_ns = stream_created_ns(consumers_stream(g));
    p->text = MF_BUF_INIT;
    jsonw_begin(&p->w, &p->text, JSONW_COMPACT);
    jsonw_array(&p->w, NULL);
    api_call_slices(call, page_step);
}

void consumer_names_handle(struct api_call *call)
{
    page_handle(call, true);
}

void consumer_list_handle(struct api_call *call)
{
    page_handle(call, false);
}

/* --- DELETE ----------------------------------------------------------------------------------- */

static void delete_done(struct consumer_op *op, struct consumer *c, const struct js_error *e)
{
    struct api_call *call = mf_container(op, struct api_call, cop);

    (void)c; /* deleted */
    if (e != NULL) {
        api_reply_error(call, e);
        return;
    }
    jsonw_bool(api_reply_begin(call), "success", true);
    api_reply_end(call);
}

void consumer_delete_handle(struct api_call *call)
{
    struct consumer *c = must_be_empty(call) ? named_consumer(call) : NULL;

    if (c == NULL)
        return;
    call->cop.done = delete_done;
    consumer_delete(c, &call->cop);
}

/* --- PAUSE ------------------------------------------------------------------------------------ */

struct pause_request {
    int64_t until_ns;
};
static const struct json_field pause_fields[] = {
    {.name = "pause_until", .kind = JSON_TIME, .offset = offsetof(struct pause_request, until_ns)},
};
static const struct json_type pause_type = {"JSApiConsumerPauseRequest",
                                            sizeof(struct pause_request), pause_fields,
                                            MF_COUNT(pause_fields)};

static void pause_done(struct consumer_op *op, struct consumer *c, const struct js_error *e)
{
    struct api_call *call = mf_container(op, struct api_call, cop);
    const struct pause_request *r = call->state;
    int64_t now = jetstream_wall_ns(call->aa->api->js);
    struct jsonw *w;

    if (c == NULL) {
        api_reply_error(call, e);
        return;
    }
    w = api_reply_begin(call);
    jsonw_bool(w, "paused", r->until_ns > now);
    jsonw_time(w, "pause_until", r->until_ns);
    if (r->until_ns > now)
        jsonw_i64(w, "pause_remaining", r->until_ns - now);
    api_reply_end(call);
}

void consumer_pause_handle(struct api_call *call)
{
    struct pause_request r = {CLOCK_ZERO}, *kept;
    struct consumer *c;

    if (json_is_document(call->body) && !api_call_read(call, &pause_type, &r))
        return;
    if (!api_call_level(call) || !api_call_enabled(call) || (c = named_consumer(call)) == NULL)
        return;
    kept = malloc(sizeof *kept);
    api_call_set_state(call, kept, NULL);
    if (kept == NULL) {
        api_reply_no_memory(call);
        return;
    }
    *kept = r;
    call->cop.done = pause_done;
    consumer_pause(c, r.until_ns == CLOCK_ZERO ? 0 : r.until_ns, &call->cop);
}

/* --- RESET ------------------------------------------------------------------------------------ */

struct reset_request {
    uint64_t seq;
};
static const struct json_field reset_fields[] = {
    {.name = "seq", .kind = JSON_U64, .offset = offsetof(struct reset_request, seq)},
};
static const struct json_type reset_type = {"JSApiConsumerResetRequest",
                                            sizeof(struct reset_request), reset_fields,
                                            MF_COUNT(reset_fields)};

/* The consumer itself answers: no counters, no audit. */
static void reset_refused(struct api_call *call, const struct js_error *e)
{
    struct jsonw *w = api_reply_begin(call);

    js_json_error(w, e);
    jsonw_u64(w, "reset_seq", 0);
    api_reply_end_quietly(call);
}

static int reset_consumer(struct api_call *call, struct consumer *c, uint64_t *reset_seq,
                          struct js_error *e)
{
    struct reset_request r = {0};
    struct mf_error why;
    int rc = 0;

    if (!jetstream_level_served(call->aa->api->js, call->hdr))
        return js_error_set(e, JS_REQUIRED_API_LEVEL);
    if (call->body.len > 0)
        rc = json_unmarshal(call->body, &reset_type, &r, &call->mem, &why);
    if (rc != 0 && rc != MF_NOMEM)
        return js_error_set(e, JS_INVALID_JSON, why.text);
    if (rc == 0)
        rc = consumer_reset(c, r.seq, reset_seq, e);
    return rc == MF_NOMEM ? js_error_set(e, JS_INSUFFICIENT_RESOURCES) : rc;
}

/* Nothing was delivered since it was reset. */
static void reset_done(struct consumer_op *op, struct consumer *c, const struct js_error *e)
{
    struct api_call *call = mf_container(op, struct api_call, cop);
    struct consumer_info i;
    struct jsonw *w;

    if (c == NULL) {
        reset_refused(call, e);
        return;
    }
    consumer_info(c, &i);
    w = api_reply_begin(call);
    consumer_info_json_write(w, c, jetstream_now_ns(call->aa->api->js), true);
    jsonw_u64(w, "reset_seq", i.delivered_sseq + 1);
    api_reply_end_quietly(call);
}

void consumer_reset_handle(struct api_call *call)
{
    struct catalog *catalog = call->ja->catalog;
    struct stream *s = catalog == NULL ? NULL : catalog_find(catalog, api_call_token(call, 2));
    struct consumers *g = s == NULL ? NULL : js_consumers(s);
    struct consumer *c = g == NULL ? NULL : consumers_find(g, api_call_token(call, 3));
    uint64_t reset_seq = 0;
    struct mf_slice asked;
    struct js_error e;

    if (c == NULL || call->reply.len == 0) {
        api_call_free(call); /* there is nothing to answer, or nobody to receive it */
        return;
    }
    if (reset_consumer(call, c, &reset_seq, &e) != 0) {
        reset_refused(call, &e);
        return;
    }
    if (header_get(call->hdr, API_IDENTITY, &asked))
        api_stream_identity(s, call->identity);
    call->cop.done = reset_done;
    if (consumer_settled(c, &call->cop))
        reset_done(&call->cop, c, NULL);
}

/* --- UNPIN ------------------------------------------------------------------------------------ */

struct unpin_request {
    char *group;
};
static const struct json_field unpin_fields[] = {
    {.name = "group", .kind = JSON_STR, .offset = offsetof(struct unpin_request, group)},
};
static const struct json_type unpin_type = {"JSApiConsumerUnpinRequest",
                                            sizeof(struct unpin_request), unpin_fields,
                                            MF_COUNT(unpin_fields)};

static int read_unpin(struct api_call *call, struct unpin_request *r, struct js_error *e)
{
    struct mf_error why;
    int rc = json_unmarshal(call->body, &unpin_type, r, &call->mem, &why);

    if (rc == MF_NOMEM)
        return js_error_set(e, JS_INSUFFICIENT_RESOURCES);
    if (rc != 0)
        return js_error_set(e, JS_INVALID_JSON, why.text);
    if (r->group == NULL || *r->group == '\0')
        return js_error_set(e, JS_INVALID_JSON, "consumer group not specified");
    if (!consumer_group_valid(r->group))
        return js_error_set(e, JS_CONSUMER_INVALID_GROUP_NAME);
    return 0;
}

void consumer_unpin_handle(struct api_call *call)
{
    struct unpin_request r = {NULL};
    struct consumer *c;
    struct js_error e;
    int rc;

    if (!api_call_level(call))
        return;
    rc = read_unpin(call, &r, &e);
    if (rc != 0) {
        api_reply_error(call, &e);
        return;
    }
    if (!api_call_enabled(call) || (c = named_consumer(call)) == NULL)
        return;
    rc = consumer_unpin(c, mf_str(r.group), &e);
    if (rc != 0) {
        api_reply_refused(call, rc, &e);
    } else {
        api_reply_begin(call);
        api_reply_end(call);
    }
}
