/* message.h: one message of a stream, however it was read: by DIRECT.GET, MSG.GET or a consumer. */
#ifndef CLI_DATA_MESSAGE_H
#define CLI_DATA_MESSAGE_H

#include "cli/data/data.h"

struct message {
    natsMsg *msg; /* subject, headers and payload as stored; NULL: none */
    uint64_t seq;
    int64_t time_ns;
    uint64_t pending;   /* behind it, in the consumer that delivered it */
    uint64_t delivered; /* how often it was delivered */
    uint64_t place;     /* its number among the consumer's deliveries */
};
void message_fini(struct message *m);

/* The last message of a subject: by DIRECT.GET, or MSG.GET where the stream does not allow that.
 * If `quiet`, an absent message is no error: 0, and m->msg is NULL.  `what` names it in errors. */
MF_MUSTCHECK int message_get_last(struct cli *c, const char *stream, const char *subject,
                                  const char *what, bool quiet, struct message *m);
/* By MSG.GET with this body, which is taken. */
MF_MUSTCHECK int message_get(struct cli *c, const char *stream, json_t *body, const char *what,
                             bool quiet, struct message *m);
/* A delivery of a consumer: msg is taken.  MF_INVAL if the reply subject is not of a delivery. */
MF_MUSTCHECK int message_from_delivery(natsMsg *msg, struct message *m);

/* Prints the status of an answer that is no message, with its description.  CLI_REFUSED. */
int message_refuse(struct cli *c, natsMsg *m, const char *status);

/* The value of a header, or NULL. */
const char *message_header(const struct message *m, const char *name);
struct mf_slice message_data(natsMsg *msg);
/* Why a key of a bucket has no value: "deleted", "purged", "expired", "removed", or NULL. */
const char *message_end(const struct message *m);

/* Headers sorted by name. */
json_t *message_headers_json(natsMsg *msg);
void message_print_headers(struct cli *c, natsMsg *msg, const char *indent);
/* {"subject", "seq", "time", "headers", "data", "encoding"} */
json_t *message_to_json(const struct message *m);
/* A head line, the headers, the payload. */
void message_print(struct cli *c, const struct message *m);

#endif
