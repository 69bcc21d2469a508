/* shared.c: the power is cut after every change that several stores and their commit journal make.
 *
 * As crash.c, with three stores whose groups go through one journal: a script (by seed) runs on
 * files that remember every change; for each number of changes and in every mode of crash_io.h a
 * disk is built as it may be after a power cut there, and all are opened on it.  Each store shows
 * what some prefix of its accepted batches says, one that holds all that was acknowledged; nothing
 * is damaged; writing goes on; all of it is there when opened once more; and what was erased is in
 * no file, the journal's among them.  For some of the disks the power is cut again during that.
 *
 *     shared [--seed=S] [--images=N] [--ops=N]       also SHARED_SEED, SHARED_IMAGES
 *     shared --seed=S --ops=N --cut=N --mode=M --variant=V [--twice=1]    one disk of the script S
 */
#include "disk.h"
#include "support/shared_set.h"

#include "cli/check/check_journal.h"

#include "shared_check.h"

#include "support/crash_io.h"
#include "support/must.h"
#include "support/store_compare.h"
#include "support/store_drive.h"
#include "support/store_script.h"
#include "support/view_io.h"

#include "base/rand.h"
#include "store/store_journal.h"
#include "support/secret.h"

#define STEP_NS 1000000000ll
#define START   (1700000000 * STEP_NS)

static struct {
    uint64_t seed, ops, cut, variant, cut2;
    enum crash_mode mode, mode2;
    struct store_io *recorder;
    bool in_image, in_second, twice;
    int store;
} at;

static struct {
    uint64_t images, seconds, scripts, changes, torn, later, steps, gone;
    uint64_t entries, groups, emptied, recovered, checked;
    uint64_t by_mode[CRASH_MODES];
} count;

static void where(FILE *to)
{
    char text[200];

    fprintf(to, "script --seed=%llu --ops=%llu", (unsigned long long)at.seed,
            (unsigned long long)at.ops);
    if (at.in_image)
        fprintf(to, " --cut=%llu --mode=%d --variant=%llu --twice=%d   (%s, after: %s), store %d",
                (unsigned long long)at.cut, at.mode, (unsigned long long)at.variant, at.twice,
                crash_mode_name(at.mode), crash_io_describe(at.recorder, at.cut, text, sizeof text),
                at.store);
    if (at.in_second)
        fprintf(to, "\nand then cut again after change %llu of the recovery, mode %d",
                (unsigned long long)at.cut2, at.mode2);
    fputc('\n', to);
}

static struct loop *loop;

static uint64_t mix(uint64_t a, uint64_t b)
{
    return pick_u64(&(struct pick){a * 0x9E3779B97F4A7C15u + b});
}

static void begin_set(struct shared_set *x, struct store_io *all, const struct store_opts *o,
                      uint64_t seed)
{
    shared_init(x, loop, all, o, seed);
    x->at = &at.store;
    x->sync_each = seed % 2 == 0 ? 1 : 0; /* starts sync everything at once, or file by file */
}

static void end_set(struct shared_set *x)
{
    shared_fini(x);
    count.entries += x->stats.entries;
    count.groups += x->stats.groups;
    count.emptied += x->stats.emptied;
    count.recovered += x->stats.recovered;
}

static uint64_t clock_of_all(struct store_io *view)
{
    return crash_io_ops(view_io_all(view));
}

/* --- the script ------------------------------------------------------------------------------- */

static void options_of(uint64_t seed, struct store_opts *o, struct script *p)
{
    struct pick pick = {mix(seed, 77)};
    static const char *const names[SHARED_STORES] = {"a", "b", "c"};
    static const unsigned keys[] = {3, 30, 200};

    for (int i = 0; i < SHARED_STORES; i++) {
        o[i] = (struct store_opts){.now_ns = START, .name = names[i]};
        o[i].segment_min = o[i].segment_max = 16u << 10;
        o[i].no_checkpoint = pick_chance(&pick, 25); /* as when there is no space for one */
        if (pick_chance(&pick, 10)) {
            o[i].sync = STORE_SYNC_INTERVAL;
            o[i].sync_interval_ns = 3600 * STEP_NS;
        }
        p[i] = (struct script){.keys = keys[pick_below(&pick, MF_COUNT(keys))],
                               .live_max = 30 + pick_below(&pick, 60),
                               .body_max = 6000,
                               .step_ns = STEP_NS,
                               .no_reopen = true,
                               .rest = pick_below(&pick, 12)};
    }
}

/* Groups of several messages in every store, at once; then one message of each is erased, at once,
 * too: the rest of its group may be in the journal alone. */
static void write_and_erase(struct shared_set *x)
{
    uint64_t seq[SHARED_STORES];

    for (int n = 0; n < 3; n++)
        for (int i = 0; i < SHARED_STORES; i++) {
            at.store = i;
            seq[i] = drive_append(&x->d[i], "together", 3, 90, 0, 0) == 0
                         ? store_last_seq(x->d[i].store)
                         : 0;
        }
    for (int i = 0; i < SHARED_STORES; i++)
        drive_idle(&x->d[i]);
    for (int i = 0; i < SHARED_STORES; i++) {
        at.store = i;
        if (seq[i] != 0)
            (void)drive_erase(&x->d[i], seq[i] - 1);
    }
    for (int n = 0; n < 6; n++)
        drive_turn(&x->d[0]);
}

static void run_script(struct shared_set *x, uint64_t seed, uint64_t ops)
{
    struct store_opts o[SHARED_STORES];
    struct script p[SHARED_STORES];
    struct store_io *io;
    struct mf_error e;
    struct pick pick = {mix(seed, 5)};

    at.seed = seed;
    at.ops = ops;
    options_of(seed, o, p);
    MUST(crash_io_new(&io, NULL, &e) == 0, "%s", e.text);
    begin_set(x, io, o, seed);
    for (int i = 0; i < SHARED_STORES; i++) {
        x->d[i].clock = clock_of_all;
        x->d[i].silent = 5;
    }
    shared_open(x);
    for (uint64_t n = 0; n < ops; n++) {
        int i = (int)pick_below(&pick, SHARED_STORES);
        at.store = i;
        script_step(&x->d[i], &p[i]);
        if (pick_chance(&pick, 1) && pick_chance(&pick, 50)) {
            drive_close(&x->d[i]);
            shared_begin(x, i);
        }
        if (pick_chance(&pick, 4))
            write_and_erase(x);
        if (n == ops / 2) { /* all, in the middle */
            shared_close(x);
            shared_open(x);
        }
        count.steps++;
    }
    shared_close(x);
    at.recorder = io;
    count.scripts++;
    count.changes += crash_io_ops(io);
    printf("seed %llu: %llu changes of files; %llu entries with %llu groups, %llu files "
           "emptied\n",
           (unsigned long long)seed, (unsigned long long)crash_io_ops(io),
           (unsigned long long)x->stats.entries, (unsigned long long)x->stats.groups,
           (unsigned long long)x->stats.emptied);
    fflush(stdout);
}

/* --- one disk --------------------------------------------------------------------------------- */

/* A store's model at a cut, moved along as cuts ascend. */
struct progress {
    struct model_state acked;
    size_t lo, hi;
};

static void progress_move(struct progress *g, const struct model *m, uint64_t cut)
{
    while (g->lo < m->batches && m->batch[g->lo].acked_at <= cut)
        state_apply_batch(&g->acked, m, g->lo++);
    g->hi = g->lo;
    while (g->hi < m->batches && m->batch[g->hi].accepted_at <= cut)
        g->hi++;
}

static void relax(struct drive *d)
{
    if (d->opts.sync == STORE_SYNC_ALWAYS)
        return;
    for (size_t i = 0; i < d->model.batches; i++)
        d->model.batch[i].acked_at = UINT64_MAX;
}

static void must_be_whole(struct store *s)
{
    if (store_damage_count(s) > 0) {
        const struct store_damage *x = store_damage(s, 0);
        MUST(false, "damage after a power cut: %s at %llu, %llu bytes: %s", x->file,
             (unsigned long long)x->offset, (unsigned long long)x->length, x->what);
    }
    MUST(store_error(s) == NULL, "%s", store_error(s));
}

static void look(struct drive *d, const struct model *m, const struct progress *g, int64_t now_ns,
                 struct model_state *held)
{
    struct store_stats stats;
    int64_t floor = store_clock_floor(d->store);

    must_be_whole(d->store);
    store_stats(d->store, &stats);
    count.torn += stats.torn_tail;
    drive_time(d, floor > now_ns ? floor : now_ns);
    state_copy(held, &g->acked);
    count.later += compare_prefix(d->store, m, held, g->lo, g->hi, d->now_ns) > g->lo;
}

static void go_on(struct shared_set *x, struct model_state *held)
{
    bool more;

    for (int i = 0; i < SHARED_STORES; i++) {
        struct drive *d = &x->d[i];
        at.store = i;
        state_copy(&d->model.accepted, &held[i]);
        state_copy(&d->model.committed, &held[i]);
        do
            drive_expire(d, 1000, &more);
        while (more);
    }
    for (int n = 0; n < 6; n++)
        for (int i = 0; i < SHARED_STORES; i++) {
            at.store = i;
            MUST(drive_append(&x->d[i], "after", 5, 40 * (size_t)n, 0, 1) == 0, "append");
            if (i == SHARED_STORES - 1 && n % 2 == 1)
                drive_turn(&x->d[i]);
        }
    for (int i = 0; i < SHARED_STORES; i++) {
        struct drive *d = &x->d[i];
        at.store = i;
        if (d->model.accepted.msgs > 4)
            MUST(drive_erase(d, drive_pick_seq(d)) == 0, "erase after the cut");
    }
    for (int i = 0; i < SHARED_STORES; i++) {
        at.store = i;
        drive_idle(&x->d[i]);
        MUST(compare_sum(x->d[i].store) == state_sum(&x->d[i].model.accepted, x->d[i].now_ns),
             "what was written after the cut is not what is shown");
    }
}

static void must_be_gone(const struct disk *files, const struct model_op *op, const char *when)
{
    for (size_t i = 0; i < files->files && op->msg.stamp[0] != 0; i++) {
        const struct disk_file *f = &files->file[i];
        const uint8_t *p = memmem(f->bytes, f->size, op->msg.stamp, sizeof op->msg.stamp);
        MUST(p == NULL, "message %llu was erased, and is in %s at %zu %s",
             (unsigned long long)op->first, f->name, p == NULL ? 0 : (size_t)(p - f->bytes), when);
    }
    count.gone++;
}

static void erased_are_gone(struct store_io *disk, const struct shared_set *x, struct progress *g,
                            uint64_t answered_by, const char *when)
{
    struct disk files;

    disk_take_open(&files, disk);
    for (int s = 0; s < SHARED_STORES; s++) {
        const struct model *m = &x->d[s].model;
        unsigned looked = 0;
        at.store = s;
        for (size_t b = answered_by == UINT64_MAX ? g[s].lo : g[s].hi; b-- > 0 && looked < 4;)
            for (size_t i = 0; i < m->batch[b].ops && m->batch[b].erased_at <= answered_by; i++) {
                const struct model_op *op = &m->op[m->batch[b].op + i];
                if (op->kind == MODEL_ERASE &&
                    (answered_by != UINT64_MAX || op->msg.deadline_ns == 0)) {
                    must_be_gone(&files, op, when);
                    looked++;
                }
            }
    }
    disk_free(&files);
}

/* --- mayfly check ----------------------------------------------------------------------------- */

static void check_store_of(struct disk *files, int i, struct check_result *r)
{
    struct check_opts o = {.now_ns = START, .key = test_key()};
    struct check_journal joined;
    struct folder store, journal;
    struct mf_error e;

    at.store = i;
    folder_init(&store, files, shared_path(i));
    folder_init(&journal, files, "j.");
    MUST(check_journal_open(&joined, &store.src, &journal.src, &e) == 0, "mayfly check: %s",
         e.text);
    MUST(check_files(&joined.src, &o, r, &e) == 0, "mayfly check: %s", e.text);
    check_journal_close(&joined);
    bool fits = r->checkpoint == CHECK_CP_NONE || r->checkpoint == CHECK_CP_MATCHES ||
                r->cp_segment < r->first_segment;
    MUST(r->damage_count == 0 && fits,
         "mayfly check finds damage after a power cut: %s at %llu: %s",
         r->damages > 0 ? r->damage[0].file : check_cp_text(r->checkpoint),
         r->damages > 0 ? (unsigned long long)r->damage[0].offset : 0,
         r->damages > 0 ? r->damage[0].what : "");
}

struct checked {
    bool done[SHARED_STORES];
    struct check_result result[SHARED_STORES];
};

static void check_all(struct store_io *all, struct checked *c)
{
    struct disk files;

    *c = (struct checked){0};
    if ((at.cut + at.variant) % 4 != 0)
        return;
    disk_take_open(&files, all);
    for (int i = 0; i < SHARED_STORES; i++) {
        char first[8];
        snprintf(first, sizeof first, "%s0", shared_path(i));
        c->done[i] = view_io_any(all, first); /* a segment: the cut may have come before any */
        if (c->done[i])
            check_store_of(&files, i, &c->result[i]);
    }
    disk_free(&files);
}

static void check_agrees(struct checked *c, struct shared_set *y, const struct model_state *held)
{
    for (int i = 0; i < SHARED_STORES; i++) {
        struct store_stats stats;
        const struct check_result *r = &c->result[i];
        if (!c->done[i])
            continue;
        at.store = i;
        store_stats(y->d[i].store, &stats);
        MUST(r->live.messages == held[i].msgs && r->live.blobs == held[i].blobs &&
                 r->last_sequence == held[i].last_seq,
             "mayfly check counts %llu messages, %llu blobs, last %llu; not %zu, %zu, %llu",
             (unsigned long long)r->live.messages, (unsigned long long)r->live.blobs,
             (unsigned long long)r->last_sequence, held[i].msgs, held[i].blobs,
             (unsigned long long)held[i].last_seq);
        MUST(r->torn == stats.torn_tail || y->d[i].opts.sync != STORE_SYNC_ALWAYS,
             "torn: check says %d, the store says %d", r->torn, stats.torn_tail);
        check_result_fini(&c->result[i]);
        count.checked++;
    }
}

static void second_cut(const struct shared_set *x, struct progress *g, const struct store_opts *o,
                       struct store_io *recorder, uint64_t opened_at, int64_t now_ns)
{
    static struct model_state held;
    uint64_t last = crash_io_ops(recorder);

    at.in_second = true;
    for (at.cut2 = 0; at.cut2 <= last && at.cut2 <= opened_at; at.cut2++) {
        struct store_io *disk;
        struct shared_set y;
        at.mode2 = (enum crash_mode)((at.cut2 + at.variant + at.cut) % CRASH_MODES);
        MUST(crash_io_image(recorder, at.cut2, at.mode2, mix(at.seed, at.cut2), &disk) == 0,
             "no image");
        begin_set(&y, disk, o, at.cut2);
        for (int i = 0; i < SHARED_STORES; i++)
            y.d[i].now_ns = now_ns;
        shared_open(&y);
        for (int i = 0; i < SHARED_STORES; i++) {
            at.store = i;
            look(&y.d[i], &x->d[i].model, &g[i], now_ns, &held);
        }
        end_set(&y);
        count.seconds++;
    }
    at.in_second = false;
}

static void try_disk(const struct shared_set *x, struct progress *g, struct store_io *disk,
                     bool twice, int64_t now_ns)
{
    static struct model_state held[SHARED_STORES];
    struct store_io *recorder = NULL, *all = disk;
    struct store_opts o[SHARED_STORES];
    struct checked checked;
    struct mf_error e;
    struct shared_set y;

    for (int i = 0; i < SHARED_STORES; i++)
        o[i] = x->d[i].opts;
    if (twice) {
        MUST(crash_io_new(&recorder, disk, &e) == 0, "%s", e.text);
        all = recorder;
    }
    begin_set(&y, all, o, at.cut);
    for (int i = 0; i < SHARED_STORES; i++)
        y.d[i].now_ns = now_ns;
    erased_are_gone(all, x, g, at.cut, "after the cut");
    check_all(all, &checked);
    shared_open(&y);
    uint64_t opened_at = twice ? crash_io_ops(recorder) : 0;
    for (int i = 0; i < SHARED_STORES; i++) {
        at.store = i;
        look(&y.d[i], &x->d[i].model, &g[i], now_ns, &held[i]);
    }
    check_agrees(&checked, &y, held);
    go_on(&y, held);
    erased_are_gone(all, x, g, UINT64_MAX, "after the restart");
    if (twice)
        second_cut(x, g, o, recorder, opened_at, now_ns);
    shared_close(&y);
    shared_open(&y);
    for (int i = 0; i < SHARED_STORES; i++) {
        at.store = i;
        must_be_whole(y.d[i].store);
        MUST(compare_sum(y.d[i].store) == state_sum(&y.d[i].model.accepted, y.d[i].now_ns),
             "closed and opened again, the store shows something else");
    }
    shared_close(&y);
    end_set(&y);
    count.images++;
    count.by_mode[at.mode]++;
}

static void cut_here(struct shared_set *x, struct progress *g, uint64_t cut, enum crash_mode mode,
                     uint64_t variant, bool twice)
{
    struct pick pick = {mix(mix(at.seed, cut), mode * 1000 + variant)};
    struct store_io *disk;
    int64_t then = START;

    at.cut = cut;
    at.mode = mode;
    at.variant = variant;
    at.twice = twice;
    at.in_image = true;
    for (int i = 0; i < SHARED_STORES; i++) {
        progress_move(&g[i], &x->d[i].model, cut);
        if (g[i].hi > 0 && x->d[i].model.batch[g[i].hi - 1].now_ns > then)
            then = x->d[i].model.batch[g[i].hi - 1].now_ns;
    }
    MUST(crash_io_image(x->all, cut, mode, mix(at.seed, variant * 1000003 + cut), &disk) == 0,
         "no image");
    uint32_t r = pick_below(&pick, 100);
    try_disk(x, g, disk, twice,
             r < 60   ? then
             : r < 80 ? 0
                      : then + (int64_t)pick_below(&pick, 20) * STEP_NS);
    at.in_image = false;
}

static void progress_begin(struct shared_set *x, struct progress *g)
{
    for (int i = 0; i < SHARED_STORES; i++) {
        relax(&x->d[i]);
        g[i] = (struct progress){0};
        state_init(&g[i].acked, 1);
    }
}

static void cut_everywhere(struct shared_set *x, uint64_t images)
{
    struct progress g[SHARED_STORES];
    uint64_t changes = crash_io_ops(x->all), done = 0, turn = 0;

    progress_begin(x, g);
    for (uint64_t cut = 0; cut <= changes; cut++) {
        uint64_t want = images * (cut + 1) / (changes + 1);
        struct crash_unsynced u;
        MUST(crash_io_unsynced(x->all, cut, &u) == 0, "no such cut");
        for (uint64_t n = 0; done < want || n == 0; n++, done++, turn++)
            cut_here(x, g, cut,
                     u.writes + u.names == 0 ? CRASH_KEEP : (enum crash_mode)(turn % CRASH_MODES),
                     turn / CRASH_MODES, turn % 97 == 0);
    }
    for (int i = 0; i < SHARED_STORES; i++)
        state_fini(&g[i].acked);
}

static void report(void)
{
    printf("shared: %llu disks after a power cut (", (unsigned long long)count.images);
    for (int i = 0; i < CRASH_MODES; i++)
        printf("%s%s %llu", i == 0 ? "" : ", ", crash_mode_name((enum crash_mode)i),
               (unsigned long long)count.by_mode[i]);
    printf("), %llu more after a second one, %llu stores compared with mayfly check; %llu scripts "
           "of %llu steps, %llu changes of files; "
           "%llu entries of %llu groups, %llu files emptied, %llu parts written again; %llu torn "
           "tails, %llu stores ahead of the last acknowledgement; %llu times an erased message was "
           "looked for in all files\n",
           (unsigned long long)count.seconds, (unsigned long long)count.checked,
           (unsigned long long)count.scripts, (unsigned long long)count.steps,
           (unsigned long long)count.changes, (unsigned long long)count.entries,
           (unsigned long long)count.groups, (unsigned long long)count.emptied,
           (unsigned long long)count.recovered, (unsigned long long)count.torn,
           (unsigned long long)count.later, (unsigned long long)count.gone);
}

int main(int argc, char **argv)
{
    uint64_t seed = must_number(argc, argv, "seed", "SHARED_SEED", 1);
    uint64_t images = must_number(argc, argv, "images", "SHARED_IMAGES", 6000);
    uint64_t ops = must_number(argc, argv, "ops", "SHARED_OPS", 600);
    uint64_t cut = must_number(argc, argv, "cut", NULL, UINT64_MAX);
    struct mf_error e;
    struct shared_set x;

    must_where = where;
    must_quiet();
    MUST(loop_new(&loop, &e) == 0, "%s", e.text);
    loop_jobs_inline(loop);
    for (uint64_t n = 0; count.images < images; n++) {
        run_script(&x, seed + n, ops);
        if (cut == UINT64_MAX) {
            cut_everywhere(&x, 3000);
        } else {
            struct progress g[SHARED_STORES];
            progress_begin(&x, g);
            cut_here(&x, g, cut, (enum crash_mode)must_number(argc, argv, "mode", NULL, 0),
                     must_number(argc, argv, "variant", NULL, 0),
                     must_number(argc, argv, "twice", NULL, 0) != 0);
            images = 0;
            for (int i = 0; i < SHARED_STORES; i++)
                state_fini(&g[i].acked);
        }
        end_set(&x);
    }
    report();
    MUST(cut != UINT64_MAX || (count.recovered > 0 && count.emptied > 0 && count.gone > 0),
         "the journal was not tried");
    loop_free(loop);
    return 0;
}
