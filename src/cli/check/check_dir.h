/* check_dir.h: a store in a directory, opened for reading only. */
#ifndef CLI_CHECK_DIR_H
#define CLI_CHECK_DIR_H

#include "cli/check/check_journal.h"

/* One file is open at a time: the one read last. */
struct check_dir {
    int fd, file, lock;
    char name[256];
    int64_t server_pid;        /* as in struct check_result */
    bool forgive;              /* bytes that the disk cannot read (EIO) count as zeros */
    uint64_t unreadable;       /* so many were */
    struct check_source own;   /* its files as they are */
    struct check_source src;   /* with what only the commit journal holds of it */
    struct check_dir *journal; /* NULL: no journal */
    struct check_journal joined;
};

/* MF_EXISTS: a server has it. */
MF_MUSTCHECK int check_dir_open(struct check_dir *d, const char *path, const struct check_opts *o,
                                struct mf_error *e);
void check_dir_close(struct check_dir *d);

#endif
