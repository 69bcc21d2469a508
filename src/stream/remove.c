/* remove.c: removes one message (MSG.DELETE) or all; completions of removals. */
#include "stream/lifetime_impl.h"

#include <stdlib.h>

static void op_done(struct store_wait *w, int status)
{
    struct stream_op *op = mf_container(w, struct stream_op, wait);
    struct stream *s = op->stream;
    struct js_error e;

    s->inflight--;
    status = status == 0 ? op->refused : status;
    if (status == 0 && op->purge_filter != NULL)
        notify_purge(s, mf_str(op->purge_filter));
    free(op->purge_filter);
    op->purge_filter = NULL;
    if (status == 0) {
        notify_soon(s);
        op->done(op, NULL, op->count);
        return;
    }
    stream_store_error(s, status, &e);
    op->done(op, &e, 0);
}

struct store_wait *stream_op_wait(struct stream *s, struct stream_op *op)
{
    op->stream = s;
    op->refused = 0;
    op->wait.done = op_done;
    return &op->wait;
}

void stream_op_refuse(struct stream *s, struct stream_op *op, const struct js_error *e)
{
    op->stream = s;
    free(op->purge_filter);
    op->purge_filter = NULL;
    op->done(op, e, 0);
}

/* --- one message --------------------------------------------------------------------------- */

static int remove_allowed(struct stream *s, uint64_t seq, struct js_error *e)
{
    uint64_t msgs, bytes, last;
    char text[32];

    if (s->cfg.sealed)
        return js_error_set(e, JS_STREAM_SEALED);
    if (s->cfg.deny_delete)
        return js_error_set_text(e, JS_STREAM_MSG_DELETE_FAILED, "message delete not permitted");
    if (seq > 0 && stream_next(s, seq) == seq)
        return 0;
    /* nats-server's kinds of storage have different words for what is not there. */
    store_accepted(s->store, &msgs, &bytes, &last);
    uint64_t first = stream_next(s, 0);
    if (!s->memory && seq > last)
        return js_error_set_text(e, JS_STREAM_MSG_DELETE_FAILED, "stream store EOF");
    if (!s->memory && (first == 0 || seq < first))
        return js_error_set_text(e, JS_STREAM_MSG_DELETE_FAILED, "no message found");
    text[proto_put_u64((uint8_t *)text, seq)] = '\0';
    return js_error_set(e, JS_SEQUENCE_NOT_FOUND, text);
}

/* The subject of a message that is there, in memory or not. */
static int subject_of(struct stream *s, uint64_t seq, char **out)
{
    struct mf_buf b = MF_BUF_INIT;
    struct store_rec r;
    int rc = store_peek(s->store, seq, &r);

    if (rc == MF_AGAIN)
        rc = store_read_now(s->store, seq, &b, &r);
    if (rc == 0 && (*out = mf_slice_dup(r.key)) == NULL)
        rc = MF_NOMEM;
    mf_buf_fini(&b);
    return rc;
}

static int remove_one(struct stream *s, uint64_t seq, bool erase, struct store_wait *w)
{
    bool marks = s->cfg.subject_delete_marker_ttl_ns > 0 && !s->host->strict;
    char *subject = NULL;
    uint16_t flags = 0;
    uint64_t count;
    int rc;

    /* A damaged message has no readable subject; it can still be removed. */
    if ((marks || s->schedules != NULL) && subject_of(s, seq, &subject) == MF_NOMEM)
        return MF_NOMEM;
    if (marks && subject != NULL && (rc = expire_settle(s, mf_str(subject))) != 0) {
        free(subject); /* expired messages beside it would be left */
        return rc;
    }
    store_begin(s->store, true);
    /* Readers may still see one that is on its way out. */
    rc = store_flags(s->store, seq, &flags) ? store_reserve(s->store, 2) : MF_NOTFOUND;
    if (rc == 0 && erase)
        rc = store_erase_ready(s->store, seq);
    if (rc == 0)
        rc = dedup_before_removal(s->dedup, s->store, seq, seq);
    if (rc == 0 && marks && subject != NULL) {
        (void)store_key_last_accepted(s->store, mf_str(subject), &count);
        rc = expire_mark(s, mf_str(subject), seq, count == 1, flags, MARKER_REMOVE);
    }
    if (rc == 0)
        rc = linked_leaves(s, seq);
    if (rc == 0)
        rc = erase ? store_erase(s->store, seq, w) : store_remove(s->store, seq, NULL);
    if (rc == 0 && s->schedules != NULL && subject != NULL)
        schedule_removed(s, mf_str(subject), seq);
    free(subject);
    int end = store_end(s->store, rc == 0 && !erase ? w : NULL);
    return rc == 0 ? end : rc;
}

void stream_remove(struct stream *s, uint64_t seq, bool erase, struct stream_op *op)
{
    struct js_error e;
    int rc;

    op->count = 1;
    op->purge_filter = NULL;
    if (remove_allowed(s, seq, &e) != 0) {
        stream_op_refuse(s, op, &e);
        return;
    }
    rc = remove_one(s, seq, erase, stream_op_wait(s, op));
    if (rc != 0) {
        js_error_set_text(&e, JS_STREAM_MSG_DELETE_FAILED, "%s", mf_err_text(rc));
        stream_op_refuse(s, op, &e);
        return;
    }
    s->inflight++;
    limits_count(s);
    expire_arm(s);
}

int stream_drop(struct stream *s, uint64_t seq, struct store_wait *w)
{
    int rc;

    store_begin(s->store, true);
    if ((rc = dedup_before_removal(s->dedup, s->store, seq, seq)) == 0 &&
        (rc = linked_leaves(s, seq)) == 0)
        rc = store_remove(s->store, seq, NULL);
    int end = store_end(s->store, rc == 0 ? w : NULL);
    limits_count(s);
    return rc == 0 ? end : rc;
}

/* --- many ------------------------------------------------------------------------------------- */

int stream_drop_range(struct stream *s, uint64_t from, uint64_t upto, struct store_wait *w)
{
    int rc;

    store_begin(s->store, true);
    if ((rc = dedup_before_removal(s->dedup, s->store, from, upto)) == 0)
        rc = store_remove_range(s->store, from, upto, NULL);
    int end = store_end(s->store, rc == 0 ? w : NULL);
    return rc == 0 ? end : rc;
}

int stream_drop_all(struct stream *s)
{
    uint64_t msgs, bytes, last, first = store_first_accepted(s->store);
    int rc = 0;

    stream_emptied(s);
    store_accepted(s->store, &msgs, &bytes, &last);
    if (msgs > 0)
        rc = stream_drop_range(s, first, last, NULL);
    limits_count(s);
    return rc;
}
