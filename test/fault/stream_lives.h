/* stream_lives.h: streams with a policy for stream.c: what they are told, and how their lives are
 * shown. */
#ifndef FAULT_STREAM_LIVES_H
#define FAULT_STREAM_LIVES_H

#include "support/pick.h"
#include "support/stream_world.h"

/* A policy by chance; the subjects are k.>, c.* and dead.> then. */
void lives_configure(struct pick *p, struct stream_config *cfg);
/* Something that only a stream with a policy is asked for, to the message seq or beside it; deed
 * says what.  False: nobody is told when it is on disk. */
bool lives_act(struct world *w, struct pick *p, uint64_t seq, char *deed, size_t size);
/* Until links, backfills and deaths that are due have come to their end. */
void lives_settle(struct world *w);
/* All messages, and when each of them ends: replaces what out holds. */
void lives_show(struct world *w, struct mf_buf *out);

#endif
