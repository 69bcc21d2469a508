/* part_ends.c: the moments around an end: warnings before it, dead letters after it, and the end
 * that a linked record calls off at the last moment. */
#include "js_expiry.h"
#include "js_other.h"
#include "matrix.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* --- warnings --------------------------------------------------------------------------------- */

struct listener {
    struct js_conn conn;
    pthread_t thread;
    atomic_uint got;
    double first_s, last_s;
    int64_t least_ms; /* left of a life when it was warned of */
};

static void listen_frame(void *arg, const struct js_frame *f)
{
    struct listener *l = arg;
    const char *at = memmem(f->body, f->len, "\"left_ms\":", 10);
    int64_t left_ms = at != NULL ? strtoll(at + 10, NULL, 10) : 0;

    l->last_s = js_now_s();
    if (atomic_fetch_add(&l->got, 1) == 0)
        l->first_s = l->last_s;
    l->least_ms = left_ms < l->least_ms ? left_ms : l->least_ms;
}

static void *listener_main(void *arg)
{
    struct listener *l = arg;

    while (js_read(&l->conn, listen_frame, l) >= 0)
        ;
    return NULL;
}

static bool listener_start(struct listener *l, const struct js_server *s)
{
    *l = (struct listener){.conn.fd = -1, .least_ms = INT64_MAX};
    if (js_server_dial(s, &l->conn) && js_subscribe(&l->conn, "$MAYFLY.EVENT.TTL.EXPIRING.W.>") &&
        pthread_create(&l->thread, NULL, listener_main, l) == 0)
        return true;
    js_close(&l->conn);
    return false;
}

static void listener_stop(struct listener *l)
{
    shutdown(l->conn.fd, SHUT_RDWR);
    pthread_join(l->thread, NULL);
    js_close(&l->conn);
}

/* Loaded at a pace, so the warnings come at that pace, too.  First nothing happens for two seconds,
 * then the warnings: what another publisher has of it.  None of the keys ends meanwhile. */
static bool warn_watch(struct run *r, struct js_server *s, struct listener *l, double start_s)
{
    unsigned n = r->sizes->warned, from, mid;
    double due_s = start_s + r->sizes->warned_s + 3, until_s = due_s + r->sizes->warned_s + 30;
    struct js_other o;
    bool ok = js_other_start(&o, s, "o.other");

    if (!ok)
        return false;
    js_pause(0.1);
    from = js_other_done(&o);
    js_pause(due_s - 0.1 - js_now_s());
    mid = js_other_done(&o);
    while (atomic_load(&l->got) < n && js_now_s() < until_s)
        js_pause(0.01);
    ok = js_other_stop(&o);
    emit(r, "ttl.warn", "quiet_p99_us", js_other_us(&o, from, mid, 0.99));
    emit(r, "ttl.warn", "other_p99_us", js_other_us(&o, mid, js_other_done(&o), 0.99));
    js_other_fini(&o);
    return ok && from < mid;
}

bool part_warn(struct run *r)
{
    unsigned n = r->sizes->warned, span_s = r->sizes->warned_s, warn_s = span_s + 5, got;
    struct js_job fill = {
        .prefix = "w.", .keys = n, .conns = 1, .window = 4000, .rate = n / span_s, .count = n};
    struct js_stats st;
    struct js_server s;
    struct listener l;
    char config[300];
    double start_s;
    bool ok = js_server_start(&s, &r->kind);

    if (!ok)
        return false;
    snprintf(config, sizeof config,
             "{\"name\":\"W\",\"subjects\":[\"w.>\",\"o.>\"],\"storage\":\"file\","
             "\"max_msgs_per_subject\":1,\"metadata\":{\"mayfly.ttl.default\":\"%us\","
             "\"mayfly.ttl.rules\":\"[{\\\"subject\\\":\\\"o.>\\\",\\\"ttl\\\":\\\"1s\\\"}]\","
             "\"mayfly.ttl.warn\":\"%us\"}}",
             warn_s + span_s + 4, warn_s);
    if (!js_server_ask(&s, "$JS.API.STREAM.CREATE.W", config) || !listener_start(&l, &s)) {
        js_server_stop(&s);
        return false;
    }
    start_s = js_now_s();
    ok = js_load(s.proc.port, &fill, &st) && st.errors == 0 && warn_watch(r, &s, &l, start_s);
    listener_stop(&l);
    got = atomic_load(&l.got);
    emit(r, "ttl.warn", "seconds", l.last_s - l.first_s);
    emit(r, "ttl.warn", "missing", got < n ? n - got : 0);
    emit(r, "ttl.warn", "late_ms", (double)(warn_s * 1000) - (double)l.least_ms);
    js_server_stop(&s);
    return ok && got >= n;
}

/* --- dead letters ----------------------------------------------------------------------------- */

bool part_letters(struct run *r)
{
    static const char *const rows[] = {"ttl.no_letters", "ttl.letters"};
    char body[1025];
    bool ok = true;

    memset(body, 'x', sizeof body - 1);
    body[sizeof body - 1] = '\0';
    for (unsigned i = 0; ok && i < 2; i++) {
        struct js_burst b = {
            .n = r->sizes->letters, .notice = i == 0 ? JS_NO_NOTICE : JS_LETTERS, .body = body};
        struct js_deaths d;
        ok = measure_burst(r, &b, &d);
        if (ok && d.missing > 0)
            fprintf(stderr, "bench: %llu ends were never seen\n", (unsigned long long)d.missing);
        ok = ok && d.missing == 0;
        emit(r, rows[i], "lag_p50_s", d.lag_p50_s);
        emit(r, rows[i], "lag_max_s", d.lag_max_s);
        emit(r, rows[i], "other_p99_ms", d.other_p99_ms);
    }
    return ok;
}

/* --- links ------------------------------------------------------------------------------------ */

/* Buckets live for a second; each one's configuration, which has no end and makes the bucket
 * permanent, is written 1 to 4 ms before that.  Where it was acknowledged in time the bucket must
 * be there afterwards. */
struct links {
    struct js_conn conn;
    unsigned n, written, upgraded, answers, errors;
    int64_t *expires_ns, *acked_ns; /* by bucket */
};

#define LINK_RATE 2500
#define LINK_RULES                                                                                 \
    "[{\\\"subject\\\":\\\"bucket.*\\\",\\\"ttl\\\":\\\"1s\\\","                                   \
    "\\\"permanent_if\\\":\\\"config.{{wildcard(1)}}\\\"},"                                        \
    "{\\\"subject\\\":\\\"config.*\\\",\\\"ttl\\\":\\\"never\\\"}]"

static void link_answer(void *arg, const struct js_frame *f)
{
    struct links *l = arg;
    unsigned long i = strtoul(f->subject + f->subject_len - 7, NULL, 10);
    const char *at = memmem(f->body, f->len, "\"expires\":\"", 11);

    l->answers++;
    if (i >= l->n || memmem(f->body, f->len, "\"error\"", 7) != NULL) {
        if (l->errors++ == 0)
            fprintf(stderr, "bench: %.*s\n", (int)f->len, f->body);
    } else if (f->subject[f->subject_len - 9] == 'c')
        l->acked_ns[i] = js_wall_ns();
    else
        l->expires_ns[i] = at != NULL ? js_time_ns(at + 11) : 0;
}

static bool link_send(struct links *l, unsigned i, bool config)
{
    char line[200];
    int n = snprintf(line, sizeof line,
                     config ? "HPUB config.%u _INBOX.lk.c.%07u 12 14\r\nNATS/1.0\r\n\r\n{}\r\n"
                            : "HPUB bucket.%u _INBOX.lk.b.%07u 30 32\r\nNATS/1.0\r\n"
                              "Mayfly-TTL: show\r\n\r\n{}\r\n",
                     i, i);

    return js_send(&l->conn, line, (size_t)n);
}

/* Whatever is to be written now. */
static bool link_due(struct links *l, double passed_s)
{
    while (l->written < l->n && l->written < passed_s * LINK_RATE)
        if (!link_send(l, l->written++, false))
            return false;
    while (l->upgraded < l->written && l->expires_ns[l->upgraded] != 0 &&
           js_wall_ns() > l->expires_ns[l->upgraded] - (1 + l->upgraded % 4) * INT64_C(1000000))
        if (!link_send(l, l->upgraded++, true))
            return false;
    return true;
}

static bool link_run(struct links *l)
{
    double start_s = js_now_s(), until_s = start_s + (double)l->n / LINK_RATE + 30;
    struct pollfd p = {.fd = l->conn.fd, .events = POLLIN};
    struct timespec nap = {0, 100000};

    while (l->answers < 2 * l->n && l->errors == 0 && js_now_s() < until_s) {
        if (!link_due(l, js_now_s() - start_s))
            return false;
        if (ppoll(&p, 1, &nap, NULL) > 0 && js_read(&l->conn, link_answer, l) < 0)
            return false;
    }
    return l->answers == 2 * l->n && l->errors == 0;
}

static bool link_check(struct run *r, struct js_server *s, struct links *l)
{
    double *left_ms = calloc(l->n, sizeof *left_ms);
    unsigned trials = 0, lost = 0;
    char subject[64], text[256];
    bool ok = left_ms != NULL;

    for (unsigned i = 0; ok && i < l->n; i++) {
        if (l->acked_ns[i] >= l->expires_ns[i])
            continue;
        left_ms[trials++] = (double)(l->expires_ns[i] - l->acked_ns[i]) / 1e6;
        snprintf(subject, sizeof subject, "$JS.API.DIRECT.GET.L.bucket.%u", i);
        ok = js_request(&s->ask, subject, "", text, sizeof text);
        lost += strcmp(text, "{}") != 0;
    }
    emit(r, "ttl.link_last", "trials", trials);
    emit(r, "ttl.link_last", "left_ms", js_quantile(left_ms, trials, 0.5));
    emit(r, "ttl.link_last", "lost", lost);
    free(left_ms);
    return ok;
}

bool part_link(struct run *r)
{
    struct links l = {.n = r->sizes->trials, .conn.fd = -1};
    struct js_server s;
    bool ok = js_server_start(&s, &r->kind);

    if (!ok)
        return false;
    l.expires_ns = calloc(l.n, sizeof *l.expires_ns);
    l.acked_ns = calloc(l.n, sizeof *l.acked_ns);
    ok = l.expires_ns != NULL && l.acked_ns != NULL &&
         js_server_ask(
             &s, "$JS.API.STREAM.CREATE.L",
             "{\"name\":\"L\",\"subjects\":[\"bucket.*\",\"config.*\"],\"storage\":\"file\","
             "\"max_msgs_per_subject\":1,\"allow_direct\":true,"
             "\"metadata\":{\"mayfly.ttl.rules\":\"" LINK_RULES "\"}}") &&
         js_server_dial(&s, &l.conn) && js_subscribe(&l.conn, "_INBOX.lk.*.*") && link_run(&l);
    js_pause(0.2); /* beyond the last end */
    ok = ok && link_check(r, &s, &l);
    js_close(&l.conn);
    free(l.expires_ns);
    free(l.acked_ns);
    js_server_stop(&s);
    return ok;
}
