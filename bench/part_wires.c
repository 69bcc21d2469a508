/* part_wires.c: the same loads over TLS and WebSocket, connections that begin, and a million
 * subscriptions. */
#include "js_pipe.h"
#include "matrix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- TLS and WebSocket ------------------------------------------------------------------------ */

/* From the dial to the PONG behind CONNECT, one connection after the other. */
static bool run_hellos(struct run *r, struct js_server *s, const char *row)
{
    unsigned n = r->sizes->hellos;
    struct meter m = meter_start(&s->proc);
    bool ok = true;

    for (unsigned i = 0; ok && i < n; i++) {
        struct js_conn c;

        ok = js_open(&c, s->proc.port);
        if (ok)
            js_close(&c);
    }
    if (ok)
        meter_emit(r, row, &m, js_now_s(), n);
    return ok;
}

static bool run_wire(struct run *r, struct js_kind *kind, const char *const rows[3])
{
    struct js_job publish = {.prefix = "b.",
                             .keys = 1,
                             .conns = 4,
                             .window = 256,
                             .count = r->sizes->async,
                             .cap_s = r->sizes->cap_s};
    struct js_server s;
    bool ok = js_server_start(&s, kind);

    if (!ok)
        return false;
    ok = js_server_ask(&s, "$JS.API.STREAM.CREATE.B",
                       "{\"name\":\"B\",\"subjects\":[\"b.>\"],\"storage\":\"file\"}") &&
         measure_load(r, &s, rows[0], &publish) && measure_push(r, &s, rows[1], r->sizes->fan) &&
         run_hellos(r, &s, rows[2]);
    js_server_stop(&s);
    return ok;
}

bool part_tls(struct run *r)
{
    static const char *const rows[] = {"tls.publish", "tls.push", "tls.hello"};
    char dir[300], more[900];
    struct js_kind kind = r->kind;
    bool ok;

    snprintf(dir, sizeof dir, "%s/mayfly-cert-XXXXXX",
             getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    if (mkdtemp(dir) == NULL || !js_pipe_make_cert(dir))
        return false;
    snprintf(more, sizeof more,
             "tls { cert_file: \"%s/cert.pem\", key_file: \"%s/key.pem\", handshake_first: true, "
             "timeout: 10 }\n",
             dir, dir);
    kind.more = more;
    js_pipe_use(JS_TLS);
    ok = run_wire(r, &kind, rows);
    js_pipe_use(JS_TCP);
    snprintf(more, sizeof more, "%s/cert.pem", dir);
    unlink(more);
    snprintf(more, sizeof more, "%s/key.pem", dir);
    unlink(more);
    rmdir(dir);
    return ok;
}

bool part_ws(struct run *r)
{
    static const char *const rows[] = {"ws.publish", "ws.push", "ws.hello"};
    struct js_kind kind = r->kind;
    bool ok;

    kind.more = "websocket { listen: \"127.0.0.1:-1\", no_tls: true }\n";
    kind.ws = true;
    js_pipe_use(JS_WS);
    ok = run_wire(r, &kind, rows);
    js_pipe_use(JS_TCP);
    return ok;
}

/* --- subscriptions ---------------------------------------------------------------------------- */

#define SUBS_AT_ONCE 1000

static bool send_subs(struct js_conn *c, unsigned from, unsigned to)
{
    static char text[SUBS_AT_ONCE * 64];
    char *p = text;

    for (unsigned i = from; i < to; i++)
        p += snprintf(p, 64, "SUB many.%u.of.%u %u\r\n", i % 1000, i, i + 10);
    return js_send(c, text, (size_t)(p - text));
}

bool part_subs(struct run *r)
{
    unsigned n = r->sizes->subs;
    struct js_conn c;
    struct meter m;
    struct proc p;
    double before;
    bool ok = proc_start(&p, r->kind.binary, false, "");

    if (!ok)
        return false;
    js_pause(0.3); /* start-up pages settle */
    before = proc_rss_kb(&p);
    ok = js_open(&c, p.port);
    m = meter_start(&p);
    for (unsigned i = 0; ok && i < n; i += SUBS_AT_ONCE)
        ok = send_subs(&c, i, i + SUBS_AT_ONCE < n ? i + SUBS_AT_ONCE : n);
    ok = ok && js_subscribe(&c, "bench.settled");
    if (ok) {
        meter_emit(r, "subs.made", &m, js_now_s(), n);
        emit(r, "subs.memory", "bytes", (proc_rss_kb(&p) - before) * 1024 / n);
        js_close(&c);
    }
    proc_stop(&p);
    return ok;
}
