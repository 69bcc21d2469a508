/* log_maker.h: logs made by hand, record by record, with segments in memory where a test can reach
 * every byte, and files of them for recovery. */
#ifndef TEST_LOG_MAKER_H
#define TEST_LOG_MAKER_H

#include "store/recover/checkpoint.h"
#include "store/log/record.h"

#define MAKER_SEGMENTS 8
#define MAKER_SIZE     16384u

/* Everything aborts when out of memory. */
struct log_maker {
    uint8_t id[STORE_ID];
    uint64_t number; /* of the segment that is being filled */
    uint32_t chain;
    uint64_t group;
    uint64_t last_seq;
    struct record_mark mark;
    struct record_pos synced; /* what the next commit says */
    uint64_t first_segment;
    bool made[MAKER_SEGMENTS + 1];
    uint64_t end[MAKER_SEGMENTS + 1];
    uint8_t *seg[MAKER_SEGMENTS + 1]; /* MAKER_SIZE bytes each, by number */
};

void maker_init(struct log_maker *m, uint64_t first);
void maker_fini(struct log_maker *m);
struct record_pos maker_pos(const struct log_maker *m); /* where the next record goes */
/* Adds the record as it is, finished; returns where it lies. */
struct record_pos maker_add(struct log_maker *m, const struct record *r);
void maker_seal(struct log_maker *m);    /* and goes on in the next segment */
void maker_prepare(struct log_maker *m); /* an empty segment after the current one */

/* The usual ones, each a batch of its own unless `open`. */
struct record_pos maker_message(struct log_maker *m, uint64_t seq, const char *key,
                                const char *body, int64_t deadline_ns);
struct record_pos maker_open_message(struct log_maker *m, uint64_t seq, const char *key);
struct record_pos maker_copy(struct log_maker *m, uint64_t seq, const char *key, const char *body,
                             int64_t deadline_ns);
struct record_pos maker_remove(struct log_maker *m, uint64_t seq);
struct record_pos maker_range(struct log_maker *m, uint64_t first, uint64_t last);
struct record_pos maker_set(struct log_maker *m, const uint64_t *seq, uint32_t n);
struct record_pos maker_deadline(struct log_maker *m, uint64_t seq, int64_t deadline_ns);
struct record_pos maker_mark(struct log_maker *m, int64_t time_ns, uint64_t seq);
struct record_pos maker_blob(struct log_maker *m, const char *name, const char *bytes);
struct record_pos maker_blob_del(struct log_maker *m, const char *name);
/* Ends a group.  Its synced position is the end of the group before, as in mode `always`. */
struct record_pos maker_commit(struct log_maker *m);

/* The segments as files. */
struct store_io *maker_files(const struct log_maker *m);
void maker_write(struct store_io *io, const char *name, const void *p, size_t n); /* replaces */
size_t maker_read(struct store_io *io, const char *name, uint8_t *dst, size_t cap);
/* A checkpoint of the index at a position of the log. */
void maker_checkpoint(struct store_io *io, const struct checkpoint_head *head,
                      const struct index *ix, struct mf_slice blob_name, struct mf_slice blob);

#endif
