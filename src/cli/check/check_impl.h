/* check_impl.h: shared by the files of `mayfly check`. */
#ifndef CLI_CHECK_IMPL_H
#define CLI_CHECK_IMPL_H

#include "cli/check/check.h"
#include "cli/check/check_model.h"

#define HEADER_PAGE     4096u
#define HEADER_COPY     2048u /* where the second copy stands */
#define HEADER_BYTES    64u
#define MAX_SEGMENT     (UINT64_C(1) << 27) /* a checkpoint's place cannot name what lies behind */
#define FORMAT_VERSION  3u                  /* of segments */
#define FLAGS_VERSION   3u                  /* from here on a re-deadline may have flags */
#define CP_VERSION      2u                  /* of checkpoints */
#define MAX_FIXED       80u
#define CHECKPOINT_NAME "checkpoint"

static inline uint16_t rd16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}
static inline uint32_t rd32(const uint8_t *p)
{
    return (uint32_t)rd16(p) | (uint32_t)rd16(p + 2) << 16;
}
static inline uint64_t rd64(const uint8_t *p)
{
    return (uint64_t)rd32(p) | (uint64_t)rd32(p + 4) << 32;
}

struct check_pos {
    uint64_t segment, offset;
};
static inline bool pos_before(struct check_pos a, struct check_pos b)
{
    return a.segment != b.segment ? a.segment < b.segment : a.offset < b.offset;
}
static inline bool pos_equal(struct check_pos a, struct check_pos b)
{
    return a.segment == b.segment && a.offset == b.offset;
}

/* --- records (check_record.c) ----------------------------------------------------------------- */

enum rec_type {
    REC_MESSAGE = 1,
    REC_COPY,
    REC_REMOVAL,
    REC_RANGE,
    REC_SET,
    REC_DEADLINE,
    REC_MARK,
    REC_COMMIT,
    REC_SEAL,
    REC_BLOB,
    REC_ERASE
};
enum rec_why { REC_OK, REC_NO_ROOM, REC_NO_RECORD, REC_BAD_CHECK, REC_BAD_DATA, REC_OUT_OF_CHAIN };

/* A record whose fixed part is in order; p borrows from the segment's buffer. */
struct rec {
    const uint8_t *p;
    uint64_t offset;
    uint32_t length, padded, fixed, check, chain;
    uint8_t type;
    bool last; /* of its batch */
    uint16_t flags;
};

uint64_t check_rec_key(const uint8_t store_id[16], uint64_t segment);
/* The fixed part at p; room: bytes up to the segment's end (80 or all of them can be read).  At
 * most 80 bytes are hashed, so trying every offset of a segment stays linear. */
enum rec_why check_rec_fixed(const uint8_t *p, uint64_t room, uint64_t offset, uint64_t key,
                             struct rec *out);
/* Then, with all r->padded bytes there: the data. */
enum rec_why check_rec_data(const struct rec *r, uint64_t key);
const char *check_rec_why_text(enum rec_why why);
const char *check_rec_type_text(uint8_t type);

/* --- files (check_segments.c) ----------------------------------------------------------------- */

struct seg {
    uint64_t number;
    uint64_t actual; /* the file's size */
    uint64_t size;   /* as the header says; actual when there is no usable header */
    uint8_t id[16];
    uint32_t version; /* 0: unknown */
    bool copy_ok[2];  /* header copies */
    bool usable;      /* one of them is right and of this store */
    bool differ;      /* both right, not the same */
};

struct ctx {
    const struct check_source *src;
    const struct check_opts *o;
    struct check_result *res;
    struct seg *seg; /* ascending */
    size_t segs, seg_cap;
    bool has_checkpoint, nomem;
    uint64_t done, total; /* progress */
    /* The segment being read: bytes [0, loaded) of buf are there, up to limit. */
    uint8_t *buf;
    size_t buf_cap;
    size_t cur;
    uint64_t loaded, limit, key;
    /* The sequences that erase records name, ascending: of the reading before this one. */
    uint64_t *erased;
    size_t erased_count;
};

/* Where the record of a message lies; 0, 0: nowhere. */
static inline struct check_pos entry_pos(const struct ctx *c, const struct entry *en)
{
    if (en->segment == NO_SEGMENT)
        return (struct check_pos){0, 0};
    return (struct check_pos){c->seg[en->segment].number, (uint64_t)en->off8 * 8};
}

void check_seg_name(char dst[24], uint64_t number);
/* Lists the files, reads the headers. */
MF_MUSTCHECK int check_seg_scan(struct ctx *c, struct mf_error *e);
/* Decides on the store's id (cp_id: the checkpoint's, or NULL) and which headers are usable. */
void check_seg_choose_id(struct ctx *c, const uint8_t *cp_id);
/* Reports findings about headers and sizes, after the log was read. */
void check_seg_report(struct ctx *c, struct check_pos synced, uint64_t first);
MF_MUSTCHECK int check_seg_begin(struct ctx *c, size_t index, struct mf_error *e);
MF_MUSTCHECK int check_seg_load(struct ctx *c, uint64_t upto, struct mf_error *e);
/* The first segment not below number; c->segs when there is none. */
size_t check_seg_at_or_after(const struct ctx *c, uint64_t number);
void check_progress(struct ctx *c, uint64_t bytes);

/* --- the checkpoint (check_checkpoint.c, check_compare.c) ------------------------------------- */

struct cp {
    bool header_ok;  /* and with it all below */
    bool usable;     /* all of it is in order */
    bool bits;       /* entries may have some */
    const char *why; /* it is not; NULL while it is */
    uint64_t why_offset, why_length;
    uint8_t id[16];
    struct check_pos pos;
    uint32_t chain;
    uint64_t messages, blobs, last_seq, mark_s, first, size;
    int64_t mark_t, clock;
    bool at_record;     /* the log has a record boundary at pos */
    bool chain_differs; /* and the record before it is another one */
};

/* The header. */
MF_MUSTCHECK int check_cp_open(struct ctx *c, struct cp *cp, struct mf_error *e);
/* Reads the blocks into m; clears cp->usable where one is damaged. */
MF_MUSTCHECK int check_cp_load(struct ctx *c, struct cp *cp, struct model *m, struct mf_error *e);
void check_cp_bad(struct cp *cp, uint64_t offset, uint64_t length, const char *why);

/* --- reading the log (check_log.c, check_rules.c) --------------------------------------------- */

/* Records that damage may hide (check_doubt.c; docs/disk-format.md, "Repair").  A position 0, 0:
 * none. */
struct doubt {
    bool want;              /* of `mayfly check --repair`: lost messages are entered, too */
    struct check_pos about; /* the last damage in which a removal or a new deadline may lie */
    struct check_pos blobs; /* the last one in which a blob may lie */
    int64_t mark_t;         /* the mark before the first such damage */
    uint64_t mark_s;
    bool marked;
    uint64_t first_seq; /* of the first message that is no copy; 0: none was seen */
    uint64_t unseen;    /* sequences that may have been given in damage since the last commit */
    /* Messages before `about` that a record behind it shows to be live. */
    uint64_t *alive;
    size_t count, cap;
};

struct run {
    struct ctx *c;
    struct model *m;
    bool quiet; /* second reading: report and count nothing */
    /* Assumed, and what the commits really say. */
    struct check_pos synced, seen_synced;
    uint64_t first, seen_first;
    bool seen_commit;
    uint64_t *seen_erased; /* in the order of the log */
    size_t seen_erased_count, seen_erased_cap;
    uint64_t hollow;     /* messages without their data that no erase record was known for */
    uint64_t unfinished; /* erased messages that still hold some of their data */
    struct cp *cp;       /* whose position is looked for; NULL: none */
    /* Where reading is. */
    uint32_t chain;
    bool chain_known, batch_open;
    uint64_t batch_start;
    size_t unresolved; /* damage from here on waits for its last sequence */
    /* For the rules. */
    bool last_known, any_group;
    uint64_t group, commit_first;
    /* The end. */
    bool ended, follows;
    uint8_t last_type; /* of the last record that counts; 0: none */
    bool tied; /* the last commit calls all before itself synced, and only a seal follows it */
    struct check_pos end, stop;
    struct doubt doubt;
};

/* Damage [p, p + length): `rec` is the only record in it, with a good fixed part; NULL: there may
 * be anything in it. */
MF_MUSTCHECK int check_doubt_damage(struct run *r, struct check_pos p, uint64_t length,
                                    const struct rec *rec);
/* May a later deadline of this message be hidden?  Not if a mark from before the damage took it. */
bool check_doubt_deadline(const struct run *r, uint64_t seq, const struct entry *en);
MF_MUSTCHECK int check_doubt_redeadline(struct run *r, uint64_t seq);
/* May a removal or a new deadline of this message, the record of which lies at p, be hidden? */
bool check_doubt_covers(const struct doubt *d, struct check_pos p, uint64_t seq);
void check_doubt_settle(struct doubt *d); /* before the first check_doubt_covers() */
void check_doubt_fini(struct doubt *d);

/* Reads from `from` on to the end of the log into r->m. */
MF_MUSTCHECK int check_log_run(struct run *r, struct check_pos from, struct mf_error *e);
/* Hands the erase records of this reading to the next one; false: they were known. */
bool check_log_erased(struct run *r);
/* Only looks for commits, from the last segment backwards until one has any. */
MF_MUSTCHECK int check_log_guess(struct run *r, struct mf_error *e);
void check_rules_record(struct run *r, const struct rec *rec);
/* A batch is open where none may be. */
void check_rules_open_batch(struct run *r, const struct rec *rec);

/* Summary of a log, small enough to be kept while the checkpoint is replayed. */
struct summary {
    struct line *line; /* ascending; only when wanted */
    size_t lines;
    struct model blobs; /* nothing but its blobs */
};
/* Fills res->live and the live columns of res->segment; moves the blobs out of m. */
MF_MUSTCHECK int check_live_count(struct ctx *c, struct model *m, bool want_lines,
                                  struct summary *out);
void check_summary_fini(struct summary *s);
uint64_t check_live_line(const struct ctx *c, uint64_t seq, const struct entry *en);
/* Loads the checkpoint and replays the log behind it; cp->usable says whether it can be relied on,
 * and *old that it is older than the first segment (then nothing was replayed). */
MF_MUSTCHECK int check_compare_replay(struct ctx *c, struct cp *cp, const struct run *whole,
                                      struct run *behind, bool *old, struct mf_error *e);
/* Loads the checkpoint, replays the log behind it and compares with what the whole log says. */
MF_MUSTCHECK int check_compare_checkpoint(struct ctx *c, struct cp *cp, const struct run *whole,
                                          const struct summary *log, struct mf_error *e);

/* Reads the files, the checkpoint's header and the whole log: the beginning of both check and
 * repair. r->m is given, and empty. */
MF_MUSTCHECK int check_begin(struct ctx *c, struct cp *cp, struct run *r, struct mf_error *e);
void check_ctx_fini(struct ctx *c);

/* --- findings (check_store.c) ----------------------------------------------------------------- */

/* NULL when the list is full or memory is out (then c->nomem); it is counted all the same. */
struct check_damage *check_found(struct ctx *c, enum check_kind kind, uint64_t segment,
                                 uint64_t offset, uint64_t length, const char *fmt, ...)
    MF_PRINTF(6, 7);
void check_note(struct ctx *c, const char *fmt, ...) MF_PRINTF(2, 3);

#endif
