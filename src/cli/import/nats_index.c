/* nats_index.c: is index.db the state of just these blocks?
 *
 * nats-server writes it when it stops, and now and then.  It counts only if it ends with the last
 * record of the last block.  If it does not, the server was killed, and the blocks decide. */
#include "cli/import/nats_store_impl.h"

#include "base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* The last 8 bytes of a block: the check of its last record, also if it is compressed.  Zeros if
 * the file is shorter. */
static int read_last_check(struct nats_store *s, uint32_t block, uint8_t check[HIGHWAY_BYTES],
                           struct mf_error *e)
{
    char path[4096];
    struct stat st;
    int fd, rc = 0;

    memset(check, 0, HIGHWAY_BYTES);
    (void)snprintf(path, sizeof path, "%s/%s/%u.blk", s->dir, s->msgs, block);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return mf_fail_errno(e, MF_IO, "%s", path);
    if (fstat(fd, &st) != 0 ||
        (st.st_size >= HIGHWAY_BYTES &&
         pread(fd, check, HIGHWAY_BYTES, st.st_size - HIGHWAY_BYTES) != HIGHWAY_BYTES))
        rc = mf_fail_errno(e, MF_IO, "%s", path);
    (void)close(fd);
    return rc;
}

static int add_range(struct nats_store *s, const struct natsfile_block *b)
{
    uint64_t span = b->last + 1 - b->first;

    if (mf_array_reserve(&s->ranges, &s->ranges_cap, s->nranges + 1, sizeof *s->ranges) != 0)
        return MF_NOMEM;
    s->ranges[s->nranges++] =
        (struct nats_range){.block = b->index,
                            .first = b->first,
                            .last = b->last,
                            .count = span > b->ndeleted ? span - b->ndeleted : 0,
                            .deleted = b->deleted};
    return 0;
}

/* Blocks that index.db counts messages in, and that are not there.  Only if it is up to date:
 * otherwise they may have been emptied later. */
static bool all_blocks_there(struct nats_store *s)
{
    bool all = true;

    for (size_t i = 0; i < s->nranges; i++)
        if (s->ranges[i].count > 0 && !nats_store_has_block(s, s->ranges[i].block)) {
            nats_notes_add(
                &s->damage, "%s/%u.blk: missing; it had %llu messages, sequences %llu to %llu",
                s->msgs, s->ranges[i].block, (unsigned long long)s->ranges[i].count,
                (unsigned long long)s->ranges[i].first, (unsigned long long)s->ranges[i].last);
            all = false;
        }
    return all;
}

static bool sums_agree(const struct nats_store *s, const struct natsfile_index *x, uint64_t bytes)
{
    uint64_t count = 0;

    for (size_t i = 0; i < s->nranges; i++)
        count += s->ranges[i].count;
    return count == x->msgs && bytes == x->bytes;
}

/* 0: read; MF_CORRUPT: damaged.  *bytes: of all blocks. */
static int read_index(struct nats_store *s, struct natsfile_index *x, uint64_t *bytes,
                      uint32_t *block, uint8_t check[HIGHWAY_BYTES])
{
    struct natsfile_block b;
    int rc = natsfile_index_open(x, mf_buf_slice(&s->index), s->name);

    *bytes = 0;
    while (rc == 0 && x->blocks > 0) {
        rc = natsfile_index_next(x, &b);
        if (rc == 0 && !natsfile_set_sound(&b.deleted))
            rc = MF_CORRUPT;
        if (rc == 0) {
            bool counts = b.last + 1 - b.first > b.ndeleted || x->blocks == 0;

            *bytes += counts ? b.bytes : 0;
            rc = add_range(s, &b);
        }
    }
    return rc != 0 ? rc : natsfile_index_end(x, block, check);
}

int nats_index_load(struct nats_store *s, struct mf_error *e)
{
    uint8_t check[HIGHWAY_BYTES], found[HIGHWAY_BYTES];
    uint32_t last = s->nblocks == 0 ? 0 : s->blocks[s->nblocks - 1], block = 0;
    struct natsfile_index x;
    uint64_t bytes;
    int rc;

    if (s->index.len == 0)
        return 0;
    rc = read_index(s, &x, &bytes, &block, check);
    if (rc == MF_NOMEM)
        return mf_fail(e, rc, "%s: index.db", s->dir);
    if (rc != 0) {
        nats_notes_add(&s->remarks, "index.db is damaged; the blocks decide");
        s->nranges = 0;
        return 0;
    }
    s->version = x.version;
    s->index_last = x.last_seq;
    s->index_last_ts_ns = x.last_ts_ns;
    if (s->nranges == 0 || s->ranges[s->nranges - 1].block != block)
        return 0;
    if (last < block || s->nblocks == 0) {
        (void)all_blocks_there(s);
        return 0;
    }
    if (last > block)
        return 0;
    rc = read_last_check(s, block, found, e);
    if (rc != 0)
        return rc;
    s->indexed =
        memcmp(found, check, sizeof check) == 0 && all_blocks_there(s) && sums_agree(s, &x, bytes);
    return 0;
}
