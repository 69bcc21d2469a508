/* recover.h: builds the state of a store from its files: checkpoint and tail, or the whole log. */
#ifndef STORE_RECOVER_H
#define STORE_RECOVER_H

#include "store/index/index.h"
#include "store/log/record.h"

#include "base/buf.h"
#include "store/store.h"

struct recovered_segment {
    uint64_t number, size;
    uint64_t end;        /* end of its records; its size if it was not read */
    uint64_t live_count; /* messages of the index that lie here */
    uint64_t live_bytes; /* their key, head and body (place_len) */
    uint64_t blobs;      /* current blobs that lie here */
    uint32_t version;    /* of its header; 0: unknown */
};
/* A message whose erasure may be incomplete. */
struct recovered_erase {
    uint64_t seq;
    struct record_pos victim;
};
struct recovered_blob {
    char *name; /* both malloc'd; freed by the new owner */
    uint8_t *bytes;
    size_t name_len, bytes_len;
    uint64_t segment; /* where it lies; the first one, if only the checkpoint knows it */
};

/* All arrays are malloc'd and belong to the caller; recovery_fini() frees those that are still in
 * it. */
struct recovery {
    uint8_t id[STORE_ID];
    bool fresh;            /* the directory held no store: nothing below but damage is set */
    struct index *index;   /* loaded */
    struct recovered_sum { /* of its messages; bytes as place_len() has them */
        uint64_t msgs, bytes, flagged[2];
        uint64_t long_ones; /* those whose length place_len() does not have */
    } sum;
    struct recovered_segment *segment; /* numbers without gaps where nothing is missing */
    size_t segments;
    /* Appends continue here: in the last segment with records, or, if `sealed`, in the next one.
     * A segment after it, if any, is prepared and empty. */
    struct record_pos end;
    bool sealed;
    uint32_t chain;
    uint64_t group, first_segment, last_seq;
    struct record_mark mark;
    int64_t clock_ns;
    struct recovered_blob *blob;
    size_t blobs;
    struct recovered_erase *erase; /* those that the replay met */
    size_t erases;
    struct store_damage *damage;
    size_t damages;
    bool torn;
    struct store_damage torn_at;
    uint64_t records; /* replayed */
    bool from_checkpoint;

    bool plain_checkpoint;     /* there is one, and it is not encrypted */
    uint64_t checkpoint_bytes; /* size of a valid checkpoint; 0: none */
};

/* Reads the directory (locked by the caller), deletes leftovers (*.tmp, segments below the
 * first), cuts a torn tail (commit and seal) and syncs all that may not be synced, so that
 * everything it reports is on disk.  Cost: without a checkpoint the log, with one its tail, and
 * always the last segment and prepared segments after it, to be sure that nothing follows the
 * end.  Memory: one segment is open at a time; the open batch's offsets.  `now_ns` is for the
 * index's wheel.  Damage is no error: the result has the remaining state.  Errors: MF_IO,
 * MF_NOMEM, MF_UNSUPPORTED (a greater version: nothing was touched), MF_DENIED (it is encrypted,
 * and crypt is NULL, or it is that of another store: the same). */
struct crypt; /* store/crypt/crypt.h */
MF_MUSTCHECK int recover(struct recovery *out, struct store_io *io, const struct crypt *crypt,
                         char separator, int64_t now_ns, struct mf_error *e);
void recovery_fini(struct recovery *out);

void segment_name(char dst[32], uint64_t number); /* 0000000000000001.log */
bool segment_number(const char *name, uint64_t *number);

#endif
