/* ttl_change.c: SET, TOUCH and PERSIST: deadlines that people and programs set themselves.
 *
 * Happy path: change_begin() reads the request; change_target() finds the message (a later one of
 * the subject that is on its way to the disk is waited for); TOUCH reads it, because its own header
 * decides; change_apply() hands one batch to the stream; finish_change() answers when that is on
 * disk. With a filter the messages of a page are collected in slices first, then changed as one
 * batch. While a request waits its stream may be deleted: it is looked up again before it is used.
 */
#include "api/ttl_api_impl.h"
#include "jetstream/direct.h"

#include "base/clock.h"
#include "proto/proto.h"

#include <stdlib.h>

#define PAGE_DEFAULT 100
#define PAGE_MAX     1000

enum condition { IF_ANY, IF_SET, IF_UNSET, IF_LONGER, IF_SHORTER };

struct change_request {
    struct ttl_target target;
    char *ttl, *cond;
    int64_t expires_ns;
    bool has_expires, get;
    uint64_t expect_seq;
    bool has_expect;
    int64_t limit;
    bool has_limit;
    uint64_t from_seq;
};

struct change {
    struct api_call *call;
    enum stream_life_cause why;
    struct change_request r;
    enum condition cond;
    int64_t ttl_ns; /* SET: from now, after the bounds; 0: expires_ns is meant */
    bool clamped;
    int64_t created_ns; /* of its stream */
    struct store_wait barrier;
    struct stream_cursor *cursor; /* NULL: one message */
    struct stream_deadline_change *at;
    size_t n, cap, skipped;
    uint64_t last_seq;       /* the last one looked at */
    bool more;               /* the page is full, and there are more */
    struct mf_slice subject; /* one message: its subject, in the call's memory */
};

static void change_fini(void *state)
{
    struct change *c = state;

    stream_cursor_free(c->cursor);
    free(c->at);
}

#define FIELD(json, sort, member)                                                                  \
    {                                                                                              \
        .name = (json), .kind = (sort), .offset = offsetof(struct change_request, member)          \
    }
#define FIELD_SET(json, sort, member, flag)                                                        \
    {                                                                                              \
        .name = (json), .kind = (sort), .offset = offsetof(struct change_request, member),         \
        .set_offset = offsetof(struct change_request, flag)                                        \
    }
#define COMMON                                                                                     \
    FIELD("subject", JSON_STR, target.subject),                                                    \
        FIELD_SET("seq", JSON_U64, target.seq, target.has_seq),                                    \
        FIELD("filter", JSON_STR, target.filter),                                                  \
        FIELD_SET("expect_seq", JSON_U64, expect_seq, has_expect),                                 \
        FIELD_SET("limit", JSON_INT, limit, has_limit), FIELD("from_seq", JSON_U64, from_seq)
static const struct json_field persist_fields[] = {COMMON};
static const struct json_field touch_fields[] = {COMMON, FIELD("get", JSON_BOOL, get)};
static const struct json_field set_fields[] = {
    COMMON, FIELD("ttl", JSON_STR, ttl), FIELD("if", JSON_STR, cond),
    FIELD_SET("expires", JSON_TIME, expires_ns, has_expires)};
static const struct json_type types[] = {
    [STREAM_LIFE_SET] = {"TTLSetRequest", sizeof(struct change_request), set_fields,
                         MF_COUNT(set_fields)},
    [STREAM_LIFE_TOUCH] = {"TTLTouchRequest", sizeof(struct change_request), touch_fields,
                           MF_COUNT(touch_fields)},
    [STREAM_LIFE_PERSIST] = {"TTLPersistRequest", sizeof(struct change_request), persist_fields,
                             MF_COUNT(persist_fields)},
};

/* --- the answer ------------------------------------------------------------------------------- */

static struct stream *stream_of(struct change *c)
{
    struct api_call *call = c->call;
    struct stream *s =
        call->ja->closing ? NULL : catalog_find(call->ja->catalog, api_call_token(call, 1));

    return s != NULL && stream_created_ns(s) == c->created_ns ? s : NULL;
}

static void write_page(struct change *c, struct jsonw *w)
{
    if (!c->more)
        return;
    jsonw_bool(w, "more", true);
    jsonw_u64(w, "from_seq", c->last_seq + 1);
}

static void write_one(struct change *c, struct stream *s, struct jsonw *w)
{
    struct stream_lifetime life = {0};

    jsonw_slice(w, "subject", c->subject);
    jsonw_u64(w, "seq", c->last_seq);
    if (c->n > 0) /* as it is from now on, also if it ends this very moment */
        life = (struct stream_lifetime){.deadline_ns = c->at[0].deadline_ns,
                                        .infinite = c->at[0].infinite,
                                        .pinned = c->at[0].pinned};
    else
        (void)!stream_lifetime(s, c->last_seq, &life);
    ttl_json_life(w, &life, jetstream_now_ns(c->call->aa->api->js));
    jsonw_bool(w, "clamped", c->clamped || (c->n > 0 && c->at[0].cut));
}

static void answer_request(struct change *c, struct stream *s, uint64_t count)
{
    struct api_call *call = c->call;
    struct jsonw *w = api_reply_begin(call);

    jsonw_str(w, "stream", stream_name(s));
    jsonw_u64(w, "count", count);
    jsonw_u64(w, "skipped", c->skipped);
    if (c->r.target.filter != NULL)
        write_page(c, w);
    else
        write_one(c, s, w);
    api_reply_end(call);
}

/* TOUCH with get: the message itself, as a direct get would send it.  The usual answer is for the
 * audit alone. */
static void answer_message(struct change *c, struct stream *s, uint64_t count)
{
    direct_get_one(c->call->ja, s, c->call->reply, c->last_seq, DIRECT_LIFE);
    c->call->reply = MF_SLICE_NONE;
    answer_request(c, s, count);
}

static void finish_change(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    struct api_call *call = mf_container(op, struct api_call, sop);
    struct change *c = call->state;
    struct stream *s = stream_of(c);

    if (e != NULL) {
        call->soft = true;
        api_reply_error(call, e);
        return;
    }
    if (s == NULL) {
        ttl_refuse(call, JS_STREAM_NOT_FOUND);
        return;
    }
    if (c->r.target.filter == NULL && count == 0 && c->n > 0) { /* it ended before its turn */
        ttl_refuse(call, JS_NO_MESSAGE_FOUND);
        return;
    }
    c->skipped += c->n - count;
    if (c->r.get)
        answer_message(c, s, count);
    else
        answer_request(c, s, count);
}

/* --- one message ------------------------------------------------------------------------------ */

static bool condition_met(const struct change *c, const struct stream_lifetime *life,
                          int64_t deadline)
{
    switch (c->cond) {
    case IF_SET:
        return life->deadline_ns != 0;
    case IF_UNSET:
        return life->deadline_ns == 0;
    case IF_LONGER: /* no deadline is the longest */
        return life->deadline_ns != 0 && deadline > life->deadline_ns;
    case IF_SHORTER:
        return life->deadline_ns == 0 || deadline < life->deadline_ns;
    default:
        return true;
    }
}

/* The end that SET was given as a moment.  One that is past is now: the message ends at once, and
 * not late.  A deadline is neither 0, which says that there is none, nor INT64_MAX, the end of
 * every scan. */
static int64_t moment_of(const struct change *c, int64_t now_ns)
{
    int64_t at = c->r.expires_ns < INT64_MAX ? c->r.expires_ns : INT64_MAX - 1;

    return at > now_ns ? at : now_ns;
}

/* A page is collected in slices: a change acknowledged after a message was visited stays. */
static void drop_outdated(struct change *c, struct stream *s)
{
    struct stream_lifetime life;
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++) {
        bool stays = stream_lifetime(s, c->at[i].seq, &life) &&
                     (c->why == STREAM_LIFE_TOUCH ? life.deadline_ns == 0
                                                  : !condition_met(c, &life, c->at[i].deadline_ns));
        if (!stays)
            c->at[n++] = c->at[i];
    }
    c->skipped += c->n - n;
    c->n = n;
}

static void change_apply(struct change *c, struct stream *s)
{
    if (c->cursor != NULL)
        drop_outdated(c, s);
    c->call->sop.done = finish_change;
    stream_change_deadlines(s, c->why, c->at, c->n, &c->call->sop);
}

/* Of a message whose lifetime is known.  False: it stays as it is. */
static bool wanted_life(struct change *c, struct stream *s, const struct stream_lifetime *life,
                        const struct stream_msg *m, struct stream_deadline_change *to)
{
    int64_t now = jetstream_now_ns(c->call->aa->api->js);
    struct policy_decision d;

    to->pinned = c->why != STREAM_LIFE_TOUCH;
    if (c->why == STREAM_LIFE_PERSIST) {
        to->infinite = true;
        return true;
    }
    if (c->why == STREAM_LIFE_SET) {
        to->deadline_ns = c->ttl_ns != 0 ? now + c->ttl_ns : moment_of(c, now);
        return condition_met(c, life, to->deadline_ns);
    }
    if (life->deadline_ns == 0 || !stream_ttl_decide(s, m, now, &d))
        return false; /* nothing to renew, or nothing to renew it by */
    to->infinite = d.ttl == TTL_NEVER;
    to->deadline_ns = stream_ttl_deadline(s, now, d.ttl);
    return to->infinite || to->deadline_ns != 0;
}

/* MF_NOMEM. */
static int add_change(struct change *c, struct stream *s, uint64_t seq, const struct stream_msg *m)
{
    struct stream_deadline_change to = {.seq = seq};
    struct stream_lifetime life;

    c->last_seq = seq;
    if (!stream_lifetime(s, seq, &life)) /* it ended a moment ago */
        return c->cursor != NULL ? 0 : MF_NOTFOUND;
    if (!wanted_life(c, s, &life, m, &to)) {
        c->skipped++;
        return 0;
    }
    if (c->n == c->cap) {
        size_t cap = c->cap == 0 ? 1 : c->cap * 2;
        struct stream_deadline_change *at = realloc(c->at, cap * sizeof *at);
        if (at == NULL)
            return MF_NOMEM;
        c->at = at;
        c->cap = cap;
    }
    c->at[c->n++] = to;
    return 0;
}

/* --- a message that has to be read ------------------------------------------------------------ */

static bool collect_slice(struct api_call *call);

/* The message was looked at: on to the next one, or to the batch. */
static void go_on(struct change *c, struct stream *s, int rc)
{
    if (rc == MF_NOTFOUND)
        ttl_refuse(c->call, JS_NO_MESSAGE_FOUND);
    else if (rc != 0)
        api_reply_no_memory(c->call);
    else if (c->cursor != NULL)
        api_call_slices(c->call, collect_slice);
    else
        change_apply(c, s);
}

static void finish_load(struct stream_load *l, int status)
{
    struct change *c = mf_container(l, struct api_call, load)->state;
    struct stream *s = stream_of(c);

    if (s == NULL)
        ttl_refuse(c->call, JS_STREAM_NOT_FOUND);
    else if (status == 0)
        go_on(c, s, add_change(c, s, l->msg.seq, &l->msg));
    else if (c->cursor != NULL && status != MF_NOMEM)
        go_on(c, s, 0); /* removed, or damaged */
    else
        ttl_refuse(c->call, status == MF_NOMEM ? JS_INSUFFICIENT_RESOURCES : JS_NO_MESSAGE_FOUND);
}

/* TOUCH needs the message, the others its place in the index.  0: done.  MF_AGAIN: finish_load()
 * continues.  MF_NOTFOUND, MF_NOMEM. */
static int look_at(struct change *c, struct stream *s, uint64_t seq)
{
    struct stream_msg m;
    int rc;

    if (c->why != STREAM_LIFE_TOUCH)
        return add_change(c, s, seq, NULL);
    rc = stream_get(s, seq, &m);
    if (rc == 0) {
        rc = add_change(c, s, seq, &m);
        stream_msg_end(&m);
        return rc;
    }
    if (rc != MF_AGAIN)
        return rc == MF_NOMEM ? rc : MF_NOTFOUND;
    api_call_dequeue(c->call); /* it waits for the disk */
    c->call->load = (struct stream_load){.seq = seq, .done = finish_load};
    rc = stream_load(s, &c->call->load);
    if (rc != 0 && c->cursor != NULL)
        api_call_slices(c->call, collect_slice); /* no wait: the page continues */
    return rc == 0 ? MF_AGAIN : rc == MF_NOMEM ? rc : MF_NOTFOUND;
}

/* --- many ---------------------------------------------------------------------------------------
 */

/* One slice: messages of the page are looked at. */
static bool collect_slice(struct api_call *call)
{
    struct change *c = call->state;
    struct stream *s = stream_of(c);
    bool more = true;

    if (s == NULL) {
        ttl_refuse(call, JS_STREAM_NOT_FOUND);
        return false;
    }
    do {
        uint64_t seq = stream_cursor_next(c->cursor, &more);
        if (seq == 0 && more)
            continue;
        if (seq != 0 && c->n + c->skipped >= (size_t)c->r.limit)
            c->more = true;
        if (seq == 0 || c->more) {
            api_call_dequeue(call);
            change_apply(c, s);
            return false;
        }
        int rc = look_at(c, s, seq);
        if (rc == MF_AGAIN)
            return false;
        if (rc == MF_NOMEM) {
            api_reply_no_memory(call);
            return false;
        }
    } while (!js_slice_spent(call->ja, 1));
    return true;
}

static void change_many(struct change *c, struct stream *s)
{
    if (stream_cursor_new(&c->cursor, s, mf_str(c->r.target.filter), true, c->r.from_seq) != 0)
        api_reply_no_memory(c->call);
    else
        api_call_slices(c->call, collect_slice);
}

/* --- one ----------------------------------------------------------------------------------------
 */

static bool check_expected(struct change *c, uint64_t seq)
{
    struct js_error e;
    char text[24];

    if (!c->r.has_expect || seq == c->r.expect_seq)
        return true;
    text[proto_put_u64((uint8_t *)text, seq)] = '\0';
    js_error_set(&e, JS_STREAM_WRONG_LAST_SEQUENCE, text);
    api_reply_error(c->call, &e);
    return false;
}

static void change_one(struct change *c, struct stream *s)
{
    const struct ttl_target *t = &c->r.target;
    uint64_t seq = t->has_seq ? t->seq : stream_last_of(s, mf_str(t->subject));
    struct stream_lifetime life;
    int rc;

    if (!stream_lifetime(s, seq, &life)) {
        if (!c->r.has_expect || c->r.expect_seq == 0 || check_expected(c, 0))
            ttl_refuse(c->call, JS_NO_MESSAGE_FOUND);
        return;
    }
    if (!check_expected(c, seq))
        return;
    char *subject = arena_dup(&c->call->mem, stream_subject_at(s, seq));
    c->subject = mf_str(subject);
    rc = subject == NULL ? MF_NOMEM : look_at(c, s, seq);
    if (rc == 0)
        change_apply(c, s);
    else if (rc == MF_NOTFOUND)
        ttl_refuse(c->call, JS_NO_MESSAGE_FOUND);
    else if (rc == MF_NOMEM)
        api_reply_no_memory(c->call);
}

static void barrier_passed(struct store_wait *w, int status)
{
    struct change *c = mf_container(w, struct change, barrier);
    struct stream *s = stream_of(c);

    if (s == NULL)
        ttl_refuse(c->call, JS_STREAM_NOT_FOUND);
    else if (status != 0)
        ttl_refuse(c->call, JS_INSUFFICIENT_RESOURCES);
    else
        change_one(c, s);
}

static void change_target(struct change *c, struct stream *s)
{
    const struct ttl_target *t = &c->r.target;

    c->created_ns = stream_created_ns(s);
    if (t->filter != NULL) {
        change_many(c, s);
        return;
    }
    c->barrier.done = barrier_passed;
    if (t->has_seq || !stream_subject_pending(s, mf_str(t->subject)))
        change_one(c, s);
    else if (stream_barrier(s, &c->barrier) != 0)
        ttl_refuse(c->call, JS_INSUFFICIENT_RESOURCES);
}

/* --- the request --------------------------------------------------------------------------------
 */

static void refuse_ttl(struct api_call *call, const char *why)
{
    struct js_error e;

    js_error_set_text(&e, JS_MESSAGE_TTL_INVALID, "invalid per-message TTL: %s", why);
    api_reply_error(call, &e);
}

static bool read_condition(struct change *c)
{
    static const char *const words[] = {"", "set", "unset", "longer", "shorter"};

    if (c->r.cond == NULL)
        return true;
    for (size_t i = 0; i < MF_COUNT(words); i++)
        if (strcmp(c->r.cond, words[i]) == 0) {
            c->cond = (enum condition)i;
            return true;
        }
    return false;
}

/* NULL: it is as it must be. */
static const char *find_mistake(struct change *c)
{
    const struct change_request *r = &c->r;
    bool filter = r->target.filter != NULL;

    if (!read_condition(c))
        return "if must be set, unset, longer or shorter";
    if (r->has_expect && r->target.subject == NULL)
        return "expect_seq goes with subject alone";
    if (filter && r->get)
        return "get goes with subject or seq";
    if (!filter && (r->has_limit || r->from_seq != 0))
        return "limit and from_seq go with filter alone";
    if (r->limit < 1 || r->limit > PAGE_MAX)
        return "limit must be 1 to 1000";
    if (c->why == STREAM_LIFE_SET && (r->ttl != NULL) == r->has_expires)
        return "give exactly one of ttl, expires";
    return NULL;
}

static bool is_enforced(struct stream *s)
{
    const struct policy *p = stream_policy(s);

    return p != NULL && policy_view(p)->active && policy_view(p)->keys.enforce == POLICY_ENFORCE_ON;
}

/* The bounds of the policy hold for SET, too.  False: answered. */
static bool bound_ttl(struct change *c, struct stream *s)
{
    int64_t now = jetstream_now_ns(c->call->aa->api->js);
    int64_t ttl = c->r.ttl != NULL ? 0 : moment_of(c, now) - now;
    struct policy_decision d = {.verdict = POLICY_OK};
    char why[POLICY_REFUSAL];

    if (c->r.ttl != NULL && policy_parse_duration(mf_str(c->r.ttl), &ttl) != 0) {
        refuse_ttl(c->call, "not a duration of 1s to 36500d");
        return false;
    }
    if (is_enforced(s) && ttl > 0)
        policy_bound(stream_policy(s), ttl, &d);
    if (d.verdict == POLICY_REJECTED) {
        refuse_ttl(c->call, policy_refusal(why, &d));
        return false;
    }
    c->clamped = d.verdict == POLICY_CLAMPED;
    if (c->clamped)
        ttl = d.ttl;
    if (c->clamped || c->r.ttl != NULL)
        c->ttl_ns = ttl;
    return true;
}

/* PERSIST is refused only if the policy denies `never` to everybody. */
static bool may_persist(struct change *c, struct stream *s)
{
    struct policy_decision d = {.verdict = POLICY_OK};
    char why[POLICY_REFUSAL];

    if (is_enforced(s))
        policy_bound(stream_policy(s), TTL_NEVER, &d);
    if (d.verdict != POLICY_REJECTED)
        return true;
    refuse_ttl(c->call, policy_refusal(why, &d));
    return false;
}

static void change_begin(struct api_call *call, enum stream_life_cause why)
{
    struct change *c = calloc(1, sizeof *c);
    const char *text;
    struct stream *s;

    api_call_set_state(call, c, change_fini);
    if (c == NULL) {
        api_reply_no_memory(call);
        return;
    }
    *c = (struct change){.call = call, .why = why, .r = {.limit = PAGE_DEFAULT}};
    if (!ttl_read(call, &types[why], &c->r) || !ttl_target_check(call, &c->r.target, true))
        return;
    if ((text = find_mistake(c)) != NULL) {
        ttl_refuse_request(call, text);
        return;
    }
    if ((s = api_call_stream(call, 1)) == NULL)
        return;
    if (stream_config(s)->mirror != NULL)
        ttl_refuse_own(call, TTL_MIRROR, "a mirror follows its origin");
    else if (stream_config(s)->sealed)
        ttl_refuse(call, JS_STREAM_SEALED);
    else if ((why != STREAM_LIFE_SET || bound_ttl(c, s)) &&
             (why != STREAM_LIFE_PERSIST || may_persist(c, s)))
        change_target(c, s);
}

void ttl_set_handle(struct api_call *call)
{
    change_begin(call, STREAM_LIFE_SET);
}

void ttl_touch_handle(struct api_call *call)
{
    change_begin(call, STREAM_LIFE_TOUCH);
}

void ttl_persist_handle(struct api_call *call)
{
    change_begin(call, STREAM_LIFE_PERSIST);
}
