/* segments.h: the files of the log in memory.  A part of store_impl.h; functions: room.h. */
#ifndef STORE_SEGMENTS_H
#define STORE_SEGMENTS_H

#include "store/upkeep_impl.h"

#include "codec/seal.h"

/* Bytes on disk of so many messages with so many bytes of key, head and body; about.  box: of each,
 * if they are sealed. */
static inline uint64_t live_disk(uint64_t bytes, uint64_t msgs, size_t box)
{
    return bytes + (60 + box) * msgs;
}

/* One file of the log. live_* count messages of the index that lie here. */
struct segment {
    uint64_t number, size, key;
    uint64_t end; /* place of the next record, or end of the records */
    uint64_t live_count, live_bytes;
    uint64_t purged_count, purged_bytes; /* of those: in the index that a purge put aside */
    uint64_t blob_bytes;                 /* of the current blobs that lie here, on disk */
    uint32_t blobs;
    struct store_file *file; /* NULL: not made yet (the commit makes it), or missing */
    const uint8_t *map;      /* mapped by the first read */
    uint32_t *seen;   /* epoch when each window of WINDOW bytes was last known to be in memory */
    unsigned readers; /* jobs that use `file` */
    unsigned erasing; /* messages in it that are to be overwritten */
    uint32_t version; /* of its header */
    bool copied;      /* originals of copied live messages may lie here: not for reuse */
    bool dirty;       /* written since the last sync (relaxed modes) */
    bool missing;     /* damage: the file is missing */
    bool blank;       /* it still has a spare's name, blank_id, and no header */
    bool grown;       /* as of a blank */
    uint32_t blank_id;
    int64_t opened_mono_ns; /* when it became the current one */
};

/* Bytes on disk of its live messages and blobs. */
static inline uint64_t segment_live(const struct segment *seg)
{
    size_t box = seg->version >= SEGMENT_CRYPT ? SEAL_ROOM : 0;

    return live_disk(seg->live_bytes, seg->live_count, box) + seg->blob_bytes;
}

/* Segments by number, without gaps: at[number - first].  O(1). */
struct segments {
    struct segment **at;
    size_t count, cap, head;
    struct segment *kept; /* segs_prepare() */
    struct blank ahead;   /* the next segment's file, made where there was no spare */
    uint32_t blanks;      /* names given to spares */
    uint64_t made_blind;  /* the commit makes this segment's file; 0: none */
};

#endif
