/* flip.c: every byte of a store is damaged in turn.
 *
 * A store that holds every kind of record is closed; then, on copies of its files: bits are
 * flipped, files cut short at every length, sectors zeroed, written over another or exchanged. Each
 * time, with the checkpoint and without it: the store opens; after a scrub either the damage is
 * reported with a file and a stretch that covers the place, or every answer is the same as before;
 * what does not lie in the damaged place stays readable; and `mayfly check` finds the same.
 *
 *     flip [--seed=S] [--bits=0..8] [--cut-step=N] [--partners=N]
 * also FLIP_SEED, FLIP_BITS, FLIP_CUT_STEP, FLIP_PARTNERS: how many bits of each byte, how far
 * apart the lengths, how many other sectors for each; 0: none.  All of it: 8, 1, 20. */
#include "excuse.h"
#include "victim.h"

#include "support/must.h"
#include "support/store_compare.h"
#include "support/store_drive.h"
#include "support/store_script.h"

#include "cli/check/check.h"
#include "store/log/record.h"

#include "base/rand.h"
#include "support/secret.h"

#define SECTOR 512

static struct {
    uint64_t seed;
    const struct change *change;
    bool no_checkpoint, verbose;
} at;

static struct {
    uint64_t flips, cuts, zeroed, copied, swapped, opens, reported, torn, same, bytes;
} count;

static struct loop *loop;
static struct model_state want; /* what the undamaged store shows */
static int64_t now_ns;

static void where(FILE *to)
{
    fprintf(to, "flip --seed=%llu, %s checkpoint", (unsigned long long)at.seed,
            at.no_checkpoint ? "without" : "with");
    for (size_t i = 0; at.change != NULL && i < at.change->stretches; i++)
        fprintf(to, "\n  %s: %s [%llu, %llu)", at.change->what,
                disk.file[at.change->at[i].file].name, (unsigned long long)at.change->at[i].from,
                (unsigned long long)at.change->at[i].to);
    for (size_t i = 0; at.change != NULL && i < spans_count; i++)
        for (size_t j = 0; j < at.change->stretches; j++)
            if (spans[i].file == at.change->at[j].file && spans[i].offset < at.change->at[j].to &&
                at.change->at[j].from < spans[i].offset + spans[i].size)
                fprintf(to, "\n  hits a record of type %d at %llu, %llu bytes, sequence %llu",
                        spans[i].type, (unsigned long long)spans[i].offset,
                        (unsigned long long)spans[i].size, (unsigned long long)spans[i].first);
    fputc('\n', to);
    if (at.verbose)
        for (size_t i = 0; i < spans_count; i++)
            fprintf(to, "  %s %6llu: type %2d, %5llu bytes, batch %llu, sequence %llu\n",
                    disk.file[spans[i].file].name, (unsigned long long)spans[i].offset,
                    spans[i].type, (unsigned long long)spans[i].size,
                    (unsigned long long)spans[i].batch, (unsigned long long)spans[i].first);
}

/* --- judging ---------------------------------------------------------------------------------- */

static bool reported(struct store *s, const struct change *c, const struct store_stats *stats)
{
    for (size_t i = 0; i < store_damage_count(s); i++) {
        const struct store_damage *x = store_damage(s, i);
        /* All that is left of a file that was cut: it is named, though the rest has no bytes. */
        bool stump = x->offset == 0 && x->length == c->at[0].from;
        if (excuse_covers(c, x->file, x->offset, x->length + stump))
            return true;
    }
    const struct store_damage *t = &stats->torn;
    return stats->torn_tail && (excuse_covers(c, t->file, t->offset, t->length) ||
                                excuse_erased(c, t->file, t->offset, t->length));
}

static void list_reports(struct store *s, const struct store_stats *stats)
{
    for (size_t i = 0; i < store_damage_count(s); i++) {
        const struct store_damage *x = store_damage(s, i);
        fprintf(stderr, "  damage: %s at %llu, %llu bytes, sequences %llu to %llu: %s\n", x->file,
                (unsigned long long)x->offset, (unsigned long long)x->length,
                (unsigned long long)x->first_seq, (unsigned long long)x->last_seq, x->what);
    }
    if (stats->torn_tail)
        fprintf(stderr, "  torn tail: %s at %llu, %llu bytes\n", stats->torn.file,
                (unsigned long long)stats->torn.offset, (unsigned long long)stats->torn.length);
}

struct verdict {
    bool reported, differs;
    struct store *s;
    const struct store_stats *stats;
};

static void differs(struct verdict *v, uint64_t seq, bool allowed, const char *how)
{
    v->differs = true;
    /* With the checkpoint gone too, the loss of the very end looks like an earlier one. */
    if (allowed && (v->reported || nothing_after))
        return;
    list_reports(v->s, v->stats);
    MUST(v->reported, "message %llu %s, and the damage is not reported there",
         (unsigned long long)seq, how);
    MUST(allowed, "message %llu %s, though it does not lie in the damaged place",
         (unsigned long long)seq, how);
}

/* A message, from memory or, if need be, from disk. */
struct fetch {
    struct store_read r;
    struct model_msg msg;
    int status;
    bool done;
};

static struct model_msg as_model(const struct store_rec *r)
{
    return (struct model_msg){.seq = r->seq,
                              .content = model_content(r->key, r->head, r->body),
                              .ts_ns = r->ts_ns,
                              .deadline_ns = r->deadline_ns,
                              .flags = r->flags};
}

static void fetched(struct store_read *r, int status)
{
    struct fetch *f = mf_container(r, struct fetch, r);

    f->status = status;
    f->done = true;
    if (status == 0)
        f->msg = as_model(&r->rec);
}

static int fetch(struct store *s, uint64_t seq, struct model_msg *out)
{
    struct fetch f = {.r = {.seq = seq, .done = fetched}};
    struct store_rec rec;
    int rc = store_peek(s, seq, &rec);

    if (rc == 0)
        *out = as_model(&rec);
    if (rc != MF_AGAIN)
        return rc;
    if ((rc = store_read(s, &f.r)) != 0)
        return rc;
    while (!f.done)
        loop_turn(loop);
    *out = f.msg;
    return f.status;
}

static void judge_messages(struct verdict *v)
{
    struct model_msg got;

    for (size_t i = 0; i < want.msgs; i++) {
        const struct model_msg *m = &want.msg[i];
        int rc = fetch(v->s, m->seq, &got);
        if (!model_visible(m, now_ns)) {
            if (rc != MF_NOTFOUND)
                differs(v, m->seq, excused[m->seq], "is shown after its deadline");
            continue;
        }
        if (rc != 0) {
            MUST(rc == MF_NOTFOUND || rc == MF_CORRUPT, "message %llu: %d",
                 (unsigned long long)m->seq, rc);
            differs(v, m->seq, excused[m->seq], "is lost");
            continue;
        }
        if (got.content != m->content || got.ts_ns != m->ts_ns ||
            ((got.flags ^ m->flags) & ~STORE_BITS) != 0)
            differs(v, m->seq, false, "has other contents");
        /* The bits come with the deadline, in the same record. */
        if (got.deadline_ns != m->deadline_ns || got.flags != m->flags)
            differs(v, m->seq, excused[m->seq], "has another deadline");
    }
    for (uint64_t seq = store_next(v->s, 1); seq != 0; seq = store_next(v->s, seq + 1))
        if (state_find(&want, seq) == NULL)
            differs(v, seq, seq <= want.last_seq && excused[seq], "came back");
}

static void judge_blobs(struct verdict *v)
{
    for (size_t i = 0; i < want.blobs; i++) {
        struct mf_slice bytes, name = mf_str(want.blob[i].name);
        if (store_blob_get(v->s, name, &bytes) &&
            model_content(name, MF_SLICE_NONE, bytes) == want.blob[i].content)
            continue;
        v->differs = true;
        MUST((v->reported || nothing_after) && blobs_excused, "blob %s differs (reported: %d)",
             want.blob[i].name, v->reported);
    }
}

/* --- mayfly check on the same files ----------------------------------------------------------- */

/* The checkpoint is a cache: that it is damaged says it all.  What a file lacks has no length. */
static bool overlap(const struct check_damage *x, const struct store_damage *y)
{
    if (strcmp(x->file, y->file) != 0)
        return false;
    return strcmp(x->file, "checkpoint") == 0 || x->length == 0 || y->length == 0 ||
           (x->offset < y->offset + y->length && y->offset < x->offset + x->length);
}

static bool store_has(struct store *s, const struct check_damage *x)
{
    for (size_t i = 0; i < store_damage_count(s); i++)
        if (overlap(x, store_damage(s, i)))
            return true;
    return false;
}

/* Several missing files are one line there, and one each here. */
static bool among_missing(const struct check_damage *d, const struct store_damage *y)
{
    char *rest;
    uint64_t number = strtoull(y->file, NULL, 16), n = strtoull(d->what, &rest, 10);

    return d->kind == CHECK_MISSING && strncmp(rest, " files", 6) == 0 && number >= d->segment &&
           number < d->segment + n;
}

static bool check_has(const struct check_result *r, const struct store_damage *y)
{
    for (size_t i = 0; i < r->damages; i++)
        if (overlap(&r->damage[i], y) || among_missing(&r->damage[i], y))
            return true;
    return false;
}

static void list_check(const struct check_result *r)
{
    for (size_t i = 0; i < r->damages; i++)
        fprintf(stderr, "  check: %s: %s at %llu, %llu bytes: %s\n",
                check_kind_text(r->damage[i].kind), r->damage[i].file,
                (unsigned long long)r->damage[i].offset, (unsigned long long)r->damage[i].length,
                r->damage[i].what);
    if (r->torn)
        fprintf(stderr, "  check: torn at segment %llu, %llu\n",
                (unsigned long long)r->stop_segment, (unsigned long long)r->stop_offset);
}

#define AGREE(what, ...)                                                                           \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            list_reports(v->s, v->stats);                                                          \
            list_check(&r);                                                                        \
            MUST(false, __VA_ARGS__);                                                              \
        }                                                                                          \
    } while (0)

static void agree_with_check(struct verdict *v, uint64_t shown)
{
    struct check_source src = disk_source(&disk);
    struct check_opts o = {.now_ns = now_ns, .key = test_key()};
    struct check_result r;
    struct mf_error e;

    MUST(check_files(&src, &o, &r, &e) == 0, "mayfly check: %s", e.text);
    /* That a good checkpoint no longer fits a damaged log is a consequence, not another damage. */
    bool log_damaged = r.damages > 0 && r.damage[0].kind != CHECK_CHECKPOINT;
    for (size_t i = 0; i < r.damages; i++)
        AGREE(store_has(v->s, &r.damage[i]) ||
                  (log_damaged && r.damage[i].kind == CHECK_CHECKPOINT) ||
                  /* the commit that gave it up may be what was damaged */
                  (v->reported && r.damage[i].kind == CHECK_MISSING) ||
                  /* a checkpoint knows that it is gone, and nobody looks any more */
                  excuse_erased(at.change, r.damage[i].file, r.damage[i].offset,
                                r.damage[i].length) ||
                  (v->stats->torn_tail && strcmp(r.damage[i].file, v->stats->torn.file) == 0),
              "check finds what the store does not");
    for (size_t i = 0; i < store_damage_count(v->s); i++)
        AGREE(check_has(&r, store_damage(v->s, i)), "the store finds what check does not");
    /* Right behind a seal the two may differ: the rest of a group is missing, or there was none. */
    AGREE(r.torn == v->stats->torn_tail || r.stop_offset == SEGMENT_PAGE,
          "torn: the store says %d, check says %d", v->stats->torn_tail, r.torn);
    if (r.checkpoint != CHECK_CP_DIFFERS && r.checkpoint != CHECK_CP_EXPLAINED)
        AGREE(r.live.messages - r.live.past_deadline == shown,
              "check counts %llu live messages, the store shows %llu",
              (unsigned long long)(r.live.messages - r.live.past_deadline),
              (unsigned long long)shown);
    check_result_fini(&r);
}

/* --- one damaged disk ------------------------------------------------------------------------- */

static uint64_t count_shown(struct store *s)
{
    uint64_t n = 0;

    for (uint64_t seq = store_next(s, 1); seq != 0; seq = store_next(s, seq + 1))
        n++;
    return n;
}

static const struct disk_file *key_was; /* NULL: the store is not encrypted */

static bool key_is_lost(void)
{
    const struct disk_file *f = disk_find(&disk, "store.key");

    return key_was != NULL && test_key_lost(key_was->bytes, f->bytes, f->size);
}

static void keep_key(struct disk_file *copy)
{
    const struct disk_file *f = test_secret() == NULL ? NULL : disk_find(&disk, "store.key");

    if (f == NULL)
        return;
    *copy = *f;
    copy->bytes = must_alloc(NULL, f->size, 1);
    memcpy(copy->bytes, f->bytes, f->size);
    key_was = copy;
}

static void try_disk(const struct change *c, bool no_checkpoint)
{
    struct store_io *io;
    struct store_opts o = victim_options();
    struct store_stats stats;
    struct store_state st;
    struct drive d;

    at.change = c;
    at.no_checkpoint = no_checkpoint;
    disk.without = no_checkpoint ? "checkpoint" : NULL;
    io = disk_make(&disk);
    o.now_ns = now_ns;
    drive_init(&d, loop, io, &o, 1);
    if (key_is_lost()) {
        struct mf_error e;
        int rc = drive_try_open(&d, &e);
        MUST(rc == MF_CORRUPT || rc == MF_DENIED, "opened without its key: %d", rc);
        drive_fini(&d);
        at.change = NULL;
        return;
    }
    drive_open(&d);
    MUST(drive_scrub(&d) == 0, "scrub");
    drive_idle(&d);
    store_stats(d.store, &stats);
    excuse_find(c);
    struct verdict v = {.reported = reported(d.store, c, &stats), .s = d.store, .stats = &stats};
    judge_messages(&v);
    judge_blobs(&v);
    store_state(d.store, &st);
    if (!v.reported && !nothing_after)
        MUST(st.last_seq == want.last_seq, "last sequence %llu, not %llu, and nothing is reported",
             (unsigned long long)st.last_seq, (unsigned long long)want.last_seq);
    agree_with_check(&v, count_shown(d.store));
    count.reported += v.reported;
    count.torn += stats.torn_tail;
    count.same += !v.differs;
    count.opens++;
    drive_fini(&d);
    at.change = NULL;
}

/* --- kinds of damage -------------------------------------------------------------------------- */

/* Which bytes are worth every bit: all but the part of the header page that nobody reads and the
 * unused end of a segment, of which some are enough. */
static bool interesting(size_t file, uint64_t offset)
{
    const struct disk_file *f = &disk.file[file];
    static size_t last_file = SIZE_MAX;
    static uint64_t used;

    if (strcmp(f->name, "checkpoint") == 0)
        return true;
    if (strcmp(f->name, "store.key") == 0)
        return offset % 4096 < 128 || offset % 61 == 0;
    if (file != last_file) {
        used = 0;
        for (size_t i = 0; i < spans_count; i++)
            if (spans[i].file == file && spans[i].offset + spans[i].size > used)
                used = spans[i].offset + spans[i].size;
        last_file = file;
    }
    bool idle = (offset >= 64 && offset < 2048) || (offset >= 2048 + 64 && offset < 4096) ||
                offset >= used + 64;
    return !idle || offset % 61 == 0;
}

static void flip_bits(unsigned bits)
{
    struct pick pick = {at.seed};

    for (size_t i = 0; i < disk.files; i++)
        for (uint64_t o = 0; o < disk.file[i].size; o++) {
            if (!interesting(i, o))
                continue;
            unsigned first = pick_below(&pick, 8);
            for (unsigned b = 0; b < bits; b++) {
                struct change c = {"bit flipped", 1, {{i, o, o + 1}}};
                disk.file[i].bytes[o] ^= (uint8_t)(1u << (first + b) % 8);
                try_disk(&c, (o + b) % 2 == 0);
                disk.file[i].bytes[o] ^= (uint8_t)(1u << (first + b) % 8);
                count.flips++;
            }
        }
}

static void cut_short(uint64_t step)
{
    for (size_t i = 0; i < disk.files; i++) {
        size_t whole = disk.file[i].size;
        for (uint64_t o = at.seed % step; o < whole; o += step) {
            struct change c = {"cut short", 1, {{i, o, whole}}};
            disk.file[i].size = (size_t)o;
            try_disk(&c, o / step % 2 == 0);
            count.cuts++;
        }
        disk.file[i].size = whole;
    }
}

/* Makes sector `to` hold what `with` holds (NULL: zeros); false: it does already. */
static bool overwrite(size_t file, uint64_t to, const uint8_t *with, uint8_t saved[SECTOR])
{
    static const uint8_t zeros[SECTOR];
    uint8_t *p = disk.file[file].bytes + to;

    memcpy(saved, p, SECTOR);
    memcpy(p, with == NULL ? zeros : with, SECTOR);
    return memcmp(saved, p, SECTOR) != 0;
}

static void zero_sectors(void)
{
    uint8_t saved[SECTOR];

    for (size_t i = 0; i < disk.files; i++)
        for (uint64_t o = 0; o + SECTOR <= disk.file[i].size; o += SECTOR) {
            struct change c = {"sector zeroed", 1, {{i, o, o + SECTOR}}};
            if (overwrite(i, o, NULL, saved)) {
                try_disk(&c, false);
                try_disk(&c, true);
                count.zeroed++;
            }
            memcpy(disk.file[i].bytes + o, saved, SECTOR);
        }
}

static void move_sectors(unsigned partners)
{
    struct pick pick = {at.seed + 1};
    uint8_t saved[SECTOR], other[SECTOR];

    for (size_t i = 0; i < disk.files; i++)
        for (uint64_t o = 0; o + SECTOR <= disk.file[i].size; o += SECTOR)
            for (unsigned n = 0; n < partners; n++) {
                size_t j = pick_chance(&pick, 50) ? i : pick_below(&pick, (uint32_t)disk.files);
                if (disk.file[j].size < SECTOR)
                    continue; /* a small checkpoint has no whole sector */
                uint64_t p = pick_below(&pick, (uint32_t)(disk.file[j].size / SECTOR)) * SECTOR;
                if (pick_chance(&pick, 30) && o + SECTOR <= disk.file[j].size)
                    p = o; /* the same place of another file: a misdirected write */
                if (i == j && o == p)
                    continue;
                memcpy(other, disk.file[j].bytes + p, SECTOR);
                struct change c = {"sector copied over", 1, {{i, o, o + SECTOR}}};
                if (overwrite(i, o, other, saved)) {
                    try_disk(&c, n % 2 == 0);
                    count.copied++;
                    struct change s = {
                        "sectors exchanged", 2, {{i, o, o + SECTOR}, {j, p, p + SECTOR}}};
                    memcpy(disk.file[j].bytes + p, saved, SECTOR);
                    try_disk(&s, n % 2 != 0);
                    memcpy(disk.file[j].bytes + p, other, SECTOR);
                    count.swapped++;
                }
                memcpy(disk.file[i].bytes + o, saved, SECTOR);
            }
}

static void undamaged(void)
{
    struct change none = {"nothing", 0, {{0, 0, 0}}};

    try_disk(&none, false);
    try_disk(&none, true);
    MUST(count.reported == 0 && count.torn == 0 && count.same == 2, "the undamaged store differs");
}

int main(int argc, char **argv)
{
    uint64_t bits = must_number(argc, argv, "bits", "FLIP_BITS", 1);
    uint64_t step = must_number(argc, argv, "cut-step", "FLIP_CUT_STEP", 61);
    uint64_t partners = must_number(argc, argv, "partners", "FLIP_PARTNERS", 2);
    struct disk_file key = {.bytes = NULL};
    struct mf_error e;

    at.seed = must_number(argc, argv, "seed", "FLIP_SEED", 1);
    at.verbose = must_number(argc, argv, "verbose", NULL, 0) != 0;
    must_where = where;
    must_quiet();
    printf("seed %llu\n", (unsigned long long)at.seed);
    MUST(loop_new(&loop, &e) == 0, "%s", e.text);
    loop_jobs_inline(loop);
    now_ns = victim_build(loop, at.seed, &want);
    for (size_t i = 0; i < disk.files; i++)
        count.bytes += disk.file[i].size;
    keep_key(&key);
    undamaged();
    if (bits > 0)
        flip_bits((unsigned)bits);
    if (step > 0)
        cut_short(step);
    if (partners > 0) {
        zero_sectors();
        move_sectors((unsigned)partners);
    }
    printf(
        "flip: %llu bits of %llu bytes flipped, %llu files cut short, %llu sectors zeroed, %llu "
        "copied over others, %llu exchanged; %llu stores opened, %llu with the damage reported in "
        "its place, %llu with a torn tail, %llu answered as before\n",
        (unsigned long long)count.flips, (unsigned long long)count.bytes,
        (unsigned long long)count.cuts, (unsigned long long)count.zeroed,
        (unsigned long long)count.copied, (unsigned long long)count.swapped,
        (unsigned long long)count.opens, (unsigned long long)count.reported,
        (unsigned long long)count.torn, (unsigned long long)count.same);
    free(key.bytes);
    disk_free(&disk);
    disk_spans_free(spans, spans_count);
    excuse_fini();
    state_fini(&want);
    loop_free(loop);
    return 0;
}
