/* ttl_watch.c: mayfly ttl watch: one line for each event about lifetimes, as they come. */
#include "cli/ttl/ttl_impl.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct watch {
    struct cli *c;
    struct request_stream stream; /* name "": all streams */
    natsSubscription *events, *warnings;
    int64_t left; /* events until the end, -1: no end */
};

/* --- one line --------------------------------------------------------------------------------- */

static void put_subject(struct watch *w, struct mf_buf *out, const json_t *mention)
{
    term_safe(out, mf_str(request_key(&w->stream, request_text(mention, "subject"))));
}

/* "s.a", or "s.a … s.b" of several. */
static void put_mentions(struct watch *w, struct mf_buf *out, const json_t *doc)
{
    const json_t *first = json_object_get(doc, "first"), *last = json_object_get(doc, "last");

    put_subject(w, out, first);
    if (request_int(doc, "count") > 1) {
        mf_buf_puts(out, w->c->term.utf8 ? " … " : " ... ");
        put_subject(w, out, last);
    }
    if (request_text(first, "asked")[0] != '\0') {
        mf_buf_puts(out, "  asked for ");
        term_safe(out, mf_str(request_text(first, "asked")));
        mf_buf_printf(out, ", limit %s", request_text(first, "limit"));
    }
}

static void put_expired(struct watch *w, struct mf_buf *out, const json_t *doc)
{
    char size[HUMAN_TEXT];

    mf_buf_printf(out, "%" PRId64 "  %s  late %.1f ms  ", request_int(doc, "count"),
                  human_bytes(size, (uint64_t)request_int(doc, "bytes")),
                  request_real(doc, "late_max_ms"));
    put_mentions(w, out, doc);
    if (request_int(doc, "markers") > 0)
        mf_buf_printf(out, "  markers %" PRId64, request_int(doc, "markers"));
    if (request_int(doc, "dead_letters") > 0)
        mf_buf_printf(out, "  dead letters %" PRId64, request_int(doc, "dead_letters"));
}

static void put_audit(struct watch *w, struct mf_buf *out, const json_t *doc)
{
    mf_buf_printf(out, "would set %" PRId64 "  clamp %" PRId64 "  reject %" PRId64 "  ",
                  request_int(doc, "would_set"), request_int(doc, "would_clamp"),
                  request_int(doc, "would_reject"));
    put_mentions(w, out, doc);
}

static void put_job(struct mf_buf *out, const json_t *doc)
{
    const json_t *job = json_object_get(doc, "job");

    mf_buf_printf(out, "%s%s  %" PRId64 " of %" PRId64 " seen, %" PRId64 " set",
                  request_text(job, "state"), request_bool(job, "dry_run") ? ", dry run" : "",
                  request_int(job, "seen"), request_int(job, "total"), request_int(job, "set"));
}

/* The event of one message ($MAYFLY.EVENT.TTL.EXPIRING) has no count. */
static void put_warning(struct watch *w, struct mf_buf *out, const json_t *doc)
{
    char left[HUMAN_TEXT], warn[HUMAN_TEXT];

    if (json_object_get(doc, "left_ms") != NULL) {
        term_safe(out, mf_str(request_key(&w->stream, request_text(doc, "subject"))));
        mf_buf_printf(out, "  in %s", human_duration(left, request_int(doc, "left_ms") * CLOCK_MS));
        return;
    }
    mf_buf_printf(out, "%" PRId64 "  in %s  ", request_int(doc, "count"),
                  ttl_duration_text(warn, request_text(doc, "warn")));
    put_mentions(w, out, doc);
}

/* Only streams with a policy in force send events, so the event does not say "governed". */
static void put_policy(struct mf_buf *out, const json_t *doc)
{
    struct mf_buf line = MF_BUF_INIT;
    json_t *whole = json_copy((json_t *)doc);

    (void)json_object_set_new(whole, "governed", json_true());
    ttl_policy_line(&line, whole);
    term_safe(out, mf_buf_slice(&line));
    mf_buf_fini(&line);
    json_decref(whole);
}

static const struct {
    const char *type, *word;
    enum term_style style;
} kinds[] = {
    {"ttl_expired", "EXPIRED", TERM_RED},    {"ttl_expiring", "EXPIRING", TERM_YELLOW},
    {"ttl_clamped", "CLAMPED", TERM_YELLOW}, {"ttl_rejected", "REJECTED", TERM_RED},
    {"ttl_audit", "AUDIT", TERM_BLUE},       {"ttl_backfill", "BACKFILL", TERM_GREEN},
    {"ttl_policy", "POLICY", TERM_GREEN},
};

static void put_event(struct watch *w, struct mf_buf *out, size_t kind, const json_t *doc)
{
    switch (kind) {
    case 0:
        put_expired(w, out, doc);
        break;
    case 1:
        put_warning(w, out, doc);
        break;
    case 4:
        put_audit(w, out, doc);
        break;
    case 5:
        put_job(out, doc);
        break;
    case 6:
        mf_buf_puts(out, "changed: ");
        put_policy(out, doc);
        break;
    default:
        mf_buf_printf(out, "%" PRId64 "  ", request_int(doc, "count"));
        put_mentions(w, out, doc);
    }
}

static void print_event(struct watch *w, const json_t *doc)
{
    const char *type = strrchr(request_text(doc, "type"), '.');
    struct term *t = &w->c->term;
    struct mf_buf line = MF_BUF_INIT;
    int64_t at = request_time(doc, "timestamp");
    char clock[HUMAN_TEXT];
    size_t kind = 0;

    while (kind < MF_COUNT(kinds) && (type == NULL || strcmp(type + 1, kinds[kind].type) != 0))
        kind++;
    if (kind == MF_COUNT(kinds))
        return; /* an event of a newer server */
    mf_buf_printf(&line, "%s  %s%-8s%s  ", human_clock(clock, at == 0 ? clock_wall_ns() : at),
                  term_on(t, kinds[kind].style), kinds[kind].word, term_off(t));
    if (w->stream.name[0] == '\0') {
        term_safe(&line, mf_str(request_text(doc, "stream")));
        mf_buf_puts(&line, "  ");
    }
    put_event(w, &line, kind, doc);
    (void)fprintf(t->out, "%s\n", mf_buf_cstr(&line));
    (void)fflush(t->out);
    mf_buf_fini(&line);
}

/* --- the command ------------------------------------------------------------------------------ */

/* The event of a second's warnings: with --warnings each of them has its own line. */
static bool is_sum_of_warnings(const json_t *doc)
{
    const char *type = strrchr(request_text(doc, "type"), '.');

    return type != NULL && strcmp(type, ".ttl_expiring") == 0 &&
           json_object_get(doc, "count") != NULL;
}

static void take_event(struct watch *w, natsMsg *m)
{
    json_t *doc = json_loadb(natsMsg_GetData(m), (size_t)natsMsg_GetDataLength(m), 0, NULL);

    if (w->warnings != NULL && is_sum_of_warnings(doc)) {
        json_decref(doc);
        return;
    }
    if (json_is_object(doc) && w->c->json) {
        (void)json_dumpf(doc, w->c->term.out, JSON_COMPACT); /* one line each, also on a terminal */
        (void)fputc('\n', w->c->term.out);
        (void)fflush(w->c->term.out);
    } else if (json_is_object(doc))
        print_event(w, doc);
    if (w->left > 0)
        w->left--;
    json_decref(doc);
}

static int take_events(struct watch *w)
{
    natsSubscription *subs[] = {w->events, w->warnings};
    int rc = 0;

    while (rc == 0 && w->left != 0 && !cli_interrupted() && ferror(w->c->term.out) == 0)
        for (size_t i = 0; rc == 0 && i < MF_COUNT(subs) && w->left != 0; i++) {
            natsMsg *m = NULL;

            if (subs[i] == NULL)
                continue;
            rc = ttl_next(w->c, subs[i], w->warnings == NULL ? 200 : 50, &m);
            if (m != NULL)
                take_event(w, m);
            natsMsg_Destroy(m);
        }
    return rc;
}

static int subscribe(struct watch *w)
{
    const char *name = w->stream.name[0] == '\0' ? "*" : w->stream.name;
    char subject[TTL_SUBJECT];
    natsStatus s;

    (void)snprintf(subject, sizeof subject, "$JS.EVENT.ADVISORY.STREAM.TTL.*.%s", name);
    s = natsConnection_SubscribeSync(&w->events, connect_get(w->c), subject);
    if (s == NATS_OK && cli_on(w->c, "warnings")) {
        (void)snprintf(subject, sizeof subject, "$MAYFLY.EVENT.TTL.EXPIRING.%s.>", name);
        s = natsConnection_SubscribeSync(&w->warnings, connect_get(w->c), subject);
    }
    if (s == NATS_OK && w->warnings != NULL) /* a cliff warns of all its messages at once */
        s = natsSubscription_SetPendingLimits(w->warnings, 1 << 20, 1 << 29);
    if (s == NATS_OK)
        s = natsConnection_Flush(connect_get(w->c));
    return s == NATS_OK ? 0 : connect_fail(w->c, s, "subscribe to %s", subject);
}

/* Is there a TTL API at all?  A nats-server would send no event for ever. */
static int look_for_api(struct watch *w)
{
    json_t *doc = NULL;
    bool denied, all = w->stream.name[0] == '\0';
    int rc = 0;

    doc = all ? ttl_ask_one(w->c, NULL, &denied, "POLICY")
              : ttl_ask_one(w->c, NULL, &denied, "POLICY.%s", w->stream.name);
    if (doc == NULL && !denied) /* says why */
        rc = all ? ttl_request(w->c, NULL, NULL, &doc, "POLICY")
                 : ttl_request(w->c, NULL, cli_arg(w->c, 0), &doc, "POLICY.%s", w->stream.name);
    json_decref(doc);
    return rc;
}

int ttl_watch_run(struct cli *c)
{
    struct watch w = {.c = c, .left = cli_number(c, "count", -1)};
    int rc = cli_arg(c, 0) == NULL ? connect_open(c) : ttl_open_stream(c, &w.stream);

    if (rc == 0)
        rc = look_for_api(&w);
    if (rc == 0)
        rc = subscribe(&w);
    if (rc == 0 && !c->json && c->term.tty) {
        (void)fprintf(c->term.out, "events about %s; Ctrl-C ends\n",
                      w.stream.name[0] == '\0' ? "all streams" : w.stream.name);
        (void)fflush(c->term.out);
    }
    if (rc == 0)
        rc = take_events(&w);
    natsSubscription_Destroy(w.events);
    natsSubscription_Destroy(w.warnings);
    return rc;
}
