/* log_writer.c: see log_writer.h.  Runs out of memory with abort(): it is for tests. */
#include "log_writer.h"

#include "codec/checksum.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void put16(uint8_t *p, uint64_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}
static void put32(uint8_t *p, uint64_t v)
{
    put16(p, v);
    put16(p + 2, v >> 16);
}
static void put64(uint8_t *p, uint64_t v)
{
    put32(p, v);
    put32(p + 4, v >> 32);
}
static uint64_t get32(const uint8_t *p)
{
    return p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
}

void lw_init(struct log_writer *w, size_t segment_size)
{
    *w = (struct log_writer){.segment_size = segment_size, .first = 1, .keep_model = true};
    for (int i = 0; i < 16; i++)
        w->id[i] = (uint8_t)(i * 37 + 11);
    w->clock = 1000;
}

void lw_fini(struct log_writer *w)
{
    for (size_t i = 0; i < w->files; i++)
        free(w->file[i].data);
    w->files = 0;
}

/* --- files ------------------------------------------------------------------------------------ */

struct lw_file *lw_file(struct log_writer *w, const char *name)
{
    for (size_t i = 0; i < w->files; i++)
        if (strcmp(w->file[i].name, name) == 0)
            return &w->file[i];
    return NULL;
}

struct lw_file *lw_segment_file(struct log_writer *w, uint64_t number)
{
    char name[32];

    (void)snprintf(name, sizeof name, "%016" PRIx64 ".log", number);
    return lw_file(w, name);
}

struct lw_file *lw_create(struct log_writer *w, const char *name, size_t size)
{
    struct lw_file *f;

    lw_unlink(w, name);
    if (w->files == LW_FILES)
        abort();
    f = &w->file[w->files++];
    (void)snprintf(f->name, sizeof f->name, "%s", name);
    f->data = calloc(1, size == 0 ? 1 : size);
    if (f->data == NULL)
        abort();
    f->size = size;
    return f;
}

void lw_unlink(struct log_writer *w, const char *name)
{
    struct lw_file *f = lw_file(w, name);

    if (f == NULL)
        return;
    free(f->data);
    *f = w->file[--w->files];
}

void lw_header(struct log_writer *w, uint64_t number)
{
    struct lw_file *f = lw_segment_file(w, number);

    for (size_t at = 0; at <= 2048; at += 2048) {
        uint8_t *p = f->data + at;

        memcpy(p, "MAYFLYSG", 8);
        put32(p + 8, 1);
        put32(p + 12, 4096);
        memcpy(p + 16, w->id, 16);
        put64(p + 32, number);
        put64(p + 40, f->size);
        put64(p + 48, 77);
        put64(p + 56, checksum64(p, 56, at));
    }
}

void lw_reheader(struct log_writer *w, uint64_t number)
{
    struct lw_file *f = lw_segment_file(w, number);

    put64(f->data + 56, checksum64(f->data, 56, 0));
}

void lw_segment(struct log_writer *w)
{
    char name[32];

    (void)snprintf(name, sizeof name, "%016" PRIx64 ".log", ++w->segment);
    (void)lw_create(w, name, w->segment_size);
    lw_header(w, w->segment);
    w->offset = 4096;
}

void lw_roll(struct log_writer *w)
{
    (void)lw_seal(w);
    lw_segment(w);
}

/* --- records ---------------------------------------------------------------------------------- */

uint64_t lw_record(struct log_writer *w, uint8_t type, uint8_t bits, uint16_t flags,
                   const uint8_t *fields, size_t fields_len, const void *data, size_t data_len)
{
    struct lw_file *f = lw_segment_file(w, w->segment);
    size_t fixed = 16 + fields_len, padded = (fixed + data_len + 7) / 8 * 8;
    uint8_t *p = f->data + w->offset, name[24];
    uint64_t at = w->offset, seed;

    if (at + padded > f->size)
        abort();
    memcpy(name, w->id, 16);
    put64(name + 16, w->segment);
    seed = checksum64(name, 24, 0) + at * UINT64_C(0x9E3779B97F4A7C15);
    memset(p, 0, padded);
    put32(p + 4, fixed + data_len);
    put32(p + 8, w->chain);
    p[12] = type;
    p[13] = bits;
    put16(p + 14, flags);
    memcpy(p + 16, fields, fields_len);
    if (data != NULL) {
        if (data_len > 0)
            memcpy(p + fixed, data, data_len);
        put64(p + fixed - 8, checksum64(p + fixed, padded - fixed, seed));
    }
    w->chain = (uint32_t)checksum64(p + 4, fixed - 4, seed);
    put32(p, w->chain);
    w->offset += padded;
    return at;
}

static uint64_t message(struct log_writer *w, uint8_t type, uint64_t seq, int64_t deadline,
                        const char *key, const char *body, bool end)
{
    size_t key_len = strlen(key), body_len = strlen(body), n = key_len + 4 + body_len;
    uint8_t fields[40] = {0}, data[4096];
    uint64_t at;

    put64(fields, seq);
    put64(fields + 8, 5000 + seq);
    put64(fields + 16, (uint64_t)deadline);
    put32(fields + 24, 4);
    put16(fields + 28, key_len);
    memcpy(data, key, key_len);
    memcpy(data + key_len, "head", 4);
    memcpy(data + key_len + 4, body, body_len);
    at = lw_record(w, type, end, (uint16_t)(seq & 3), fields, sizeof fields, data, n);
    if (!w->keep_model)
        return at;
    if (seq > w->last)
        w->last = seq;
    if (seq < LW_SEQS) {
        struct lw_msg *m = &w->msg[seq];

        *m = (struct lw_msg){.alive = true, .deadline = deadline};
        m->place = (seq & 3) | (n < 0xfffff ? n : 0xfffff) << 2 | at / 8 << 22 |
                   (w->segment & 0x3ffff) << 46;
        (void)snprintf(m->key, sizeof m->key, "%s", key);
    }
    return at;
}

uint64_t lw_message(struct log_writer *w, uint64_t seq, int64_t deadline, const char *key,
                    const char *body, bool end)
{
    return message(w, 1, seq, deadline, key, body, end);
}

uint64_t lw_copy(struct log_writer *w, uint64_t seq, bool end)
{
    struct lw_msg m = w->msg[seq];

    return message(w, 2, seq, m.deadline, m.key, "copied", end);
}

static void forget(struct log_writer *w, uint64_t first, uint64_t last)
{
    for (uint64_t s = first; w->keep_model && s <= last && s < LW_SEQS; s++)
        w->msg[s].alive = false;
}

uint64_t lw_removal(struct log_writer *w, uint64_t seq, bool end)
{
    uint8_t fields[8];

    put64(fields, seq);
    forget(w, seq, seq);
    return lw_record(w, 3, end, 0, fields, sizeof fields, NULL, 0);
}

uint64_t lw_range(struct log_writer *w, uint64_t first, uint64_t last, bool end)
{
    uint8_t fields[16];

    put64(fields, first);
    put64(fields + 8, last);
    forget(w, first, last);
    if (last > w->last && w->keep_model)
        w->last = last;
    return lw_record(w, 4, end, 0, fields, sizeof fields, NULL, 0);
}

uint64_t lw_set(struct log_writer *w, const uint64_t *seqs, uint32_t count, bool end)
{
    uint8_t fields[16] = {0}, data[1024];

    put32(fields, count);
    for (uint32_t i = 0; i < count; i++) {
        put64(data + (size_t)i * 8, seqs[i]);
        forget(w, seqs[i], seqs[i]);
    }
    return lw_record(w, 5, end, 0, fields, sizeof fields, data, (size_t)count * 8);
}

uint64_t lw_deadline(struct log_writer *w, uint64_t seq, int64_t deadline, bool end)
{
    uint8_t fields[16];

    put64(fields, seq);
    put64(fields + 8, (uint64_t)deadline);
    if (seq < LW_SEQS && w->keep_model)
        w->msg[seq].deadline = deadline;
    return lw_record(w, 6, end, 0, fields, sizeof fields, NULL, 0);
}

uint64_t lw_mark(struct log_writer *w, int64_t t, uint64_t s, bool end)
{
    uint8_t fields[16];

    put64(fields, (uint64_t)t);
    put64(fields + 8, s);
    for (uint64_t q = 0; w->keep_model && q < LW_SEQS; q++) {
        struct lw_msg *m = &w->msg[q];

        if (m->deadline != 0 && (m->deadline < t || (m->deadline == t && q <= s)))
            m->alive = false;
    }
    if (w->keep_model) {
        w->mark_t = t;
        w->mark_s = s;
    }
    return lw_record(w, 7, end, 0, fields, sizeof fields, NULL, 0);
}

static uint64_t commit(struct log_writer *w, uint64_t synced_segment, uint64_t synced_offset)
{
    uint8_t fields[64];
    uint64_t at;

    put64(fields, ++w->group);
    put64(fields + 8, synced_segment);
    put64(fields + 16, synced_offset);
    put64(fields + 24, w->first);
    put64(fields + 32, w->last);
    put64(fields + 40, (uint64_t)w->mark_t);
    put64(fields + 48, w->mark_s);
    put64(fields + 56, (uint64_t)++w->clock);
    at = lw_record(w, 8, 0, 0, fields, sizeof fields, NULL, 0);
    w->synced_segment = w->segment;
    w->synced_offset = w->offset;
    return at;
}

uint64_t lw_commit(struct log_writer *w)
{
    return commit(w, w->synced_segment, w->synced_offset);
}

uint64_t lw_commit_clean(struct log_writer *w)
{
    return commit(w, w->segment, w->offset);
}

uint64_t lw_seal(struct log_writer *w)
{
    uint8_t fields[8];

    put64(fields, w->segment + 1);
    return lw_record(w, 9, 0, 0, fields, sizeof fields, NULL, 0);
}

uint64_t lw_blob(struct log_writer *w, const char *name, const char *body, bool end)
{
    uint8_t fields[16] = {0}, data[256];
    size_t name_len = strlen(name), body_len = body == NULL ? 0 : strlen(body);
    struct lw_blob *slot = NULL;

    put32(fields, body_len);
    put16(fields + 4, name_len);
    put16(fields + 6, body == NULL);
    memcpy(data, name, name_len);
    if (body != NULL)
        memcpy(data + name_len, body, body_len);
    for (size_t i = LW_BLOBS; i > 0; i--)
        if (w->blob[i - 1].name[0] == '\0' || strcmp(w->blob[i - 1].name, name) == 0)
            slot = &w->blob[i - 1];
    for (size_t i = 0; i < LW_BLOBS; i++)
        if (strcmp(w->blob[i].name, name) == 0)
            slot = &w->blob[i];
    if (w->keep_model && slot != NULL) {
        *slot = (struct lw_blob){.name = ""};
        if (body != NULL) {
            (void)snprintf(slot->name, sizeof slot->name, "%s", name);
            (void)snprintf(slot->body, sizeof slot->body, "%s", body);
        }
    }
    return lw_record(w, 10, end, 0, fields, sizeof fields, data, name_len + body_len);
}

/* --- checkpoint ------------------------------------------------------------------------------- */

uint64_t lw_alive(const struct log_writer *w)
{
    uint64_t n = 0;

    for (size_t i = 0; i < LW_SEQS; i++)
        n += w->msg[i].alive;
    return n;
}

uint64_t lw_blobs(const struct log_writer *w)
{
    uint64_t n = 0;

    for (size_t i = 0; i < LW_BLOBS; i++)
        n += w->blob[i].name[0] != '\0';
    return n;
}

/* Entries from sequence *next on, at most `max` of them: the block's length. */
static size_t message_block(const struct log_writer *w, uint8_t *p, uint64_t *next, unsigned max)
{
    uint64_t before = *next == 0 ? 1 : *next; /* a base of 0 would make it a block of blobs */
    uint32_t count = 0;
    size_t at = 24;

    put64(p + 16, before);
    for (; *next < LW_SEQS && count < max; ++*next) {
        const struct lw_msg *m = &w->msg[*next];

        if (!m->alive)
            continue;
        put32(p + at, *next - before);
        put64(p + at + 4, m->place);
        put64(p + at + 12, (uint64_t)m->deadline);
        put16(p + at + 20, strlen(m->key));
        memcpy(p + at + 22, m->key, strlen(m->key));
        at += 22 + strlen(m->key);
        before = *next;
        count++;
    }
    put32(p + 8, at);
    put32(p + 12, count);
    return count == 0 ? 0 : at;
}

static size_t blob_block(const struct log_writer *w, uint8_t *p)
{
    uint32_t count = 0;
    size_t at = 24;

    for (size_t i = 0; i < LW_BLOBS; i++) {
        const struct lw_blob *b = &w->blob[i];

        if (b->name[0] == '\0')
            continue;
        put16(p + at, strlen(b->name));
        put32(p + at + 2, strlen(b->body));
        memcpy(p + at + 6, b->name, strlen(b->name));
        memcpy(p + at + 6 + strlen(b->name), b->body, strlen(b->body));
        at += 6 + strlen(b->name) + strlen(b->body);
        count++;
    }
    put32(p + 8, at);
    put32(p + 12, count);
    put64(p + 16, 0);
    return count == 0 ? 0 : at;
}

void lw_checkpoint_seal(struct log_writer *w)
{
    struct lw_file *f = lw_file(w, "checkpoint");
    size_t length;

    put64(f->data + 112, f->size);
    put64(f->data + 120, checksum64(f->data, 120, 0));
    for (size_t at = 128; at < f->size; at += length) {
        uint8_t *p = f->data + at;

        length = get32(p + 8);
        put64(p, checksum64(p + 8, length - 8, at));
    }
}

void lw_checkpoint(struct log_writer *w, uint64_t segment, uint64_t offset, uint32_t chain)
{
    struct lw_file *f = lw_create(w, "checkpoint", 64 * 1024);
    uint8_t *p = f->data;
    uint64_t next = 0;
    size_t at = 128, n;

    memcpy(p, "MAYFLYCP", 8);
    put32(p + 8, 1);
    put32(p + 12, 128);
    memcpy(p + 16, w->id, 16);
    put64(p + 32, segment);
    put64(p + 40, offset);
    put32(p + 48, chain);
    put64(p + 56, lw_alive(w));
    put64(p + 64, lw_blobs(w));
    put64(p + 72, w->last);
    put64(p + 80, (uint64_t)w->mark_t);
    put64(p + 88, w->mark_s);
    put64(p + 96, (uint64_t)w->clock);
    put64(p + 104, w->first);
    while ((n = message_block(w, p + at, &next, 3)) > 0) /* several small blocks */
        at += n;
    at += blob_block(w, p + at);
    f->size = at;
    lw_checkpoint_seal(w);
}

/* --- a store ---------------------------------------------------------------------------------- */

void lw_all_kinds(struct log_writer *w, bool clean)
{
    static const uint64_t set[] = {5, 7, 300};

    lw_segment(w);
    (void)lw_blob(w, "config", "{}", true);
    for (uint64_t s = 1; s <= 10; s++)
        (void)lw_message(w, s, s % 3 == 0 ? (int64_t)(20000 + s) : 0, s % 2 == 0 ? "even" : "odd",
                         "0123456789abcdef0123456789", s != 4); /* 4 and 5 are one batch */
    (void)lw_commit(w);
    (void)lw_removal(w, 1, true);
    (void)lw_deadline(w, 6, 30000, false);
    (void)lw_set(w, set, 3, true);
    (void)lw_commit(w);
    (void)lw_mark(w, 20003, 3, true);
    (void)lw_range(w, 8, 8, true);
    (void)lw_blob(w, "state", "one", true);
    (void)lw_commit(w);
    lw_roll(w);
    (void)lw_message(w, 11, 0, "odd", "x", true);
    (void)lw_range(w, 12, 20, true); /* skips */
    (void)lw_copy(w, 2, false);
    (void)lw_copy(w, 6, true);
    (void)lw_commit(w);
    (void)lw_blob(w, "state", "two", true);
    (void)lw_blob(w, "config", NULL, true);
    (void)lw_blob(w, "meta", "m", true);
    (void)lw_message(w, 21, 0, "", "", true);
    (void)lw_message(w, 22, 25000, "even", "last", true);
    (void)lw_commit(w);
    if (clean)
        (void)lw_commit_clean(w);
}
