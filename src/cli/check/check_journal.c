/* check_journal.c: see check_journal.h. */
#include "cli/check/check_journal.h"

#include "cli/check/check_impl.h"

#include "base/array.h"
#include "codec/checksum.h"

#include <stdio.h>
#include <stdlib.h>

#define PAGE       4096u
#define COPY       2048u
#define VERSION    1u
#define ENTRY_HEAD 32u
#define PART_HEAD  48u
#define FILE_MAX   (1u << 30)
#define SPREAD     0x9E3779B97F4A7C15u

static uint64_t get(const uint8_t *p, size_t n)
{
    uint64_t v = 0;

    memcpy(&v, p, n); /* little endian, as the hosts are */
    return v;
}

static uint64_t padded(uint64_t n)
{
    return (n + 7) & ~(uint64_t)7;
}

struct file {
    const uint8_t *p;
    uint64_t size, generation, key;
};

/* 0, MF_NOTFOUND (nothing in it that can be read), MF_UNSUPPORTED. */
static int read_head(struct file *f, struct mf_error *e)
{
    for (uint32_t at = 0; f->size >= PAGE && at <= COPY; at += COPY) {
        const uint8_t *h = f->p + at;

        if (memcmp(h, "MAYFLYJN", 8) != 0 || checksum64(h, 32, at) != get(h + 32, 8))
            continue;
        if (get(h + 8, 4) > VERSION)
            return mf_fail(e, MF_UNSUPPORTED,
                           "the commit journal has version %u, this program reads only up to %u",
                           (unsigned)get(h + 8, 4), VERSION);
        f->generation = get(h + 16, 8);
        f->key = get(h + 24, 8);
        return 0;
    }
    return MF_NOTFOUND;
}

/* The segment's header says whose it is; one of its two copies must. */
static bool is_of(const struct check_source *store, const char *name, const uint8_t *id,
                  uint64_t number, uint64_t end)
{
    uint8_t page[PAGE];
    struct mf_error e;
    uint64_t size;
    size_t got;

    if (store->size(store->arg, name, &size, &e) != 0 ||
        store->pread(store->arg, name, page, sizeof page, 0, &got, &e) != 0 || got < sizeof page)
        return false;
    for (uint32_t at = 0; at <= COPY; at += COPY) {
        const uint8_t *h = page + at;

        if (memcmp(h, "MAYFLYSG", 8) == 0 && checksum64(h, 56, at) == get(h + 56, 8))
            return memcmp(h + 16, id, 16) == 0 && get(h + 32, 8) == number && end <= size &&
                   end <= get(h + 40, 8);
    }
    return false;
}

static int add_part(struct check_journal *j, const uint8_t *head, const uint8_t *bytes,
                    struct mf_error *e)
{
    struct check_overlay *o;
    uint64_t number = get(head + 16, 8), offset = get(head + 24, 8), len = get(head + 40, 4);
    char name[24];

    check_seg_name(name, number);
    if (offset < PAGE || offset > FILE_MAX || !is_of(j->store, name, head, number, offset + len))
        return 0;
    if (mf_array_reserve(&j->part, &j->part_cap, j->parts + 1, sizeof *j->part) != 0)
        return mf_fail(e, MF_NOMEM, "parts of the commit journal");
    o = &j->part[j->parts++];
    *o = (struct check_overlay){.offset = offset, .len = (uint32_t)len, .bytes = bytes};
    memcpy(o->name, name, sizeof name);
    return 0;
}

/* The parts of the entry at `at`: its size in *size, 0: no entry. */
static int read_entry(struct check_journal *j, const struct file *f, uint64_t at, uint64_t *size,
                      struct mf_error *e)
{
    const uint8_t *p = f->p + at;
    uint64_t seed = f->key + at * SPREAD, room = f->size - at, head, data, from, sum = 0;
    uint64_t next = ENTRY_HEAD;
    int rc = 0;

    *size = 0;
    if (room < ENTRY_HEAD || get(p + 8, 8) != seed)
        return 0;
    head = get(p + 16, 4);
    data = get(p + 24, 8);
    if (head < ENTRY_HEAD || head > room || data > room - head ||
        checksum64(p + 8, head - 8, seed) != get(p, 8))
        return 0;
    from = at + head;
    for (uint64_t i = get(p + 20, 4); i > 0 && rc == 0; i--) {
        if (next + PART_HEAD > head)
            return 0;
        const uint8_t *h = p + next;
        uint64_t len = padded(get(h + 40, 4));
        if (len > data - sum)
            return 0;
        /* Zeros are a part that was wiped; other bytes a torn or a damaged one. */
        if (checksum64(f->p + from, len, f->key + from * SPREAD) == get(h + 32, 8))
            rc = add_part(j, h, f->p + from, e);
        sum += len;
        from += len;
        next += PART_HEAD + padded(get(h + 44, 2));
    }
    *size = head + data;
    return rc;
}

static int read_entries(struct check_journal *j, const struct file *f, struct mf_error *e)
{
    uint64_t size;
    int rc = 0;

    for (uint64_t at = PAGE; at < f->size && rc == 0; at += size == 0 ? 8 : size)
        rc = read_entry(j, f, at, &size, e);
    return rc;
}

static int load_file(struct check_journal *j, const struct check_source *journal, int i,
                     struct file *f, struct mf_error *e)
{
    char name[32];
    size_t got = 0;

    snprintf(name, sizeof name, "%d.journal", i);
    if (journal->size(journal->arg, name, &f->size, e) != 0)
        return MF_NOTFOUND;
    if (f->size > FILE_MAX)
        return mf_fail(e, MF_CORRUPT, "%s of the commit journal is too large", name);
    if ((j->all[i] = malloc(f->size + 1)) == NULL)
        return mf_fail(e, MF_NOMEM, "read the commit journal");
    int rc = journal->pread(journal->arg, name, j->all[i], f->size, 0, &got, e);
    f->p = j->all[i];
    f->size = got;
    return rc != 0 ? rc : read_head(f, e);
}

/* --- the store with it ------------------------------------------------------------------------ */

static int joined_list(void *arg, int (*visit)(void *visit_arg, const char *name), void *visit_arg,
                       struct mf_error *e)
{
    const struct check_journal *j = arg;

    return j->store->list(j->store->arg, visit, visit_arg, e);
}

static int joined_size(void *arg, const char *name, uint64_t *out, struct mf_error *e)
{
    const struct check_journal *j = arg;

    return j->store->size(j->store->arg, name, out, e);
}

static int joined_pread(void *arg, const char *name, void *dst, size_t n, uint64_t off, size_t *got,
                        struct mf_error *e)
{
    const struct check_journal *j = arg;
    int rc = j->store->pread(j->store->arg, name, dst, n, off, got, e);

    for (size_t i = 0; i < j->parts && rc == 0; i++) {
        const struct check_overlay *o = &j->part[i];
        uint64_t from = o->offset > off ? o->offset : off, to = o->offset + o->len;

        to = to < off + *got ? to : off + *got;
        if (from < to && strcmp(o->name, name) == 0)
            memcpy((uint8_t *)dst + (from - off), o->bytes + (from - o->offset),
                   (size_t)(to - from));
    }
    return rc;
}

int check_journal_open(struct check_journal *out, const struct check_source *store,
                       const struct check_source *journal, struct mf_error *e)
{
    struct file f[2] = {{.p = NULL}, {.p = NULL}};
    bool there[2] = {false, false};
    int rc = 0;

    *out = (struct check_journal){.store = store};
    out->src = (struct check_source){joined_list, joined_size, joined_pread, out};
    for (int i = 0; i < 2 && journal != NULL && rc == 0; i++) {
        rc = load_file(out, journal, i, &f[i], e);
        there[i] = rc == 0;
        rc = rc == MF_NOTFOUND ? 0 : rc;
    }
    int first = there[1] && (!there[0] || f[1].generation < f[0].generation);
    for (int i = 0; i < 2 && rc == 0; i++)
        if (there[(first + i) % 2])
            rc = read_entries(out, &f[(first + i) % 2], e);
    if (rc != 0)
        check_journal_close(out);
    return rc;
}

void check_journal_close(struct check_journal *j)
{
    free(j->part);
    free(j->all[0]);
    free(j->all[1]);
    j->part = NULL;
    j->all[0] = j->all[1] = NULL;
}
