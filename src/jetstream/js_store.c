/* api_store.c: where streams are kept: the directory, an account's folder in it, the limits that
 * follow from the machine. */
#include "jetstream/js_store_impl.h"

#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

char *api_store_folder(const char *account)
{
    struct mf_buf b = MF_BUF_INIT;
    char *path;

    for (const char *c = account; *c != '\0'; c++) {
        if (*c == '/' || *c == '%' || (*c == '.' && c == account))
            mf_buf_printf(&b, "%%%02X", (unsigned)(unsigned char)*c);
        else
            mf_buf_byte(&b, (uint8_t)*c);
    }
    mf_buf_puts(&b, "/streams");
    path = mf_buf_failed(&b) ? NULL : mf_slice_dup(mf_buf_slice(&b));
    mf_buf_fini(&b);
    return path;
}

/* Without limits in the configuration: three quarters of the memory and of the free disk. */
static void machine_limits(struct api *a)
{
    const struct options_jetstream *js = &a->options->jetstream;
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
    struct statvfs v;

    a->max = (struct stream_usage){js->max_memory, js->max_store};
    if (a->max.memory < 0 && pages > 0 && size > 0)
        a->max.memory = (int64_t)pages / 4 * 3 * size;
    if (a->max.file < 0 && (statvfs(a->store_dir, &v) == 0 || statvfs("/", &v) == 0))
        a->max.file = (int64_t)(v.f_bavail / 4 * 3) * (int64_t)v.f_frsize;
}

/* As configured, for pages and the log: not what links in it lead to. */
static char *shown_dir(const char *store_dir)
{
    struct mf_buf b = MF_BUF_INIT;
    char *dir;

    mf_buf_puts(&b, store_dir);
    while (b.len > 1 && b.ptr[b.len - 1] == '/')
        b.len--;
    mf_buf_puts(&b, b.len == 1 && b.ptr[0] == '/' ? "jetstream" : "/jetstream");
    dir = mf_buf_failed(&b) ? NULL : mf_slice_dup(mf_buf_slice(&b));
    mf_buf_fini(&b);
    return dir;
}

int api_store_open(struct api *a, struct mf_error *e)
{
    char *dir = options_store_dir(a->options);
    int rc = 0;

    a->store_dir = dir == NULL ? NULL : shown_dir(dir);
    if (a->store_dir == NULL) {
        free(dir);
        return mf_fail(e, MF_NOMEM, "store directory");
    }
    if (a->options->jetstream.enabled)
        rc = catalog_root_open(&a->root, dir, e);
    free(dir);
    if (rc == 0)
        machine_limits(a);
    return rc;
}

void api_store_close(struct api *a)
{
    catalog_root_close(a->root);
    free(a->store_dir);
}

int api_check(const struct options *o, struct mf_error *e)
{
    char *dir;
    int rc;

    if (!o->jetstream.enabled)
        return 0;
    if ((dir = options_store_dir(o)) == NULL)
        return mf_fail(e, MF_NOMEM, "store directory");
    rc = catalog_root_check(dir, e);
    free(dir);
    return rc == 0 ? 0 : mf_wrap(e, "JetStream");
}
