/* dir_walk.c: the first reading of a directory of JWTs, and walks over all of it: lists, packs.
 *
 * A walk takes accounts from the index in time slices; texts are read by a worker, a batch at a
 * time. */
#include "operator/dir_impl.h"

#include "base/array.h"
#include "base/log.h"
#include "operator/token_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define WALK_READ 64 /* texts that are read at a time */

struct dir_walk {
    struct dir_resolver *d;
    struct resolver_walk *q; /* NULL: cancelled */
    struct table_scan scan;
    struct work_task task;
    struct loop_job *job;
    int64_t now_s;
    struct walked {
        char account[NKEY_TEXT];
        struct mf_buf text;
    } * found;
    size_t nfound, cap, from, to; /* [from, to) is read */
    bool all, reading;
    int rc;
};

/* --- the first reading ------------------------------------------------------------------------ */

static void scan_work(void *arg)
{
    struct dir_resolver *d = arg;
    struct dirent *entry;
    struct mf_buf text = {0};
    struct mf_error e;

    d->nseen = 0;
    while (d->nseen < DIR_BATCH) {
        struct dir_seen *s = &d->seen[d->nseen];
        struct token_times t;
        entry = readdir(d->dir); /* NOLINT(concurrency-mt-unsafe): this stream has one reader */
        d->scan_ended = entry == NULL;
        if (entry == NULL)
            break;
        if (!dir_file_account(entry->d_name, s->account)) {
            size_t n = strlen(entry->d_name);
            d->nforeign += n > 4 && strcmp(entry->d_name + n - 4, DIR_SUFFIX) == 0;
            continue;
        }
        mf_buf_clear(&text);
        if (dir_file_read(d->fd, s->account, &text, &e) != 0 ||
            token_peek(mf_buf_slice(&text), &t) != 0) {
            d->nforeign++;
            continue;
        }
        dir_hash(mf_buf_slice(&text), s->hash);
        s->exp = t.exp;
        d->nseen++;
    }
    mf_buf_fini(&text);
}

static void scan_done(void *arg)
{
    struct dir_resolver *d = arg;
    int rc = 0;

    for (size_t i = 0; i < d->nseen && rc == 0; i++)
        rc = dir_index_put(&d->index, d->seen[i].account, d->seen[i].hash, d->seen[i].exp,
                           dir_now_s(d));
    if (rc != 0)
        log_error("resolver directory %s: out of memory: it is not known completely", d->path);
    if (dir_job_ended(d))
        return;
    if (!d->scan_ended && rc == 0 && !d->closing) {
        dir_job_start(d, d->scanner);
        return;
    }
    if (d->nforeign > 0)
        log_warn("resolver directory %s: %zu files are no JWTs of the accounts that they are named "
                 "after, and are not used",
                 d->path, d->nforeign);
    dir_scan_stop(d);
    free(d->seen);
    d->seen = NULL;
    d->scanned = true;
    dir_change_run(d);
    dir_walk_run(d);
}

int dir_scan_start(struct dir_resolver *d, struct mf_error *e)
{
    int fd = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    d->dir = fd < 0 ? NULL : fdopendir(fd);
    if (d->dir == NULL) {
        int rc = mf_fail_errno(e, MF_IO, "read resolver directory %s", d->path);
        if (fd >= 0)
            close(fd);
        return rc;
    }
    d->scanner = loop_job_new(d->r.loop, LOOP_UPKEEP, scan_work, scan_done, d);
    if (d->scanner == NULL)
        return mf_fail(e, MF_NOMEM, "resolver");
    dir_job_start(d, d->scanner);
    return 0;
}

void dir_scan_stop(struct dir_resolver *d)
{
    if (d->dir != NULL)
        (void)closedir(d->dir);
    d->dir = NULL;
    loop_job_free(d->scanner);
    d->scanner = NULL;
}

/* --- walks ------------------------------------------------------------------------------------ */

static void walk_free(struct dir_walk *w)
{
    for (size_t i = 0; i < w->nfound; i++)
        mf_buf_fini(&w->found[i].text);
    free(w->found);
    loop_job_free(w->job);
    w->d->walk = NULL;
    free(w);
}

static void walk_end(struct dir_walk *w)
{
    struct resolver_walk *q = w->q;
    struct dir_resolver *d = w->d;
    int rc = w->rc;

    walk_free(w);
    if (q != NULL) {
        q->state = NULL;
        q->resolver = NULL;
        q->done(q, rc);
    }
    dir_walk_run(d);
}

static void collect_account(void *arg, struct table_node *n)
{
    struct dir_walk *w = arg;
    const struct dir_entry *x = mf_container(n, struct dir_entry, node);
    char account[NKEY_TEXT];

    if (x->exp > 0 && x->exp < w->now_s)
        return;
    dir_entry_account(x, account);
    if (w->q->jwt == NULL) {
        w->q->account(w->q, account);
        return;
    }
    if (mf_array_reserve(&w->found, &w->cap, w->nfound + 1, sizeof *w->found) != 0) {
        w->rc = MF_NOMEM;
        return;
    }
    w->found[w->nfound] = (struct walked){0};
    memcpy(w->found[w->nfound++].account, account, sizeof account);
}

static bool walk_slice(struct work_task *t)
{
    struct dir_walk *w = mf_container(t, struct dir_walk, task);

    do
        w->all = !table_scan(&w->d->index.table, &w->scan, collect_account, w);
    while (!w->all && w->rc == 0 && w->nfound < WALK_READ && !work_spent(w->d->r.loop));
    if (!w->all && w->rc == 0 && w->nfound < WALK_READ)
        return true;
    if (w->nfound > 0 && w->rc == 0) {
        w->reading = true;
        dir_job_start(w->d, w->job);
    } else {
        walk_end(w);
    }
    return false;
}

static void walk_work(void *arg)
{
    struct dir_walk *w = arg;
    struct mf_error e;

    for (size_t i = 0; i < w->nfound; i++)
        if (dir_file_read(w->d->fd, w->found[i].account, &w->found[i].text, &e) != 0)
            mf_buf_clear(&w->found[i].text); /* removed meanwhile */
}

static void walk_done(void *arg)
{
    struct dir_walk *w = arg;
    struct dir_resolver *d = w->d;
    bool dead = d->closing;

    w->reading = false;
    for (size_t i = 0; i < w->nfound; i++) {
        if (w->q != NULL && !dead && w->found[i].text.len > 0)
            w->q->jwt(w->q, w->found[i].account, mf_buf_slice(&w->found[i].text));
        mf_buf_fini(&w->found[i].text);
    }
    w->nfound = 0;
    if (w->q == NULL || dead) {
        walk_free(w);
        if (!dir_job_ended(d))
            dir_walk_run(d);
        return;
    }
    (void)dir_job_ended(d);
    if (w->all)
        walk_end(w);
    else
        work_add(d->r.loop, &d->walkers, &w->task);
}

void dir_walk_run(struct dir_resolver *d)
{
    struct dir_walk *w;
    struct mf_list *n;

    if (d->walk != NULL || !d->scanned || d->closing || (n = mf_list_pop(&d->walks)) == NULL)
        return;
    struct resolver_walk *q = mf_container(n, struct resolver_walk, link);
    w = calloc(1, sizeof *w);
    if (w != NULL) {
        w->d = d;
        w->q = q;
        w->job = loop_job_new(d->r.loop, LOOP_UPKEEP, walk_work, walk_done, w);
    }
    if (w == NULL || w->job == NULL) {
        free(w);
        q->resolver = NULL;
        q->done(q, MF_NOMEM);
        return;
    }
    q->state = w;
    w->now_s = dir_now_s(d);
    w->task = (struct work_task){.run = walk_slice, .cause = WORK_PAGE, .what = "account JWTs"};
    table_scan_begin(&w->scan, &d->index.table);
    d->walk = w;
    work_add(d->r.loop, &d->walkers, &w->task);
}

void dir_walk(struct resolver *r, struct resolver_walk *q)
{
    struct dir_resolver *d = (struct dir_resolver *)r;

    mf_list_push(&d->walks, &q->link);
    dir_walk_run(d);
}

void dir_walk_cancel(struct resolver_walk *q)
{
    struct dir_walk *w = q->state;
    struct dir_resolver *d = (struct dir_resolver *)q->resolver;

    mf_list_del(&q->link);
    if (w == NULL)
        return;
    w->q = NULL;
    if (w->reading)
        return;
    work_cancel(d->r.loop, &w->task);
    walk_free(w);
    dir_walk_run(d);
}
