/* stream.c: a stream from its opening to its end; a new configuration in between. */
#include "stream/lifetime_impl.h"
#include "stream/summary_impl.h"

#include "stream/stream_damage.h"
#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>

/* --- parts made from the configuration ----------------------------------------------------- */

struct parts {
    struct transform *transform, *republish;
    struct policy *policy;
};

static void parts_free(struct parts *p)
{
    transform_free(p->transform);
    transform_free(p->republish);
    policy_free(p->policy);
}

static int parts_make(struct parts *p, const struct stream_config *c, const struct stream_host *h,
                      struct mf_error *e)
{
    const struct stream_mapping *t = c->subject_transform;
    const struct stream_republish *r = c->republish;

    *p = (struct parts){0};
    if (t != NULL && t->dest != NULL && t->dest[0] != '\0' &&
        transform_new(&p->transform, mf_str(t->src), mf_str(t->dest), e) != 0)
        return mf_wrap(e, "subject transform");
    if (r != NULL && r->dest != NULL && r->dest[0] != '\0' &&
        transform_new(&p->republish, mf_str(r->src), mf_str(r->dest), e) != 0) {
        parts_free(p);
        return mf_wrap(e, "republish");
    }
    if (lifetime_compile(c, h, &p->policy) != 0) {
        parts_free(p);
        return mf_fail(e, MF_NOMEM, "TTL policy");
    }
    return 0;
}

static void parts_use(struct stream *s, const struct parts *p)
{
    transform_free(s->transform);
    transform_free(s->republish);
    s->transform = p->transform;
    s->republish = p->republish;
    lifetime_use(s, p->policy);
}

/* --- open ---------------------------------------------------------------------------------- */

/* Remembers the time and the id of the last message. */
static void remember_last(struct stream *s)
{
    uint64_t seq = store_prev(s->store, UINT64_MAX), last = store_last_seq(s->store);
    struct mf_buf b = MF_BUF_INIT;
    struct store_rec r;
    struct mf_slice id;

    bool fresh = seq == 0 && last == (s->cfg.first_seq > 0 ? s->cfg.first_seq - 1 : 0);
    s->emptied = s->cfg.first_seq > 0;
    s->ends.last_ts_ns = fresh ? CLOCK_ZERO : store_clock_floor(s->store);
    if (seq == 0 || seq != last)
        return;
    if (store_read_now(s->store, seq, &b, &r) == 0) {
        s->ends.last_ts_ns = r.ts_ns;
        if (header_get(r.head, "Nats-Msg-Id", &id))
            mf_buf_append(&s->ends.last_msg_id, id.ptr, id.len);
    }
    mf_buf_fini(&b);
}

static void stream_free(struct stream *s)
{
    schedule_free(s);
    counter_free(s);
    dedup_free(s->dedup);
    hour_free(s);
    free(s->rule_hits);
    dead_letters_free(s);
    loop_timer_free(s->expiry.timer);
    loop_timer_free(s->enforce.timer);
    parts_free(&(struct parts){s->transform, s->republish, s->policy});
    mf_buf_fini(&s->ends.last_msg_id);
    lend_clear(&s->buf.header);
    lend_clear(&s->buf.body);
    lend_unmark(s->buf.subject, sizeof s->buf.subject);
    mf_buf_fini(&s->buf.header);
    mf_buf_fini(&s->buf.body);
    mf_buf_fini(&s->notify.copies);
    mf_buf_fini(&s->notify.rollups);
    stream_config_fini(&s->cfg);
    free(s);
}

static int load_stream(struct stream *s)
{
    int64_t now = stream_now(s);
    int rc;

    if ((s->dedup = dedup_new()) == NULL || expire_init(s) != 0 || limits_init(s) != 0)
        return MF_NOMEM;
    remember_last(s);
    if ((rc = dedup_load(s->dedup, s, now, s->cfg.duplicate_window_ns)) != 0)
        return rc;
    if ((rc = redeadline_resume(s)) != 0 || (rc = backfill_resume(s)) != 0 ||
        (rc = linked_start(s)) != 0 || (rc = warn_start(s)) != 0)
        return rc;
    return s->cfg.allow_msg_schedules ? schedule_load(s) : 0;
}

static uint64_t accepted_msgs(const struct stream *s)
{
    uint64_t msgs, bytes, last;

    store_accepted(s->store, &msgs, &bytes, &last);
    return msgs;
}

int stream_new(struct stream **out, struct stream_config *cfg, int64_t created_ns, struct store *st,
               const struct stream_host *h, struct mf_error *e)
{
    struct stream *s = calloc(1, sizeof *s);
    struct parts parts;
    int rc;

    if (s == NULL)
        return mf_fail(e, MF_NOMEM, "stream %s", cfg->name);
    if (parts_make(&parts, cfg, h, e) != 0) {
        free(s);
        return mf_wrap(e, "stream %s", cfg->name);
    }
    mf_list_init(&s->notify.observers);
    mf_list_init(&s->purge.queue);
    mf_list_init(&s->looks);
    s->store = st;
    s->host = h;
    s->owner = h->owner != NULL ? h->owner : &s->own;
    s->created_ns = created_ns;
    s->memory = cfg->storage == STORAGE_MEMORY;
    parts_use(s, &parts);
    s->cfg = *cfg; /* the caller's again if something fails */
    notify_from_here(s);
    if ((rc = load_stream(s)) != 0) {
        redeadline_stop(s);
        backfill_stop(s);
        linked_stop(s);
        warn_stop(s);
        summary_stop(s);
        stream_config_init(&s->cfg);
        stream_free(s);
        return mf_fail(e, rc, "load stream %s", cfg->name);
    }
    stream_config_init(cfg);
    limits_count(s);
    s->stats.removed = accepted_msgs(s);
    limits_resume(s);
    expire_start(s);
    *out = s;
    return 0;
}

/* --- close --------------------------------------------------------------------------------- */

static void store_closed(void *arg)
{
    struct stream *s = arg;
    void (*done)(void *) = s->closed;
    void *done_arg = s->closed_arg;

    stream_free(s);
    done(done_arg);
}

static void uncount_usage(struct stream *s)
{
    int64_t *account = s->memory ? &s->host->account_usage->memory : &s->host->account_usage->file;
    int64_t *server = s->memory ? &s->host->server_usage->memory : &s->host->server_usage->file;

    *account -= s->room.counted_bytes;
    *server -= s->room.counted_bytes;
    s->host->server_usage->index -= s->room.counted_index;
    s->room.counted_bytes = s->room.counted_index = 0;
}

/* Stops all timers and jobs. */
static void stop_work(struct stream *s)
{
    s->closing = true;
    batch_drop_all(s);
    fast_drop_all(s);
    purge_drop_all(s);
    redeadline_stop(s);
    backfill_stop(s);
    linked_stop(s);
    warn_stop(s);
    summary_stop(s);
    ahead_stop(s);
    limits_stop(s);
    loop_timer_stop(s->expiry.timer);
    loop_defer_cancel(s->host->loop, &s->notify.defer);
    work_cancel(s->host->loop, &s->notify.task);
    work_cancel(s->host->loop, &s->expiry.task);
    work_cancel(s->host->loop, &s->purge.task);
    uncount_usage(s);
}

void stream_close(struct stream *s, void (*done)(void *arg), void *arg)
{
    s->closed = done;
    s->closed_arg = arg;
    stop_work(s);
    store_close(s->store, store_closed, s);
}

void stream_forget(struct stream *s)
{
    stop_work(s);
    stream_free(s);
}

/* --- update -------------------------------------------------------------------------------- */

static bool needs_redeadline(const struct stream_config *now, const struct stream_config *next)
{
    return now->max_age_ns != next->max_age_ns || (!now->allow_msg_ttl && next->allow_msg_ttl) ||
           (!now->allow_msg_schedules && next->allow_msg_schedules);
}

static int update_write(struct stream *s, struct stream_config *next, struct mf_slice encoded,
                        struct stream_op *op)
{
    bool again = needs_redeadline(&s->cfg, next);
    struct stream_config old = s->cfg;
    int rc;

    store_begin(s->store, false);
    s->cfg = *next;
    rc = again ? redeadline_start(s, &(struct redeadline_terms){old.max_age_ns, old.allow_msg_ttl})
               : 0;
    if (rc == 0)
        rc = limits_note(s, old.max_msgs_per_subject);
    if (rc == 0)
        rc = store_blob_put(s->store, MF_LIT(BLOB_CONFIG), encoded, NULL);
    if (rc == 0) {
        stream_config_fini(&old);
        stream_config_init(next);
    } else {
        s->cfg = old; /* a sweep that was begun finds every deadline as it should be */
    }
    int end = store_end(s->store, rc == 0 ? stream_op_wait(s, op) : NULL);
    return rc == 0 ? end : rc;
}

/* Without memory links act on the next write of each message. */
static void start_links(struct stream *s)
{
    if (linked_start(s) != 0)
        log_warn("stream %s: no memory to follow the links of its TTL policy", s->cfg.name);
    if (warn_start(s) != 0)
        log_warn("stream %s: no memory to warn of the end of messages", s->cfg.name);
}

void stream_update(struct stream *s, struct stream_config *next, struct mf_slice encoded,
                   struct stream_op *op)
{
    struct parts parts;
    struct js_error je;
    struct mf_error e;
    int rc;

    op->stream = s;
    op->count = 0;
    op->purge_filter = NULL;
    if (parts_make(&parts, next, s->host, &e) != 0) {
        js_error_set_text(&je, JS_STREAM_INVALID_CONFIG, "%s", e.text);
        op->done(op, &je, 0);
        return;
    }
    bool batches = s->cfg.allow_atomic && !next->allow_atomic;
    bool fasts = s->cfg.allow_batched && !next->allow_batched;
    if ((rc = update_write(s, next, encoded, op)) != 0) {
        parts_free(&parts);
        stream_store_error(s, rc, &je);
        op->done(op, &je, 0);
        return;
    }
    s->inflight++;
    parts_use(s, &parts);
    start_links(s);
    if (batches)
        batch_drop_all(s);
    if (fasts)
        fast_drop_all(s);
    limits_enforce(s);
    expire_arm(s);
}

/* --- what it is ---------------------------------------------------------------------------- */

const struct stream_config *stream_config(const struct stream *s)
{
    return &s->cfg;
}

const char *stream_name(const struct stream *s)
{
    return s->cfg.name;
}

int64_t stream_created_ns(const struct stream *s)
{
    return s->created_ns;
}

struct work_owner *stream_owner(struct stream *s)
{
    return s->owner;
}

const struct stream_host *stream_host(const struct stream *s)
{
    return s->host;
}

void stream_set_data(struct stream *s, void *data)
{
    s->data = data;
}

void *stream_data(const struct stream *s)
{
    return s->data;
}

const char *stream_error(const struct stream *s)
{
    return store_error(s->store);
}

int64_t stream_clock_floor(const struct stream *s)
{
    return store_clock_floor(s->store);
}

void stream_clock_stepped(struct stream *s)
{
    s->expiry.armed_ns = INT64_MAX;
    expire_arm(s);
    schedule_clock_stepped(s);
}

void stream_clock_set_back(struct stream *s)
{
    schedule_clock_set_back(s);
    stream_clock_stepped(s);
}

void stream_stats(struct stream *s, struct stream_stats *out)
{
    struct store_stats st;

    store_stats(s->store, &st);
    *out = s->stats;
    out->disk_bytes = store_disk_bytes(s->store);
    out->memory_bytes = st.index_bytes;
    out->syncs = st.syncs;
    uint64_t there = accepted_msgs(s) + s->stats.expired, came = s->stats.removed + st.appends;
    out->removed = came > there ? came - there : 0;
    struct stream_damage d;
    out->damage = stream_damage(s, &d) ? d.places : 0;
    out->late_max_ns = expire_late_max(s);
}
