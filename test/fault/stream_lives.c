/* stream_lives.c: see stream_lives.h. */
#include "stream_lives.h"

#include "stream/lifetime_impl.h"
#include "support/must.h"

#include "stream/backfill.h"
#include "base/clock.h"

#include <stdio.h>

#define RULES                                                                                      \
    "[{\"subject\":\"k.*\",\"ttl\":\"30s\",\"permanent_if\":\"c.{{wildcard(1)}}\"},"               \
    "{\"subject\":\"c.*\",\"header\":{\"Sync\":\"1\"},\"ttl\":\"20s\"},"                           \
    "{\"subject\":\"c.*\",\"ttl\":\"never\"}]"
#define PAGE  4 /* messages that are changed in one batch, at most */
#define QUIET 6 /* turns of the loop in which nothing happens: all is done */

static struct {
    bool links, slides;
} now;

void lives_configure(struct pick *p, struct stream_config *cfg)
{
    static char *subjects[] = {(char *)"k.>", (char *)"c.*", (char *)"dead.>"};
    static struct json_pair pairs[8];
    size_t n = 0;

    now.links = pick_chance(p, 60);
    now.slides = pick_chance(p, 40);
    pairs[n++] = (struct json_pair){(char *)"mayfly.ttl.default", (char *)"40s"};
    if (now.links)
        pairs[n++] = (struct json_pair){(char *)"mayfly.ttl.rules", (char *)RULES};
    if (now.slides)
        pairs[n++] = (struct json_pair){(char *)"mayfly.ttl.slide", (char *)"read"};
    if (pick_chance(p, 60))
        pairs[n++] = (struct json_pair){(char *)"mayfly.ttl.on_expire", (char *)"dead"};
    if (pick_chance(p, 30))
        pairs[n++] = (struct json_pair){(char *)"mayfly.ttl.scope", (char *)"message"};
    cfg->subjects = (struct json_strs){subjects, 3};
    cfg->metadata = (struct json_map){pairs, n, true};
}

/* --- what it is told -------------------------------------------------------------------------- */

struct asked {
    struct stream_op op;
    bool done;
};

static void answered(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    (void)count;
    MUST(e == NULL, "refused: %s", e->text);
    mf_container(op, struct asked, op)->done = true;
}

static void wait_for(struct world *w, struct asked *a)
{
    for (int i = 0; i < 100000 && !a->done; i++)
        loop_turn(w->loop);
    MUST(a->done, "no answer");
}

/* As the TTL API renews it: false: it stays as it is. */
static bool renewed(struct world *w, uint64_t seq, struct stream_deadline_change *to)
{
    struct policy_decision d;
    struct stream_lifetime l;
    struct stream_msg m;
    bool is = false;

    MUST(stream_lifetime(w->stream, seq, &l) && stream_get(w->stream, seq, &m) == 0, "it is gone");
    if (l.deadline_ns != 0 && stream_ttl_decide(w->stream, &m, w->now_ns, &d)) {
        *to = (struct stream_deadline_change){.seq = seq,
                                              .infinite = d.ttl == TTL_NEVER,
                                              .deadline_ns =
                                                  stream_ttl_deadline(w->stream, w->now_ns, d.ttl)};
        is = to->infinite || to->deadline_ns != 0;
    }
    stream_msg_end(&m);
    return is;
}

/* SET, TOUCH or PERSIST of a page. */
static void change(struct world *w, struct pick *p, uint64_t seq, char *deed, size_t size)
{
    static const enum stream_life_cause causes[] = {STREAM_LIFE_SET, STREAM_LIFE_SET,
                                                    STREAM_LIFE_TOUCH, STREAM_LIFE_PERSIST};
    enum stream_life_cause why = causes[pick_below(p, MF_COUNT(causes))];
    struct stream_deadline_change at[PAGE];
    struct asked a = {.op.done = answered};
    int64_t end = w->now_ns + (int64_t)(1 + pick_below(p, 60)) * CLOCK_S;
    size_t n = 0, most = 1 + (pick_chance(p, 30) ? pick_below(p, PAGE) : 0);

    if (why == STREAM_LIFE_PERSIST)
        end = 0;
    else if (pick_chance(p, 15))
        end = w->now_ns - CLOCK_S; /* at once */
    snprintf(deed, size, "cause %d, %zu from %llu, end %lld", (int)why, most,
             (unsigned long long)seq, (long long)(end / CLOCK_S));
    for (; most > 0 && seq != 0; most--, seq = stream_next(w->stream, seq + 1)) {
        if (why == STREAM_LIFE_TOUCH) {
            n += renewed(w, seq, &at[n]);
            continue;
        }
        at[n++] = (struct stream_deadline_change){
            .seq = seq, .deadline_ns = end, .infinite = end == 0, .pinned = true};
    }
    stream_change_deadlines(w->stream, why, at, n, &a.op);
    wait_for(w, &a);
}

static void slide(struct world *w, uint64_t seq, char *deed, size_t size)
{
    struct stream_msg m;

    snprintf(deed, size, "read %llu", (unsigned long long)seq);
    MUST(stream_get(w->stream, seq, &m) == 0, "a message is not there");
    stream_slide(w->stream, &m);
    stream_msg_end(&m);
}

/* A record that others are linked to: permanent, or with an end. */
static void put_config(struct world *w, struct pick *p, char *deed, size_t size)
{
    char subject[16];
    bool ends = pick_chance(p, 40);

    snprintf(subject, sizeof subject, "c.%u", pick_below(p, 3));
    snprintf(deed, size, "put %s%s", subject, ends ? ", which ends" : "");
    struct world_ack a = world_publish(w, subject, ends ? "Sync: 1\r\n" : NULL, "config");
    MUST(a.text[0] == '\0', "a record was refused: %s", a.text);
}

static void backfill(struct world *w, struct pick *p, char *deed, size_t size)
{
    struct asked a = {.op.done = answered};
    struct backfill_opts o = {.all = pick_chance(p, 70),
                              .rate = BACKFILL_RATE_MAX,
                              .spread_ns = (int64_t)pick_below(p, 2) * 30 * CLOCK_S};

    snprintf(deed, size, "backfill%s", o.all ? " of all" : "");
    MUST(backfill_start(w->stream, &o, &a.op) == 0, "no backfill");
    wait_for(w, &a);
}

bool lives_act(struct world *w, struct pick *p, uint64_t seq, char *deed, size_t size)
{
    uint32_t r = pick_below(p, 100);

    if (r < 10)
        backfill(w, p, deed, size);
    else if (r < 45 && now.links)
        put_config(w, p, deed, size);
    else if (r < 65 && now.slides)
        slide(w, seq, deed, size);
    else
        change(w, p, seq, deed, size);
    return r < 10 || (r < 45 && now.links) || !(r < 65 && now.slides);
}

/* --- what it shows ---------------------------------------------------------------------------- */

static bool is_busy(struct world *w)
{
    const struct backfill_status *st = backfill_status(w->stream);

    return !store_idle(w->stream->store) || (st != NULL && st->state == BACKFILL_RUNNING);
}

void lives_settle(struct world *w)
{
    int64_t give_up = clock_mono_ns() + 10 * CLOCK_S, now_ns = stream_now(w->stream);

    for (int quiet = 0; quiet < QUIET; quiet = is_busy(w) ? 0 : quiet + 1) {
        MUST(clock_mono_ns() < give_up, "a job does not end");
        if (store_next_deadline(w->stream->store) <= now_ns)
            world_time(w, now_ns);
        loop_turn(w->loop);
    }
}

/* To the hundredth of a second: a job that went on after a start may be some nanoseconds later. */
void lives_show(struct world *w, struct mf_buf *out)
{
    const struct backfill_status *st = backfill_status(w->stream);
    struct stream_lifetime l;

    world_text(w, out);
    for (uint64_t seq = stream_next(w->stream, 0); seq != 0;
         seq = stream_next(w->stream, seq + 1)) {
        MUST(stream_lifetime(w->stream, seq, &l), "a message without a life");
        mf_buf_printf(out, "%llu ends %lld%s%s\n", (unsigned long long)seq,
                      (long long)(l.deadline_ns / (10 * CLOCK_MS)), l.infinite ? " infinite" : "",
                      l.pinned ? " pinned" : "");
    }
    if (st != NULL)
        mf_buf_printf(out, "backfill: %llu seen, %llu set, %llu infinite\n",
                      (unsigned long long)st->seen, (unsigned long long)st->set,
                      (unsigned long long)st->infinite);
    MUST(!mf_buf_failed(out), "no memory for the text");
}
