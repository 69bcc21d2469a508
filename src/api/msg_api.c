/* msg_api.c: STREAM.MSG.GET and STREAM.MSG.DELETE.
 *
 * Happy path of GET: the request becomes a sequence (by time: a search that may have to read; by
 * pattern: a search in slices), the message is taken from memory, or loaded from disk, and
 * answered. While it waits the stream may go away: it is looked up by name again before it is
 * touched. */
#include "api/api_impl.h"
#include "api/ttl_api_impl.h"
#include "jetstream/direct.h"

#include <stdlib.h>

static void refuse_call(struct api_call *call, enum js_err id)
{
    struct js_error e;

    js_error_set(&e, id);
    api_reply_error(call, &e);
}

/* --- GET: the request ------------------------------------------------------------------------- */

struct get_request {
    uint64_t seq, up_to_seq;
    char *last, *next;
    int64_t batch, max_bytes;
    int64_t start_ns, up_to_ns;
    bool by_time, no_hdr;
    struct json_strs multi_last;
};
#define GET_FIELD(json, sort, member)                                                              \
    {                                                                                              \
        .name = (json), .kind = (sort), .offset = offsetof(struct get_request, member)             \
    }
static const struct json_field get_fields[] = {
    GET_FIELD("seq", JSON_U64, seq),
    GET_FIELD("last_by_subj", JSON_STR, last),
    GET_FIELD("next_by_subj", JSON_STR, next),
    GET_FIELD("batch", JSON_INT, batch),
    GET_FIELD("max_bytes", JSON_INT, max_bytes),
    {.name = "start_time",
     .kind = JSON_TIME,
     .offset = offsetof(struct get_request, start_ns),
     .set_offset = offsetof(struct get_request, by_time)},
    GET_FIELD("multi_last", JSON_STRS, multi_last),
    GET_FIELD("up_to_seq", JSON_U64, up_to_seq),
    GET_FIELD("up_to_time", JSON_TIME, up_to_ns),
    GET_FIELD("no_hdr", JSON_BOOL, no_hdr),
};
static const struct json_type get_type = {"JSApiMsgGetRequest", sizeof(struct get_request),
                                          get_fields, MF_COUNT(get_fields)};

/* Lives in call->state while the stream works. */
struct get_state {
    struct stream_seek seek;
    struct stream_find *find; /* the search by pattern; NULL: none */
    int64_t created_ns;       /* of its stream */
    struct api_call *call;
    struct get_request r;
};

static void get_fini(void *state)
{
    stream_find_free(((struct get_state *)state)->find);
}

static bool has_conflict(const struct get_request *r)
{
    bool last = mf_has_text(r->last), next = mf_has_text(r->next);

    return r->batch > 0 || r->max_bytes > 0 || (r->seq > 0 && last) ||
           (r->seq == 0 && !last && !next && !r->by_time) || (r->seq > 0 && r->by_time) ||
           (r->by_time && last) || (last && next);
}

/* --- GET: the answer -------------------------------------------------------------------------- */

/* The header of the message with its time left, in `room`. */
static struct mf_slice shown_header(struct api_call *call, struct stream *s,
                                    const struct stream_msg *m, struct mf_buf *room)
{
    char text[STREAM_LIFETIME_HEADERS];
    struct stream_lifetime life;

    if (m->hdr.len > 2)
        mf_buf_append(room, m->hdr.ptr, m->hdr.len - 2);
    else
        mf_buf_puts(room, "NATS/1.0\r\n");
    mf_buf_append(room, text,
                  stream_put_lifetime(text, stream_lifetime_of(s, m, &life),
                                      jetstream_now_ns(call->aa->api->js)));
    mf_buf_puts(room, "\r\n");
    call->out.failed = call->out.failed || mf_buf_failed(room);
    return mf_buf_slice(room);
}

/* The message is in the answer when this returns: it is not needed to send that. */
static void get_write(struct get_state *g, struct stream *s, const struct stream_msg *m)
{
    struct api_call *call = g->call;
    struct jsonw *w = api_reply_begin(call);
    struct mf_buf room = MF_BUF_INIT;
    struct mf_slice hdr = m->hdr;

    if (!g->r.no_hdr && direct_shows_life(call->hdr))
        hdr = shown_header(call, s, m, &room);

    jsonw_object(w, "message");
    jsonw_slice(w, "subject", m->subject);
    jsonw_u64(w, "seq", m->seq);
    if (hdr.len > 0 && !g->r.no_hdr)
        base64_json_write(w, "hdrs", hdr);
    if (m->payload.len > 0)
        base64_json_write(w, "data", m->payload);
    jsonw_time(w, "time", m->ts_ns);
    jsonw_end(w);
    mf_buf_fini(&room);
}

static void get_loaded(struct stream_load *l, int status)
{
    struct api_call *call = mf_container(l, struct api_call, load);
    struct get_state *g = call->state;

    if (status != 0) {
        refuse_call(call, status == MF_NOMEM ? JS_INSUFFICIENT_RESOURCES : JS_NO_MESSAGE_FOUND);
        return;
    }
    get_write(g, l->stream, &l->msg);
    if (mf_has_text(g->r.last))
        stream_slide(l->stream, &l->msg);
    api_reply_end_quietly(call);
}

static void get_seq(struct get_state *g, struct stream *s, uint64_t seq)
{
    struct stream_msg m;
    int rc = seq == 0 ? MF_NOTFOUND : stream_get(s, seq, &m);

    if (rc == 0) {
        get_write(g, s, &m);
        if (mf_has_text(g->r.last))
            stream_slide(s, &m);
        stream_msg_end(&m);
        api_reply_end_quietly(g->call);
        return;
    }
    if (rc == MF_AGAIN) {
        g->call->load.seq = seq;
        g->call->load.done = get_loaded;
        rc = stream_load(s, &g->call->load);
        if (rc == 0)
            return;
    }
    refuse_call(g->call, rc == MF_NOMEM ? JS_INSUFFICIENT_RESOURCES : JS_NO_MESSAGE_FOUND);
}

static bool find_step(struct api_call *call)
{
    struct get_state *g = call->state;
    struct stream *s = catalog_find(call->ja->catalog, api_call_token(call, 3));
    uint64_t seq;

    if (s == NULL || stream_created_ns(s) != g->created_ns) {
        refuse_call(call, JS_STREAM_NOT_FOUND);
        return false;
    }
    do {
        if (stream_find_step(g->find, &seq)) {
            api_call_dequeue(call); /* it may have to wait for the disk */
            get_seq(g, s, seq);
            return false;
        }
    } while (!js_slice_spent(call->ja, 1));
    return true;
}

/* A message found by the first steps is answered at once. */
static void get_search(struct get_state *g, struct stream *s, struct stream_find *find)
{
    uint64_t seq;

    g->find = find;
    g->created_ns = stream_created_ns(s);
    if (find == NULL)
        api_reply_no_memory(g->call);
    else if (stream_find_step(find, &seq))
        get_seq(g, s, seq);
    else if (js_subject_heard(g->call->ja, g->call->reply))
        api_call_slices(g->call, find_step);
    else
        api_call_free(g->call); /* the reply has no subscriber, and it is not counted */
}

/* The message, or the next one of a filter from there on. */
static void get_from(struct get_state *g, struct stream *s, uint64_t seq)
{
    if (seq > 0 && mf_has_text(g->r.next))
        get_search(g, s, stream_find_next(s, mf_str(g->r.next), seq));
    else
        get_seq(g, s, seq);
}

static void get_found(struct stream_seek *k, uint64_t seq)
{
    struct get_state *g = mf_container(k, struct get_state, seek);
    struct stream *s = NULL;

    if (!g->call->ja->closing)
        s = catalog_find(g->call->ja->catalog, api_call_token(g->call, 3));
    if (s == NULL) {
        refuse_call(g->call, JS_STREAM_NOT_FOUND);
        return;
    }
    get_from(g, s, seq);
}

static void get_run(struct get_state *g, struct stream *s)
{
    uint64_t seq;

    if (g->r.by_time) {
        g->seek.ts_ns = g->r.start_ns;
        g->seek.done = get_found;
        if (stream_seek(s, &g->seek, &seq))
            get_from(g, s, seq);
    } else if (mf_has_text(g->r.last)) {
        get_search(g, s, stream_find_last(s, mf_str(g->r.last)));
    } else if (mf_has_text(g->r.next)) {
        get_search(g, s, stream_find_next(s, mf_str(g->r.next), g->r.seq == 0 ? 1 : g->r.seq));
    } else {
        get_seq(g, s, g->r.seq);
    }
}

void msg_get_handle(struct api_call *call)
{
    struct get_state *g;
    struct stream *s;

    if (api_body_empty(call->body)) {
        refuse_call(call, JS_BAD_REQUEST);
        return;
    }
    g = calloc(1, sizeof *g);
    api_call_set_state(call, g, get_fini);
    if (g == NULL) {
        api_reply_no_memory(call);
        return;
    }
    g->call = call;
    if (!api_call_read(call, &get_type, &g->r))
        return;
    if (has_conflict(&g->r)) {
        refuse_call(call, JS_BAD_REQUEST);
        return;
    }
    s = api_call_stream(call, 3);
    if (s != NULL)
        get_run(g, s);
}

/* --- DELETE ----------------------------------------------------------------------------------- */

struct delete_request {
    uint64_t seq;
    bool no_erase;
};
static const struct json_field delete_fields[] = {
    {.name = "seq", .kind = JSON_U64, .offset = offsetof(struct delete_request, seq)},
    {.name = "no_erase", .kind = JSON_BOOL, .offset = offsetof(struct delete_request, no_erase)},
};
static const struct json_type delete_type = {"JSApiMsgDeleteRequest", sizeof(struct delete_request),
                                             delete_fields, MF_COUNT(delete_fields)};

static void delete_done(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    struct api_call *call = mf_container(op, struct api_call, sop);

    (void)count;
    if (e != NULL) {
        call->soft = true;
        api_reply_error(call, e);
        return;
    }
    jsonw_bool(api_reply_begin(call), "success", true);
    api_reply_end(call);
}

static void delete_run(struct api_call *call, const struct delete_request *r)
{
    struct stream *s = api_call_stream(call, 3);
    struct js_error e;

    if (s == NULL)
        return;
    if (stream_config(s)->sealed) {
        refuse_call(call, JS_STREAM_SEALED);
    } else if (stream_config(s)->deny_delete) {
        js_error_set(&e, JS_STREAM_MSG_DELETE_FAILED, "message delete not permitted");
        api_reply_error(call, &e);
    } else {
        call->sop.done = delete_done;
        stream_remove(s, r->seq, !r->no_erase, &call->sop);
    }
}

void msg_delete_handle(struct api_call *call)
{
    struct delete_request r = {0, false};

    if (api_body_empty(call->body))
        refuse_call(call, JS_BAD_REQUEST);
    else if (api_call_read(call, &delete_type, &r))
        delete_run(call, &r);
}
