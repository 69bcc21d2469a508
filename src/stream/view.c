/* view.c: reads visible messages: by sequence, subject, time; cursors and counts. */
#include "stream/stream_impl.h"

#include "stream/stream_damage.h"
#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>

/* A store that was restored by an older version may hold times before 1970, which nothing can be
 * counted with. */
static int64_t reported_time(const struct store_rec *r)
{
    return r->ts_ns < 0 ? 0 : r->ts_ns;
}

static int fill_message(const struct store_rec *r, struct stream_msg *out)
{
    struct mf_buf *b;
    int rc;

    *out = (struct stream_msg){.seq = r->seq,
                               .ts_ns = reported_time(r),
                               .deadline_ns = r->deadline_ns,
                               .subject = r->key,
                               .hdr = r->head,
                               .payload = r->body};
    if ((r->flags & MSG_COMPRESSED) == 0)
        return 0;
    if ((b = lend_take()) == NULL)
        return MF_NOMEM;
    rc = compress_undo(r->body, b, &out->payload);
    if (rc == 0)
        out->lent[0] = b;
    else
        lend_give(b);
    return rc;
}

void stream_msg_end(const struct stream_msg *m)
{
    for (size_t i = 0; i < MF_COUNT(m->lent); i++)
        if (m->lent[i] != NULL)
            lend_give(m->lent[i]);
}

/* For readers: the time matters only where messages can expire, and to ask for it costs more than
 * to find a message. */
void stream_look_at_clock(struct stream *s)
{
    if (store_has_deadlines(s->store))
        (void)stream_now(s);
}

int stream_get(struct stream *s, uint64_t seq, struct stream_msg *out)
{
    struct store_rec r;
    int rc;

    stream_look_at_clock(s);
    rc = store_peek(s->store, seq, &r);
    return rc != 0 ? rc : fill_message(&r, out);
}

int stream_get_now(struct stream *s, uint64_t seq, struct stream_msg *out)
{
    struct store_rec r;
    struct mf_buf *b;
    int rc = stream_get(s, seq, out);

    if (rc != MF_AGAIN)
        return rc;
    if ((b = lend_take()) == NULL)
        return MF_NOMEM;
    rc = store_read_now(s->store, seq, b, &r);
    if (rc == 0)
        rc = fill_message(&r, out);
    if (rc == 0)
        out->lent[1] = b;
    else
        lend_give(b);
    return rc;
}

static void load_done(struct store_read *r, int status)
{
    struct stream_load *l = mf_container(r, struct stream_load, read);
    struct mf_buf *lent;

    l->msg = (struct stream_msg){.seq = l->seq};
    if (status == 0)
        status = fill_message(&r->rec, &l->msg);
    lent = l->msg.lent[0];
    l->done(l, status); /* l may be freed after this */
    lend_give(lent);
}

int stream_load(struct stream *s, struct stream_load *l)
{
    l->stream = s;
    l->read = (struct store_read){.seq = l->seq, .done = load_done};
    stream_look_at_clock(s);
    return store_read(s->store, &l->read);
}

/* --- by sequence and subject ----------------------------------------------------------------- */

uint64_t stream_next(struct stream *s, uint64_t from_seq)
{
    stream_look_at_clock(s);
    return store_next(s->store, from_seq);
}

uint64_t stream_prev(struct stream *s, uint64_t from_seq)
{
    stream_look_at_clock(s);
    return store_prev(s->store, from_seq);
}

bool stream_subject(struct stream *s, struct mf_slice subject, struct stream_subject *out)
{
    struct store_key k;

    stream_look_at_clock(s);
    bool found = store_key(s->store, subject, &k);
    *out = (struct stream_subject){subject, k.first_seq, k.last_seq, k.count};
    return found;
}

bool stream_last_is_known(struct mf_slice pattern)
{
    return mf_eq_str(pattern, ">") || !subject_has_wildcard(pattern);
}

uint64_t stream_last_of(struct stream *s, struct mf_slice pattern)
{
    struct stream_subject x;

    if (mf_eq_str(pattern, ">"))
        return stream_prev(s, UINT64_MAX);
    if (stream_last_is_known(pattern))
        return stream_subject(s, pattern, &x) ? x.last_seq : 0;
    stream_look_at_clock(s);
    return store_pattern_last(s->store, pattern);
}

uint64_t stream_next_of(struct stream *s, struct mf_slice pattern, uint64_t from_seq)
{
    struct store_cursor *c;
    uint64_t seq = 0;
    bool more = true;

    stream_look_at_clock(s);
    if (store_cursor_new(&c, s->store, pattern, STORE_ALL, from_seq) != 0)
        return 0;
    while (more && seq == 0)
        seq = store_cursor_next(c, &more);
    store_cursor_free(c);
    return seq;
}

void stream_each_subject(struct stream *s, struct mf_slice pattern,
                         bool (*visit)(void *arg, const struct stream_subject *x), void *arg)
{
    struct store_keys *walk;
    struct mf_slice key;
    struct store_key k;

    stream_look_at_clock(s);
    if ((walk = store_keys_new(s->store, pattern)) == NULL)
        return;
    while (store_keys_next(walk, &key, &k))
        if (!visit(arg, &(struct stream_subject){key, k.first_seq, k.last_seq, k.count}))
            break;
    store_keys_free(walk);
}

/* --- cursors -------------------------------------------------------------------------------- */

struct stream_cursor {
    struct stream *s;
    struct store_cursor *c;
};

int stream_cursor_new(struct stream_cursor **out, struct stream *s, struct mf_slice pattern,
                      bool last_per_subject, uint64_t from_seq)
{
    struct stream_cursor *c = malloc(sizeof *c);
    int rc;

    if (c == NULL)
        return MF_NOMEM;
    stream_look_at_clock(s);
    c->s = s;
    rc = store_cursor_new(&c->c, s->store, pattern,
                          last_per_subject ? STORE_LAST_PER_KEY : STORE_ALL, from_seq);
    if (rc != 0)
        free(c);
    else
        *out = c;
    return rc;
}

uint64_t stream_cursor_next(struct stream_cursor *c, bool *more)
{
    stream_look_at_clock(c->s);
    return store_cursor_next(c->c, more);
}

uint64_t stream_cursor_steps(const struct stream_cursor *c)
{
    return store_cursor_steps(c->c);
}

void stream_cursor_upto(struct stream_cursor *c, uint64_t upto)
{
    store_cursor_upto(c->c, upto);
}

void stream_cursor_free(struct stream_cursor *c)
{
    if (c == NULL)
        return;
    store_cursor_free(c->c);
    free(c);
}

/* --- by time -------------------------------------------------------------------------------- */

/* Timestamps grow with sequences, so the place is found by halving; each probe reads one message,
 * which may have to be read from disk: then the search continues after the read.  Without a
 * callback (done is NULL) it waits for the disk instead. */

static bool seek_on(struct stream_seek *k, uint64_t from);

static uint64_t seek_middle(const struct stream_seek *k)
{
    return k->low + (k->high - k->low) / 2;
}

/* Nothing that can be read lies between the middle and `at`. */
static void seek_probed(struct stream_seek *k, uint64_t at, int64_t ts_ns)
{
    if (ts_ns >= k->ts_ns) {
        k->best = at;
        k->high = seek_middle(k) - 1;
    } else {
        k->low = at + 1;
    }
}

static void seek_loaded(struct stream_load *l, int status)
{
    struct stream_seek *k = mf_container(l, struct stream_seek, load);

    if (status == 0)
        seek_probed(k, l->seq, l->msg.ts_ns);
    /* Removed meanwhile, or damaged: its neighbour serves as well. */
    if (seek_on(k, status == 0 ? 0 : l->seq + 1))
        k->done(k, k->best);
}

/* The time of a message; wait: for the disk, where it is not in memory. */
static int read_time(struct stream *s, uint64_t seq, bool wait, int64_t *ts_ns)
{
    struct store_rec r;
    int rc = store_peek(s->store, seq, &r);

    if (rc == MF_AGAIN && wait) {
        struct mf_buf b = MF_BUF_INIT;
        rc = store_read_now(s->store, seq, &b, &r);
        mf_buf_fini(&b);
    }
    if (rc == 0)
        *ts_ns = reported_time(&r);
    return rc;
}

/* from: look for a probe from here on, 0: from the middle.  false: it continues after a read. */
static bool seek_on(struct stream_seek *k, uint64_t from)
{
    int64_t ts_ns = 0;

    for (; k->low <= k->high; from = 0) {
        uint64_t at = stream_next(k->stream, from != 0 ? from : seek_middle(k));
        int rc = MF_NOTFOUND;
        for (; at != 0 && at <= k->high; at = stream_next(k->stream, at + 1)) {
            rc = read_time(k->stream, at, k->done == NULL, &ts_ns);
            k->load.seq = at;
            k->load.done = seek_loaded;
            if (rc == MF_AGAIN && k->done != NULL && stream_load(k->stream, &k->load) == 0)
                return false;
            if (rc == 0)
                break;
        }
        if (rc == 0)
            seek_probed(k, at, ts_ns);
        else
            k->high = seek_middle(k) - 1; /* nothing in the upper half */
    }
    return true;
}

static bool seek_start(struct stream *s, struct stream_seek *k, uint64_t upto)
{
    k->stream = s;
    k->low = stream_next(s, 0);
    k->high = stream_prev(s, upto);
    k->best = 0;
    if (k->low == 0)
        k->high = 0, k->low = 1;
    return seek_on(k, 0);
}

bool stream_seek(struct stream *s, struct stream_seek *k, uint64_t *seq)
{
    if (!seek_start(s, k, UINT64_MAX))
        return false;
    *seq = k->best;
    return true;
}

uint64_t stream_at_time(struct stream *s, int64_t ts_ns, uint64_t upto)
{
    struct stream_seek k = {.ts_ns = ts_ns};

    (void)seek_start(s, &k, upto);
    return k.best;
}

/* --- counts -------------------------------------------------------------------------------- */

/* The time of one message; read from disk only when it is not in memory, and remembered. */
static int64_t time_of(struct stream *s, uint64_t seq)
{
    int64_t ts_ns;

    if (seq == s->ends.first_seq)
        return s->ends.first_ts_ns;
    if (read_time(s, seq, true, &ts_ns) != 0)
        return CLOCK_ZERO;
    s->ends.first_seq = seq;
    s->ends.first_ts_ns = ts_ns;
    return ts_ns;
}

void stream_emptied(struct stream *s)
{
    s->emptied = true;
}

void stream_state(struct stream *s, struct stream_state *out)
{
    struct store_state t;

    stream_look_at_clock(s);
    store_state(s->store, &t);
    *out = (struct stream_state){.msgs = t.msgs,
                                 .bytes = limits_sum(s, t.bytes, t.msgs, t.flagged[1]),
                                 .first_seq = t.first_seq,
                                 .last_seq = t.last_seq,
                                 .first_ts_ns = CLOCK_ZERO,
                                 .last_ts_ns = t.last_seq == 0 ? CLOCK_ZERO : s->ends.last_ts_ns,
                                 .subjects = t.keys,
                                 .with_ttl = t.deadlines,
                                 .overdue = t.overdue};
    if (t.msgs > 0) {
        out->first_ts_ns = time_of(s, t.first_seq);
        out->deleted = t.last_seq - t.first_seq + 1 - t.msgs;
    } else if (t.last_seq == 0 && !s->emptied) {
        out->first_seq = 0; /* nothing was ever stored */
    }
}

bool stream_damage(struct stream *s, struct stream_damage *out)
{
    *out = (struct stream_damage){.places = 0};
    out->places = store_damage_open(s->store, &out->messages, &out->found_at_start);
    if (out->places == 0)
        return false;
    out->seqs = store_damage_messages(s->store, out->seq, STREAM_DAMAGE_SEQS);
    return true;
}

size_t stream_lost(struct stream *s)
{
    struct stream_damage d;

    return stream_damage(s, &d) ? (size_t)d.messages : 0;
}

/* --- for consumers -------------------------------------------------------------------------- */

/* By the time that was seen last: the reader of the message looks at the clock. */
uint64_t stream_cursor_next_any(struct stream_cursor *c, bool *more, bool *dead)
{
    return store_cursor_next_any(c->c, more, dead);
}

bool stream_present(struct stream *s, uint64_t seq)
{
    return store_present(s->store, seq);
}

struct mf_slice stream_subject_at(struct stream *s, uint64_t seq)
{
    return store_key_at(s->store, seq);
}

uint64_t stream_notified(const struct stream *s)
{
    return s->notify.upto;
}

uint64_t stream_last_accepted(const struct stream *s)
{
    uint64_t msgs, bytes, last;

    store_accepted(s->store, &msgs, &bytes, &last);
    return last;
}

bool stream_count(struct stream *s, struct mf_slice pattern, uint64_t first, uint64_t last,
                  uint64_t *out)
{
    return store_count(s->store, pattern, first, last, out);
}

int stream_tally(struct stream *s, struct mf_slice pattern, uint64_t first, uint64_t last,
                 uint64_t *out)
{
    stream_look_at_clock(s);
    int rc = store_tally(s->store, pattern, first, last, out);
    if (rc == 0)
        *out -= store_count_overdue(s->store, pattern, first, last);
    return rc;
}

void stream_tally_pass(struct stream *s, struct mf_slice pattern, uint64_t first, uint64_t seq)
{
    store_tally_pass(s->store, pattern, first, seq);
}

bool stream_count_subjects(struct stream *s, struct mf_slice pattern, uint64_t last, uint64_t *out)
{
    return store_count_keys(s->store, pattern, last, out);
}

bool stream_newest_upto(struct stream *s, uint64_t seq, uint64_t last, uint64_t *older)
{
    return store_newest_upto(s->store, seq, last, older);
}

int stream_blob_put(struct stream *s, struct mf_slice name, struct mf_slice bytes,
                    struct store_wait *w)
{
    return store_blob_put(s->store, name, bytes, w);
}

int stream_blob_del(struct stream *s, struct mf_slice name, struct store_wait *w)
{
    return store_blob_del(s->store, name, w);
}

bool stream_blob_get(struct stream *s, struct mf_slice name, struct mf_slice *bytes)
{
    return store_blob_get(s->store, name, bytes);
}

void stream_blob_each(struct stream *s,
                      void (*visit)(void *arg, struct mf_slice name, struct mf_slice bytes),
                      void *arg)
{
    store_blob_each(s->store, visit, arg);
}

int stream_barrier(struct stream *s, struct store_wait *w)
{
    return store_barrier(s->store, w);
}

bool stream_settle(struct stream *s, struct store_wait *w)
{
    return store_wait_pending(s->store, w);
}
