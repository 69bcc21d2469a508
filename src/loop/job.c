/* job.c: work for libuv's worker threads.
 *
 * Happy path: loop_job_submit() > on_work(), on a worker > on_done(), on the loop.
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

void loop_job_submit(struct loop_job *j)
{
    assert(!j->submitted);
    j->submitted = true;
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
