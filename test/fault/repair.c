/* repair.c: `mayfly check --repair` on damaged stores.
 *
 * A store that holds every kind of record is closed; then, on copies of its files: bits flipped,
 * sectors zeroed or written over another, files cut short or missing, one to three times at once,
 * with the checkpoint and without it.  Each copy is repaired and the result opened.  The result is
 * clean for `mayfly check` and for the server's recovery.  A message that is not in it is reported;
 * one reported as lost lies in the damage; one whose removal may be hidden is left out, and kept by
 * keep_unknown.  Nothing that was removed comes back, and every deadline is exact.
 *
 *     repair [--seed=S] [--rounds=N] [--only=ROUND]
 * also REPAIR_SEED, REPAIR_ROUNDS. */
#include "victim.h"

#include "support/must.h"
#include "support/pick.h"
#include "support/store_compare.h"

#include "cli/check/repair.h"
#include "store/log/record.h"
#include "support/secret.h"

#define SECTOR 512
#define HITS   3

static struct {
    uint64_t seed, round;
    bool no_checkpoint, keep;
    const char *what[HITS];
    size_t file[HITS];
    uint64_t from[HITS], to[HITS];
    unsigned hits;
} at;

static struct {
    uint64_t whole, lost, unseen, unknown, ended, files;
} count;

static struct loop *loop;
static struct model_state want;
static int64_t now_ns;
static struct disk sound; /* the undamaged bytes */
static uint8_t *doubtful; /* by sequence: its fate may be unknown */
static bool end_lost;     /* the end of the log went, and nothing is left that says so */

static void where(FILE *to)
{
    fprintf(to, "repair --seed=%llu --only=%llu, %s checkpoint%s", (unsigned long long)at.seed,
            (unsigned long long)at.round, at.no_checkpoint ? "without" : "with",
            at.keep ? ", keep unknown" : "");
    for (unsigned i = 0; i < at.hits; i++)
        fprintf(to, "\n  %s: %s [%llu, %llu)", at.what[i], disk.file[at.file[i]].name,
                (unsigned long long)at.from[i], (unsigned long long)at.to[i]);
    fputc('\n', to);
}

/* --- damage ----------------------------------------------------------------------------------- */

static void restore(void)
{
    for (size_t i = 0; i < disk.files; i++) {
        disk.file[i].size = sound.file[i].size;
        memcpy(disk.file[i].bytes, sound.file[i].bytes, sound.file[i].size);
        memcpy(disk.file[i].name, sound.file[i].name, sizeof sound.file[i].name);
    }
    at.hits = 0;
}

static void note_hit(const char *what, size_t file, uint64_t from, uint64_t to)
{
    at.what[at.hits] = what;
    at.file[at.hits] = file;
    at.from[at.hits] = from;
    at.to[at.hits++] = to;
}

/* An offset among the records, mostly. */
static uint64_t pick_place(struct pick *p, size_t file)
{
    uint32_t n = (uint32_t)spans_count;

    for (int i = 0; i < 20 && pick_chance(p, 90); i++) {
        const struct disk_span *s = &spans[pick_below(p, n)];
        if (s->file == file)
            return s->offset + pick_below(p, (uint32_t)s->size);
    }
    return pick_below(p, (uint32_t)sound.file[file].size);
}

static void hit(struct pick *p)
{
    size_t i = pick_below(p, (uint32_t)disk.files), j = pick_below(p, (uint32_t)disk.files);
    struct disk_file *f = &disk.file[i];
    uint64_t o = pick_place(p, i), s = o / SECTOR * SECTOR;

    if (f->size < SECTOR || o >= f->size)
        return;
    if (s + SECTOR > f->size)
        s = f->size - SECTOR;
    switch (pick_below(p, 12)) {
    case 0:
        note_hit("file missing", i, 0, sound.file[i].size);
        snprintf(f->name, sizeof f->name, "away-%zu.tmp", i);
        break;
    case 1:
        note_hit("cut short", i, o, sound.file[i].size);
        f->size = (size_t)o;
        break;
    case 2:
    case 3:
    case 4:
        note_hit("sector zeroed", i, s, s + SECTOR);
        memset(f->bytes + s, 0, SECTOR);
        break;
    case 5:
    case 6:
        if (disk.file[j].size < s + SECTOR)
            return;
        note_hit("sector of another file", i, s, s + SECTOR);
        memmove(f->bytes + s, sound.file[j].bytes + s, SECTOR);
        break;
    default:
        note_hit("bit flipped", i, o, o + 1);
        f->bytes[o] ^= (uint8_t)(1u << pick_below(p, 8));
        break;
    }
}

/* --- what it may cost ------------------------------------------------------------------------- */

static bool touched(const struct disk_span *s)
{
    for (unsigned i = 0; i < at.hits; i++)
        if (at.file[i] == s->file && s->offset < at.to[i] && at.from[i] < s->offset + s->size)
            return true;
    return false;
}

static bool checkpoint_intact(void)
{
    for (unsigned i = 0; i < at.hits; i++)
        if (strcmp(sound.file[at.file[i]].name, "checkpoint") == 0)
            return false;
    return !at.no_checkpoint;
}

static struct record_pos checkpoint_pos(void)
{
    for (size_t i = 0; i < sound.files; i++)
        if (strcmp(sound.file[i].name, "checkpoint") == 0)
            return (struct record_pos){get_u64(sound.file[i].bytes + 32),
                                       get_u64(sound.file[i].bytes + 40)};
    return (struct record_pos){0, 0};
}

/* The checkpoint knows all that was said in the damage: none of it lies behind its position. */
static bool checkpoint_tells(void)
{
    struct record_pos pos = checkpoint_pos();

    for (unsigned i = 0; i < at.hits; i++)
        if (record_pos_cmp(
                (struct record_pos){strtoull(sound.file[at.file[i]].name, NULL, 16), at.to[i]},
                pos) > 0)
            return false;
    return checkpoint_intact();
}

/* Is there a commit, not hit, or the checkpoint, that calls this place synced? */
static bool called_synced(const struct disk_span *x)
{
    struct record_pos pos = {x->segment, x->offset};

    if (checkpoint_intact() && record_pos_cmp(pos, checkpoint_pos()) < 0)
        return true;
    for (size_t i = 0; i < spans_count; i++) {
        const struct disk_span *s = &spans[i];
        if (s->type == RECORD_COMMIT && !touched(s) &&
            record_pos_cmp((struct record_pos){s->synced_segment, s->synced_offset}, pos) > 0)
            return true;
    }
    return false;
}

static void judge_damage(void)
{
    const struct disk_span *last = NULL;

    end_lost = false;
    memset(doubtful, 0, want.last_seq + 2);
    for (size_t i = 0; i < spans_count; i++)
        if (touched(&spans[i])) {
            last = &spans[i];
            end_lost |= !called_synced(last);
        }
    if (last == NULL || checkpoint_tells())
        return;
    /* All that was given before the last damage, and speaks for itself nowhere behind it. */
    for (uint64_t seq = 1; seq <= want.last_seq; seq++) {
        bool behind = false;
        for (const struct disk_span *s = last + 1; s < spans + spans_count; s++)
            behind |= (s->type == RECORD_MESSAGE || s->type == RECORD_COPY) && s->first == seq;
        doubtful[seq] = !behind;
    }
}

static bool hit_itself(uint64_t seq)
{
    for (size_t i = 0; i < spans_count; i++)
        if ((spans[i].type == RECORD_MESSAGE || spans[i].type == RECORD_COPY ||
             spans[i].type == RECORD_ERASE) &&
            spans[i].first == seq && touched(&spans[i]))
            return true;
    return false;
}

static bool redeadline_hit(uint64_t seq)
{
    for (size_t i = 0; i < spans_count; i++)
        if (spans[i].type == RECORD_DEADLINE && spans[i].first == seq && touched(&spans[i]))
            return true;
    return false;
}

/* A whole file went, or nothing tells where its records lie. */
static bool file_gone(uint64_t seq)
{
    for (size_t i = 0; i < spans_count; i++)
        if ((spans[i].type == RECORD_MESSAGE || spans[i].type == RECORD_COPY) &&
            spans[i].first == seq)
            for (unsigned h = 0; h < at.hits; h++)
                if (at.file[h] == spans[i].file && at.from[h] < SEGMENT_PAGE)
                    return true;
    return false;
}

/* --- the copy --------------------------------------------------------------------------------- */

static struct disk copy;

static int put(void *arg, const char *name, const uint8_t *bytes, size_t n, struct mf_error *e)
{
    struct disk_file *f = &copy.file[copy.files++];

    (void)arg;
    (void)e;
    MUST(copy.files <= DISK_FILES, "a copy of so many files");
    snprintf(f->name, sizeof f->name, "%s", name);
    f->size = n;
    f->bytes = must_alloc(NULL, n, 1);
    memcpy(f->bytes, bytes, n);
    return 0;
}

static bool in_ranges(const struct repair_ranges *r, uint64_t seq)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->at[i].first <= seq && seq <= r->at[i].last)
            return true;
    return false;
}

static void check_is_clean(void)
{
    struct check_source src = disk_source(&copy);
    struct check_opts o = {.now_ns = now_ns, .key = test_key()};
    struct check_result r;
    struct mf_error e;

    MUST(check_files(&src, &o, &r, &e) == 0, "check of the copy: %s", e.text);
    MUST(r.damage_count == 0 && !r.torn, "the copy is not clean: %s at %llu: %s",
         r.damages > 0 ? r.damage[0].file : "torn",
         (unsigned long long)(r.damages > 0 ? r.damage[0].offset : r.stop_offset),
         r.damages > 0 ? r.damage[0].what : "");
    check_result_fini(&r);
}

static void judge_missing(const struct model_msg *m, const struct repair_result *r)
{
    bool lost = in_ranges(&r->lost, m->seq), unknown = in_ranges(&r->unknown, m->seq);
    bool unseen = in_ranges(&r->unseen, m->seq) || m->seq <= r->moved_upto;
    bool expired = in_ranges(&r->expired, m->seq);

    if (end_lost)
        return;
    MUST(lost || unknown || unseen || expired, "message %llu is not in the copy, and not reported",
         (unsigned long long)m->seq);
    /* With the deadline that can be read it may be past. */
    MUST(!unknown || !at.keep || redeadline_hit(m->seq), "message %llu was to be kept",
         (unsigned long long)m->seq);
    MUST(!unknown || doubtful[m->seq], "message %llu is left out, though nothing hides its fate",
         (unsigned long long)m->seq);
    MUST(!expired || doubtful[m->seq], "message %llu is called expired, and is not",
         (unsigned long long)m->seq);
    MUST(unknown || expired || hit_itself(m->seq) || file_gone(m->seq),
         "message %llu is reported lost, though it is not damaged", (unsigned long long)m->seq);
}

static void judge_messages(struct store *s, const struct repair_result *r)
{
    struct store_rec rec;

    for (size_t i = 0; i < want.msgs; i++) {
        const struct model_msg *m = &want.msg[i];
        int rc = store_peek(s, m->seq, &rec);
        if (!model_visible(m, now_ns)) {
            MUST(rc == MF_NOTFOUND || at.keep || end_lost, "message %llu is past its deadline",
                 (unsigned long long)m->seq);
            continue;
        }
        if (rc == MF_NOTFOUND) {
            judge_missing(m, r);
            continue;
        }
        MUST(rc == 0, "message %llu: %d", (unsigned long long)m->seq, rc);
        MUST(!in_ranges(&r->lost, m->seq), "message %llu is there, and reported as lost",
             (unsigned long long)m->seq);
        MUST(model_content(rec.key, rec.head, rec.body) == m->content && rec.ts_ns == m->ts_ns &&
                 ((rec.flags ^ m->flags) & ~STORE_BITS) == 0,
             "message %llu has other contents", (unsigned long long)m->seq);
        MUST((rec.deadline_ns == m->deadline_ns && rec.flags == m->flags) || at.keep || end_lost,
             "message %llu has another deadline", (unsigned long long)m->seq);
    }
    for (uint64_t seq = store_next(s, 1); seq != 0; seq = store_next(s, seq + 1))
        MUST(state_find(&want, seq) != NULL || end_lost || (at.keep && in_ranges(&r->unknown, seq)),
             "message %llu came back", (unsigned long long)seq);
}

static void judge_blobs(struct store *s, const struct repair_result *r)
{
    for (size_t i = 0; i < want.blobs; i++) {
        struct mf_slice bytes, name = mf_str(want.blob[i].name);
        if (store_blob_get(s, name, &bytes) &&
            model_content(name, MF_SLICE_NONE, bytes) == want.blob[i].content)
            continue;
        MUST(r->blobs_hidden || end_lost, "blob %s differs, and damage to blobs is not reported",
             want.blob[i].name);
        MUST(!checkpoint_tells() || end_lost, "blob %s was in the checkpoint", want.blob[i].name);
    }
}

static void judge_copy(const struct repair_result *r)
{
    struct store_opts o = victim_options();
    struct store_state st;
    struct store_stats stats;
    struct drive d;

    check_is_clean();
    o.now_ns = now_ns;
    drive_init(&d, loop, disk_make(&copy), &o, 1);
    drive_open(&d);
    MUST(drive_scrub(&d) == 0, "scrub");
    drive_idle(&d);
    store_stats(d.store, &stats);
    MUST(store_damage_count(d.store) == 0 && !stats.torn_tail, "the server finds damage: %s",
         store_damage_count(d.store) > 0 ? store_damage(d.store, 0)->what : "torn");
    judge_messages(d.store, r);
    judge_blobs(d.store, r);
    store_state(d.store, &st);
    MUST(st.last_seq >= want.last_seq || end_lost, "last sequence %llu: %llu would be given again",
         (unsigned long long)st.last_seq, (unsigned long long)want.last_seq);
    struct store_append a = {.key = MF_LIT("after.repair"), .body = MF_LIT("goes on")};
    MUST(store_append(d.store, &a) == 0 && a.seq > st.last_seq, "the copy takes no message");
    drive_idle(&d);
    drive_close(&d);
    drive_fini(&d);
}

static bool key_is_lost(void)
{
    const struct disk_file *now = disk_find(&disk, "store.key");
    const struct disk_file *was = disk_find(&sound, "store.key");

    return was != NULL && (now == NULL || test_key_lost(was->bytes, now->bytes, now->size));
}

static void try_repair(bool keep)
{
    struct check_source src = disk_source(&disk);
    struct repair_opts o = {.keep_unknown = keep, .now_ns = now_ns, .key = test_key()};
    struct repair_sink sink = {put, NULL};
    struct repair_result r;
    struct mf_error e;

    at.keep = keep;
    disk.without = at.no_checkpoint ? "checkpoint" : NULL;
    judge_damage();
    copy.files = 0;
    int rc = repair_files(&src, &o, &sink, &r, &e);
    if (rc == MF_NOTFOUND && disk.files - at.hits <= 1u + (test_secret() != NULL))
        return; /* nothing was left */
    if (key_is_lost()) {
        MUST(rc == MF_CORRUPT || rc == MF_NOTFOUND, "repaired without the key: %d", rc);
        return;
    }
    MUST(rc == 0, "%s", e.text);
    MUST(!checkpoint_tells() || r.unknown.sequences == 0,
         "%llu unknown, though there is a checkpoint", (unsigned long long)r.unknown.sequences);
    judge_copy(&r);
    MUST(r.config_missing, "there is no stream's configuration in it");
    r.config_missing = false;
    count.whole += repair_lossless(&r);
    count.lost += r.lost.sequences;
    count.unseen += r.unseen.sequences;
    count.unknown += r.unknown.sequences;
    count.ended += end_lost;
    repair_result_fini(&r);
    disk_free(&copy);
}

/* --- rounds ----------------------------------------------------------------------------------- */

static void play(uint64_t round)
{
    struct pick p = {at.seed * 1000003 + round};
    unsigned hits = round == 0 ? 0 : 1 + pick_below(&p, HITS);

    at.round = round;
    restore();
    for (unsigned i = 0; i < hits; i++)
        hit(&p);
    for (int i = 0; i < 4; i++) {
        at.no_checkpoint = (i & 1) != 0;
        try_repair((i & 2) != 0);
    }
}

int main(int argc, char **argv)
{
    uint64_t rounds = must_number(argc, argv, "rounds", "REPAIR_ROUNDS", 1500);
    uint64_t only = must_number(argc, argv, "only", NULL, UINT64_MAX);
    struct mf_error e;

    at.seed = must_number(argc, argv, "seed", "REPAIR_SEED", 1);
    must_where = where;
    must_quiet();
    printf("seed %llu\n", (unsigned long long)at.seed);
    MUST(loop_new(&loop, &e) == 0, "%s", e.text);
    loop_jobs_inline(loop);
    now_ns = victim_build(loop, at.seed, &want);
    doubtful = must_alloc(NULL, want.last_seq + 2, 1);
    sound = disk;
    for (size_t i = 0; i < disk.files; i++) {
        disk.file[i].bytes = must_alloc(NULL, sound.file[i].size + 1, 1);
        memcpy(disk.file[i].bytes, sound.file[i].bytes, sound.file[i].size);
    }
    for (uint64_t round = only == UINT64_MAX ? 0 : only; round <= rounds; round++) {
        play(round);
        MUST(round > 0 || (count.whole == 4 && count.ended == 0),
             "the undamaged store lost something");
        if (only != UINT64_MAX)
            break;
    }
    printf(
        "repair: %llu rounds, %llu copies without a loss; %llu sequences lost, %llu unseen, %llu "
        "unknown; %llu times the end was lost without a trace\n",
        (unsigned long long)rounds, (unsigned long long)count.whole, (unsigned long long)count.lost,
        (unsigned long long)count.unseen, (unsigned long long)count.unknown,
        (unsigned long long)count.ended);
    disk_free(&disk);
    disk_free(&sound);
    disk_spans_free(spans, spans_count);
    excuse_fini();
    free(doubtful);
    state_fini(&want);
    loop_free(loop);
    return 0;
}
