/* write.h: records that go into the commit group that fills, or into the open commit batch.  A part
 * of store_impl.h. */
#ifndef STORE_WRITE_H
#define STORE_WRITE_H

#include "store/log/image.h"
#include "store/log/record.h"

#include "base/buf.h"
#include "store/store.h"

/* The open commit batch: its records, not yet placed in the log (write.c). */
struct open_batch {
    bool open;
    bool frees;        /* store_begin(): it makes room, and is never held back */
    bool uses_reserve; /* it, or a removal in it, may use the room kept for removals */
    size_t reserved;   /* bytes kept in it for removals to come */
    struct mf_buf buf;
    size_t last;        /* offset of its last record */
    struct moved *msgs; /* seq, from = offset in buf, to = len and flags */
    size_t msg_count, msg_cap;
};

MF_MUSTCHECK int write_check(struct store *s); /* 0, or why nothing can be written */
/* 0: the message can be removed, *id is its entry. */
MF_MUSTCHECK int write_check_removal(struct store *s, uint64_t seq, uint32_t *id);
/* The record, and the ranges that leave the index when its group is committed. */
MF_MUSTCHECK int write_removal(struct store *s, const struct record *r, size_t size);
/* Room to encode one record of this size, in the open batch or at the end of the log.  The record
 * counts when write_close() follows, with no other write in between.  NULL: *code.  at: its place,
 * in a batch its offset there.  frees: it may use the room kept for removals.  A batch keeps room
 * for a time mark. */
uint8_t *write_open(struct store *s, size_t size, bool frees, struct record_pos *at, int *code);
void write_close(struct store *s, uint8_t *p, size_t size);
/* w is called when the group that fills is committed.  NULL, or without done(): nothing. */
void write_add_wait(struct store *s, struct store_wait *w);

#endif
