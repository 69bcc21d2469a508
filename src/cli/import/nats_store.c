/* nats_store.c: a stream's folder of nats-server: its configuration and its list of blocks. */
#include "cli/import/nats_store_impl.h"

#include "base/array.h"
#include "codec/sha256.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define META_MAX  (16u << 20)
#define INDEX_MAX (4ULL << 30)

void nats_notes_add(struct nats_notes *l, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    char *copy;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    copy = strdup(text);
    if (copy == NULL || mf_array_reserve(&l->at, &l->cap, l->n + 1, sizeof *l->at) != 0) {
        free(copy);
        return; /* a note less */
    }
    l->at[l->n++] = copy;
}

static void notes_free(struct nats_notes *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->at[i]);
    free(l->at);
}

void nats_store_free(struct nats_store *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->nconsumers; i++)
        mf_buf_fini(&s->consumers[i].doc);
    json_decref(s->config);
    mf_buf_fini(&s->index);
    notes_free(&s->damage);
    notes_free(&s->remarks);
    mf_buf_fini(&s->header);
    free(s->sources);
    free(s->consumers);
    free(s->ranges);
    free(s->dead);
    free(s->blocks);
    free(s->dir);
    free(s);
}

/* --- files ---------------------------------------------------------------------------------- */

static int read_all(int fd, uint64_t size, struct mf_buf *out)
{
    uint8_t *to = mf_buf_reserve(out, (size_t)size);
    size_t have = 0;

    if (to == NULL)
        return MF_NOMEM;
    while (have < size) {
        ssize_t n = read(fd, to + have, (size_t)size - have);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return MF_IO;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    out->len += have;
    return 0;
}

int nats_store_read(const char *dir, const char *name, uint64_t max, struct mf_buf *out,
                    struct mf_error *e)
{
    char path[4096];
    struct stat st;
    int fd, rc;

    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
        return mf_fail(e, MF_LIMIT, "%s/%s: path too long", dir, name);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return mf_fail_errno(e, errno == ENOENT || errno == ENOTDIR ? MF_NOTFOUND : MF_IO, "%s",
                             path);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        rc = mf_fail(e, MF_IO, "%s is no plain file", path);
    else if ((uint64_t)st.st_size > max)
        rc = mf_fail(e, MF_LIMIT, "%s has %lld bytes", path, (long long)st.st_size);
    else if ((rc = read_all(fd, (uint64_t)st.st_size, out)) != 0)
        rc = mf_fail_errno(e, rc, "%s", path);
    (void)close(fd);
    return rc;
}

bool nats_store_sum_matches(struct mf_slice bytes, struct mf_slice hex, const char *key)
{
    uint8_t k[HIGHWAY_KEY], sum[HIGHWAY_BYTES];
    char text[2 * HIGHWAY_BYTES + 1];
    struct highway h;

    sha256(mf_str(key), k);
    highway_init(&h, k);
    highway_add(&h, bytes);
    highway_end(&h, sum);
    for (size_t i = 0; i < sizeof sum; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", sum[i]);
    return mf_eq_str(mf_trim(hex), text);
}

/* --- the configuration ---------------------------------------------------------------------- */

static int load_config(struct nats_store *s, struct mf_error *e)
{
    struct mf_buf meta = MF_BUF_INIT, sum = MF_BUF_INIT;
    json_error_t why;
    const char *name;
    int rc = nats_store_read(s->dir, "meta.inf", META_MAX, &meta, e);

    if (rc == 0) {
        s->config = json_loadb((const char *)meta.ptr, meta.len, JSON_REJECT_DUPLICATES, &why);
        name = json_string_value(json_object_get(s->config, "name"));
        if (s->config == NULL)
            rc = mf_fail(e, MF_CORRUPT, "%s/meta.inf: %s", s->dir, why.text);
        else if (name == NULL || *name == '\0' || strlen(name) >= sizeof s->name)
            rc = mf_fail(e, MF_CORRUPT, "%s/meta.inf names no stream", s->dir);
        else
            memcpy(s->name, name, strlen(name) + 1);
    }
    if (rc == 0) {
        json_object_del(s->config, "Created"); /* not of the configuration */
        json_object_del(s->config, "created");
        if (nats_store_read(s->dir, "meta.sum", 64, &sum, NULL) != 0)
            nats_notes_add(&s->damage, "meta.sum: missing, so meta.inf cannot be checked");
        else if (!nats_store_sum_matches(mf_buf_slice(&meta), mf_buf_slice(&sum), s->name))
            nats_notes_add(&s->damage, "meta.inf: wrong checksum");
    }
    mf_buf_fini(&meta);
    mf_buf_fini(&sum);
    return rc;
}

static bool is_encrypted(const char *dir)
{
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/meta.key", dir);
    return access(path, F_OK) == 0;
}

/* --- blocks --------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

bool nats_store_has_block(const struct nats_store *s, uint32_t block)
{
    return s->nblocks > 0 &&
           bsearch(&block, s->blocks, s->nblocks, sizeof *s->blocks, by_number) != NULL;
}

static int add_block(struct nats_store *s, const char *name)
{
    const char *dot = strchr(name, '.');
    uint64_t n;

    s->outdated = s->outdated || (dot != NULL && strcmp(dot, ".idx") == 0);
    if (dot == NULL || strcmp(dot, ".blk") != 0 ||
        mf_parse_u64(mf_slice(name, (size_t)(dot - name)), &n) != 0 || n > UINT32_MAX)
        return 0;
    if (mf_array_reserve(&s->blocks, &s->blocks_cap, s->nblocks + 1, sizeof *s->blocks) != 0)
        return MF_NOMEM;
    s->blocks[s->nblocks++] = (uint32_t)n;
    return 0;
}

/* MF_NOTFOUND: no such folder. */
static int list_blocks(struct nats_store *s, const char *folder, struct mf_error *e)
{
    char path[4096];
    struct dirent *d;
    int rc = 0;
    DIR *dir;

    (void)snprintf(s->msgs, sizeof s->msgs, "%s", folder);
    if (snprintf(path, sizeof path, "%s/%s", s->dir, folder) >= (int)sizeof path)
        return mf_fail(e, MF_LIMIT, "%s: path too long", s->dir);
    dir = opendir(path);
    if (dir == NULL)
        return mf_fail_errno(e, errno == ENOENT ? MF_NOTFOUND : MF_IO, "%s", path);
    while (rc == 0 && (d = readdir(dir)) != NULL)
        rc = add_block(s, d->d_name);
    (void)closedir(dir);
    if (s->nblocks > 1)
        qsort(s->blocks, s->nblocks, sizeof *s->blocks, by_number);
    return rc == 0 ? 0 : mf_fail(e, rc, "%s", path);
}

/* A purge that was cut short has moved the remaining block into a new folder. */
static int load_blocks(struct nats_store *s, struct mf_error *e)
{
    int rc = list_blocks(s, "__new_msgs__", e);

    if (rc == 0 && s->nblocks > 0) {
        nats_notes_add(&s->remarks, "a purge was cut short; it is completed");
        return 0;
    }
    if (rc != 0 && rc != MF_NOTFOUND)
        return rc;
    rc = list_blocks(s, "msgs", e);
    if (rc == MF_NOTFOUND)
        nats_notes_add(&s->damage, "msgs: the folder of the messages is missing");
    if (rc == 0 && s->outdated)
        return mf_fail(e, MF_INVAL,
                       "written by nats-server 2.9 or older, which kept deletes in *.idx: start "
                       "nats-server 2.10 or newer on a copy once, stop it, and import the copy");
    return rc == MF_NOTFOUND ? 0 : rc;
}

int nats_store_open(struct nats_store **out, const char *dir, struct mf_error *e)
{
    struct nats_store *s = calloc(1, sizeof *s);
    char index[32];
    int rc;

    if (s == NULL || (s->dir = strdup(dir)) == NULL) {
        free(s);
        return mf_fail(e, MF_NOMEM, "%s", dir);
    }
    if (is_encrypted(dir))
        rc = mf_fail(e, MF_UNSUPPORTED, "%s: encrypted", dir);
    else
        rc = load_config(s, e);
    if (rc == 0)
        rc = load_blocks(s, e);
    if (rc == 0) {
        (void)snprintf(index, sizeof index, "%s/index.db", s->msgs);
        rc = nats_store_read(dir, index, INDEX_MAX, &s->index, e);
        rc = rc == MF_NOTFOUND ? 0 : rc;
    }
    if (rc == 0)
        rc = nats_index_load(s, e);
    if (rc == 0)
        rc = nats_consumers_load(s, e);
    if (rc == 0)
        rc = nats_source_load(s, e);
    if (rc != 0) {
        nats_store_free(s);
        return rc;
    }
    *out = s;
    return 0;
}
