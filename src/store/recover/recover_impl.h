/* recover_impl.h: what the files of recovery share.
 *
 *     recover.c        the plan: checkpoint and tail, or the whole log
 *     recover_files.c  the directory: names, headers, whose store it is, bytes of a segment
 *     recover_log.c    the log in order: damage, tears, the end
 *     recover_apply.c  what a record does: batches, index, blobs
 *     recover_end.c    the result
 *     recover_disk.c   what is left to do on disk */
#ifndef STORE_RECOVER_IMPL_H
#define STORE_RECOVER_IMPL_H

#include "store/recover/checkpoint.h"
#include "store/recover/recover.h"
#include "store/log/scan.h"

#include "base/list.h"
#include "codec/seal.h"
#include "base/table.h"

enum seg_state {
    SEG_GOOD,
    SEG_HALF,    /* one copy of the header is bad */
    SEG_BLIND,   /* both are, or of another number: its name and the other files decide */
    SEG_FOREIGN, /* of another store */
};
struct seg {
    uint64_t number;
    uint64_t bytes; /* available bytes that may be records: at most size */
    uint64_t size;  /* by the header; of the file, if that is bad */
    uint64_t key;
    enum seg_state state;
    uint32_t bad_at;  /* SEG_HALF */
    uint32_t version; /* 0: no good header */
    bool bare;        /* then: a record counted that is not encrypted */
    bool headed;      /* id is from a good header */
    uint8_t id[STORE_ID];
    bool looked; /* recover_seg_look() was here: */
    bool any;    /* it holds valid records */
    uint64_t end;
    uint64_t live_count, live_bytes, blobs;
    uint64_t lost_first, lost_last; /* sequences of the index beyond the available bytes */
    bool aside;                     /* not part of the log, and not to be deleted */
};
static inline bool seg_readable(const struct seg *s)
{
    return s->state <= SEG_BLIND;
}

struct damages {
    struct store_damage *at;
    size_t count, cap;
};
/* Entries of the index that lie in a missing segment. */
struct stray {
    uint64_t number, first_seq, last_seq;
};
struct strays {
    struct stray *at;
    size_t count, cap;
    bool failed; /* out of memory */
};

/* An erase record: its place, and the place of its message. */
struct erase {
    uint64_t seq;
    struct record_pos at, victim;
};
struct erases {
    struct erase *at;
    size_t count, cap;
};

/* A blob's latest value; its bytes are its own or lie in the segment that is open. */
struct rblob {
    struct table_node node;
    struct mf_list borrowed; /* in pass.borrowed, or in no list */
    uint8_t *own;
    struct mf_slice bytes;
    uint64_t segment; /* 0: known from the checkpoint only */
    bool deleted;
    size_t name_len;
    char name[];
};

/* One attempt to read the log.  `cut` is where the last record that counts ends; the records of an
 * open batch lie between it and the scan. */
struct pass {
    struct index *ix;
    struct table blobs;
    struct mf_list borrowed;
    struct damages damage;
    size_t open;    /* damages from here on wait for the sequence after them */
    uint64_t start; /* number of the segment where it began */
    uint64_t seen;  /* the greatest sequence of the log so far; 0: unknown */
    uint64_t last_seq, group, first, records;
    struct record_mark mark;
    int64_t clock_ns;
    struct record_pos synced;  /* by all commits seen, */
    struct record_pos counted; /* by those that count */
    bool ahead;                /* synced knows the rest of the log too, and excuses does: */
    struct erases excuses;     /* erase records of the rest of the log, by sequence */
    struct erases erased;      /* those that count, in order */
    uint32_t chain;
    bool chain_known;
    uint64_t *batch; /* offsets of the open batch */
    size_t batched, batch_cap;
    struct record_pos cut;
    uint32_t cut_chain;
    uint8_t cut_type; /* 0: nothing counts yet; CUT_DAMAGE */
    bool tied;        /* the last commit calls all before itself synced, and only a seal follows */
    bool ended, torn;
    struct record_pos torn_at;
};
#define CUT_DAMAGE 255

struct recover {
    struct store_io *io;
    struct mf_error *e;
    struct seal *opener;  /* NULL: there is no key */
    const uint8_t *owner; /* the id of the store that the key belongs to; NULL, too */
    struct mf_buf plain;  /* an opened record */
    char separator;
    int64_t now_ns;
    struct seg *seg; /* ascending */
    size_t segs, seg_cap;
    struct mf_buf tmp; /* names of leftovers, each with its NUL */
    bool checkpoint;   /* a checkpoint with a valid head exists: */
    struct checkpoint_head cp;
    uint64_t cp_bytes; /* 0: it was not loaded */
    bool id_known;
    uint8_t id[STORE_ID];
    struct damages damage; /* of the checkpoint: holds for every pass */
    struct pass pass;
    struct strays strays;
    struct recovered_sum sum;
    bool seal;   /* to be written at pass.cut, after a commit if there is room */
    bool knot;   /* to be made: a segment with that commit and seal, and nothing else */
    size_t kept; /* segments [first_kept, first_kept + kept) are the log and what is prepared */
    size_t first_kept;
    struct record_pos end;
    bool sealed;
    uint32_t chain;
};

/* recover_files.c */
MF_MUSTCHECK int recover_files_list(struct recover *r);
MF_MUSTCHECK int recover_files_heads(struct recover *r); /* MF_UNSUPPORTED: a greater version */
int recover_fail_sealed(struct recover *r, const char *file); /* MF_DENIED */
void recover_files_owner(struct recover *r);                  /* settles id, state and key of all */
size_t recover_files_at(const struct recover *r, uint64_t number); /* the first at or after */
struct seg_bytes {
    const uint8_t *base;
    uint64_t size;
    bool mapped;
};
MF_MUSTCHECK int recover_seg_open(struct recover *r, const struct seg *s, struct seg_bytes *out);
void recover_seg_close(struct recover *r, struct seg_bytes *b);
MF_MUSTCHECK int recover_seg_blank(struct recover *r, const struct seg *s, bool *blank);
MF_MUSTCHECK int recover_files_damage(struct recover *r, struct damages *d, const char *file,
                                      uint64_t offset, uint64_t length, const char *what);
MF_MUSTCHECK int recover_seg_damage(struct recover *r, struct damages *d, uint64_t number,
                                    uint64_t offset, uint64_t length, const char *what);

/* recover_log.c: reads from this place to the end of the log. */
MF_MUSTCHECK int recover_log_walk(struct recover *r, uint64_t number, uint64_t offset);
/* Facts from one segment alone: synced position, number of the commit group. */
struct seg_facts {
    struct record_pos synced;
    uint64_t group;
    bool any;
    struct erases *erases; /* those before the seal are added here; NULL: not wanted */
    bool nomem;            /* not all of them were */
};
MF_MUSTCHECK int recover_seg_look(struct recover *r, size_t i, struct seg_facts *out);

/* recover_apply.c */
MF_MUSTCHECK int recover_pass_begin(struct recover *r);
void recover_pass_fini(struct pass *p);
MF_MUSTCHECK int recover_pass_record(struct recover *r, const struct seg *s,
                                     const struct scan *at_end, uint64_t at,
                                     const struct record *rec, bool hollow);
MF_MUSTCHECK int recover_erases_add(struct erases *e, const struct erase *x);
/* The open batch lost its end to damage: its remaining records count. */
MF_MUSTCHECK int recover_pass_batch(struct recover *r, const struct seg *s, const struct scan *sc);
MF_MUSTCHECK int recover_pass_blob(struct pass *p, struct mf_slice name, struct mf_slice bytes,
                                   uint64_t segment, bool deleted);
MF_MUSTCHECK int recover_pass_own_blobs(struct pass *p); /* before their segment is closed */
void recover_pass_seen(struct pass *p, uint64_t seq, uint64_t lost_to);

/* No commit calls any of it synced: a bad header is the result of a crash, not damage. */
static inline bool seg_unsynced(const struct recover *r, const struct seg *s)
{
    struct record_pos start = {s->number, SEGMENT_PAGE};

    return record_pos_cmp(start, r->pass.synced) >= 0;
}

/* recover_end.c */
MF_MUSTCHECK int recover_end_index(struct recover *r);
MF_MUSTCHECK int recover_end_result(struct recover *r, struct recovery *out);

/* recover_disk.c */
#define KNOT_SIZE (2u * SEGMENT_PAGE)
#define TIE_SIZE  (RECORD_COMMIT_SIZE + RECORD_SEAL_SIZE)
MF_MUSTCHECK int recover_end_disk(struct recover *r);
#endif
