/* restore_tar.c: backups of nats-server 2.14 and older: a tar of its files (natsfile_impl.h).
 *
 * Happy path: after meta.inf, the first file, the stream is created.  Records of blocks are stored
 * as they arrive.  Deleted messages are named by tombstones, which follow the message, and by
 * index.db, which follows all blocks: both are kept until all messages are stored, then those
 * messages are removed.  Consumers are last; each is a configuration and a state.
 * index.db also knows messages that limits removed.  If it is absent, damaged, too large, or older
 * than the last block, it is ignored, as in nats-server: the limits remove them again.
 * Failure: restore_fail(); nothing remains. */
#include "backup/restore_impl.h"

#include "codec/tar.h"

#include "base/clock.h"
#include "codec/json.h"
#include "base/log.h"

#include <stdlib.h>

#define SMALL_MAX (1u << 20)   /* of a configuration */
#define STATE_MAX (16u << 20)  /* of a consumer's state */
#define INDEX_MAX (64u << 20)  /* of index.db */
#define DEAD_MAX  (256u << 20) /* bytes of sequences that are deleted */
#define LOOK      16           /* small steps between two looks at the clock */

enum kind { FILE_OTHER, FILE_META, FILE_BLOCK, FILE_INDEX, FILE_CONSUMER, FILE_STATE, FILE_ERRORS };

/* Steps after the last file: the index is read, walked, then deleted messages are removed. */
enum phase { TAR_BEGIN, TAR_READ, TAR_WALK, TAR_DELETE };

struct restore_tar {
    struct tar_reader tar;
    enum kind kind;
    bool open;          /* a file is being read */
    struct mf_buf file; /* its bytes, of those that are read as a whole */
    size_t max;         /* of them; more: it is passed over */
    bool too_large;
    uint32_t block; /* its number, its key, the check of its last record */
    uint8_t key[HIGHWAY_KEY], check[HIGHWAY_BYTES];
    uint64_t last_seq; /* the highest of all records, */
    int64_t last_ts_ns;
    struct mf_buf index, dead; /* dead: uint64_t each */
    size_t dead_at;
    enum phase phase;
    /* Walking the index: */
    struct natsfile_index walk;
    struct natsfile_block walked; /* the block it is at, */
    bool inside;                  /* if it is at one */
    uint64_t gap, gap_end;        /* between two of them: not looked at yet; 0: none */
    uint64_t upto;                /* the last sequence of the blocks so far */
    char consumer[256];
    struct mf_buf config; /* its; empty: no state is awaited */
};

void restore_tar_begin(struct restore *r)
{
    r->tar = calloc(1, sizeof *r->tar);
    if (r->tar == NULL)
        restore_fail(r, "%s", mf_err_text(MF_NOMEM));
}

void restore_tar_free(struct restore_tar *x)
{
    if (x == NULL)
        return;
    mf_buf_fini(&x->file);
    mf_buf_fini(&x->index);
    mf_buf_fini(&x->dead);
    mf_buf_fini(&x->config);
    free(x);
}

size_t restore_tar_memory(const struct restore_tar *x)
{
    return x == NULL ? 0 : x->file.len + x->index.len + x->dead.len + x->config.len;
}

/* --- files ---------------------------------------------------------------------------------- */

/* "obs/NAME/rest": the name, into x->consumer. */
static bool consumer_path(struct restore_tar *x, const char *path, const char **rest)
{
    const char *name = path + 4, *slash;

    if (strncmp(path, "obs/", 4) != 0 || (slash = strchr(name, '/')) == NULL || slash == name ||
        (size_t)(slash - name) >= sizeof x->consumer)
        return false;
    *rest = slash + 1;
    if (strcmp(*rest, "meta.inf") == 0) {
        memcpy(x->consumer, name, (size_t)(slash - name));
        x->consumer[slash - name] = '\0';
    }
    return true;
}

static enum kind kind_of(struct restore_tar *x, const char *path)
{
    const char *rest;
    uint64_t n;

    x->max = SMALL_MAX;
    if (strcmp(path, "meta.inf") == 0)
        return FILE_META;
    if (strcmp(path, "errors.txt") == 0)
        return FILE_ERRORS;
    if (consumer_path(x, path, &rest)) {
        if (strcmp(rest, "meta.inf") == 0)
            return FILE_CONSUMER;
        x->max = STATE_MAX;
        return strcmp(rest, "o.dat") == 0 ? FILE_STATE : FILE_OTHER;
    }
    x->max = INDEX_MAX;
    if (strcmp(path, "msgs/index.db") == 0)
        return FILE_INDEX;
    if (strncmp(path, "msgs/", 5) != 0 || (rest = strchr(path + 5, '.')) == NULL ||
        strcmp(rest, ".blk") != 0 ||
        mf_parse_u64(mf_slice(path + 5, (size_t)(rest - path - 5)), &n) != 0 || n > UINT32_MAX)
        return FILE_OTHER;
    x->block = (uint32_t)n;
    return FILE_BLOCK;
}

static void open_file(struct restore *r)
{
    struct restore_tar *x = r->tar;

    x->kind = kind_of(x, x->tar.name);
    x->open = true;
    x->too_large = false;
    mf_buf_clear(&x->file);
    if (!r->begun && x->kind != FILE_META)
        restore_fail(r, "expected meta.inf first");
    else if (x->config.len > 0 && x->kind == FILE_CONSUMER)
        restore_fail(r, "consumer \"%s\" is missing state", x->consumer);
    else if (x->kind == FILE_BLOCK)
        natsfile_block_key(r->name, x->block, x->key);
}

/* --- the stream's configuration ------------------------------------------------------------- */

static void take_meta(struct restore *r, struct mf_slice text)
{
    struct stream_config c;
    struct mf_error why;

    if (r->begun)
        return;
    stream_config_init(&c);
    if (json_unmarshal(text, &config_json_type, &c, &c.mem, &why) != 0)
        restore_fail(r, "error in meta.inf: %s", why.text);
    else if (c.name == NULL || strcmp(c.name, r->name) != 0)
        restore_fail(r, "stream names do not match");
    stream_config_fini(&c);
    r->state.last_ts_ns = CLOCK_ZERO;
    r->begun = true;
}

/* --- blocks --------------------------------------------------------------------------------- */

static void add_dead(struct restore *r, uint64_t seq)
{
    struct restore_tar *x = r->tar;

    mf_buf_append(&x->dead, &seq, sizeof seq);
    if (mf_buf_failed(&x->dead) || x->dead.len > DEAD_MAX)
        restore_fail(r, "too many deleted messages");
}

static void take_record(struct restore *r, const struct natsfile_record *rec)
{
    struct restore_tar *x = r->tar;
    struct stream *s = restore_stream(r);

    memcpy(x->check, rec->check, sizeof x->check);
    if (rec->seq > x->last_seq) {
        x->last_seq = rec->seq;
        x->last_ts_ns = rec->ts_ns;
    }
    if (rec->seq > INT64_MAX)
        restore_fail(r, "message block %u: not a record", x->block);
    else if (s == NULL)
        restore_fail(r, "stream not found");
    else if (rec->tombstone)
        add_dead(r, rec->seq);
    else if (!rec->erased && rec->seq > r->last_seq) /* else: it was accounted for */
        restore_take_msg(r, s,
                         &(struct archive_entry){.name = rec->subject,
                                                 .hdr = rec->hdr,
                                                 .payload = rec->payload,
                                                 .ts_ns = rec->ts_ns,
                                                 .seq = rec->seq});
}

static int block_step(struct restore *r, struct mf_slice *in)
{
    struct restore_tar *x = r->tar;
    struct natsfile_record rec;
    struct mf_slice data = tar_data(&x->tar, *in);
    int rc = natsfile_record(data, x->key, r->archive.max_body, &rec);

    if (rc == MF_AGAIN && data.len < x->tar.left && rec.size <= x->tar.left)
        return rc;
    if (rc == MF_AGAIN)
        restore_fail(r, "message block %u: cut off", x->block);
    else if (rc == MF_LIMIT && rec.size <= x->tar.left)
        restore_fail(r, "message sequence %llu exceeds maximum payload size",
                     (unsigned long long)rec.seq);
    else if (rc == MF_INVAL)
        restore_fail(r, "message block %u: invalid checksum", x->block);
    else if (rc != 0)
        restore_fail(r, "message block %u: not a record", x->block);
    else
        take_record(r, &rec);
    if (!r->failed)
        tar_take(&x->tar, in, rec.size);
    return 0;
}

/* --- consumers ------------------------------------------------------------------------------ */

static void take_state(struct restore *r, struct mf_slice bytes)
{
    struct restore_tar *x = r->tar;

    if (x->config.len == 0) {
        restore_fail(r, "consumer \"%s\" is missing config", x->consumer);
        return;
    }
    restore_read_state(r, mf_str(x->consumer), mf_buf_slice(&x->config), bytes);
    mf_buf_clear(&x->config);
}

/* --- files that are read as a whole --------------------------------------------------------- */

static void close_file(struct restore *r)
{
    struct restore_tar *x = r->tar;
    struct mf_slice bytes = mf_buf_slice(&x->file);

    x->open = false;
    if (mf_buf_failed(&x->file))
        restore_fail(r, "%s", mf_err_text(MF_NOMEM));
    else if (x->too_large && x->kind == FILE_INDEX)
        log_warn("restore of stream %s: its index is too large, its blocks must do", r->name);
    else if (x->too_large && x->kind != FILE_OTHER)
        restore_fail(r, "%s is too large", x->tar.name);
    else if (x->kind == FILE_META)
        take_meta(r, bytes);
    else if (x->kind == FILE_ERRORS)
        restore_fail(r, "the backup itself failed: %.*s", MF_FMT(bytes));
    else if (x->kind == FILE_STATE)
        take_state(r, bytes);
    else if (x->kind == FILE_CONSUMER || x->kind == FILE_INDEX) { /* for later */
        struct mf_buf *to = x->kind == FILE_INDEX ? &x->index : &x->config;
        struct mf_buf old = *to;

        *to = x->file;
        x->file = old;
    }
    if (!r->failed && x->kind == FILE_CONSUMER && x->config.len == 0)
        restore_fail(r, "consumer \"%s\" is missing config", x->consumer);
}

static int file_step(struct restore *r, struct mf_slice *in)
{
    struct restore_tar *x = r->tar;
    struct mf_slice data = tar_data(&x->tar, *in);

    if (x->tar.left == 0) {
        close_file(r);
        return 0;
    }
    if (data.len == 0)
        return MF_AGAIN;
    if (x->kind == FILE_BLOCK)
        return block_step(r, in);
    x->too_large = x->too_large || x->file.len + data.len > x->max;
    if (x->kind != FILE_OTHER && !x->too_large)
        mf_buf_append(&x->file, data.ptr, data.len);
    tar_take(&x->tar, in, data.len);
    return 0;
}

int restore_tar_step(struct restore *r)
{
    struct restore_tar *x = r->tar;
    struct mf_slice in =
        mf_slice(r->archive.in.ptr + r->archive.done, r->archive.in.len - r->archive.done);
    bool inside = x->open;
    int rc = inside ? file_step(r, &in) : tar_next(&x->tar, &in);

    r->archive.done = r->archive.in.len - in.len;
    r->archive.ended = x->tar.ended;
    if (inside || rc == MF_AGAIN)
        return rc;
    if (rc == MF_UNSUPPORTED)
        restore_fail(r, "unexpected content");
    else if (rc != 0)
        restore_fail(r, "archive/tar: invalid tar header");
    else
        open_file(r);
    return 0;
}

/* --- the end -------------------------------------------------------------------------------- */

static void index_read(struct restore *r, const struct natsfile_index *i)
{
    struct restore_tar *x = r->tar;

    x->phase = i != NULL ? TAR_WALK : TAR_DELETE;
    if (i != NULL)
        x->walk = *i;
    else
        log_warn("restore of stream %s: its index is not of its blocks, which must do", r->name);
}

/* The messages inside the gap. */
static void walk_gap(struct restore *r, struct stream *s)
{
    struct restore_tar *x = r->tar;
    uint64_t seq = stream_next(s, x->gap);

    if (seq == 0 || seq > x->gap_end) {
        x->gap = 0;
        return;
    }
    add_dead(r, seq);
    x->gap = seq + 1;
}

static void walk_block(struct restore_tar *x)
{
    struct natsfile_block *b = &x->walked;

    if (natsfile_index_next(&x->walk, b) != 0) { /* cannot be: it was read once */
        x->walk.blocks = 0;
        return;
    }
    x->inside = true;
    if (b->first > x->upto + 1) {
        x->gap = x->upto + 1;
        x->gap_end = b->first - 1;
    }
    if (b->last > x->upto)
        x->upto = b->last;
}

static void walk_end(struct restore_tar *x)
{
    x->phase = TAR_DELETE;
    if (x->walk.last_seq > x->last_seq && x->walk.last_seq <= INT64_MAX) {
        x->last_seq = x->walk.last_seq;
        x->last_ts_ns = x->walk.last_ts_ns;
    }
}

/* Deleted sequences: those between the blocks, and those that the blocks list. */
static void walk_index(struct restore *r, struct stream *s)
{
    struct restore_tar *x = r->tar;
    uint64_t seq;

    while (!r->failed && !work_spent_every(r->aa->ja->js->loop, LOOK)) {
        if (x->gap != 0) {
            walk_gap(r, s);
        } else if (x->inside) {
            x->inside = natsfile_set_next(&x->walked.deleted, &seq);
            if (x->inside && stream_present(s, seq))
                add_dead(r, seq);
        } else if (x->walk.blocks > 0) {
            walk_block(x);
        } else {
            walk_end(x);
            break;
        }
    }
    (void)restore_within(r);
}

static void begin_end(struct restore *r)
{
    struct restore_tar *x = r->tar;

    x->phase = TAR_READ;
    if (x->config.len > 0)
        restore_fail(r, "consumer \"%s\" is missing state", x->consumer);
    else if (x->index.len > 0)
        restore_read_index(r, &x->index, x->block, x->check, index_read);
    else
        x->phase = TAR_DELETE;
}

static void delete_dead(struct restore *r, struct stream *s)
{
    struct restore_tar *x = r->tar;
    uint64_t seq;

    while (!r->failed && x->dead_at < x->dead.len && !work_spent_every(r->aa->ja->js->loop, LOOK)) {
        int rc;

        memcpy(&seq, x->dead.ptr + x->dead_at, sizeof seq);
        x->dead_at += sizeof seq;
        rc = stream_present(s, seq) ? stream_drop(s, seq, NULL) : 0;
        if (rc != 0 && rc != MF_NOTFOUND)
            restore_fail(r, "%s", mf_err_text(rc));
    }
}

int restore_tar_finish(struct restore *r, struct stream *s)
{
    struct restore_tar *x = r->tar;

    if (x->phase == TAR_BEGIN)
        begin_end(r);
    else if (x->phase == TAR_WALK)
        walk_index(r, s);
    else if (x->phase == TAR_DELETE)
        delete_dead(r, s);
    if (r->failed)
        return 0;
    if (x->phase == TAR_READ)
        return MF_AGAIN; /* the worker's end wakes us */
    if (x->phase != TAR_DELETE || x->dead_at < x->dead.len) {
        restore_wake(r);
        return MF_AGAIN;
    }
    if (x->last_seq > r->state.last_seq) {
        r->state.last_seq = x->last_seq;
        r->state.last_ts_ns = x->last_ts_ns;
    }
    return 0;
}
