/* schedule.c: message schedules: which there are, and what a client may ask for.
 *
 * A schedule is a message with Nats-Schedule, the last one of its subject.  Beside it the table
 * here holds when it fires next; a blob of the store holds the same, written in the batch that
 * stores the message or what it produced:
 *
 *     sched/<16 hex digits: sequence of its message>      0  i64  next_ns, little endian
 *                                                         8  the subject
 *
 * A blob counts only while that message is the last one of the subject; so nothing that removes or
 * overwrites the message has to care. */
#include "stream/schedule_impl.h"

#include "base/array.h"
#include "base/clock.h"
#include "cron/cron.h"
#include "codec/hash.h"
#include "proto/header.h"
#include "base/log.h"
#include "subject/subject.h"

#include <stdio.h>
#include <stdlib.h>

#define NAME_LEN (sizeof BLOB_SCHED - 1 + 16)
#define AGAIN_NS CLOCK_S /* before what found no memory or room is tried again */

/* --- checks ----------------------------------------------------------------------------------- */

static bool is_captured(const struct stream *s, struct mf_slice subject)
{
    for (size_t i = 0; i < s->cfg.subjects.n; i++)
        if (subject_match(mf_str(s->cfg.subjects.at[i]), subject))
            return true;
    return false;
}

static int check_pattern(struct stream *s, const struct intake_headers *h, struct js_error *e)
{
    struct cron *c = NULL;
    int rc;

    if (h->schedule.len == 0 && h->schedule_zone.ptr == NULL)
        return 0;
    if (h->schedule.len == 0) /* a zone alone has to be one, too */
        rc = cron_check_zone(h->schedule_zone);
    else
        rc = cron_parse(&c, h->schedule, h->schedule_zone);
    if (c != NULL && cron_next(c, stream_wall(s), stream_wall(s)) == 0)
        rc = CRON_BAD_PATTERN; /* such as the 30th of February */
    cron_free(c);
    if (!s->cfg.allow_msg_schedules && (rc != 0 || h->schedule.len > 0))
        return js_error_set(e, JS_MESSAGE_SCHEDULES_DISABLED);
    if (rc == CRON_BAD_ZONE)
        return js_error_set(e, JS_MESSAGE_SCHEDULES_TIME_ZONE_INVALID);
    if (rc == CRON_BAD_PATTERN)
        return js_error_set(e, JS_MESSAGE_SCHEDULES_PATTERN_INVALID);
    if (rc != 0)
        stream_store_error(s, MF_NOMEM, e);
    return rc != 0 ? MF_NOMEM : 0;
}

static int check_details(struct stream *s, const struct intake *in, struct js_error *e)
{
    const struct intake_headers *h = &in->h;
    struct mf_slice target = h->schedule_target, source = h->schedule_source;
    int64_t ttl;

    if (h->schedule_ttl.len > 0 && ttl_parse(h->schedule_ttl, s->host->strict, &ttl) != 0)
        return js_error_set(e, JS_MESSAGE_SCHEDULES_TTL_INVALID);
    if (h->schedule_rollup.len > 0 && !mf_eq_str(h->schedule_rollup, "sub"))
        return js_error_set(e, JS_MESSAGE_SCHEDULES_ROLLUP_INVALID);
    if (h->schedule_ttl.len > 0 && !s->cfg.allow_msg_ttl)
        return js_error_set(e, JS_MESSAGE_TTL_DISABLED);
    if (!subject_valid_literal(target) || mf_eq(target, in->subject))
        return js_error_set(e, JS_MESSAGE_SCHEDULES_TARGET_INVALID);
    if (source.len > 0 &&
        (mf_eq(source, target) || mf_eq(source, in->subject) || !subject_valid_literal(source)))
        return js_error_set(e, JS_MESSAGE_SCHEDULES_SOURCE_INVALID);
    if (!is_captured(s, target))
        return js_error_set(e, JS_MESSAGE_SCHEDULES_TARGET_INVALID);
    if (source.len > 0 && !is_captured(s, source))
        return js_error_set(e, JS_MESSAGE_SCHEDULES_SOURCE_INVALID);
    if (h->rollup.len > 0 && !mf_eq_nocase(h->rollup, "sub"))
        return js_error_set(e, JS_MESSAGE_SCHEDULES_ROLLUP_INVALID);
    return 0;
}

/* A schedule is alone on its subject. */
static int add_rollup(struct stream *s, struct intake *in, struct js_error *e)
{
    struct mf_buf out = MF_BUF_INIT;

    if (in->h.rollup.len > 0)
        return 0;
    header_set(&out, in->hdr, "Nats-Rollup", MF_LIT("sub"));
    int rc = intake_replace(s, in, &out);
    if (rc != 0)
        stream_store_error(s, rc, e);
    return rc;
}

static struct schedule *find_schedule(const struct stream *s, struct mf_slice subject)
{
    const struct schedules *t = s->schedules;
    struct table_node *n = t == NULL ? NULL : table_first(&t->table, hash_slice(subject));

    for (; n != NULL; n = table_next(n)) {
        struct schedule *x = mf_container(n, struct schedule, node);
        if (mf_eq(schedule_subject(x), subject))
            return x;
    }
    return NULL;
}

/* Nats-Schedule-Next and Nats-Scheduler are ours; a client may use them to end a schedule. */
static int check_purge(struct stream *s, const struct intake *in, struct js_error *e)
{
    struct mf_slice next = in->h.schedule_next, scheduler = in->h.scheduler;
    uint64_t count;

    if (next.len == 0)
        return scheduler.len == 0 ? 0 : js_error_set(e, JS_MESSAGE_SCHEDULES_SCHEDULER_INVALID);
    if (!mf_eq_str(next, "purge") || mf_eq(scheduler, in->subject) ||
        !subject_valid_literal(scheduler))
        return js_error_set(e, JS_MESSAGE_SCHEDULES_SCHEDULER_INVALID);
    if (!s->cfg.allow_msg_schedules)
        return js_error_set(e, JS_MESSAGE_SCHEDULES_DISABLED);
    /* Nothing there: allowed, as it is in nats-server. */
    uint64_t last = store_key_last_accepted(s->store, scheduler, &count);
    const struct schedule *x = find_schedule(s, scheduler);
    if (last != 0 && (x == NULL || x->seq != last))
        return js_error_set(e, JS_MESSAGE_SCHEDULES_SCHEDULER_INVALID);
    return 0;
}

int schedule_check(struct stream *s, struct intake *in, struct js_error *e)
{
    int rc;

    if ((rc = check_pattern(s, &in->h, e)) != 0)
        return rc;
    if (in->h.schedule.len > 0 &&
        ((rc = check_details(s, in, e)) != 0 || (rc = add_rollup(s, in, e)) != 0))
        return rc;
    return check_purge(s, in, e);
}

/* --- the heap --------------------------------------------------------------------------------- */

static bool fires_before(const struct schedule *a, const struct schedule *b)
{
    return a->next_ns != b->next_ns ? a->next_ns < b->next_ns : a->seq < b->seq;
}

static void put_in_heap(struct schedules *t, size_t at, struct schedule *x)
{
    t->heap[at] = x;
    x->at = at;
}

/* x may have changed its place in the order; n entries are in the heap. */
static void sift_heap(struct schedules *t, size_t n, struct schedule *x)
{
    size_t at = x->at;

    for (; at > 0 && fires_before(x, t->heap[(at - 1) / 2]); at = (at - 1) / 2)
        put_in_heap(t, at, t->heap[(at - 1) / 2]);
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && fires_before(t->heap[child + 1], t->heap[child]))
            child++;
        if (!fires_before(t->heap[child], x))
            break;
        put_in_heap(t, at, t->heap[child]);
    }
    put_in_heap(t, at, x);
}

void schedule_reorder(struct schedules *t)
{
    for (size_t i = 0; i < t->table.count; i++)
        sift_heap(t, i + 1, t->heap[i]); /* those before it are in order */
}

struct schedule *schedule_first(const struct schedules *t)
{
    return t->table.count == 0 ? NULL : t->heap[0];
}

/* --- the table -------------------------------------------------------------------------------- */

static void timer_fired(void *arg)
{
    schedule_run(arg);
}

static struct schedules *get_schedules(struct stream *s)
{
    struct schedules *t = s->schedules;

    if (t != NULL || (t = calloc(1, sizeof *t)) == NULL)
        return t;
    t->stream = s;
    if ((t->timer = loop_timer_new(s->host->loop, timer_fired, s)) == NULL) {
        free(t);
        return NULL;
    }
    return s->schedules = t;
}

static bool heap_room(struct schedules *t)
{
    return mf_array_reserve(&t->heap, &t->cap, t->table.count + 1, sizeof(struct schedule *)) == 0;
}

static struct schedule *schedule_add(struct stream *s, struct mf_slice subject, uint64_t seq,
                                     int64_t next_ns)
{
    struct schedules *t = get_schedules(s);
    struct schedule *x = t == NULL || !heap_room(t) ? NULL : calloc(1, sizeof *x + subject.len);

    if (x == NULL || table_add(&t->table, &x->node, hash_slice(subject)) != 0) {
        free(x);
        return NULL;
    }
    x->seq = seq;
    x->next_ns = next_ns;
    x->subject_len = subject.len;
    memcpy(x->subject, subject.ptr, subject.len);
    put_in_heap(t, t->table.count - 1, x);
    sift_heap(t, t->table.count, x);
    return x;
}

static void schedule_drop(struct stream *s, struct schedule *x)
{
    struct schedules *t = s->schedules;
    size_t n = t->table.count - 1;
    struct schedule *last = t->heap[n];

    table_del(&t->table, &x->node);
    if (last != x) {
        put_in_heap(t, x->at, last);
        sift_heap(t, n, last);
    }
    t->unsaved -= x->unsaved;
    if (t->firing == x)
        t->firing = NULL;
    free(x);
}

static struct mf_slice blob_name(char dst[NAME_LEN + 1], uint64_t seq)
{
    (void)snprintf(dst, NAME_LEN + 1, BLOB_SCHED "%016llx", (unsigned long long)seq);
    return mf_slice(dst, NAME_LEN);
}

static int blob_put(struct stream *s, uint64_t seq, int64_t next_ns, struct mf_slice subject)
{
    char name[NAME_LEN + 1];
    struct mf_buf b = MF_BUF_INIT;
    int rc = MF_NOMEM;

    for (unsigned i = 0; i < 8; i++)
        mf_buf_byte(&b, (uint8_t)((uint64_t)next_ns >> 8 * i));
    mf_buf_append(&b, subject.ptr, subject.len);
    if (!mf_buf_failed(&b))
        rc = store_blob_put(s->store, blob_name(name, seq), mf_buf_slice(&b), NULL);
    mf_buf_fini(&b);
    return rc;
}

/* False: it stays.  It is void without its message, and is removed at the next start. */
static bool blob_del(struct stream *s, uint64_t seq)
{
    char name[NAME_LEN + 1];
    int rc = store_blob_del(s->store, blob_name(name, seq), NULL);

    return rc == 0 || rc == MF_NOTFOUND;
}

void schedule_save(struct stream *s, struct schedule *x)
{
    int64_t next_ns = x->kept_ns != 0 ? x->kept_ns : x->next_ns;
    int rc = blob_put(s, x->seq, next_ns, schedule_subject(x));

    /* It goes on in memory, and its timer tries again. */
    s->schedules->unsaved -= x->unsaved;
    x->unsaved = rc != 0;
    s->schedules->unsaved += x->unsaved;
    if (rc != 0)
        log_warn("stream %s: schedule \"%.*s\" is not saved yet: %s", s->cfg.name,
                 MF_FMT(schedule_subject(x)), mf_err_text(rc));
}

void schedule_forget(struct stream *s, struct schedule *x)
{
    (void)blob_del(s, x->seq);
    schedule_drop(s, x);
}

void schedule_place(struct schedules *t, struct schedule *x, int64_t next_ns)
{
    x->next_ns = next_ns;
    sift_heap(t, t->table.count, x);
}

void schedule_move(struct stream *s, struct schedule *x, int64_t next_ns)
{
    schedule_place(s->schedules, x, next_ns);
    schedule_save(s, x);
}

void schedule_arm(struct stream *s, int64_t at_least_ns)
{
    struct schedules *t = s->schedules;
    const struct schedule *x = schedule_first(t);
    int64_t now = stream_wall(s), at = x == NULL ? INT64_MAX : x->next_ns;

    if ((t->unsaved > 0 || t->missed) && at > now + AGAIN_NS)
        at = now + AGAIN_NS;
    if (at < at_least_ns)
        at = at_least_ns;
    if (at == INT64_MAX || s->closing)
        loop_timer_stop(t->timer);
    else
        loop_timer_arm(t->timer, loop_mono_ns(s->host->loop) + (at > now ? at - now : 0));
}

/* --- coming and going ------------------------------------------------------------------------- */

/* When it fires first (0: at once): 1; never, or it means nothing to us (a copy from elsewhere): 0;
 * MF_NOMEM. */
static int first_firing(struct stream *s, const struct intake *in, int64_t *at_ns)
{
    struct cron *c;
    int rc = cron_parse(&c, in->h.schedule, in->h.schedule_zone);
    int64_t now = stream_wall(s);

    if (rc != 0)
        return rc == CRON_NO_MEMORY ? MF_NOMEM : 0;
    /* Its time may be of a clock that is ahead: the schedule does not wait for that. */
    *at_ns = cron_next(c, in->ts_ns < now ? in->ts_ns : now, now);
    rc = *at_ns != 0 || cron_once(c);
    cron_free(c);
    return rc;
}

int schedule_plan(struct stream *s, struct intake *in)
{
    uint64_t msgs, bytes, last;
    int rc = s->cfg.allow_msg_schedules ? first_firing(s, in, &in->fires_ns) : 0;

    in->scheduled = rc == 1;
    if (!in->scheduled || (rc = store_append_ready(s->store)) != 0)
        return rc;
    if (get_schedules(s) == NULL)
        return MF_NOMEM;
    store_accepted(s->store, &msgs, &bytes, &last);
    in->seq = last + 1;
    return blob_put(s, in->seq, in->fires_ns, in->subject);
}

void schedule_unplan(struct stream *s, const struct intake *in)
{
    /* The next message may have its sequence, and is no schedule by that. */
    s->schedules->stray = blob_del(s, in->seq) ? 0 : in->seq;
}

static void timer_again(struct stream *s)
{
    if (!s->schedules->busy)
        schedule_arm(s, 0);
}

/* Limits and purges do not report which messages they removed: when there are many more schedules
 * than messages, those without a message are removed.  O(1) for each new schedule. */
static void prune_schedules(struct stream *s)
{
    struct schedules *t = s->schedules;
    uint64_t msgs, bytes, last, count;

    store_accepted(s->store, &msgs, &bytes, &last);
    if (t->table.count / 2 <= msgs + 64)
        return;
    for (size_t i = 0; i < t->table.count;) {
        struct schedule *x = t->heap[i];
        if (store_key_last_accepted(s->store, schedule_subject(x), &count) == x->seq)
            i++;
        else
            schedule_forget(s, x);
    }
}

/* Its blob is in the batch already. */
static void take_up(struct stream *s, const struct intake *in)
{
    prune_schedules(s);
    if (schedule_add(s, in->subject, in->seq, in->fires_ns) == NULL) {
        s->schedules->missed = true;
        s->schedules->missed_ns = loop_mono_ns(s->host->loop);
        log_warn("stream %s: no memory yet for the schedule on \"%.*s\"", s->cfg.name,
                 MF_FMT(in->subject));
    }
    timer_again(s);
}

int schedule_found(struct stream *s, const struct store_rec *r, bool *wrote)
{
    struct intake in = {.subject = r->key, .hdr = r->head, .ts_ns = r->ts_ns, .seq = r->seq};
    struct mf_slice pattern;
    uint64_t count;

    if (!s->cfg.allow_msg_schedules || !header_get(r->head, "Nats-Schedule", &pattern) ||
        pattern.len == 0 || store_key_last_accepted(s->store, r->key, &count) != r->seq ||
        find_schedule(s, r->key) != NULL)
        return 0;
    intake_read(r->head, &in.h);
    int rc = first_firing(s, &in, &in.fires_ns);
    if (rc != 1)
        return rc;
    struct schedule *x = schedule_add(s, in.subject, in.seq, in.fires_ns);
    if (x == NULL)
        return MF_NOMEM;
    schedule_save(s, x);
    timer_again(s);
    *wrote = true;
    return 0;
}

/* All messages of the subject of a schedule; there is one.  Not those behind `upto`, which a batch
 * has stored already. */
static void purge_subject(struct stream *s, struct mf_slice subject, uint64_t upto)
{
    struct schedule *x = find_schedule(s, subject);
    uint64_t seq;

    while ((seq = store_key_first_accepted(s->store, subject)) != 0 && seq <= upto) {
        if (dedup_before_removal(s->dedup, s->store, seq, seq) != 0 ||
            store_remove(s->store, seq, NULL) != 0)
            break;
    }
    if (x != NULL)
        schedule_forget(s, x);
}

void schedule_stored(struct stream *s, const struct intake *in)
{
    if (!s->cfg.allow_msg_schedules)
        return;
    struct schedule *x = find_schedule(s, in->subject);
    if (x != NULL)
        schedule_forget(s, x); /* overwritten */
    if (in->h.schedule.len > 0 && in->scheduled)
        take_up(s, in);
    else if (s->schedules != NULL && s->schedules->stray == in->seq)
        (void)blob_del(s, in->seq);
    if (mf_eq_str(in->h.schedule_next, "purge") && in->h.scheduler.len > 0)
        purge_subject(s, in->h.scheduler, in->seq);
}

void schedule_removed(struct stream *s, struct mf_slice subject, uint64_t seq)
{
    struct schedule *x = find_schedule(s, subject);

    if (x != NULL && x->seq == seq)
        schedule_forget(s, x);
}

/* --- at start --------------------------------------------------------------------------------- */

struct loader {
    struct stream *s;
    bool again;          /* not the start: only those that are not in the table */
    struct mf_buf stale; /* uint64_t: sequences of blobs whose message was removed */
    int rc;
};

static bool hex_read(struct mf_slice text, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.ptr[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        *out = *out << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return true;
}

/* Is it the last message of the subject, and not known yet? */
static bool to_load(const struct loader *l, struct mf_slice subject, uint64_t seq)
{
    struct store_key key;
    uint64_t count;

    if (!l->again)
        return store_key(l->s->store, subject, &key) && key.last_seq == seq;
    return store_key_last_accepted(l->s->store, subject, &count) == seq &&
           find_schedule(l->s, subject) == NULL;
}

static void load_one(void *arg, struct mf_slice name, struct mf_slice bytes)
{
    struct loader *l = arg;
    uint64_t seq, next = 0;

    if (name.len != NAME_LEN || !mf_starts(name, BLOB_SCHED) ||
        !hex_read(mf_slice(name.ptr + NAME_LEN - 16, 16), &seq))
        return;
    bool ok = bytes.len > 8;
    for (unsigned i = 0; ok && i < 8; i++)
        next |= (uint64_t)bytes.ptr[i] << 8 * i;
    struct mf_slice subject = ok ? mf_slice(bytes.ptr + 8, bytes.len - 8) : MF_SLICE_NONE;
    bool load = ok && to_load(l, subject, seq);
    if (!load && !l->again)
        mf_buf_append(&l->stale, &seq, sizeof seq);
    if (load && schedule_add(l->s, subject, seq, (int64_t)next) == NULL)
        l->rc = MF_NOMEM;
}

int schedule_load(struct stream *s)
{
    struct loader l = {.s = s, .stale = MF_BUF_INIT};
    char name[NAME_LEN + 1];
    uint64_t seq;

    store_blob_each(s->store, load_one, &l);
    for (size_t at = 0; at + sizeof seq <= l.stale.len; at += sizeof seq) {
        memcpy(&seq, l.stale.ptr + at, sizeof seq);
        (void)!store_blob_del(s->store, blob_name(name, seq), NULL);
    }
    mf_buf_fini(&l.stale);
    if (l.rc == 0 && s->schedules != NULL) {
        schedule_clock_set_back(s); /* it may have been while the server was down */
        schedule_arm(s, 0);
    }
    return l.rc;
}

void schedule_load_missed(struct stream *s)
{
    struct loader l = {.s = s, .again = true, .stale = MF_BUF_INIT};
    struct schedules *t = s->schedules;
    int64_t now = loop_mono_ns(s->host->loop);

    if (now - t->missed_ns < AGAIN_NS / 2)
        return; /* there may be many, and firings in between */
    t->missed_ns = now;
    store_blob_each(s->store, load_one, &l);
    t->missed = l.rc != 0;
}

void schedule_free(struct stream *s)
{
    struct schedules *t = s->schedules;

    if (t == NULL)
        return;
    for (size_t i = 0; i < t->table.count; i++)
        free(t->heap[i]);
    free(t->heap);
    loop_timer_free(t->timer);
    table_fini(&t->table);
    mf_buf_fini(&t->hdr);
    mf_buf_fini(&t->body);
    mf_buf_fini(&t->src_hdr);
    mf_buf_fini(&t->src_body);
    mf_buf_fini(&t->out);
    free(t);
    s->schedules = NULL;
}
