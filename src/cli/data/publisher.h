/* publisher.h: many publishes to one stream, with several publish acks under way.
 *
 * The server stores messages of one connection in their order, whatever number of them waits for
 * an ack.  The first answer that is no publish ack ends the work; messages behind it may be stored
 * all the same.  Memory: PUBLISHER_BYTES, or one message if that is larger. */
#ifndef CLI_DATA_PUBLISHER_H
#define CLI_DATA_PUBLISHER_H

#include "cli/data/data.h"

#define PUBLISHER_BYTES (4 << 20) /* sent, and not acknowledged yet */
#define PUBLISHER_MOST  64        /* messages of them */

struct publisher {
    struct cli *cli;
    const char *what; /* names the stream in errors; the caller's */
    natsSubscription *sub;
    char inbox[CONNECT_INBOX];
    size_t waiting, bytes;        /* without an answer yet */
    size_t sizes[PUBLISHER_MOST]; /* of those, a ring: answers come in the order of the messages */
    size_t first;                 /* the oldest of them */
};

/* 0, or an exit code (printed): then there is nothing to close. */
MF_MUSTCHECK int publisher_open(struct publisher *p, struct cli *c, const char *what);
/* Waits for older acks first if too much is under way.  0 or an exit code, printed. */
MF_MUSTCHECK int publisher_send(struct publisher *p, const char *subject, struct mf_slice bytes);
/* Waits for all acks. */
MF_MUSTCHECK int publisher_finish(struct publisher *p);
void publisher_close(struct publisher *p);

#endif
