/* twin.c: pieces of another history of the same store.
 *
 * A store is closed, its files are copied, and the two go on apart: the same calls of the same
 * lengths, with other bytes.  That is what the stale half of a mirror or a backup put back beside
 * newer files holds: records of the same store, segment and place, each of them valid.  Only the
 * chain tells them from the others (docs/disk-format.md).  Stretches of the one are laid over the
 * other, from record to record, up to a file's end, or as a whole file, with the checkpoint and
 * without it.  Each time the store opens, and after a scrub says where it is damaged, or that its
 * tail is torn, and `mayfly check` says so, too; or it shows what it showed before.
 *
 *     twin [--seed=S] [--splices=N]       also TWIN_SEED, TWIN_SPLICES
 *     twin --seed=S --splice=N            one of them */
#include "disk.h"

#include "support/must.h"
#include "support/store_compare.h"
#include "support/store_drive.h"
#include "support/store_script.h"

#include "store/log/record.h"
#include "store/recover/recover.h"

#include "base/rand.h"
#include "support/secret.h"

#define SECOND 1000000000ll
#define START  (1700000000 * SECOND)

/* What is laid over: bytes [from, to) of a file. */
struct splice {
    size_t file;
    uint64_t from, to;
    bool no_checkpoint;
};

static struct {
    uint64_t seed, number;
    const struct splice *splice;
} at;

static struct {
    uint64_t splices, damaged, torn, same, records;
} count;

static struct loop *loop;
static struct disk base, ours, twin;
static struct disk_span *spans;
static size_t spans_count;
static bool *differ;            /* by span: the twin has other bytes there */
static size_t differ_count;     /* how many do */
static struct model_state held; /* by the base */
static int64_t now_ns;
static uint64_t shown; /* compare_sum() of ours without a splice */

static void where(FILE *to)
{
    fprintf(to, "twin --seed=%llu --splice=%llu\n", (unsigned long long)at.seed,
            (unsigned long long)at.number);
    if (at.splice != NULL)
        fprintf(to, "  the twin's bytes in %s [%llu, %llu), %s checkpoint\n",
                ours.file[at.splice->file].name, (unsigned long long)at.splice->from,
                (unsigned long long)at.splice->to, at.splice->no_checkpoint ? "without" : "with");
}

/* --- the two histories ------------------------------------------------------------------------ */

static struct store_opts options(int64_t now)
{
    return (struct store_opts){
        .segment_min = 16u << 10, .segment_max = 16u << 10, .now_ns = now, .name = "twin"};
}

/* What both have in common. */
static void begin(void)
{
    struct store_opts o = options(START);
    struct script p = {.keys = 20,
                       .live_max = 60,
                       .body_max = 3000,
                       .step_ns = SECOND,
                       .no_reopen = true,
                       .rest = 40};
    struct store_io *io;
    struct mf_error e;
    struct drive d;

    MUST(store_io_memory(&io, &e) == 0, "%s", e.text);
    drive_init(&d, loop, io, &o, at.seed);
    drive_open(&d);
    for (int i = 0; i < 80; i++)
        script_step(&d, &p);
    drive_close(&d);
    disk_take(&base, io);
    state_copy(&held, &d.model.committed);
    now_ns = d.now_ns;
    drive_fini(&d);
}

/* One call.  All choices are by `shape`, the same for both; the bytes are by the drive's own. */
static void act(struct drive *d, struct pick *shape)
{
    char key[MODEL_KEY];
    uint32_t r = pick_below(shape, 100);
    uint64_t last = d->model.accepted.last_seq, back = pick_below(shape, 60);
    uint64_t seq = last > back ? last - back : 1;
    size_t length = pick_below(shape, pick_chance(shape, 10) ? 2500 : 150);
    int rc = 0;

    snprintf(key, sizeof key, "k.%u", pick_below(shape, 20));
    if (r < 60)
        rc = drive_append(d, key, pick_below(shape, 30), length, 0, 0);
    else if (r < 75)
        rc = drive_remove(d, seq);
    else if (r < 85)
        rc = drive_touch(d, seq, now_ns + 3600 * SECOND, 0);
    else if (r < 93)
        rc = drive_range(d, seq, seq + 3);
    else if (r < 98)
        rc = drive_blob(d, "blob", length);
    else
        rc = drive_checkpoint(d);
    MUST(rc == 0 || rc == MF_NOTFOUND, "a call: %d", rc);
}

/* Goes on from the base with bytes of its own. */
static void go_on(struct disk *out, uint64_t bytes_seed)
{
    struct store_opts o = options(now_ns);
    struct pick shape = {at.seed + 1000};
    struct store_io *io = disk_make(&base);
    struct drive d;

    drive_init(&d, loop, io, &o, bytes_seed);
    state_copy(&d.model.accepted, &held);
    state_copy(&d.model.committed, &held);
    drive_open(&d);
    for (int i = 0; i < 150; i++) {
        act(&d, &shape);
        if (pick_chance(&shape, 40))
            drive_idle(&d);
    }
    drive_close(&d);
    disk_take(out, io);
    drive_fini(&d);
}

/* Where a span lies in the twin, if it has a record of the same size there. */
static void compare_spans(void)
{
    size_t n;
    struct disk_span *other = disk_spans(&twin, &n);

    spans = disk_spans(&ours, &spans_count);
    differ = must_alloc(NULL, spans_count + 1, sizeof *differ);
    MUST(n == spans_count && ours.files == twin.files, "the two are not alike");
    for (size_t i = 0; i < n; i++) {
        const struct disk_span *s = &spans[i];
        MUST(strcmp(ours.file[s->file].name, twin.file[s->file].name) == 0 &&
                 s->file == other[i].file && s->offset == other[i].offset &&
                 s->size == other[i].size,
             "the two are not alike");
        differ[i] = memcmp(ours.file[s->file].bytes + s->offset,
                           twin.file[s->file].bytes + s->offset, (size_t)s->size) != 0;
        differ_count += differ[i];
    }
    disk_spans_free(other, n);
    MUST(differ_count > 50, "only %zu records differ", differ_count);
    count.records = differ_count;
}

/* --- one splice ------------------------------------------------------------------------------- */

/* By number.  False: nothing would differ, or all would be the twin's. */
static bool choose(struct splice *c)
{
    struct pick pick = {at.seed * 0x9E3779B97F4A7C15u + at.number};
    size_t i = pick_below(&pick, (uint32_t)spans_count);
    size_t n = 1 + pick_below(&pick, pick_chance(&pick, 50) ? 3 : 40), covered = 0;
    uint32_t way = pick_below(&pick, 100);
    uint64_t end = spans[i].offset;

    c->file = spans[i].file;
    c->from = way < 5 ? SEGMENT_PAGE : spans[i].offset;
    c->no_checkpoint = pick_chance(&pick, 50);
    for (size_t k = i; k < spans_count && spans[k].file == c->file && n > 0; k++, n--)
        end = spans[k].offset + spans[k].size;
    c->to = way < 15 ? ours.file[c->file].size : end;
    for (size_t k = 0; k < spans_count; k++)
        covered += differ[k] && spans[k].file == c->file && spans[k].offset >= c->from &&
                   spans[k].offset < c->to;
    return covered > 0 && covered < differ_count;
}

/* The seam is found where the other history begins or where it ends: behind it, or in the next
 * segment. */
static bool at_seam(const struct splice *c, const char *file, uint64_t offset, uint64_t length)
{
    uint64_t number, other;

    if (strcmp(file, ours.file[c->file].name) == 0)
        return offset <= c->to && offset + length >= c->from;
    return segment_number(ours.file[c->file].name, &number) && segment_number(file, &other) &&
           other == number + 1 && offset == SEGMENT_PAGE;
}

static bool reported(struct store *s, const struct splice *c)
{
    struct store_stats stats;
    bool any = false;

    store_stats(s, &stats);
    for (size_t i = 0; i < store_damage_count(s); i++) {
        const struct store_damage *x = store_damage(s, i);
        any |= at_seam(c, x->file, x->offset, x->length);
    }
    count.damaged += any;
    count.torn += stats.torn_tail;
    return any ||
           (stats.torn_tail && at_seam(c, stats.torn.file, stats.torn.offset, stats.torn.length));
}

static void check_reports(void)
{
    struct check_source src = disk_source(&ours);
    struct check_opts o = {.now_ns = now_ns, .key = test_key()};
    struct check_result r;
    struct mf_error e;

    MUST(check_files(&src, &o, &r, &e) == 0, "mayfly check: %s", e.text);
    MUST(r.damage_count > 0 || r.torn, "mayfly check takes two histories for one");
    check_result_fini(&r);
}

static void try_disk(const struct splice *c)
{
    struct store_opts o = options(now_ns);
    uint8_t *bytes = ours.file[c->file].bytes + c->from;
    size_t n = (size_t)(c->to - c->from);
    uint8_t *saved = must_alloc(NULL, n, 1);
    struct drive d;

    at.splice = c;
    memcpy(saved, bytes, n);
    memcpy(bytes, twin.file[c->file].bytes + c->from, n);
    ours.without = c->no_checkpoint ? "checkpoint" : NULL;
    drive_init(&d, loop, disk_make(&ours), &o, 1);
    drive_open(&d);
    MUST(drive_scrub(&d) == 0, "scrub");
    drive_idle(&d);
    if (reported(d.store, c)) {
        check_reports();
    } else {
        MUST(compare_sum(d.store) == shown, "the store takes two histories for one");
        count.same++;
    }
    drive_fini(&d);
    memcpy(bytes, saved, n);
    free(saved);
    count.splices++;
    at.splice = NULL;
}

/* Without a splice nothing is wrong with either. */
static uint64_t undamaged(struct disk *x)
{
    struct store_opts o = options(now_ns);
    struct store_stats stats;
    struct drive d;

    drive_init(&d, loop, disk_make(x), &o, 1);
    drive_open(&d);
    MUST(drive_scrub(&d) == 0, "scrub");
    drive_idle(&d);
    store_stats(d.store, &stats);
    MUST(store_damage_count(d.store) == 0 && !stats.torn_tail, "damage without a splice");
    uint64_t sum = compare_sum(d.store);
    drive_fini(&d);
    return sum;
}

int main(int argc, char **argv)
{
    uint64_t splices = must_number(argc, argv, "splices", "TWIN_SPLICES", 400);
    uint64_t only = must_number(argc, argv, "splice", NULL, UINT64_MAX);
    struct splice c;
    struct mf_error e;

    at.seed = must_number(argc, argv, "seed", "TWIN_SEED", 1);
    must_where = where;
    must_quiet();
    printf("seed %llu\n", (unsigned long long)at.seed);
    MUST(loop_new(&loop, &e) == 0, "%s", e.text);
    loop_jobs_inline(loop);
    begin();
    go_on(&ours, at.seed + 2000);
    go_on(&twin, at.seed + 3000);
    compare_spans();
    shown = undamaged(&ours);
    MUST(undamaged(&twin) != shown, "the twin holds the same");
    for (at.number = only == UINT64_MAX ? 0 : only;
         only == UINT64_MAX ? count.splices < splices : at.number == only; at.number++)
        if (choose(&c))
            try_disk(&c);
    printf("twin: %llu splices of two histories that differ in %llu records; %llu reported as "
           "damage, %llu with a torn tail, %llu answered as before\n",
           (unsigned long long)count.splices, (unsigned long long)count.records,
           (unsigned long long)count.damaged, (unsigned long long)count.torn,
           (unsigned long long)count.same);
    disk_free(&base);
    disk_free(&ours);
    disk_free(&twin);
    disk_spans_free(spans, spans_count);
    free(differ);
    state_fini(&held);
    loop_free(loop);
    return 0;
}
