/* log_maker.c: logs made by hand. */
#include "log_maker.h"

#include "store/recover/recover.h"

#include <stdio.h>
#include <stdlib.h>

static void need(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "log_maker: %s\n", what);
    abort();
}

static void segment_begin(struct log_maker *m, uint64_t number)
{
    need(number <= MAKER_SEGMENTS, "too many segments");
    m->seg[number] = calloc(1, MAKER_SIZE);
    need(m->seg[number] != NULL, "memory");
    segment_page_encode(m->seg[number], SEGMENT_PLAIN, m->id, number, MAKER_SIZE, 7);
    m->made[number] = true;
    m->end[number] = SEGMENT_PAGE;
}

void maker_init(struct log_maker *m, uint64_t first)
{
    *m = (struct log_maker){.number = first, .first_segment = first};
    for (unsigned i = 0; i < STORE_ID; i++)
        m->id[i] = (uint8_t)(i * 11 + 3);
    segment_begin(m, first);
}

void maker_fini(struct log_maker *m)
{
    for (unsigned i = 0; i <= MAKER_SEGMENTS; i++)
        free(m->seg[i]);
}

struct record_pos maker_pos(const struct log_maker *m)
{
    return (struct record_pos){m->number, m->end[m->number]};
}

struct record_pos maker_add(struct log_maker *m, const struct record *r)
{
    struct record_pos at = maker_pos(m);
    uint8_t *p = m->seg[at.segment] + at.offset;
    size_t size = RECORD_START + r->key.len + r->head.len + r->body.len + 8 * (size_t)r->count;

    need(at.offset + size + RECORD_COMMIT_SIZE <= MAKER_SIZE, "segment is full");
    size = record_encode(p, r);
    record_finish(p, size, record_key(m->id, at.segment), at.offset, &m->chain, NULL);
    m->end[at.segment] += size;
    return at;
}

void maker_seal(struct log_maker *m)
{
    struct record r = {.type = RECORD_SEAL, .next_segment = m->number + 1};

    maker_add(m, &r);
    m->number++;
    if (!m->made[m->number])
        segment_begin(m, m->number);
}

void maker_prepare(struct log_maker *m)
{
    segment_begin(m, m->number + 1);
}

/* --- records ---------------------------------------------------------------------------------- */

static struct record_pos message(struct log_maker *m, uint8_t type, uint64_t seq, const char *key,
                                 const char *body, int64_t deadline_ns, bool last)
{
    struct record r = {.type = type,
                       .last = last,
                       .flags = 1,
                       .seq = seq,
                       .ts_ns = (int64_t)seq * 10,
                       .deadline_ns = deadline_ns,
                       .key = mf_str(key),
                       .head = MF_LIT("head"),
                       .body = mf_str(body)};

    if (seq > m->last_seq)
        m->last_seq = seq;
    return maker_add(m, &r);
}

struct record_pos maker_message(struct log_maker *m, uint64_t seq, const char *key,
                                const char *body, int64_t deadline_ns)
{
    return message(m, RECORD_MESSAGE, seq, key, body, deadline_ns, true);
}

struct record_pos maker_open_message(struct log_maker *m, uint64_t seq, const char *key)
{
    return message(m, RECORD_MESSAGE, seq, key, "in a batch", 0, false);
}

struct record_pos maker_copy(struct log_maker *m, uint64_t seq, const char *key, const char *body,
                             int64_t deadline_ns)
{
    return message(m, RECORD_COPY, seq, key, body, deadline_ns, true);
}

struct record_pos maker_remove(struct log_maker *m, uint64_t seq)
{
    return maker_add(m, &(struct record){.type = RECORD_REMOVE, .last = true, .seq = seq});
}

struct record_pos maker_range(struct log_maker *m, uint64_t first, uint64_t last)
{
    if (last > m->last_seq)
        m->last_seq = last;
    return maker_add(
        m, &(struct record){.type = RECORD_RANGE, .last = true, .seq = first, .seq_last = last});
}

struct record_pos maker_set(struct log_maker *m, const uint64_t *seq, uint32_t n)
{
    return maker_add(
        m, &(struct record){
               .type = RECORD_SET, .last = true, .set = (const uint8_t *)seq, .count = n});
}

struct record_pos maker_deadline(struct log_maker *m, uint64_t seq, int64_t deadline_ns)
{
    return maker_add(
        m, &(struct record){
               .type = RECORD_DEADLINE, .last = true, .seq = seq, .deadline_ns = deadline_ns});
}

struct record_pos maker_mark(struct log_maker *m, int64_t time_ns, uint64_t seq)
{
    m->mark = (struct record_mark){time_ns, seq};
    return maker_add(m, &(struct record){.type = RECORD_MARK, .last = true, .mark = m->mark});
}

struct record_pos maker_blob(struct log_maker *m, const char *name, const char *bytes)
{
    return maker_add(
        m, &(struct record){
               .type = RECORD_BLOB, .last = true, .key = mf_str(name), .body = mf_str(bytes)});
}

struct record_pos maker_blob_del(struct log_maker *m, const char *name)
{
    return maker_add(
        m,
        &(struct record){.type = RECORD_BLOB, .last = true, .deleted = true, .key = mf_str(name)});
}

struct record_pos maker_commit(struct log_maker *m)
{
    struct record r = {.type = RECORD_COMMIT,
                       .group = ++m->group,
                       .synced = m->synced,
                       .first_segment = m->first_segment,
                       .last_seq = m->last_seq,
                       .mark = m->mark,
                       .clock_ns = (int64_t)m->group * 1000};
    struct record_pos at = maker_add(m, &r);

    m->synced = maker_pos(m);
    return at;
}

/* --- files ------------------------------------------------------------------------------------ */

void maker_write(struct store_io *io, const char *name, const void *p, size_t n)
{
    struct store_file *f;
    struct mf_error e;

    if (io->open(io, name, false, &f, &e) == 0) {
        io->close(io, f);
        need(io->unlink(io, name, &e) == 0, "unlink");
    }
    need(io->open(io, name, true, &f, &e) == 0, "create");
    need(n == 0 || io->pwrite(io, f, p, n, 0, &e) == 0, "write");
    io->close(io, f);
}

size_t maker_read(struct store_io *io, const char *name, uint8_t *dst, size_t cap)
{
    struct store_file *f;
    struct mf_error e;
    uint64_t size;

    if (io->open(io, name, false, &f, &e) != 0)
        return 0;
    need(io->size(io, f, &size, &e) == 0 && size <= cap, "size");
    need(size == 0 || io->pread(io, f, dst, (size_t)size, 0, &e) == 0, "read");
    io->close(io, f);
    return (size_t)size;
}

struct store_io *maker_files(const struct log_maker *m)
{
    struct store_io *io;
    struct mf_error e;
    char name[32];

    need(store_io_memory(&io, &e) == 0 && io->enter(io, &e) == 0, "files in memory");
    for (unsigned i = 1; i <= MAKER_SEGMENTS; i++) {
        if (!m->made[i])
            continue;
        segment_name(name, i);
        maker_write(io, name, m->seg[i], MAKER_SIZE);
    }
    return io;
}

void maker_checkpoint(struct store_io *io, const struct checkpoint_head *head,
                      const struct index *ix, struct mf_slice blob_name, struct mf_slice blob)
{
    struct checkpoint_head h = *head;
    struct mf_buf b = MF_BUF_INIT;
    uint8_t none[CHECKPOINT_HEADER] = {0};
    uint64_t from = 0;

    mf_buf_append(&b, none, sizeof none);
    h.messages = h.blobs = 0;
    while (checkpoint_messages(ix, &from, 3, b.len, &b, &h))
        ;
    if (blob_name.len > 0) {
        size_t start = checkpoint_blobs_begin(&b, &h);
        checkpoint_blobs_add(&b, start, blob_name, blob);
        checkpoint_blobs_end(&b, start, start);
        h.blobs = 1;
    }
    h.file_size = b.len;
    checkpoint_encode_head(b.ptr, &h);
    need(!mf_buf_failed(&b), "memory");
    maker_write(io, CHECKPOINT_NAME, b.ptr, b.len);
    mf_buf_fini(&b);
}
