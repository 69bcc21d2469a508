/* js_watcher.c: see js_watcher.h. */
#include "js_watcher.h"

#include "js_load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static const char *header_value(const struct js_frame *f, const char *name)
{
    const char *at = memmem(f->body, f->head_len, name, strlen(name));

    return at != NULL ? at + strlen(name) : NULL;
}

/* --- frames ----------------------------------------------------------------------------------- */

static void watch_death(struct js_watcher *w, unsigned long key)
{
    unsigned died = atomic_load(&w->died);

    if (died < w->n && w->deadline_ns[key] != 0)
        w->lag_s[died] = (double)(w->now_ns - w->deadline_ns[key]) / 1e9;
    atomic_store(&w->died, died + 1);
}

static void watch_birth(struct js_watcher *w, unsigned long key, int64_t time_ns, const char *ttl)
{
    if (time_ns == 0 || ttl == NULL)
        return;
    w->deadline_ns[key] = time_ns + (int64_t)strtol(ttl, NULL, 10) * 1000000000;
    atomic_fetch_add(&w->born, 1);
}

/* An event of Redis ends with the key and the line's end. */
static void watch_event(void *arg, const struct js_frame *f)
{
    struct js_watcher *w = arg;
    unsigned long key = f->len > 9 ? strtoul(f->body + f->len - 9, NULL, 10) : w->n;

    if (key < w->n && memmem(f->body, f->len, "$7\r\nmessage", 11) != NULL)
        watch_death(w, key);
}

/* The seven digits at the end of a subject; w->n: another subject. */
static unsigned long key_of(const struct js_watcher *w, const struct js_frame *f)
{
    const char *at = f->subject + f->subject_len - 7;

    return f->subject_len > 7 && *at >= '0' && *at <= '9' ? strtoul(at, NULL, 10) : w->n;
}

static void watch_copy(void *arg, const struct js_frame *f)
{
    struct js_watcher *w = arg;
    const char *stamp = header_value(f, "\r\nNats-Time-Stamp: ");
    unsigned long key = key_of(w, f);

    if (key >= w->n)
        return;
    if (header_value(f, "\r\nNats-Marker-Reason: ") != NULL ||
        header_value(f, "\r\nMayfly-Expired-Sequence: ") != NULL)
        watch_death(w, key);
    else
        watch_birth(w, key, stamp == NULL ? 0 : js_time_ns(stamp),
                    header_value(f, "\r\nNats-TTL: "));
}

/* The time stamp in $JS.ACK.<stream>.<consumer>.<delivered>.<seq>.<seq>.<time>.<pending>. */
static int64_t time_of(const struct js_frame *f)
{
    const char *p = f->reply, *end = f->reply + f->reply_len;

    for (int dots = 0; p < end && dots < 7; p++)
        dots += *p == '.';
    return p < end ? strtoll(p, NULL, 10) : 0;
}

/* Flow control wants an empty message to the reply subject, or to the one that a heartbeat names.
 */
static void answer_status(struct js_watcher *w, const struct js_frame *f)
{
    const char *to = header_value(f, "\r\nNats-Consumer-Stalled: ");
    size_t n = to == NULL ? 0 : strcspn(to, "\r");
    char line[300];

    if (f->reply_len > 0 && memmem(f->body, f->head_len, "FlowControl", 11) != NULL) {
        to = f->reply;
        n = f->reply_len;
    }
    if (n > 0 && n < 256) {
        snprintf(line, sizeof line, "PUB %.*s 0\r\n\r\n", (int)n, to);
        (void)js_send(&w->conn, line, strlen(line));
    }
}

static void watch_delivery(void *arg, const struct js_frame *f)
{
    struct js_watcher *w = arg;
    unsigned long key = key_of(w, f);

    if (f->head_len > 12 && memcmp(f->body, "NATS/1.0 100", 12) == 0)
        answer_status(w, f);
    if (key >= w->n)
        return;
    if (header_value(f, "\r\nNats-Marker-Reason: ") != NULL)
        watch_death(w, key);
    else
        watch_birth(w, key, time_of(f), header_value(f, "\r\nNats-TTL: "));
}

/* --- the thread ------------------------------------------------------------------------------- */

static void *watch(struct js_watcher *w, js_frame_fn *fn)
{
    char peek;

    for (;;) {
        ssize_t n = recv(w->conn.fd, &peek, 1, MSG_PEEK);
        if (n == 0)
            return NULL; /* shut down by js_watcher_stop(), or the server hung up */
        w->now_ns = js_wall_ns();
        if (n < 0 && errno == EAGAIN)
            continue; /* half a minute without a death */
        if (n < 0 || js_read(&w->conn, fn, w) < 0)
            return NULL;
    }
}

static void *watch_copies(void *arg)
{
    return watch(arg, watch_copy);
}

static void *watch_consumer(void *arg)
{
    return watch(arg, watch_delivery);
}

static void *watch_redis(void *arg)
{
    return watch(arg, watch_event);
}

/* The consumer is made by another connection: this one may have messages before the answer. */
static bool consume(struct js_watcher *w, const struct js_server *s, const char *consumer)
{
    struct js_conn ask;
    char text[2048] = "";
    bool ok = js_subscribe(&w->conn, "watcher") && js_server_dial(s, &ask);

    if (!ok)
        return false;
    ok = js_request(&ask, "$JS.API.CONSUMER.CREATE.KV_E", consumer, text, sizeof text) &&
         strstr(text, "\"error\"") == NULL;
    if (!ok)
        fprintf(stderr, "bench: no consumer: %s\n", text);
    js_close(&ask);
    return ok;
}

static bool listen_to(struct js_watcher *w, const struct js_server *s, const char *consumer)
{
    char text[256];

    if (!js_server_dial(s, &w->conn))
        return false;
    if (!w->redis)
        return consumer != NULL ? consume(w, s, consumer) : js_subscribe(&w->conn, "rp.>");
    return js_redis_ask(&w->conn, "CONFIG SET notify-keyspace-events Ex", text, sizeof text) &&
           js_redis_ask(&w->conn, "SUBSCRIBE __keyevent@0__:expired", text, sizeof text);
}

bool js_watcher_start(struct js_watcher *w, const struct js_server *s, unsigned n,
                      const char *consumer)
{
    *w = (struct js_watcher){.n = n, .redis = s->kind->redis, .conn.fd = -1};
    w->deadline_ns = calloc(n, sizeof *w->deadline_ns);
    w->lag_s = calloc(n, sizeof *w->lag_s);
    if (w->deadline_ns != NULL && w->lag_s != NULL && listen_to(w, s, consumer) &&
        pthread_create(&w->thread, NULL,
                       w->redis           ? watch_redis
                       : consumer != NULL ? watch_consumer
                                          : watch_copies,
                       w) == 0)
        return true;
    js_close(&w->conn);
    js_watcher_fini(w);
    return false;
}

void js_watcher_stop(struct js_watcher *w)
{
    shutdown(w->conn.fd, SHUT_RDWR);
    pthread_join(w->thread, NULL);
    js_close(&w->conn);
}

void js_watcher_fini(struct js_watcher *w)
{
    free(w->deadline_ns);
    free(w->lag_s);
}

void js_watcher_lags(struct js_watcher *w, unsigned dead, struct js_deaths *out)
{
    dead = dead < w->n ? dead : w->n;
    out->lag_p50_s = js_quantile(w->lag_s, dead, 0.5);
    out->lag_p99_s = js_quantile(w->lag_s, dead, 0.99);
    out->lag_max_s = js_quantile(w->lag_s, dead, 1);
    out->missing = w->n - dead;
}
