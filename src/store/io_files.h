/* io_files.h: the open files of directories (io_dir.c).  A file that nobody uses and that has
 * nothing unsynced may lose its descriptor; the next use opens it again by its name.  So a log of
 * many segments, and many streams at rest, take a bounded number of descriptors.  Any thread. */
#ifndef STORE_IO_FILES_H
#define STORE_IO_FILES_H

#include "mayfly/list.h"
#include "mayfly/store_io.h"

#define FILES_NAME 64

/* fd -1: closed.  users > 0: it stays open.  In `idle` while it is open, unused and synced. */
struct store_file {
    struct mf_list idle, sibling; /* of the process, oldest use first; of the directory */
    int dir, fd;
    unsigned users;
    uint64_t writes, synced; /* calls that changed it; how many of them a sync covers */
    char name[FILES_NAME];
};

/* NULL: errno.  siblings: the files of this directory; guarded here. */
struct store_file *io_files_open(int dir, struct mf_list *siblings, const char *name, bool create);
void io_files_close(struct store_file *f);
/* Its descriptor until io_files_done(), or -1 and errno. */
int io_files_use(struct store_file *f);
int io_files_write(struct store_file *f); /* the same for a call that changes the file */
/* And for a sync: io_files_synced() with *writes when it succeeded. */
int io_files_use_sync(struct store_file *f, uint64_t *writes);
void io_files_done(struct store_file *f);
void io_files_synced(struct store_file *f, uint64_t writes);
void io_files_renamed(struct mf_list *siblings, const char *from, const char *to);
/* Descriptors of unused files that stay open; 0, as at first: an eighth of the process's, at most
 * 512.  For tests. */
void io_files_keep(unsigned n);

#endif
