/* reader.h: reads the messages of a stream in order, with a consumer of its own.
 *
 * The consumer is ephemeral and pulled in batches, so memory is bounded however slow the user's
 * terminal is.  reader_close() deletes it; if the tool dies, the server does after a minute.  A
 * live reader survives a restart of the server: it goes on behind the last message it saw. */
#ifndef CLI_DATA_READER_H
#define CLI_DATA_READER_H

#include "cli/data/message.h"

enum reader_from { READER_ALL, READER_LAST_PER_SUBJECT, READER_NEW };

struct reader_options {
    const char *stream;
    const char *filter; /* NULL: all subjects */
    const char *what;   /* names the stream in errors */
    enum reader_from from;
    bool headers_only;
    bool live; /* waits for more; otherwise it ends behind the last message */
    int batch; /* messages in a pull request; 0: 256 */
};

struct reader {
    struct cli *cli;
    struct reader_options o;
    char consumer[64], inbox[CONNECT_INBOX];
    natsSubscription *sub;
    uint64_t pending; /* behind the last message; at first: all that there are */
    uint64_t seq;     /* of the last message */
    uint64_t place;   /* of the last message among the consumer's deliveries */
    int asked;        /* messages that the pull request may still bring */
    int64_t heard_ns; /* when the server last sent anything */
    int64_t lost_ns;  /* when the consumer was found lost, or its next one failed; 0: it is there */
    bool ended;
};

/* 0, or an exit code (printed): then there is nothing to close. */
MF_MUSTCHECK int reader_open(struct reader *r, struct cli *c, const struct reader_options *o);
/* Waits up to wait_ms.  m->msg is NULL if nothing came, and if the end was reached (r->ended).
 * 0 or an exit code, printed.  m is the caller's to message_fini(). */
MF_MUSTCHECK int reader_next(struct reader *r, struct message *m, int64_t wait_ms);
void reader_close(struct reader *r);

#endif
