/* fuzz_ttl_api.c: bodies of the TTL API, against small streams in memory: P has a policy, N none, M
 * is a mirror, Z is sealed, X does not exist.
 *
 * An input is up to RECORDS requests, with 0x1e between them: a byte for the request (ops[]), a
 * byte for the stream (its letter; in small letters: the form with the key in the subject; '-': the
 * form without a stream), then the body.  'w' and a byte let time pass instead.  In a body 0x1f, a
 * byte and a number n stand for 256 * n of this byte: so long ones have short inputs.
 * Whatever comes, there is one answer within TURNS turns: one JSON document of the right type, or
 * the message that TOUCH was asked for; an error is one that docs/ttl.md lists.  What is refused or
 * only looked at changes no count; a change changes as many messages as its answer says.
 * Time is what the harness says.  A stream that an input changed is made anew before the next one,
 * and all of it every INPUTS inputs: so an input that breaks something does so alone. */
#include "fuzz.h"
#include "support/api_world.h"

#include "stream/backfill.h"
#include "proto/header.h"
#include "codec/json.h"
#include "stream/stream_ahead.h"
#include "stream/stream_ttl.h"
#include "base/utf8.h"

#define RECORDS  8
#define INPUTS   4096
#define TURNS    4000
#define MSGS     20                              /* of each stream */
#define BODY     70000                           /* bytes: above the API's own limit */
#define STEPS    3                               /* of a slice */
#define START_NS (1794992400 * (int64_t)CLOCK_S) /* 2026-11-18T09:00:00Z */

/* --- time ------------------------------------------------------------------------------------- */

/* In place of clock.c.  The monotonic clock is far behind libuv's own: whatever a timer waits for,
 * libuv finds it due, and timer.c looks at this clock. */
static int64_t passed_ns;

int64_t clock_wall_ns(void)
{
    return START_NS + passed_ns;
}

int64_t clock_mono_ns(void)
{
    return passed_ns - ((int64_t)1 << 60);
}

int64_t clock_boot_ns(void)
{
    return CLOCK_S + passed_ns;
}

/* --- the requests ----------------------------------------------------------------------------- */

static const struct op {
    char letter;
    const char *word, *type;
    bool keyed, summed, changes; /* has the form with a key; without a stream; changes data */
} ops[] = {
    {'g', "GET", "io.mayfly.api.v1.ttl_get_response", true, false, false},
    {'s', "SET", "io.mayfly.api.v1.ttl_set_response", true, false, true},
    {'t', "TOUCH", "io.mayfly.api.v1.ttl_touch_response", true, false, true},
    {'p', "PERSIST", "io.mayfly.api.v1.ttl_persist_response", true, false, true},
    {'l', "LIST", "io.mayfly.api.v1.ttl_list_response", false, false, false},
    {'n', "STATS", "io.mayfly.api.v1.ttl_stats_response", false, true, false},
    {'f', "FORECAST", "io.mayfly.api.v1.ttl_forecast_response", false, false, false},
    {'y', "POLICY", "io.mayfly.api.v1.ttl_policy_response", false, true, false},
    {'b', "BACKFILL", "io.mayfly.api.v1.ttl_backfill_response", false, false, true},
};

static const struct op *op_of(uint8_t byte)
{
    for (size_t i = 0; i < MF_COUNT(ops); i++)
        if (byte == (uint8_t)ops[i].letter)
            return &ops[i];
    return &ops[byte % MF_COUNT(ops)];
}

static void write_subject(char subject[64], const struct op *op, uint8_t byte)
{
    static const char streams[] = "PNMZX";
    bool small = byte >= 'a' && byte <= 'z';
    char name = (char)(small ? byte - 'a' + 'A' : byte);

    if (byte == '-' && op->summed) {
        (void)snprintf(subject, 64, "$MAYFLY.TTL.%s", op->word);
        return;
    }
    if (name == '\0' || strchr(streams, name) == NULL)
        name = streams[byte % (sizeof streams - 1)];
    (void)snprintf(subject, 64, "$MAYFLY.TTL.%s.%c", op->word, name);
    if (small && op->keyed)
        (void)snprintf(subject + strlen(subject), 32, ".%c.a.1", name);
}

/* --- the answer ------------------------------------------------------------------------------- */

static struct {
    struct router_sub sub;
    unsigned count;
    struct mf_buf hdr, payload; /* of the last one */
} got;

static bool got_one(struct router_sub *s, const struct router_msg *m)
{
    (void)s;
    got.count++;
    mf_buf_clear(&got.hdr);
    mf_buf_clear(&got.payload);
    mf_buf_append(&got.hdr, m->msg->hdr.ptr, m->msg->hdr.len);
    mf_buf_append(&got.payload, m->msg->payload.ptr, m->msg->payload.len);
    return true;
}

static void ask(const char *subject, struct mf_slice body)
{
    struct mf_msg m = {.subject = mf_str(subject), .reply = MF_LIT("fuzz"), .payload = body};

    got.count = 0;
    FUZZ_CHECK(account_publish(accounts_global(accounts),
                               &(struct router_msg){.route = m.subject, .msg = &m}) > 0);
    for (int i = 0; i < TURNS && got.count == 0; i++)
        loop_turn(loop);
    loop_turn(loop);
    loop_turn(loop);
    FUZZ_CHECK(got.count == 1);
}

struct fault {
    int64_t code, err_code;
    char *description;
};
struct reply {
    char *type, *stream;
    struct fault *error;
    int64_t count;
};
#define FIELD(in, json, sort, member)                                                              \
    {                                                                                              \
        .name = (json), .kind = (sort), .offset = offsetof(struct in, member)                      \
    }
static const struct json_field fault_fields[] = {
    FIELD(fault, "code", JSON_INT, code),
    FIELD(fault, "err_code", JSON_INT, err_code),
    FIELD(fault, "description", JSON_STR, description),
};
static const struct json_type fault_type = {"Error", sizeof(struct fault), fault_fields,
                                            MF_COUNT(fault_fields)};
static const struct json_field reply_fields[] = {
    FIELD(reply, "type", JSON_STR, type),
    FIELD(reply, "stream", JSON_STR, stream),
    FIELD(reply, "count", JSON_INT, count),
    {.name = "error",
     .kind = JSON_POINTER,
     .offset = offsetof(struct reply, error),
     .type = &fault_type},
};
static const struct json_type reply_type = {"Reply", sizeof(struct reply), reply_fields,
                                            MF_COUNT(reply_fields)};

/* Those of docs/ttl.md, but for the ones of a server in need: there is memory, and no disk. */
static void check_fault(const struct fault *f)
{
    static const struct {
        int64_t code, err_code;
        const char *text; /* its beginning */
    } known[] = {
        {400, 10003, "bad request: "},
        {400, 10025, "invalid JSON: "},
        {404, 10037, "no message found"},
        {500, 10052, ""},
        {404, 10059, "stream not found"},
        {400, 10071, "wrong last sequence: "},
        {400, 10109, "invalid operation on sealed stream"},
        {400, 10165, "invalid per-message TTL: "},
        {409, 21001, "a backfill of this stream is running"},
        {404, 21002, "there is no backfill of this stream"},
        {400, 21003, "backfill would expire "},
        {409, 21004, "the stream has no TTL policy"},
        {409, 21005, "a mirror follows its origin"},
    };
    size_t i = 0;

    while (i < MF_COUNT(known) && f->err_code != known[i].err_code)
        i++;
    FUZZ_CHECK(i < MF_COUNT(known) && f->code == known[i].code);
    FUZZ_CHECK(f->description != NULL && f->description[0] != '\0');
    FUZZ_CHECK(mf_starts(mf_str(f->description), known[i].text));
}

static void check_text(struct mf_slice text)
{
    uint32_t rune;

    for (size_t at = 0; at < text.len;) {
        size_t n = utf8_next(text.ptr + at, text.len - at, &rune);
        FUZZ_CHECK(n > 0);
        at += n;
    }
}

/* TOUCH with `get`: the message that was asked for, or that it is gone. */
static void check_message(const struct op *op)
{
    struct mf_slice hdr = mf_buf_slice(&got.hdr), value;

    FUZZ_CHECK(op->letter == 't' && mf_starts(hdr, "NATS/1.0"));
    if (mf_starts(hdr, "NATS/1.0 404"))
        return;
    FUZZ_CHECK(header_get(hdr, "Nats-Sequence", &value));
    FUZZ_CHECK(header_get(hdr, "Mayfly-Expires", &value));
}

static void check_reply(const struct op *op, const struct reply *r)
{
    FUZZ_CHECK(r->type != NULL && strcmp(r->type, op->type) == 0);
    if (r->error != NULL)
        check_fault(r->error);
    FUZZ_CHECK(r->count >= 0);
}

/* --- the world -------------------------------------------------------------------------------- */

static const char streams[] = "PNMZ";

static struct stream *stream_named(char name)
{
    struct catalog *all = api_world_account()->ja->catalog;

    return catalog_find(all, mf_slice(&name, 1));
}

/* What no look at a stream changes.  What ends meanwhile stays in these sums. */
struct counts {
    uint64_t last_seq, with, without, infinite, changed;
};
static struct counts fresh[4]; /* when they were made */

static struct counts counts_of(char name)
{
    struct stream *s = stream_named(name);
    const struct stream_ttl_stats *ttl = stream_ttl_stats(s);
    struct stream_lives lives;
    struct stream_stats stats;
    struct stream_state st;

    stream_lives(s, &lives);
    stream_stats(s, &stats);
    stream_state(s, &st);
    return (struct counts){.last_seq = st.last_seq,
                           .with = lives.with + stats.expired,
                           .without = lives.without,
                           .infinite = lives.infinite,
                           .changed = ttl->set + ttl->touched + ttl->persisted};
}

static void counts_of_all(struct counts to[4])
{
    for (int i = 0; i < 4; i++)
        to[i] = counts_of(streams[i]);
}

static bool job_runs(char name)
{
    struct stream *s = stream_named(name);
    const struct backfill_status *job = s == NULL ? NULL : backfill_status(s);

    return job != NULL && job->state == BACKFILL_RUNNING;
}

static bool is_overdue(char name)
{
    struct stream *s = stream_named(name);

    return s != NULL && stream_overdue(s, MF_SLICE_NONE) > 0;
}

/* What is past its deadline is swept.  A backfill gets some turns to do what it may do by now.
 */
static void settle(int patience)
{
    for (int i = 0; i < TURNS; i++) {
        bool busy = false;

        loop_turn(loop); /* streams look at the clock once in a turn */
        for (const char *name = streams; *name != '\0'; name++)
            busy |= is_overdue(*name);
        if (!busy && (i >= patience || !job_runs('P')))
            return;
    }
}

static void create(char name, const char *more)
{
    char subject[64], body[1024];

    (void)snprintf(subject, sizeof subject, "$JS.API.STREAM.CREATE.%c", name);
    (void)snprintf(body, sizeof body, "{\"name\":\"%c\",\"storage\":\"memory\"%s}", name, more);
    ask(subject, mf_str(body));
    MUST(stream_named(name) != NULL, "%s", mf_buf_cstr(&got.payload));
}

static void publish(const char *subject, const char *hdr, const char *payload)
{
    struct mf_msg m = {.subject = mf_str(subject), .hdr = mf_str(hdr), .payload = mf_str(payload)};

    (void)account_publish(accounts_global(accounts),
                          &(struct router_msg){.route = m.subject, .msg = &m});
}

static void fill(char name)
{
    static const char *const hdrs[] = {"", "NATS/1.0\r\nNats-TTL: 2h\r\n\r\n", "",
                                       "NATS/1.0\r\nNats-TTL: never\r\n\r\n",
                                       "NATS/1.0\r\nTier: gold\r\n\r\n"};
    char subject[32], payload[64];

    for (unsigned i = 0; i < MSGS; i++) {
        (void)snprintf(subject, sizeof subject, "%c.%c.%u", name, "abc"[i % 3], i / 4);
        (void)snprintf(payload, sizeof payload, "{\"ttl\":%u,\"s\":\"%us\"}", 30 * i, 90 * i);
        publish(subject, hdrs[i % MF_COUNT(hdrs)], payload);
    }
    for (int i = 0; i < TURNS && counts_of(name).last_seq < MSGS; i++)
        loop_turn(loop);
    MUST(counts_of(name).last_seq == MSGS, "%c has %d", name, (int)counts_of(name).last_seq);
}

#define SEALED                                                                                     \
    ",\"subjects\":[\"Z.>\"],\"allow_msg_ttl\":true,"                                              \
    "\"metadata\":{\"mayfly.ttl.default\":\"1h\",\"mayfly.ttl.never\":\"allow\"}"

static void make(int i)
{
    static const char *const more[] = {
        ",\"subjects\":[\"P.>\"],\"allow_msg_ttl\":true,\"metadata\":{"
        "\"mayfly.ttl.default\":\"1h\",\"mayfly.ttl.min\":\"10s\","
        "\"mayfly.ttl.max\":\"30d\",\"mayfly.ttl.never\":\"allow\",\"mayfly.ttl.rules\":\"["
        "{\\\"id\\\":\\\"gold\\\",\\\"header\\\":{\\\"Tier\\\":\\\"gold\\\"},"
        "\\\"subject\\\":\\\"P.>\\\",\\\"ttl\\\":\\\"never\\\"},"
        "{\\\"id\\\":\\\"own\\\",\\\"subject\\\":\\\"P.b.*\\\","
        "\\\"ttl\\\":\\\"2 * json(/ttl)\\\"}]\"}",
        ",\"subjects\":[\"N.>\"],\"allow_msg_ttl\":true", ",\"mirror\":{\"name\":\"GONE\"}",
        SEALED};
    char name = streams[i];

    create(name, more[i]);
    if (name != 'M')
        fill(name);
    if (name == 'Z') {
        ask("$JS.API.STREAM.UPDATE.Z",
            MF_LIT("{\"name\":\"Z\",\"storage\":\"memory\",\"sealed\":true" SEALED "}"));
        MUST(stream_config(stream_named('Z'))->sealed, "%s", mf_buf_cstr(&got.payload));
    }
    fresh[i] = counts_of(name);
}

static bool is_fresh(int i)
{
    struct stream *s = stream_named(streams[i]);
    struct counts now = counts_of(streams[i]);
    struct stream_stats stats;

    stream_stats(s, &stats);
    return stats.expired == 0 && backfill_status(s) == NULL &&
           memcmp(&now, &fresh[i], sizeof now) == 0;
}

static void make_anew(int i)
{
    char subject[64];

    (void)snprintf(subject, sizeof subject, "$JS.API.STREAM.DELETE.%c", streams[i]);
    ask(subject, MF_SLICE_NONE);
    make(i);
}

static void world_down(void)
{
    work_set_steps(loop, 0);
    router_unsubscribe(account_router(accounts_global(accounts)), &got.sub);
    mf_buf_fini(&got.hdr);
    mf_buf_fini(&got.payload);
    api_down();
}

static void world_up(void)
{
    passed_ns = 0;
    api_up(", max_mem: 64M");
    got.hdr = got.payload = MF_BUF_INIT;
    got.sub = (struct router_sub){.deliver = got_one};
    MUST(router_subscribe(account_router(accounts_global(accounts)), MF_LIT("fuzz"), MF_SLICE_NONE,
                          &got.sub) == 0,
         "inbox");
    work_set_steps(loop, STEPS);
    for (int i = 0; i < 4; i++)
        make(i);
}

static void begin(void)
{
    static unsigned inputs;

    if (inputs == 0) {
        must_quiet();
        (void)atexit(world_down);
    } else if (inputs % INPUTS == 0) {
        world_down();
    }
    if (inputs++ % INPUTS == 0)
        world_up();
    for (int i = 0; i < 4; i++)
        if (!is_fresh(i))
            make_anew(i);
}

/* --- one request ------------------------------------------------------------------------------ */

static void check_counts(const struct op *op, const struct reply *r, const struct counts before[4])
{
    struct counts after[4];
    bool backfill = op->letter == 'b' && r->error == NULL;
    uint64_t changed = 0;

    counts_of_all(after);
    for (int i = 0; i < 4; i++) {
        bool same = memcmp(&before[i], &after[i], sizeof after[i]) == 0;

        FUZZ_CHECK(before[i].last_seq == after[i].last_seq);
        FUZZ_CHECK(same || streams[i] == 'P' || streams[i] == 'N');
        FUZZ_CHECK(same || backfill || (op->changes && r->error == NULL && r->count > 0));
        changed += after[i].changed - before[i].changed;
    }
    FUZZ_CHECK(backfill || op->letter == 'l' || got.hdr.len > 0 || changed == (uint64_t)r->count);
}

static void run_request(const struct op *op, uint8_t stream, struct mf_slice body)
{
    struct arena mem = {0};
    struct reply r = {0};
    struct counts before[4];
    struct mf_error e;
    char subject[64];

    write_subject(subject, op, stream);
    if (job_runs('P'))
        settle(10);
    bool quiet = !job_runs('P');
    counts_of_all(before);
    ask(subject, body);
    if (got.hdr.len > 0) {
        check_message(op);
        r.count = 1;
    } else {
        check_text(mf_buf_slice(&got.payload));
        FUZZ_CHECK(json_is_document(mf_buf_slice(&got.payload)));
        FUZZ_CHECK(json_unmarshal(mf_buf_slice(&got.payload), &reply_type, &r, &mem, &e) == 0);
        check_reply(op, &r);
    }
    if (quiet)
        check_counts(op, &r, before);
    arena_fini(&mem);
    settle(10);
}

static void unfold(struct mf_slice in, struct mf_buf *out)
{
    for (size_t i = 0; i < in.len; i++) {
        if (in.ptr[i] != 0x1f || i + 2 >= in.len) {
            mf_buf_byte(out, in.ptr[i]);
            continue;
        }
        for (unsigned n = 256u * in.ptr[i + 2]; n > 0 && out->len < BODY; n--)
            mf_buf_byte(out, in.ptr[i + 1]);
        i += 2;
    }
}

static void run_record(struct mf_slice record)
{
    struct mf_buf body = MF_BUF_INIT;

    if (record.len < 2)
        return;
    if (record.ptr[0] == 'w') {
        passed_ns += CLOCK_S << (record.ptr[1] % 13);
        settle(1000); /* libuv looks at timers once in a millisecond */
    } else {
        unfold(mf_slice(record.ptr + 2, record.len - 2), &body);
        run_request(op_of(record.ptr[0]), record.ptr[1], mf_buf_slice(&body));
        mf_buf_fini(&body);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    begin();
    for (int i = 0; i < RECORDS && size > 0; i++) {
        const uint8_t *end = i + 1 == RECORDS ? NULL : memchr(data, 0x1e, size);
        size_t n = end == NULL ? size : (size_t)(end - data);

        run_record(mf_slice(data, n));
        n += end != NULL;
        data += n;
        size -= n;
    }
    return 0;
}
