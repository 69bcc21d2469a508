/* part_publish.c: publishing into a stream, and a bucket's puts and gets; SET and GET of Redis. */
#include "matrix.h"

#include <string.h>

static bool stream_make(struct js_server *s, bool kv, bool markers)
{
    char config[512];

    if (s->kind->redis)
        return true;
    snprintf(config, sizeof config,
             "{\"name\":\"B\",\"subjects\":[\"b.>\"],\"storage\":\"file\",\"num_replicas\":1,"
             "\"allow_msg_ttl\":true%s%s}",
             kv ? ",\"max_msgs_per_subject\":1,\"allow_direct\":true,\"discard\":\"new\","
                  "\"allow_rollup_hdrs\":true,\"deny_delete\":true"
                : "",
             markers ? ",\"subject_delete_marker_ttl\":60000000000" : "");
    /* nats-server may still be busy with the files of the one that was just dropped. */
    for (int tries = 0; tries < 10; tries++) {
        if (js_server_ask(s, "$JS.API.STREAM.CREATE.B", config))
            return true;
        js_pause(0.2);
    }
    return false;
}

static bool stream_drop(struct js_server *s)
{
    char text[64];

    if (s->kind->redis)
        return js_redis_ask(&s->ask, "FLUSHALL", text, sizeof text);
    return js_server_ask(s, "$JS.API.STREAM.DELETE.B", "");
}

struct load_row {
    const char *row;
    unsigned conns, window, keys, ttl_s; /* keys 2: the plan's million */
};
static const struct load_row loads[] = {
    {"publish.one", 1, 1000, 1, 0},   {"publish.async", 4, 256, 1, 0},
    {"publish.ttl", 4, 256, 1, 3600}, {"publish.ttl_keys", 4, 256, 2, 3600},
    {"publish.sync1", 1, 1, 1, 0},    {"publish.sync16", 16, 1, 1, 0},
    {"publish.sync64", 64, 1, 1, 0},
};

bool part_publish(struct run *r)
{
    struct js_server s;
    bool ok = js_server_start(&s, &r->kind);

    if (!ok)
        return false;
    for (size_t i = 0; ok && i < sizeof loads / sizeof loads[0]; i++) {
        const struct load_row *l = &loads[i];
        bool sync = l->window == 1;
        struct js_job job = {.prefix = "b.",
                             .keys = l->keys > 1 ? r->sizes->keys : 1,
                             .ttl_s = l->ttl_s,
                             .conns = l->conns,
                             .window = l->window,
                             .count = sync ? UINT64_MAX : r->sizes->async,
                             .cap_s = sync ? r->sizes->sync_s : r->sizes->cap_s};
        /* Redis has no streams: its key is overwritten, as a stream of one message would. */
        ok = stream_make(&s, false, false) && measure_load(r, &s, l->row, &job) && stream_drop(&s);
    }
    js_server_stop(&s);
    return ok;
}

bool part_kv(struct run *r)
{
    unsigned keys = r->sizes->keys / 10;
    struct js_job put = {.prefix = "b.",
                         .keys = keys,
                         .conns = 4,
                         .window = 64,
                         .count = r->sizes->async,
                         .cap_s = r->sizes->cap_s};
    struct js_job fill = put, get = put, ttl = put;
    struct js_stats st;
    struct js_server s;
    bool ok = js_server_start(&s, &r->kind);

    if (!ok)
        return false;
    fill.count = keys;
    fill.cap_s = 0;
    fill.redis = r->kind.redis;
    get.ask = "$JS.API.DIRECT.GET.B.";
    get.redis_ask = "GET";
    ttl.ttl_s = 3600;
    ok = stream_make(&s, true, false) && measure_load(r, &s, "kv.put", &put);
    /* Gets are the same whatever puts cost: not repeated for the server that takes minutes to fill.
     */
    if (ok && r->setup != NATS_SYNCED)
        ok = js_load(s.proc.port, &fill, &st) && measure_load(r, &s, "kv.get", &get);
    ok = ok && stream_drop(&s) && stream_make(&s, true, true) &&
         measure_load(r, &s, "kv.put_ttl", &ttl);
    js_server_stop(&s);
    return ok;
}
