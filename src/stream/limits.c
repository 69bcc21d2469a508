/* limits.c: how much a stream may hold, and which messages are removed when it holds too much.
 *
 * Sizes are counted as nats-server counts them, so that limits and `bytes` mean the same there and
 * here: a message in a file takes 30 bytes, its subject and its payload, and 4 and its header block
 * if it has one; in memory 16, subject, header and payload. */
#include "stream/stream_impl.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>

#define FILE_OVERHEAD   30
#define HEADER_OVERHEAD 4
#define MEMORY_OVERHEAD 16
#define ENFORCE_SLICE   1000
#define RESERVE_MAX     (1u << 20)
#define PAUSE_NS        (20 * CLOCK_MS)

uint64_t limits_size(const struct stream *s, size_t subject, size_t hdr, size_t payload)
{
    uint64_t n = subject + hdr + payload;

    if (s->memory)
        return n + MEMORY_OVERHEAD;
    return n + FILE_OVERHEAD + (hdr > 0 ? HEADER_OVERHEAD : 0);
}

uint64_t stream_size_of(const struct stream *s, size_t subject, size_t hdr, size_t payload)
{
    return limits_size(s, subject, hdr, payload);
}

/* The bytes of many: from their sum, their number and how many of them have a header. */
uint64_t limits_sum(const struct stream *s, uint64_t bytes, uint64_t msgs, uint64_t headers)
{
    if (s->memory)
        return bytes + MEMORY_OVERHEAD * msgs;
    return bytes + FILE_OVERHEAD * msgs + HEADER_OVERHEAD * headers;
}

uint64_t limits_stored_size(const struct stream *s, uint64_t seq)
{
    uint16_t flags = 0;
    uint64_t len = store_length(s->store, seq, &flags);

    return limits_sum(s, len, 1, (flags & MSG_HEADER) != 0);
}

void limits_accepted(const struct stream *s, uint64_t *msgs, uint64_t *bytes)
{
    uint64_t last;

    store_accepted(s->store, msgs, bytes, &last);
    *bytes = limits_sum(s, *bytes, *msgs, store_accepted_flagged(s->store, 1));
}

/* --- discard old ------------------------------------------------------------------------------ */

static bool over_limits(const struct stream *s, uint64_t msgs, uint64_t bytes)
{
    return (s->cfg.max_msgs > 0 && msgs > (uint64_t)s->cfg.max_msgs) ||
           (s->cfg.max_bytes > 0 && bytes > (uint64_t)s->cfg.max_bytes);
}

static bool too_much(const struct stream *s)
{
    uint64_t msgs, bytes;

    if (s->cfg.max_msgs <= 0 && s->cfg.max_bytes <= 0)
        return false;
    limits_accepted(s, &msgs, &bytes);
    msgs -= s->room.ahead.msgs < msgs ? s->room.ahead.msgs : msgs;
    bytes -= s->room.ahead.bytes < bytes ? s->room.ahead.bytes : bytes;
    return over_limits(s, msgs, bytes);
}

bool limits_full_instead(const struct stream *s, const struct intake *in, uint64_t leaving)
{
    uint64_t msgs, bytes;

    if (s->cfg.max_msgs <= 0 && s->cfg.max_bytes <= 0)
        return false;
    limits_accepted(s, &msgs, &bytes);
    bytes += limits_size(s, in->subject.len, in->hdr.len, in->payload.len);
    if (leaving != 0)
        bytes -= limits_stored_size(s, leaving);
    return over_limits(s, msgs + (leaving == 0), bytes);
}

static bool push_out(struct stream *s, uint64_t seq)
{
    int rc = dedup_before_removal(s->dedup, s->store, seq, seq);
    if (rc == 0)
        rc = store_remove(s->store, seq, NULL);
    if (rc != 0)
        log_warn("stream %s: message %llu cannot be discarded: %s", s->cfg.name,
                 (unsigned long long)seq, mf_err_text(rc));
    return rc == 0;
}

/* Removes the oldest messages of a subject that are older than `below`, at most `max`; returns how
 * many.  Messages that readers see are found in one walk, the few others one by one. */
size_t limits_remove_oldest(struct stream *s, struct mf_slice subject, uint64_t below, uint64_t max)
{
    struct store_cursor *c = NULL;
    uint64_t seq, n = 0;
    uint16_t flags;
    bool more = true, went = true;

    if (max > 1 && !subject_has_wildcard(subject) &&
        store_cursor_new(&c, s->store, subject, STORE_ALL, 0) == 0) {
        while (went && n < max && more) {
            seq = store_cursor_next(c, &more);
            more = more || seq != 0;
            if (seq >= below)
                break;
            if (seq != 0 && store_flags(s->store, seq, &flags) && (went = push_out(s, seq)))
                n++;
        }
        store_cursor_free(c);
    }
    while (went && n < max && (seq = store_key_first_accepted(s->store, subject)) != 0 &&
           seq < below && (went = push_out(s, seq)))
        n++;
    return n;
}

static uint64_t count_beyond(const struct stream *s, uint64_t count)
{
    return count <= (uint64_t)s->cfg.max_msgs_per_subject
               ? 0
               : count - (uint64_t)s->cfg.max_msgs_per_subject;
}

static uint64_t count_excess(struct stream *s, struct mf_slice subject)
{
    uint64_t count;

    if (s->cfg.max_msgs_per_subject <= 0)
        return 0;
    (void)store_key_last_accepted(s->store, subject, &count);
    return count_beyond(s, count);
}

void limits_thin(struct stream *s, struct mf_slice subject, uint64_t below)
{
    uint64_t over = count_excess(s, subject);

    if (over > 0)
        (void)limits_remove_oldest(s, subject, below, over);
}

/* The oldest message that is left.  Removed messages stay in the index until the removal is on
 * disk: the search continues where it ended, not over them again. */
static uint64_t find_oldest(struct stream *s)
{
    uint64_t seq = s->room.discarded;
    uint16_t flags;

    if (store_flags(s->store, seq + 1, &flags))
        return seq + 1;
    for (int i = 0; i < 8 && (seq = store_next(s->store, seq + 1)) != 0; i++)
        if (store_flags(s->store, seq, &flags))
            return seq;
    return store_first_accepted(s->store);
}

static bool push_out_first(struct stream *s, uint64_t except)
{
    uint64_t seq = find_oldest(s);

    if (seq == 0 || seq == except || !push_out(s, seq))
        return false;
    s->room.discarded = seq;
    return true;
}

/* --- before it is stored ---------------------------------------------------------------------- */

/* Of the subject, by a roll-up or its limit. */
static int prepare_subject(struct stream *s, const struct intake *in, bool in_batch, uint64_t *n)
{
    uint64_t count = in->held, upto = in->previous;
    const uint64_t keep = in->rollup == ROLLUP_SUBJECT ? 1 : (uint64_t)s->cfg.max_msgs_per_subject;
    struct store_key k = {0};
    uint64_t first;

    if (!in->looked)
        upto = store_key_last_accepted(s->store, in->subject, &count);
    if (count + 1 <= keep)
        return 0;
    *n = count + 1 - keep;
    first = count == 1 ? upto : store_key_first_accepted(s->store, in->subject);
    if (*n == 1)
        upto = first;
    /* Of a batch's messages to one subject each pushes out one more than was too much before. */
    if (in_batch && *n > 1 && in->rollup == ROLLUP_NONE) {
        (void)store_key(s->store, in->subject, &k);
        *n = k.count > keep ? 1 + k.count - keep : 1;
    }
    if (in->rest != NULL && *n > in->roll_now)
        *n = in->roll_now;
    else if (in->rollup == ROLLUP_NONE && *n > ENFORCE_SLICE)
        *n = ENFORCE_SLICE;
    return dedup_before_removal(s->dedup, s->store, first, upto);
}

/* Is it past its deadline, and could not be swept with its marker?  It must not go without. */
static bool marked_death(struct stream *s, uint64_t seq)
{
    int64_t deadline_ns;

    return s->cfg.subject_delete_marker_ttl_ns > 0 && store_deadline(s->store, seq, &deadline_ns) &&
           deadline_ns != 0 && deadline_ns <= stream_now(s);
}

/* The oldest of all, until there is room for one more. */
static int prepare_oldest(struct stream *s, const struct intake *in, uint64_t *n)
{
    uint64_t msgs, bytes, first = find_oldest(s), last = 0;

    limits_accepted(s, &msgs, &bytes);
    msgs++;
    bytes += limits_size(s, in->subject.len, in->hdr.len, in->payload.len);
    for (uint64_t seq = first; seq != 0 && *n < ENFORCE_SLICE && over_limits(s, msgs, bytes);
         seq = store_next_accepted(s->store, seq + 1)) {
        if (marked_death(s, seq))
            return store_full(s->store) ? MF_FULL : MF_NOMEM;
        bytes -= limits_stored_size(s, seq);
        msgs--;
        last = seq;
        ++*n;
    }
    return last == 0 ? 0 : dedup_before_removal(s->dedup, s->store, first, last);
}

struct span {
    struct stream *s;
    uint64_t first, last, n;
};

static void span_add_key(void *arg, struct mf_slice subject)
{
    struct span *p = arg;
    uint64_t count, last = store_key_last_accepted(p->s->store, subject, &count);
    uint64_t first = store_key_first_accepted(p->s->store, subject);

    p->n += count;
    p->first = p->first == 0 || first < p->first ? first : p->first;
    p->last = last > p->last ? last : p->last;
}

/* Of several subjects, by a roll-up.  A range that is removed as a whole needs one record. */
static int prepare_rollup(struct stream *s, const struct intake *in, uint64_t *n)
{
    struct span p = {.s = s, .first = store_first_accepted(s->store)};
    uint64_t bytes;

    if (in->rest != NULL) { /* removed later */
        p.first = 0;
    } else if (in->rollup == ROLLUP_MATCHING) {
        p.first = 0;
        store_accepted_keys(s->store, in->subject, span_add_key, &p);
        *n = p.n;
    } else {
        store_accepted(s->store, &p.n, &bytes, &p.last);
        *n = p.first != 0;
    }
    return p.first == 0 ? 0 : dedup_before_removal(s->dedup, s->store, p.first, p.last);
}

int limits_prepare(struct stream *s, const struct intake *in, bool in_batch)
{
    uint64_t of_subject = 0, of_all = 0;
    int rc = 0;

    if (in->rollup == ROLLUP_ALL || in->rollup == ROLLUP_MATCHING) {
        rc = prepare_rollup(s, in, &of_subject);
    } else if (in->rollup == ROLLUP_SUBJECT || s->cfg.max_msgs_per_subject > 0) {
        rc = prepare_subject(s, in, in_batch, &of_subject);
    }
    if (rc == 0 && s->cfg.discard == DISCARD_OLD && limits_full_with(s, in))
        rc = prepare_oldest(s, in, &of_all);
    if (rc != 0)
        return rc;
    /* In a batch they make room for those before it as well. */
    uint64_t known = in_batch && s->room.planned < of_all ? s->room.planned : in_batch ? of_all : 0;
    uint64_t n = of_subject + of_all - known + 1; /* and one to revert it */
    s->room.planned = in_batch && s->room.planned > of_all ? s->room.planned : of_all;
    return store_reserve(s->store, n < RESERVE_MAX ? (size_t)n : RESERVE_MAX);
}

/* --- when it is stored ------------------------------------------------------------------------ */

void limits_ahead(struct stream *s, struct intake *in)
{
    in->size = limits_stored_size(s, in->seq);
    s->room.ahead.msgs++;
    s->room.ahead.bytes += in->size;
}

void limits_turn(struct stream *s, const struct intake *in)
{
    s->room.ahead.msgs--;
    s->room.ahead.bytes -= in->size;
}

void limits_push_out(struct stream *s, const struct intake *in)
{
    uint64_t over = in->looked ? count_beyond(s, in->held + 1) : count_excess(s, in->subject);

    if (over == 1 && s->cfg.max_msgs_per_subject == 1 && in->previous != 0)
        (void)push_out(s, in->previous); /* the only other one */
    else if (over > 0)
        (void)limits_remove_oldest(s, in->subject, in->seq,
                                   over < ENFORCE_SLICE ? over : ENFORCE_SLICE);
    if (s->cfg.discard != DISCARD_OLD)
        return;
    for (size_t n = 0; too_much(s); n++) {
        if (n == ENFORCE_SLICE) { /* limits were lowered, and there is much to do */
            work_add(s->host->loop, s->owner, &s->enforce.task);
            return;
        }
        /* A message never pushes itself out. */
        if (!push_out_first(s, in->seq))
            return;
    }
}

/* --- after an update -------------------------------------------------------------------------- */

/* One slice of the walk over all subjects; true: there is more to do. */
static bool thin_out(struct stream *s, size_t *left)
{
    struct mf_slice subject;
    struct store_key key;

    if (s->enforce.again && s->enforce.keys == NULL) {
        s->enforce.keys = store_keys_new(s->store, MF_LIT(">"));
        s->enforce.again = s->enforce.keys == NULL;
    }
    for (size_t n = 0; s->enforce.keys != NULL && n<ENFORCE_SLICE && * left> 0; n++) {
        if (s->enforce.subject != NULL) {
            subject = mf_str(s->enforce.subject);
        } else if (!store_keys_next(s->enforce.keys, &subject, &key)) {
            store_keys_free(s->enforce.keys);
            s->enforce.keys = NULL;
            break;
        }
        uint64_t over = count_excess(s, subject), max = over < *left ? over : *left;
        size_t went = over == 0 ? 0 : limits_remove_oldest(s, subject, UINT64_MAX, max);
        *left -= went;
        s->enforce.again = s->enforce.again || went < max;
        bool stay = went == max && over > max;
        if (stay && s->enforce.subject == NULL)
            s->enforce.again =
                (s->enforce.subject = mf_slice_dup(subject)) == NULL || s->enforce.again;
        if (!stay) {
            free(s->enforce.subject);
            s->enforce.subject = NULL;
        }
    }
    return s->enforce.keys != NULL;
}

/* true: there is more to do; *stuck: not now. */
static bool push_out_oldest(struct stream *s, size_t *left, bool *stuck)
{
    if (s->cfg.discard != DISCARD_OLD)
        return false; /* stored messages stay; no more are accepted */
    for (; *left > 0; --*left) {
        if (!too_much(s))
            return false;
        *stuck = !push_out_first(s, 0);
        if (*stuck)
            return false;
    }
    return true;
}

/* true: there is more to do. */
static bool enforce_slice(struct stream *s)
{
    size_t left = stream_throttle_slice(s, ENFORCE_SLICE);
    bool more, stuck = false;

    if (s->closing || stream_throttle(s, &s->enforce.task))
        return false;
    store_begin(s->store, true);
    /* In nats-server's order: the stream's limits, then those of its subjects. */
    more = push_out_oldest(s, &left, &stuck) || thin_out(s, &left);
    if (!more && !s->enforce.again && s->enforce.noted)
        s->enforce.noted = store_blob_del(s->store, MF_LIT(BLOB_THIN), NULL) != 0;
    if (store_end(s->store, NULL) != 0)
        return false;
    limits_count(s);
    notify_after_commit(s);
    if (!more && (stuck || s->enforce.again)) /* no memory, or no room: once more after a pause */
        loop_timer_arm(s->enforce.timer, loop_mono_ns(s->host->loop) + PAUSE_NS);
    return more;
}

static bool enforce_run(struct work_task *t)
{
    struct stream *s = mf_container(t, struct stream, enforce.task);

    if (store_next_deadline(s->store) <= s->enforce.from_ns && !s->closing) {
        loop_timer_arm(s->enforce.timer, loop_mono_ns(s->host->loop) + PAUSE_NS);
        return false;
    }
    return enforce_slice(s);
}

static void enforce_again(void *arg)
{
    struct stream *s = arg;

    loop_timer_stop(s->enforce.timer);
    work_add(s->host->loop, s->owner, &s->enforce.task);
}

int limits_init(struct stream *s)
{
    s->enforce.task =
        (struct work_task){.run = enforce_run, .cause = WORK_REMOVE, .what = "limits"};
    s->enforce.timer = loop_timer_new(s->host->loop, enforce_again, s);
    return s->enforce.timer == NULL ? MF_NOMEM : 0;
}

void limits_enforce(struct stream *s)
{
    s->enforce.again = s->enforce.again || s->cfg.max_msgs_per_subject > 0;
    if (enforce_slice(s))
        work_add(s->host->loop, s->owner, &s->enforce.task);
}

int limits_note(struct stream *s, int64_t max_msgs_per_subject_before)
{
    int64_t before = max_msgs_per_subject_before, now = s->cfg.max_msgs_per_subject;
    int rc = 0;

    if (now > 0 && (before <= 0 || now < before) && !s->enforce.noted) {
        rc = store_blob_put(s->store, MF_LIT(BLOB_THIN), MF_LIT("1"), NULL);
        s->enforce.noted = rc == 0;
    }
    return rc;
}

void limits_resume(struct stream *s)
{
    struct mf_slice bytes;

    s->enforce.noted = store_blob_get(s->store, MF_LIT(BLOB_THIN), &bytes);
    s->enforce.again = s->enforce.noted;
    s->enforce.from_ns = stream_now(s);
    if (s->enforce.noted || (s->cfg.discard == DISCARD_OLD && too_much(s)))
        work_add(s->host->loop, s->owner, &s->enforce.task);
}

void limits_enforce_room(struct stream *s)
{
    work_add(s->host->loop, s->owner, &s->enforce.task);
}

void limits_stop(struct stream *s)
{
    store_keys_free(s->enforce.keys);
    s->enforce.keys = NULL;
    free(s->enforce.subject);
    s->enforce.subject = NULL;
    loop_timer_free(s->enforce.timer);
    s->enforce.timer = NULL;
    work_cancel(s->host->loop, &s->enforce.task);
}

/* --- sums ------------------------------------------------------------------------------------- */

void limits_count_index(struct stream *s)
{
    int64_t now = (int64_t)store_index_bytes(s->store);

    if (s->host->server_max.index < 0)
        return;
    s->host->server_usage->index += now - s->room.counted_index;
    s->room.counted_index = now;
}

void limits_count(struct stream *s)
{
    uint64_t msgs, bytes;

    limits_count_index(s);

    limits_accepted(s, &msgs, &bytes);
    int64_t more = (int64_t)bytes - s->room.counted_bytes;
    if (s->memory) {
        s->host->account_usage->memory += more;
        s->host->server_usage->memory += more;
    } else {
        s->host->account_usage->file += more;
        s->host->server_usage->file += more;
    }
    s->room.counted_bytes = (int64_t)bytes;
}
