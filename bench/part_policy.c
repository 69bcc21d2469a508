/* part_policy.c: streams with and without a TTL policy, in short turns on one server, so that what
 * else happens on the machine meets both; and requests about the lives of keys, beside Redis. */
#include "matrix.h"

#include <string.h>

#define LIMITS "Limits: 1000/10/60,50/10/1\r\n"
/* The state of a token bucket, 200 bytes. */
#define BUCKET                                                                                     \
    "{\"entity\":\"user-4711\",\"resource\":\"gpt-4\",\"tokens\":[994,48],\"version\":12,"         \
    "\"updated\":\"2026-11-18T09:00:00Z\",\"limits\":[{\"capacity\":1000,\"refill_amount\":10,"    \
    "\"refill_period_seconds\":60}],\"region\":\"eu-1\"}"
#define RULE(text)   "\"metadata\":{\"mayfly.ttl.rules\":\"[" text "]\"},"
#define POLICY(keys) "\"metadata\":{\"mayfly.ttl.default\":" keys "},"
#define KV           "\"max_msgs_per_subject\":1,\"allow_direct\":true,"
#define HISTORY      "\"max_msgs_per_subject\":5,"

/* One of the streams that take turns.  Its name is V and a letter, its subjects are v<letter>.>
 * and c<letter>.>; a # in its configuration stands for the letter. */
struct variant {
    const char *row;
    const char *more;        /* of its configuration; NULL: sixteen rules, the last one matches */
    const char *head, *body; /* of what is published */
    unsigned share;          /* keys: one out of so many of the plan's; 0: a single one */
    unsigned window;         /* of four connections; 1: of a single one */
    bool keep;               /* not emptied between turns */
    bool get;                /* its keys are there before, and are read */
    bool linked;             /* each key has a record that it is linked to, which ends, too */
    bool dead;               /* as many keys as the plan has were there and are expired */
};
struct turns {
    struct run *r;
    struct js_server *s;
    const struct variant *v;
    unsigned n;
};

static void rules_write(char *dst, size_t cap)
{
    size_t at = (size_t)snprintf(dst, cap, "\"metadata\":{\"mayfly.ttl.rules\":\"[");

    for (unsigned i = 1; i < 16; i++)
        at += (size_t)snprintf(dst + at, cap - at,
                               "{\\\"subject\\\":\\\"v#.r%u.>\\\",\\\"ttl\\\":\\\"%uh\\\"},", i, i);
    snprintf(dst + at, cap - at, "{\\\"subject\\\":\\\"v#.k.>\\\",\\\"ttl\\\":\\\"24h\\\"}]\"},");
}

static bool variant_make(struct turns *t, unsigned i)
{
    char more[2000], config[2600], subject[64];

    if (t->v[i].more == NULL)
        rules_write(more, sizeof more);
    else
        snprintf(more, sizeof more, "%s", t->v[i].more);
    snprintf(config, sizeof config,
             "{\"name\":\"V#\",%s\"subjects\":[\"v#.>\",\"c#.>\"],\"storage\":\"file\","
             "\"num_replicas\":1,\"allow_msg_ttl\":true}",
             more);
    for (char *at = config; (at = strchr(at, '#')) != NULL;)
        *at = (char)('a' + i);
    snprintf(subject, sizeof subject, "$JS.API.STREAM.CREATE.V%c", 'a' + i);
    return js_server_ask(t->s, subject, config);
}

static unsigned variant_keys(const struct turns *t, unsigned i)
{
    unsigned share = t->v[i].share;

    return share > 0 ? t->r->sizes->keys / share : 1;
}

/* n keys of a variant, each once.  kind: v or c, and what follows the letter. */
static bool variant_load(struct turns *t, unsigned i, const char *kind, unsigned n, unsigned ttl_s)
{
    char prefix[16];
    struct js_job job = {
        .prefix = prefix, .keys = n, .ttl_s = ttl_s, .conns = 4, .window = 256, .count = n};
    struct js_stats st;

    snprintf(prefix, sizeof prefix, "%c%c.%s.", kind[0], 'a' + i, kind + 1);
    return js_load(t->s->proc.port, &job, &st) && st.errors == 0;
}

/* Until the stream has so many messages: the others have expired. */
static bool variant_settle(struct turns *t, unsigned i, uint64_t want)
{
    char name[8];
    uint64_t live = 0;
    double until_s = js_now_s() + 60;

    snprintf(name, sizeof name, "V%c", 'a' + i);
    while (js_server_live(t->s, name, &live) && live > want && js_now_s() < until_s)
        js_pause(0.01);
    return live == want;
}

static bool variant_prepare(struct turns *t, unsigned i)
{
    const struct variant *v = &t->v[i];
    unsigned keys = variant_keys(t, i);

    return variant_make(t, i) && (!v->get || variant_load(t, i, "vk", keys, 0)) &&
           (!v->linked || variant_load(t, i, "ck", keys, 0)) &&
           (!v->dead ||
            (variant_load(t, i, "vd", t->r->sizes->keys, 1) && variant_settle(t, i, keys)));
}

static bool variant_turn(struct turns *t, unsigned i)
{
    const struct variant *v = &t->v[i];
    char prefix[16], ask[64];
    struct js_job job = {.prefix = prefix,
                         .ask = v->get ? ask : NULL,
                         .head = v->head,
                         .body = v->body,
                         .keys = variant_keys(t, i),
                         .conns = v->window == 1 ? 1 : 4,
                         .window = v->window,
                         .count = UINT64_MAX,
                         .cap_s = t->r->sizes->turn_s};

    snprintf(prefix, sizeof prefix, "v%c.k.", 'a' + i);
    snprintf(ask, sizeof ask, "$JS.API.DIRECT.GET.V%c.", 'a' + i);
    return measure_load(t->r, t->s, v->row, &job);
}

static bool variant_empty(struct turns *t, unsigned i)
{
    char subject[64], body[64];

    if (t->v[i].keep || t->v[i].get)
        return true;
    snprintf(subject, sizeof subject, "$JS.API.STREAM.PURGE.V%c", 'a' + i);
    snprintf(body, sizeof body, "{\"filter\":\"v%c.>\"}", 'a' + i);
    return js_server_ask(t->s, subject, t->v[i].linked ? body : "");
}

/* Each turn goes through all of them, every other one backwards: the k-th figure of a row and the
 * k-th of the row it is compared with are neighbours in time. */
static bool take_turns(struct run *r, const struct variant *v, unsigned n)
{
    struct js_server s;
    struct turns t = {r, &s, v, n};
    bool ok = js_server_start(&s, &r->kind);

    if (!ok)
        return false;
    for (unsigned i = 0; ok && i < n; i++)
        ok = variant_prepare(&t, i);
    for (unsigned turn = 0; ok && turn < r->sizes->turns; turn++) {
        for (unsigned i = 0; ok && i < n; i++)
            ok = variant_turn(&t, turn % 2 == 0 ? i : n - 1 - i);
        for (unsigned i = 0; ok && i < n; i++)
            ok = variant_empty(&t, i);
        js_pause(r->sizes->settle_s / 10); /* the memory of what was purged is given back */
    }
    js_server_stop(&s);
    return ok;
}

bool part_policy(struct run *r)
{
    static const struct variant v[] = {
        {.row = "ttl.plain", .more = "", .window = 256},
        {.row = "ttl.default", .more = POLICY("\"24h\""), .window = 256},
        {.row = "ttl.rules", .more = NULL, .window = 256},
        {.row = "ttl.plain_head", .more = "", .head = LIMITS, .window = 256},
        {.row = "ttl.fill_head",
         .more = RULE("{\\\"ttl\\\":\\\"fill(header(Limits))\\\"}"),
         .head = LIMITS,
         .window = 256},
        {.row = "ttl.plain_json", .more = "", .body = BUCKET, .window = 256},
        {.row = "ttl.fill_json",
         .more = RULE("{\\\"ttl\\\":\\\"fill(json(/limits))\\\"}"),
         .body = BUCKET,
         .window = 256},
        {.row = "ttl.plain_keys", .more = "", .share = 100, .window = 256},
        {.row = "ttl.link",
         .more = RULE("{\\\"subject\\\":\\\"v#.k.*\\\",\\\"ttl\\\":\\\"24h\\\","
                      "\\\"permanent_if\\\":\\\"c#.k.{{wildcard(1)}}\\\"},"
                      "{\\\"subject\\\":\\\"c#.>\\\",\\\"ttl\\\":\\\"48h\\\"}"),
         .share = 100,
         .window = 256,
         .linked = true},
    };

    return take_turns(r, v, sizeof v / sizeof v[0]);
}

bool part_scope(struct run *r)
{
    static const struct variant v[] = {
        {.row = "ttl.kv_message",
         .more = HISTORY POLICY("\"24h\",\"mayfly.ttl.scope\":\"message\""),
         .share = 100,
         .window = 64,
         .keep = true},
        {.row = "ttl.kv_subject",
         .more = HISTORY POLICY("\"24h\",\"mayfly.ttl.scope\":\"subject\""),
         .share = 100,
         .window = 64,
         .keep = true},
    };

    return take_turns(r, v, sizeof v / sizeof v[0]);
}

/* A read renews a life of an hour after 56 seconds, one of 64 seconds after a second. */
bool part_slide(struct run *r)
{
    static const struct variant v[] = {
        {.row = "ttl.get", .more = KV POLICY("\"1h\""), .share = 10, .window = 64, .get = true},
        {.row = "ttl.get_slide",
         .more = KV POLICY("\"1h\",\"mayfly.ttl.slide\":\"read\""),
         .share = 10,
         .window = 64,
         .get = true},
        {.row = "ttl.get_renew",
         .more = KV POLICY("\"64s\",\"mayfly.ttl.slide\":\"read\""),
         .share = 10,
         .window = 64,
         .get = true},
    };

    return take_turns(r, v, sizeof v / sizeof v[0]);
}

bool part_after(struct run *r)
{
    static const struct variant v[] = {
        {.row = "ttl.get_alone", .more = KV, .share = 100, .window = 1, .get = true},
        {.row = "ttl.get_after", .more = KV, .share = 100, .window = 1, .get = true, .dead = true},
    };

    return take_turns(r, v, sizeof v / sizeof v[0]);
}

/* --- requests about one key ------------------------------------------------------------------- */

bool part_touch(struct run *r)
{
    struct js_job fill = {.prefix = "t.",
                          .redis = r->kind.redis,
                          .keys = r->sizes->keys / 10,
                          .ttl_s = r->kind.redis ? 3600 : 0,
                          .conns = 4,
                          .window = 64,
                          .count = r->sizes->keys / 10};
    struct js_job touch = fill, get, left;
    struct js_stats st;
    struct js_server s;
    bool ok = js_server_start(&s, &r->kind);

    if (!ok)
        return false;
    touch.ttl_s = 0;
    touch.count = r->sizes->async;
    touch.cap_s = r->sizes->cap_s;
    get = left = touch;
    touch.ask = "$MAYFLY.TTL.TOUCH.T.";
    touch.redis_ask = "EXPIRE";
    touch.redis_body = "3600";
    get.ask = touch.ask;
    get.body = "{\"get\":true}";
    get.redis_ask = "GETEX";
    get.redis_body = "EX 3600";
    left.ask = "$MAYFLY.TTL.GET.T.";
    left.redis_ask = "PTTL";
    ok = (r->kind.redis ||
          js_server_ask(&s, "$JS.API.STREAM.CREATE.T",
                        "{\"name\":\"T\",\"subjects\":[\"t.>\"],\"storage\":\"file\"," KV POLICY(
                            "\"1h\"") "\"num_replicas\":1}")) &&
         js_load(s.proc.port, &fill, &st) && st.errors == 0 &&
         measure_load(r, &s, "ttl.touch", &touch) && measure_load(r, &s, "ttl.touch_get", &get) &&
         measure_load(r, &s, "ttl.left", &left);
    js_server_stop(&s);
    return ok;
}
