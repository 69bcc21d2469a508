/* shared_nth.c: the 1st, 2nd, 3rd... call to the disk of several stores and their commit journal
 * fails, or the 1st, 2nd, 3rd... allocation.
 *
 * Whatever fails: every waiter is called exactly once, nothing crashes or leaks, a store says so
 * if it can write no more, and what was acknowledged is there when all are opened again, whole
 * batches only, without damage; what was refused to a store that failed is not.
 *
 *     shared_nth [--seed=S] [--ops=N] [--rounds=N]     also SHARED_NTH_SEED, _OPS, _ROUNDS
 *     shared_nth --seed=S --plan=P [--nth=N]           one kind of fault, one place of it
 */
#include "support/shared_set.h"

#include "support/fault_io.h"
#include "support/must.h"
#define NO_MEMORY_SPARED must_allocating
#include "support/no_memory.h"
#include "support/store_compare.h"
#include "support/store_script.h"

#include <limits.h>

#define SECOND 1000000000ll
#define START  (1700000000 * SECOND)

struct plan {
    const char *name;
    struct fault_plan io; /* nth is filled in */
    bool memory;
    bool once; /* the way back works: what was refused does not exist */
};
static const struct plan plans[] = {
    {"I/O error once", {.code = MF_IO}, false, true},
    {"I/O error for ever", {.code = MF_IO, .forever = true}, false, false},
    {"disk full once",
     {.code = MF_FULL, .kinds = FAULT_CREATE | FAULT_WRITE | FAULT_TRUNCATE},
     false,
     false},
    {"half a write", {.code = MF_IO, .half = true, .kinds = FAULT_WRITE}, false, true},
    {"answer lost", {.code = MF_IO, .after = true, .kinds = FAULT_MUTATING}, false, false},
    {"failed sync", {.code = MF_IO, .kinds = FAULT_SYNC}, false, true},
    {"no memory once", {.code = 0}, true, false},
    {"no memory from then on", {.forever = true}, true, false},
};

static struct {
    uint64_t seed, ops, nth;
    const struct plan *plan;
    int store;
} at;

static struct {
    uint64_t runs, total, lost, entries, groups, recovered, refused;
} count;

static struct loop *loop;

static void where(FILE *to)
{
    fprintf(to, "shared_nth --seed=%llu --ops=%llu", (unsigned long long)at.seed,
            (unsigned long long)at.ops);
    if (at.plan != NULL)
        fprintf(to, " --plan=%d --nth=%llu   (%s), store %d", (int)(at.plan - plans),
                (unsigned long long)at.nth, at.plan->name, at.store);
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

/* All without a fault, in turns, so that groups meet in the journal. */
static void steps(struct shared_set *x, bool alive[SHARED_STORES])
{
    struct script p = {.keys = 12,
                       .live_max = 40,
                       .body_max = 5000,
                       .step_ns = SECOND,
                       .faults = true,
                       .no_reopen = true,
                       .rest = 0};
    struct script each[SHARED_STORES] = {p, p, p};
    struct pick pick = {at.seed * 31};

    for (uint64_t n = 0; n < at.ops; n++) {
        for (at.store = 0; at.store < SHARED_STORES; at.store++)
            if (alive[at.store])
                alive[at.store] = script_step(&x->d[at.store], &each[at.store]);
        unsigned turns = pick_below(&pick, 8);
        for (unsigned i = 0; i < turns; i++)
            loop_turn(loop);
        if (pick_chance(&pick, 6)) {
            int i = (int)pick_below(&pick, SHARED_STORES);
            if (alive[i])
                (void)drive_erase(&x->d[i], drive_pick_seq(&x->d[i]));
        }
    }
}

/* Up to here nobody was told that it failed; sweeps and markers have no waiter. */
static size_t not_refused(const struct model *m)
{
    size_t n = m->done;

    while (n < m->batches && !m->batch[n].waited)
        n++;
    return n;
}

static void revive(struct shared_set *x)
{
    static struct model_state state;

    shared_open(x);
    for (at.store = 0; at.store < SHARED_STORES; at.store++) {
        struct drive *d = &x->d[at.store];
        state_copy(&state, &d->model.committed);
        MUST(store_damage_count(d->store) == 0, "damage after a fault: %s at %llu: %s",
             store_damage(d->store, 0)->file, (unsigned long long)store_damage(d->store, 0)->offset,
             store_damage(d->store, 0)->what);
        compare_prefix(d->store, &d->model, &state, d->model.done,
                       at.plan->once ? not_refused(&d->model) : d->model.batches, d->now_ns);
        d->model.ops = d->model.batches = d->model.done = 0;
        state_copy(&d->model.accepted, &state);
        state_copy(&d->model.committed, &state);
        d->failed = 0;
        MUST(drive_append(d, "again", 1, 20, 0, 0) == 0, "append after the fault");
    }
    for (at.store = 0; at.store < SHARED_STORES; at.store++) {
        drive_idle(&x->d[at.store]);
        MUST(x->d[at.store].failed == 0, "append after the fault: %d", x->d[at.store].failed);
    }
    shared_close(x);
}

/* False: the fault was not met. */
static bool run(void)
{
    struct store_opts o[SHARED_STORES];
    bool alive[SHARED_STORES];
    struct store_io *files, *io;
    struct shared_set x;
    struct mf_error e;

    for (int i = 0; i < SHARED_STORES; i++)
        o[i] = (struct store_opts){
            .segment_min = 16u << 10, .segment_max = 16u << 10, .now_ns = START, .name = "nth"};
    MUST(store_io_memory(&files, &e) == 0 && fault_io_new(&io, files, &e) == 0, "%s", e.text);
    shared_init(&x, loop, io, o, at.seed);
    x.at = &at.store;
    x.sync_each = at.seed % 2 == 0 ? 1 : 0;
    for (int i = 0; i < SHARED_STORES; i++)
        x.d[i].failing = true;
    arm(io);
    int rc = shared_try_open(&x, &e);
    for (int i = 0; i < SHARED_STORES; i++)
        alive[i] = rc == 0 && x.d[i].store != NULL;
    if (rc == 0)
        steps(&x, alive);
    for (int i = 0; i < SHARED_STORES; i++) {
        at.store = i;
        if (x.d[i].store != NULL && x.d[i].failed != 0)
            MUST(store_error(x.d[i].store) != NULL, "a waiter got %d and the store says nothing",
                 x.d[i].failed);
        count.lost += !alive[i];
    }
    shared_close(&x);
    bool hit = disarm(io);
    revive(&x);
    count.entries += x.stats.entries;
    count.groups += x.stats.groups;
    count.recovered += x.stats.recovered;
    shared_fini(&x);
    count.runs++;
    return hit;
}

static void every_nth(const struct plan *plan)
{
    count.runs = count.lost = 0;
    at.plan = plan;
    for (at.nth = 1; run(); at.nth++)
        ;
    printf("seed %llu, %s: at each of %llu calls; stores lost: %llu\n", (unsigned long long)at.seed,
           plan->name, (unsigned long long)at.nth - 1, (unsigned long long)count.lost);
    count.total += count.runs;
    fflush(stdout);
}

int main(int argc, char **argv)
{
    uint64_t plan = must_number(argc, argv, "plan", NULL, UINT64_MAX);
    uint64_t rounds = must_number(argc, argv, "rounds", "SHARED_NTH_ROUNDS", 1);
    struct mf_error e;

    at.seed = must_number(argc, argv, "seed", "SHARED_NTH_SEED", 1);
    at.ops = must_number(argc, argv, "ops", "SHARED_NTH_OPS", 60);
    at.nth = must_number(argc, argv, "nth", NULL, 0);
    must_where = where;
    must_quiet();
    MUST(loop_new(&loop, &e) == 0, "%s", e.text);
    loop_jobs_inline(loop);
    if (at.nth > 0 && plan < MF_COUNT(plans)) {
        at.plan = &plans[plan];
        printf("%s\n", run() ? "the fault was met" : "the fault was not met");
    } else {
        for (; rounds > 0; rounds--, at.seed++)
            for (size_t i = 0; i < MF_COUNT(plans); i++)
                if (plan == UINT64_MAX || plan == i)
                    every_nth(&plans[i]);
        MUST(count.groups > 0 && count.recovered > 0, "the journal was not tried");
    }
    printf("shared_nth: %llu times %d stores, each time with a fault in another place; %llu "
           "entries with %llu groups, %llu parts written again\n",
           (unsigned long long)count.total, SHARED_STORES, (unsigned long long)count.entries,
           (unsigned long long)count.groups, (unsigned long long)count.recovered);
    loop_free(loop);
    return 0;
}
