/* tar.h: reads the files of a tar archive piece by piece.  Only the forms that Go's writer uses
 * for plain files: ustar headers with PAX records (path, size) before them.  Pure; no memory
 * beyond the struct. */
#ifndef API_TAR_H
#define API_TAR_H

#include "base/base.h"

#define TAR_NAME_MAX 511

struct tar_reader {
    uint64_t left;   /* bytes of the file that were not taken */
    unsigned pad;    /* behind them */
    uint64_t size;   /* of a PAX record, */
    bool has_size;   /* if there was one */
    bool has_path;   /* name is of a PAX record */
    unsigned zeroes; /* blocks of them: two are the end */
    bool ended;
    char name[TAR_NAME_MAX + 1];
};

/* The next file: t->name and t->left; takes bytes off *in.  MF_AGAIN: more bytes are needed, or
 * t->ended.  MF_CORRUPT: not a header.  MF_UNSUPPORTED: not a plain file.  The bytes of the file
 * before must have been taken. */
MF_MUSTCHECK int tar_next(struct tar_reader *t, struct mf_slice *in);
/* The bytes of the file that `in` already holds; consume them with tar_take(). */
static inline struct mf_slice tar_data(const struct tar_reader *t, struct mf_slice in)
{
    return mf_slice(in.ptr, in.len < t->left ? in.len : (size_t)t->left);
}
void tar_take(struct tar_reader *t, struct mf_slice *in, size_t n);

#endif
