/* expire.c: expiry: the timer, the sweeps, the delete markers.  The store knows the deadlines.
 *
 * A marker is appended in the commit batch that removes the expired message: after a crash both
 * exist or neither.  Readers never see an overdue message.  A publish to a subject with overdue
 * messages sweeps that subject first, so the marker always precedes later messages. */
#include "stream/lifetime_impl.h"
#include "stream/summary_impl.h"

#include "base/clock.h"
#include "base/log.h"
#include "markers/marker.h"

#include <stdlib.h>

/* Deaths in one turn of the loop: with markers or letters each costs an append. */
#define SLICE        2000
#define SLICE_MARKED 500
#define SLICE_SETTLE 64 /* in one publish */
/* Overdue messages of one subject that are settled one by one. */
#define SETTLE_MAX 16
/* Messages of one subject that are looked at for that. */
#define LOOK_MAX 64
/* The pause after a sweep that could remove nothing: the disk is full, memory is short, or the due
 * messages are not on disk yet. */
#define PAUSE_NS 20000000
/* Between two sweeps, where deaths follow each other closely: each sweep is a batch with a mark, a
 * sync, and a turn of the loop.  No client waits for an expiry without a marker. */
#define SWEEP_NS        4000000
#define SWEEP_MARKED_NS 1000000

int64_t expire_deadline(const struct stream *s, int64_t ts_ns, int64_t ttl_ns)
{
    int64_t by_ttl = ttl_deadline(ts_ns, ttl_ns, s->host->strict);
    int64_t by_age =
        s->cfg.max_age_ns > 0 ? ttl_deadline(ts_ns, s->cfg.max_age_ns, s->host->strict) : 0;

    if (ttl_ns == TTL_NEVER)
        return 0; /* exempt from max_age too */
    if (by_ttl == 0 || by_age == 0)
        return by_ttl == 0 ? by_age : by_ttl;
    return by_ttl < by_age ? by_ttl : by_age;
}

int64_t stream_ttl_deadline(const struct stream *s, int64_t from_ns, int64_t ttl)
{
    return expire_deadline(s, from_ns, ttl);
}

/* --- markers ---------------------------------------------------------------------------------- */

/* Deaths by age are many: their marker is written once for all subjects, and once for all keys. */
static const struct marker *marker_for(struct stream *s, enum marker_reason why, bool key,
                                       struct marker *room)
{
    int64_t ttl_ns = s->cfg.subject_delete_marker_ttl_ns;

    if (why != MARKER_MAX_AGE) {
        marker_write(room, why, ttl_ns, key);
        return room;
    }
    if (s->expiry.marker_ttl_ns != ttl_ns) {
        marker_write(&s->expiry.marker[false], why, ttl_ns, false);
        marker_write(&s->expiry.marker[true], why, ttl_ns, true);
        s->expiry.marker_ttl_ns = ttl_ns;
    }
    return &s->expiry.marker[key];
}

int expire_mark(struct stream *s, struct mf_slice subject, uint64_t seq, bool last, uint16_t flags,
                enum marker_reason why)
{
    struct marker_facts f = {.marker_ttl_ns = s->cfg.subject_delete_marker_ttl_ns,
                             .last_on_subject = last,
                             .tombstone = (flags & MSG_TOMBSTONE) != 0,
                             .mirror = s->cfg.mirror != NULL};
    struct marker room;

    if (!marker_wanted(&f))
        return 0;
    const struct marker *m = marker_for(s, why, !s->host->strict && marker_of_key(subject), &room);
    /* A sweep reads the clock once for all its markers. */
    int64_t now = stream_stamp_at(s, why == MARKER_MAX_AGE ? s->expiry.now_ns : stream_now(s));
    /* Whole seconds, as the header says. */
    int64_t ttl = s->cfg.allow_msg_ttl ? f.marker_ttl_ns / CLOCK_S * CLOCK_S : TTL_NONE;
    struct store_append a = {.key = subject,
                             .head = mf_slice(m->hdr, m->len),
                             .ts_ns = now,
                             .deadline_ns = expire_deadline(s, now, ttl),
                             .flags = MSG_TOMBSTONE | MSG_HEADER};
    if (stream_numbered_out(s)) { /* it will never have one */
        log_error("stream %s: no delete marker for \"%.*s\": no sequence is left", s->cfg.name,
                  MF_FMT(subject));
        return 0;
    }
    int rc = store_append(s->store, &a);
    if (rc != 0)
        return rc;
    republish_note(
        s, &(struct stream_msg){.seq = a.seq, .ts_ns = now, .subject = subject, .hdr = a.head},
        seq);
    s->stats.markers++;
    s->ends.last_ts_ns = now;
    mf_buf_clear(&s->ends.last_msg_id); /* a marker has no id */
    return 0;
}

/* --- how late ------------------------------------------------------------------------------- */

/* Windows follow the clock that judges deadlines; one that was set back begins anew. */
static void roll_late(struct worst_late *l, int64_t now_ns)
{
    int64_t age = now_ns - l->from_ns;

    if (age >= 0 && age < STREAM_LATE_NS)
        return;
    l->worst_ns[1] = age < 2 * STREAM_LATE_NS ? l->worst_ns[0] : 0;
    l->worst_ns[0] = 0;
    l->from_ns = now_ns;
}

int64_t expire_late_max(struct stream *s)
{
    roll_late(&s->expiry.late, stream_now(s));
    return s->expiry.late.worst_ns[0] > s->expiry.late.worst_ns[1] ? s->expiry.late.worst_ns[0]
                                                                   : s->expiry.late.worst_ns[1];
}

/* --- the sweep ----------------------------------------------------------------------------- */

/* The counts before an expiry; report_death() derives its markers and letters from them. */
static struct summary_death begin_report(const struct stream *s, struct mf_slice subject)
{
    return (struct summary_death){
        .subject = subject, .markers = s->stats.markers, .dead_letters = s->ttl_stats.dead_letters};
}

static void report_death(struct stream *s, struct summary_death *d, uint64_t seq)
{
    if (s->host->ttl_event == NULL || s->governor == NULL)
        return;
    d->seq = seq;
    d->bytes = limits_stored_size(s, seq);
    d->markers = s->stats.markers - d->markers;
    d->dead_letters = s->ttl_stats.dead_letters - d->dead_letters;
    summary_add_expired(s, d);
}

/* As limits count it.  The store looks up only lengths that are too large for its index. */
static uint64_t death_size(const struct stream *s, const struct store_expiry *d)
{
    return d->len < STORE_EXPIRY_LONG ? limits_sum(s, d->len, 1, (d->flags & MSG_HEADER) != 0)
                                      : limits_stored_size(s, d->seq);
}

/* Writes its id, its letter and its marker first: a message without them does not expire yet. */
static bool expire_message(void *arg, const struct store_expiry *d)
{
    struct stream *s = arg;
    int64_t late = s->expiry.now_ns - d->deadline_ns;
    struct dead_letters_expired letter = {.subject = d->key,
                                          .seq = d->seq,
                                          .deadline_ns = d->deadline_ns,
                                          .flags = d->flags,
                                          .last = d->last};
    struct summary_death report = begin_report(s, d->key);

    if (linked_leaves(s, d->seq) != 0 ||
        dedup_before_removal(s->dedup, s->store, d->seq, d->seq) != 0 ||
        dead_letters_write(s, &letter) != 0)
        return false;
    int rc = expire_mark(s, d->key, d->seq, d->last, d->flags, MARKER_MAX_AGE);
    dead_letters_settle(s, rc == 0);
    if (rc != 0)
        return false;
    if (late > s->expiry.late.worst_ns[0])
        s->expiry.late.worst_ns[0] = late;
    s->stats.expired++;
    report.late_ns = late;
    report_death(s, &report, d->seq);
    hour_start(s);
    if (s->hour != NULL)
        hour_expired(s, s->expiry.now_ns, late, death_size(s, d));
    if (s->schedules != NULL)
        schedule_removed(s, d->key, d->seq);
    return true;
}

/* One slice; true: more is due. */
static bool sweep_slice(struct stream *s, size_t max)
{
    bool more;

    s->expiry.now_ns = stream_now(s);
    roll_late(&s->expiry.late, s->expiry.now_ns);
    if (store_expire(s->store, s->expiry.now_ns, max, expire_message, s, &more) > 0) {
        limits_count(s);
        notify_after_commit(s);
    }
    if (s->dead_letters != NULL)
        dead_letters_after_batch(s);
    return more;
}

static bool anything_due(struct stream *s)
{
    return store_next_deadline(s->store) <= stream_now(s);
}

/* True if messages that were due when the sweep began are still present.  Messages that became due
 * during the sweep do not count. */
static bool is_stuck(const struct stream *s)
{
    return store_next_deadline(s->store) <= s->expiry.now_ns;
}

/* One slice; true: there is more to do. */
static bool expire_run(struct work_task *t)
{
    struct stream *s = mf_container(t, struct stream, expiry.task);
    bool marked = s->cfg.subject_delete_marker_ttl_ns > 0 || s->on_expire != NULL;
    size_t slice = marked ? SLICE_MARKED : SLICE;

    s->expiry.armed_ns = INT64_MAX;
    if (s->closing)
        return false;
    bool more = sweep_slice(s, slice);
    if (more || is_stuck(s))
        s->expiry.armed_ns = 0;
    else
        expire_arm(s);
    if (!more && s->expiry.armed_ns == 0)
        loop_timer_arm(s->expiry.timer, loop_mono_ns(s->host->loop) + PAUSE_NS);
    return more;
}

static void timer_fired(void *arg)
{
    struct stream *s = arg;

    s->expiry.armed_ns = 0; /* the task arms it again */
    work_add(s->host->loop, s->owner, &s->expiry.task);
}

int expire_init(struct stream *s)
{
    s->expiry.armed_ns = INT64_MAX;
    s->expiry.task = (struct work_task){.run = expire_run, .cause = WORK_EXPIRE};
    s->expiry.timer = loop_timer_new(s->host->loop, timer_fired, s);
    return s->expiry.timer == NULL ? MF_NOMEM : 0;
}

void expire_arm(struct stream *s)
{
    int64_t next = store_next_deadline(s->store);

    if (next >= s->expiry.armed_ns || s->closing)
        return; /* armed for that, or for an earlier moment */
    s->expiry.armed_ns = next;
    int64_t gap = s->cfg.subject_delete_marker_ttl_ns > 0 ? SWEEP_MARKED_NS : SWEEP_NS;
    int64_t now = stream_now(s), wait = next - now, rest = s->expiry.now_ns + gap - now;
    if (wait < rest && rest <= gap) /* longer: the clock was set back */
        wait = rest;
    loop_timer_arm(s->expiry.timer, loop_mono_ns(s->host->loop) + (wait > 0 ? wait : 0));
}

static void store_resumed(void *arg)
{
    expire_arm(arg);
}

void expire_start(struct stream *s)
{
    store_on_resume(s->store, store_resumed, s);
    expire_arm(s);
}

/* --- ahead of the sweep -------------------------------------------------------------------- */

struct dead {
    uint64_t seq;
    uint16_t flags;
};

/* The overdue messages of a subject, oldest first; SETTLE_MAX + 1: there are more. */
static size_t find_dead(struct stream *s, struct mf_slice subject, struct dead *out)
{
    uint64_t seq = 0;
    size_t n = 0;

    while (n <= SETTLE_MAX && (seq = store_key_overdue(s->store, subject, seq)) != 0) {
        out[n].flags = 0;
        (void)store_flags(s->store, seq, &out[n].flags);
        out[n++].seq = seq;
    }
    return n;
}

/* The message that expired last decides about the marker of the subject.  Deadlines are read only
 * where that matters: when some of them are tombstones and some are not. */
static size_t last_to_die(struct stream *s, const struct dead *d, size_t n)
{
    int64_t latest = INT64_MIN;
    size_t at = n - 1, same = 0;
    struct mf_buf b = MF_BUF_INIT;
    struct store_rec r;

    while (same < n && (d[same].flags & MSG_TOMBSTONE) == (d[0].flags & MSG_TOMBSTONE))
        same++;
    for (size_t i = 0; i < n && same < n; i++)
        if (store_read_back(s->store, d[i].seq, &b, &r) == 0 && r.seq == d[i].seq &&
            r.deadline_ns >= latest) {
            latest = r.deadline_ns;
            at = i;
        }
    mf_buf_fini(&b);
    return at;
}

/* A publisher waits, so the body is read at once. */
static int write_letter(struct stream *s, struct mf_slice subject, const struct dead *d, bool last)
{
    struct dead_letters_expired letter = {
        .subject = subject, .seq = d->seq, .last = last, .now = true};

    return store_life(s->store, d->seq, &letter.deadline_ns, &letter.flags)
               ? dead_letters_write(s, &letter)
               : 0;
}

static void count_settled(struct stream *s, uint64_t seq)
{
    int64_t deadline_ns, now_ns = stream_now(s);
    uint16_t flags;

    hour_start(s);
    if (s->hour != NULL && store_life(s->store, seq, &deadline_ns, &flags))
        hour_expired(s, now_ns, now_ns - deadline_ns, limits_stored_size(s, seq));
}

/* In the open batch.  All of them, or none; one only, where it leaves a letter. */
static int settle_all_of(struct stream *s, struct mf_slice subject, const struct dead *d, size_t n)
{
    struct summary_death report = begin_report(s, subject);
    size_t at = last_to_die(s, d, n);
    uint64_t count;
    int rc = store_reserve(s->store, n);

    if (rc == 0)
        rc = linked_prepare(s, subject, false); /* linked_leaves() cannot fail after it */
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = dedup_before_removal(s->dedup, s->store, d[i].seq, d[i].seq);
    (void)store_key_last_accepted(s->store, subject, &count);
    if (rc == 0 && s->on_expire != NULL)
        rc = write_letter(s, subject, d, count == n);
    if (rc == 0)
        rc = expire_mark(s, subject, d[at].seq, count == n, d[at].flags, MARKER_MAX_AGE);
    dead_letters_settle(s, rc == 0);
    for (size_t i = 0; i < n && rc == 0; i++) {
        report_death(s, &report, d[i].seq);
        report = begin_report(s, subject);
        count_settled(s, d[i].seq);
        if ((rc = linked_leaves(s, d[i].seq)) != 0 ||
            (rc = store_remove(s->store, d[i].seq, NULL)) != 0)
            break;
        s->stats.expired++;
        if (s->schedules != NULL)
            schedule_removed(s, subject, d[i].seq);
    }
    return rc;
}

static int settle_dead(struct stream *s, struct mf_slice subject, const struct dead *d, size_t n)
{
    s->expiry.now_ns = stream_now(s);
    store_begin(s->store, true);
    int rc = settle_all_of(s, subject, d, n), end = store_end(s->store, NULL);
    limits_count(s);
    notify_after_commit(s);
    if (s->dead_letters != NULL) {
        dead_letters_after_batch(s);
        expire_arm(s); /* letters end, too */
    }
    return rc != 0 ? rc : end;
}

/* A batch for each letter; the message that expired last is removed last, with the marker. */
static int settle_found(struct stream *s, struct mf_slice subject, const struct dead *d, size_t n)
{
    int rc = 0;

    if (s->on_expire == NULL)
        return settle_dead(s, subject, d, n);
    size_t at = last_to_die(s, d, n);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = i == at ? 0 : settle_dead(s, subject, d + i, 1);
    return rc != 0 ? rc : settle_dead(s, subject, d + at, 1);
}

static int settle_subject(struct stream *s, struct mf_slice subject)
{
    struct dead d[SETTLE_MAX + 1];
    uint64_t count;
    size_t n;
    int rc = 0;

    /* Usually that is all: deaths and publishes are stored in the order of their times.  When many
     * are due at once, the publisher does not wait for them. */
    bool more = sweep_slice(s, SLICE_SETTLE);

    /* Among few messages of a subject the expired ones are found at once.  With many, a sweep costs
     * less than a search. */
    (void)store_key_last_accepted(s->store, subject, &count);
    more = more && count > LOOK_MAX;

    while ((n = find_dead(s, subject, d)) > SETTLE_MAX && more)
        more = sweep_slice(s, SLICE);
    while (n > 0 && (rc = settle_found(s, subject, d, n > SETTLE_MAX ? SETTLE_MAX : n)) == 0)
        n = find_dead(s, subject, d);
    return rc;
}

int expire_settle(struct stream *s, struct mf_slice subject)
{
    /* A store that waits for room has no next deadline, but may have expired messages. */
    if (!anything_due(s) && (!store_full(s->store) || store_key_overdue(s->store, subject, 0) == 0))
        return 0;
    if (s->schedules == NULL)
        return settle_subject(s, subject);
    /* A schedule that expires here is freed with its subject, which may be this slice. */
    char *copy = mf_slice_dup(subject);
    int rc = copy == NULL ? MF_NOMEM : settle_subject(s, mf_slice(copy, subject.len));
    free(copy);
    return rc;
}

bool expire_settle_all(struct stream *s, size_t max)
{
    while (anything_due(s)) {
        size_t slice = max < SLICE_MARKED ? max : SLICE_MARKED;
        if (slice == 0)
            return false;
        bool more = sweep_slice(s, slice);
        max -= slice;
        if (!more)
            break;
    }
    return true;
}
