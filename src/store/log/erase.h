/* erase.h: overwriting the bytes of removed messages: state and functions for the other files of
 * the store.  All are O(1) except erase_committed(), erase_refuse() and erase_fini():
 * O(messages). */
#ifndef STORE_ERASE_H
#define STORE_ERASE_H

#include "store/log/record.h"
#include "store/recover/recover.h"

#include "store/store.h"

/* Messages to be overwritten (erase.c), in four lists: the erase record is in the group that
 * fills, in the one in flight, committed; or the bytes are being overwritten. */
enum erase_stage {
    ERASE_IDLE,
    ERASE_SYNC,        /* relaxed mode: their records are being synced */
    ERASE_COMMIT,      /* a commit record calls them synced */
    ERASE_COMMIT_SYNC, /* relaxed mode: that record is being synced */
    ERASE_WIPE,        /* a job overwrites */
};
struct eraser {
    enum erase_stage stage;
    struct mf_list filling, in_flight, due, working;
    struct erasure *spare;  /* store_erase_ready() */
    struct record_pos need; /* must be synced up to here before the next stage */
    struct store_wait wait;
    struct loop_job *job;
    struct store_io *io;
    struct store_file *first; /* the first segment, if originals of copies may be in it */
    uint64_t first_number, first_key, first_end;
    bool flushed; /* what shares a group in the commit journal with them is being synced, or is */
    struct store_journal *journal; /* NULL: nothing of the store is in it */
    uint8_t id[STORE_ID];
    int status;
    struct mf_error error;
};

void erase_kick(struct store *s);
void erase_notify_scrub(struct store *s); /* passes it the messages that are being overwritten */
/* The group is committed; before: where it began. */
void erase_committed(struct store *s, struct record_pos before, uint32_t before_chain);
void erase_refuse(struct store *s, int status); /* fails all waiters */
bool erase_pending(const struct store *s);      /* a committed erasure is not overwritten yet */
/* Moves the start of a checkpoint back, if needed, so that the replay meets the records of all
 * pending erasures: changes *at and *chain.  False: no checkpoint now. */
bool erase_start_of_log(const struct store *s, struct record_pos *at, uint32_t *chain);
MF_MUSTCHECK int erase_restore(struct store *s, const struct recovered_erase *r);
MF_MUSTCHECK int erase_init(struct store *s);
void erase_fini(struct store *s);

#endif
