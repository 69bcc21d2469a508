/* delivery.c: a message becomes bytes in the output of a connection. */
#include "session/delivery.h"

#include "base/clock.h"
#include "proto/proto.h"

/* Header and payload behind the control line, which begins at `at` and ends at `p`. */
static inline ssize_t finish_write(struct delivery_output *o, struct net_conn *conn, uint8_t *at,
                                   uint8_t *p, const struct mf_msg *m, size_t hdr, bool lend)
{
    size_t copied = lend ? 0 : m->payload.len;

    if (hdr > 0) {
        memcpy(p, m->hdr.ptr, hdr);
        p += hdr;
    }
    if (copied > 0) {
        memcpy(p, m->payload.ptr, copied);
        p += copied;
    }
    o->wire_bytes += (size_t)(p - at) + m->payload.len - copied + 2;
    if (lend) {
        net_commit(conn, (size_t)(p - at));
        if (net_lend(conn, m->payload.ptr, m->payload.len) != 0 || net_write(conn, "\r\n", 2) != 0)
            return -1;
    } else {
        *p++ = '\r';
        *p++ = '\n';
        net_commit(conn, (size_t)(p - at));
    }
    return (ssize_t)(hdr + m->payload.len);
}

ssize_t delivery_write(struct delivery_output *o, struct net_conn *conn, struct mf_slice sid,
                       const struct mf_msg *m, bool headers)
{
    size_t hdr = headers ? m->hdr.len : 0;
    bool lend = net_may_lend(conn, m->payload.ptr, m->payload.len);
    size_t room = proto_msg_room(m->subject, sid, m->reply) + hdr + (lend ? 0 : m->payload.len) + 2;
    uint8_t *at = net_reserve(conn, room), *p = at;

    if (MF_UNLIKELY(at == NULL))
        return -1;
    p += proto_msg_line(p, m->subject, sid, m->reply, hdr, m->payload.len);
    return finish_write(o, conn, at, p, m, hdr, lend);
}

ssize_t delivery_write_line(struct delivery_output *o, struct net_conn *conn, size_t room,
                            size_t (*write)(const void *arg, uint8_t *dst), const void *arg,
                            const struct mf_msg *m, bool headers)
{
    size_t hdr = headers ? m->hdr.len : 0;
    bool lend = net_may_lend(conn, m->payload.ptr, m->payload.len);
    uint8_t *at = net_reserve(conn, room + hdr + (lend ? 0 : m->payload.len) + 2);

    if (MF_UNLIKELY(at == NULL))
        return -1;
    return finish_write(o, conn, at, at + write(arg, at), m, hdr, lend);
}

/* The kernel reports room in lumps of up to a megabyte; an honest but slow reader needs a second
 * for one of them. */
#define READ_LEAST  (16u << 10)
#define READ_WITHIN (2 * CLOCK_S)

bool delivery_is_read(struct delivery_output *o, size_t queued, int64_t now_ns)
{
    int64_t read = (int64_t)(o->wire_bytes - queued);

    if (read - o->read >= READ_LEAST) {
        o->read = read;
        o->read_ns = now_ns;
    }
    return now_ns - o->read_ns < READ_WITHIN;
}
