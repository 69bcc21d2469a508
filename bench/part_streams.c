/* part_streams.c: many KV buckets: what it takes to make them, what each one occupies, puts to all
 * of them in turn, and a restart. */
#include "matrix.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define PUTS_EACH   5
#define PUT_WINDOW  1024
#define MAKE_WINDOW 64

/* Requests about bucket number i % buckets, a window of them on one connection. */
struct turns {
    struct js_conn conn;
    unsigned buckets, window;
    size_t (*put)(char *dst, size_t cap, unsigned bucket, unsigned i);
    unsigned sent, answered, count, errors;
};

#define BUCKET                                                                                     \
    "{\"name\":\"KV_b%07u\",\"subjects\":[\"$KV.b%07u.>\"],\"storage\":\"file\","                  \
    "\"max_msgs_per_subject\":1,\"discard\":\"new\",\"allow_rollup_hdrs\":true,"                   \
    "\"deny_delete\":true,\"allow_direct\":true}"

static size_t put_make(char *dst, size_t cap, unsigned bucket, unsigned i)
{
    char body[400];
    int n = snprintf(body, sizeof body, BUCKET, bucket, bucket);

    return (size_t)snprintf(dst, cap,
                            "PUB $JS.API.STREAM.CREATE.KV_b%07u _INBOX.st.%07u %d\r\n%s\r\n",
                            bucket, i, n, body);
}

static size_t put_put(char *dst, size_t cap, unsigned bucket, unsigned i)
{
    static const char value[129] =
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

    return (size_t)snprintf(dst, cap, "PUB $KV.b%07u.key _INBOX.st.%07u 128\r\n%s\r\n", bucket, i,
                            value);
}

static void count_answer(void *arg, const struct js_frame *f)
{
    struct turns *t = arg;

    t->answered++;
    if (memmem(f->body, f->len, "\"error\"", 7) != NULL && t->errors++ == 0)
        fprintf(stderr, "bench: %.*s\n", (int)f->len, f->body);
}

static bool turns_run(struct turns *t)
{
    size_t cap = (size_t)t->window * 600, len;
    char *out = malloc(cap);
    bool ok = out != NULL;

    t->sent = t->answered = t->errors = 0;
    while (ok && t->answered < t->count) {
        /* In one write, when an eighth of the window is free. */
        unsigned room = t->window - (t->sent - t->answered);
        len = 0;
        if (room >= t->window / 8 || t->sent == t->answered)
            for (; room > 0 && t->sent < t->count; room--, t->sent++)
                len += t->put(out + len, cap - len, t->sent % t->buckets, t->sent);
        ok = (len == 0 || js_send(&t->conn, out, len)) && js_read(&t->conn, count_answer, t) >= 0;
    }
    free(out);
    return ok && t->errors == 0;
}

static unsigned count_fds(const struct proc *p)
{
    char path[64];
    unsigned n = 0;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)p->pid);
    DIR *d = opendir(path);
    while (d != NULL && readdir(d) != NULL)
        n++;
    if (d != NULL)
        closedir(d);
    return n;
}

static bool make_buckets(struct run *r, struct js_server *s, struct turns *t)
{
    double n = t->buckets, kb = proc_rss_kb(&s->proc), mb = js_server_disk_mb(s);
    unsigned fds = count_fds(&s->proc);
    struct meter m = meter_start(&s->proc);

    t->put = put_make;
    t->window = MAKE_WINDOW;
    t->count = t->buckets;
    if (!turns_run(t))
        return false;
    meter_emit(r, "streams.make", &m, js_now_s(), t->count);
    js_pause(r->sizes->settle_s);
    emit(r, "streams.empty", "bytes", (proc_rss_kb(&s->proc) - kb) * 1024 / n);
    emit(r, "streams.empty", "disk_kb", (js_server_disk_mb(s) - mb) * 1000 / n);
    emit(r, "streams.empty", "fds", ((double)count_fds(&s->proc) - fds) / n);
    return true;
}

static bool restart_buckets(struct run *r, struct js_server *s, unsigned buckets)
{
    char last[32];
    uint64_t live;
    double start_s;

    snprintf(last, sizeof last, "KV_b%07u", buckets - 1);
    js_server_end(s, SIGKILL);
    start_s = js_now_s();
    if (!js_server_again(s, last, &live))
        return false;
    emit(r, "streams.restart", "killed_s", js_now_s() - start_s);
    if (live != 1)
        fprintf(stderr, "bench: WRONG: %llu messages in %s\n", (unsigned long long)live, last);
    return live == 1;
}

bool part_streams(struct run *r)
{
    struct turns t = {.conn.fd = -1, .buckets = r->sizes->buckets};
    struct js_server s;
    bool ok = js_server_start(&s, &r->kind);

    if (!ok)
        return false;
    ok = js_server_dial(&s, &t.conn) && js_subscribe(&t.conn, "_INBOX.st.*") &&
         make_buckets(r, &s, &t);
    if (ok) {
        struct meter m = meter_start(&s.proc);
        t.put = put_put;
        t.window = PUT_WINDOW;
        t.count = PUTS_EACH * t.buckets;
        ok = turns_run(&t);
        meter_emit(r, "streams.put", &m, js_now_s(), t.count);
    }
    js_close(&t.conn);
    ok = ok && restart_buckets(r, &s, t.buckets);
    js_server_stop(&s);
    return ok;
}
