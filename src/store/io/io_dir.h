/*  io_dir.h: a directory of a store and its open files; which of them have a descriptor.
 *
 * Descriptors are scarce: a server may have many streams, most of them idle.  So the directory is
 * opened when a name in it is needed, and a file that nobody uses may lose its descriptor; the
 * next use opens it again by its name.  Those used last keep theirs, a bounded number for all
 * stores of a server (struct io_fds).  Two kinds are never closed early: a file with unsynced
 * writes, because a new descriptor might not see their failure, and an unlinked one, which has no
 * name any more. */
#ifndef STORE_IO_DIR_H
#define STORE_IO_DIR_H

#include "base/list.h"
#include "store/store_io.h"

#include "store/io/folder.h"

#include <limits.h>

struct dir_io {
    struct store_io io;
    struct store_folder *parent;
    size_t page;
    bool entered;
    char name[NAME_MAX + 1]; /* of the directory in its parent; guarded by io_fd_lock() */
    struct mf_list files;    /* store_file.node; so are these */
};
/* All but its memory is guarded.  In `idle` while it is open, unused, synced and has a name. */
struct store_file {
    struct dir_io *dir;
    struct mf_list node, idle; /* of the directory; of the server, oldest use first */
    int fd;                    /* -1: closed until it is used */
    unsigned users;            /* calls that use fd now */
    uint64_t writes, synced;   /* calls that changed it; how many of them a sync covers */
    bool unlinked;             /* or replaced: it has no name any more */
    char name[NAME_MAX + 1];
};

/* One lock for all directories of a server: it is held while a file is opened again, so that two
 * threads that use one file see one descriptor; never while bytes are read, written or synced. Both
 * calls keep errno. */
void io_fd_lock(struct dir_io *d);
void io_fd_unlock(struct dir_io *d);

/* A descriptor of the directory for calls by name; -1 with errno. */
int io_fd_dir(struct dir_io *d, int flags); /* the lock is held */
int io_fd_dir_locked(struct dir_io *d, int flags);
void io_fd_close(int fd); /* keeps errno; -1 is fine */
/* A new file of the directory.  Opens nothing but a file of our own and never waits.  NULL with
 * errno; *odd: what it is instead, if that is why. */
struct store_file *io_fd_file(struct dir_io *d, const char *name, bool create, const char **odd);
void io_fd_end(struct store_file *f);
/* The file's descriptor, opened if need be, until io_fd_release(); -1 with errno. */
int io_fd_take(struct dir_io *d, struct store_file *f);
int io_fd_take_write(struct dir_io *d, struct store_file *f); /* for a call that changes it */
/* For a sync: io_fd_synced() with *writes when it succeeded. */
int io_fd_take_sync(struct dir_io *d, struct store_file *f, uint64_t *writes);
void io_fd_synced(struct store_file *f, uint64_t writes);
void io_fd_release(struct store_file *f); /* keeps errno */
/* Before NAME is unlinked or replaced, with the lock held.  false with errno: it must stay. */
bool io_fd_keep_unnamed(struct dir_io *d, int dir, const char *name);
/* After a rename, with the lock held. */
void io_fd_renamed(struct dir_io *d, const char *from, const char *to);
/* Descriptors of unused files that stay open; 0, as at first: an eighth of the process's, at most
 * 512.  For tests. */
void io_fd_keep(unsigned n);

#endif
