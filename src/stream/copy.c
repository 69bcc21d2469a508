/* copy.c: messages that were another stream's: those of a mirror or a source, and those of a
 * backup.
 *
 * That stream made the checks that the publishers asked for.  A follower of a stream (p->followed)
 * can repeat a message later, so limits may refuse it; but the follower must know at once, or it
 * would publish the next message, and this one would be lost.  A backup is restored once, and
 * whole. */
#include "stream/lifetime_impl.h"

static int skip_to(struct stream *s, uint64_t seq)
{
    uint64_t last = stream_accepted(s);

    if (seq == 0 || seq == last + 1)
        return 0;
    if (seq <= last)
        return MF_EXISTS;
    return store_remove_range(s->store, last + 1, seq - 1, NULL);
}

uint64_t stream_accepted(const struct stream *s)
{
    uint64_t msgs, bytes, last;

    store_accepted(s->store, &msgs, &bytes, &last);
    return last;
}

int stream_skip(struct stream *s, uint64_t upto)
{
    return upto <= stream_accepted(s) ? 0 : skip_to(s, upto + 1);
}

void stream_on_commit(struct stream *s, void (*fn)(void *arg), void *arg)
{
    store_on_commit(s->store, fn, arg);
}

static int fail_store(struct stream *s, int rc, struct js_error *e)
{
    stream_store_error(s, rc, e);
    return rc;
}

/* A message without interest uses up its sequence and no room. */
static int store_copy(struct stream *s, struct stream_publish *p, struct intake *in,
                      struct js_error *e)
{
    const char *val;
    int rc;

    if (p->gap || (p->followed && stream_lacks_interest(s, in->subject))) {
        in->rollup = ROLLUP_NONE;
        rc = stream_use_up(s, in, p);
        return rc == 0 ? 0 : fail_store(s, rc, e);
    }
    if (p->followed && s->cfg.allow_msg_counter &&
        ((rc = counter_source(s, in, e)) != 0 || (rc = counter_apply(s, in, &val, e)) != 0))
        return rc;
    return stream_store(s, in, false, stream_wait(s, p, 0), e);
}

static int check_followed(struct stream *s, struct intake *in, struct js_error *e)
{
    int rc;

    if ((rc = check_sealed(s, e)) != 0 || (rc = check_size(s, in, e)) != 0 ||
        (rc = check_resources(s, in, e)) != 0 || (rc = check_account(s, in, e)) != 0)
        return rc;
    return check_discard_new(s, in, e);
}

/* A follower gets the refusal at once; others get it after the commits that are under way. */
static void refuse_copy(struct stream *s, struct stream_publish *p, const struct js_error *e)
{
    if (!p->followed) {
        stream_refuse(s, p, e);
        return;
    }
    s->stats.refused++;
    p->done(p, &(struct stream_ack){.error = e});
}

void copy_publish(struct stream *s, struct stream_publish *p, struct intake *in)
{
    uint64_t duplicate = p->followed ? stream_duplicate_of(s, in) : 0;
    struct js_error e;
    int rc;

    if (duplicate != 0) {
        s->stats.duplicates++;
        p->done(p, &(struct stream_ack){.seq = duplicate, .duplicate = true});
        return;
    }
    if (p->ts_ns != 0) { /* another clock's, perhaps a broken one: nothing is before 1970 */
        in->now_ns = in->ts_ns;
        in->ts_ns = p->ts_ns < 1 ? 1 : p->ts_ns;
    }
    /* A value that means nothing is stored as it is: it must not stop the rest. */
    if (in->h.ttl.len > 0 && ttl_parse(in->h.ttl, s->host->strict, &in->ttl_ns) != 0)
        in->ttl_ns = TTL_NONE;
    in->restored = !p->followed;
    if (s->cfg.allow_rollup && !s->cfg.deny_purge && check_rollup(s, in, &e) != 0)
        in->rollup = ROLLUP_NONE;
    rc = expire_settle(s, in->subject);
    if (rc != 0)
        (void)fail_store(s, rc, &e);
    else if (p->followed && (rc = lifetime_check(s, in, true, &e)) == 0)
        rc = check_followed(s, in, &e);
    if (rc == 0 && (rc = skip_to(s, p->seq)) != 0)
        (void)fail_store(s, rc, &e);
    if (rc == 0)
        rc = store_copy(s, p, in, &e);
    if (rc != 0) {
        refuse_copy(s, p, &e);
        return;
    }
    s->inflight++;
    p->given_seq = in->seq;
}
