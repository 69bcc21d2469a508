/* export_header.c: the header of a message that leaves the stream for a mirror, source or backup.
 *
 * Policies and requests put deadlines into records, not into headers.  Receivers know only
 * timestamp, header and max_age: where these do not give the deadline, Nats-TTL is written. */
#include "stream/lifetime_impl.h"

#include "base/clock.h"

/* Deadlines are stored to the millisecond at least. */
#define SAME_NS CLOCK_MS

/* The header of the message, as who restores it here would read it. */
static int64_t read_ttl(const struct stream *s, struct mf_slice hdr)
{
    struct mf_slice value;
    int64_t ttl = TTL_NONE;

    if (hdr.len == 0 || (!s->cfg.allow_msg_ttl && s->policy == NULL) ||
        !header_get(hdr, "Nats-TTL", &value) || ttl_parse(value, s->host->strict, &ttl) != 0)
        return TTL_NONE;
    return ttl;
}

static bool same_end(int64_t a_ns, int64_t b_ns)
{
    if (a_ns == 0 || b_ns == 0)
        return a_ns == b_ns;
    return a_ns - b_ns < SAME_NS && b_ns - a_ns < SAME_NS;
}

static void put_ttl(const struct stream_msg *m, int64_t deadline_ns, struct mf_buf *out)
{
    uint8_t text[20];
    int64_t seconds = (deadline_ns - m->ts_ns + CLOCK_S - 1) / CLOCK_S;

    header_set(out, m->hdr, "Nats-TTL",
               mf_slice(text, proto_put_u64(text, (uint64_t)(seconds > 0 ? seconds : 1))));
}

bool stream_export_header(struct stream *s, const struct stream_msg *m, struct mf_buf *out)
{
    struct stream_lifetime life;
    int64_t own = read_ttl(s, m->hdr);

    if (!stream_lifetime(s, m->seq, &life))
        return false;
    if (life.infinite) {
        if (own == TTL_NEVER)
            return false;
        header_set(out, m->hdr, "Nats-TTL", MF_LIT("never"));
        return true;
    }
    /* During a re-deadline job some deadlines are still those of the former configuration. */
    if ((s->redeadline != NULL && !life.pinned) ||
        same_end(life.deadline_ns, expire_deadline(s, m->ts_ns, own)))
        return false;
    if (life.deadline_ns != 0)
        put_ttl(m, life.deadline_ns, out);
    else if (own != TTL_NONE) /* nor is it infinite: no rule decided */
        header_remove(out, m->hdr, "Nats-TTL");
    return life.deadline_ns != 0 || own != TTL_NONE;
}
