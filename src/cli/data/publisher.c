/* publisher.c: many publishes to one stream, with several publish acks under way. */
#include "cli/data/publisher.h"

int publisher_open(struct publisher *p, struct cli *c, const char *what)
{
    natsStatus s;
    int rc = connect_open(c);

    *p = (struct publisher){.cli = c, .what = what};
    if (rc != 0)
        return rc;
    connect_make_inbox(c, p->inbox);
    s = natsConnection_SubscribeSync(&p->sub, connect_get(c), p->inbox);
    return s == NATS_OK ? 0 : connect_fail(c, s, "publish to %s", what);
}

static int take_ack(struct publisher *p)
{
    natsMsg *reply = NULL;
    json_t *ack = NULL;
    int rc = request_wait(p->cli, p->sub, p->what, &reply);

    if (rc != 0)
        return rc;
    rc = data_read_ack(p->cli, reply, p->what, &ack, NULL);
    natsMsg_Destroy(reply);
    json_decref(ack);
    p->bytes -= p->sizes[p->first];
    p->first = (p->first + 1) % PUBLISHER_MOST;
    p->waiting--;
    return rc;
}

int publisher_send(struct publisher *p, const char *subject, struct mf_slice bytes)
{
    natsStatus s;
    int rc;

    while (p->waiting > 0 &&
           (p->waiting == PUBLISHER_MOST || p->bytes + bytes.len > PUBLISHER_BYTES))
        if ((rc = take_ack(p)) != 0)
            return rc;
    s = natsConnection_PublishRequest(connect_get(p->cli), subject, p->inbox, bytes.ptr,
                                      (int)bytes.len);
    if (s != NATS_OK)
        return connect_fail(p->cli, s, "publish to %s", p->what);
    p->sizes[(p->first + p->waiting) % PUBLISHER_MOST] = bytes.len;
    p->waiting++;
    p->bytes += bytes.len;
    return 0;
}

int publisher_finish(struct publisher *p)
{
    int rc = 0;

    while (rc == 0 && p->waiting > 0)
        rc = take_ack(p);
    return rc;
}

void publisher_close(struct publisher *p)
{
    natsSubscription_Destroy(p->sub);
}
