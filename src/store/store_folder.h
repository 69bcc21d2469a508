/*  store_folder.h: the directories above stores: opened from the top down, made, listed, removed.
 *
 * A folder is an open directory.  Everything below it is reached by a plain name and never
 * through a symbolic link, so a user with write access elsewhere cannot redirect a store.  Stores
 * are created and removed by rename, so that a crash leaves a store whole or not at all.  All
 * calls block: use them in workers, or before clients are served.  Errors: MF_NOTFOUND, MF_DENIED
 * (owner, mode or permission), MF_READONLY (the file system), MF_EXISTS, MF_FULL, MF_NOMEM,
 * MF_IO; MF_INVAL, MF_LIMIT: the path itself is wrong, and the text names it. */
#ifndef MAYFLY_STORE_FOLDER_H
#define MAYFLY_STORE_FOLDER_H

#include "base/base.h"

struct store_folder; /* counted; any thread may retain and release it */

enum store_folder_flags {
    STORE_FOLDER_MAKE = 1, /* make it (0700) if it is missing; durable on return */
    STORE_FOLDER_ANY = 2,  /* accept any owner and mode: for reads that change nothing */
};

/* Opens an existing path that the operator named: symbolic links in it are followed, its owner is
 * not checked. */
MF_MUSTCHECK int store_folder_at(struct store_folder **out, const char *path, struct mf_error *e);
/* Opens, or makes, PATH/NAME for a server.  Links in PATH are followed; parts of PATH that are
 * missing are made (0700); NAME itself may not be a link; its owner and mode are not checked yet,
 * see store_folder_claim(). */
MF_MUSTCHECK int store_folder_root(struct store_folder **out, const char *path, const char *name,
                                   struct mf_error *e);
/* 0 if store_folder_root() and store_folder_claim() would succeed.  Changes nothing.  A lock that
 * another process holds is no error.  *out: the folder if it exists, else NULL. */
MF_MUSTCHECK int store_folder_probe(struct store_folder **out, const char *path, const char *name,
                                    struct mf_error *e);
/* A folder in another one.  MF_DENIED: another user owns it, or group or others may write. */
MF_MUSTCHECK int store_folder_open(struct store_folder **out, struct store_folder *parent,
                                   const char *name, unsigned flags, struct mf_error *e);
struct store_folder *store_folder_retain(struct store_folder *f);
void store_folder_release(struct store_folder *f); /* may be NULL; the last release ends the lock */
/* Files below the folder that nobody uses keep at most n descriptors; 0: an eighth of the
 * process's, at most 512.  For a folder of store_folder_root() or store_folder_at(); folders in it
 * share the bound. */
void store_folder_keep_files(struct store_folder *f, unsigned n);
const char *store_folder_path(const struct store_folder *f);

/* Checks owner, mode and write access.  MF_DENIED or MF_READONLY: this process may not write in
 * it, or should not. */
MF_MUSTCHECK int store_folder_check(struct store_folder *f, struct mf_error *e);
/* Checks the folder as above and locks it for this process until it is released.  The lock ends
 * with the process, however that ends.  MF_EXISTS: another process holds it; the text names its
 * pid. */
MF_MUSTCHECK int store_folder_claim(struct store_folder *f, struct mf_error *e);
#define STORE_FOLDER_LOCK ".lock" /* the pid in decimal; never unlinked */

/* In no order; names that begin with '.' are left out.  Non-zero from visit ends it. */
MF_MUSTCHECK int store_folder_list(struct store_folder *f,
                                   int (*visit)(void *arg, const char *name), void *arg,
                                   struct mf_error *e);
bool store_folder_has(struct store_folder *f, const char *name); /* anything of that name */
/* Renames NAME to a name that no store has, then deletes its files.  On success NAME does not
 * exist any more, even if it never did; files that could not be deleted are deleted by
 * store_folder_tidy() */
MF_MUSTCHECK int store_folder_remove(struct store_folder *f, const char *name, struct mf_error *e);
/* The second half of that: deletes the files of a folder whose name came from
 * store_folder_removed_name(). */
void store_folder_empty(struct store_folder *f, const char *gone);
/* Deletes remains of drafts and removals after crashes. */
void store_folder_tidy(struct store_folder *f);
#define STORE_FOLDER_NAME 64
/* A new name for a folder that will be removed. */
void store_folder_removed_name(char dst[STORE_FOLDER_NAME]);
/* The name of a folder that is being filled: store_io_dir_move() gives it its own. */
void store_folder_draft_name(char dst[STORE_FOLDER_NAME], const char *name);

#endif
