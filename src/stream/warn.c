/* warn.c: one warning for each message that expires soon (mayfly.ttl.warn).
 *
 * No message has a timer.  Every half of a grain g (warning_grain_ns()), the messages with
 * deadlines up to now + warn + g are visited in the order of deadlines, from the position W where
 * the last visit ended: so each warning is sent between warn + g and warn before the deadline.  W
 * is stored in a blob.  A message that is stored or renewed with a deadline before W gets its
 * warning after its commit, if more than warn is left.
 *
 * After a restart the visit begins a grain before the stored W: some warnings are sent twice, none
 * is missed, and those whose time passed meanwhile are late. */
#include "stream/lifetime_impl.h"
#include "stream/summary_impl.h"

#include "base/clock.h"
#include "base/le.h"
#include "markers/warning.h"
#include "stream/stream_ahead.h"

#include <stdlib.h>

#define PAGE     2000 /* events in one turn of the loop */
#define STEPS    4096
#define YOUNG_NS (5 * CLOCK_MS) /* before one that is not on disk yet is looked at again */

struct warn {
    struct stream *s;
    struct loop_timer *timer;
    int64_t warn_ns, grain_ns;
    int64_t told_ns;           /* W: all messages that end up to here were announced */
    struct stream_ahead *page; /* of the visit under way; NULL: none */
    int64_t to_ns;             /* where it ends */
    bool noted, found;         /* W is in the blob; the visit found messages */
    struct mf_buf young;       /* sequences that begin with an end before W */
};

/* --- events ----------------------------------------------------------------------------------- */

/* Its whole life is no longer than the warning.  Asked only where less than that is left. */
static bool is_short(struct warn *w, uint64_t seq, int64_t deadline_ns)
{
    struct store_rec r;

    return store_peek(w->s->store, seq, &r) == 0 &&
           !warning_in_time(r.ts_ns, deadline_ns, w->warn_ns);
}

static void send_warning(struct warn *w, uint64_t seq, int64_t now_ns)
{
    struct stream *s = w->s;
    struct stream_expiring e = {.seq = seq, .warn_ns = w->warn_ns};
    uint16_t flags = 0;

    if (store_next(s->store, seq) != seq || !store_life(s->store, seq, &e.deadline_ns, &flags) ||
        !warning_wanted(store_key_at(s->store, seq), e.deadline_ns, (flags & MSG_TOMBSTONE) != 0))
        return;
    e.left_ns = e.deadline_ns - now_ns;
    if (e.left_ns <= w->warn_ns && is_short(w, seq, e.deadline_ns))
        return;
    e.subject = store_key_at(s->store, seq); /* valid until the next call of the store */
    summary_add_expiring(s, &e);
    s->ttl_stats.warned += s->host->ttl_expiring(s->host->arg, s, &e);
}

static void add_young(struct warn *w, uint64_t seq)
{
    mf_buf_append(&w->young, &seq, sizeof seq);
    if (mf_buf_failed(&w->young)) { /* the next visit looks there again */
        mf_buf_fini(&w->young);
        w->young = MF_BUF_INIT;
        w->told_ns -= w->grain_ns;
    }
}

/* true: some of them are not on disk yet.  An event may be stored in this very stream: messages
 * stored meanwhile are noted in another buffer. */
static bool warn_of_young(struct warn *w, int64_t now_ns)
{
    struct mf_buf young = w->young;
    uint64_t committed = store_committed(w->s->store), seq;

    w->young = MF_BUF_INIT;
    for (size_t at = 0; at + sizeof seq <= young.len; at += sizeof seq) {
        memcpy(&seq, young.ptr + at, sizeof seq);
        if (seq > committed)
            add_young(w, seq);
        else
            send_warning(w, seq, now_ns);
    }
    mf_buf_fini(&young);
    return w->young.len > 0;
}

void warn_young(struct stream *s, uint64_t seq, int64_t deadline_ns)
{
    struct warn *w = s->warn;

    if (deadline_ns - stream_now(s) <= w->warn_ns)
        return;
    add_young(w, seq);
    loop_timer_arm(w->timer, loop_mono_ns(s->host->loop));
}

/* --- visits ----------------------------------------------------------------------------------- */

static void store_position(struct warn *w)
{
    uint8_t bytes[8];

    le64_put(bytes, (uint64_t)w->told_ns);
    w->noted = store_blob_put(w->s->store, MF_LIT(BLOB_WARNED), mf_slice(bytes, 8), NULL) == 0;
}

static int64_t read_position(struct stream *s)
{
    struct mf_slice bytes;

    if (!store_blob_get(s->store, MF_LIT(BLOB_WARNED), &bytes) || bytes.len != 8)
        return 0;
    return (int64_t)le64_get(bytes.ptr);
}

static void end_visit(struct warn *w)
{
    stream_ahead_free(w->page);
    w->page = NULL;
    w->told_ns = w->to_ns;
    if (w->found || (!w->noted && store_has_deadlines(w->s->store)))
        store_position(w);
    w->found = false;
}

static bool begin_page(struct warn *w, struct store_at after)
{
    stream_ahead_free(w->page);
    w->page = stream_page_new(w->s, after, w->to_ns + 1, PAGE, MF_SLICE_NONE);
    return w->page != NULL;
}

static bool begin_visit(struct warn *w, int64_t now_ns)
{
    int64_t to_ns = now_ns + w->warn_ns + w->grain_ns;

    if (to_ns <= w->told_ns)
        return false;
    w->to_ns = w->s->warned_to_ns = to_ns;
    return begin_page(w, (struct store_at){w->told_ns, UINT64_MAX});
}

/* A page at most; true: there is more to visit. */
static bool visit_page(struct warn *w, int64_t now_ns)
{
    const struct store_at *at;
    struct store_at next;
    bool more;

    if (!stream_ahead_step(w->page, STEPS))
        return true;
    size_t n = stream_page_items(w->page, &at, &more, &next);
    for (size_t i = 0; i < n; i++)
        send_warning(w, at[i].seq, now_ns);
    w->found = w->found || n > 0;
    if (more && begin_page(w, next))
        return true;
    if (more) { /* no memory: from there on, next time */
        w->to_ns = next.deadline_ns - 1;
    }
    end_visit(w);
    return false;
}

void warn_run(struct stream *s)
{
    struct warn *w = s->warn;
    int64_t now_ns = stream_now(s), pause_ns = w->grain_ns / 2;

    if (warn_of_young(w, now_ns))
        pause_ns = YOUNG_NS;
    if ((w->page != NULL || begin_visit(w, now_ns)) && visit_page(w, now_ns))
        pause_ns = 0;
    loop_timer_arm(w->timer, loop_mono_ns(s->host->loop) + pause_ns);
}

bool warn_busy(const struct stream *s)
{
    return s->warn->page != NULL || s->warn->young.len > 0;
}

static void on_timer(void *arg)
{
    warn_run(arg);
}

/* --- life ------------------------------------------------------------------------------------- */

void warn_stop(struct stream *s)
{
    struct warn *w = s->warn;

    if (w == NULL)
        return;
    stream_ahead_free(w->page);
    loop_timer_free(w->timer);
    mf_buf_fini(&w->young);
    free(w);
    s->warn = NULL;
    s->warned_to_ns = 0;
}

static int64_t warning_of(const struct stream *s)
{
    const struct policy_keys *k = s->governor == NULL ? NULL : &policy_view(s->governor)->keys;

    if (k == NULL || k->enforce == POLICY_ENFORCE_OFF || s->host->ttl_expiring == NULL)
        return 0;
    return k->warn_ns > 0 ? k->warn_ns : 0;
}

static int warn_new(struct stream *s)
{
    struct warn *w = calloc(1, sizeof *w);

    if (w == NULL || (w->timer = loop_timer_new(s->host->loop, on_timer, s)) == NULL) {
        free(w);
        return MF_NOMEM;
    }
    w->s = s;
    s->warn = w;
    return 0;
}

/* `warn` has become shorter: a message that was announced too early for it is announced again in
 * time.  An update that leaves it alone finds W where a visit of now would leave it, at most. */
static void start_earlier(struct warn *w)
{
    int64_t top = stream_now(w->s) + w->warn_ns;

    if (w->told_ns <= top + w->grain_ns)
        return;
    stream_ahead_free(w->page);
    w->page = NULL;
    w->told_ns = w->s->warned_to_ns = top;
    w->noted = false;
}

int warn_start(struct stream *s)
{
    int64_t warn_ns = warning_of(s);
    struct warn *w;

    if (warn_ns == 0 || s->closing) {
        warn_stop(s);
        return 0;
    }
    bool first = s->warn == NULL;
    if (first && warn_new(s) != 0)
        return MF_NOMEM;
    w = s->warn;
    w->warn_ns = warn_ns;
    w->grain_ns = warning_grain_ns(warn_ns);
    if (first) {
        int64_t before = read_position(s);
        w->noted = before != 0;
        w->told_ns = before != 0 ? before - w->grain_ns : stream_now(s) + warn_ns;
        s->warned_to_ns = w->told_ns;
    }
    start_earlier(w);
    loop_timer_arm(w->timer, loop_mono_ns(s->host->loop));
    return 0;
}
