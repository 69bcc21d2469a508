/* consumer_backup_impl.h: a consumer in a stream's archive, as JSON (nats-server 2.15's
 * consumers/NAME):
 *
 *     {"config":{...},"state":{"delivered":{"consumer_seq":N,"stream_seq":N},"ack_floor":{the
 * same}, "pending":{"<stream seq>":{"Sequence":N,"Timestamp":ns},...}, "redelivered":{"<stream
 * seq>":deliveries - 1,...}}}
 *
 * Ours adds "next" to the state of one that lists the last message of each subject.  Pure. */
#ifndef BACKUP_CONSUMER_BACKUP_IMPL_H
#define BACKUP_CONSUMER_BACKUP_IMPL_H

#include "base/buf.h"
#include "consumer/consumer.h"

/* Limit of pending and of redelivered messages of a consumer in a backup. */
#define CONSUMER_BACKUP_MAX 1000000u

struct consumer_backup {
    struct consumer_config config;
    struct consumer_saved state; /* .at in mem: a configuration is taken away */
    struct arena mem;
    bool has_config, has_state;
};

/* Appends the document; state as of a stream that ends with last_seq. */
void consumer_backup_write(struct mf_buf *out, struct consumer *c, uint64_t last_seq);
/* Into *b, whatever was in it.  MF_INVAL: not such a document.  After any result
 * consumer_backup_fini().  O(n log n). */
MF_MUSTCHECK int consumer_backup_read(struct mf_slice text, struct consumer_backup *b,
                                      struct mf_error *e);
/* The same of nats-server's file o.dat; st->at in mem, by sequence.  MF_CORRUPT, MF_NOMEM. */
MF_MUSTCHECK int consumer_backup_from_file(struct mf_slice bytes, struct consumer_saved *st,
                                           struct arena *mem);
void consumer_backup_fini(struct consumer_backup *b);
/* Checks that a consumer can have this state.  MF_INVAL: *e.  A floor that a purge has moved past
 * pending messages is moved back: nats-server writes such states, and refuses them. */
MF_MUSTCHECK int consumer_backup_check(struct consumer_backup *b, struct mf_error *e);
void consumer_backup_sort(struct consumer_saved *st); /* its messages, by sequence */
/* Notes that a message was redelivered n times: one of the first `waiting`, which are sorted, or
 * else one that was given up and is added; there must be room. */
void consumer_backup_again(struct consumer_saved *st, size_t waiting, uint64_t sseq, uint64_t n);

#endif
