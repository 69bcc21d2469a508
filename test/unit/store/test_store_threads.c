/* test_store_threads.c: stores in real directories on a loop with real worker threads: commits,
 * checkpoints, cleaning, scrubs and cold reads at the same time.  For the thread sanitizer; what is
 * stored is compared with the model too.  More with STORE_THREADS_STEPS. */
#include "store/io/io_dir.h"

#include "support/fault_io.h"
#include "support/must.h"
#include "support/store_compare.h"
#include "support/store_drive.h"
#include "support/store_script.h"

#include "unity.h"

#include <stdlib.h>

#define STORES 3
#define SECOND 1000000000ll

static struct loop *loop;
static struct drive d[STORES];
static struct script p[STORES];
static char dir[STORES][40];

void setUp(void)
{
    TEST_ASSERT_EQUAL_INT(0, loop_new(&loop, NULL));
    io_fd_keep(2); /* files are opened again and again */
    for (int i = 0; i < STORES; i++) {
        struct store_opts o = {.now_ns = 1700000000 * SECOND, .name = dir[i]};
        struct store_io *files, *io;
        o.segment_min = 16u << 10;
        o.segment_max = i == 0 ? 16u << 10 : 256u << 10;
        if (i == 1) {
            o.sync = STORE_SYNC_INTERVAL;
            o.sync_interval_ns = SECOND / 500;
        }
        snprintf(dir[i], sizeof dir[i], "/tmp/mayfly-test-XXXXXX");
        TEST_ASSERT_NOT_NULL(mkdtemp(dir[i]));
        TEST_ASSERT_EQUAL_INT(0, store_io_dir(&files, dir[i], NULL));
        TEST_ASSERT_EQUAL_INT(0, fault_io_new(&io, files, NULL));
        fault_io_cold(io, i == 2); /* never in memory: every body comes from a worker */
        drive_init(&d[i], loop, io, &o, 100 + (uint64_t)i);
        d[i].silent = 10;
        p[i] = (struct script){.keys = 40,
                               .live_max = 400,
                               .body_max = 60000,
                               .step_ns = SECOND,
                               .no_reopen = true,
                               .rest = 2};
        drive_open(&d[i]);
    }
}

void tearDown(void)
{
    char command[64];

    for (int i = 0; i < STORES; i++) {
        drive_close(&d[i]); /* a job may be running */
        drive_fini(&d[i]);
        snprintf(command, sizeof command, "rm -r %.40s", dir[i]);
        TEST_ASSERT_EQUAL_INT(0, system(command));
    }
    loop_free(loop);
}

static void compare(struct drive *x)
{
    fault_io_cold(x->io, false);
    compare_all(x->store, &x->model.committed, x->now_ns);
}

/* Three stores share the loop and the workers; each must end with exactly what its model says, and
 * again when opened anew. */
static void test_stores_with_workers_keep_what_their_models_say(void)
{
    uint64_t steps = must_number(0, NULL, "", "STORE_THREADS_STEPS", 1500);

    for (uint64_t n = 0; n < steps; n++)
        for (int i = 0; i < STORES; i++) {
            script_step(&d[i], &p[i]);
            uint64_t seq = drive_pick_seq(&d[i]);
            int rc = seq == 0 ? MF_NOTFOUND : drive_read(&d[i], seq);
            TEST_ASSERT_TRUE(rc == 0 || rc == MF_NOTFOUND);
        }
    for (int i = 0; i < STORES; i++) {
        struct store_stats stats;
        drive_idle(&d[i]);
        compare(&d[i]);
        store_stats(d[i].store, &stats);
        TEST_ASSERT_GREATER_THAN_UINT64(0, stats.checkpoints);
        printf("store %d: ", i);
        script_print(&p[i], stdout);
        printf("; %llu groups, %llu syncs, %llu segments given up\n",
               (unsigned long long)stats.groups, (unsigned long long)stats.syncs,
               (unsigned long long)stats.segments_freed);
        drive_close(&d[i]);
        drive_open(&d[i]);
        TEST_ASSERT_EQUAL_size_t(0, store_damage_count(d[i].store));
        compare(&d[i]);
    }
}

/* Closing while everything is under way: what was accepted is there afterwards. */
static void test_closing_in_the_middle_of_it_keeps_what_was_accepted(void)
{
    for (int round = 0; round < 4; round++) {
        for (uint64_t n = 0; n < 60; n++)
            for (int i = 0; i < STORES; i++)
                script_step(&d[i], &p[i]);
        for (int i = 0; i < STORES; i++) {
            TEST_ASSERT_EQUAL_INT(0, drive_checkpoint(&d[i]));
            drive_close(&d[i]);
            drive_open(&d[i]);
            compare(&d[i]);
        }
    }
}

/* Recovery runs on any thread. */
static int open_rc;
static void open_work(void *arg)
{
    struct drive *x = arg;
    struct mf_error e;

    open_rc = store_open(&x->store, &x->opts, x->io, &e);
}
static void open_done(void *arg)
{
    (void)arg;
    loop_stop(loop);
}
static void test_a_store_may_be_opened_on_a_worker(void)
{
    struct drive *x = &d[0];
    struct loop_job *job = loop_job_new(loop, LOOP_UPKEEP, open_work, open_done, x);

    for (int i = 0; i < 50; i++)
        TEST_ASSERT_EQUAL_INT(0, drive_append(x, "k", 0, 300, 0, 0));
    drive_close(x);
    loop_job_submit(job);
    loop_run(loop);
    loop_job_free(job);
    TEST_ASSERT_EQUAL_INT(0, open_rc);
    TEST_ASSERT_EQUAL_INT(0, store_attach(x->store, loop, NULL));
    compare(x);
    TEST_ASSERT_EQUAL_INT(0, drive_append(x, "k", 0, 300, 0, 0));
    drive_idle(x);
}

int main(void)
{
    must_quiet();
    UNITY_BEGIN();
    RUN_TEST(test_stores_with_workers_keep_what_their_models_say);
    RUN_TEST(test_closing_in_the_middle_of_it_keeps_what_was_accepted);
    RUN_TEST(test_a_store_may_be_opened_on_a_worker);
    return UNITY_END();
}
