/* ttl_common.c: streams, subjects, durations and policies as all commands of this part use them. */
#include "cli/ttl/ttl_impl.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

#define KEY_MAX     512
#define POLICY_PAGE 256 /* the most that POLICY gives in one answer */

int ttl_open_stream(struct cli *c, struct request_stream *s)
{
    int rc = connect_open(c);

    return rc != 0 ? rc : request_find_stream(c, cli_arg(c, 0), s);
}

const char *ttl_what(char dst[TTL_WHAT], const struct cli *c, const char *key)
{
    (void)snprintf(dst, TTL_WHAT, "%s/%s", cli_arg(c, 0), key);
    return dst;
}

int ttl_key_subject(struct cli *c, const struct request_stream *s, const char *key,
                    char subject[TTL_SUBJECT])
{
    struct mf_buf whole = MF_BUF_INIT;
    size_t len = strlen(key);
    bool bad = len == 0 || key[0] == '.' || key[len - 1] == '.' || strstr(key, "..") != NULL;

    for (const char *p = key; *p != '\0'; p++)
        bad |= (unsigned char)*p <= ' ' || *p == 0x7f;
    if (bad)
        return cli_usage(c, "\"%s\" is no key: no blanks, no empty parts between dots", key);
    if (len > KEY_MAX)
        return cli_usage(c, "a key of %zu bytes is too long for this tool: at most %d", len,
                         KEY_MAX);
    request_subject(s, key, &whole);
    (void)snprintf(subject, TTL_SUBJECT, "%s", mf_buf_cstr(&whole));
    mf_buf_fini(&whole);
    return 0;
}

#define PROJECT_MSGS 100
#define PROJECT_S    600

bool ttl_is_steady(const json_t *steady)
{
    double covered_s = request_real(steady, "covered_s");

    return request_int(steady, "msgs") > 0 && covered_s >= PROJECT_S &&
           request_real(steady, "per_second") * covered_s >= PROJECT_MSGS;
}

bool ttl_has_wildcard(const char *subject)
{
    for (const char *p = subject; *p != '\0'; p++) {
        bool alone = (p == subject || p[-1] == '.') && (p[1] == '\0' || p[1] == '.');

        if (alone && (*p == '*' || (*p == '>' && p[1] == '\0')))
            return true;
    }
    return false;
}

const char *ttl_subject(char dst[TTL_SUBJECT], const struct cli *c, const char *fmt, ...)
{
    const char *domain = connect_domain(c);
    int used = domain == NULL ? snprintf(dst, TTL_SUBJECT, "$MAYFLY.TTL.")
                              : snprintf(dst, TTL_SUBJECT, "$MAYFLY.%.200s.TTL.", domain);
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(dst + used, (size_t)(TTL_SUBJECT - used), fmt, ap);
    va_end(ap);
    return dst;
}

int ttl_request(struct cli *c, const json_t *body, const char *what, json_t **out, const char *fmt,
                ...)
{
    struct request_error err = {.code = 0};
    char request[TTL_SUBJECT];
    va_list ap;
    int rc;

    va_start(ap, fmt);
    (void)vsnprintf(request, sizeof request, fmt, ap);
    va_end(ap);
    rc = request_ttl(c, body, what, out, &err, "%s", request);
    if (rc != 0 || err.code == 0)
        return rc;
    json_decref(*out);
    *out = NULL;
    return request_refused(c, &err, err.code == 404 ? what : NULL);
}

/* --- bodies ----------------------------------------------------------------------------------- */

void ttl_put_text(const char *text, const char *name, json_t *body)
{
    if (text != NULL)
        (void)json_object_set_new(body, name, json_string(text));
}

void ttl_put_duration(const struct cli *c, const char *flag, const char *name, json_t *body)
{
    int64_t ns = cli_duration(c, flag, -1);
    char text[CLOCK_TEXT];

    if (ns >= 0)
        ttl_put_text(clock_duration(text, ns), name, body);
}

void ttl_put_filter(const struct cli *c, const struct request_stream *s, json_t *body)
{
    const char *filter = cli_text(c, "filter");
    struct mf_buf subject = MF_BUF_INIT;

    if (filter == NULL || filter[0] == '\0')
        return;
    request_subject(s, filter, &subject);
    ttl_put_text(mf_buf_cstr(&subject), "filter", body);
    mf_buf_fini(&subject);
}

int ttl_duration_ns(const char *go, int64_t *ns)
{
    return clock_parse_duration(mf_str(go), ns);
}

const char *ttl_duration_text(char dst[HUMAN_TEXT], const char *go)
{
    int64_t ns;

    if (go[0] == '\0' || ttl_duration_ns(go, &ns) != 0) {
        (void)snprintf(dst, HUMAN_TEXT, "%.40s", go);
        return dst;
    }
    if (ns == 24 * 3600 * CLOCK_S) { /* as people write it in a policy; the unit above is a day */
        (void)snprintf(dst, HUMAN_TEXT, "24h");
        return dst;
    }
    return human_duration(dst, ns);
}

/* --- policies --------------------------------------------------------------------------------- */

static void put_key(struct mf_buf *out, const json_t *doc, const char *key)
{
    const char *value = request_text(json_object_get(doc, "policy"), key);
    const char *origin = request_text(json_object_get(doc, "origin"), key);
    char text[HUMAN_TEXT];

    mf_buf_printf(out, "%s %s", key, ttl_duration_text(text, value));
    if (origin[0] != '\0' && strcmp(origin, "built in") != 0)
        mf_buf_printf(out, " (%s)", origin);
}

/* The keys that give a TTL to messages whose writers sent none. */
static void put_sources(struct mf_buf *out, const json_t *doc)
{
    static const char *const keys[] = {"default", "pattern", "max"};
    const json_t *policy = json_object_get(doc, "policy");
    size_t rules = json_array_size(json_object_get(policy, "rules"));
    size_t shown = 0;

    if (rules > 0) {
        mf_buf_printf(out, "%zu rule%s", rules, rules == 1 ? "" : "s");
        shown++;
    }
    for (size_t i = 0; i < MF_COUNT(keys); i++) {
        if (request_text(policy, keys[i])[0] == '\0' || (i > 0 && shown > 0))
            continue; /* of several keys the first one decides, behind the rules */
        mf_buf_puts(out, shown++ > 0 ? ", " : "");
        put_key(out, doc, keys[i]);
    }
    if (shown == 0)
        mf_buf_puts(out, "the server's default");
}

void ttl_policy_line(struct mf_buf *out, const json_t *doc)
{
    static const char *const more[] = {"enforce", "scope", "warn"};
    const json_t *policy = json_object_get(doc, "policy");
    char text[HUMAN_TEXT];

    if (json_is_false(json_object_get(doc, "valid"))) {
        mf_buf_printf(out, "policy not valid: %s", request_text(doc, "invalid"));
        return;
    }
    if (!request_bool(doc, "governed")) {
        mf_buf_puts(out, "not governed: writers decide");
    } else {
        mf_buf_puts(out, "governed by ");
        put_sources(out, doc);
    }
    for (size_t i = 0; policy != NULL && i < MF_COUNT(more); i++) {
        const char *value = request_text(policy, more[i]);

        if (value[0] != '\0' && (request_bool(doc, "governed") || i == 0))
            mf_buf_printf(out, ", %s %s", more[i], ttl_duration_text(text, value));
    }
}

json_t *ttl_policies(struct cli *c, int *code)
{
    json_t *all = json_array();
    int64_t offset = 0, total = 1;

    *code = 0;
    while (offset < total) {
        json_t *body = json_pack("{s:I,s:i}", "offset", (json_int_t)offset, "limit", POLICY_PAGE);
        json_t *doc = NULL, *page;

        *code = request_ttl(c, body, NULL, &doc, NULL, "POLICY");
        json_decref(body);
        if (*code != 0) {
            json_decref(all);
            return NULL;
        }
        page = json_object_get(doc, "streams");
        total = request_add_page(all, page) ? request_int(doc, "total") : 0;
        offset += POLICY_PAGE;
        json_decref(doc);
    }
    return all;
}

/* --- waiting for messages --------------------------------------------------------------------- */

int ttl_next(struct cli *c, natsSubscription *sub, int ms, natsMsg **m)
{
    char error[512];
    natsStatus s = NATS_TIMEOUT;

    *m = NULL;
    while (ms > 0 && s == NATS_TIMEOUT && !cli_interrupted()) {
        int step = ms < 100 ? ms : 100;

        s = natsSubscription_NextMsg(m, sub, step);
        ms -= step;
    }
    if (s == NATS_OK || s == NATS_NO_RESPONDERS)
        return 0;
    if (connect_take_error(c, error, sizeof error)) {
        bool denied = strstr(error, "ermission") != NULL;

        return cli_fail(c, denied ? CLI_DENIED : CLI_USAGE, "%s%s", denied ? "not permitted: " : "",
                        error);
    }
    if (connect_is_closed(c) || s != NATS_TIMEOUT)
        return cli_fail(c, CLI_USAGE, "the connection to %s was lost", connect_url(c));
    return 0;
}
