/* import_send.c: sends a stream to the server, as `nats stream restore` would.
 *
 * The archive (codec/archive.h) is written while the blocks are read, compressed, and sent in
 * chunks.  Each chunk is a request; WINDOW of them may wait for their answers.  An empty chunk is
 * the end, and its answer shows the stream.
 * Failure: the end is not sent, so the server drops all of it. */
#include "cli/import/import_impl.h"

#include "base/clock.h"
#include "codec/archive.h"
#include "codec/jsonw.h"
#include "codec/s2.h"

#include <stdio.h>
#include <stdlib.h>

#define CHUNK   (64u << 10)
#define SLICE   (64u << 10) /* of the archive: one frame */
#define WINDOW  8           /* half a megabyte: the socket takes that, so no write blocks Ctrl-C */
#define WAIT_MS 60000       /* for a chunk's answer */
#define END_MS  600000      /* for the last one: consumers are made, limits are enforced */
#define STEP_MS 200

struct sender {
    struct import *m;
    struct import_stream *x;
    natsConnection *nc;
    natsSubscription *sub;
    char inbox[CONNECT_INBOX], subject[400];
    struct mf_buf raw, out; /* archive; frames */
    size_t chunk;
    int waiting; /* chunks without an answer */
    struct term_progress bar;
    struct mf_error why;
};

/* --- answers -------------------------------------------------------------------------------- */

/* Also if nats.c has connected again meanwhile: what the server had is dropped. */
static bool is_lost(const struct sender *s)
{
    natsStatistics *stats = NULL;
    uint64_t again = 0;

    if (natsStatistics_Create(&stats) == NATS_OK &&
        natsConnection_GetStats(s->nc, stats) == NATS_OK)
        (void)natsStatistics_GetCounts(stats, NULL, NULL, NULL, NULL, &again);
    natsStatistics_Destroy(stats);
    return again > 0 || natsConnection_Status(s->nc) != NATS_CONN_STATUS_CONNECTED;
}

/* MF_CLOSED: interrupted, or the connection was lost. */
static int next_answer(struct sender *s, int64_t max_ms, natsMsg **out)
{
    int64_t until = clock_mono_ns() + max_ms * CLOCK_MS;
    natsStatus st;

    do {
        st = natsSubscription_NextMsg(out, s->sub, STEP_MS);
        if (cli_interrupted() || (st == NATS_TIMEOUT && is_lost(s)))
            break;
    } while (st == NATS_TIMEOUT && clock_mono_ns() < until);
    if (st == NATS_OK && natsMsg_IsNoResponders(*out)) {
        natsMsg_Destroy(*out);
        return mf_fail(&s->why, MF_DENIED, "the server gave up the restore; see its log");
    }
    if (st == NATS_OK)
        return 0;
    if (st == NATS_TIMEOUT && !cli_interrupted() && is_lost(s))
        return mf_fail(&s->why, MF_CLOSED,
                       "the connection to the server was lost; nothing of it "
                       "was imported");
    return cli_interrupted() ? mf_fail(&s->why, MF_CLOSED, "interrupted")
                             : mf_fail(&s->why, MF_TIMEOUT, "no answer from the server: %s",
                                       natsStatus_GetText(st));
}

/* Waits until no more than `left` chunks are without an answer. */
static int await_chunks(struct sender *s, int left)
{
    while (s->waiting > left) {
        natsMsg *answer = NULL;
        int rc = next_answer(s, WAIT_MS, &answer);

        if (rc != 0)
            return rc;
        natsMsg_Destroy(answer);
        s->waiting--;
    }
    return 0;
}

static int send_chunk(struct sender *s, const void *bytes, size_t n)
{
    natsStatus st = natsConnection_PublishRequest(s->nc, s->subject, s->inbox, bytes, (int)n);

    if (st != NATS_OK)
        return mf_fail(&s->why, MF_IO, "%s", natsStatus_GetText(st));
    s->waiting++;
    return 0;
}

/* Sends full chunks, or all there is. */
static int send_chunks(struct sender *s, bool all)
{
    size_t done = 0;
    int rc = 0;

    while (rc == 0 && s->out.len - done >= (all && s->out.len > done ? 1 : s->chunk)) {
        size_t n = s->out.len - done < s->chunk ? s->out.len - done : s->chunk;

        rc = send_chunk(s, s->out.ptr + done, n);
        if (rc == 0)
            rc = await_chunks(s, WINDOW - 1);
        done += n;
    }
    mf_buf_consume(&s->out, done);
    return rc;
}

/* --- the archive ---------------------------------------------------------------------------- */

static int pack_raw(struct sender *s)
{
    for (size_t at = 0; at < s->raw.len; at += SLICE) {
        size_t n = s->raw.len - at < SLICE ? s->raw.len - at : SLICE;

        s2_frame_add(&s->out, mf_slice(s->raw.ptr + at, n));
    }
    if (mf_buf_failed(&s->raw) || mf_buf_failed(&s->out))
        return mf_fail(&s->why, MF_NOMEM, "%s", mf_err_text(MF_NOMEM));
    mf_buf_clear(&s->raw);
    return send_chunks(s, false);
}

static int add_message(void *arg, const struct natsfile_record *r)
{
    struct sender *s = arg;

    archive_add(&s->raw, &(struct archive_entry){.name = r->subject,
                                                 .hdr = nats_source_header(s->x->store, r->hdr),
                                                 .payload = r->payload,
                                                 .ts_ns = r->ts_ns,
                                                 .seq = r->seq});
    return s->raw.len >= SLICE ? pack_raw(s) : 0;
}

static int show_progress(void *arg, uint64_t bytes)
{
    struct sender *s = arg;

    term_progress_set(&s->bar, bytes);
    return cli_interrupted() ? mf_fail(&s->why, MF_CLOSED, "interrupted") : 0;
}

static void write_state(struct mf_buf *out, const struct nats_store *n)
{
    struct jsonw w;

    jsonw_begin(&w, out, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    jsonw_u64(&w, "messages", n->count);
    jsonw_u64(&w, "bytes", n->bytes);
    jsonw_u64(&w, "first_seq", n->first_seq);
    jsonw_time(&w, "first_ts", n->count > 0 ? n->first_ts_ns : CLOCK_ZERO);
    jsonw_u64(&w, "last_seq", n->last_seq);
    jsonw_time(&w, "last_ts", n->last_ts_ns == 0 ? CLOCK_ZERO : n->last_ts_ns);
    jsonw_u64(&w, "num_deleted", n->deleted);
    jsonw_u64(&w, "consumer_count", n->nconsumers);
    jsonw_end(&w);
}

static void begin_archive(struct sender *s)
{
    const struct nats_store *n = s->x->store;
    struct mf_buf text = MF_BUF_INIT;

    s2_frame_begin(&s->out);
    write_state(&text, n);
    archive_begin(&s->raw);
    archive_add(&s->raw, &(struct archive_entry){.name = MF_LIT(ARCHIVE_STATE),
                                                 .payload = mf_buf_slice(&text)});
    for (size_t i = 0; i < n->nconsumers; i++) {
        mf_buf_clear(&text);
        mf_buf_puts(&text, ARCHIVE_CONSUMERS);
        mf_buf_puts(&text, n->consumers[i].name);
        archive_add(&s->raw,
                    &(struct archive_entry){.name = mf_buf_slice(&text),
                                            .payload = mf_buf_slice(&n->consumers[i].doc)});
    }
    s->raw.failed = s->raw.failed || text.failed;
    mf_buf_fini(&text);
}

static int send_archive(struct sender *s)
{
    int rc;

    begin_archive(s);
    rc = nats_store_walk(s->x->store, add_message, show_progress, s, &s->why);
    if (rc != 0)
        return rc;
    archive_end(&s->raw);
    rc = pack_raw(s);
    if (rc == 0)
        rc = send_chunks(s, true);
    if (rc == 0 && import_changed(s->x))
        rc = mf_fail(&s->why, MF_INVAL,
                     "files changed while they were read: stop nats-server first");
    return rc == 0 ? await_chunks(s, 0) : rc;
}

/* --- the request ---------------------------------------------------------------------------- */

/* x->stored, or refused. */
static int read_end(struct sender *s)
{
    natsMsg *answer = NULL;
    json_t *doc;
    int rc = send_chunk(s, NULL, 0);

    if (rc == 0)
        rc = next_answer(s, END_MS, &answer);
    if (rc != 0)
        return rc;
    doc = json_loadb(natsMsg_GetData(answer), (size_t)natsMsg_GetDataLength(answer), 0, NULL);
    natsMsg_Destroy(answer);
    if (json_object_get(doc, "error") != NULL)
        rc = mf_fail(&s->why, MF_DENIED, "%s",
                     request_text(json_object_get(doc, "error"), "description"));
    else if (json_object_get(doc, "state") == NULL)
        rc = mf_fail(&s->why, MF_PROTO, "the server's answer is no stream");
    else
        s->x->stored = json_incref(json_object_get(doc, "state"));
    json_decref(doc);
    return rc;
}

static int run_sender(struct sender *s)
{
    natsStatus st;
    int rc;

    connect_make_inbox(s->m->c, s->inbox);
    st = natsConnection_SubscribeSync(&s->sub, s->nc, s->inbox);
    if (st != NATS_OK)
        return mf_fail(&s->why, MF_IO, "%s", natsStatus_GetText(st));
    rc = send_archive(s);
    if (rc == 0)
        rc = read_end(s);
    natsSubscription_Destroy(s->sub);
    return rc;
}

/* Asks for the restore: s->subject, or x is refused. */
static int begin_restore(struct sender *s)
{
    struct request_error err = {.code = 0};
    json_t *body = json_object(), *doc = NULL;
    int rc;

    json_object_set(body, "config", s->x->store->config);
    rc = request_api(s->m->c, body, import_name(s->x), &doc, &err, "STREAM.RESTORE.%s",
                     import_name(s->x));
    json_decref(body);
    if (rc == 0 && err.code != 0)
        import_refuse(s->x, "the server refuses it: %s", err.text);
    else if (rc == 0)
        (void)snprintf(s->subject, sizeof s->subject, "%s", request_text(doc, "deliver_subject"));
    json_decref(doc);
    return rc;
}

void import_check_size(const struct import *m, struct import_stream *x)
{
    int64_t max = natsConnection_GetMaxPayload(connect_get(m->c));

    if (max > 0 && x->store->largest > (uint64_t)max)
        import_refuse(x,
                      "message %llu has %llu bytes; max_payload of the server is %lld: raise it "
                      "there",
                      (unsigned long long)x->store->largest_seq,
                      (unsigned long long)x->store->largest, (long long)max);
}

int import_send(struct import *m, struct import_stream *x)
{
    struct sender s = {.m = m, .x = x, .nc = connect_get(m->c)};
    int64_t max = natsConnection_GetMaxPayload(s.nc);
    char label[80];
    int rc;

    import_check_size(m, x);
    if (x->outcome == IMPORT_REFUSED)
        return 0;
    s.chunk = max > 0 && max < CHUNK ? (size_t)max : CHUNK;
    rc = begin_restore(&s);
    if (rc != 0 || x->outcome == IMPORT_REFUSED)
        return rc;
    (void)snprintf(label, sizeof label, "importing %.40s", import_name(x));
    term_progress_begin(&s.bar, &m->c->term, label, x->store->files_bytes);
    rc = run_sender(&s);
    term_progress_end(&s.bar);
    mf_buf_fini(&s.raw);
    mf_buf_fini(&s.out);
    if (rc == 0)
        x->outcome = IMPORT_TAKEN;
    else
        import_refuse(x, "%s", s.why.text);
    return rc == MF_CLOSED ? CLI_USAGE : 0;
}
