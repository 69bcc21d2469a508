/* check.h: offline verification of a store, written from docs/disk-format.md and nothing else.
 *
 * It reads every byte of the log once in the usual case (twice where commits far apart disagree
 * about where the log begins) and, behind a usable checkpoint, the log's tail once more.  Time is
 * linear in the size of the files, whatever they hold.  Memory: the largest segment (128 MiB at
 * most), about 35 bytes per live message, 16 more while a checkpoint is compared. */
#ifndef CLI_CHECK_H
#define CLI_CHECK_H

#include "base/base.h"

/* The files of one store.  All return 0 or a negative code; names have no '/'. */
struct check_source {
    int (*list)(void *arg, int (*visit)(void *visit_arg, const char *name), void *visit_arg,
                struct mf_error *e);
    int (*size)(void *arg, const char *name, uint64_t *out, struct mf_error *e);
    /* *got < n only where the file ends. */
    int (*pread)(void *arg, const char *name, void *dst, size_t n, uint64_t off, size_t *got,
                 struct mf_error *e);
    void *arg;
};

struct check_opts {
    bool no_lock;        /* check_store: read although a server has the directory */
    int64_t now_ns;      /* the clock, for "deadlines already past" */
    struct mf_slice key; /* of encrypted stores, as the server's; empty: contents stay closed */
    void (*progress)(void *arg, uint64_t done, uint64_t total); /* bytes; may be NULL */
    void *arg;
};

/* X(name, word in the output) */
#define CHECK_KINDS(X)                                                                             \
    X(CHECK_RECORDS, "records")       /* a stretch that holds no valid record in chain */          \
    X(CHECK_MISSING, "missing")       /* whole segment files */                                    \
    X(CHECK_HEADER, "header")         /* one or both copies of a segment's header */               \
    X(CHECK_SIZE, "size")             /* a file shorter or longer than it was made */              \
    X(CHECK_RULE, "rule")             /* a valid record that says what it must not */              \
    X(CHECK_CHECKPOINT, "checkpoint") /* costs time at the next start, loses nothing */            \
    X(CHECK_KEY, "key")               /* store.key */
enum check_kind {
#define CHECK_KIND_ENUM(name, word) name,
    CHECK_KINDS(CHECK_KIND_ENUM)
#undef CHECK_KIND_ENUM
};
const char *check_kind_text(enum check_kind kind);

#define CHECK_MAX_DAMAGE 10000 /* more are counted, not listed */

struct check_damage {
    enum check_kind kind;
    char file[24];
    uint64_t segment; /* 0: the checkpoint */
    uint64_t offset, length;
    uint64_t first_seq, last_seq; /* messages that may have been here; 0, 0: none is missing */
    uint64_t lost;                /* of these, live by the checkpoint */
    bool alone; /* it is one message, known by its fixed part: nothing else is hidden in it */
    char what[128];
};

struct check_segment {
    uint64_t number, bytes; /* bytes: of the file */
    uint64_t records, used; /* used: bytes of records that count */
    uint64_t live, live_bytes;
    bool leftover;  /* given up, not part of the log */
    bool after_end; /* prepared, or what a crash left behind the end */
};

/* Counts of the live messages after all of the log was read. */
struct check_live {
    uint64_t messages, bytes; /* bytes of key, head and body */
    uint64_t keys;            /* distinct */
    uint64_t with_deadline, past_deadline;
    uint64_t infinite, pinned;    /* without a deadline on purpose; set by hand */
    uint64_t first_seq, last_seq; /* of the live ones; 0 when there is none */
    uint64_t blobs;
    uint64_t digest; /* equal for equal states, wherever the records lie */
};

enum check_cp {
    CHECK_CP_NONE,      /* there is none */
    CHECK_CP_DAMAGED,   /* cannot be used */
    CHECK_CP_OLD,       /* older than the first segment: not used */
    CHECK_CP_MATCHES,   /* with the log behind its position it gives what the whole log gives */
    CHECK_CP_DIFFERS,   /* it does not */
    CHECK_CP_EXPLAINED, /* it does not, and the log holds damage before its position */
    CHECK_CP_UNREAD,    /* encrypted, and no key was given: only its checks were verified */
};
const char *check_cp_text(enum check_cp state);

struct check_result {
    uint8_t store_id[16];
    int64_t server_pid; /* of the server that had the directory (no_lock); 0: none, -1: unknown */

    /* In the order found; log damage first, ascending. */
    struct check_damage *damage;
    size_t damages;        /* in the list */
    size_t damage_cap;     /* room in the list */
    size_t log_damages;    /* of these: found while reading the log */
    uint64_t damage_count; /* in all: 0 means clean */

    struct check_segment *segment; /* ascending */
    size_t segments;
    uint64_t first_segment; /* where reading began */
    uint64_t synced_segment, synced_offset;
    uint64_t end_segment, end_offset;   /* behind the last record that counts */
    uint64_t stop_segment, stop_offset; /* the record that is none: P of docs/disk-format.md */
    bool torn;                          /* the end is a torn tail */
    uint64_t records;                   /* that count */
    uint64_t bytes;                     /* of all segment files */
    uint64_t last_sequence;             /* ever given */
    bool encrypted, unread;             /* unread: without the key, so keys and blobs count 0 */

    struct check_live live; /* by the log alone */

    enum check_cp checkpoint;
    uint64_t cp_segment, cp_offset;
    /* By the checkpoint and the log behind it, when usable (MATCHES, DIFFERS, EXPLAINED). */
    uint64_t cp_messages, cp_blobs, cp_last_sequence;
    uint64_t lost; /* live by the checkpoint, their records damaged or missing */

    char (*note)[192]; /* worth knowing, not damage */
    size_t notes, note_cap;
};

/* Verifies one store.  0: done, and out (the caller's to fini) says what was found, damage or not.
 * MF_EXISTS: a server has the directory; MF_NOTFOUND: no store there; MF_UNSUPPORTED: a newer
 * format; MF_DENIED: the key is another one; MF_IO, MF_NOMEM.  Nothing is written to the directory.
 */
MF_MUSTCHECK int check_store(const char *dir, const struct check_opts *o, struct check_result *out,
                             struct mf_error *e);
/* The same on any files, without a lock. */
MF_MUSTCHECK int check_files(const struct check_source *src, const struct check_opts *o,
                             struct check_result *out, struct mf_error *e);
void check_result_fini(struct check_result *r);

/* mayfly check DIR [--json] [--segments] [--no-lock] [-q].  Exit code: 0 clean, 1 damage, 2 usage
 * or I/O error, 3 locked. */
int check_main(int argc, char **argv);

#endif
