/* stream_list.c: NAMES, LIST and the account's INFO.
 *
 * Happy path: the names are walked in order, a slice at a time; streams of the page are written on
 * the way; at the end the total is known and the answer is sent.  Streams may be added and removed
 * between slices: the walk continues after the last name. */
#include "api/api_impl.h"

#include <stdio.h>
#include <stdlib.h>

#define NAMES_LIMIT 1024
#define LIST_LIMIT  256
#define PAGE_BYTES  ((size_t)4 << 20) /* a page of LIST ends when it is as long as that */

void account_info_handle(struct api_call *call)
{
    account_json_write(api_reply_begin(call), call->aa);
    api_reply_end(call);
}

struct list_request {
    int64_t offset;
    char *subject;
};
static const struct json_field list_fields[] = {
    {.name = "offset", .kind = JSON_INT, .offset = offsetof(struct list_request, offset)},
    {.name = "subject", .kind = JSON_STR, .offset = offsetof(struct list_request, subject)},
};
static const struct json_type names_type = {"JSApiStreamNamesRequest", sizeof(struct list_request),
                                            list_fields, MF_COUNT(list_fields)};
static const struct json_type list_type = {"JSApiStreamListRequest", sizeof(struct list_request),
                                           list_fields, MF_COUNT(list_fields)};

/* A JSON array or object that is written beside the answer. */
struct part {
    struct mf_buf text;
    struct jsonw w;
    size_t n;
};

/* call->state.  Streams that are offline count, and take places of the page; LIST shows them in two
 * lists of their own. */
struct listing {
    struct list_request r;
    bool names;
    char behind[256]; /* the last name that was met */
    uint64_t offset, total;
    uint64_t shown;                        /* on the page */
    bool full;                             /* the page is */
    struct part streams, missing, offline; /* offline: with the reasons */
};

static void part_begin(struct part *p, bool object)
{
    p->text = MF_BUF_INIT;
    jsonw_begin(&p->w, &p->text, JSONW_COMPACT);
    if (object)
        jsonw_object(&p->w, NULL);
    else
        jsonw_array(&p->w, NULL);
}

static void listing_fini(void *state)
{
    struct listing *l = state;

    mf_buf_fini(&l->streams.text);
    mf_buf_fini(&l->missing.text);
    mf_buf_fini(&l->offline.text);
}

/* --- walking ---------------------------------------------------------------------------------- */

static bool is_listed(const struct listing *l, const struct catalog_item *x)
{
    struct mf_slice subject = mf_str(l->r.subject);

    if (subject.len == 0)
        return x->stream != NULL || x->reason != NULL;
    /* Of those that are offline the subjects are not known. */
    return x->stream != NULL && catalog_touches(x->stream, subject);
}

static void show_name(struct listing *l, const struct catalog_item *x)
{
    jsonw_str(&l->streams.w, NULL, x->name);
    l->full = ++l->shown == NAMES_LIMIT;
}

static void show_stream(struct api_account *aa, struct listing *l, const struct catalog_item *x)
{
    if (x->stream == NULL) {
        l->missing.n++;
        jsonw_str(&l->missing.w, NULL, x->name);
        jsonw_str(&l->offline.w, x->name, x->reason);
        return;
    }
    jsonw_object(&l->streams.w, NULL);
    info_json_write(&l->streams.w, aa->ja, x->stream, INFO_DOMAIN);
    jsonw_end(&l->streams.w);
    l->full = ++l->shown == LIST_LIMIT || l->streams.text.len >= PAGE_BYTES;
}

/* Returns about how many ordinary steps that was. */
static size_t listing_visit(struct api_account *aa, struct listing *l, const struct catalog_item *x)
{
    size_t cost = x->stream == NULL ? 0 : stream_config(x->stream)->subjects.n / 8, before;

    if (!is_listed(l, x))
        return cost;
    l->total++;
    if (l->total <= l->offset || l->full)
        return cost;
    before = l->streams.text.len;
    if (l->names)
        show_name(l, x);
    else
        show_stream(aa, l, x);
    return cost + (l->streams.text.len - before) / 512;
}

/* --- the answer ------------------------------------------------------------------------------- */

static void listing_reply(struct api_call *call)
{
    struct listing *l = call->state;
    struct jsonw *w;

    jsonw_end(&l->streams.w);
    jsonw_end(&l->missing.w);
    jsonw_end(&l->offline.w);
    if (mf_buf_failed(&l->streams.text) || mf_buf_failed(&l->missing.text) ||
        mf_buf_failed(&l->offline.text)) {
        api_reply_no_memory(call);
        return;
    }
    w = api_reply_begin(call);
    jsonw_u64(w, "total", l->total);
    jsonw_u64(w, "offset", l->offset < l->total ? l->offset : l->total);
    jsonw_u64(w, "limit", l->names ? NAMES_LIMIT : LIST_LIMIT);
    if (l->names && l->shown == 0)
        jsonw_null(w, "streams");
    else
        jsonw_raw(w, "streams", mf_buf_slice(&l->streams.text));
    if (l->missing.n > 0) {
        jsonw_raw(w, "missing", mf_buf_slice(&l->missing.text));
        jsonw_raw(w, "offline", mf_buf_slice(&l->offline.text));
    }
    api_reply_end(call);
}

static bool listing_step(struct api_call *call)
{
    struct listing *l = call->state;
    struct catalog *c = call->ja->catalog;
    struct catalog_item x;

    for (size_t i = catalog_behind(c, mf_str(l->behind)); catalog_at(c, i, &x); i++) {
        size_t cost = listing_visit(call->aa, l, &x);
        if (js_slice_spent(call->ja, cost)) {
            (void)snprintf(l->behind, sizeof l->behind, "%s", x.name);
            return true;
        }
    }
    listing_reply(call);
    return false;
}

static void listing_begin(struct api_call *call, const struct json_type *type, bool names)
{
    struct list_request r = {0, NULL};
    struct listing *l;

    if ((json_is_document(call->body) && !api_call_read(call, type, &r)) || !api_call_heard(call))
        return;
    l = calloc(1, sizeof *l);
    api_call_set_state(call, l, listing_fini);
    if (l == NULL) {
        api_reply_no_memory(call);
        return;
    }
    l->r = r;
    l->names = names;
    l->offset = r.offset < 0 ? 0 : (uint64_t)r.offset;
    part_begin(&l->streams, false);
    part_begin(&l->missing, false);
    part_begin(&l->offline, true);
    api_call_slices(call, listing_step);
}

void stream_names_handle(struct api_call *call)
{
    listing_begin(call, &names_type, true);
}

void stream_list_handle(struct api_call *call)
{
    listing_begin(call, &list_type, false);
}
