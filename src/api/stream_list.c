/* stream_list.c: what is there: account INFO, STREAM.INFO, NAMES and LIST. */
#include "api_impl.h"

#include <stdlib.h>

#define NAMES_LIMIT    1024
#define LIST_LIMIT     256
#define SUBJECTS_LIMIT 100000

void account_info_handle(struct api_call *call)
{
    account_json_write(api_reply_begin(call), call->aa);
    api_reply_end(call);
}

/* --- STREAM.INFO ------------------------------------------------------------------------------ */

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

static void page_write(struct jsonw *w, uint64_t total, uint64_t offset, uint64_t limit)
{
    jsonw_u64(w, "total", total);
    jsonw_u64(w, "offset", offset);
    jsonw_u64(w, "limit", limit);
}

static void info_reply(struct api_call *call, struct stream *s, const struct info_request *r)
{
    struct subject_page page = {.text = MF_BUF_INIT};
    struct state_details d = {NULL, &page, r->deleted_details};
    struct mf_slice filter = mf_str(r->subjects_filter);
    uint64_t offset = r->offset < 0 ? 0 : (uint64_t)r->offset;
    struct jsonw *w;

    if (filter.len > 0 && subject_page_make(&page, s, filter, offset, SUBJECTS_LIMIT) != 0) {
        api_reply_no_memory(call);
        return;
    }
    if (page.n > 0)
        d.subjects = subject_page_write;
    w = api_reply_begin(call);
    if (page.total > 0)
        page_write(w, page.total, offset, SUBJECTS_LIMIT);
    else
        page_write(w, 0, 0, 0);
    info_json_write_details(w, call->aa, s, INFO_DOMAIN | INFO_CLUSTER | INFO_METADATA, &d);
    subject_page_fini(&page);
    api_reply_end(call);
}

void stream_info_handle(struct api_call *call)
{
    struct info_request r = {0, false, NULL};
    struct stream *s;

    if (!json_is_document(call->body) || api_call_read(call, &info_type, &r)) {
        s = api_call_stream(call, 2);
        if (s != NULL)
            info_reply(call, s, &r);
    }
}

/* --- which streams there are ------------------------------------------------------------------ */

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

struct listed {
    const char *name;
    struct stream *stream; /* NULL: it is offline, for this reason: */
    const char *reason;
};
struct listing {
    struct listed *at;
    size_t n, cap, offset;
    bool failed;
};

static void listing_add(struct listing *l, struct listed x)
{
    if (l->n == l->cap) {
        size_t cap = l->cap == 0 ? 64 : l->cap * 2;
        struct listed *at = l->failed ? NULL : realloc(l->at, cap * sizeof *at);
        l->failed = at == NULL;
        if (l->failed)
            return;
        l->at = at;
        l->cap = cap;
    }
    l->at[l->n++] = x;
}

static void listing_stream(void *arg, struct stream *s)
{
    listing_add(arg, (struct listed){stream_name(s), s, NULL});
}

static void listing_offline(void *arg, const char *name, const char *reason)
{
    listing_add(arg, (struct listed){name, NULL, reason});
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct listed *)a)->name, ((const struct listed *)b)->name);
}

/* Reads the request and lists what it asks for, by name; l->offset is within.  false: answered. */
static bool listing_make(struct listing *l, struct api_call *call, const struct json_type *type)
{
    struct list_request r = {0, NULL};
    struct catalog *c = call->aa->catalog;
    bool ok = !json_is_document(call->body) || api_call_read(call, type, &r);

    if (ok) {
        catalog_each(c, mf_str(r.subject), listing_stream, l);
        if (r.subject == NULL || *r.subject == '\0') /* of the others, subjects are not known */
            catalog_each_offline(c, listing_offline, l);
        if (l->n > 1)
            qsort(l->at, l->n, sizeof *l->at, by_name);
        l->offset = r.offset < 0 ? 0 : (uint64_t)r.offset > l->n ? l->n : (size_t)r.offset;
        if (l->failed) {
            ok = false;
            api_reply_no_memory(call);
        }
    }
    if (!ok)
        free(l->at);
    return ok;
}

void stream_names_handle(struct api_call *call)
{
    struct listing l = {.at = NULL};
    struct jsonw *w;

    if (!listing_make(&l, call, &names_type))
        return;
    w = api_reply_begin(call);
    page_write(w, l.n, l.offset, NAMES_LIMIT);
    if (l.offset == l.n) {
        jsonw_null(w, "streams");
    } else {
        jsonw_array(w, "streams");
        for (size_t i = l.offset; i < l.n && i - l.offset < NAMES_LIMIT; i++)
            jsonw_str(w, NULL, l.at[i].name);
        jsonw_end(w);
    }
    free(l.at);
    api_reply_end(call);
}

/* Those on the page that cannot be served. */
static void missing_write(struct jsonw *w, const struct listing *l, size_t end)
{
    size_t n = 0;

    for (size_t i = l->offset; i < end; i++)
        n += l->at[i].stream == NULL;
    if (n == 0)
        return;
    jsonw_array(w, "missing");
    for (size_t i = l->offset; i < end; i++)
        if (l->at[i].stream == NULL)
            jsonw_str(w, NULL, l->at[i].name);
    jsonw_end(w);
    jsonw_object(w, "offline");
    for (size_t i = l->offset; i < end; i++)
        if (l->at[i].stream == NULL)
            jsonw_str(w, l->at[i].name, l->at[i].reason);
    jsonw_end(w);
}

void stream_list_handle(struct api_call *call)
{
    struct listing l = {.at = NULL};
    struct jsonw *w;
    size_t end, shown = 0;

    if (!listing_make(&l, call, &list_type))
        return;
    w = api_reply_begin(call);
    page_write(w, l.n, l.offset, LIST_LIMIT);
    jsonw_array(w, "streams");
    for (end = l.offset; end < l.n && shown < LIST_LIMIT; end++) {
        if (l.at[end].stream == NULL)
            continue;
        shown++;
        jsonw_object(w, NULL);
        info_json_write(w, call->aa, l.at[end].stream, INFO_DOMAIN);
        jsonw_end(w);
    }
    jsonw_end(w);
    missing_write(w, &l, end);
    free(l.at);
    api_reply_end(call);
}
