/* nth.c: the 1st, 2nd, 3rd... call to the disk fails, or the 1st, 2nd, 3rd... allocation; and a
 * disk that is full for a while.
 *
 * Whatever fails: every waiter is called exactly once, nothing crashes or leaks, the store says so
 * (store_error()) if it can write no more, another store on the same loop goes on, and what was
 * acknowledged is there when it is opened again, whole batches only.
 *
 *     nth [--seed=S] [--ops=N] [--rounds=N]     also NTH_SEED, NTH_OPS, NTH_ROUNDS: scripts, by
 * seed nth --seed=S --plan=P [--nth=N]           one kind of fault, one place of it (Linked with
 * --wrap for the allocator.) */
#include "support/fault_io.h"
#include "support/must.h"
#define NO_MEMORY_SPARED must_allocating
#include "support/no_memory.h"
#include "support/store_compare.h"
#include "support/store_drive.h"
#include "support/store_script.h"

#include "base/rand.h"

#include <limits.h>

#define SECOND 1000000000ll
#define START  (1700000000 * SECOND)

/* --- what fails ------------------------------------------------------------------------------- */

struct plan {
    const char *name;
    struct fault_plan io; /* nth is filled in */
    bool memory;
};
static const struct plan plans[] = {
    {"I/O error once", {.code = MF_IO}, false},
    {"I/O error for ever", {.code = MF_IO, .forever = true}, false},
    {"disk full once",
     {.code = MF_FULL, .kinds = FAULT_CREATE | FAULT_WRITE | FAULT_TRUNCATE},
     false},
    {"half a write", {.code = MF_IO, .half = true, .kinds = FAULT_WRITE}, false},
    {"answer lost", {.code = MF_IO, .after = true, .kinds = FAULT_MUTATING}, false},
    {"no memory once", {.code = 0}, true},
    {"no memory from then on", {.forever = true}, true},
};

static struct {
    uint64_t seed, ops, nth;
    const struct plan *plan;
} at;

static struct {
    uint64_t runs[MF_COUNT(plans)], lost[MF_COUNT(plans)], total;
} count;

static struct loop *loop;

static void where(FILE *to)
{
    fprintf(to, "nth --seed=%llu --ops=%llu", (unsigned long long)at.seed,
            (unsigned long long)at.ops);
    if (at.plan != NULL)
        fprintf(to, " --plan=%d --nth=%llu   (%s)", (int)(at.plan - plans),
                (unsigned long long)at.nth, at.plan->name);
    fputc('\n', to);
}

static void arm(struct store_io *io)
{
    struct fault_plan p = at.plan->io;

    p.nth = at.nth;
    memory_also = at.plan->io.forever ? LONG_MAX : 0;
    if (at.plan->memory)
        memory_arm((long)at.nth - 1);
    else
        fault_io_arm(io, &p);
}

static bool disarm(struct store_io *io)
{
    memory_disarm();
    fault_io_disarm(io);
    return at.plan->memory ? memory_hit : fault_io_hit(io);
}

/* --- one run ---------------------------------------------------------------------------------- */

static struct store_io *files(void)
{
    struct store_io *memory_files, *io;
    struct mf_error e;

    MUST(store_io_memory(&memory_files, &e) == 0 && fault_io_new(&io, memory_files, &e) == 0, "%s",
         e.text);
    return io;
}

static struct store_opts options(const char *name)
{
    return (struct store_opts){
        .segment_min = 16u << 10, .segment_max = 16u << 10, .now_ns = START, .name = name};
}

/* The neighbour must not notice; memory, though, is everybody's. */
static void neighbour_lives(struct drive *n)
{
    MUST(drive_append(n, "n", 0, 30, 0, 0) == 0, "the other store refuses");
    drive_idle(n);
    MUST(n->failed == 0 && store_error(n->store) == NULL, "the other store fails too");
}

/* Closing may find the fault too: what waits is told, and it ends all the same. */
static void end_life(struct drive *d)
{
    if (d->store != NULL)
        drive_close(d);
}

static void revive(struct drive *d)
{
    static struct model_state state;
    struct mf_error e = {0};
    int rc;

    state_copy(&state, &d->model.committed);
    rc = drive_try_open(d, &e);
    MUST(rc == 0, "opening after the fault: %d: %s", rc, e.text);
    MUST(store_damage_count(d->store) == 0, "damage after a fault: %s at %llu: %s",
         store_damage(d->store, 0)->file, (unsigned long long)store_damage(d->store, 0)->offset,
         store_damage(d->store, 0)->what);
    compare_prefix(d->store, &d->model, &state, d->model.done, d->model.batches, d->now_ns);
    MUST(store_error(d->store) == NULL, "%s", store_error(d->store));
    /* And it takes writes again. */
    d->model.ops = d->model.batches = d->model.done = 0;
    state_copy(&d->model.accepted, &state);
    state_copy(&d->model.committed, &state);
    d->failed = 0;
    MUST(drive_append(d, "again", 1, 20, 0, 0) == 0, "append after the fault");
    drive_idle(d);
    MUST(d->failed == 0, "append after the fault: %d", d->failed);
    drive_close(d);
}

/* False: the fault was not met. */
static bool run(struct drive *neighbour)
{
    struct store_opts o = options("nth");
    struct script p = {.keys = 12,
                       .live_max = 60,
                       .body_max = 18000,
                       .step_ns = SECOND,
                       .faults = true,
                       .rest = 45};
    struct store_io *io = files();
    struct mf_error e;
    struct drive d;

    drive_init(&d, loop, io, &o, at.seed);
    d.failing = true;
    arm(io);
    bool alive = drive_try_open(&d, &e) == 0;
    while (alive && p.steps < at.ops) {
        alive = script_step(&d, &p);
        if (alive && p.steps % 3 == 0)
            drive_turn(&d);
        if (p.steps % 32 == 0 && !at.plan->memory)
            neighbour_lives(neighbour);
    }
    if (d.store != NULL && d.failed != 0)
        MUST(store_error(d.store) != NULL, "a waiter got %d and the store says nothing", d.failed);
    count.lost[at.plan - plans] += !alive;
    end_life(&d);
    bool hit = disarm(io);
    /* The waiters were told before the neighbour was asked: it goes on in any case. */
    neighbour_lives(neighbour);
    revive(&d);
    drive_fini(&d);
    count.runs[at.plan - plans]++;
    return hit;
}

/* --- a full disk ------------------------------------------------------------------------------ */

static bool takes_writes(void *arg)
{
    struct drive *d = arg;

    return !store_full(d->store);
}

/* Appends until refused. */
static void fill(struct drive *d)
{
    for (int i = 0; i < 100000; i++) {
        char key[MODEL_KEY];
        snprintf(key, sizeof key, "k.%d", i % 50);
        int rc = drive_append(d, key, 0, 300, d->now_ns + SECOND + i, 0);
        if (rc == MF_FULL)
            return;
        MUST(rc == 0, "append: %d", rc);
        if (i % 4 == 0)
            drive_turn(d);
    }
    MUST(false, "100,000 messages fit on a disk of 200 KB");
}

static bool nothing_waits(void *arg)
{
    return ((struct drive *)arg)->waiting == 0;
}

static void full_disk(bool markers)
{
    struct store_opts o = options("full");
    struct store_io *io = files();
    struct drive d;
    bool more = true;
    size_t deaths = 0;

    drive_init(&d, loop, io, &o, at.seed);
    drive_open(&d);
    fault_io_budget(io, 200 * 1000);
    fill(&d);
    MUST(store_full(d.store) && store_error(d.store) == NULL, "refused, but not full");
    drive_until(&d, nothing_waits, &d, "what was accepted, on a full disk");
    MUST(d.failed == 0, "accepted and then %d", d.failed);

    /* Removing and expiring goes on, with markers too, and the space comes back by itself. */
    for (int i = 0; i < 40; i++)
        MUST(drive_remove(&d, drive_pick_seq(&d)) == 0, "a removal on a full disk");
    drive_until(&d, nothing_waits, &d, "removals on a full disk");
    drive_time(&d, d.now_ns + 3600 * SECOND);
    d.marker_percent = markers ? 100 : 0;
    /* A death whose marker finds no room waits, out of sight, for the space of those before it. */
    for (int idle = 0; more || state_due(&d.model.accepted, d.now_ns) != NULL;) {
        size_t n = drive_expire(&d, 5, &more);
        idle = n > 0 ? 0 : idle + 1;
        MUST(idle < 50, "expiry on a full disk stands still after %zu deaths: %d", deaths,
             d.refused);
        deaths += n;
        drive_until(&d, nothing_waits, &d, "markers on a full disk");
        for (int i = 0; i < 50; i++)
            drive_turn(&d);
    }
    MUST(deaths > 100 && state_due(&d.model.accepted, d.now_ns) == NULL, "%zu expired", deaths);
    drive_until(&d, nothing_waits, &d, "expiry on a full disk");
    MUST(d.failed == 0 && store_error(d.store) == NULL, "expiry on a full disk: %d", d.failed);
    if (!markers)
        drive_until(&d, takes_writes, &d, "space after everything expired");
    fault_io_budget(io, UINT64_MAX);
    drive_until(&d, takes_writes, &d, "space that came back");
    MUST(drive_append(&d, "again", 0, 100, 0, 0) == 0, "append when there is space");
    drive_idle(&d);
    compare_all(d.store, &d.model.committed, d.now_ns);
    drive_close(&d);
    drive_open(&d);
    compare_all(d.store, &d.model.committed, d.now_ns);
    drive_close(&d);
    drive_fini(&d);
    printf("full disk, %s: %zu expired, all acknowledged kept, writes again when there was space\n",
           markers ? "with markers" : "no markers", deaths);
}

/* ---------------------------------------------------------------------------------------------- */

static void every_nth(struct drive *neighbour, const struct plan *plan)
{
    at.plan = plan;
    for (at.nth = 1; run(neighbour); at.nth++)
        ;
    printf("seed %llu, %s: at each of %llu calls; the store was lost in %llu\n",
           (unsigned long long)at.seed, plan->name, (unsigned long long)at.nth - 1,
           (unsigned long long)count.lost[plan - plans]);
    count.total += count.runs[plan - plans];
    count.runs[plan - plans] = count.lost[plan - plans] = 0;
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct store_opts o = options("neighbour");
    uint64_t plan = must_number(argc, argv, "plan", NULL, UINT64_MAX);
    uint64_t rounds = must_number(argc, argv, "rounds", "NTH_ROUNDS", 1);
    struct drive neighbour;
    struct mf_error e;

    at.seed = must_number(argc, argv, "seed", "NTH_SEED", 1);
    at.ops = must_number(argc, argv, "ops", "NTH_OPS", 300);
    at.nth = must_number(argc, argv, "nth", NULL, 0);
    must_where = where;
    must_quiet();
    printf("seed %llu\n", (unsigned long long)at.seed);
    fflush(stdout);
    MUST(loop_new(&loop, &e) == 0, "%s", e.text);
    loop_jobs_inline(loop);
    drive_init(&neighbour, loop, files(), &o, 7);
    drive_open(&neighbour);
    if (at.nth > 0 && plan < MF_COUNT(plans)) {
        at.plan = &plans[plan];
        printf("%s\n", run(&neighbour) ? "the fault was met" : "the fault was not met");
    } else {
        if (plan >= MF_COUNT(plans)) {
            full_disk(false);
            full_disk(true);
        }
        for (; rounds > 0; rounds--, at.seed++)
            for (size_t i = 0; i < MF_COUNT(plans); i++)
                if (plan == UINT64_MAX || plan == i)
                    every_nth(&neighbour, &plans[i]);
    }
    printf("nth: %llu stores, each with a fault in another place\n",
           (unsigned long long)count.total);
    drive_close(&neighbour);
    drive_fini(&neighbour);
    loop_free(loop);
    return 0;
}
