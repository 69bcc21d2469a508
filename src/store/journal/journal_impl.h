/* journal_impl.h: the commit journal's insides.
 *
 *     journal.c          which groups go in; entries; the way back to the stores
 *     journal_files.c    its two files: made, emptied, removed
 *     journal_void.c     wiping groups in them
 *     journal_recover.c  a start
 *     journal_root.c     below a server's directory
 *     journal_format.c   the bytes
 */
#ifndef STORE_JOURNAL_IMPL_H
#define STORE_JOURNAL_IMPL_H

#include "store/journal/journal.h"
#include "store/journal/journal_format.h"
#include "store/store_impl.h"

#include <pthread.h>

#define JOURNAL_FILE_DEFAULT (8u << 20)
#define JOURNAL_GROUP_MAX    (64u << 10) /* a larger one is worth a sync of its own */
#define JOURNAL_ENTRY_MAX    (1u << 20)
#define JOURNAL_SYNC_EACH    64 /* segments that a start syncs one by one */

struct journal_file {
    struct store_file *file; /* NULL: not made */
    struct journal_head head;
    uint64_t end; /* of its entries */
    bool ready;   /* empty, with a header of its generation */
};

enum journal_work { JOURNAL_MAKE, JOURNAL_EMPTY };

struct store_journal {
    struct store_journal_opts o;
    struct store_io *io;
    struct loop *loop;
    struct store_journal_stats stats;
    unsigned members;
    bool out;     /* a write or sync of it failed, or emptying: no group goes in any more */
    bool keep;    /* its files are needed by the next start */
    bool entered; /* its folder exists */

    /* Groups. */
    struct mf_list waiting, in_flight; /* struct share.node */
    struct loop_defer defer;
    struct loop_job *job;
    bool running;
    struct mf_buf entry; /* the worker's, as all below */
    struct journal_part *part;
    size_t parts, part_cap;
    struct journal_file *into;
    bool stuck; /* the entry could not be wiped after a failure */
    int status;
    struct mf_error error;

    /* Files.  The active one is that of the latest generation. */
    pthread_mutex_t lock;   /* guards `end` and `head` of files, which journal_void_*() reads */
    pthread_mutex_t wiping; /* workers only: one of them empties a file, or wipes parts of it */
    struct journal_file file[JOURNAL_FILES];
    uint64_t generation; /* of the active one; 0: none */
    uint64_t emptied;    /* every file up to this generation is */
    struct loop_job *upkeep;
    bool busy;        /* upkeep is submitted */
    int64_t again_ns; /* not made before this: there was no space */
    enum journal_work work;
    bool wanted;                 /* groups of several stores met */
    struct journal_file *target; /* of the work; the worker's, as below */
    struct journal_head next;    /* the header that it wrote */
    int work_status;
    struct mf_error work_error;

    void (*closed)(void *arg);
    void *closed_arg;
};

static inline struct journal_file *journal_of(struct store_journal *j, uint64_t generation)
{
    return &j->file[generation % JOURNAL_FILES];
}

/* journal_files.c */
void journal_file_name(unsigned i, char dst[32]);
MF_MUSTCHECK int journal_files_init(struct store_journal *j);
/* Makes, or empties, what will be needed next. */
void journal_files_kick(struct store_journal *j);
/* The file for an entry of this size; NULL: none, for now. */
struct journal_file *journal_files_room(struct store_journal *j, uint64_t size);
void journal_files_close(struct store_journal *j); /* closes and, unless `keep`, removes them */

/* journal.c */
void journal_free(struct store_journal *j);
void journal_upkeep_ended(struct store_journal *j);

/* journal_recover.c */
MF_MUSTCHECK int journal_recover(struct store_journal *j, struct mf_error *e);

#endif
