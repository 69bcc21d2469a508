/* zone_maker.c: zone files and a directory for them. */
#include "zone_maker.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];

static void put_be(struct mf_buf *b, uint64_t x, size_t n)
{
    while (n-- > 0)
        mf_buf_byte(b, (uint8_t)(x >> (8 * n)));
}

static void put_header(struct mf_buf *b, char version, size_t ntimes, size_t ntypes)
{
    mf_buf_puts(b, "TZif");
    mf_buf_byte(b, (uint8_t)version);
    for (int i = 0; i < 15; i++)
        mf_buf_byte(b, 0);
    for (int i = 0; i < 3; i++)
        put_be(b, 0, 4); /* no flags, no leap seconds */
    put_be(b, ntimes, 4);
    put_be(b, ntypes, 4);
    put_be(b, 4, 4); /* names: "QQQ" */
}

static void put_block(struct mf_buf *b, char version, const struct zone_made *c, size_t n, size_t w)
{
    put_header(b, version, n - 1, n);
    for (size_t i = 1; i < n; i++)
        put_be(b, (uint64_t)c[i].at_s, w);
    for (size_t i = 1; i < n; i++)
        mf_buf_byte(b, (uint8_t)i);
    for (size_t i = 0; i < n; i++) {
        put_be(b, (uint32_t)c[i].offset_s, 4);
        put_be(b, 0, 2);
    }
    mf_buf_append(b, "QQQ", 4);
}

void zone_made_file(struct mf_buf *out, const struct zone_made *changes, size_t n,
                    const char *footer)
{
    static const struct zone_made none[] = {{0, 0}};

    put_block(out, '2', none, 1, 4);
    put_block(out, '2', changes, n, 8);
    mf_buf_printf(out, "\n%s\n", footer);
}

void zone_made_file_v1(struct mf_buf *out, const struct zone_made *changes, size_t n)
{
    put_block(out, '\0', changes, n, 4);
}

static void must(bool ok, const char *what)
{
    if (!ok) {
        perror(what);
        abort();
    }
}

void zone_dir_make(void)
{
    snprintf(dir, sizeof dir, "/tmp/mayfly-zones-XXXXXX");
    must(mkdtemp(dir) != NULL, dir);
    must(setenv("TZDIR", dir, 1) == 0, "TZDIR");
}

const char *zone_dir(void)
{
    return dir;
}

void zone_dir_put(const char *name, struct mf_slice bytes)
{
    char path[256];
    const char *slash = strchr(name, '/');
    FILE *f;

    if (slash != NULL) {
        snprintf(path, sizeof path, "%s/%.*s", dir, (int)(slash - name), name);
        (void)mkdir(path, 0700); /* it may be there */
    }
    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "wb");
    must(f != NULL, path);
    must(bytes.len == 0 || fwrite(bytes.ptr, bytes.len, 1, f) == 1, path);
    must(fclose(f) == 0, path);
}

void zone_dir_put_rule(const char *name, const char *footer)
{
    static const struct zone_made none[] = {{0, 0}};
    struct mf_buf b = MF_BUF_INIT;

    zone_made_file(&b, none, 1, footer);
    must(!mf_buf_failed(&b), name);
    zone_dir_put(name, mf_buf_slice(&b));
    mf_buf_fini(&b);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

void zone_dir_remove(void)
{
    must(nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0, dir);
    must(unsetenv("TZDIR") == 0, "TZDIR");
}
