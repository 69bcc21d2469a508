/* schedule_fire.c: when a schedule is due.
 *
 * Happy path: schedule_run() chooses the first that is due; its message is read (from disk if need
 * be), then the last one of its source if it names one; what it produces is stored together with
 * the removal of the schedule (@at) or its next time, as one batch of the store.  That batch is the
 * firing: after a crash it has happened or not, never half, never twice.
 * Not on disk yet: the schedule waits for that.  Removed, overwritten or unreadable: it is
 * forgotten.
 * The store refuses: another attempt after RETRY_NS. */
#include "stream/schedule_impl.h"

#include "stream/batch_impl.h"
#include "stream/lifetime_impl.h"

#include "base/clock.h"
#include "cron/cron.h"
#include "proto/header.h"
#include "base/log.h"

#define SLICE    200 /* firings in one turn of the loop */
#define RETRY_NS 250000000LL

enum fired {
    FIRE_NEXT,  /* this one is dealt with */
    FIRE_WAIT,  /* schedule_run() will be called */
    FIRE_LATER, /* the store refuses */
};

/* --- what it produces ------------------------------------------------------------------------- */

static bool keeps_header(struct mf_slice name)
{
    return !mf_starts(name, "Nats-Schedule") && !mf_starts(name, "Nats-Expected-") &&
           !mf_eq_str(name, "Nats-Msg-Id") && !mf_eq_str(name, "Nats-TTL") &&
           !mf_eq_str(name, "Nats-Rollup");
}

/* Lines that stay are copied byte for byte. */
static void write_header(struct schedules *t, struct mf_slice from, const struct schedule *x,
                         int64_t next_ns)
{
    struct mf_buf *b = &t->out;
    struct mf_slice name, value;
    char time[CLOCK_TEXT];
    size_t pos = 0;

    mf_buf_clear(b);
    header_begin(b, NULL);
    while (from.len > 0) {
        if (!header_next(from, &pos, &name, &value))
            break;
        const uint8_t *line = name.ptr;
        if (keeps_header(name))
            mf_buf_append(b, line, (size_t)(from.ptr + pos - line));
    }
    header_add(b, "Nats-Scheduler", schedule_subject(x));
    header_add(b, "Nats-Schedule-Next",
               next_ns == 0 ? MF_LIT("purge") : mf_str(clock_rfc3339(time, next_ns)));
    if (t->h.schedule_ttl.len > 0)
        header_add(b, "Nats-TTL", t->h.schedule_ttl);
    if (t->h.schedule_rollup.len > 0)
        header_add(b, "Nats-Rollup", t->h.schedule_rollup);
    header_end(b);
}

/* --- the firing ------------------------------------------------------------------------------- */

/* Should the message stay for want of memory, it is a message like any other from now on.  x is
 * NULL if what it made stands on its own subject, and so in its place. */
static void end_schedule(struct stream *s, uint64_t seq, struct schedule *x)
{
    int rc = store_remove(s->store, seq, NULL);

    if (rc != 0 && rc != MF_NOTFOUND)
        log_warn("stream %s: the schedule at %llu fired but could not be removed", s->cfg.name,
                 (unsigned long long)seq);
    if (x != NULL)
        schedule_forget(s, x);
}

/* In the open batch of the store.  A roll-up of very many continues in time slices afterwards. */
static int store_made(struct stream *s, struct intake *in)
{
    uint64_t most = PURGE_SLICE;
    struct js_error e;
    int rc = in->rollup == ROLLUP_NONE ? 0 : purge_rest_new(s, in, &most, PURGE_SLICE);

    if (rc == 0)
        rc = batch_store(s, in, true, &e);
    if (rc == 0 && !in->used_up)
        stream_stored(s, in);
    return rc;
}

/* Of t->firing, which becomes NULL if the schedule is forgotten meanwhile. */
static int store_firing(struct stream *s, struct intake *in, int64_t next_ns)
{
    struct schedule *x;
    struct js_error e;
    int rc = expire_settle(s, in->subject);
    bool fits = check_size(s, in, &e) == 0;

    if (rc != 0)
        return rc;
    if ((x = s->schedules->firing) == NULL)
        return 0; /* its message was due with those */
    if (check_resources(s, in, &e) != 0 || check_account(s, in, &e) != 0)
        return MF_FULL; /* later, when there is room */
    uint64_t seq = x->seq;
    store_begin(s->store, false);
    s->room.planned = 0;
    if (next_ns == 0 && (rc = store_reserve(s->store, 1)) == 0)
        rc = dedup_before_removal(s->dedup, s->store, seq, seq);
    if (!fits)
        log_warn("stream %s: what schedule \"%.*s\" makes is refused: %s", s->cfg.name,
                 MF_FMT(schedule_subject(x)), e.text);
    if (rc == 0 && fits)
        rc = store_made(s, in);
    x = s->schedules->firing;
    if (rc == 0 && next_ns == 0)
        end_schedule(s, seq, x);
    else if (rc == 0 && x != NULL)
        schedule_move(s, x, next_ns);
    int end = store_end(s->store, NULL);
    if (in->rest != NULL)
        purge_rest(s, in, rc != 0 ? rc : in->used_up ? MF_NOTFOUND : end, NULL);
    if (rc != 0)
        return rc;
    limits_count(s);
    notify_after_commit(s);
    return end;
}

/* Everything has been read: t->hdr and t->body, or with `from_source` t->src_hdr and t->src_body.
 */
static enum fired produce_message(struct stream *s, struct schedule *x, bool from_source)
{
    struct schedules *t = s->schedules;
    struct mf_slice hdr = mf_buf_slice(from_source ? &t->src_hdr : &t->hdr);
    struct intake in = {.payload = mf_buf_slice(from_source ? &t->src_body : &t->body)};
    struct cron *c = NULL;
    int64_t next = 0;
    int rc = cron_parse(&c, t->h.schedule, t->h.schedule_zone);

    if (rc == CRON_NO_MEMORY)
        return FIRE_LATER;
    if (rc != 0 || t->h.schedule_target.len == 0 ||
        (t->h.schedule_ttl.len > 0 &&
         ttl_parse(t->h.schedule_ttl, s->host->strict, &in.ttl_ns) != 0)) {
        cron_free(c);
        schedule_forget(s, x); /* it was accepted once, but nothing can be made of it now */
        return FIRE_NEXT;
    }
    in.ts_ns = stream_stamp(s);
    if (!cron_once(c))
        next = cron_next(c, x->next_ns, stream_wall(s));
    cron_free(c);
    write_header(t, hdr, x, next);
    if (mf_buf_failed(&t->out) || mf_buf_failed(from_source ? &t->src_hdr : &t->hdr) ||
        mf_buf_failed(from_source ? &t->src_body : &t->body))
        return FIRE_LATER;
    in.subject = stream_map_subject(s, t->h.schedule_target);
    in.hdr = mf_buf_slice(&t->out);
    intake_read(in.hdr, &in.h);
    if (lifetime_check(s, &in, true, NULL) != 0)
        return FIRE_LATER;              /* out of memory: its maker cannot be refused */
    in.h.schedule_next = MF_SLICE_NONE; /* done here, for this very message */
    in.rollup = in.h.rollup.len > 0 ? ROLLUP_SUBJECT : ROLLUP_NONE;
    int stored = store_firing(s, &in, next);
    t->firing = NULL;
    return stored == 0 ? FIRE_NEXT : FIRE_LATER;
}

/* --- reading ---------------------------------------------------------------------------------- */

static void copy_slice(struct mf_buf *to, struct mf_slice from)
{
    mf_buf_clear(to);
    mf_buf_append(to, from.ptr, from.len);
}

static void source_done(struct stream_load *l, int status)
{
    struct schedules *t = mf_container(l, struct schedules, load);
    struct stream *s = t->stream;

    t->busy = false;
    if (s->closing)
        return;
    enum fired f = status == MF_NOMEM ? FIRE_LATER : FIRE_NEXT;
    if (status == 0) {
        copy_slice(&t->src_hdr, l->msg.hdr);
        copy_slice(&t->src_body, l->msg.payload);
    }
    if (t->firing != NULL && f == FIRE_NEXT)
        f = produce_message(s, t->firing, status == 0);
    schedule_arm(s, f == FIRE_LATER ? stream_wall(s) + RETRY_NS : 0);
}

/* Its message is in t->hdr and t->body. */
static enum fired with_message(struct stream *s, struct schedule *x)
{
    struct schedules *t = s->schedules;
    struct stream_msg m;
    uint64_t seq = 0;

    if (mf_buf_failed(&t->hdr))
        return FIRE_LATER;
    intake_read(mf_buf_slice(&t->hdr), &t->h);
    if (t->h.schedule.len == 0) {
        schedule_forget(s, x);
        return FIRE_NEXT;
    }
    if (x->kept_ns != 0) {
        t->firing = NULL;
        return schedule_replan(s, x) ? FIRE_NEXT : FIRE_LATER;
    }
    if (t->h.schedule_source.len > 0)
        seq = stream_last_of(s, t->h.schedule_source);
    if (seq == 0)
        return produce_message(s, x, false);
    int rc = stream_get(s, seq, &m);
    if (rc == 0) {
        copy_slice(&t->src_hdr, m.hdr);
        copy_slice(&t->src_body, m.payload);
        stream_msg_end(&m);
        return produce_message(s, x, true);
    }
    t->load = (struct stream_load){.seq = seq, .done = source_done};
    if (rc != MF_AGAIN || stream_load(s, &t->load) != 0)
        return rc == MF_AGAIN ? FIRE_LATER : produce_message(s, x, false);
    t->busy = true;
    return FIRE_WAIT;
}

static void message_done(struct stream_load *l, int status)
{
    struct schedules *t = mf_container(l, struct schedules, load);
    struct stream *s = t->stream;
    enum fired f = FIRE_NEXT;

    t->busy = false;
    if (s->closing)
        return;
    if (t->firing != NULL && status == 0) {
        copy_slice(&t->hdr, l->msg.hdr);
        copy_slice(&t->body, l->msg.payload);
        f = with_message(s, t->firing);
    } else if (t->firing != NULL) {
        f = status == MF_NOMEM ? FIRE_LATER : FIRE_NEXT;
        if (status != MF_NOMEM)
            schedule_forget(s, t->firing);
    }
    if (f != FIRE_WAIT)
        schedule_arm(s, f == FIRE_LATER ? stream_wall(s) + RETRY_NS : 0);
}

static void disk_done(struct store_wait *w, int status)
{
    struct schedules *t = mf_container(w, struct schedules, wait);

    (void)status;
    t->busy = false;
    t->stream->inflight--;
    if (!t->stream->closing)
        schedule_run(t->stream);
}

static enum fired fire_schedule(struct stream *s, struct schedule *x)
{
    struct schedules *t = s->schedules;
    struct stream_msg m;
    uint64_t count;
    int rc;

    if (expire_settle(s, schedule_subject(x)) != 0)
        return FIRE_LATER;
    /* That may have forgotten x: look again. */
    if ((x = schedule_first(t)) == NULL || x->next_ns > stream_wall(s))
        return FIRE_NEXT;
    if (store_key_last_accepted(s->store, schedule_subject(x), &count) != x->seq) {
        schedule_forget(s, x);
        return FIRE_NEXT;
    }
    t->firing = x;
    rc = stream_get(s, x->seq, &m);
    if (rc == 0) {
        copy_slice(&t->hdr, m.hdr);
        copy_slice(&t->body, m.payload);
        stream_msg_end(&m);
        return with_message(s, x);
    }
    if (rc == MF_AGAIN) {
        t->load = (struct stream_load){.seq = x->seq, .done = message_done};
        if (stream_load(s, &t->load) != 0)
            return FIRE_LATER;
        t->busy = true;
        return FIRE_WAIT;
    }
    if (rc != MF_NOTFOUND) {
        schedule_forget(s, x);
        return FIRE_NEXT;
    }
    t->wait = (struct store_wait){.done = disk_done};
    if (store_idle(s->store) || store_barrier(s->store, &t->wait) != 0)
        return FIRE_LATER;
    s->inflight++;
    t->busy = true;
    return FIRE_WAIT;
}

static void save_again(struct stream *s)
{
    struct schedules *t = s->schedules;

    for (size_t i = 0; i < t->table.count && t->unsaved > 0; i++)
        if (t->heap[i]->unsaved) {
            schedule_save(s, t->heap[i]);
            if (t->heap[i]->unsaved)
                return;
        }
}

void schedule_run(struct stream *s)
{
    struct schedules *t = s->schedules;
    struct schedule *x;
    int64_t now = stream_wall(s);

    if (t == NULL || t->busy || s->closing || s->cfg.sealed)
        return;
    if (t->missed)
        schedule_load_missed(s);
    if (t->unsaved > 0)
        save_again(s);
    for (size_t n = 0; n < SLICE && (x = schedule_first(t)) != NULL && x->next_ns <= now; n++) {
        enum fired f = fire_schedule(s, x);
        if (f == FIRE_WAIT)
            return;
        if (f == FIRE_LATER) {
            schedule_arm(s, now + RETRY_NS);
            return;
        }
    }
    schedule_arm(s, 0);
}
