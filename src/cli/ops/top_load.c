/* top_load.c: the figures of mayfly top, from /varz, /jsz, /ttlz and /connz (top_impl.h). */
#include "cli/ops/top_impl.h"

#include "base/clock.h"

#include "cli/request.h"

#include <stdio.h>

#define CONNECTIONS "/connz?auth=true&limit=1000&sort=last"
#define STREAMS     "/jsz?accounts=true&streams=true&limit=1000"
#define LIFETIMES   "/ttlz?sum=true&limit=1000"

/* The pages of one round. */
struct round {
    json_t *varz, *jsz, *ttlz, *connz; /* ttlz NULL: the server has no such page */
    const json_t *before;              /* NULL: no rates */
    double seconds;
};

/* --- rates ------------------------------------------------------------------------------------ */

#define EXACT 9007199254740992.0 /* 2^53: whole numbers up to it are exact as doubles */

/* A page with a number beyond 63 bits was read as reals: whole ones become integers again. */
static void copy_member(json_t *to, const json_t *from, const char *as, const char *key)
{
    json_t *v = json_object_get(from, key);
    double n = json_real_value(v);

    if (json_is_real(v) && n >= 0 && n <= EXACT && n == (double)(json_int_t)n)
        (void)json_object_set_new(to, as, json_integer((json_int_t)n));
    else if (v != NULL)
        (void)json_object_set(to, as, v);
}

/* A row that was not there before began at 0; a counter that fell began anew. */
static void put_rate(const struct round *r, json_t *row, const json_t *old, const char *key)
{
    double now = pages_number(row, key), was = pages_number(old, key);
    char name[64];

    if (r->before == NULL || r->seconds <= 0 || json_object_get(row, key) == NULL)
        return;
    (void)snprintf(name, sizeof name, "%s_per_second", key);
    (void)json_object_set_new(row, name, json_real((now < was ? now : now - was) / r->seconds));
}

/* The rows of a list by their names, for the comparison with the next round. */
static void name_row(char dst[600], const json_t *row)
{
    if (json_object_get(row, "cid") != NULL)
        (void)snprintf(dst, 600, "%.0f", pages_number(row, "cid"));
    else
        (void)snprintf(dst, 600, "%s/%s", request_text(row, "account"), request_text(row, "name"));
}

static json_t *index_rows(const json_t *rows)
{
    json_t *index = json_object(), *row;
    char name[600];
    size_t i;

    json_array_foreach(rows, i, row)
    {
        name_row(name, row);
        (void)json_object_set(index, name, row);
    }
    return index;
}

static void put_rates(const struct round *r, json_t *rows, const char *list,
                      const char *const *keys)
{
    json_t *old = index_rows(json_object_get(r->before, list)), *row;
    char name[600];
    size_t i;

    json_array_foreach(rows, i, row)
    {
        name_row(name, row);
        for (size_t k = 0; keys[k] != NULL; k++)
            put_rate(r, row, json_object_get(old, name), keys[k]);
    }
    json_decref(old);
}

/* --- the parts -------------------------------------------------------------------------------- */

static json_t *make_server(const struct round *r)
{
    static const char *const copied[] = {"version",       "uptime",         "start",
                                         "cpu",           "cores",          "mem",
                                         "in_msgs",       "in_bytes",       "out_msgs",
                                         "out_bytes",     "mayfly",         "connections",
                                         "subscriptions", "slow_consumers", "total_connections"};
    static const char *const rates[] = {"in_msgs", "in_bytes", "out_msgs", "out_bytes",
                                        "total_connections"};
    json_t *server = json_object();

    copy_member(server, r->varz, "name", "server_name");
    copy_member(server, r->varz, "id", "server_id");
    for (size_t i = 0; i < MF_COUNT(copied); i++)
        copy_member(server, r->varz, copied[i], copied[i]);
    for (size_t i = 0; i < MF_COUNT(rates); i++)
        put_rate(r, server, json_object_get(r->before, "server"), rates[i]);
    return server;
}

static json_t *make_jetstream(const struct round *r)
{
    static const char *const copied[] = {"streams", "consumers", "messages", "bytes"};
    const json_t *sum = json_object_get(r->ttlz, "sum");
    json_t *js = json_object();

    for (size_t i = 0; i < MF_COUNT(copied); i++)
        copy_member(js, r->jsz, copied[i], copied[i]);
    if (sum != NULL) {
        copy_member(js, json_object_get(sum, "totals"), "expired", "expired");
        copy_member(js, sum, "overdue", "overdue");
        copy_member(js, sum, "lateness_ms", "lateness_ms");
        put_rate(r, js, json_object_get(r->before, "jetstream"), "expired");
    }
    return js;
}

/* A stream of /jsz with the figures of the same stream at /ttlz. */
static json_t *make_stream(const json_t *account, const json_t *stream, const json_t *lifetimes)
{
    const json_t *state = json_object_get(stream, "state"), *stats;
    json_t *row = json_object();
    char name[600];

    copy_member(row, account, "account", "name");
    copy_member(row, stream, "name", "name");
    copy_member(row, state, "messages", "messages");
    copy_member(row, state, "bytes", "bytes");
    copy_member(row, state, "consumers", "consumer_count");
    copy_member(row, state, "last_seq", "last_seq");
    name_row(name, row);
    stats = json_object_get(json_object_get(lifetimes, name), "stats");
    copy_member(row, stats, "with_ttl", "items_with_ttl");
    copy_member(row, stats, "overdue", "overdue");
    copy_member(row, json_object_get(stats, "totals"), "expired", "expired");
    return row;
}

static json_t *make_streams(const struct round *r)
{
    static const char *const rates[] = {"last_seq", "expired", NULL};
    json_t *rows = json_array(), *lifetimes, *account, *stream;
    size_t i, k;

    json_array_foreach(json_object_get(r->ttlz, "streams"), i, stream) /* its "stream" is a name */
        copy_member(stream, stream, "name", "stream");
    lifetimes = index_rows(json_object_get(r->ttlz, "streams"));
    json_array_foreach(json_object_get(r->jsz, "account_details"), i, account)
        json_array_foreach(json_object_get(account, "stream_detail"), k, stream)(void)
            json_array_append_new(rows, make_stream(account, stream, lifetimes));
    put_rates(r, rows, "streams", rates);
    json_decref(lifetimes);
    return rows;
}

static json_t *make_connections(const struct round *r)
{
    static const char *const copied[] = {"cid",       "name",    "account",        "ip",
                                         "port",      "in_msgs", "in_bytes",       "out_msgs",
                                         "out_bytes", "uptime",  "pending_bytes",  "subscriptions",
                                         "lang",      "version", "authorized_user"};
    static const char *const rates[] = {"in_msgs", "in_bytes", "out_msgs", "out_bytes", NULL};
    json_t *rows = json_array(), *one;
    size_t i;

    json_array_foreach(json_object_get(r->connz, "connections"), i, one)
    {
        json_t *row = json_object();

        for (size_t k = 0; k < MF_COUNT(copied); k++)
            copy_member(row, one, copied[k], copied[k]);
        (void)json_array_append_new(rows, row);
    }
    put_rates(r, rows, "connections", rates);
    return rows;
}

/* --- a round ---------------------------------------------------------------------------------- */

/* A server that started anew counts from 0, under another id or with another start. */
static bool is_same_server(const struct round *r)
{
    const json_t *old = json_object_get(r->before, "server");

    return json_equal(json_object_get(old, "id"), json_object_get(r->varz, "server_id")) &&
           json_equal(json_object_get(old, "start"), json_object_get(r->varz, "start"));
}

static json_t *make_document(struct round *r, const char *url)
{
    char time[CLOCK_TEXT];
    json_t *doc = json_pack("{s:s, s:s}", "time", clock_rfc3339(time, clock_wall_ns()), "url", url);

    if (r->before != NULL && !is_same_server(r))
        r->before = NULL;
    if (r->before != NULL)
        (void)json_object_set_new(doc, "seconds", json_real(r->seconds));
    (void)json_object_set_new(doc, "server", make_server(r));
    if (!json_is_true(json_object_get(r->jsz, "disabled")))
        (void)json_object_set_new(doc, "jetstream", make_jetstream(r));
    (void)json_object_set_new(doc, "streams", make_streams(r));
    (void)json_object_set_new(doc, "connections", make_connections(r));
    return doc;
}

int top_load(const struct pages *p, const json_t *before, double seconds, json_t **out,
             struct mf_error *e)
{
    struct round r = {.before = before, .seconds = seconds};
    int rc = pages_try(p, false, "/varz", &r.varz, e);

    *out = NULL;
    if (rc == 0)
        rc = pages_try(p, false, STREAMS, &r.jsz, e);
    if (rc == 0)
        rc = pages_try(p, true, LIFETIMES, &r.ttlz, e);
    if (rc == 0)
        rc = pages_try(p, false, CONNECTIONS, &r.connz, e);
    if (rc == 0 && (*out = make_document(&r, p->text)) == NULL)
        rc = mf_fail(e, MF_NOMEM, "top");
    json_decref(r.varz);
    json_decref(r.jsz);
    json_decref(r.ttlz);
    json_decref(r.connz);
    return rc;
}

/* --- order ------------------------------------------------------------------------------------ */

static double activity_of(const json_t *row)
{
    return pages_number(row, "last_seq_per_second") + pages_number(row, "expired_per_second") +
           pages_number(row, "in_msgs_per_second") + pages_number(row, "out_msgs_per_second");
}

static int compare_rows(const void *a, const void *b)
{
    const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
    double by = activity_of(y) - activity_of(x);
    char name[2][600];

    if (by == 0)
        by = pages_number(y, "messages") - pages_number(x, "messages");
    if (by == 0)
        by = pages_number(x, "cid") - pages_number(y, "cid");
    if (by != 0)
        return by > 0 ? 1 : -1;
    name_row(name[0], x);
    name_row(name[1], y);
    return strcmp(name[0], name[1]);
}

void top_sort(json_t *doc)
{
    pages_sort(json_object_get(doc, "streams"), compare_rows);
    pages_sort(json_object_get(doc, "connections"), compare_rows);
}
