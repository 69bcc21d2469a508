/* log_writer.h: a tiny writer of docs/disk-format.md into files in memory, written from that page
 * alone, with a naive model of what then lives.  For tests of what reads such files. */
#ifndef TEST_LOG_WRITER_H
#define TEST_LOG_WRITER_H

#include "base/base.h"

#define LW_FILES 24
#define LW_SEQS  512 /* the model knows sequences below this */
#define LW_BLOBS 8

struct lw_file {
    char name[32];
    uint8_t *data;
    size_t size;
};

struct lw_msg {
    bool alive;
    int64_t deadline;
    uint64_t place;
    char key[32];
};

struct lw_blob {
    char name[32], body[64];
};

struct log_writer {
    uint8_t id[16];
    struct lw_file file[LW_FILES];
    size_t files, segment_size;
    uint64_t segment, offset; /* where the next record goes; segment 0: none yet */
    uint32_t chain;
    bool keep_model; /* off: what is written next will be lost */
    /* What the next commit says. */
    uint64_t group, synced_segment, synced_offset, first, last;
    int64_t mark_t, clock;
    uint64_t mark_s;
    struct lw_msg msg[LW_SEQS];
    struct lw_blob blob[LW_BLOBS];
};

void lw_init(struct log_writer *w, size_t segment_size);
void lw_fini(struct log_writer *w);

struct lw_file *lw_file(struct log_writer *w, const char *name); /* NULL: there is none */
struct lw_file *lw_segment_file(struct log_writer *w, uint64_t number);
struct lw_file *lw_create(struct log_writer *w, const char *name, size_t size); /* zeros */
void lw_unlink(struct log_writer *w, const char *name);
void lw_header(struct log_writer *w, uint64_t number);   /* both copies */
void lw_reheader(struct log_writer *w, uint64_t number); /* after a change: the first one's check */

/* Prepares the next segment and goes there; lw_roll seals the one before. */
void lw_segment(struct log_writer *w);
void lw_roll(struct log_writer *w);

/* Any record: fields are the fixed part behind the common 16 bytes; the data check (when `data` is
 * not NULL) goes to its last 8 bytes.  Returns its offset. */
uint64_t lw_record(struct log_writer *w, uint8_t type, uint8_t bits, uint16_t flags,
                   const uint8_t *fields, size_t fields_len, const void *data, size_t data_len);

/* end: the last record of its batch. */
uint64_t lw_message(struct log_writer *w, uint64_t seq, int64_t deadline, const char *key,
                    const char *body, bool end);
uint64_t lw_copy(struct log_writer *w, uint64_t seq, bool end);
uint64_t lw_removal(struct log_writer *w, uint64_t seq, bool end);
uint64_t lw_range(struct log_writer *w, uint64_t first, uint64_t last, bool end);
uint64_t lw_set(struct log_writer *w, const uint64_t *seqs, uint32_t count, bool end);
uint64_t lw_deadline(struct log_writer *w, uint64_t seq, int64_t deadline, bool end);
uint64_t lw_mark(struct log_writer *w, int64_t t, uint64_t s, bool end);
uint64_t lw_blob(struct log_writer *w, const char *name, const char *body,
                 bool end); /* NULL: del */
/* Ends a group; what it says of synced is the end of the group before. */
uint64_t lw_commit(struct log_writer *w);
uint64_t lw_commit_clean(struct log_writer *w); /* synced is its own position */
uint64_t lw_seal(struct log_writer *w);

/* A checkpoint of the model as it is now, as if taken at this position (which may be earlier). */
void lw_checkpoint(struct log_writer *w, uint64_t segment, uint64_t offset, uint32_t chain);
/* After a change of its bytes: the checks of header and blocks. */
void lw_checkpoint_seal(struct log_writer *w);

/* A store of two segments with every kind of record; clean: closed as a server closes it. */
void lw_all_kinds(struct log_writer *w, bool clean);

uint64_t lw_alive(const struct log_writer *w);
uint64_t lw_blobs(const struct log_writer *w);

#endif
