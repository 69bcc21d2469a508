/* store_journal.h: the commit journal: commit groups of several stores become durable by one write
 * and one sync (docs/disk-format.md, Commit journal).
 *
 * Stores that have synced commits (STORE_SYNC_ALWAYS) join it.  When groups of two or more of them
 * are ready in a turn, a worker writes them into the journal as one entry, syncs that, and writes
 * the same bytes to the segments, unsynced.  A single store's groups take the direct path.  A file
 * of the journal that is full is emptied after everything below the store directory was synced,
 * in the background; until then groups go into the other one, or take the direct path.
 *
 * A start applies what it finds in the journal before any store is opened. */
#ifndef MAYFLY_STORE_JOURNAL_H
#define MAYFLY_STORE_JOURNAL_H

#include "loop/loop.h"
#include "store/store.h"
#include "store/store_folder.h"

struct store_journal;

/* Its surroundings. */
struct store_journal_opts {
    /* The io of the store's folder.  MF_NOTFOUND: the store was deleted. */
    int (*find)(void *arg, const char *path, struct store_io **out, struct mf_error *e);
    /* Syncs all that was written to any store and to the journal.  Any thread. */
    int (*sync_all)(void *arg, struct mf_error *e);
    void (*free)(void *arg); /* with the journal; may be NULL */
    void *arg;
    uint32_t file_size; /* of each of its two files; 0: 8 MiB */
    uint32_t sync_each; /* a start that wrote to more segments calls sync_all(); 0: 64 */
    bool fresh; /* its folder does not exist yet: without space for it there is no journal */
};

/* Applies what a crash left in the journal, syncs that, and empties the journal.  Blocks.  Takes
 * io over, also on failure.  A failure is that of the start: the stores must not be opened.
 * MF_UNSUPPORTED: written by a later version; nothing was touched. */
MF_MUSTCHECK int store_journal_new(struct store_journal **out, struct loop *l,
                                   const struct store_journal_opts *o, struct store_io *io,
                                   struct mf_error *e);
/* The same for the stores of a server, in ROOT/.journal. */
MF_MUSTCHECK int store_journal_open(struct store_journal **out, struct loop *l,
                                    struct store_folder *root, struct mf_error *e);
#define STORE_JOURNAL_FOLDER ".journal"
/* Every store has left it.  Waits for its own work, removes its files, then calls closed(). */
void store_journal_close(struct store_journal *j, void (*closed)(void *arg), void *arg);
void store_journal_abandon(struct store_journal *j); /* for tests, as store_abandon() */

/* After store_attach().  path: of its folder, as find() takes it; copied.  The folder keeps this
 * name as long as the store is open, or is being deleted.  MF_NOMEM: its groups take the direct
 * path. */
MF_MUSTCHECK int store_join_journal(struct store *s, struct store_journal *j, const char *path);

struct store_journal_stats {
    uint64_t entries, groups, bytes; /* written */
    uint64_t turned_away;            /* groups that found it full, or not ready yet */
    uint64_t emptied;                /* files */
    uint64_t recovered;              /* parts of groups that the start applied */
};
void store_journal_stats(const struct store_journal *j, struct store_journal_stats *out);

#endif
