/* store_drive.h: a store and its model, driven together by seed on a loop whose jobs run inline, so
 * that a run can be repeated exactly.  Every call that the store accepts is noted in the model's
 * journal; every waiter that is called commits the journal up to its batch.  Broken rules of
 * waiters (twice, out of order, from inside a call) end the test. */
#ifndef TEST_STORE_DRIVE_H
#define TEST_STORE_DRIVE_H

#include "pick.h"
#include "store_model.h"

#include "secret.h"
#include "store/store.h"

struct drive {
    struct loop *loop;
    bool own_loop;
    struct store_io *io; /* stays when the store is closed */
    void (*io_free)(struct store_io *io);
    struct store *store; /* NULL: closed */
    struct store_opts opts;
    struct model model;
    struct model_state before; /* the open batch */
    struct pick pick;
    int64_t now_ns;
    uint64_t (*clock)(struct store_io *io); /* for the journal's times; NULL: 0 */
    size_t waiting;                         /* waiters to be called */
    struct mf_list open;                    /* they, but reads */
    uint64_t tickets, called;               /* the order of waiters */
    bool inside;                            /* a call into the store is running */
    int failed;                             /* the first status that was not 0 */
    bool failing;                           /* calls may fail, and leave gaps in the sequences */
    unsigned silent;                        /* percent of calls nobody waits for */
    int64_t swept_ns; /* deadlines up to here may be raised: the time of the last expiry */
    /* Expiry under way. */
    unsigned marker_percent, more_percent;
    size_t died;
    int refused;     /* the first code a marker or removal got inside */
    uint64_t stamps; /* given to bodies so far */
};

/* NULL: a loop of its own, with inline jobs.  The io is d's from now on. */
void drive_init(struct drive *d, struct loop *loop, struct store_io *io, const struct store_opts *o,
                uint64_t seed);
void drive_fini(struct drive *d); /* the store is abandoned if it is open */

MF_MUSTCHECK int drive_try_open(struct drive *d, struct mf_error *e); /* and attach */
void drive_open(struct drive *d);
void drive_close(struct drive *d); /* and waits for it */
void drive_abandon(struct drive *d);
void drive_turn(struct drive *d);
void drive_idle(struct drive *d); /* until nothing waits and no job runs */
/* Turns until done(arg), at most for some seconds. */
void drive_until(struct drive *d, bool (*done)(void *arg), void *arg, const char *what);
/* True if it is known which batches are committed: nothing is under way that nobody waits for. */
bool drive_certain(const struct drive *d);

/* The store's answer; the model follows if it is 0. */
int drive_append(struct drive *d, const char *key, size_t head, size_t body, int64_t deadline_ns,
                 uint16_t flags);
int drive_remove(struct drive *d, uint64_t seq);
int drive_erase(struct drive *d, uint64_t seq);
int drive_range(struct drive *d, uint64_t first, uint64_t last);
int drive_set(struct drive *d, const uint64_t *seqs, size_t n);
int drive_touch(struct drive *d, uint64_t seq, int64_t deadline_ns, uint16_t flags);
int drive_blob(struct drive *d, const char *name, size_t len);
int drive_blob_del(struct drive *d, const char *name);
void drive_begin(struct drive *d, bool frees);
int drive_end(struct drive *d);
int drive_checkpoint(struct drive *d);
int drive_scrub(struct drive *d);
int drive_read(struct drive *d, uint64_t seq); /* store_read(), its answer checked */
void drive_time(struct drive *d, int64_t now_ns);
/* Expires up to max, checking each death against the model; markers for some. Returns how many. */
size_t drive_expire(struct drive *d, size_t max, bool *more);

/* A sequence of a live message, by chance; 0: none. */
uint64_t drive_pick_seq(struct drive *d);
void drive_pick_key(struct drive *d, unsigned keys, char dst[MODEL_KEY]);

#endif
