/* track_impl.h: the position of a follower, and its delays.  Pure; time is a parameter. */
#ifndef SOURCE_TRACK_H
#define SOURCE_TRACK_H

#include "source/upstream_impl.h"

/* The last message received: the upstream's sequence (sseq) and its consumer's (dseq). */
struct track {
    uint64_t sseq, dseq;
    uint64_t at; /* the upstream's sequence of delivery dseq: below sseq while it repeats what is
                    known */
};
enum track_verdict {
    TRACK_NEXT,   /* the next message; *t is past it */
    TRACK_IGNORE, /* it was received before */
    TRACK_LOST,   /* messages are missing: begin again behind t->sseq */
};
enum track_verdict track_message(struct track *t, bool mirror, const struct upstream_reply *r);
/* A heartbeat: the last delivery it knows of; 0: it does not say. */
enum track_verdict track_beat(const struct track *t, uint64_t last_dseq);
/* How long to wait after so many failures in a row. */
int64_t track_delay_ns(unsigned fails);
/* Messages behind this one that are still to come, as infos show them. */
uint64_t track_lag(uint64_t pending);

#define TRACK_ANSWER_NS  30000000000 /* this long an answer is awaited */
#define TRACK_RESET_NS   5000000000  /* one to CONSUMER.RESET */
#define TRACK_SILENCE_NS 10000000000 /* an upstream this silent has failed */
#define TRACK_LOST_NS    1000000000  /* a request as old as this may have been lost with a link */
#define TRACK_PROBE_NS   2000000000  /* after a link came: the upstream is heard of by then */
#define TRACK_NEAR       10          /* fewer to come: as good as caught up */

#endif
