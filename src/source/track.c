/* track.c: which message is the next one. */
#include "source/track_impl.h"

#define FIRST_NS 250000000   /* after the first failure */
#define MOST_NS  10000000000 /* after many */

enum track_verdict track_message(struct track *t, bool mirror, const struct upstream_reply *r)
{
    if (r->deliveries > 1)
        return TRACK_IGNORE;
    if (r->sseq <= t->sseq) {
        if (r->dseq == t->dseq + 1) {
            t->dseq = r->dseq;
            t->at = r->sseq;
        }
        return TRACK_IGNORE;
    }
    /* A gap of the upstream's is one of its own: its consumer counts what it delivers.  A mirror
     * has the same sequences, so what follows directly needs no other proof. */
    if (r->dseq == t->dseq + 1 || (mirror && r->sseq == t->sseq + 1)) {
        t->dseq = r->dseq;
        t->sseq = t->at = r->sseq;
        return TRACK_NEXT;
    }
    return mirror || r->dseq > t->dseq ? TRACK_LOST : TRACK_IGNORE;
}

enum track_verdict track_beat(const struct track *t, uint64_t last_dseq)
{
    return last_dseq > 0 && last_dseq != t->dseq ? TRACK_LOST : TRACK_IGNORE;
}

int64_t track_delay_ns(unsigned fails)
{
    int64_t ns = fails == 0 ? 0 : FIRST_NS;

    for (unsigned i = 1; i < fails && ns < MOST_NS; i++)
        ns *= 2;
    return ns < MOST_NS ? ns : MOST_NS;
}

uint64_t track_lag(uint64_t pending)
{
    return pending == 0 ? 0 : pending - 1;
}
