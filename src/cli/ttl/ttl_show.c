/* ttl_show.c: mayfly ttl show: the life of one message: a time line, who decided, what its end
 * causes. */
#include "cli/ttl/ttl_impl.h"

#include "base/clock.h"

#include "cli/ttl/ttl_draw.h"

#include <inttypes.h>
#include <stdio.h>

struct show {
    struct cli *c;
    struct request_stream stream;
    json_t *doc, *policy; /* answers of GET and POLICY; policy NULL: it may not be asked for */
};

static void print_head(struct show *s)
{
    struct term *t = &s->c->term;
    char size[HUMAN_TEXT], time[HUMAN_TEXT];

    (void)fputs(term_on(t, TERM_BOLD), t->out);
    term_print_safe(t, mf_str(request_key(&s->stream, request_text(s->doc, "subject"))));
    (void)fprintf(t->out, "%s   %s %" PRId64 "   %s   written %s", term_off(t),
                  s->stream.bucket[0] != '\0' ? "rev" : "seq", request_int(s->doc, "seq"),
                  human_bytes(size, (uint64_t)request_int(s->doc, "size")),
                  human_time(time, request_time(s->doc, "time")));
    if (request_int(s->doc, "history") > 1)
        (void)fprintf(t->out, "   history %" PRId64, request_int(s->doc, "history"));
    (void)fputs(request_bool(s->doc, "tombstone") ? "   tombstone\n" : "\n", t->out);
}

/* The server's now: its deadline less the time left. */
static int64_t server_now(const struct show *s)
{
    return request_time(s->doc, "expires") - request_int(s->doc, "left_ms") * CLOCK_MS;
}

static void print_life(struct show *s)
{
    const json_t *policy = json_object_get(s->policy, "policy");
    struct draw_life l = {.written_ns = request_time(s->doc, "time"),
                          .expires_ns = request_time(s->doc, "expires")};
    struct mf_buf out = MF_BUF_INIT;
    int64_t warn;

    if (l.expires_ns == 0) {
        (void)fprintf(s->c->term.out, "  no deadline: %s\n",
                      strcmp(request_text(s->doc, "state"), "infinite") == 0
                          ? "it never expires, on purpose"
                          : "nobody has set one");
        return;
    }
    l.now_ns = server_now(s);
    if (ttl_duration_ns(request_text(policy, "warn"), &warn) == 0 && warn > 0 &&
        request_bool(s->policy, "active") && !request_bool(s->doc, "tombstone"))
        l.warn_ns = l.expires_ns - warn;
    draw_life(&out, &s->c->term, &l);
    (void)fwrite(out.ptr, 1, out.len, s->c->term.out);
    mf_buf_fini(&out);
}

/* When the message would end if it were touched now; 0: a touch changes nothing. */
static int64_t touched_end(const struct show *s)
{
    int64_t ttl = 0, max_age = 0;

    if (s->policy == NULL)
        return 0; /* not known */
    if (ttl_duration_ns(request_text(s->policy, "max_age"), &max_age) != 0)
        max_age = 0;
    if (ttl_duration_ns(request_text(s->doc, "ttl"), &ttl) != 0)
        ttl = 0; /* none, never */
    if (strcmp(request_text(s->doc, "ttl"), "never") == 0 ||
        strcmp(request_text(s->doc, "state"), "ttl") != 0)
        return 0;
    if (max_age > 0 && (ttl == 0 || max_age < ttl))
        ttl = max_age;
    return ttl == 0 ? 0 : server_now(s) + ttl;
}

/* The key of the policy that decided_by names, for its origin. */
static const char *decided_origin(const struct show *s)
{
    const char *by = request_text(s->doc, "decided_by");
    const char *key = strncmp(by, "pattern", 7) == 0 ? "pattern" : by;

    return request_text(json_object_get(s->policy, "origin"), key);
}

static void print_decision(struct show *s)
{
    struct term *t = &s->c->term;
    const char *origin = decided_origin(s);
    int64_t end = touched_end(s);
    char time[HUMAN_TEXT];

    if (request_bool(s->doc, "pinned"))
        (void)fputs("  pinned: set by hand, the policy leaves it alone\n", t->out);
    (void)fprintf(t->out, "  %s %s by ", request_bool(s->doc, "pinned") ? "its own TTL:" : "TTL",
                  request_text(s->doc, "ttl"));
    term_print_safe(t, mf_str(request_text(s->doc, "decided_by")));
    if (origin[0] != '\0')
        (void)fprintf(t->out, " (%s)", origin);
    if (end != 0)
        (void)fprintf(t->out, "; touching it now would give %s", human_time(time, end));
    (void)fputc('\n', t->out);
}

static void print_end(struct show *s)
{
    struct term *t = &s->c->term;
    const char *marker = request_text(s->policy, "marker_ttl");
    const char *dead = request_text(json_object_get(s->policy, "policy"), "on_expire");
    int64_t ns = 0;

    if (request_time(s->doc, "expires") == 0 || s->policy == NULL)
        return;
    (void)fputs("  at its end: ", t->out);
    if (request_bool(s->doc, "tombstone"))
        (void)fputs("nothing more, it is a tombstone", t->out);
    else if (ttl_duration_ns(marker, &ns) == 0 && ns > 0)
        (void)fprintf(t->out, "a delete marker for %s, then nothing", marker);
    else
        (void)fputs("no delete marker (the stream has no subject_delete_marker_ttl)", t->out);
    if (dead[0] != '\0' && !request_bool(s->doc, "tombstone")) {
        (void)fputs("; dead letter ", t->out);
        term_print_safe(t, mf_str(dead));
        (void)fputc('.', t->out);
        term_print_safe(t, mf_str(request_text(s->doc, "subject")));
    }
    (void)fputc('\n', t->out);
}

/* The policy, which those who may only look at messages do without. */
static int load_policy(struct show *s)
{
    bool denied;

    s->policy = ttl_ask_one(s->c, NULL, &denied, "POLICY.%s", s->stream.name);
    if (s->policy != NULL)
        return 0;
    if (!denied)
        return ttl_request(s->c, NULL, cli_arg(s->c, 0), &s->policy, "POLICY.%s", s->stream.name);
    (void)cli_fail(
        s->c, 0, "no answer to $MAYFLY.TTL.POLICY.%s: warning, origin, touch and end are left out",
        s->stream.name);
    return 0;
}

int ttl_show_run(struct cli *c)
{
    struct show s = {.c = c};
    char subject[TTL_SUBJECT], what[TTL_WHAT];
    int rc = ttl_open_stream(c, &s.stream);

    if (rc == 0)
        rc = ttl_key_subject(c, &s.stream, cli_arg(c, 1), subject);
    if (rc == 0 && ttl_has_wildcard(subject))
        rc = cli_usage(c, "show takes one key; `mayfly ttl ls %s --filter` lists several",
                       cli_arg(c, 0));
    if (rc == 0)
        rc = ttl_request(c, NULL, ttl_what(what, c, cli_arg(c, 1)), &s.doc, "GET.%s.%s",
                         s.stream.name, subject);
    if (rc == 0 && c->json)
        request_print(c, s.doc);
    else if (rc == 0 && (rc = load_policy(&s)) == 0) {
        print_head(&s);
        print_life(&s);
        print_decision(&s);
        print_end(&s);
    }
    json_decref(s.doc);
    json_decref(s.policy);
    return rc;
}
