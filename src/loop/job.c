/* job.c: work for libuv's worker threads.
 *
 * Happy path: loop_job_submit() > on_work(), on a worker > on_done(), on the loop.
 * With loop_jobs_inline() both run on the loop, from a posted call.
 * Failure: none here; work() leaves its status where done() finds it. */
#include "loop_impl.h"

#include <assert.h>
#include <stdlib.h>

struct loop_job {
    uv_work_t uv;
    struct loop *loop;
    void (*work)(void *arg);
    void (*done)(void *arg);
    void *arg;
    bool submitted; /* the loop thread's */
};

struct loop_job *loop_job_new(struct loop *l, void (*work)(void *arg), void (*done)(void *arg),
                              void *arg)
{
    struct loop_job *j = calloc(1, sizeof *j);

    if (j == NULL)
        return NULL;
    j->uv.data = j;
    j->loop = l;
    j->work = work;
    j->done = done;
    j->arg = arg;
    return j;
}

static void on_done(uv_work_t *req, int status);
static void on_work(uv_work_t *req);

void loop_jobs_inline(struct loop *l)
{
    l->jobs_inline = true;
}

static void run_inline(void *arg)
{
    struct loop_job *j = arg;

    on_work(&j->uv);
    on_done(&j->uv, 0);
}

void loop_job_submit(struct loop_job *j)
{
    assert(!j->submitted);
    j->submitted = true;
    /* Without memory for the call a worker does it: the order is then another, the result not. */
    if (j->loop->jobs_inline && loop_post(j->loop, run_inline, j) == 0)
        return;
    int rc = uv_queue_work(&j->loop->uv, &j->uv, on_work, on_done);
    assert(rc == 0); /* fails only without a work function */
    (void)rc;
}

static void on_work(uv_work_t *req)
{
    struct loop_job *j = req->data;

    j->work(j->arg);
}

static void on_done(uv_work_t *req, int status)
{
    struct loop_job *j = req->data;

    (void)status; /* nobody cancels */
    j->submitted = false;
    j->done(j->arg); /* last: it may submit again, or free j */
}

void loop_job_free(struct loop_job *j)
{
    assert(j == NULL || !j->submitted);
    free(j);
}
