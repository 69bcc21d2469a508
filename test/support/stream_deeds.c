/* stream_deeds.c: see stream_deeds.h. */
#include "stream_deeds.h"

#include "stream/stream_impl.h"
#include "must.h"

#include "base/clock.h"

static char *subjects[] = {(char *)"k.>"};
static struct stream_republish copies = {(char *)"k.>", (char *)"copy.>", false};
static struct stream_republish heads = {(char *)"k.>", (char *)"copy.>", true};
static struct stream_mapping mapping = {(char *)"k.in.*", (char *)"k.out.{{wildcard(1)}}"};

#define STREAM .name = (char *)"S", .subjects = {subjects, 1}

/* --- asking ---------------------------------------------------------------------------------- */

static void published(struct stream_publish *p, const struct stream_ack *a)
{
    struct deed_told *t = mf_container(p, struct deed_told, pub);

    t->calls++;
    t->err_code = a->error == NULL ? 0 : a->error->err_code;
}

static void op_done(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    struct deed_told *t = mf_container(op, struct deed_told, op);

    (void)count;
    t->calls++;
    t->err_code = e == NULL ? 0 : e->err_code;
}

static void publish(struct world *w, struct deed_told *t, const char *subject, const char *hdr,
                    const char *payload)
{
    *t = (struct deed_told){.pub = {.msg = {.subject = mf_str(subject),
                                            .reply = MF_LIT("r"),
                                            .hdr = mf_str(hdr),
                                            .payload = mf_str(payload)},
                                    .done = published}};
    stream_publish(w->stream, &t->pub);
}

static void three(struct world *w)
{
    world_publish(w, "k.a", "Nats-Msg-Id: 1\r\n", "one");
    world_publish(w, "k.b", "Nats-Msg-Id: 2\r\n", "two");
    world_publish(w, "k.a", "Nats-Msg-Id: 3\r\n", "three");
}

#define HDR(lines) "NATS/1.0\r\n" lines "\r\n"

static void ask_plain(struct world *w, struct deed_told *t)
{
    publish(w, t, "k.a", HDR("Nats-Msg-Id: 4\r\nNats-TTL: 1h\r\n"), "four");
}

static void ask_mapped(struct world *w, struct deed_told *t)
{
    publish(w, t, "k.in.x", HDR("Nats-Expected-Last-Sequence: 3\r\n"), "four");
}

static void ask_rollup_subject(struct world *w, struct deed_told *t)
{
    publish(w, t, "k.a", HDR("Nats-Rollup: sub\r\nNats-Msg-Id: 4\r\n"), "four");
}

static void ask_rollup_all(struct world *w, struct deed_told *t)
{
    publish(w, t, "k.c", HDR("Nats-Rollup: all\r\nNats-Msg-Id: 4\r\n"), "four");
}

static void ask_copy(struct world *w, struct deed_told *t)
{
    *t = (struct deed_told){.pub = {.msg = {.subject = MF_LIT("k.a"),
                                            .hdr = MF_LIT(HDR("Nats-TTL: x\r\n")),
                                            .payload = MF_LIT("nine")},
                                    .replicated = true,
                                    .seq = 9,
                                    .ts_ns = w->now_ns - CLOCK_S,
                                    .done = published}};
    stream_publish(w->stream, &t->pub);
}

static void ask_remove(struct world *w, struct deed_told *t)
{
    *t = (struct deed_told){.op.done = op_done};
    stream_remove(w->stream, 2, false, &t->op);
}

static void purge(struct world *w, struct deed_told *t, const char *filter, uint64_t below,
                  uint64_t keep)
{
    *t = (struct deed_told){.op.done = op_done};
    stream_purge(w->stream, mf_str(filter), below, keep, &t->op);
}

static void ask_purge_all(struct world *w, struct deed_told *t)
{
    purge(w, t, "", 0, 0);
}

static void ask_purge_below(struct world *w, struct deed_told *t)
{
    purge(w, t, "", 3, 0);
}

static void ask_purge_subject(struct world *w, struct deed_told *t)
{
    purge(w, t, "k.*", 0, 0);
}

static void ask_purge_keep(struct world *w, struct deed_told *t)
{
    purge(w, t, "k.*", 0, 1);
}

static void ask_purge_keep_all(struct world *w, struct deed_told *t)
{
    purge(w, t, "", 0, 1);
}

/* --- what came to JetStream later --------------------------------------------------------------
 */

static void counted(struct world *w)
{
    world_publish(w, "k.n", "Nats-Incr: 5\r\nNats-Counter-Sources: {\"O\":{\"o\":\"1\"}}\r\n", "");
    world_kill(w); /* the value has to be read from the message */
}

static void ask_count(struct world *w, struct deed_told *t)
{
    publish(w, t, "k.n", HDR("Nats-Incr: 7\r\n"), "");
}

static void ask_count_new(struct world *w, struct deed_told *t)
{
    publish(w, t, "k.m", HDR("Nats-Incr: -7\r\n"), "");
}

static void ask_schedule(struct world *w, struct deed_told *t)
{
    publish(w, t, "k.s",
            HDR("Nats-Schedule: @every 1h\r\nNats-Schedule-Target: k.t\r\n"
                "Nats-Schedule-Source: k.a\r\nNats-Schedule-TTL: 5m\r\n"),
            "body");
}

static void scheduled(struct world *w)
{
    three(w);
    world_publish(w, "k.s", "Nats-Schedule: @every 1h\r\nNats-Schedule-Target: k.t\r\n", "body");
}

/* The schedule of a subject goes with its message. */
static void ask_unschedule(struct world *w, struct deed_told *t)
{
    *t = (struct deed_told){.op.done = op_done};
    stream_remove(w->stream, 4, false, &t->op);
}

#define MEMBER(seq) "Nats-Batch-Id: i\r\nNats-Batch-Sequence: " seq "\r\n"

static void two_of_a_batch(struct world *w)
{
    three(w);
    world_publish(w, "k.a", MEMBER("1") "Nats-Msg-Id: 4\r\n", "four");
    world_publish(w, "k.b", MEMBER("2") "Nats-TTL: 1h\r\nNats-Required-Api-Level: 1\r\n", "five");
}

static void ask_commit(struct world *w, struct deed_told *t)
{
    publish(w, t, "k.c",
            HDR(MEMBER("3") "Nats-Batch-Commit: 1\r\nNats-Expected-Last-Subject-Sequence: 0\r\n"),
            "six");
}

/* The end of a batch without a message of its own. */
static void ask_commit_eob(struct world *w, struct deed_told *t)
{
    publish(w, t, "k.c", HDR(MEMBER("3") "Nats-Batch-Commit: eob\r\n"), "");
}

static void ask_fast(struct world *w, struct deed_told *t)
{
    *t = (struct deed_told){.pub = {.msg = {.subject = MF_LIT("k.a"),
                                            .reply = MF_LIT("r.i.1.fail.1.2.$FI"),
                                            .payload = MF_LIT("four")},
                                    .done = published}};
    stream_publish(w->stream, &t->pub);
}

/* Long enough to be worth packing. */
static void ask_packed(struct world *w, struct deed_told *t)
{
    static char body[2000];

    memset(body, 'x', sizeof body - 1);
    publish(w, t, "k.a", HDR("A: b\r\n"), body);
}

static void packed(struct world *w)
{
    char body[3000];

    memset(body, 'y', sizeof body - 1);
    body[sizeof body - 1] = '\0';
    world_publish(w, "k.a", NULL, body);
}

/* Limits that push most of it out, and new deadlines for all of it. */
static void ask_update(struct world *w, struct deed_told *t)
{
    struct stream_config next;

    stream_config_init(&next);
    if (stream_config_copy(&next, stream_config(w->stream)) != 0) { /* before it is asked */
        *t = (struct deed_told){.calls = 1, .err_code = -1};
        return;
    }
    next.max_msgs = 2;
    next.max_msgs_per_subject = 1;
    next.max_age_ns = 99 * CLOCK_S;
    next.allow_atomic = next.allow_batched = false;
    *t = (struct deed_told){.op.done = op_done};
    stream_update(w->stream, &next, MF_LIT("encoded"), &t->op);
    stream_config_fini(&next); /* taken over, or ours again */
}

#define MARKERS                                                                                    \
    .allow_msg_ttl = true, .allow_rollup = true, .subject_delete_marker_ttl_ns = 60 * CLOCK_S
#define DEED(name, before, ask, loose, ...)                                                        \
    {                                                                                              \
        name, {STREAM, __VA_ARGS__}, before, ask, loose                                            \
    }

const struct deed deeds[] = {
    DEED("first", NULL, ask_plain, 0, .allow_msg_ttl = true),
    DEED("plain", three, ask_plain, 0, .allow_msg_ttl = true),
    DEED("max age", three, ask_plain, 0, .allow_msg_ttl = true, .max_age_ns = CLOCK_S * 99),
    DEED("mapped", three, ask_mapped, 0, .subject_transform = &mapping),
    DEED("republished", three, ask_plain, 0, .republish = &copies, .allow_msg_ttl = true),
    DEED("heads", three, ask_plain, 0, .republish = &heads, .allow_msg_ttl = true),
    DEED("rollup of a subject", three, ask_rollup_subject, 0, .allow_rollup = true),
    DEED("rollup of all", three, ask_rollup_all, 0, .allow_rollup = true),
    DEED("max_msgs", three, ask_plain, 0, .max_msgs = 2, .allow_msg_ttl = true),
    DEED("max_bytes", three, ask_plain, 0, .max_bytes = 200, .allow_msg_ttl = true),
    DEED("per subject", three, ask_plain, 0, .max_msgs_per_subject = 1, .allow_msg_ttl = true),
    DEED("two per subject", three, ask_plain, 0, .max_msgs_per_subject = 2, .allow_msg_ttl = true),
    DEED("compressed", packed, ask_packed, 0, .compression = COMPRESSION_S2),
    DEED("copy", three, ask_copy, 0, .max_consumers = -1),
    DEED("remove", three, ask_remove, 0, .max_consumers = -1),
    DEED("remove with marker", three, ask_remove, 0, MARKERS),
    DEED("purge", three, ask_purge_all, 0, .max_consumers = -1),
    DEED("purge below", three, ask_purge_below, 0, .max_consumers = -1),
    DEED("purge, keep one", three, ask_purge_keep_all, 0, .max_consumers = -1),
    DEED("purge of subjects", three, ask_purge_subject, DEED_PART, .max_consumers = -1),
    DEED("purge with markers", three, ask_purge_subject, DEED_PART, MARKERS),
    DEED("purge of subjects, keep one", three, ask_purge_keep, DEED_PART, .max_consumers = -1),
    DEED("count", counted, ask_count, 0, .allow_msg_counter = true),
    DEED("count a new one", NULL, ask_count_new, 0, .allow_msg_counter = true),
    DEED("schedule", three, ask_schedule, 0, .allow_msg_schedules = true, .allow_msg_ttl = true),
    DEED("unschedule", scheduled, ask_unschedule, 0, .allow_msg_schedules = true,
         .allow_msg_ttl = true),
    DEED("commit", two_of_a_batch, ask_commit, DEED_ONCE, .allow_atomic = true,
         .allow_msg_ttl = true),
    DEED("commit eob", two_of_a_batch, ask_commit_eob, DEED_ONCE, .allow_atomic = true,
         .allow_msg_ttl = true),
    DEED("commit, one per subject", two_of_a_batch, ask_commit, DEED_ONCE, .allow_atomic = true,
         .allow_msg_ttl = true, .max_msgs_per_subject = 1),
    DEED("commit, three in all", two_of_a_batch, ask_commit, DEED_ONCE, .allow_atomic = true,
         .allow_msg_ttl = true, .max_msgs = 3),
    DEED("update", two_of_a_batch, ask_update, DEED_LATE | DEED_PART, .allow_atomic = true,
         .allow_msg_ttl = true, .allow_batched = true),
    DEED("fast", three, ask_fast, DEED_UNSURE, .allow_batched = true),
};
const size_t deed_count = MF_COUNT(deeds);

void deed_start(const struct deed *d, struct world *w,
                int (*wrap)(struct store_io **out, struct store_io *under, struct mf_error *e))
{
    world_init(w);
    if (wrap != NULL)
        world_wrap(w, wrap);
    world_open(w, &d->cfg);
    if (d->before != NULL)
        d->before(w);
    if (w->stream == NULL)
        world_open(w, &d->cfg);
    world_turns(w);
}

void deed_expect(const struct deed *d, struct mf_buf *before, struct mf_buf *after)
{
    struct world w;
    struct deed_told t;

    deed_start(d, &w, NULL);
    world_text(&w, before);
    d->ask(&w, &t);
    world_turns(&w);
    MUST(t.calls == 1 && t.err_code == 0, "%s: err_code %d", d->name, t.err_code);
    world_text(&w, after);
    MUST(!mf_eq(mf_buf_slice(before), mf_buf_slice(after)), "%s: nothing happened", d->name);
    world_fini(&w);
}
