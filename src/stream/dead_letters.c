/* dead_letters.c: dead letters (on_expire): a copy of a message that expires, on
 * <prefix>.<subject>.
 *
 * dead_letters_append() puts it into the commit batch that removes the message, before the delete
 * marker.  A body that is not in memory is read by a worker after that batch: the removal waits for
 * it, and so do those behind it; all of them are hidden already.  One body is held at a time; its
 * neighbours in the file come into memory with it.
 *
 * A dead letter without the removal would be written again after a crash.  So nothing behind it in
 * its batch may fail, or dead_letters_end() removes it in the same batch: room for that is
 * reserved.
 *
 * Expiry has priority: a dead letter that limits refuse, or whose message cannot be read, is
 * dropped and counted.  Only a passing shortage (memory, writes that wait) delays the removal. */
#include "stream/lifetime_impl.h"

#include "markers/dead_letter.h"

#include <stdlib.h>

/* Bytes of letters in one slice of a sweep. */
#define SLICE_BYTES (1u << 20)

struct dead_letters {
    struct stream *s;
    struct mf_buf subject, hdr, plain;
    struct store_read read;
    bool reading;
    uint64_t wanted; /* to be read when the batch is over; 0: none */
    uint64_t held;   /* this one was read, with this status, */
    int status;
    struct store_rec rec; /* and it stands here: */
    struct mf_buf bytes;
    uint64_t done;  /* its letter was written or dropped, whatever holds its death up */
    uint64_t open;  /* the letter itself, until dead_letters_end(); 0: none */
    size_t slice;   /* bytes of the letters of the open batch */
    bool again;     /* it was ended by that: the next slice follows at once */
    bool displaces; /* the stream is over its limits: the oldest have to go */
};

static struct dead_letters *letters_of(struct stream *s)
{
    if (s->dead_letters == NULL && (s->dead_letters = calloc(1, sizeof *s->dead_letters)) != NULL)
        s->dead_letters->s = s;
    return s->dead_letters;
}

void dead_letters_free(struct stream *s)
{
    struct dead_letters *l = s->dead_letters;

    if (l == NULL)
        return;
    mf_buf_fini(&l->subject);
    mf_buf_fini(&l->hdr);
    mf_buf_fini(&l->plain);
    mf_buf_fini(&l->bytes);
    free(l);
    s->dead_letters = NULL;
}

/* --- the message ------------------------------------------------------------------------------ */

/* Its slices are copied: they are valid in the callback only. */
static int hold_message(struct dead_letters *l, const struct store_rec *r)
{
    mf_buf_clear(&l->bytes);
    uint8_t *at = mf_buf_reserve(&l->bytes, r->key.len + r->head.len + r->body.len + 1);
    struct mf_slice *const to[] = {&l->rec.key, &l->rec.head, &l->rec.body};

    if (at == NULL)
        return MF_NOMEM;
    l->rec = *r;
    for (size_t i = 0; i < MF_COUNT(to); i++) {
        size_t n = to[i]->len;
        if (n > 0)
            memcpy(at, to[i]->ptr, n);
        *to[i] = mf_slice(at, n);
        at += n;
    }
    return 0;
}

static void on_read(struct store_read *read, int status)
{
    struct dead_letters *l = mf_container(read, struct dead_letters, read);
    struct stream *s = l->s;

    l->reading = false;
    if (status == 0)
        status = hold_message(l, &read->rec);
    l->status = status;
    l->held = status == MF_NOMEM ? 0 : read->seq; /* without memory: tried again */
    if (!s->closing)
        work_add(s->host->loop, s->owner, &s->expiry.task);
}

static void read_wanted(struct dead_letters *l)
{
    uint64_t seq = l->wanted;

    l->wanted = 0;
    if (seq == 0 || l->reading || l->s->closing)
        return;
    l->read = (struct store_read){.seq = seq, .dead = true, .done = on_read};
    int rc = store_read(l->s->store, &l->read);
    l->reading = rc == 0;
    if (rc != 0 && rc != MF_NOMEM) {
        l->held = seq;
        l->status = rc;
    }
}

static int find_message(struct dead_letters *l, const struct dead_letters_expired *d,
                        struct store_rec *out)
{
    int rc;

    if (l->held == d->seq) {
        *out = l->rec;
        return l->status;
    }
    if ((rc = store_peek_overdue(l->s->store, d->seq, out)) != MF_AGAIN)
        return rc;
    if (!d->now) {
        l->wanted = d->seq;
        return rc;
    }
    l->held = 0; /* its bytes go */
    rc = store_read_back(l->s->store, d->seq, &l->bytes, out);
    return rc == 0 && out->seq != d->seq ? MF_NOTFOUND : rc;
}

/* --- the letter ------------------------------------------------------------------------------- */

/* max_age ended it, not a TTL. */
static bool is_aged(struct stream *s, const struct dead_letters_expired *d,
                    const struct store_rec *r)
{
    if (s->cfg.max_age_ns <= 0 || (d->flags & STORE_PINNED) != 0)
        return false;
    int64_t ttl = lifetime_stored_ttl(s, r, s->cfg.allow_msg_ttl, s->governor);
    return ttl == TTL_NONE || ttl > s->cfg.max_age_ns;
}

static bool is_refused(struct stream *s, const struct intake *in, uint64_t leaving)
{
    struct js_error e;
    uint64_t count;

    if (stream_numbered_out(s) || store_full(s->store) || stream_lacks_interest(s, in->subject) ||
        check_sealed(s, &e) != 0 || check_resources(s, in, &e) != 0 ||
        check_account(s, in, &e) != 0)
        return true;
    if (s->cfg.discard != DISCARD_NEW)
        return false;
    (void)store_key_last_accepted(s->store, in->subject, &count);
    return limits_full_instead(s, in, leaving) ||
           (s->cfg.discard_new_per_subject && s->cfg.max_msgs_per_subject > 0 &&
            count >= (uint64_t)s->cfg.max_msgs_per_subject);
}

static int store_letter(struct dead_letters *l, struct intake *in, uint64_t leaving)
{
    struct stream *s = l->s;
    struct store_append a;
    int rc;

    l->displaces |= limits_full_instead(s, in, leaving);
    if ((rc = store_reserve(s->store, 1)) != 0 || (rc = stream_append(s, in, &a)) != 0)
        return rc;
    l->open = in->seq;
    warn_note(s, in->seq, a.deadline_ns);
    l->slice += in->hdr.len + in->payload.len;
    republish_note(s,
                   &(struct stream_msg){.seq = in->seq,
                                        .ts_ns = in->ts_ns,
                                        .subject = in->subject,
                                        .hdr = in->hdr,
                                        .payload = in->payload},
                   in->previous);
    if (s->hour != NULL)
        hour_stored(s, in->ts_ns, limits_size(s, in->subject.len, in->hdr.len, in->payload.len),
                    a.deadline_ns);
    return 0;
}

/* MF_DENIED: refused by limits. */
static int write_letter(struct dead_letters *l, const struct dead_letters_expired *d,
                        const struct store_rec *r)
{
    struct intake in = {.payload = r->body, .ts_ns = stream_stamp(l->s), .ttl_ns = TTL_NONE};

    if ((r->flags & MSG_COMPRESSED) != 0) {
        int rc = compress_undo(r->body, &l->plain, &in.payload);
        if (rc != 0)
            return rc;
    }
    struct dead_letter_facts f = {.prefix = l->s->on_expire,
                                  .subject = d->subject,
                                  .seq = d->seq,
                                  .ts_ns = r->ts_ns,
                                  .deadline_ns = d->deadline_ns,
                                  .aged = is_aged(l->s, d, r)};
    mf_buf_clear(&l->subject);
    mf_buf_clear(&l->hdr);
    dead_letter_subject(&l->subject, &f);
    dead_letter_header(&l->hdr, &f, r->head);
    if (mf_buf_failed(&l->subject) || mf_buf_failed(&l->hdr))
        return MF_NOMEM;
    in.subject = mf_buf_slice(&l->subject);
    in.hdr = mf_buf_slice(&l->hdr);
    intake_read(in.hdr, &in.h);
    /* Where a marker replaces the expired message, the letter is one message more. */
    uint64_t leaving = d->last && l->s->cfg.subject_delete_marker_ttl_ns > 0 ? 0 : d->seq;
    return is_refused(l->s, &in, leaving) ? MF_DENIED : store_letter(l, &in, leaving);
}

/* --- deaths ----------------------------------------------------------------------------------- */

static bool is_wanted(const struct stream *s, const struct dead_letters_expired *d)
{
    bool covered = policy_view(s->governor)->keys.scope == POLICY_SCOPE_SUBJECT && !d->last;

    return dead_letter_wanted(s->on_expire, d->subject, (d->flags & MSG_TOMBSTONE) != 0, covered);
}

int dead_letters_append(struct stream *s, const struct dead_letters_expired *d)
{
    struct dead_letters *l = letters_of(s);
    struct store_rec r;

    if (l == NULL)
        return MF_NOMEM;
    if (!is_wanted(s, d) || l->done == d->seq)
        return 0;
    if (!d->now && l->slice >= SLICE_BYTES) {
        l->again = true;
        return MF_AGAIN;
    }
    int rc = find_message(l, d, &r);
    if (rc == 0)
        rc = write_letter(l, d, &r);
    if (rc == MF_AGAIN || rc == MF_NOMEM || rc == MF_READONLY || rc == MF_CLOSED)
        return rc;
    l->done = d->seq;
    s->ttl_stats.dead_letters += rc == 0;
    s->ttl_stats.dead_letters_dropped += rc != 0;
    return 0;
}

void dead_letters_end(struct stream *s, bool keep)
{
    struct dead_letters *l = s->dead_letters;
    uint64_t seq = l->open;

    l->open = 0;
    if (seq == 0)
        return;
    if (keep) {
        limits_thin(s, mf_buf_slice(&l->subject), seq);
        return;
    }
    if (store_remove(s->store, seq, NULL) != 0)
        return; /* the store has failed: nothing of this batch will be there */
    l->done = 0;
    s->ttl_stats.dead_letters--;
}

void dead_letters_after_batch(struct stream *s)
{
    struct dead_letters *l = s->dead_letters;

    if (l == NULL)
        return;
    if (l->displaces)
        limits_enforce_room(s);
    if (l->again && !s->closing)
        work_add(s->host->loop, s->owner, &s->expiry.task);
    l->displaces = l->again = false;
    l->slice = 0;
    read_wanted(l);
}
