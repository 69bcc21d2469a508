/* direct.c: DIRECT.GET for one message: by sequence, the last or the next of a subject.
 *
 * Happy path: the message is in memory; its headers are written into a buffer of the pool and it is
 * sent in the turn of the request, without allocation.  If the message is on disk, the reply
 * subject is kept until it was read.  A request that arrives after the turn's time was spent is
 * copied and served in a slice of its account's time (direct_queue.c). */
#include "jetstream/direct_impl.h"

#include "base/clock.h"
#include "proto/header.h"
#include "codec/json.h"
#include "base/lend.h"
#include "stream/stream_ttl.h"
#include "subject/subject.h"

#include <stdlib.h>

#define EMPTY     "NATS/1.0 408 Empty Request\r\n\r\n"
#define MALFORMED "NATS/1.0 408 Malformed Request\r\n\r\n"
#define BAD       "NATS/1.0 408 Bad Request\r\n\r\n"
#define LEVEL     "NATS/1.0 412 Required Api Level\r\n\r\n"

#define LONG_BODY 65536u /* to uncompress and copy this much takes long enough to be measured */

/* --- sending -------------------------------------------------------------------------------- */

static uint8_t *put_bytes(uint8_t *at, struct mf_slice s)
{
    if (s.len > 0)
        memcpy(at, s.ptr, s.len);
    return at + s.len;
}

static uint8_t *put_u64(uint8_t *at, uint64_t v)
{
    char text[20];
    size_t n = sizeof text;

    do {
        text[--n] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    return put_bytes(at, mf_slice(text + n, sizeof text - n));
}

void direct_send(struct js_account *ja, const char *stream, struct mf_slice reply,
                 const struct stream_msg *m, const struct direct_place *place,
                 const struct stream_lifetime *life)
{
    struct mf_slice name = mf_str(stream);
    struct mf_buf *block = lend_take();
    uint8_t *at;

    at = block == NULL ? NULL
                       : mf_buf_reserve(block, m->hdr.len + name.len + m->subject.len + 320 +
                                                   STREAM_LIFETIME_HEADERS);
    if (at == NULL) {
        lend_give(block);
        direct_send_status(ja, reply, DIRECT_NO_MEMORY);
        return;
    }
    at = put_bytes(at,
                   m->hdr.len > 2 ? mf_slice(m->hdr.ptr, m->hdr.len - 2) : MF_LIT("NATS/1.0\r\n"));
    at = put_bytes(at, MF_LIT("Nats-Stream: "));
    at = put_bytes(at, name);
    at = put_bytes(at, MF_LIT("\r\nNats-Subject: "));
    at = put_bytes(at, m->subject);
    at = put_bytes(at, MF_LIT("\r\nNats-Sequence: "));
    at = put_u64(at, m->seq);
    at = put_bytes(at, MF_LIT("\r\nNats-Time-Stamp: "));
    at += clock_put_rfc3339((char *)at, m->ts_ns);
    if (place != NULL) {
        at = put_bytes(at, MF_LIT("\r\nNats-Num-Pending: "));
        at = put_u64(at, place->pending);
        at = put_bytes(at, MF_LIT("\r\nNats-Last-Sequence: "));
        at = put_u64(at, place->last_seq);
    }
    at = put_bytes(at, MF_LIT("\r\n"));
    if (life != NULL)
        at += stream_put_lifetime((char *)at, life, jetstream_now_ns(ja->js));
    at = put_bytes(at, MF_LIT("\r\n"));
    js_publish(ja, reply, MF_SLICE_NONE, mf_slice(block->ptr, (size_t)(at - block->ptr)),
               m->payload);
    lend_give(block);
}

void direct_send_bare(struct js_account *ja, struct mf_slice reply, const struct stream_msg *m)
{
    js_publish(ja, reply, MF_SLICE_NONE, MF_SLICE_NONE, m->payload);
}

void direct_send_status(struct js_account *ja, struct mf_slice reply, const char *text)
{
    js_publish(ja, reply, MF_SLICE_NONE, mf_str(text), MF_SLICE_NONE);
}

/* --- one message ---------------------------------------------------------------------------- */

/* Waits for the disk. */
struct direct_load {
    struct stream_load load;
    struct js_account *ja;
    unsigned how;
    struct mf_slice reply; /* stands behind the struct */
};

static void send_one(struct js_account *ja, struct stream *s, struct mf_slice reply,
                     const struct stream_msg *m, unsigned how)
{
    struct stream_lifetime life;

    if ((how & DIRECT_NO_HDR) != 0)
        direct_send_bare(ja, reply, m);
    else
        direct_send(ja, stream_name(s), reply, m, NULL,
                    (how & DIRECT_LIFE) != 0 ? stream_lifetime_of(s, m, &life) : NULL);
    if ((how & DIRECT_LAST) != 0)
        stream_slide(s, m);
    if (m->payload.len >= LONG_BODY)
        work_lap(ja->js->loop, WORK_DIRECT, NULL, account_name(ja->account));
}

static void load_done(struct stream_load *l, int status)
{
    struct direct_load *d = mf_container(l, struct direct_load, load);

    if (status == 0)
        send_one(d->ja, l->stream, d->reply, &l->msg, d->how);
    else
        direct_send_status(d->ja, d->reply,
                           status == MF_NOMEM ? DIRECT_NO_MEMORY : DIRECT_NOT_FOUND);
    free(d);
}

static void load_one(struct js_account *ja, struct stream *s, struct mf_slice reply, uint64_t seq,
                     unsigned how)
{
    struct direct_load *d = malloc(sizeof *d + reply.len);

    if (d == NULL) {
        direct_send_status(ja, reply, DIRECT_NO_MEMORY);
        return;
    }
    *d = (struct direct_load){.load = {.seq = seq, .done = load_done},
                              .ja = ja,
                              .how = how,
                              .reply = mf_slice(d + 1, reply.len)};
    memcpy(d + 1, reply.ptr, reply.len);
    switch (stream_load(s, &d->load)) {
    case 0:
        return;
    case MF_NOTFOUND:
        direct_send_status(ja, reply, DIRECT_NOT_FOUND);
        break;
    default:
        direct_send_status(ja, reply, DIRECT_NO_MEMORY);
        break;
    }
    free(d);
}

void direct_get_one(struct js_account *ja, struct stream *s, struct mf_slice reply, uint64_t seq,
                    unsigned how)
{
    struct stream_msg m;

    switch (seq == 0 ? MF_NOTFOUND : stream_get(s, seq, &m)) {
    case 0:
        send_one(ja, s, reply, &m, how);
        stream_msg_end(&m);
        break;
    case MF_AGAIN:
        load_one(ja, s, reply, seq, how);
        break;
    default:
        direct_send_status(ja, reply, DIRECT_NOT_FOUND);
        break;
    }
}

/* --- the request ---------------------------------------------------------------------------- */

#define FIELD(name, kind, member)                                                                  \
    {                                                                                              \
        name, kind, offsetof(struct direct_req, member), NULL, NULL, 0                             \
    }
#define TIME(name, member, set)                                                                    \
    {                                                                                              \
        name, JSON_TIME, offsetof(struct direct_req, member), NULL, NULL,                          \
            offsetof(struct direct_req, set)                                                       \
    }
static const struct json_field fields[] = {
    FIELD("seq", JSON_U64, seq),
    FIELD("last_by_subj", JSON_STR, last),
    FIELD("next_by_subj", JSON_STR, next),
    FIELD("batch", JSON_INT, batch),
    FIELD("max_bytes", JSON_INT, max_bytes),
    TIME("start_time", start_ns, has_start),
    FIELD("multi_last", JSON_STRS, multi),
    FIELD("up_to_seq", JSON_U64, up_to_seq),
    TIME("up_to_time", up_to_ns, has_up_to),
    FIELD("no_hdr", JSON_BOOL, no_hdr),
};
static const struct json_type req_type = {"JSApiMsgGetRequest", sizeof(struct direct_req), fields,
                                          MF_COUNT(fields)};

static bool has_conflict(const struct direct_req *r)
{
    bool last = mf_has_text(r->last), next = mf_has_text(r->next), multi = r->multi.n > 0;

    return (r->seq > 0 && (last || r->has_start)) || (r->has_start && last) ||
           (last && (next || r->batch > 0 || multi)) || (next && multi) ||
           (r->up_to_seq > 0 && r->has_up_to);
}

/* The subject is not in a body, so the search needs a copy of it. */
static void search_last(struct js_account *ja, struct stream *s, struct mf_slice reply,
                        struct mf_slice subject, const struct direct_req *asked_for)
{
    struct arena mem = {.chunks = NULL};
    struct direct_req r = {
        .last = arena_dup(&mem, subject), .no_hdr = asked_for->no_hdr, .life = asked_for->life};

    if (r.last == NULL)
        direct_send_status(ja, reply, DIRECT_NO_MEMORY);
    else
        direct_find_start(ja, s, reply, &r, &mem);
    arena_fini(&mem);
}

static void get_last(struct js_account *ja, struct stream *s, struct mf_slice reply,
                     struct mf_slice subject, const struct direct_req *r)
{
    if (stream_last_is_known(subject))
        direct_get_one(ja, s, reply, stream_last_of(s, subject), DIRECT_LAST | direct_how(r));
    else
        search_last(ja, s, reply, subject, r);
}

/* Body of DIRECT.GET.<stream>. */
static void get_by_body(struct js_account *ja, struct stream *s, struct mf_slice reply,
                        struct direct_req *r, struct arena *mem)
{
    if (r->seq == 0 && !mf_has_text(r->last) && !mf_has_text(r->next) && r->multi.n == 0 &&
        !r->has_start)
        direct_send_status(ja, reply, EMPTY);
    else if (has_conflict(r))
        direct_send_status(ja, reply, BAD);
    else if (r->multi.n > 0 || r->batch != 0 || r->has_start)
        direct_batch_start(ja, s, reply, r, mem);
    else if (mf_has_text(r->next))
        direct_find_start(ja, s, reply, r, mem);
    else if (mf_has_text(r->last))
        get_last(ja, s, reply, mf_str(r->last), r);
    else
        direct_get_one(ja, s, reply, r->seq, direct_how(r));
}

/* Body of DIRECT.GET.<stream>.<subject>. */
static void get_by_subject(struct js_account *ja, struct stream *s, struct mf_slice reply,
                           struct mf_slice subject, const struct direct_req *r)
{
    if (mf_has_text(r->last) || mf_has_text(r->next) || r->multi.n > 0 || r->seq != 0 ||
        r->batch != 0 || r->has_start || r->up_to_seq != 0 || r->has_up_to)
        direct_send_status(ja, reply, BAD);
    else
        get_last(ja, s, reply, subject, r);
}

static void get_with_body(struct js_account *ja, struct stream *s, const struct direct_get *g)
{
    struct direct_req r = {.life = direct_shows_life(g->hdr)};
    struct arena mem = {.chunks = NULL};
    int rc = json_read(g->payload, &req_type, &r, &mem, false, NULL);

    if (rc == MF_NOMEM)
        direct_send_status(ja, g->reply, DIRECT_NO_MEMORY);
    else if (rc != 0)
        direct_send_status(ja, g->reply, MALFORMED);
    else if (g->subject.len > 0)
        get_by_subject(ja, s, g->reply, g->subject, &r);
    else
        get_by_body(ja, s, g->reply, &r, &mem);
    arena_fini(&mem);
}

bool direct_shows_life(struct mf_slice hdr)
{
    struct mf_slice value;

    return hdr.len > 0 && header_get(hdr, "Mayfly-TTL", &value) && mf_eq(value, MF_LIT("show"));
}

void direct_serve(struct js_account *ja, struct stream *s, const struct direct_get *g)
{
    if (!jetstream_level_served(ja->js, g->hdr))
        direct_send_status(ja, g->reply, LEVEL);
    else if (g->payload.len > 0)
        get_with_body(ja, s, g);
    else if (g->subject.len > 0)
        get_last(ja, s, g->reply, g->subject,
                 &(struct direct_req){.life = direct_shows_life(g->hdr)});
    else
        direct_send_status(ja, g->reply, EMPTY);
}

bool direct_get(struct js_account *ja, const struct router_msg *rm, struct mf_slice rest)
{
    static const size_t prefix = sizeof "DIRECT.GET." - 1;
    const struct mf_msg *m = rm->msg;
    struct direct_get g = {.name = mf_slice(rest.ptr + prefix, rest.len - prefix),
                           .reply = m->reply,
                           .hdr = m->hdr,
                           .payload = m->payload};
    const uint8_t *dot = memchr(g.name.ptr, '.', g.name.len);
    struct stream *s;

    if (dot != NULL) {
        g.subject = mf_slice(dot + 1, (size_t)(g.name.ptr + g.name.len - dot - 1));
        g.name.len = (size_t)(dot - g.name.ptr);
    }
    s = source_wire_reader(ja, g.name);
    if (s == NULL)
        return false;
    if (g.reply.len == 0)
        return true;
    if (MF_LIKELY(rm->origin != NULL || rm->from != NULL || !direct_queue_waits(ja)))
        direct_serve(ja, s, &g);
    else
        direct_queue_add(ja, &g);
    return true;
}
