/* check_log_impl.h: reading the log, and what damage in it may hide (check_log.c, check_rules.c). A
 * part of check_impl.h. */
#ifndef MAYFLY_CHECK_LOG_IMPL_H
#define MAYFLY_CHECK_LOG_IMPL_H

#include "cli/check/check_impl.h"

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

#endif
