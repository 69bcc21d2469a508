/* crash.c: the power is cut after every change a store makes to its files.
 *
 * A script (by seed) runs on files that remember every change.  For each number of changes and in
 * every mode of crash_io.h a disk is built as it may be after a power cut there, and a store opened
 * on it: it shows what some prefix of the accepted batches says, one that holds all that was
 * acknowledged (so nothing is lost, revived or split, and no sequence is given twice); nothing is
 * reported as damage; writing goes on; and all of it is there when opened once more.  For some of
 * the disks the power is cut again during that.
 *
 *     crash [--seed=S] [--images=N] [--ops=N]       also CRASH_SEED, CRASH_IMAGES
 *     crash --seed=S --cut=N --mode=M --variant=V [--twice=1] [--no-check=1] [--list=N]
 *                                                   one disk of the script S; lists changes N to
 * cut
 */
#include "disk.h"

#include "support/crash_io.h"
#include "support/must.h"
#include "support/store_compare.h"
#include "support/store_drive.h"
#include "support/store_script.h"

#include "base/rand.h"
#include "support/secret.h"

#define STEP_NS 1000000000ll
#define START   (1700000000 * STEP_NS)

/* Where we are: printed when something is wrong, to come here again. */
static struct {
    uint64_t seed, ops, cut, variant, cut2;
    enum crash_mode mode, mode2;
    struct store_io *recorder;
    bool in_image, in_second, twice, no_check;
} at;

static struct {
    uint64_t images, seconds, checked, scripts, changes, torn, deaths, later, steps, gone;
    uint64_t by_mode[CRASH_MODES];
} count;

static struct loop *loop;

static void where(FILE *to)
{
    char text[200];

    fprintf(to, "script --seed=%llu --ops=%llu", (unsigned long long)at.seed,
            (unsigned long long)at.ops);
    if (at.in_image)
        fprintf(to, " --cut=%llu --mode=%d --variant=%llu --twice=%d   (%s, after: %s)",
                (unsigned long long)at.cut, at.mode, (unsigned long long)at.variant, at.twice,
                crash_mode_name(at.mode),
                crash_io_describe(at.recorder, at.cut, text, sizeof text));
    if (at.in_second)
        fprintf(to, "\nand then cut again after change %llu of the recovery, mode %d",
                (unsigned long long)at.cut2, at.mode2);
    fputc('\n', to);
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    return pick_u64(&(struct pick){a * 0x9E3779B97F4A7C15u + b});
}

/* --- the script ------------------------------------------------------------------------------- */

static void options_of(uint64_t seed, struct store_opts *o, struct script *p)
{
    struct pick pick = {mix(seed, 77)};
    static const uint32_t size[] = {16u << 10, 16u << 10, 32u << 10, 64u << 10};
    static const unsigned keys[] = {3, 30, 200};

    *o = (struct store_opts){.now_ns = START, .name = "crash"};
    o->segment_min = o->segment_max = size[pick_below(&pick, MF_COUNT(size))];
    if (pick_chance(&pick, 20)) {
        o->sync = STORE_SYNC_INTERVAL;
        o->sync_interval_ns = 3600 * STEP_NS; /* by timer never: a run must be repeatable */
    }
    if (pick_chance(&pick, 20))
        o->first_seq = 1000000000000;
    *p = (struct script){.keys = keys[pick_below(&pick, MF_COUNT(keys))],
                         .live_max = 60 + pick_below(&pick, 120),
                         .body_max = 20000,
                         .step_ns = STEP_NS,
                         .rest = 20 + pick_below(&pick, 50)};
}

/* --- one disk --------------------------------------------------------------------------------- */

/* The journal's state at a cut, moved along as cuts ascend. */
struct progress {
    struct model_state acked;
    size_t lo;
};

static void progress_move(struct progress *g, const struct model *m, uint64_t cut)
{
    while (g->lo < m->batches && m->batch[g->lo].acked_at <= cut)
        state_apply_batch(&g->acked, m, g->lo++);
}

static size_t accepted_by(const struct model *m, size_t from, uint64_t cut)
{
    while (from < m->batches && m->batch[from].accepted_at <= cut)
        from++;
    return from;
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

static int64_t judged_at(struct store *s, int64_t now_ns)
{
    int64_t floor = store_clock_floor(s);

    return floor > now_ns ? floor : now_ns;
}

/* In the relaxed mode an acknowledgement promises no more than the order. */
static void relax(struct drive *d)
{
    if (d->opts.sync == STORE_SYNC_ALWAYS)
        return;
    for (size_t i = 0; i < d->model.batches; i++)
        d->model.batch[i].acked_at = UINT64_MAX;
}

/* A disk on which a store is used after the cut, with the model of what it held then. */
static void go_on(struct drive *d, const struct model_state *held, int64_t now_ns)
{
    bool more;

    d->now_ns = now_ns;
    state_copy(&d->model.accepted, held);
    state_copy(&d->model.committed, held);
    must_be_whole(d->store);
    d->marker_percent = 30;
    do
        count.deaths += drive_expire(d, 1000, &more);
    while (more);
    for (int i = 0; i < 3; i++)
        MUST(drive_append(d, i == 1 ? "after.the.cut" : "a", 5, 40 * (size_t)i, 0, 1) == 0,
             "append after the cut");
    if (d->model.accepted.msgs > 4)
        MUST(drive_remove(d, drive_pick_seq(d)) == 0 && drive_erase(d, drive_pick_seq(d)) == 0,
             "remove after the cut");
    drive_idle(d);
    MUST(compare_sum(d->store) == state_sum(&d->model.accepted, now_ns),
         "what was written after the cut is not what is shown");
    drive_close(d);
}

static void open_again(struct drive *d)
{
    drive_open(d);
    must_be_whole(d->store);
    if (compare_sum(d->store) != state_sum(&d->model.accepted, d->now_ns)) {
        compare_explain(d->store, &d->model.accepted, d->now_ns, stderr);
        MUST(false, "closed and opened again, the store shows something else");
    }
    drive_abandon(d);
}

struct where_cut {
    const struct model *m;
    struct progress *g;
    size_t hi;
    int64_t now_ns;
    struct store_opts opts;
};

/* Opens it and says which prefix it shows, in *held. */
static size_t look(struct where_cut *k, struct drive *d, struct model_state *held)
{
    struct store_stats stats;

    d->now_ns = k->now_ns;
    drive_open(d);
    must_be_whole(d->store);
    store_stats(d->store, &stats);
    count.torn += stats.torn_tail;
    drive_time(d, judged_at(d->store, k->now_ns));
    state_copy(held, &k->g->acked);
    return compare_prefix(d->store, k->m, held, k->g->lo, k->hi, d->now_ns);
}

/* `mayfly check` on the disk as the power cut left it: no damage, and the same as recovery finds.
 */
static void check_disk(struct disk *files, struct check_result *r)
{
    struct check_source src = disk_source(files);
    struct check_opts o = {.now_ns = START, .key = test_key()};
    struct mf_error e;

    int rc = check_files(&src, &o, r, &e);
    if (rc == MF_DENIED) { /* the key was being changed */
        o.key = test_key_or(true);
        rc = check_files(&src, &o, r, &e);
    }
    MUST(rc == 0, "mayfly check: %s", e.text);
    /* One older than the log's first segment cannot be used any more. */
    bool fits = r->checkpoint == CHECK_CP_NONE || r->checkpoint == CHECK_CP_MATCHES ||
                r->cp_segment < r->first_segment;
    if (r->damage_count == 0 && fits)
        return;
    fprintf(stderr,
            "mayfly check: log from segment %llu, end %llu:%llu, stop %llu:%llu, synced "
            "%llu:%llu, %llu messages; checkpoint at %llu:%llu %s, %llu messages\n",
            (unsigned long long)r->first_segment, (unsigned long long)r->end_segment,
            (unsigned long long)r->end_offset, (unsigned long long)r->stop_segment,
            (unsigned long long)r->stop_offset, (unsigned long long)r->synced_segment,
            (unsigned long long)r->synced_offset, (unsigned long long)r->live.messages,
            (unsigned long long)r->cp_segment, (unsigned long long)r->cp_offset,
            check_cp_text(r->checkpoint), (unsigned long long)r->cp_messages);
    for (size_t i = 0; i < r->damages; i++)
        fprintf(stderr, "  %s at %llu: %s\n", r->damage[i].file,
                (unsigned long long)r->damage[i].offset, r->damage[i].what);
    for (size_t i = 0; i < r->notes; i++)
        fprintf(stderr, "  %s\n", r->note[i]);
    for (size_t i = 0; i < files->files; i++)
        fprintf(stderr, "  %s, %zu bytes\n", files->file[i].name, files->file[i].size);
    MUST(false, "mayfly check finds damage after a power cut");
}

static void check_agrees(const struct check_result *r, struct store *s,
                         const struct model_state *held, bool relaxed)
{
    struct store_stats stats;

    store_stats(s, &stats);
    MUST(r->live.messages == held->msgs && r->live.blobs == held->blobs &&
             r->last_sequence == held->last_seq,
         "mayfly check counts %llu messages, %llu blobs, last %llu; not %zu, %zu, %llu",
         (unsigned long long)r->live.messages, (unsigned long long)r->live.blobs,
         (unsigned long long)r->last_sequence, held->msgs, held->blobs,
         (unsigned long long)held->last_seq);
    /* In the relaxed mode records may lie in a later file whose header is lost: check sees them. */
    MUST(r->torn == stats.torn_tail || relaxed, "torn: check says %d, the store says %d", r->torn,
         stats.torn_tail);
    count.checked++;
}

/* --- what was erased ---------------------------------------------------------------------------
 */

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

/* Of the first `batches` of the journal: nothing of what was erased is in any file.  `answered_by`:
 * only if that was answered by then.  The latest only: it takes long. */
static void erased_are_gone(const struct disk *files, const struct model *m, size_t batches,
                            uint64_t answered_by, const char *when)
{
    unsigned looked = 0;

    for (size_t b = batches; b-- > 0 && looked < 6;)
        for (size_t i = 0; i < m->batch[b].ops && m->batch[b].erased_at <= answered_by; i++) {
            const struct model_op *op = &m->op[m->batch[b].op + i];
            /* One past its deadline is gone with and without its erasure: nobody can tell. */
            if (op->kind == MODEL_ERASE &&
                (answered_by != UINT64_MAX || op->msg.deadline_ns == 0)) {
                must_be_gone(files, op, when);
                looked++;
            }
        }
}

/* The power fails a second time: while the first cut was being mended, or soon after. */
static void second_cut(struct where_cut *k, struct store_io *recorder, struct drive *first,
                       uint64_t opened_at, const struct model_state *held)
{
    static struct model_state state;
    struct progress g = {0};
    uint64_t last = crash_io_ops(recorder);

    at.in_second = true;
    relax(first);
    state_copy(&g.acked, held);
    for (at.cut2 = 0; at.cut2 <= last; at.cut2++) {
        struct store_io *disk;
        struct drive d;
        at.mode2 = (enum crash_mode)((at.cut2 + at.variant + at.cut) % CRASH_MODES);
        MUST(crash_io_image(recorder, at.cut2, at.mode2, mix(at.seed, at.cut2), &disk) == 0,
             "no image");
        drive_init(&d, loop, disk, &k->opts, at.cut2);
        if (at.cut2 < opened_at) {
            look(k, &d, &state);
        } else {
            /* What it showed once it was open is what it must show from then on. */
            d.now_ns = first->now_ns;
            drive_open(&d);
            drive_time(&d, judged_at(d.store, d.now_ns));
            must_be_whole(d.store);
            progress_move(&g, &first->model, at.cut2);
            state_copy(&state, &g.acked);
            compare_prefix(d.store, &first->model, &state, g.lo,
                           accepted_by(&first->model, g.lo, at.cut2), d.now_ns);
        }
        drive_fini(&d);
        count.seconds++;
    }
    state_fini(&g.acked);
    at.in_second = false;
}

static void try_disk(struct where_cut *k, struct store_io *disk, bool twice)
{
    static struct model_state held;
    struct store_io *recorder = NULL;
    bool check = (at.cut + at.variant) % 4 == 0 && !at.no_check;
    struct check_result result;
    struct disk files;
    struct drive d;
    struct mf_error e;

    disk_take(&files, disk);
    erased_are_gone(&files, k->m, k->hi, at.cut, "after the cut");
    bool any = false; /* the cut may have come before there was a store */
    for (size_t i = 0; i < files.files; i++)
        any |= mf_ends(mf_str(files.file[i].name), ".log");
    if (check && any)
        check_disk(&files, &result);
    disk_free(&files);
    if (twice)
        MUST(crash_io_new(&recorder, disk, &e) == 0, "%s", e.text);
    drive_init(&d, loop, twice ? recorder : disk, &k->opts, at.cut);
    if (twice)
        d.clock = crash_io_ops;
    size_t shown = look(k, &d, &held);
    count.later += shown > k->g->lo;
    if (check && any) {
        check_agrees(&result, d.store, &held, d.opts.sync != STORE_SYNC_ALWAYS);
        check_result_fini(&result);
    }
    uint64_t opened_at = twice ? crash_io_ops(recorder) : 0;
    go_on(&d, &held, d.now_ns);
    disk_take(&files, twice ? recorder : disk);
    erased_are_gone(&files, k->m, shown, UINT64_MAX, "after the restart");
    disk_free(&files);
    if (twice)
        second_cut(k, recorder, &d, opened_at, &held);
    open_again(&d);
    drive_fini(&d);
    count.images++;
    count.by_mode[at.mode]++;
}

static void cut_here(struct drive *d, struct progress *g, uint64_t cut, enum crash_mode mode,
                     uint64_t variant, bool twice)
{
    struct where_cut k = {.m = &d->model, .g = g, .opts = d->opts};
    struct store_io *disk;
    struct pick pick = {mix(mix(at.seed, cut), mode * 1000 + variant)};

    at.cut = cut;
    at.mode = mode;
    at.variant = variant;
    at.twice = twice;
    at.in_image = true;
    progress_move(g, &d->model, cut);
    k.hi = accepted_by(&d->model, g->lo, cut);
    MUST(crash_io_image(d->io, cut, mode, mix(at.seed, variant * 1000003 + cut), &disk) == 0,
         "no image");
    uint32_t r = pick_below(&pick, 100);
    int64_t then = k.hi == 0 ? START : d->model.batch[k.hi - 1].now_ns;
    /* Restarted at once, with a clock that lost the time, or later. */
    k.now_ns = r < 60 ? then : r < 80 ? 0 : then + (int64_t)pick_below(&pick, 20) * STEP_NS;
    try_disk(&k, disk, twice);
    at.in_image = false;
}

/* --- all of them ------------------------------------------------------------------------------ */

static void run_script(struct drive *d, uint64_t seed, uint64_t ops)
{
    struct store_opts o;
    struct script p;
    struct store_io *io;
    struct mf_error e;

    at.seed = seed;
    at.ops = ops;
    options_of(seed, &o, &p);
    MUST(crash_io_new(&io, NULL, &e) == 0, "%s", e.text);
    drive_init(d, loop, io, &o, mix(seed, 1));
    d->clock = crash_io_ops;
    d->silent = 5;
    drive_open(d);
    while (p.steps < ops)
        script_step(d, &p);
    drive_close(d);
    at.recorder = io;
    count.scripts++;
    count.changes += crash_io_ops(io);
    count.steps += p.steps;
    printf("seed %llu: ", (unsigned long long)seed);
    script_print(&p, stdout);
    printf("; segments of %u KiB, %s, %llu changes of files\n", o.segment_min >> 10,
           o.sync == STORE_SYNC_ALWAYS ? "sync always" : "sync rarely",
           (unsigned long long)crash_io_ops(io));
    fflush(stdout);
}

static void cut_everywhere(struct drive *d, uint64_t images)
{
    struct progress g = {0};
    uint64_t changes = crash_io_ops(d->io), done = 0, turn = 0;

    state_init(&g.acked, d->opts.first_seq == 0 ? 1 : d->opts.first_seq);
    for (uint64_t cut = 0; cut <= changes; cut++) {
        /* Spread evenly: so many by this cut, whatever the number of changes. */
        uint64_t want = images * (cut + 1) / (changes + 1);
        struct crash_unsynced u;
        MUST(crash_io_unsynced(d->io, cut, &u) == 0, "no such cut");
        for (uint64_t n = 0; done < want || n == 0; n++, done++, turn++) {
            enum crash_mode mode =
                u.writes + u.names == 0 ? CRASH_KEEP : (enum crash_mode)(turn % CRASH_MODES);
            cut_here(d, &g, cut, mode, turn / CRASH_MODES, turn % 97 == 0);
            if (u.writes + u.names == 0) {
                done = want > done ? want - 1 : done; /* all disks are equal here */
            }
        }
    }
    state_fini(&g.acked);
}

static void report(void)
{
    printf("crash: %llu disks after a power cut (", (unsigned long long)count.images);
    for (int i = 0; i < CRASH_MODES; i++)
        printf("%s%s %llu", i == 0 ? "" : ", ", crash_mode_name((enum crash_mode)i),
               (unsigned long long)count.by_mode[i]);
    printf("), %llu more after a second one, %llu compared with mayfly check; %llu scripts of %llu "
           "steps, %llu changes of files; %llu "
           "torn tails, %llu disks ahead of the last acknowledgement, %llu deaths after the cut; "
           "%llu times an "
           "erased message was looked for in all files\n",
           (unsigned long long)count.seconds, (unsigned long long)count.checked,
           (unsigned long long)count.scripts, (unsigned long long)count.steps,
           (unsigned long long)count.changes, (unsigned long long)count.torn,
           (unsigned long long)count.later, (unsigned long long)count.deaths,
           (unsigned long long)count.gone);
}

int main(int argc, char **argv)
{
    uint64_t seed = must_number(argc, argv, "seed", "CRASH_SEED", 1);
    uint64_t images = must_number(argc, argv, "images", "CRASH_IMAGES", 20000);
    uint64_t ops = must_number(argc, argv, "ops", "CRASH_OPS", 2000);
    uint64_t cut = must_number(argc, argv, "cut", NULL, UINT64_MAX);
    struct mf_error e;
    struct drive d;

    at.no_check = must_number(argc, argv, "no-check", NULL, 0) != 0;
    must_where = where;
    must_quiet();
    MUST(loop_new(&loop, &e) == 0, "%s", e.text);
    loop_jobs_inline(loop);
    if (cut != UINT64_MAX) {
        struct progress g = {0};
        run_script(&d, seed, ops);
        for (uint64_t i = must_number(argc, argv, "list", NULL, cut); i < cut; i++) {
            char text[200];
            printf("%llu %s\n", (unsigned long long)i + 1,
                   crash_io_describe(d.io, i + 1, text, sizeof text));
        }
        relax(&d);
        state_init(&g.acked, d.opts.first_seq == 0 ? 1 : d.opts.first_seq);
        cut_here(&d, &g, cut, (enum crash_mode)must_number(argc, argv, "mode", NULL, 0),
                 must_number(argc, argv, "variant", NULL, 0),
                 must_number(argc, argv, "twice", NULL, 0) != 0);
        state_fini(&g.acked);
        drive_fini(&d);
        report();
        loop_free(loop);
        return 0;
    }
    /* Scripts until there are enough disks: each script is cut at every change. */
    for (uint64_t n = 0; count.images < images; n++) {
        run_script(&d, seed + n, ops);
        relax(&d);
        cut_everywhere(&d, 7000);
        drive_fini(&d);
    }
    report();
    loop_free(loop);
    return 0;
}
