/* zone.c: finds, reads and shares zone files.
 *
 * File, big endian: a header of 44 bytes ("TZif", version, 15 unused, six counts), a block with
 * times of 32 bits; from version 2 on a second header, the same with 64 bits, and the rule for all
 * time after it between two line feeds.  A block:
 *    times, one type per time, types (i32 offset, u8 summer time, u8 name), names, leap seconds,
 *    two kinds of flags
 * Valid if the counts fit the file, times ascend and types exist. */
#include "cron/zone_impl.h"

#include "base/list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER       44
#define TYPE_SIZE    6
#define OFFSET_MAX_S (26 * 3600)
#define FILE_MAX     (256 * 1024)
#define ZONE_DIR     "/usr/share/zoneinfo"

/* changes[i] begins the span with offset[i]; before the first one: first_s. */
struct zone {
    struct mf_list link; /* of live */
    size_t refs;
    char name[ZONE_NAME_MAX + 1];
    bool ruled;
    struct zone_rule rule;
    int32_t first_s;
    size_t n;
    int64_t *change;
    int32_t *offset;
};

/* The zones in use.  One thread owns all schedules, so it owns this too. */
static _Thread_local struct mf_list live;

static uint64_t load_be(const uint8_t *p, size_t n)
{
    uint64_t x = 0;

    for (size_t i = 0; i < n; i++)
        x = x << 8 | p[i];
    return x;
}

static int64_t be_signed(const uint8_t *p, size_t n)
{
    return n == 4 ? (int32_t)(uint32_t)load_be(p, 4) : (int64_t)load_be(p, 8);
}

struct block {
    const uint8_t *times, *indices, *types;
    size_t width; /* of a time */
    uint64_t ntimes, ntypes;
};

/* Takes header and block from the front of *rest. */
static int take_block(struct mf_slice *rest, size_t width, struct block *b, uint8_t *version)
{
    const uint8_t *p = rest->ptr;
    uint64_t size;

    if (rest->len < HEADER || memcmp(p, "TZif", 4) != 0)
        return MF_CORRUPT;
    b->width = width;
    b->ntimes = load_be(p + 32, 4);
    b->ntypes = load_be(p + 36, 4);
    size = b->ntimes * (width + 1) + b->ntypes * TYPE_SIZE + load_be(p + 40, 4) +
           load_be(p + 28, 4) * (width + 4) + load_be(p + 24, 4) + load_be(p + 20, 4);
    if (b->ntypes == 0 || size > rest->len - HEADER)
        return MF_CORRUPT;
    *version = p[4];
    b->times = p + HEADER;
    b->indices = b->times + b->ntimes * width;
    b->types = b->indices + b->ntimes;
    *rest = mf_slice(p + HEADER + size, rest->len - HEADER - (size_t)size);
    return 0;
}

static int type_offset(const struct block *b, uint64_t type, int32_t *out)
{
    if (type >= b->ntypes)
        return MF_CORRUPT;
    *out = (int32_t)be_signed(b->types + type * TYPE_SIZE, 4);
    return *out > -OFFSET_MAX_S && *out < OFFSET_MAX_S ? 0 : MF_CORRUPT;
}

static int fill_changes(struct zone *z, const struct block *b)
{
    if (type_offset(b, 0, &z->first_s) != 0)
        return MF_CORRUPT;
    for (size_t i = 0; i < z->n; i++) {
        z->change[i] = be_signed(b->times + i * b->width, b->width);
        if (type_offset(b, b->indices[i], &z->offset[i]) != 0 ||
            (i > 0 && z->change[i] <= z->change[i - 1]))
            return MF_CORRUPT;
    }
    return 0;
}

/* A rule that cannot be read counts as none, as in Go: the last offset then stays. */
static void read_footer(struct zone *z, struct mf_slice rest)
{
    const uint8_t *end;

    if (rest.len < 2 || rest.ptr[0] != '\n')
        return;
    end = memchr(rest.ptr + 1, '\n', rest.len - 1);
    if (end == NULL)
        return;
    z->ruled = zone_rule_parse(&z->rule, mf_slice(rest.ptr + 1, (size_t)(end - rest.ptr) - 1)) == 0;
}

int zone_read(struct zone **out, struct mf_slice file)
{
    struct mf_slice rest = file;
    struct block b;
    struct zone *z;
    uint8_t version, again;

    if (take_block(&rest, 4, &b, &version) != 0 ||
        (version >= '2' && take_block(&rest, 8, &b, &again) != 0))
        return MF_CORRUPT;
    z = calloc(1, sizeof *z + (size_t)b.ntimes * (sizeof *z->change + sizeof *z->offset));
    if (z == NULL)
        return MF_NOMEM;
    mf_list_init(&z->link);
    z->refs = 1;
    z->n = (size_t)b.ntimes;
    z->change = (int64_t *)(void *)(z + 1);
    z->offset = (int32_t *)(void *)(z->change + z->n);
    if (fill_changes(z, &b) != 0) {
        free(z);
        return MF_CORRUPT;
    }
    if (version >= '2')
        read_footer(z, rest);
    *out = z;
    return 0;
}

struct zone_span zone_at(const struct zone *z, int64_t t_s)
{
    size_t low = 0, high;

    if (z == NULL)
        return (struct zone_span){0, ZONE_FOREVER};
    high = z->n;
    while (low < high) { /* changes [0, low) have come by t, [high, n) have not */
        size_t mid = low + (high - low) / 2;

        if (z->change[mid] <= t_s)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == z->n && z->ruled)
        return zone_rule_at(&z->rule, t_s);
    return (struct zone_span){low == 0 ? z->first_s : z->offset[low - 1],
                              low == z->n ? ZONE_FOREVER : z->change[low]};
}

/* --- files ------------------------------------------------------------------------------------ */

/* Letters, digits, '_', '+', '-' in parts split by single '/': all names of zones have this form,
 * and none leaves the folder or names one file in two ways. */
static bool name_ok(struct mf_slice name)
{
    uint8_t before = '/';

    if (name.len == 0 || name.len > ZONE_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.len; before = name.ptr[i++]) {
        uint8_t c = name.ptr[i];
        bool word = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
                    c == '_' || c == '+' || c == '-';

        if (!word && (c != '/' || before == '/'))
            return false;
    }
    return before != '/';
}

static int read_all(int fd, uint8_t *dst, size_t len)
{
    for (size_t n = 0; n < len;) {
        ssize_t got = read(fd, dst + n, len - n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return MF_NOTFOUND;
        n += (size_t)got;
    }
    return 0;
}

static int load_open(struct zone **out, int fd)
{
    struct stat st;
    uint8_t *bytes;
    int rc;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < HEADER || st.st_size > FILE_MAX)
        return MF_NOTFOUND;
    bytes = malloc((size_t)st.st_size);
    if (bytes == NULL)
        return MF_NOMEM;
    rc = read_all(fd, bytes, (size_t)st.st_size);
    if (rc == 0)
        rc = zone_read(out, mf_slice(bytes, (size_t)st.st_size));
    free(bytes);
    return rc == MF_CORRUPT ? MF_NOTFOUND : rc; /* zone.tab and its kind lie there too */
}

static int load_path(struct zone **out, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rc;

    if (fd < 0) /* a schedule must not be lost because files ran out for a moment */
        return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? MF_NOMEM : MF_NOTFOUND;
    rc = load_open(out, fd);
    close(fd);
    return rc;
}

static int load_name(struct zone **out, struct mf_slice name)
{
    char path[4096];
    const char *dir = getenv("TZDIR");
    int n;

    if (!name_ok(name))
        return MF_NOTFOUND;
    if (dir == NULL || dir[0] == '\0')
        dir = ZONE_DIR;
    n = snprintf(path, sizeof path, "%s/%.*s", dir, MF_FMT(name));
    return n < 0 || (size_t)n >= sizeof path ? MF_NOTFOUND : load_path(out, path);
}

/* *out stays NULL, which is UTC, when the machine has no zone. */
static int load_local(struct zone **out)
{
    const char *tz = getenv("TZ");
    int rc;

    if (tz != NULL && tz[0] == ':')
        tz++;
    if (tz == NULL)
        rc = load_path(out, "/etc/localtime");
    else if (tz[0] == '/')
        rc = load_path(out, tz); /* the administrator's word, not a client's */
    else
        rc = load_name(out, mf_str(tz));
    return rc == MF_NOTFOUND ? 0 : rc;
}

int zone_open(struct zone **out, struct mf_slice name)
{
    struct mf_list *at;
    struct zone *z = NULL;
    int rc;

    if (mf_eq_str(name, "UTC")) {
        *out = NULL;
        return 0;
    }
    if (live.next == NULL)
        mf_list_init(&live);
    mf_list_each(at, &live)
    {
        z = mf_container(at, struct zone, link);
        if (mf_eq_str(name, z->name)) {
            z->refs++;
            *out = z;
            return 0;
        }
    }
    z = NULL;
    rc = mf_eq_str(name, "Local") ? load_local(&z) : load_name(&z, name);
    if (rc != 0)
        return rc;
    if (z != NULL) {
        memcpy(z->name, name.ptr, name.len);
        mf_list_push(&live, &z->link);
    }
    *out = z;
    return 0;
}

void zone_close(struct zone *z)
{
    if (z == NULL || --z->refs > 0)
        return;
    mf_list_del(&z->link);
    free(z);
}
