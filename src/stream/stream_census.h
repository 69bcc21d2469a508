/* stream_census.h: the messages of some subjects counted by state, and in groups by the first
 * tokens of their subjects.
 *
 * A census visits the tree of subjects and the messages of each, in steps, over several turns: a
 * step is a node of the tree or a message, some ten nanoseconds each.  Nothing is read but the
 * times of at most STREAM_CENSUS_TIMES messages, and only for groups.  Memory: 200 KB, however many
 * messages and groups there are.  Messages that are stored or removed meanwhile are counted or not.
 * Once its stream is closed only stream_census_free() may follow. */
#ifndef MAYFLY_STREAM_CENSUS_H
#define MAYFLY_STREAM_CENSUS_H

#include "stream/stream_ahead.h"

#define STREAM_CENSUS_TIMES  8192u
#define STREAM_CENSUS_GROUPS 100u

struct stream_census_sum {
    struct stream_lives lives;
    uint64_t bytes;        /* as STREAM.INFO counts them */
    uint64_t with_bytes;   /* those of messages with a deadline */
    uint64_t ending[2];    /* messages that end within an hour, within a day */
    uint64_t ending_bytes; /* within a day */
    int64_t next_ns;       /* the first deadline; 0: none */
    uint64_t overdue;      /* overdue messages; not in the other counts */
};
struct stream_group {
    char *prefix; /* the first tokens */
    uint64_t items, with, without, infinite, bytes;
    int64_t age_p50_s, age_p99_s; /* from its timestamp to the beginning of the census */
};

struct stream_census;
/* filter: of these subjects; empty: of all.  depth: tokens of a group's prefix; 0: no groups.
 * NULL: out of memory. */
struct stream_census *stream_census_new(struct stream *s, struct mf_slice filter, unsigned depth);
/* The message whose time is needed next; 0: no more.  Then stream_census_time() sets it, with 0
 * where it cannot be read.  Before the first stream_census_step(). */
uint64_t stream_census_wants(struct stream_census *c);
void stream_census_time(struct stream_census *c, uint64_t seq, int64_t ts_ns);
/* 0: it is there.  MF_AGAIN: more is to be done.  MF_NOMEM. */
MF_MUSTCHECK int stream_census_step(struct stream_census *c, size_t steps);
void stream_census_sum(const struct stream_census *c, struct stream_census_sum *out);
/* The STREAM_CENSUS_GROUPS largest by bytes, in that order; valid as long as the census is.  A
 * prefix that is itself a subject and so small that it was among the 256 largest in none of its
 * two parts may lack one of them. */
size_t stream_census_groups(struct stream_census *c, const struct stream_group **out);
bool stream_census_is_grouped(const struct stream_census *c);
bool stream_census_sampled(const struct stream_census *c); /* ages: not every time was read */
uint64_t stream_census_steps(const struct stream_census *c);
void stream_census_free(struct stream_census *c); /* NULL is fine */

#endif
