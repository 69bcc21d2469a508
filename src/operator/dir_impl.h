/* dir_impl.h: the directory resolver, shared by its files: resolver_dir.c look-ups, dir_change.c
 * stores and removals, dir_walk.c the first reading, lists and packs.  Private to operator.
 *
 * The index belongs to the loop; workers only touch files.  Changes wait until the directory was
 * read once, and run in batches, one batch at a time. */
#ifndef MAYFLY_OPERATOR_DIR_IMPL_H
#define MAYFLY_OPERATOR_DIR_IMPL_H

#include "operator/dir_file_impl.h"
#include "operator/dir_index_impl.h"
#include "operator/resolver_impl.h"

#define DIR_BATCH 128 /* files that a worker reads or writes at a time */

struct dir_change {                  /* one of a batch, for the worker */
    struct resolver_change *request; /* NULL: the resolver's own */
    char account[NKEY_TEXT];
    char *text;                  /* NULL: remove */
    bool newer_only, hard, kept; /* kept: newer_only found an equal or newer one */
    int rc, file;                /* file: -1 if it is not being written */
    struct mf_error why;
    uint8_t hash[32];
    int64_t exp;
};
struct dir_seen { /* a file that the first reading found */
    char account[NKEY_TEXT];
    uint8_t hash[32];
    int64_t exp;
};

struct dir_resolver {
    struct resolver r;
    char *path;
    int fd;
    bool allow_delete, hard_delete;
    int64_t limit, ttl_s, timeout_ns;
    struct resolver_asking *asking;
    uint64_t next_id;
    struct mf_list lookups; /* dir_lookup.link */
    struct dir_index index;

    struct loop_job *changer;
    struct mf_list changes;   /* resolver_change.link: they wait */
    struct dir_change *batch; /* DIR_BATCH */
    size_t nbatch;
    bool changing;
    struct loop_timer *sweep;

    struct loop_job *scanner;
    void *dir;             /* DIR; NULL: read once */
    struct dir_seen *seen; /* DIR_BATCH */
    size_t nseen, nforeign;
    bool scan_ended, scanned;

    struct mf_list walks; /* resolver_walk.link; the first one runs */
    struct dir_walk *walk;
    struct work_owner walkers;

    size_t njobs; /* that run */
    void (*closed)(void *arg);
    void *closed_arg;
    bool closing;
};

int64_t dir_now_s(const struct dir_resolver *d);
void dir_job_start(struct dir_resolver *d, struct loop_job *j);
/* Called at the end of a job.  true: that was the last one of a resolver that closes; it is freed.
 */
bool dir_job_ended(struct dir_resolver *d);
void dir_hash(struct mf_slice text, uint8_t hash[32]);

/* dir_change.c */
MF_MUSTCHECK int dir_change_init(struct dir_resolver *d);
void dir_change_fini(struct dir_resolver *d);
void dir_change(struct resolver *r, struct resolver_change *q);
void dir_change_run(struct dir_resolver *d); /* starts a batch if some wait and may run */
/* The preload: at the start, blocking. */
MF_MUSTCHECK int dir_change_preload(struct dir_resolver *d, const struct options_pairs *preload,
                                    struct mf_error *e);

/* dir_walk.c */
MF_MUSTCHECK int dir_scan_start(struct dir_resolver *d, struct mf_error *e);
void dir_scan_stop(struct dir_resolver *d);
void dir_walk(struct resolver *r, struct resolver_walk *q);
void dir_walk_cancel(struct resolver_walk *q);
void dir_walk_run(struct dir_resolver *d);

#endif
