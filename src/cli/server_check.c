/* server_check.c: see server_check.h. */
#include "cli/server_check.h"

#include "codec/jsonw.h"

#include "cli/connect.h"
#include "cli/human.h"
#include "cli/ops/pages.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

static json_t *parse_object(struct mf_slice text)
{
    json_t *root = json_loadb((const char *)text.ptr, text.len, JSON_REJECT_DUPLICATES, NULL);

    if (root != NULL && json_is_object(root))
        return root;
    json_decref(root);
    return NULL;
}

int server_report_make(struct server_report *out, int health_status, struct mf_slice health,
                       struct mf_slice varz, struct mf_error *e)
{
    json_t *h = parse_object(health), *v = parse_object(varz);
    int rc = 0;

    if (h == NULL || json_string_value(json_object_get(h, "status")) == NULL)
        rc = mf_fail(e, MF_PROTO, "/healthz holds no JSON status");
    else if (v == NULL || json_string_value(json_object_get(v, "server_id")) == NULL)
        rc = mf_fail(e, MF_PROTO, "/varz holds no server_id");
    if (rc == 0) {
        out->healthy = health_status == 200 &&
                       strcmp(json_string_value(json_object_get(h, "status")), "ok") == 0;
        out->health = health;
        out->varz = varz;
    }
    json_decref(h);
    json_decref(v);
    return rc;
}

/* --- the table -------------------------------------------------------------------------------- */

static const char *text_of(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s == NULL ? "-" : s;
}

static int64_t number_of(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static void put_row(struct mf_buf *out, const char *name, const char *fmt, ...) MF_PRINTF(3, 4);
static void put_row(struct mf_buf *out, const char *name, const char *fmt, ...)
{
    struct mf_buf text = MF_BUF_INIT;
    va_list ap;

    mf_buf_printf(out, "%-15s ", name);
    va_start(ap, fmt);
    mf_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    term_safe(out, mf_buf_slice(&text));
    mf_buf_byte(out, '\n');
    mf_buf_fini(&text);
}

static void put_flow(struct mf_buf *out, const char *name, const json_t *v, const char *msgs,
                     const char *bytes)
{
    char text[HUMAN_TEXT];

    put_row(out, name, "%" PRId64 " messages, %s", number_of(v, msgs),
            human_bytes(text, (uint64_t)number_of(v, bytes)));
}

/* Descriptors may allow fewer than the configuration; a nats-server does not say how many. */
static int64_t most_connections(const json_t *v)
{
    return number_of(v, json_object_get(v, "possible_connections") != NULL ? "possible_connections"
                                                                           : "max_connections");
}

void server_report_table(struct mf_buf *out, const struct server_report *r, const char *url)
{
    json_t *h = parse_object(r->health), *v = parse_object(r->varz);
    char text[HUMAN_TEXT];

    put_row(out, "server", "%s", text_of(v, "server_name"));
    put_row(out, "id", "%s", text_of(v, "server_id"));
    if (json_object_get(v, "mayfly") != NULL)
        put_row(out, "mayfly", "%s", text_of(v, "mayfly"));
    put_row(out, "version", "%s", text_of(v, "version"));
    put_row(out, "pages", "%s", url);
    if (r->healthy)
        put_row(out, "health", "ok");
    else
        put_row(out, "health", "%s: %s", text_of(h, "status"), text_of(h, "error"));
    put_row(out, "uptime", "%s", text_of(v, "uptime"));
    put_row(out, "connections", "%" PRId64 " of %" PRId64 ", %" PRId64 " since the start",
            number_of(v, "connections"), most_connections(v), number_of(v, "total_connections"));
    put_row(out, "subscriptions", "%" PRId64, number_of(v, "subscriptions"));
    put_flow(out, "in", v, "in_msgs", "in_bytes");
    put_flow(out, "out", v, "out_msgs", "out_bytes");
    put_row(out, "slow consumers", "%" PRId64, number_of(v, "slow_consumers"));
    put_row(out, "memory", "%s", human_bytes(text, (uint64_t)number_of(v, "mem")));
    put_row(out, "cpu", "%.1f %% of %" PRId64 " cores",
            json_number_value(json_object_get(v, "cpu")), number_of(v, "cores"));
    json_decref(h);
    json_decref(v);
}

void server_report_json(struct mf_buf *out, const struct server_report *r, const char *url)
{
    struct jsonw w;

    jsonw_begin(&w, out, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    jsonw_str(&w, "url", url);
    jsonw_bool(&w, "healthy", r->healthy);
    jsonw_raw(&w, "healthz", r->health);
    jsonw_raw(&w, "varz", r->varz);
    jsonw_end(&w);
    mf_buf_byte(out, '\n');
}

/* --- the command ------------------------------------------------------------------------------ */

static int ask_server(const struct http_url *where, const char *url, bool json, struct mf_buf *out,
                      struct mf_error *e)
{
    struct mf_buf raw_health = MF_BUF_INIT, raw_varz = MF_BUF_INIT;
    struct mf_slice health, varz;
    struct server_report report;
    int status, varz_status, rc;

    rc = http_get(where, "/healthz", &raw_health, &status, &health, e);
    if (rc == 0)
        rc = http_get(where, "/varz", &raw_varz, &varz_status, &varz, e);
    if (rc == 0)
        rc = server_report_make(&report, status, health, varz, e);
    if (rc == 0) {
        (json ? server_report_json : server_report_table)(out, &report, url);
        rc = report.healthy ? CLI_OK : CLI_FOUND;
    }
    mf_buf_fini(&raw_health);
    mf_buf_fini(&raw_varz);
    return rc;
}

int server_check_run(struct cli *c)
{
    struct mf_buf out = MF_BUF_INIT;
    struct pages p;
    struct mf_error e;
    int rc = pages_open(c, &p, cli_arg(c, 0));

    if (rc != 0)
        return rc;
    rc = ask_server(&p.url, p.text, c->json, &out, &e);
    if (rc < 0)
        rc = pages_fail(c, &p, &e);
    else
        (void)fputs(mf_buf_cstr(&out), stdout);
    mf_buf_fini(&out);
    return rc;
}
