/* counter_park.c: publishes to a counter whose value has to be read from disk first.
 *
 * Happy path: the publish is copied and parked; the subject's last message is loaded without
 * stopping the loop; then all that is parked is published again, in order.  While something is
 * parked, every publish to the stream is parked behind it: answers and sequences keep the order of
 * the publishes.
 * Failure: a value that cannot be read in a few attempts, or more waiting than PARK_BYTES: the
 * publisher gets an error that asks it to try again.
 * Close: every parked publish is refused, because the stream is closed. */
#include "stream/counter_impl.h"

#include <stdlib.h>

#define PARK_BYTES (64u << 20)
#define PARK_TRIES 8

struct parked {
    struct mf_list link;
    struct stream_publish *p;
    unsigned tries;
    size_t size;
    struct mf_msg msg;
    uint8_t bytes[];
};

static struct mf_slice keep_slice(uint8_t **at, struct mf_slice from)
{
    struct mf_slice to = mf_slice(*at, from.len);

    if (from.len > 0)
        memcpy(*at, from.ptr, from.len);
    *at += from.len;
    return to;
}

static struct parked *parked_new(struct stream_publish *p)
{
    const struct mf_msg *m = &p->msg;
    size_t n = m->subject.len + m->reply.len + m->hdr.len + m->payload.len;
    struct parked *k = malloc(sizeof *k + n);

    if (k == NULL)
        return NULL;
    uint8_t *at = k->bytes;
    *k = (struct parked){.p = p, .size = sizeof *k + n};
    k->msg.subject = keep_slice(&at, m->subject);
    k->msg.reply = keep_slice(&at, m->reply);
    k->msg.hdr = keep_slice(&at, m->hdr);
    k->msg.payload = keep_slice(&at, m->payload);
    return k;
}

static void parked_free(struct counters *c, struct parked *k)
{
    c->parked_size -= k->size;
    mf_list_del(&k->link);
    free(k);
}

static void answer_again(struct stream *s, struct stream_publish *p)
{
    struct js_error e;

    stream_store_error(s, MF_AGAIN, &e);
    stream_answer(s, p, &(struct stream_ack){.error = &e});
}

/* --- again ------------------------------------------------------------------------------------ */

static void replay_parked(struct counters *c)
{
    struct stream *s = c->stream;

    if (s->closing)
        return; /* counter_free() refuses them */
    while (!c->busy && !mf_list_empty(&c->parked)) {
        struct parked *k = mf_container(mf_list_first(&c->parked), struct parked, link);
        struct stream_publish *p = k->p;
        c->blocked = false;
        if (k->tries++ < PARK_TRIES) {
            c->replaying = k;
            p->msg = k->msg;
            stream_publish(s, p);
            c->replaying = NULL;
            if (c->blocked)
                return;
        } else {
            answer_again(s, p);
        }
        parked_free(c, k);
    }
}

static void load_done(struct stream_load *l, int status)
{
    struct counters *c = mf_container(l, struct counters, load);

    c->busy = false;
    if (status == 0 && !c->stream->closing)
        counter_learn(c->stream, &l->msg);
    replay_parked(c);
}

static void wait_done(struct store_wait *w, int status)
{
    struct counters *c = mf_container(w, struct counters, wait);

    (void)status; /* if the disk failed, the next attempt hears of it */
    c->busy = false;
    replay_parked(c);
}

/* Asks for what is missing; replay_parked() follows. */
static bool fetch_missing(struct stream *s, struct counters *c, int why, uint64_t seq)
{
    int rc;

    if (c->busy)
        return true;
    c->busy = true;
    if (why == MF_AGAIN) {
        c->load = (struct stream_load){.seq = seq, .done = load_done};
        rc = stream_load(s, &c->load);
    } else {
        c->wait = (struct store_wait){.done = wait_done};
        rc = store_barrier(s->store, &c->wait);
    }
    c->busy = rc == 0;
    return rc == 0;
}

/* --- parking ---------------------------------------------------------------------------------- */

static void park_publish(struct stream *s, struct counters *c, struct stream_publish *p)
{
    struct parked *k = c->parked_size > PARK_BYTES ? NULL : parked_new(p);

    if (k == NULL) {
        answer_again(s, p);
        return;
    }
    c->parked_size += k->size;
    mf_list_push(&c->parked, &k->link);
}

bool counter_park_subject(struct stream *s, struct stream_publish *p, struct mf_slice subject)
{
    struct counters *c = counter_table(s);
    struct counter *x;
    uint64_t seq = 0;
    int rc = c == NULL ? 0 : counter_find(s, subject, &x, &seq);

    if (rc != MF_AGAIN && rc != MF_NOTFOUND)
        return false;
    bool again = c->replaying != NULL && c->replaying->p == p;
    if (!fetch_missing(s, c, rc, seq))
        return false; /* counter_apply() will refuse it */
    if (again)
        c->blocked = true; /* it stays where it is, the first */
    else
        park_publish(s, c, p);
    return true;
}

bool counter_park(struct stream *s, struct stream_publish *p, const struct intake *in)
{
    struct counters *c = s->counters;

    if (!s->cfg.allow_msg_counter)
        return false;
    if (c != NULL && !mf_list_empty(&c->parked) && (c->replaying == NULL || c->replaying->p != p)) {
        park_publish(s, c, p);
        return true;
    }
    return in->h.incr.len > 0 && counter_park_subject(s, p, in->subject);
}

void counter_unpark(struct stream *s)
{
    struct counters *c = s->counters;
    struct js_error e;

    if (c == NULL)
        return;
    js_error_set(&e, JS_STREAM_NOT_FOUND);
    while (!mf_list_empty(&c->parked)) {
        struct parked *k = mf_container(mf_list_first(&c->parked), struct parked, link);
        struct stream_publish *p = k->p;
        parked_free(c, k);
        p->done(p, &(struct stream_ack){.error = &e});
    }
}
