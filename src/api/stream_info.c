/* stream_info.c: STREAM.INFO, also with the subjects of the stream and its deleted sequences.
 *
 * Happy path: without either the answer is written at once.  Otherwise the details are collected as
 * JSON text, a slice at a time, then the answer is written.  The stream may change meanwhile: the
 * answer shows its state at the start of the list of deleted sequences.
 * Failure: a stream that is deleted meanwhile is not found. */
#include "api/subject_page_impl.h"

#include <stdlib.h>

#define SUBJECTS_LIMIT 100000
/* Deletions shown one by one: more would only be a way to fill the server's memory. */
#define DELETED_SHOWN 1000000u

struct info_request {
    int64_t offset;
    bool deleted_details;
    char *subjects_filter;
};
static const struct json_field info_fields[] = {
    {.name = "offset", .kind = JSON_INT, .offset = offsetof(struct info_request, offset)},
    {.name = "deleted_details",
     .kind = JSON_BOOL,
     .offset = offsetof(struct info_request, deleted_details)},
    {.name = "subjects_filter",
     .kind = JSON_STR,
     .offset = offsetof(struct info_request, subjects_filter)},
};
static const struct json_type info_type = {"JSApiStreamInfoRequest", sizeof(struct info_request),
                                           info_fields, MF_COUNT(info_fields)};

/* call->state of one with details. */
struct info {
    struct info_request r;
    int64_t created_ns; /* is it still the same stream? */
    uint64_t offset;
    struct subject_page *page; /* NULL: not asked for */
    bool paged;                /* the page is complete */
    struct stream_state state; /* of the moment when the list was begun */
    bool listing;
    uint64_t next, shown; /* the sequence to look at, and how many were deleted so far */
    struct mf_buf deleted;
};

static void info_fini(void *state)
{
    struct info *x = state;

    subject_page_free(x->page);
    mf_buf_fini(&x->deleted);
}

/* --- deleted sequences ------------------------------------------------------------------------ */

static void list_begin(struct info *x, struct stream *s)
{
    stream_state(s, &x->state);
    x->listing = true;
    x->next = x->state.msgs == 0 ? x->state.last_seq + 1 : x->state.first_seq;
    mf_buf_byte(&x->deleted, '[');
}

/* The deleted ones between x->next and the next message, as many as a slice allows. */
static bool list_gap(struct info *x, uint64_t end, const struct api_account *aa)
{
    while (x->next < end && x->shown < DELETED_SHOWN) {
        if (x->shown > 0)
            mf_buf_byte(&x->deleted, ',');
        mf_buf_u64(&x->deleted, x->next++);
        if (x->shown++ % 32 == 31 && js_slice_spent(aa->ja, 0))
            return true;
    }
    return false;
}

/* One slice.  true: there is more. */
static bool list_step(struct info *x, struct stream *s, const struct api_account *aa)
{
    while (x->next <= x->state.last_seq && x->shown < DELETED_SHOWN) {
        uint64_t seq = stream_next(s, x->next);
        uint64_t end = seq == 0 || seq > x->state.last_seq ? x->state.last_seq + 1 : seq;
        if (list_gap(x, end, aa))
            return true;
        x->next += x->next == end;
        if (js_slice_spent(aa->ja, 0))
            return true;
    }
    mf_buf_byte(&x->deleted, ']');
    /* Messages removed since the start are listed, too. */
    if (x->shown < DELETED_SHOWN)
        x->state.deleted = x->shown;
    return false;
}

/* --- the answer ------------------------------------------------------------------------------- */

static void info_write(struct api_call *call, struct stream *s, uint64_t total, uint64_t offset,
                       const struct state_details *d)
{
    struct jsonw *w = api_reply_begin(call);

    jsonw_u64(w, "total", total);
    jsonw_u64(w, "offset", total > 0 ? offset : 0);
    jsonw_u64(w, "limit", total > 0 ? SUBJECTS_LIMIT : 0);
    info_json_write_details(w, call->ja, s, INFO_DOMAIN | INFO_CLUSTER | INFO_METADATA, d);
    api_reply_end(call);
}

static void info_reply(struct api_call *call, struct stream *s)
{
    struct info *x = call->state;
    struct state_details d = {.state = x->listing ? &x->state : NULL,
                              .deleted = mf_buf_slice(&x->deleted)};
    uint64_t total = 0;

    if (mf_buf_failed(&x->deleted) ||
        (x->page != NULL && subject_page_done(x->page, &total, &d.subjects) != 0)) {
        api_reply_no_memory(call);
        return;
    }
    (void)mf_buf_reserve(&call->out, d.deleted.len + d.subjects.len); /* no copies while it grows */
    info_write(call, s, total, x->offset, &d);
}

static bool info_step(struct api_call *call)
{
    struct info *x = call->state;
    struct stream *s = catalog_find(call->ja->catalog, api_call_token(call, 2));
    struct js_error e;

    if (s == NULL || stream_created_ns(s) != x->created_ns) {
        js_error_set(&e, JS_STREAM_NOT_FOUND);
        api_reply_error(call, &e);
        return false;
    }
    if (x->page != NULL && !x->paged) {
        x->paged = !subject_page_step(x->page);
        if (!x->paged || js_slice_spent(call->ja, 0))
            return true;
    }
    if (x->r.deleted_details) {
        if (!x->listing)
            list_begin(x, s);
        if (list_step(x, s, call->aa))
            return true;
    }
    info_reply(call, s);
    return false;
}

static void info_begin(struct api_call *call, struct stream *s, const struct info_request *r)
{
    struct info *x = calloc(1, sizeof *x);

    api_call_set_state(call, x, info_fini);
    if (x == NULL) {
        api_reply_no_memory(call);
        return;
    }
    x->r = *r;
    x->created_ns = stream_created_ns(s);
    x->offset = r->offset < 0 ? 0 : (uint64_t)r->offset;
    x->deleted = MF_BUF_INIT;
    if (r->subjects_filter != NULL && *r->subjects_filter != '\0') {
        x->page =
            subject_page_new(call->aa, s, mf_str(r->subjects_filter), x->offset, SUBJECTS_LIMIT);
        if (x->page == NULL) {
            api_reply_no_memory(call);
            return;
        }
    }
    api_call_slices(call, info_step);
}

void stream_info_handle(struct api_call *call)
{
    struct info_request r = {0, false, NULL};
    struct stream *s;

    if (json_is_document(call->body) && !api_call_read(call, &info_type, &r))
        return;
    s = api_call_stream(call, 2);
    if (s == NULL)
        return;
    if (!r.deleted_details && (r.subjects_filter == NULL || *r.subjects_filter == '\0'))
        info_write(call, s, 0, 0, &(struct state_details){.state = NULL});
    else if (api_call_heard(call))
        info_begin(call, s, &r);
}
