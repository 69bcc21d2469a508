/* msgtrace.c: a trace and its events, as nats-server shows them. */
#include "msgtrace/msgtrace_impl.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/clock.h"
#include "codec/jsonw.h"
#include "proto/header.h"

#include <stdio.h>
#include <stdlib.h>

#define HOP_ROOM 256 /* one number for each server on the way */

enum event_type { EVENT_IN, EVENT_MAPPED, EVENT_EXPORTED, EVENT_IMPORTED, EVENT_STREAM, EVENT_OUT };

/* Texts are NULL where the type has none, or it is not shown. */
struct event {
    enum event_type type;
    enum msgtrace_kind kind;
    int64_t ts_ns;
    uint64_t cid;
    bool no_interest;
    char *name, *hop, *account, *subject, *to, *queue, *error;
};

struct msgtrace {
    unsigned refs, hops;
    bool only;
    enum msgtrace_coding coding;
    size_t size; /* of header and payload */
    struct arena mem;
    struct mf_slice hdr, own_dest, dest, pattern;
    char *hop;               /* that led here; NULL: published here */
    char next_hop[HOP_ROOM]; /* of the next event; empty: none */
    struct event *events;
    size_t n, room;
    uint64_t omitted;
    void (*finished)(void *arg, struct msgtrace *t);
    void *arg;
};

/* --- life ------------------------------------------------------------------------------------- */

static char *keep_bytes(struct msgtrace *t, struct mf_slice s)
{
    return s.len == 0 ? NULL : arena_dup(&t->mem, s);
}

static char *keep_text(struct msgtrace *t, const char *s)
{
    return s == NULL ? NULL : keep_bytes(t, mf_str(s));
}

/* NULL: there are too many, or no memory: it is counted. */
static struct event *add_event(struct msgtrace *t, enum event_type type)
{
    if (t->n >= MSGTRACE_EVENTS ||
        mf_array_reserve(&t->events, &t->room, t->n + 1, sizeof *t->events) != 0) {
        t->omitted++;
        return NULL;
    }
    struct event *e = &t->events[t->n++];
    *e = (struct event){.type = type, .ts_ns = clock_wall_ns()};
    return e;
}

struct msgtrace *msgtrace_new(const struct msgtrace_request *q, struct mf_slice dest,
                              const struct msgtrace_peer *from, const struct mf_msg *m,
                              void (*finished)(void *arg, struct msgtrace *t), void *arg)
{
    struct msgtrace *t = calloc(1, sizeof *t);
    struct event *e;

    if (t == NULL)
        return NULL;
    t->refs = 1;
    t->only = q->only;
    t->coding = q->coding;
    t->size = q->hdr.len + m->payload.len;
    t->finished = finished;
    t->arg = arg;
    t->hdr = mf_slice(keep_bytes(t, q->hdr), q->hdr.len);
    t->own_dest = t->dest = mf_slice(keep_bytes(t, dest), dest.len);
    t->hop = keep_bytes(t, q->hop);
    e = add_event(t, EVENT_IN);
    if (e != NULL) {
        e->kind = from->kind;
        e->cid = from->cid;
        e->name = keep_text(t, from->name);
        e->account = keep_text(t, from->account);
        e->subject = keep_bytes(t, m->subject);
    }
    if (e == NULL || t->mem.failed) {
        msgtrace_free(t);
        return NULL;
    }
    return t;
}

void msgtrace_free(struct msgtrace *t)
{
    arena_fini(&t->mem);
    free(t->events);
    free(t);
}

struct msgtrace *msgtrace_retain(struct msgtrace *t)
{
    t->refs++;
    return t;
}

void msgtrace_release(struct msgtrace *t)
{
    if (t != NULL && --t->refs == 0)
        t->finished(t->arg, t);
}

bool msgtrace_is_only(const struct msgtrace *t)
{
    return t != NULL && t->only;
}

enum msgtrace_coding msgtrace_coding(const struct msgtrace *t)
{
    return t->coding;
}

struct mf_slice msgtrace_dest(const struct msgtrace *t)
{
    return t->dest;
}

void msgtrace_rename_dest(struct msgtrace *t, struct mf_slice dest)
{
    t->dest = dest;
}

struct mf_slice msgtrace_own_dest(const struct msgtrace *t)
{
    return t->own_dest;
}

/* --- events ----------------------------------------------------------------------------------- */

void msgtrace_refused(struct msgtrace *t, const char *error)
{
    if (t != NULL)
        t->events[0].error = keep_text(t, error);
}

void msgtrace_mapped(struct msgtrace *t, struct mf_slice to)
{
    struct event *e = t == NULL ? NULL : add_event(t, EVENT_MAPPED);

    if (e != NULL)
        e->to = keep_bytes(t, to);
}

void msgtrace_exported(struct msgtrace *t, const char *account, struct mf_slice to)
{
    struct event *e = t == NULL ? NULL : add_event(t, EVENT_EXPORTED);

    if (e == NULL)
        return;
    e->account = keep_text(t, account);
    e->to = keep_bytes(t, to);
}

void msgtrace_imported(struct msgtrace *t, const char *account, struct mf_slice from,
                       struct mf_slice to)
{
    struct event *e = t == NULL ? NULL : add_event(t, EVENT_IMPORTED);

    if (e == NULL)
        return;
    e->account = keep_text(t, account);
    e->subject = keep_bytes(t, from);
    e->to = keep_bytes(t, to);
}

void msgtrace_show_pattern(struct msgtrace *t, struct mf_slice pattern)
{
    if (t != NULL)
        t->pattern = pattern;
}

void msgtrace_delivered(struct msgtrace *t, const struct msgtrace_peer *to, struct mf_slice pattern,
                        struct mf_slice queue, const char *error)
{
    const char *entered;
    struct event *e = t == NULL ? NULL : add_event(t, EVENT_OUT);

    if (e == NULL)
        return;
    entered = t->events[0].account;
    e->kind = to->kind;
    e->cid = to->cid;
    e->name = keep_text(t, to->name);
    e->hop = keep_text(t, t->next_hop);
    if (entered != NULL && strcmp(entered, to->account) != 0)
        e->account = keep_text(t, to->account);
    e->subject = keep_bytes(t, t->pattern.len > 0 ? t->pattern : pattern);
    e->queue = keep_bytes(t, queue);
    e->error = keep_text(t, error);
    t->next_hop[0] = '\0';
}

struct mf_slice msgtrace_next_hop(struct msgtrace *t)
{
    t->hops++;
    snprintf(t->next_hop, sizeof t->next_hop, "%s%s%u", t->hop == NULL ? "" : t->hop,
             t->hop == NULL ? "" : ".", t->hops);
    return mf_str(t->next_hop);
}

unsigned msgtrace_hops(const struct msgtrace *t)
{
    return t->hops;
}

size_t msgtrace_stream(struct msgtrace *t, const char *stream)
{
    struct event *e = add_event(t, EVENT_STREAM);

    if (e == NULL)
        return MSGTRACE_EVENTS;
    e->name = keep_text(t, stream);
    return t->n - 1;
}

void msgtrace_stored(struct msgtrace *t, size_t event, struct mf_slice subject, bool no_interest,
                     const char *error)
{
    if (event >= t->n)
        return;
    struct event *e = &t->events[event];
    e->ts_ns = clock_wall_ns();
    e->subject = keep_bytes(t, subject);
    e->no_interest = no_interest;
    e->error = keep_text(t, error);
}

/* --- JSON ------------------------------------------------------------------------------------- */

struct line {
    struct mf_slice name, value;
};

/* Lines of one name keep their order: they stand in one block. */
static int by_name(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    size_t n = x->name.len < y->name.len ? x->name.len : y->name.len;
    int d = memcmp(x->name.ptr, y->name.ptr, n);

    if (d == 0 && x->name.len != y->name.len)
        return x->name.len < y->name.len ? -1 : 1;
    if (d == 0)
        return x->name.ptr < y->name.ptr ? -1 : 1;
    return d;
}

static size_t split_lines(struct mf_slice hdr, struct line **out)
{
    size_t pos = 0, n = 0, room = 0;
    struct line l;

    while (header_next(hdr, &pos, &l.name, &l.value)) {
        l.value = msgtrace_trim(l.value);
        if (l.name.len == 0 || l.value.len == 0)
            continue;
        if (mf_array_reserve(out, &room, n + 1, sizeof **out) != 0)
            break;
        (*out)[n++] = l;
    }
    return n;
}

/* Room behind the events: their number that is omitted, and the ends of arrays and objects. */
#define TAIL 64

/* A place in the text, to which it can be cut. */
struct place {
    struct jsonw w;
    size_t len;
};

static struct place place_of(const struct jsonw *w)
{
    return (struct place){*w, w->out->len};
}

/* Cuts the text to the place if it became longer than most.  false: it did. */
static bool keep_within(struct jsonw *w, const struct place *before, size_t most)
{
    if (w->out->len <= most)
        return true;
    w->out->len = before->len;
    *w = before->w;
    return false;
}

/* The lines of one name. */
static void write_group(struct jsonw *w, const struct line *lines, size_t n)
{
    char name[256];

    snprintf(name, sizeof name, "%.*s", MF_FMT(lines[0].name));
    jsonw_array(w, name);
    for (size_t i = 0; i < n; i++)
        jsonw_slice(w, NULL, lines[i].value);
    jsonw_end(w);
}

static void write_headers(struct jsonw *w, struct mf_slice hdr, size_t most)
{
    struct line *lines = NULL;
    size_t n = split_lines(hdr, &lines), omitted = 0;

    if (n > 0)
        qsort(lines, n, sizeof *lines, by_name);
    jsonw_object(w, "header");
    for (size_t i = 0, end; i < n; i = end) {
        struct place before = place_of(w);
        for (end = i + 1; end < n && mf_eq(lines[end].name, lines[i].name);)
            end++;
        write_group(w, &lines[i], end - i);
        if (!keep_within(w, &before, most))
            omitted += end - i;
    }
    jsonw_end(w);
    jsonw_opt_u64(w, "omitted", omitted);
    free(lines);
}

static const char *const type_names[] = {
    [EVENT_IN] = "in",       [EVENT_MAPPED] = "sm", [EVENT_EXPORTED] = "se",
    [EVENT_IMPORTED] = "si", [EVENT_STREAM] = "js", [EVENT_OUT] = "eg",
};

/* Received from, or sent to, a connection. */
static void write_connection(struct jsonw *w, const struct event *e)
{
    jsonw_i64(w, "kind", e->kind);
    jsonw_u64(w, "cid", e->cid);
    jsonw_opt_str(w, "name", e->name);
    if (e->type == EVENT_IN) {
        jsonw_str(w, "acc", e->account);
        jsonw_str(w, "subj", e->subject);
    } else {
        jsonw_opt_str(w, "hop", e->hop);
        jsonw_opt_str(w, "acc", e->account);
        jsonw_opt_str(w, "sub", e->subject);
        jsonw_opt_str(w, "queue", e->queue);
    }
    jsonw_opt_str(w, "error", e->error);
}

static void write_event(struct jsonw *w, const struct event *e)
{
    jsonw_object(w, NULL);
    jsonw_str(w, "type", type_names[e->type]);
    jsonw_time(w, "ts", e->ts_ns);
    switch (e->type) {
    case EVENT_IN:
    case EVENT_OUT:
        write_connection(w, e);
        break;
    case EVENT_STREAM:
        jsonw_str(w, "stream", e->name);
        jsonw_opt_str(w, "subject", e->subject);
        jsonw_opt_bool(w, "nointerest", e->no_interest);
        jsonw_opt_str(w, "error", e->error);
        break;
    default:
        jsonw_opt_str(w, "acc", e->account);
        jsonw_opt_str(w, "from", e->subject);
        jsonw_str(w, "to", e->to);
    }
    jsonw_end(w);
}

/* Returns how many were written. */
static size_t write_events(const struct msgtrace *t, struct jsonw *w, size_t most)
{
    for (size_t i = 0; i < t->n; i++) {
        struct place before = place_of(w);
        write_event(w, &t->events[i]);
        if (!keep_within(w, &before, most))
            return i;
    }
    return t->n;
}

void msgtrace_write(const struct msgtrace *t, struct jsonw *w, size_t most)
{
    size_t written;

    jsonw_object(w, "request");
    write_headers(w, t->hdr, most / 2);
    jsonw_opt_u64(w, "msgsize", t->size);
    jsonw_end(w);
    jsonw_opt_u64(w, "hops", t->hops);
    jsonw_array(w, "events");
    written = write_events(t, w, most > TAIL ? most - TAIL : 0);
    jsonw_end(w);
    jsonw_opt_u64(w, "omitted", t->omitted + (t->n - written));
}
