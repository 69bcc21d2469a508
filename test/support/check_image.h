/* check_image.h: `mayfly check` on the files of a log_writer. */
#ifndef TEST_CHECK_IMAGE_H
#define TEST_CHECK_IMAGE_H

#include "cli/check/check.h"
#include "log_writer.h"

static inline int image_list(void *arg, int (*visit)(void *visit_arg, const char *name),
                             void *visit_arg, struct mf_error *e)
{
    struct log_writer *w = arg;
    int rc = 0;

    (void)e;
    for (size_t i = 0; i < w->files && rc == 0; i++)
        rc = visit(visit_arg, w->file[i].name);
    return rc;
}

static inline int image_size(void *arg, const char *name, uint64_t *out, struct mf_error *e)
{
    const struct lw_file *f = lw_file(arg, name);

    (void)e;
    *out = f->size;
    return 0;
}

static inline int image_pread(void *arg, const char *name, void *dst, size_t n, uint64_t off,
                              size_t *got, struct mf_error *e)
{
    const struct lw_file *f = lw_file(arg, name);

    (void)e;
    *got = off >= f->size ? 0 : f->size - off < n ? (size_t)(f->size - off) : n;
    if (*got > 0)
        memcpy(dst, f->data + off, *got);
    return 0;
}

/* 0 or the error of check_files(); now is 10,000 ns after 1970. */
static inline int image_check(struct log_writer *w, struct check_result *out, struct mf_error *e)
{
    const struct check_source src = {image_list, image_size, image_pread, w};
    const struct check_opts o = {.now_ns = 10000};

    return check_files(&src, &o, out, e);
}

#endif
