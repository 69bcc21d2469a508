/* counter_impl.h: the table of counters (counter.c) and the publishes that wait for one
 * (counter_park.c). */
#ifndef COUNTER_IMPL_H
#define COUNTER_IMPL_H

#include "stream/stream_impl.h"

#include "base/table.h"

/* The known value of one subject, from its message `seq`.  It is valid only while that is the
 * subject's last accepted message, so every other change of the subject makes it void. */
struct counter {
    struct table_node node;
    struct mf_list used; /* the least recently used first */
    uint64_t seq;
    uint64_t stage; /* counters.stage: of the batch under way; its message is not stored yet */
    bool broken;    /* the message holds no number */
    char *value;    /* NUL-terminated */
    char *sources;  /* Nats-Counter-Sources, handed on from message to message; NULL: none */
    size_t size;    /* bytes of all of it */
    size_t subject_len;
    char subject[];
};

struct counters {
    struct table table;
    struct mf_list used;
    size_t size;
    uint64_t stage; /* 0: no batch is under way */
    uint64_t stages, staged_seq;
    struct mf_buf sum, payload, hdr;
    struct mf_buf told; /* counter_source.c: the header of the message under way */
    /* counter_park.c */
    struct mf_list parked;
    size_t parked_size;
    struct parked *replaying;
    bool blocked, busy;
    struct stream_load load;
    struct store_wait wait;
    struct stream *stream;
};

struct counters *counter_table(struct stream *s); /* made at the first call; NULL: no memory */
/* The value of a subject.  0: *out, or NULL: there is none, it is zero.  MF_DENIED: broken.
 * MF_AGAIN: *seq has to be read from disk.  MF_NOTFOUND: *seq is not on disk yet. */
int counter_find(struct stream *s, struct mf_slice subject, struct counter **out, uint64_t *seq);
/* Appends the number a payload {"val":"N"} holds.  MF_INVAL: it holds none. */
MF_MUSTCHECK int counter_value_read(struct mf_slice payload, struct mf_buf *out);
/* Remembers the value of a stored message. */
void counter_learn(struct stream *s, const struct stream_msg *m);

#endif
