/* image.h: a commit group, and its effects that follow the commit. */
#ifndef STORE_IMAGE_H
#define STORE_IMAGE_H

#include "store/log/ranges.h"
#include "store/log/record.h"

#include "base/buf.h"
#include "store/store_io.h"

struct store_journal;

/* Counts of messages. */
struct totals {
    uint64_t msgs, bytes, flagged[2];
    uint64_t timed, infinite, pinned; /* with a deadline; with these bits */
};
static inline void totals_add(struct totals *t, struct totals d)
{
    t->msgs += d.msgs;
    t->bytes += d.bytes;
    t->flagged[0] += d.flagged[0];
    t->flagged[1] += d.flagged[1];
    t->timed += d.timed;
    t->infinite += d.infinite;
    t->pinned += d.pinned;
}
static inline void totals_sub(struct totals *t, struct totals d)
{
    t->msgs -= d.msgs;
    t->bytes -= d.bytes;
    t->flagged[0] -= d.flagged[0];
    t->flagged[1] -= d.flagged[1];
    t->timed -= d.timed;
    t->infinite -= d.infinite;
    t->pinned -= d.pinned;
}

/* A part of an image that lies in one segment. */
struct extent {
    uint64_t number, key, offset, size; /* size: of the segment, for making it */
    size_t at, len;                     /* in the image */
    struct store_file *file;            /* in: NULL: to be made; out: the file */
    uint32_t blank_id;                  /* its file still has the name of this spare */
    uint32_t version;                   /* of its header */
    bool blank, grown, made;            /* made: with its header */
};
struct moved {
    uint64_t seq, from, to; /* places */
};
/* A commit group: all records that one write and one sync cover.  The worker sees only this
 * struct. */
struct image {
    struct mf_buf buf;
    struct extent *extent;
    size_t extents, extent_cap;
    struct ranges removed, expired; /* leave the index at the commit; soon after */
    bool purge;                     /* the index that was put aside is freed after the commit */
    struct moved *moved;
    size_t moves, moved_cap;
    struct totals added;
    uint64_t new_keys; /* keys without a visible message before this commit */
    uint64_t last_seq;
    struct record_pos end;
    /* The worker's. */
    struct store_io *io;
    uint32_t chain;    /* in: of the record before; out: of the last */
    struct seal *seal; /* NULL: nothing is sealed */
    bool sync;
    bool finished; /* check fields are filled in */
    bool named;    /* a segment got its name, which is not synced yet */
    bool sync_failed;
    bool withdraw;                 /* in: overwrite the written part */
    struct store_journal *journal; /* the group is in it, or may be; NULL: it never was */
    uint8_t id[STORE_ID];
    int64_t now_ns;
    int status;
    struct mf_error error;
};

MF_MUSTCHECK int image_moved(struct image *im, uint64_t seq, uint64_t from, uint64_t to);
MF_MUSTCHECK int image_extent(struct image *im, struct extent x); /* adds one */
void image_fini(struct image *im);

#endif
