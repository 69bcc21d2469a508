/* repair.h: a copy of a store without its damage.  docs/disk-format.md, "Repair", has the rules.
 *
 * The source is only read.  The copy is a new log with a new store id: every message that is alive
 * and readable, in ascending sequence, with its deadline of now; every blob; the last sequence, the
 * time mark and the clock.  Removals need no record any more: removed messages are not written.
 *
 * Cost: what check_files() costs, and one read and one write of every live message.  Memory: as
 * check_files(), all blobs, and a segment of the copy (64 MiB, or the largest message). */
#ifndef CLI_REPAIR_H
#define CLI_REPAIR_H

#include "cli/check/check.h"

#include "base/buf.h"

struct repair_opts {
    bool keep_unknown; /* messages that damage may have removed are kept instead of left out */
    int64_t now_ns;
    struct mf_slice key;    /* as of struct check_opts; without it an encrypted store is refused */
    struct mf_slice config; /* the stream's configuration, JSON, instead of that of the store */
    void (*progress)(void *arg, uint64_t done, uint64_t total); /* may be NULL */
    void *arg;
};

/* Takes one whole file of the copy. */
struct repair_sink {
    int (*put)(void *arg, const char *name, const uint8_t *bytes, size_t n, struct mf_error *e);
    void *arg;
};

#define REPAIR_MAX_RANGES 10000 /* more are counted, not listed */

struct repair_range {
    uint64_t first, last;
};
struct repair_ranges {
    struct repair_range *at; /* ascending */
    size_t count, cap;
    uint64_t sequences; /* in all */
    bool failed;        /* out of memory */
};

struct repair_consumer {
    char name[64];
    bool unsure; /* its configuration or state may be older than it was, or it was deleted */
};

struct repair_result {
    struct check_result source; /* what was found there */
    uint8_t store_id[16];
    uint64_t kept, kept_bytes, blobs, last_sequence;
    uint64_t segments, bytes;     /* of the copy */
    bool from_checkpoint;         /* the live messages are those of the checkpoint */
    struct repair_ranges lost;    /* live, and cannot be read */
    struct repair_ranges unseen;  /* assigned inside damage: live, removed or never used */
    struct repair_ranges unknown; /* readable; damage may hold the record that removed them */
    struct repair_ranges expired; /* past their deadlines; a new one may lie in the damage */
    bool kept_unknown;
    uint64_t moved_upto; /* the cleaner had moved messages up to this sequence into what is damaged
                            now, perhaps: which ones nobody knows; 0: none */
    bool config_missing; /* there is none: the stream does not start */
    bool config_given, config_unsure;
    bool blobs_hidden; /* damage may hold blobs: consumers made there are lost */
    struct repair_consumer *consumer;
    size_t consumers;
};

/* 0: the copy is complete, and out (the caller's to fini) lists the kept and the lost messages.
 * Else an error of check_files() or of the sink: the copy must not be used. */
MF_MUSTCHECK int repair_files(const struct check_source *src, const struct repair_opts *o,
                              const struct repair_sink *to, struct repair_result *out,
                              struct mf_error *e);
void repair_result_fini(struct repair_result *r);
bool repair_lossless(const struct repair_result *r); /* nothing is lost, and nothing is in doubt */

/* One of the repaired stores. */
struct repair_item {
    char *path; /* in the source */
    char *to;   /* in the copy */
    int rc;
    struct mf_error error;
    struct repair_result result;
};
void repair_report_text(struct mf_buf *out, const struct repair_item *it);
void repair_report_json(struct mf_buf *out, const char *from, const char *to,
                        const struct repair_item *items, size_t count, int exit_code);

/* mayfly check --repair SRC --to DST [--keep-unknown] [--config FILE] [--json] [-q].  Exit code: 0
 * nothing is lost, 1 the copy is there and something is lost or unknown, 2 usage or I/O error
 * (there is no copy), 3 a server has the store. */
int repair_main(int argc, char **argv);

#endif
