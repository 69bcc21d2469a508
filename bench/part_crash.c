/* part_crash.c: random puts with TTLs and purges of single keys, kill -9 in the middle, restart,
 * and every key read again.  Counted are answers that break a promise: lost      an acknowledged
 * value is not there, though nothing replaced it and it is not due revived   a value that had been
 * replaced, purged or was dead before the kill is there again late      the right value is there,
 * more than a quarter of a second after its deadline A key has one operation in flight at most:
 * what was not acknowledged may have happened or not. */
#include "matrix.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW  64u
#define GRACE_S 0.25

/* What a key holds after an operation: op 0, nothing. */
struct state {
    uint32_t op;               /* the value is this number; each put has its own */
    unsigned ttl_s;            /* 0: it does not die */
    double dies_from, dies_to; /* between sent + TTL and acknowledged + TTL */
    bool unsure;               /* what was read broke a promise, or could not be told */
};
struct key {
    struct state acked, next; /* next: in flight, when `busy` */
    bool busy;
};
struct crash {
    struct key *keys;
    unsigned n, waiting, errors;
    uint32_t op, seed;
    uint64_t reads, lost, revived, late;
    double asked_s, killed_s; /* of the read that is out; the last kill */
    struct js_conn conn;
};

static uint32_t dice(struct crash *c)
{
    c->seed = c->seed * 1664525u + 1013904223u;
    return c->seed >> 8;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* The reply's last token is the key; what was in flight is now so. */
static void take_ack(void *arg, const struct js_frame *f)
{
    struct crash *c = arg;
    size_t at = f->subject_len;
    unsigned long i;
    struct key *k;

    while (at > 0 && f->subject[at - 1] != '.')
        at--;
    i = strtoul(f->subject + at, NULL, 10);
    if (i >= c->n || !c->keys[i].busy)
        return;
    k = &c->keys[i];
    if (memmem(f->body, f->len, "\"error\"", 7) != NULL && c->errors++ == 0)
        fprintf(stderr, "bench: %.*s\n", (int)f->len, f->body);
    k->acked = k->next;
    k->acked.dies_to = js_now_s() + k->next.ttl_s;
    k->busy = false;
    c->waiting--;
}

static bool send_purge(struct crash *c, unsigned i)
{
    char body[64], text[256];
    int n = snprintf(body, sizeof body, "{\"filter\":\"c.%u\"}", i);

    n = snprintf(text, sizeof text, "PUB $JS.API.STREAM.PURGE.C _INBOX.crash.%u %d\r\n%s\r\n", i, n,
                 body);
    c->keys[i].next = (struct state){0};
    return js_send(&c->conn, text, (size_t)n);
}

static bool send_put(struct crash *c, unsigned i)
{
    static const unsigned ttls[] = {0, 1, 1, 2, 3600};
    unsigned ttl = ttls[dice(c) % 5];
    char head[64], text[256];
    int n = snprintf(head, sizeof head, "NATS/1.0\r\nNats-TTL: %u\r\n\r\n", ttl);
    double now = js_now_s();

    if (ttl == 0)
        n = snprintf(head, sizeof head, "NATS/1.0\r\n\r\n");
    n = snprintf(text, sizeof text, "HPUB c.%u _INBOX.crash.%u %d %d\r\n%s%010u\r\n", i, i, n,
                 n + 10, head, ++c->op);
    c->keys[i].next = (struct state){.op = c->op, .ttl_s = ttl, .dies_from = now + ttl};
    return js_send(&c->conn, text, (size_t)n);
}

static bool write_for(struct crash *c, double seconds)
{
    double until_s = js_now_s() + seconds;

    while (js_now_s() < until_s) {
        while (c->waiting < WINDOW) {
            unsigned i = dice(c) % c->n;
            if (c->keys[i].busy)
                continue;
            if (dice(c) % 8 == 0 ? !send_purge(c, i) : !send_put(c, i))
                return false;
            c->keys[i].busy = true;
            c->waiting++;
        }
        if (js_read(&c->conn, take_ack, c) < 0)
            return false;
    }
    return true;
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool alive(const struct state *a, double now_s)
{
    return a->op != 0 && (a->ttl_s == 0 || now_s < a->dies_from);
}

/* found 0: nothing there.  The answer was true at some moment between asked_s and now_s. */
static void judge(struct crash *c, const struct key *k, uint32_t found, double now_s)
{
    const struct state *a = &k->acked;
    double overdue_s = a->ttl_s > 0 ? -a->dies_to - GRACE_S : -1e9;

    c->reads++;
    if (a->unsure || (k->busy && found == k->next.op))
        return;
    if (found == 0)
        c->lost += alive(a, now_s) && (!k->busy || alive(&k->next, now_s));
    else if (found != a->op || c->killed_s + overdue_s > 0)
        c->revived++;
    else if (c->asked_s + overdue_s > 0)
        c->late++;
}

/* What was read begins the key's next life; nothing is counted twice. */
static void settle(struct key *k, uint32_t found)
{
    if (k->busy && found != 0 && found == k->next.op) {
        k->acked = k->next;
        k->acked.dies_to =
            k->next.dies_from + k->next.ttl_s; /* no acknowledgement: later than true */
    } else if (found == 0 || found != k->acked.op) {
        k->acked = (struct state){.unsure = found != 0 || k->busy};
    }
    k->busy = false;
}

static bool read_all(struct crash *c, struct js_server *s)
{
    char subject[64], text[256];
    uint32_t found;

    for (unsigned i = 0; i < c->n; i++) {
        snprintf(subject, sizeof subject, "$JS.API.DIRECT.GET.C.c.%u", i);
        text[0] = '\0';
        c->asked_s = js_now_s();
        if (!js_request(&s->ask, subject, "", text, sizeof text))
            return false;
        found = (uint32_t)strtoul(text, NULL, 10);
        judge(c, &c->keys[i], found, js_now_s());
        settle(&c->keys[i], found);
    }
    return true;
}

static bool live_and_die(struct run *r, struct crash *c, struct js_server *s)
{
    uint64_t live;

    c->waiting = 0;
    if (!js_open(&c->conn, s->proc.port) || !js_subscribe(&c->conn, "_INBOX.crash.*") ||
        !write_for(c, r->sizes->crash_s))
        return false;
    c->killed_s = js_now_s();
    js_server_end(s, SIGKILL);
    while (js_read(&c->conn, take_ack, c) > 0) /* acknowledgements that were still under way */
        ;
    js_close(&c->conn);
    return js_server_again(s, "C", &live) && read_all(c, s) && c->errors == 0;
}

bool part_crash(struct run *r)
{
    struct crash c = {.n = r->sizes->crash_keys,
                      .seed = (uint32_t)r->round * 7919 + 1,
                      .keys = calloc(r->sizes->crash_keys, sizeof *c.keys),
                      .conn.fd = -1};
    struct js_server s;
    bool ok = c.keys != NULL && js_server_start(&s, &r->kind);

    if (!ok) {
        free(c.keys);
        return false;
    }
    ok = js_server_ask(
        &s, "$JS.API.STREAM.CREATE.C",
        "{\"name\":\"C\",\"subjects\":[\"c.>\"],\"storage\":\"file\",\"num_replicas\":1,"
        "\"max_msgs_per_subject\":1,\"allow_msg_ttl\":true,\"allow_direct\":true}");
    for (unsigned i = 0; ok && i < r->sizes->crash_kills; i++)
        ok = live_and_die(r, &c, &s);
    js_close(&c.conn);
    js_server_stop(&s);
    free(c.keys);
    if (!ok)
        return false;
    emit(r, "crash", "reads", (double)c.reads);
    emit(r, "crash", "lost", (double)c.lost);
    emit(r, "crash", "revived", (double)c.revived);
    emit(r, "crash", "late", (double)c.late);
    return true;
}
