/* delivery.c: a message becomes bytes in the output of a connection. */
#include "session/delivery.h"

#include "base/clock.h"
#include "proto/proto.h"

ssize_t delivery_write(struct delivery_output *o, struct net_conn *conn, struct mf_slice sid,
                       const struct mf_msg *m, bool headers)
{
    size_t hdr = headers ? m->hdr.len : 0;
    bool lend = net_may_lend(conn, m->payload.ptr, m->payload.len);
    size_t copied = lend ? 0 : m->payload.len;
    size_t room = proto_msg_room(m->subject, sid, m->reply) + hdr + copied + 2;
    uint8_t *at = net_reserve(conn, room), *p = at;

    if (MF_UNLIKELY(at == NULL))
        return -1;
    p += proto_msg_line(p, m->subject, sid, m->reply, hdr, m->payload.len);
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
