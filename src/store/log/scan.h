/*  scan.h: walks the bytes of one segment, record by record, over damage too.  No I/O: the caller
 * provides the bytes.
 *
 * Linear in the bytes, whatever they hold: a place that cannot be a record is passed by looking
 * at 16 bytes of it, the check over a head (at most 80 bytes) is tested before its data is
 * hashed, and data is hashed while looking for a record only up to four times the segment's size
 * in all.  A store's records do not overlap, so one size is enough for all heads that were ever
 * written.  Further heads would be forged, which requires the store's id; they are skipped. */
#ifndef STORE_SCAN_H
#define STORE_SCAN_H

#include "store/log/record.h"

struct scan {
    const uint8_t *base; /* the segment from its offset 0 */
    uint64_t size;       /* available bytes */
    uint64_t key;        /* record_key() */
    uint64_t offset;     /* the next record */
    uint32_t chain;      /* expected; */
    bool chain_known;    /* false after a stretch, or at a start in the middle */
    bool loose;          /* never judge the chain: every valid record is one */
    bool hollows;        /* SCAN_HOLLOW is wanted; else such a message is no record */
    uint64_t budget;     /* bytes of data that may still be hashed while looking */
};
enum scan_result {
    SCAN_RECORD,  /* *out, at *at; offset and chain moved on */
    SCAN_HOLLOW,  /* *out, at *at, is a message in chain with a good head, but its data is not what
                     was written: scan_pass() or scan_look() must follow */
    SCAN_STRETCH, /* [*at, offset) is no record; a valid one follows at offset, chain unknown */
    SCAN_END, /* no valid record from *at on; *broken: a head there is good but its data is not: an
                 unfinished write */
};
/* Set chain and chain_known afterwards if the record before is known. */
void scan_init(struct scan *s, const uint8_t *base, uint64_t size, uint64_t key, uint64_t offset);
enum scan_result scan_next(struct scan *s, struct record *out, uint64_t *at, bool *broken);
/* Continues behind a hollow message, as behind a record. */
void scan_pass(struct scan *s, const struct record *r);
/* Treats the bytes at `at` as no record: SCAN_STRETCH or SCAN_END. */
enum scan_result scan_look(struct scan *s, uint64_t at);

#endif
