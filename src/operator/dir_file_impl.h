/* dir_file_impl.h: the files of a directory resolver: <account>.jwt, mode 0600, the bare JWT.
 *
 * A file is replaced whole: written beside its place, synced, renamed.  So after a crash or on a
 * full disk it holds the old token or the new one.  Blocking: for worker threads and the start.
 * Private to operator. */
#ifndef MAYFLY_OPERATOR_DIR_FILE_IMPL_H
#define MAYFLY_OPERATOR_DIR_FILE_IMPL_H

#include "base/buf.h"
#include "codec/nkey.h"

#define DIR_SUFFIX ".jwt"

/* Opens the directory; creates it (mode 0700) if it is missing. */
MF_MUSTCHECK int dir_file_open(int *fd, const char *path, struct mf_error *e);
/* Whether `name` is the file of an account; its key is copied. */
bool dir_file_account(const char *name, char account[NKEY_TEXT]);
/* Appends the token.  MF_NOTFOUND; MF_CORRUPT: a link, no regular file, too large, or the token of
 * another account; MF_IO. */
MF_MUSTCHECK int dir_file_read(int fd, const char *account, struct mf_buf *out, struct mf_error *e);
/* Writes beside its place, without waiting for the disk: *file is for dir_file_finish(), which
 * syncs it and puts it there; -1: give up.  Several files between both share what the disk has to
 * do. Durable after the next dir_file_sync(). */
MF_MUSTCHECK int dir_file_begin(int fd, const char *account, struct mf_slice text, int *file,
                                struct mf_error *e);
MF_MUSTCHECK int dir_file_finish(int fd, const char *account, int file, struct mf_error *e);
/* hard: removes; else renames to <account>.jwt.deleted.  An absent file is fine. */
MF_MUSTCHECK int dir_file_remove(int fd, const char *account, bool hard, struct mf_error *e);
MF_MUSTCHECK int dir_file_sync(int fd, struct mf_error *e);

#endif
