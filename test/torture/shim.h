/* shim.h: a library preloaded into the server under test: it keeps a copy of the store's folder as
 * a power cut would leave it, shifts the wall clock and makes calls fail.
 *
 * Environment:
 *    SHIM_CONTROL  a file of sizeof(struct shim_control) bytes, mapped; a trial writes to it
 *    SHIM_ROOT     the folder to be watched, absolute, without a slash at its end
 *    SHIM_SHADOW   where its durable copy is kept; without it, there is none
 *
 * The model of a disk, as weak as POSIX allows: bytes and the size of a file are durable when
 * fdatasync() or fsync() of it returns, or syncfs() of its file system, names when fsync() of their
 * folder returns; what was not synced is lost.  After a sync that failed the kernel takes the
 * file's pages for clean: the next sync succeeds and writes none of them, unless they were written
 * to again.  The copy: f/ID   durable bytes of the file with that number d/ID   durable names of a
 * folder: lines "f ID NAME" or "d ID NAME"; the root is 1 i/INO  a symlink to the number of what
 * has this inode now so that a trial can also build disks on which some of the rest survived. */
#ifndef MAYFLY_TORTURE_SHIM_H
#define MAYFLY_TORTURE_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum shim_call {
    SHIM_PWRITE,
    SHIM_SYNC, /* fdatasync, fsync */
    SHIM_OPEN,
    SHIM_RENAME,
    SHIM_UNLINK,
    SHIM_TRUNCATE, /* ftruncate, posix_fallocate */
    SHIM_MKDIR,
    SHIM_MMAP, /* of a file */
    SHIM_PREAD,
    SHIM_ACCEPT,
    SHIM_MALLOC,     /* only in shim_memory.so */
    SHIM_FIRST_SYNC, /* fdatasync of a file whose first bytes are not durable; with a copy only */
    SHIM_CALLS
};

/* Little endian, in the control file.  A fault: the `after`-th call from now fails with `error` (0:
 * a short write), and so do the `more` calls behind it. */
struct shim_fault {
    int32_t after, more, error, hits;
};
struct shim_control {
    int64_t clock_offset_ns;
    struct shim_fault fault[SHIM_CALLS];
    int64_t clock_still_ns; /* the wall clock stands still at this time; 0: it goes */
};

extern struct shim_control *shim_control; /* never NULL */

/* True: this call is to fail with *error. */
bool shim_fails(enum shim_call call, int *error);

/* The durable copy (shim_disk.c).  Each does nothing for what is not below the root. */
void shim_disk_init(void);
void shim_disk_hold(void); /* no folder is listed until the release; around what makes names */
void shim_disk_release(void);
void shim_disk_opened(int fd, bool created); /* created: while held */
void shim_disk_closed(int fd);
void shim_disk_made(int folder, const char *name); /* a folder; while held */
/* Around what takes a name: the inode behind it (0: none of ours) before, while held, and if it is
 * gone after that.  The kernel gives an inode's number to the next file. */
ino_t shim_disk_inode(int folder, const char *name);
void shim_disk_gone(ino_t ino);
void shim_disk_wrote(int fd, off_t off, size_t n);
void shim_disk_cut(int fd, off_t size); /* ftruncate */
void shim_disk_synced(int fd);
void shim_disk_synced_all(void);     /* the bytes of every file */
void shim_disk_forgets(int fd);      /* its sync failed: nobody will write what was dirty */
bool shim_disk_begins_dirty(int fd); /* are its first bytes among what is not durable? */
bool shim_disk_watches(int fd);
bool shim_disk_on(void);

#endif
