/* ingest.c: publishes into streams, and their acks.
 *
 * Each subject of a stream is a subscription in the account's router.  Happy path: accept_publish()
 * takes an ingest from the pool, keeps the reply subject and hands the message to the stream; after
 * the commit, finish_publish() writes the publish ack and sends it.  Nothing is allocated per
 * message once the pool is filled.  Publishes of one read share a commit group, their acks one
 * write per client.
 */
#include "jetstream/jetstream_impl.h"
#include "jetstream/js_json.h"

#include "base/clock.h"
#include "proto/header.h"
#include "base/lend.h"
#include "base/log.h"
#include "proto/proto.h"
#include "stream/js_error.h"

#include <stdio.h>
#include <stdlib.h>

#define REPLY_INLINE 104
#define POOL_MAX     65536

struct ingest {
    struct stream_publish pub;
    struct ingest_stream *in;   /* NULL: no ack */
    struct ingest *next;        /* in the pool */
    struct ingest_trace *trace; /* NULL: it is not traced */
    size_t reply_len;
    char *long_reply; /* NULL: it is short */
    char reply[REPLY_INLINE];
};

struct ingest_sub {
    struct router_sub sub;
    struct ingest_stream *in;
};

/* stream_data() of each stream; freed after its last publish was answered. */
struct ingest_stream {
    struct js_account *ja;
    struct stream *stream;
    struct ingest_sub *subs;
    size_t nsubs;
    struct mf_buf start; /* {"stream":"S","domain":"d","seq": */
    struct mf_buf name;  /* "S" */
    struct consumers *consumers;
    struct source_wire sources;
    bool no_ack, gone;
    size_t waiting;
};

/* Of the loop thread. */
static _Thread_local struct ingest *pool;
static _Thread_local size_t pooled;

static struct ingest *ingest_get(void)
{
    struct ingest *i = pool;

    if (i == NULL)
        return malloc(sizeof *i);
    pool = i->next;
    pooled--;
    return i;
}

static void ingest_put(struct ingest *i)
{
    free(i->long_reply);
    if (pooled >= POOL_MAX) {
        free(i);
        return;
    }
    i->next = pool;
    pool = i;
    pooled++;
}

void ingest_fini(void)
{
    while (pool != NULL) {
        struct ingest *i = pool;
        pool = i->next;
        free(i);
    }
    pooled = 0;
}

/* --- the answer ---------------------------------------------------------------------------- */

static void in_free(struct ingest_stream *in)
{
    free(in->subs);
    mf_buf_fini(&in->start);
    mf_buf_fini(&in->name);
    free(in);
}

static void put_number(struct mf_buf *b, uint64_t n)
{
    uint8_t text[20];

    mf_buf_append(b, text, proto_put_u64(text, n));
}

static void put_string(struct mf_buf *b, struct mf_slice s)
{
    struct jsonw w;

    jsonw_begin(&w, b, JSONW_COMPACT);
    jsonw_slice(&w, NULL, s);
}

static void write_error(const struct ingest_stream *in, const struct js_error *e, struct mf_buf *b)
{
    struct jsonw w;

    jsonw_begin(&w, b, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    js_json_error(&w, e);
    jsonw_raw(&w, "stream", mf_buf_slice(&in->name));
    jsonw_u64(&w, "seq", 0);
    jsonw_end(&w);
}

static void write_ttl(const struct stream_ack_ttl *t, struct mf_buf *b)
{
    char time[CLOCK_TEXT];

    mf_buf_puts(b, ",\"ttl\":");
    put_string(b, mf_str(t->ttl));
    if (!t->shown)
        return;
    if (t->deadline_ns != 0) {
        mf_buf_puts(b, ",\"expires\":");
        put_string(b, mf_str(clock_rfc3339(time, t->deadline_ns)));
    }
    mf_buf_puts(b, ",\"decided_by\":");
    put_string(b, mf_str(t->decided_by));
}

static void write_ack(const struct ingest_stream *in, const struct stream_ack *a, struct mf_buf *b)
{
    mf_buf_append(b, in->start.ptr, in->start.len);
    put_number(b, a->seq);
    if (a->duplicate)
        mf_buf_puts(b, ",\"duplicate\": true");
    if (a->val != NULL) {
        mf_buf_puts(b, ",\"val\":");
        put_string(b, mf_str(a->val));
    }
    if (a->ttl != NULL)
        write_ttl(a->ttl, b);
    if (a->batch.len > 0) {
        mf_buf_puts(b, ",\"batch\":");
        put_string(b, a->batch);
        mf_buf_puts(b, ",\"count\":");
        put_number(b, a->batch_count);
    }
    mf_buf_byte(b, '}');
}

/* Without memory for an ack, this refusal needs none.  It means "refused or unknown", as no answer
 * would, but arrives at once. */
static void send_no_memory(struct ingest_stream *in, struct mf_slice reply)
{
    char text[128];
    int n = snprintf(text, sizeof text,
                     "{\"error\":{\"code\":503,\"err_code\":%d,\"description\":"
                     "\"insufficient resources\"},\"seq\":0}",
                     JS_INSUFFICIENT_RESOURCES_CODE);

    if (reply.len > 0 && !in->no_ack)
        js_publish(in->ja, reply, MF_SLICE_NONE, MF_SLICE_NONE, mf_slice(text, (size_t)n));
}

static void send_ack(struct ingest_stream *in, struct mf_slice reply, const struct stream_ack *a)
{
    struct mf_buf *body = lend_take();
    struct mf_slice hdr = MF_SLICE_NONE;

    if (body == NULL) {
        send_no_memory(in, reply);
        return;
    }
    if (a->error != NULL) {
        write_error(in, a->error, body);
        if (a->error->err_code == JS_STREAM_TOO_MANY_REQUESTS_CODE)
            hdr = MF_LIT("NATS/1.0 429 Too Many Requests\r\n\r\n");
    } else if (!a->empty) {
        write_ack(in, a, body);
    }
    if (mf_buf_failed(body))
        send_no_memory(in, reply);
    else
        js_publish(in->ja, reply, MF_SLICE_NONE, hdr, mf_buf_slice(body));
    lend_give(body);
}

static void finish_publish(struct stream_publish *p, const struct stream_ack *a)
{
    struct ingest *i = mf_container(p, struct ingest, pub);
    struct ingest_stream *in = i->in;

    if (i->reply_len > 0 && !a->silent && (!in->no_ack || a->anyway) && !in->gone)
        send_ack(in, mf_slice(i->long_reply != NULL ? i->long_reply : i->reply, i->reply_len), a);
    if (MF_UNLIKELY(i->trace != NULL))
        ingest_trace_end(i->trace, a);
    ingest_put(i);
    if (--in->waiting == 0 && in->gone)
        in_free(in);
}

/* --- the message --------------------------------------------------------------------------- */

static bool accept_publish(struct router_sub *sub, const struct router_msg *m)
{
    struct ingest_stream *in = mf_container(sub, struct ingest_sub, sub)->in;
    struct ingest *i = ingest_get();
    struct mf_slice reply = m->msg->reply;

    if (i == NULL) {
        send_no_memory(in, reply);
        return true;
    }
    i->pub = (struct stream_publish){.msg = *m->msg, .done = finish_publish};
    if (m->from !=
        NULL) /* another server's word for the subject that receivers see decides nothing */
        i->pub.msg.subject = m->route;
    i->in = in;
    i->trace = NULL;
    i->long_reply = NULL;
    i->reply_len = reply.len;
    if (reply.len > sizeof i->reply && (i->long_reply = malloc(reply.len)) == NULL) {
        ingest_put(i);
        send_no_memory(in, reply);
        return true;
    }
    if (reply.len > 0)
        memcpy(i->long_reply != NULL ? i->long_reply : i->reply, reply.ptr, reply.len);
    if (MF_UNLIKELY(m->trace != NULL) &&
        (i->trace = ingest_trace_begin(m, stream_name(in->stream), &i->pub)) == NULL) {
        ingest_put(i);
        send_no_memory(in, reply);
        return true;
    }
    in->waiting++;
    stream_publish(in->stream, &i->pub);
    return true;
}

/* --- streams added, changed, removed ------------------------------------------------------- */

static void unsubscribe_subjects(struct ingest_stream *in)
{
    for (size_t i = 0; i < in->nsubs; i++)
        router_unsubscribe(account_router(in->ja->account), &in->subs[i].sub);
    free(in->subs);
    in->subs = NULL;
    in->nsubs = 0;
}

static int subscribe_subjects(struct ingest_stream *in)
{
    const struct stream_config *c = stream_config(in->stream);
    struct ingest_sub *subs = calloc(c->subjects.n + 1, sizeof *subs);
    size_t n = 0;
    int rc = subs == NULL ? MF_NOMEM : 0;

    for (; rc == 0 && n < c->subjects.n; n++) {
        subs[n].in = in;
        subs[n].sub.deliver = accept_publish;
        subs[n].sub.dry_runs = true;
        rc = router_subscribe(account_router(in->ja->account), mf_str(c->subjects.at[n]),
                              MF_SLICE_NONE, &subs[n].sub);
    }
    if (rc != 0) {
        for (size_t i = 0; i + 1 < n; i++)
            router_unsubscribe(account_router(in->ja->account), &subs[i].sub);
        free(subs);
        return rc;
    }
    unsubscribe_subjects(in);
    in->subs = subs;
    in->nsubs = c->subjects.n;
    in->no_ack = c->no_ack;
    return 0;
}

static void write_start(struct ingest_stream *in)
{
    const char *domain = in->ja->js->options->jetstream.domain;

    put_string(&in->name, mf_str(stream_name(in->stream)));
    mf_buf_puts(&in->start, "{\"stream\":");
    mf_buf_append(&in->start, in->name.ptr, in->name.len);
    if (domain != NULL && domain[0] != '\0') {
        mf_buf_puts(&in->start, ",\"domain\":");
        put_string(&in->start, mf_str(domain));
    }
    mf_buf_puts(&in->start, ",\"seq\":");
}

int ingest_add(struct js_account *ja, struct stream *s)
{
    struct ingest_stream *in = calloc(1, sizeof *in);
    int rc;

    if (in == NULL)
        return MF_NOMEM;
    in->ja = ja;
    in->stream = s;
    write_start(in);
    rc = mf_buf_failed(&in->start) || mf_buf_failed(&in->name) ? MF_NOMEM : subscribe_subjects(in);
    if (rc != 0) {
        in_free(in);
        return rc;
    }
    stream_set_data(s, in);
    return 0;
}

void ingest_change(struct stream *s)
{
    struct ingest_stream *in = stream_data(s);

    if (in != NULL && subscribe_subjects(in) != 0)
        log_error("stream %s: no memory for its new subjects", stream_name(s));
}

void ingest_remove(struct stream *s)
{
    struct ingest_stream *in = stream_data(s);

    if (in == NULL)
        return;
    stream_set_data(s, NULL);
    unsubscribe_subjects(in);
    in->gone = true;
    if (in->waiting == 0)
        in_free(in);
}

/* --- its consumers and sources
 * ------------------------------------------------------------------------- */

struct consumers *js_consumers(struct stream *s)
{
    struct ingest_stream *in = stream_data(s);

    return in == NULL ? NULL : in->consumers;
}

void ingest_set_consumers(struct stream *s, struct consumers *g)
{
    struct ingest_stream *in = stream_data(s);

    in->consumers = g;
}

struct source_wire *ingest_sources(struct stream *s)
{
    struct ingest_stream *in = stream_data(s);

    return in == NULL ? NULL : &in->sources;
}

struct sources *js_sources(struct stream *s)
{
    struct source_wire *x = ingest_sources(s);

    return x == NULL ? NULL : x->sources;
}
