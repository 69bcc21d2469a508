/* damage_impl.h: search for damage in the files (scrub.c, patrol.c), and the list of damage found
 * (damage.c). */
#ifndef STORE_DAMAGE_H
#define STORE_DAMAGE_H

#include "store/log/record.h"

#include "base/buf.h"
#include "store/store.h"

/* patrol.c: a store in the ring of its patrol. */
struct patrolled {
    struct mf_list node; /* in no list: it is not in the ring */
    uint64_t slices;     /* number of the piece when it was visited last */
    bool busy;           /* a piece of it is being read */
    struct store_wait saved;
    bool saving; /* a checkpoint is requested, after damage */
};

/* damage.c: a place on disk that was found damaged. */
struct damage {
    struct store_damage pub;
    bool at_open;   /* found by recovery: its messages are not in the index */
    bool counted;   /* `seq` is complete: the messages that lie in it */
    bool uncounted; /* there are more, or memory ran out */
    bool settled;   /* no existing message is affected any more */
    uint64_t *seq;
    size_t seqs, seq_cap;
};

/* All damage that was found, and the census: it counts the messages that lie in the first
 * census_upto places, some in each turn. */
struct damage_list {
    struct damage *at;
    size_t count, cap;
    struct loop_defer census;
    size_t census_upto; /* 0: no census is running */
    uint64_t census_seq;
};

/* A message without its data, until an erase record explains it. */
struct hollow {
    uint64_t segment, offset, length, seq;
};

struct scrubber {
    bool busy;
    struct loop_job *job;
    struct mf_list waits;
    uint64_t number, key, limit, size; /* the segment, and the end of its records */
    uint32_t chain;
    bool chain_known, last; /* last: the log ends here, no seal needed */
    const uint8_t *map;
    struct store_io *io;
    struct store_file *file;
    uint64_t seq; /* the latest message sequence passed, for naming what is lost */
    struct store_damage *found;
    size_t count, cap;
    struct hollow *hollow; /* of all segments so far */
    size_t hollows, hollow_cap;
    struct mf_buf erased;    /* by erase records behind the first of them */
    struct mf_buf meanwhile; /* the loop's: while the scrub is at work */
    bool unread;             /* a file, so erase records may be missing */
    int status;
};

/* damage.c: true if this place was not known yet. */
bool damage_add(struct store *s, const struct store_damage *d);
void damage_count(struct store *s); /* starts a census of the messages in damaged places */
void damage_fini(struct store *s);
/* patrol.c */
void patrol_join(struct store *s);
void patrol_leave(struct store *s);
/* scrub.c, on a worker: of the segment that c describes. */
bool scrub_page_ok(struct scrubber *c, const uint8_t *page);
void scrub_hollow(struct scrubber *c, uint64_t offset, const struct record *r);
/* Reads and walks the whole segment: sets c->found, c->hollow, c->status. */
void scrub_whole(struct scrubber *c,
                 int (*read)(struct scrubber *c, void *dst, size_t n, uint64_t off));
MF_MUSTCHECK int scrub_init(struct store *s);
void scrub_fini(struct store *s);

#endif
