/* erase.h: overwriting the bytes of removed messages: its state, and what the other files of the
 * store call.  All of it is O(1) but erase_committed(), erase_refuse() and erase_fini():
 * O(messages).
 */
#ifndef STORE_ERASE_H
#define STORE_ERASE_H

#include "store/log/record.h"
#include "store/recover/recover.h"

#include "store/store.h"

/* Messages on their way to be overwritten (erase.c): their record is in the group that fills, in
 * the one in flight, on disk; and those being worked on. */
enum erase_stage {
    ERASE_IDLE,
    ERASE_SYNC, /* relaxed mode: their records are being synced */
    ERASE_TELL, /* a commit says that they are */
    ERASE_TOLD, /* relaxed mode: that is being synced */
    ERASE_WIPE, /* a job overwrites */
};
struct eraser {
    enum erase_stage stage;
    struct mf_list filling, in_flight, due, working;
    struct erasure *spare;  /* store_erase_ready() */
    struct record_pos need; /* synced up to here, before it goes on */
    struct store_wait wait;
    struct loop_job *job;
    struct store_io *io;
    struct store_file *first; /* the first segment, if originals of copies may be in it */
    uint64_t first_number, first_key, first_end;
    int status;
    struct mf_error error;
};

void erase_kick(struct store *s);
void erase_notify_scrub(struct store *s); /* what is being overwritten */
/* The group is on disk; where it began. */
void erase_committed(struct store *s, struct record_pos before, uint32_t before_chain);
void erase_refuse(struct store *s, int status); /* all that wait */
bool erase_pending(const struct store *s);      /* some that is on disk is not overwritten yet */
/* Where a checkpoint may begin, so that the replay meets the records of all pending ones: changes
 * *at and *chain if need be; false: not now. */
bool erase_start_of_log(const struct store *s, struct record_pos *at, uint32_t *chain);
MF_MUSTCHECK int erase_restore(struct store *s, const struct recovered_erase *r);
MF_MUSTCHECK int erase_init(struct store *s);
void erase_fini(struct store *s);

#endif
