/* restore_store.c: stores an archive as a stream.
 *
 * Happy path: after state.json, the first entry, the stream is created with a configuration that
 * accepts every message unchanged: no subjects, so that no other writer exists; no limits, no
 * markers, no transform.  Messages are stored with their sequences and times; gaps are skipped. At
 * the end the last sequence is set, and the stream gets its final configuration.
 * Failure: the stream is deleted.  After a crash nothing of it remains: until its end it is a draft
 * of the catalog. */
#include "backup/restore_impl.h"

#include "base/clock.h"
#include "proto/header.h"
#include "codec/json.h"
#include "base/log.h"
#include "subject/subject.h"
#include "ttl/ttl.h"

#include <stdio.h>
#include <stdlib.h>

#define INFLIGHT_MAX (8u << 20)  /* bytes on their way to the disk */
#define PART_MAX     (64u << 20) /* of each consumer in the archive */

#define FIELD(name, kind, member)                                                                  \
    {                                                                                              \
        name, kind, offsetof(struct restore_state, member), NULL, NULL, 0                          \
    }
static const struct json_field state_fields[] = {
    FIELD("messages", JSON_U64, msgs),
    FIELD("bytes", JSON_U64, bytes),
    FIELD("first_seq", JSON_U64, first_seq),
    FIELD("first_ts", JSON_TIME, first_ts_ns),
    FIELD("last_seq", JSON_U64, last_seq),
    FIELD("last_ts", JSON_TIME, last_ts_ns),
    FIELD("num_subjects", JSON_INT, subjects),
    FIELD("subjects", JSON_RAW, subject_counts),
    FIELD("num_deleted", JSON_INT, deleted_count),
    FIELD("deleted", JSON_RAW, deleted),
    FIELD("lost", JSON_RAW, lost),
    FIELD("consumer_count", JSON_INT, consumers),
};
const struct json_type restore_state_type = {"StreamState", sizeof(struct restore_state),
                                             state_fields, MF_COUNT(state_fields)};

/* --- failure -------------------------------------------------------------------------------- */

struct stream *restore_stream(struct restore *r)
{
    struct stream *s = r->made ? catalog_find(r->aa->ja->catalog, mf_str(r->name)) : NULL;

    return s != NULL && stream_created_ns(s) == r->created_ns ? s : NULL;
}

static void finish_delete(struct catalog_op *op, struct stream *s, const struct js_error *e)
{
    struct restore *r = mf_container(op, struct restore, op);

    (void)s;
    if (e != NULL)
        log_error("account %s: stream %s, half restored, could not be deleted: %s",
                  account_name(r->aa->ja->account), r->name, e->text);
    r->pending = false;
    restore_wake(r);
}

static void clean_up(struct restore *r);

static void no_longer_busy(struct catalog_wait *w)
{
    struct restore *r = mf_container(w, struct restore, busy);

    r->pending = false;
    clean_up(r);
    restore_wake(r);
}

/* True if the stream is being changed or deleted: restore_wake() follows. */
static bool stream_busy(struct restore *r)
{
    r->busy.done = no_longer_busy;
    r->pending = catalog_busy(r->aa->ja->catalog, mf_str(r->name), &r->busy);
    return r->pending;
}

/* As soon as nothing of it is under way. */
static void clean_up(struct restore *r)
{
    struct stream *s;

    if (!r->failed || !restore_idle(r))
        return;
    s = restore_stream(r);
    if (s != NULL && stream_busy(r))
        return;
    r->made = false;
    if (s == NULL)
        return;
    r->pending = true;
    r->op.done = finish_delete;
    catalog_discard(r->aa->ja->catalog, s, &r->op);
}

void restore_fail_with(struct restore *r, const struct js_error *e)
{
    if (!r->failed)
        r->error = *e;
    r->failed = true;
    restore_unreserve(r);
    clean_up(r);
}

void restore_fail(struct restore *r, const char *fmt, ...)
{
    struct js_error e;
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    js_error_set(&e, JS_STREAM_RESTORE, text);
    restore_fail_with(r, &e);
}

/* --- the stream ----------------------------------------------------------------------------- */

/* Lets everything in, unchanged. */
static int open_config(struct stream_config *to, const struct stream_config *from)
{
    int rc = stream_config_copy(to, from);

    if (rc != 0)
        return rc;
    to->subjects = (struct json_strs){NULL, 0};
    to->mirror = NULL;
    to->sources = (struct json_objects){NULL, 0};
    to->retention = RETENTION_LIMITS;
    to->max_msgs = to->max_bytes = to->max_msgs_per_subject = -1;
    to->max_msg_size = -1;
    to->max_age_ns = to->subject_delete_marker_ttl_ns = 0;
    to->discard = DISCARD_OLD;
    to->discard_new_per_subject = to->sealed = to->deny_delete = to->deny_purge = false;
    to->allow_rollup = to->allow_msg_schedules = to->allow_direct = to->mirror_direct = false;
    to->first_seq = 0;
    to->subject_transform = NULL;
    to->republish = NULL;
    return 0;
}

static void finish_make(struct catalog_op *op, struct stream *s, const struct js_error *e)
{
    struct restore *r = mf_container(op, struct restore, op);

    r->pending = false;
    restore_counted(r);
    if (s != NULL) {
        r->made = true;
        r->created_ns = stream_created_ns(s);
        if (r->failed)
            clean_up(r);
    } else {
        restore_fail(r, "error adding stream: %s", e->text);
    }
    restore_wake(r);
}

int restore_name_free(struct api_account *aa, const char *name, struct js_error *e)
{
    const char *offline = catalog_offline(aa->ja->catalog, mf_str(name));

    if (offline != NULL) /* it cannot be served, but it is there */
        return js_error_set(e, JS_STREAM_OFFLINE_REASON, offline);
    if (catalog_find(aa->ja->catalog, mf_str(name)) != NULL)
        return js_error_set(e, JS_STREAM_NAME_EXIST_RESTORE_FAILED);
    return 0;
}

/* Is there still room for it under that name? */
static bool still_free(struct restore *r)
{
    struct js_error e;

    if (restore_name_free(r->aa, r->name, &e) == 0 && restore_allowed(r, &e) == 0)
        return true;
    restore_fail_with(r, &e);
    return false;
}

static bool no_overlap(struct restore *r)
{
    int rc = catalog_overlaps(r->aa->ja->catalog, &r->cfg, r->name);
    struct js_error e;

    if (rc == 0)
        return true;
    if (rc == MF_NOMEM) {
        js_error_set(&e, JS_INSUFFICIENT_RESOURCES);
        restore_fail_with(r, &e);
        return false;
    }
    if (rc > 0)
        restore_fail(r, "error adding stream: subjects overlap with an existing stream (%d)",
                     JS_STREAM_SUBJECT_OVERLAP_CODE);
    else
        restore_fail(r,
                     "error adding stream: subjects have too many wildcards to be compared with "
                     "other streams (%d)",
                     JS_STREAM_INVALID_CONFIG_CODE);
    return false;
}

/* 0: there is a stream. */
static int make_stream(struct restore *r)
{
    struct stream_config c;
    struct js_error e;

    if (r->made)
        return 0;
    if (stream_busy(r))
        return MF_AGAIN;
    if (!still_free(r) || !no_overlap(r))
        return MF_DENIED;
    if (open_config(&c, &r->cfg) != 0) {
        js_error_set(&e, JS_INSUFFICIENT_RESOURCES);
        restore_fail_with(r, &e);
        return MF_DENIED;
    }
    r->pending = true;
    r->op.done = finish_make;
    catalog_create_draft(r->aa->ja->catalog, &c, &r->op);
    stream_config_fini(&c);
    return MF_AGAIN;
}

/* --- messages ------------------------------------------------------------------------------- */

struct restore_pub {
    struct stream_publish p;
    struct restore *r;
    size_t bytes;
};

static void finish_store(struct stream_publish *p, const struct stream_ack *a)
{
    struct restore_pub *x = mf_container(p, struct restore_pub, p);
    struct restore *r = x->r;

    r->inflight--;
    r->inflight_bytes -= x->bytes;
    free(x);
    if (a->error != NULL)
        restore_fail(r, "failed to store message: %s", a->error->text);
    else
        clean_up(r); /* it may have failed meanwhile, and this was the last one */
    restore_wake(r);
}

/* gap: only its sequence is used up. */
static void store_msg(struct restore *r, struct stream *s, const struct archive_entry *e, bool gap)
{
    struct restore_pub *x = calloc(1, sizeof *x);

    if (x == NULL) {
        restore_fail(r, "%s", mf_err_text(MF_NOMEM));
        return;
    }
    x->r = r;
    x->bytes = e->name.len + e->hdr.len + e->payload.len;
    x->p = (struct stream_publish){
        .msg = {.subject = e->name, .hdr = e->hdr, .payload = e->payload},
        .done = finish_store,
        .replicated = true,
        .gap = gap,
        .seq = e->seq,
        .ts_ns = e->ts_ns == 0 ? 1 : e->ts_ns, /* 0 would be now */
    };
    r->stored = e->seq;
    r->inflight++;
    r->inflight_bytes += x->bytes;
    stream_publish(s, &x->p);
}

/* Its TTL is over: it becomes a gap.  A value that is no TTL says nothing. */
static bool is_over(struct restore *r, const struct archive_entry *e)
{
    bool strict = r->aa->ja->js->options->jetstream.compat_strict;
    struct mf_slice text;
    int64_t ttl, deadline;

    if (!r->cfg.allow_msg_ttl || e->hdr.len == 0 || !header_get(e->hdr, "Nats-TTL", &text) ||
        text.len == 0 || ttl_parse(text, strict, &ttl) != 0)
        return false;
    deadline = ttl_deadline(e->ts_ns, ttl, strict);
    return deadline != 0 && deadline <= jetstream_now_ns(r->aa->ja->js);
}

void restore_take_msg(struct restore *r, struct stream *s, const struct archive_entry *e)
{
    unsigned long long seq = e->seq;

    if (e->seq <= r->last_seq || e->seq > INT64_MAX)
        restore_fail(r, "message sequence %llu out of order", seq);
    else if (!subject_valid(e->name))
        restore_fail(r, "message sequence %llu has an invalid subject", seq);
    else if (r->cfg.max_msg_size >= 0 && e->hdr.len + e->payload.len > (size_t)r->cfg.max_msg_size)
        restore_fail(r, "message sequence %llu exceeds maximum message size", seq);
    else if (restore_room(r, stream_size_of(s, e->name.len, e->hdr.len, e->payload.len))) {
        r->last_seq = e->seq;
        if (!is_over(r, e))
            store_msg(r, s, e, false);
    }
}

static void take_state(struct restore *r, const struct archive_entry *e)
{
    struct arena mem = {.chunks = NULL};
    struct mf_error why;

    if (!mf_eq_str(e->name, ARCHIVE_STATE) || e->skipped)
        restore_fail(r, "expected state.json first");
    else if (json_read(e->payload, &restore_state_type, &r->state, &mem, false, &why) != 0)
        restore_fail(r, "error in state.json: %s", why.text);
    else if (r->state.last_seq > INT64_MAX)
        restore_fail(r, "error in state.json: last_seq is out of range");
    else if (restore_hold(r, r->state.bytes))
        r->archive.max_part = PART_MAX;
    arena_fini(&mem);
    r->begun = true;
}

static void take_entry(struct restore *r, const struct archive_entry *e)
{
    struct stream *s = restore_stream(r);

    if (!r->begun)
        take_state(r, e);
    else if (s == NULL)
        restore_fail(r, "stream not found");
    else if (r->consumers_read < r->state.consumers)
        restore_take_consumer(r, e);
    else if (e->seq != 0)
        restore_take_msg(r, s, e);
    else if (!e->end)
        restore_fail(r, "expected message sequence");
}

/* One step.  0: r->failed, or go on; MF_AGAIN: more bytes are needed. */
static int archive_step(struct restore *r)
{
    struct archive_entry e;
    int rc = archive_next(&r->archive, &e);

    if (rc == MF_AGAIN)
        return rc;
    if (rc == MF_LIMIT)
        restore_fail(r, "message sequence %llu exceeds maximum payload size",
                     (unsigned long long)e.seq);
    else if (rc == MF_UNSUPPORTED)
        restore_tar_begin(r);
    else if (rc != 0)
        restore_fail(r, "archive: invalid archive stream");
    else
        take_entry(r, &e);
    return 0;
}

int restore_take(struct restore *r)
{
    do {
        int rc;

        if (r->pending || r->read != NULL || r->inflight_bytes > INFLIGHT_MAX)
            return MF_AGAIN;
        if (r->begun && !r->made) {
            rc = make_stream(r);
            if (rc != 0)
                return rc;
        }
        rc = r->tar != NULL ? restore_tar_step(r) : archive_step(r);
        if (rc == MF_AGAIN)
            return 0;
        if (r->failed)
            return MF_DENIED;
    } while (!work_spent(r->aa->ja->js->loop));
    restore_wake(r);
    return MF_AGAIN;
}

/* --- the end -------------------------------------------------------------------------------- */

static void finish_configure(struct catalog_op *op, struct stream *s, const struct js_error *e)
{
    struct restore *r = mf_container(op, struct restore, op);

    r->pending = false;
    if (e != NULL)
        restore_fail_with(r, e);
    else
        r->complete = !r->failed;
    /* Older backups of nats-server have no first sequence. */
    if (r->complete && s != NULL && r->tar == NULL)
        stream_emptied(s);
    if (r->complete && s != NULL && js_consumers(s) != NULL)
        consumers_begin(js_consumers(s));
    if (r->complete)
        advisory_stream_action(r->aa->ja, r->name, "create");
    clean_up(r);
    restore_wake(r);
}

/* Sequences behind the last message are used up.  Nothing is stored for them: a stream that copies
 * from this one already would keep it. */
static int make_tail(struct restore *r, struct stream *s)
{
    struct archive_entry e = {.name = MF_LIT("_mayfly.gap"),
                              .seq = r->state.last_seq,
                              .ts_ns = r->state.last_ts_ns == CLOCK_ZERO ? 1 : r->state.last_ts_ns};

    if (r->stored >= r->state.last_seq)
        return 0;
    store_msg(r, s, &e, true);
    return MF_AGAIN;
}

int restore_complete(struct restore *r)
{
    struct stream_config c;
    struct stream *s;
    int rc;

    if (r->failed || r->complete)
        return 0;
    if (!restore_idle(r) || r->read != NULL)
        return MF_AGAIN;
    if (!r->archive.ended) {
        restore_fail(r, r->total > 0 && !s2_reader_clean(&r->s2) ? "s2: corrupt input" : "EOF");
        return 0;
    }
    s = restore_stream(r);
    if (s == NULL) {
        restore_fail(r, "stream not found");
        return 0;
    }
    if (r->tar != NULL && restore_tar_finish(r, s) != 0)
        return MF_AGAIN;
    if (r->failed)
        return 0;
    if (make_tail(r, s) != 0 || restore_make_consumers(r, s) != 0)
        return MF_AGAIN;
    if (r->failed)
        return 0;
    if (stream_busy(r))
        return MF_AGAIN;
    if (!no_overlap(r))
        return 0;
    rc = stream_config_copy(&c, &r->cfg);
    if (rc != 0) {
        restore_fail(r, "%s", mf_err_text(rc));
        return 0;
    }
    r->pending = true;
    r->promised = 0; /* the stream's own configuration promises it from now on */
    r->op.done = finish_configure;
    catalog_finish(r->aa->ja->catalog, s, &c, &r->op);
    stream_config_fini(&c);
    return MF_AGAIN;
}
