/* folder.h: the inside of a store_folder, and the calls that both folders and files need. */
#ifndef STORE_FOLDER_PRIVATE_H
#define STORE_FOLDER_PRIVATE_H

#include "base/list.h"
#include "store/store_folder.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

/* The descriptors of the files below a folder that a server opened, and its lock; shared by the
 * folders in it.  Counted. */
struct io_fds {
    atomic_uint refs;
    pthread_mutex_t mutex; /* guards the rest, and the files of all directories */
    struct mf_list idle;   /* store_file.idle, oldest use first */
    unsigned idles, keep;  /* in the list; most that may be, 0: not decided yet */
};
struct io_fds *io_fds_new(void); /* NULL: no memory */
void io_fds_release(struct io_fds *x);

struct store_folder {
    atomic_uint refs;
    struct io_fds *fds;
    int fd;      /* opened for reading: it can be listed and synced */
    int lock_fd; /* -1: not claimed */
    char path[]; /* for texts */
};

/* Repeats a call that a signal interrupted.  That holds for fdatasync too: EINTR is no write error.
 */
#define RETRY(result, call)                                                                        \
    do                                                                                             \
        (result) = (call);                                                                         \
    while ((result) < 0 && errno == EINTR)

int folder_io_code(int err); /* the MF_ code for an errno */
/* Wraps an open descriptor, which it owns from now on, also on failure.  parent: shares its
 * descriptors with it; NULL: has its own. */
MF_MUSTCHECK int folder_wrap(struct store_folder **out, int fd, const char *path,
                             struct store_folder *parent, struct mf_error *e);
/* Opens dir/name as a directory, never through a link; path is for the text. */
MF_MUSTCHECK int folder_open_fd(int dir, const char *name, const char *path, int *out,
                                struct mf_error *e);
/* MF_DENIED unless this user owns it and no other user may write. */
MF_MUSTCHECK int folder_trust(int fd, const char *path, struct mf_error *e);
MF_MUSTCHECK int folder_sync(int fd, const char *path, struct mf_error *e);
/* Makes dir/name, 0700, and syncs dir; an existing folder is no error. */
MF_MUSTCHECK int folder_make_fd(int dir, const char *name, const char *path, struct mf_error *e);
/* Words for a kind of file other than a regular one, for texts. */
const char *folder_file_kind(unsigned mode);

#endif
