/* store_io.h: the files under a store.  Production uses the file system, `memory` storage keeps
 * them in memory, and tests simulate power cuts.
 *
 * A store_io stands for one directory; names are plain file names without '/'.  Calls on one file
 * come from one thread at a time; calls on different files may come from different threads.  All
 * return 0 or a negative code: MF_FULL for ENOSPC, EDQUOT and EFBIG, MF_AGAIN for EMFILE, ENFILE
 * and EAGAIN, MF_NOTFOUND, MF_EXISTS, MF_IO; MF_NOMEM, and MF_INVAL for a name that
 * store_io_name_ok() refuses.  A directory works only between enter() and leave(); files are closed
 * and mappings ended before leave().  */
#ifndef MAYFLY_STORE_IO_H
#define MAYFLY_STORE_IO_H

#include "base/base.h"

struct store_file; /* opaque to all but the io */

struct store_io {
    /* Begins to work in the directory, which is made if it is missing; MF_EXISTS: this io is
     * already in it.  Other processes are kept out by the lock of a folder above, see
     * store_folder_claim(). */
    int (*enter)(struct store_io *io, struct mf_error *e);
    void (*leave)(struct store_io *io);
    int (*open)(struct store_io *io, const char *name, bool create, struct store_file **out,
                struct mf_error *e); /* create: fails with MF_EXISTS if the file exists */
    void (*close)(struct store_io *io, struct store_file *f);
    int (*size)(struct store_io *io, struct store_file *f, uint64_t *out, struct mf_error *e);
    /* The whole of n, or an error; reading past the end is MF_IO. */
    int (*pread)(struct store_io *io, struct store_file *f, void *dst, size_t n, uint64_t off,
                 struct mf_error *e);
    /* The same for data that is read once: pages that were not in memory before do not stay
     * there.  NULL: as pread(). */
    int (*pread_aside)(struct store_io *io, struct store_file *f, void *dst, size_t n, uint64_t off,
                       struct mf_error *e);
    int (*pwrite)(struct store_io *io, struct store_file *f, const void *src, size_t n,
                  uint64_t off, struct mf_error *e);
    int (*sync)(struct store_io *io, struct store_file *f, struct mf_error *e); /* fdatasync */
    /* Gives the file this size, with its space on disk reserved; NULL: truncate() is as good. */
    int (*allocate)(struct store_io *io, struct store_file *f, uint64_t size, struct mf_error *e);
    int (*truncate)(struct store_io *io, struct store_file *f, uint64_t size, struct mf_error *e);
    /* Space that is free, without waiting for the disk; 0: unknown, as if this is NULL. */
    uint64_t (*space)(struct store_io *io);
    /* The largest size a file may have (RLIMIT_FSIZE); NULL: no limit. */
    uint64_t (*largest)(struct store_io *io);
    /* The first `size` bytes, readable, coherent with later pwrite(); NULL: not possible (always
     * so past the file's end), then use pread.  Stays valid while the file grows, is closed,
     * renamed over or unlinked, until unmap (any thread); a truncate() below the part that is
     * read is an error of the caller and causes SIGBUS. */
    const uint8_t *(*map)(struct store_io *io, struct store_file *f, uint64_t size);
    void (*unmap)(struct store_io *io, const uint8_t *p, uint64_t size);
    /* True if [off, off+n) of a mapping is in memory, so that reading it does not wait for the
     * disk. */
    bool (*resident)(struct store_io *io, const uint8_t *p, uint64_t off, size_t n);
    /* Replaces `to` if it exists. */
    int (*rename)(struct store_io *io, const char *from, const char *to, struct mf_error *e);
    int (*unlink)(struct store_io *io, const char *name, struct mf_error *e);
    int (*syncdir)(struct store_io *io, struct mf_error *e); /* see store_io_untried() */
    /* Visits every name, also those that open() refuses, in no order.  A visit that returns
     * non-zero ends the walk with that code. visit() may open and unlink the file. */
    int (*list)(struct store_io *io, int (*visit)(void *arg, const char *name), void *arg,
                struct mf_error *e);
    void (*free)(struct store_io *io);
};

/* A shortage, of space, descriptors or memory: the same call may succeed later.  Never returned
 * by sync() and syncdir(): a failed sync is final, whatever the reason. */
static inline bool store_io_is_shortage(int code)
{
    return code == MF_FULL || code == MF_AGAIN || code == MF_NOMEM;
}

/* Of syncdir(): no descriptor or memory for the attempt, so nothing is lost yet. */
static inline bool store_io_untried(int code)
{
    return code == MF_AGAIN || code == MF_NOMEM;
}

/* A plain name: not empty, not too long, no '/', not "." or "..", not that of a lock file. */
bool store_io_name_ok(const char *name);
#define STORE_IO_OLD_LOCK "store.lock" /* left in each store's directory by version 0.1.0 */

/* A directory of the file system, PARENT/NAME; made (0700) by enter().  Symbolic links are not
 * followed, and files that are not regular or are another user's are not opened.  An idle one
 * uses at most one descriptor. */
struct store_folder;
MF_MUSTCHECK int store_io_folder(struct store_io **out, struct store_folder *parent,
                                 const char *name, struct mf_error *e);
/* The same by its path; the part before the last '/' must exist. */
MF_MUSTCHECK int store_io_dir(struct store_io **out, const char *path, struct mf_error *e);
/* Gives the directory of such an io another name in its parent, also while files in it are open;
 * durable on return.  After an error it may have the new name: ask store_io_dir_is(). */
MF_MUSTCHECK int store_io_dir_move(struct store_io *io, const char *to, struct mf_error *e);
bool store_io_dir_is(struct store_io *io, const char *name);
/* Files in memory; sync does nothing, MF_FULL is no memory.  A hole costs nothing in a large file
 * (1 MB and more).  Memory of files that are unlinked and closed, or truncated, is freed.
 * Written data stays until the io is freed, so a store can be closed and opened again on it. */
MF_MUSTCHECK int store_io_memory(struct store_io **out, struct mf_error *e);

#endif
