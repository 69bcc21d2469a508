/* check_live.c: counts the live messages after the log was read. */
#include "cli/check/check_impl.h"

#include "codec/checksum.h"

#include <stdlib.h>

/* Distinct key hashes, by open addressing; 0 is kept aside.  The set of a large store does not fit
 * a cache: what is added waits for a few rounds while its slot is fetched (half the time of all
 * this file does). */
#define KEYSET_LAG 16u
struct keyset {
    uint64_t *slot;
    size_t cap, count;
    uint64_t waiting[KEYSET_LAG]; /* 0: nobody */
    unsigned turn;
    bool zero;
};

static void keyset_place(uint64_t *slot, size_t cap, uint64_t hash)
{
    size_t i = (size_t)hash & (cap - 1);

    while (slot[i] != 0)
        i = (i + 1) & (cap - 1);
    slot[i] = hash;
}

static int keyset_grow(struct keyset *k)
{
    size_t cap = k->cap == 0 ? 256 : k->cap * 2;
    uint64_t *slot = calloc(cap, sizeof *slot);

    if (slot == NULL)
        return MF_NOMEM;
    for (size_t i = 0; i < k->cap; i++)
        if (k->slot[i] != 0)
            keyset_place(slot, cap, k->slot[i]);
    free(k->slot);
    k->slot = slot;
    k->cap = cap;
    return 0;
}

static int keyset_settle(struct keyset *k, uint64_t hash)
{
    size_t i;

    if (k->count >= k->cap / 2 && keyset_grow(k) != 0)
        return MF_NOMEM;
    for (i = (size_t)hash & (k->cap - 1); k->slot[i] != 0; i = (i + 1) & (k->cap - 1))
        if (k->slot[i] == hash)
            return 0;
    k->slot[i] = hash;
    k->count++;
    return 0;
}

static int keyset_add(struct keyset *k, uint64_t hash)
{
    uint64_t *w = &k->waiting[k->turn++ % KEYSET_LAG];
    uint64_t due = *w;

    k->zero |= hash == 0;
    *w = hash;
    if (k->cap != 0)
        __builtin_prefetch(&k->slot[hash & (k->cap - 1)], 1);
    return due == 0 ? 0 : keyset_settle(k, due);
}

static int keyset_finish(struct keyset *k)
{
    int rc = 0;

    for (unsigned i = 0; i < KEYSET_LAG && rc == 0; i++)
        if (k->waiting[i] != 0)
            rc = keyset_settle(k, k->waiting[i]);
    return rc;
}

struct counter {
    struct ctx *c;
    struct summary *out;
    struct keyset keys;
    size_t cap;
    bool want_lines;
};

/* A digest of place and content, from the fields that a checkpoint has. */
uint64_t check_live_line(const struct ctx *c, uint64_t seq, const struct entry *en)
{
    uint64_t length = en->length < 0xfffff ? en->length : 0xfffff, text[5];

    if (en->segment == NO_SEGMENT)
        return 0;
    text[0] = (en->flags & 3u) | length << 2 | (uint64_t)en->off8 << 22 |
              (c->seg[en->segment].number & 0x3ffff) << 46;
    text[1] = (uint64_t)en->deadline;
    text[2] = en->key_hash;
    text[3] = en->key_len | (uint64_t)(en->flags & MSG_BITS) << 16;
    text[4] = seq;
    return checksum64(text, sizeof text, 0);
}

static int add_line(struct counter *k, uint64_t seq, const struct entry *en)
{
    struct summary *s = k->out;

    if (s->lines == k->cap) {
        size_t cap = k->cap == 0 ? 256 : k->cap + k->cap / 2;
        struct line *line = realloc(s->line, cap * sizeof *line);

        if (line == NULL)
            return MF_NOMEM;
        s->line = line;
        k->cap = cap;
    }
    s->line[s->lines++] = (struct line){seq, check_live_line(k->c, seq, en)};
    return 0;
}

static int count_message(void *arg, uint64_t seq, const struct entry *en)
{
    struct counter *k = arg;
    struct check_live *v = &k->c->res->live;
    struct check_segment *s = &k->c->res->segment[en->segment];
    uint64_t state[5] = {seq, (uint64_t)en->deadline, en->key_hash, en->length, en->flags};

    if (v->messages++ == 0)
        v->first_seq = seq;
    v->last_seq = seq;
    v->bytes += en->length;
    v->with_deadline += en->deadline != 0;
    v->past_deadline += en->deadline != 0 && en->deadline <= k->c->o->now_ns;
    v->infinite += (en->flags & MSG_INFINITE) != 0;
    v->pinned += (en->flags & MSG_PINNED) != 0;
    v->digest += checksum64(state, sizeof state, 1);
    s->live++;
    s->live_bytes += (56 + (uint64_t)en->length + 7) / 8 * 8;
    if (keyset_add(&k->keys, en->key_hash) != 0)
        return MF_NOMEM;
    return k->want_lines ? add_line(k, seq, en) : 0;
}

static void count_blob(void *arg, const struct blob *b)
{
    struct counter *k = arg;
    struct check_segment *s = &k->c->res->segment[b->segment];

    k->c->res->live.blobs++;
    k->c->res->live.digest += checksum64(b->name, b->name_len, b->body_hash + b->body_len);
    s->live++;
    s->live_bytes += b->padded;
}

int check_live_count(struct ctx *c, struct model *m, bool want_lines, struct summary *out)
{
    struct counter k = {.c = c, .out = out, .want_lines = want_lines};
    int rc = check_model_each(m, count_message, &k);

    if (rc == 0)
        rc = keyset_finish(&k.keys);
    c->res->live.keys = k.keys.count + k.keys.zero;
    free(k.keys.slot);
    check_model_each_blob(m, count_blob, &k);
    out->blobs.blobs = m->blobs;
    m->blobs = (struct table){.slot = NULL};
    return rc;
}

void check_summary_fini(struct summary *s)
{
    free(s->line);
    check_model_fini(&s->blobs);
}
