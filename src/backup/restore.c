/* restore.c: STREAM.RESTORE: an archive arrives in chunks and becomes a stream.
 *
 * Happy path: the answer names a subject; each chunk sent there is a request with an empty answer
 * after it was read.  An empty chunk is the end; its answer shows the stream, as that of CREATE,
 * after the commit.  Chunks wait in a queue while the disk is busy, and are read in slices.
 * Failure: the answer to the end has the error; until then chunks are answered and dropped, as in
 * nats-server.  Without a chunk for 5 s the restore is given up.  In every case nothing remains.
 * Close: restores_stop() waits for operations under way, then deletes the stream. */
#include "backup/restore_impl.h"

#include "base/clock.h"
#include "codec/json.h"
#include "base/log.h"
#include "subject/subject.h"

#include <stdio.h>
#include <stdlib.h>

#define IDLE_NS     (5 * CLOCK_S)
#define STATE_MAX   (1u << 20)  /* of the state in the archive */
#define WAITING_MAX (64u << 20) /* bytes of chunks that were not read yet */

struct chunk {
    struct mf_list link;
    struct mf_slice reply, bytes; /* behind the struct */
};

/* --- the end -------------------------------------------------------------------------------- */

static void drop_chunks(struct restore *r)
{
    struct mf_list *pos;

    while ((pos = mf_list_pop(&r->chunks)) != NULL)
        free(mf_container(pos, struct chunk, link));
    r->waiting = 0;
}

/* Frees the part of the archive that is unpacked and not in the stream. */
static void drop_archive(struct restore *r)
{
    restore_read_drop(r);
    restore_drop_consumers(r);
    s2_reader_fini(&r->s2);
    archive_reader_fini(&r->archive);
    restore_tar_free(r->tar);
    r->tar = NULL;
}

static void restore_free(struct restore *r)
{
    mf_list_del(&r->link);
    drop_chunks(r);
    drop_archive(r);
    loop_timer_free(r->idle);
    stream_config_fini(&r->cfg);
    free(r);
}

/* A reply may call back and end the restore: callers that use it afterwards hold it. */
static void hold_restore(struct restore *r)
{
    r->users++;
}

static void let_go(struct restore *r)
{
    if (--r->users == 0 && r->stopped && restore_idle(r))
        restore_free(r);
}

/* Ends the restore without a further answer. */
static void restore_stop(struct restore *r)
{
    struct js_error e;

    if (r->stopped)
        return;
    hold_restore(r);
    router_unsubscribe(account_router(r->aa->ja->account), &r->sub);
    loop_timer_stop(r->idle);
    work_cancel(r->aa->ja->js->loop, &r->task);
    restore_read_drop(r);
    drop_chunks(r);
    r->stopped = true;
    backup_account(r->aa)->nrestores--;
    if (!r->complete) {
        js_error_set(&e, JS_STREAM_RESTORE, "stopped");
        restore_fail_with(r, &e);
    }
    restore_unreserve(r);
    let_go(r);
}

void restores_stop(struct api_account *aa)
{
    struct mf_list *pos;

    while ((pos = mf_list_pop(&backup_account(aa)->restores)) != NULL)
        restore_stop(mf_container(pos, struct restore, link));
}

void restore_wake(struct restore *r)
{
    hold_restore(r);
    if (!r->stopped)
        work_add(r->aa->ja->js->loop, &r->aa->ja->work, &r->task);
    let_go(r);
}

static void write_answer(struct restore *r, struct mf_buf *out)
{
    struct stream *s = restore_stream(r);
    struct jsonw w;

    jsonw_begin(&w, out, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    jsonw_str(&w, "type", API_TYPE "stream_create_response");
    if (!r->failed && s != NULL)
        info_json_write(&w, r->aa->ja, s, INFO_METADATA);
    else
        js_json_error(&w, &r->error);
    jsonw_end(&w);
}

static void restore_finish(struct restore *r, struct mf_slice reply)
{
    struct mf_buf out = MF_BUF_INIT;

    if (!r->failed && restore_stream(r) == NULL)
        restore_fail(r, "stream not found");
    write_answer(r, &out);
    advisory_restore_complete(r->aa, r->name, r->client, r->start_ns,
                              jetstream_now_ns(r->aa->ja->js), r->total);
    if (r->failed)
        log_warn("account %s: restore of stream %s failed: %s", account_name(r->aa->ja->account),
                 r->name, r->error.text);
    if (!mf_buf_failed(&out))
        js_publish(r->aa->ja, reply, MF_SLICE_NONE, MF_SLICE_NONE, mf_buf_slice(&out));
    mf_buf_fini(&out);
    restore_stop(r);
}

static void idle_fired(void *arg)
{
    struct restore *r = arg;

    if (!restore_idle(r) || !mf_list_empty(&r->chunks)) { /* the server is slow, not the client */
        loop_timer_arm(r->idle, loop_mono_ns(r->aa->ja->js->loop) + IDLE_NS);
        return;
    }
    log_warn("account %s: restore of stream %s is stalled", account_name(r->aa->ja->account),
             r->name);
    restore_stop(r);
}

/* --- chunks --------------------------------------------------------------------------------- */

/* Unpacks the next part of a chunk. */
static void unpack_chunk(struct restore *r, const struct chunk *c)
{
    size_t before = archive_reader_ready(&r->archive)->len;
    int rc = s2_reader_feed(&r->s2, r->fed ? MF_SLICE_NONE : c->bytes, &r->archive.in);

    r->fed = true;
    r->unpacked += r->archive.in.len - before;
    if (r->archive.ended) /* bytes behind the end are ignored */
        mf_buf_clear(&r->archive.in);
    if (rc != 0)
        restore_fail(r, rc == MF_NOMEM ? "out of memory" : "s2: corrupt input");
    else
        (void)restore_within(r);
}

/* A slice of the first chunk.  0: all of it was read.  MF_AGAIN: not yet; restore_wake() follows.
 */
static int read_chunk(struct restore *r, const struct chunk *c)
{
    do {
        if (!r->failed && !r->archive.ended && restore_take(r) == MF_AGAIN)
            return MF_AGAIN;
        if (r->failed) {
            drop_archive(r);
            return 0;
        }
        if (r->fed && !s2_reader_more(&r->s2))
            return 0;
        unpack_chunk(r, c);
    } while (!work_spent(r->aa->ja->js->loop));
    restore_wake(r);
    return MF_AGAIN;
}

/* false: it has ended. */
static bool next_chunk(struct restore *r)
{
    struct chunk *c = mf_container(mf_list_first(&r->chunks), struct chunk, link);

    if (c->bytes.len == 0) {
        if (restore_complete(r) == MF_AGAIN || (r->failed && !restore_idle(r)))
            return false; /* wakes us */
        mf_list_del(&c->link);
        restore_finish(r, c->reply);
        free(c);
        return false;
    }
    if (read_chunk(r, c) == MF_AGAIN)
        return false;
    mf_list_del(&c->link);
    r->fed = false;
    r->waiting -= c->bytes.len;
    js_publish(r->aa->ja, c->reply, MF_SLICE_NONE, MF_SLICE_NONE, MF_SLICE_NONE);
    free(c);
    return true;
}

/* A slice: a part of a chunk or several of them; restore_wake() asks for more. */
static bool restore_turn(struct work_task *t)
{
    struct restore *r = mf_container(t, struct restore, task);
    struct loop *l = r->aa->ja->js->loop;

    hold_restore(r);
    while (!mf_list_empty(&r->chunks) && next_chunk(r))
        if (!mf_list_empty(&r->chunks) && work_spent(l)) {
            restore_wake(r);
            break;
        }
    let_go(r);
    return false;
}

static bool chunk_came(struct router_sub *sub, const struct router_msg *rm)
{
    struct restore *r = mf_container(sub, struct restore, sub);
    const struct mf_msg *m = rm->msg;
    struct chunk *c = NULL;

    loop_timer_arm(r->idle, loop_mono_ns(r->aa->ja->js->loop) + IDLE_NS);
    if (m->reply.len == 0) {
        log_warn("account %s: restore of stream %s requires a reply subject for each chunk",
                 account_name(r->aa->ja->account), r->name);
        restore_stop(r);
        return true;
    }
    if (m->payload.len <= WAITING_MAX - r->waiting)
        c = malloc(sizeof *c + m->reply.len + m->payload.len);
    if (c == NULL) {
        restore_fail(r, "too much is waiting to be stored");
        drop_chunks(r);
        return true;
    }
    c->reply = mf_slice(c + 1, m->reply.len);
    c->bytes = mf_slice((uint8_t *)(c + 1) + m->reply.len, m->payload.len);
    memcpy(c + 1, m->reply.ptr, m->reply.len);
    if (m->payload.len > 0)
        memcpy((uint8_t *)(c + 1) + m->reply.len, m->payload.ptr, m->payload.len);
    r->waiting += m->payload.len;
    r->total += m->payload.len;
    mf_list_push(&r->chunks, &c->link);
    if (!r->failed)
        (void)restore_within(r);
    restore_wake(r);
    return true;
}

/* --- the request ---------------------------------------------------------------------------- */

struct restore_req {
    struct stream_config config;
    struct restore_state state;
};
static const struct json_field fields[] = {
    {"config", JSON_OBJECT, offsetof(struct restore_req, config), &config_json_type, NULL, 0},
    {"state", JSON_OBJECT, offsetof(struct restore_req, state), &restore_state_type, NULL, 0},
};
static const struct json_type req_type = {"JSApiStreamRestoreRequest", sizeof(struct restore_req),
                                          fields, MF_COUNT(fields)};

/* Too many replicas are refused last, as in nats-server, which finds them when all was sent. */
static int check_config(struct api_account *aa, struct stream_config *c, struct js_error *e)
{
    struct js_error late;
    int rc = limits_config_allowed(aa, c, CONFIG_RESTORE, e);
    int refused = js_error_set(&late, JS_STREAM_REPLICAS_NOT_SUPPORTED);
    bool replicas = rc == refused && e->err_code == late.err_code;
    struct stream *s = catalog_find(aa->ja->catalog, mf_str(c->name));

    if (rc == 0 || replicas)
        rc = limits_allow(aa, c, s == NULL ? NULL : stream_config(s), e);
    if (rc == 0)
        rc = restore_name_free(aa, c->name, e);
    if (rc == 0 && replicas)
        rc = js_error_set(e, JS_STREAM_REPLICAS_NOT_SUPPORTED);
    return rc;
}

static struct restore *restore_new(struct api_call *call)
{
    struct mf_slice name = api_call_token(call, 2);
    struct restore *r = calloc(1, sizeof *r + name.len + 1 + call->client.len);
    struct api *a = call->aa->api;
    char nuid[RAND_NUID + 1];

    if (r == NULL)
        return NULL;
    mf_list_init(&r->link);
    mf_list_init(&r->chunks);
    mf_list_init(&r->consumers);
    mf_list_init(&r->busy.node);
    mf_list_init(&r->op.node);
    r->aa = call->aa;
    r->name = memcpy(r + 1, name.ptr, name.len);
    r->client = mf_slice(r->name + name.len + 1, call->client.len);
    if (call->client.len > 0)
        memcpy(r->name + name.len + 1, call->client.ptr, call->client.len);
    stream_config_init(&r->cfg);
    s2_reader_init(&r->s2);
    archive_reader_init(&r->archive, (size_t)a->js->options->max_payload, STATE_MAX);
    r->start_ns = jetstream_now_ns(a->js);
    r->task.run = restore_turn;
    r->task.cause = WORK_BACKUP;
    r->task.what = "restore";
    r->sub.deliver = chunk_came;
    rand_nuid(nuid);
    (void)snprintf(r->subject, sizeof r->subject, "$JS.SNAPSHOT.RESTORE.%s.%s", r->name, nuid);
    r->idle = loop_timer_new(a->js->loop, idle_fired, r);
    if (r->idle == NULL) {
        restore_free(r);
        return NULL;
    }
    return r;
}

/* Into r->cfg, checked.  0, MF_NOMEM, or MF_DENIED with *e. */
static int take_config(struct restore *r, struct stream_config *from, struct js_error *e)
{
    if (from->name == NULL || *from->name == '\0')
        from->name = r->name;
    if (strcmp(from->name, r->name) != 0)
        return js_error_set(e, JS_STREAM_MISMATCH);
    if (strpbrk(r->name, "\\/") != NULL)
        return js_error_set(e, JS_STREAM_NAME_CONTAINS_PATH_SEPARATORS);
    stream_config_fini(&r->cfg);
    if (stream_config_copy(&r->cfg, from) != 0) {
        stream_config_init(&r->cfg);
        return MF_NOMEM;
    }
    return check_config(r->aa, &r->cfg, e);
}

static void restore_start(struct api_call *call, struct restore *r)
{
    struct jsonw *w;

    if (router_subscribe(account_router(r->aa->ja->account), mf_str(r->subject), MF_SLICE_NONE,
                         &r->sub) != 0) {
        restore_unreserve(r);
        restore_free(r);
        api_reply_no_memory(call);
        return;
    }
    mf_list_push(&backup_account(r->aa)->restores, &r->link);
    backup_account(r->aa)->nrestores++;
    loop_timer_arm(r->idle, loop_mono_ns(r->aa->ja->js->loop) + IDLE_NS);
    advisory_restore_create(call, r->name);
    w = api_reply_begin(call);
    jsonw_str(w, "deliver_subject", r->subject);
    api_reply_end(call);
}

void restore_handle(struct api_call *call)
{
    struct restore_req req = {.state = {.msgs = 0}};
    struct restore *r;
    struct js_error e;
    int rc;

    if (api_body_empty(call->body)) {
        js_error_set(&e, JS_BAD_REQUEST);
        api_reply_error(call, &e);
        return;
    }
    if (api_call_park(call, api_call_token(call, 2)))
        return;
    stream_config_init(&req.config);
    if (!api_call_read(call, &req_type, &req))
        return;
    r = restore_new(call);
    rc = r == NULL ? MF_NOMEM : take_config(r, &req.config, &e);
    if (rc == 0)
        rc = restore_reserve(r, &e);
    if (rc == 0) {
        restore_start(call, r);
        return;
    }
    if (r != NULL)
        restore_free(r);
    if (rc == MF_NOMEM)
        api_reply_no_memory(call);
    else
        api_reply_error(call, &e);
}
