/* journal.c: commit groups of several stores in one entry.
 *
 * Happy path: commit_start() > share_take() > at the end of the turn journal_start(): the groups
 * that are ready become one entry > journal_work(), on a worker: one write, one sync; then the same
 * bytes into the segments, unsynced > journal_done() > commit_done() of each store.  Groups that
 * get ready meanwhile form the next entry.  One group alone takes the direct path.
 * Failure: after a failed write or sync of the journal no group goes in any more until the next
 * start.  The entry is wiped; after a failed write its groups take the direct path, after a
 * failed sync their stores turn read-only, as after one of their own.  A group that is in the
 * journal and not in its segment fails as any other, and is wiped in the journal.
 * Close: when every store has left. */
#include "store/journal/journal_impl.h"

#include "base/array.h"
#include "base/log.h"
#include "store/io/wipe.h"

#include <assert.h>
#include <stdlib.h>

#define MANY 8

static struct store *store_of(struct mf_list *n)
{
    return mf_container(n, struct store, share.node);
}

/* --- which groups ----------------------------------------------------------------------------- */

/* Segments that are new need more than a write: the direct path makes them. */
static uint32_t entry_bytes(const struct store *s)
{
    const struct image *im = &s->commit.image;
    size_t path = strlen(s->share.path), sum = JOURNAL_HEAD;

    if (!im->sync || im->buf.len == 0 || im->buf.len > JOURNAL_GROUP_MAX)
        return 0;
    for (size_t i = 0; i < im->extents; i++) {
        if (im->extent[i].len > 0 && !im->extent[i].made)
            return 0;
        if (im->extent[i].len > 0)
            sum += journal_part_size(path, im->extent[i].len);
    }
    return (uint32_t)sum;
}

bool share_take(struct store *s)
{
    struct store_journal *j = s->share.journal;

    if (j == NULL || j->out || s->close.begun || (s->share.entry_bytes = entry_bytes(s)) == 0)
        return false;
    mf_list_push(&j->waiting, &s->share.node);
    loop_defer(j->loop, &j->defer);
    return true;
}

static void go_direct(struct mf_list *list)
{
    struct mf_list *n;

    while ((n = mf_list_pop(list)) != NULL)
        loop_job_submit(store_of(n)->commit.job);
}

/* As many as fit into one entry, in their order. */
static uint64_t choose_groups(struct store_journal *j)
{
    uint64_t sum = 0;

    while (!mf_list_empty(&j->waiting)) {
        struct mf_list *n = mf_list_first(&j->waiting);
        uint64_t more = store_of(n)->share.entry_bytes;
        if (sum + more > JOURNAL_ENTRY_MAX)
            break;
        sum += more;
        mf_list_del(n);
        mf_list_push(&j->in_flight, n);
    }
    return sum;
}

static void journal_start(struct loop_defer *d)
{
    struct store_journal *j = mf_container(d, struct store_journal, defer);
    struct mf_list *first = mf_list_first(&j->waiting);

    if (j->running || first == NULL)
        return;
    if (first->next == &j->waiting || j->out) {
        go_direct(&j->waiting);
        return;
    }
    uint64_t sum = choose_groups(j);
    j->into = journal_files_room(j, sum);
    journal_files_kick(j);
    if (j->into == NULL) {
        mf_list_move(&j->in_flight, &j->waiting);
        struct mf_list *n;
        mf_list_each(n, &j->in_flight) j->stats.turned_away++;
        go_direct(&j->in_flight);
        return;
    }
    j->running = true;
    loop_job_submit(j->job);
}

/* --- on the worker ---------------------------------------------------------------------------- */

static int add_parts(struct store_journal *j, const struct store *s)
{
    const struct image *im = &s->commit.image;

    for (size_t i = 0; i < im->extents; i++) {
        const struct extent *x = &im->extent[i];
        if (x->len == 0)
            continue;
        if (mf_array_reserve(&j->part, &j->part_cap, j->parts + 1, sizeof *j->part) != 0)
            return MF_NOMEM;
        struct journal_part *p = &j->part[j->parts++];
        *p = (struct journal_part){.segment = x->number,
                                   .offset = x->offset,
                                   .len = (uint32_t)x->len,
                                   .path = s->share.path,
                                   .path_len = strlen(s->share.path),
                                   .bytes = im->buf.ptr + x->at};
        memcpy(p->id, s->id, STORE_ID);
    }
    return 0;
}

static int write_entry(struct store_journal *j)
{
    struct mf_list *n;
    int rc = 0;

    mf_buf_clear(&j->entry);
    j->parts = 0;
    mf_list_each(n, &j->in_flight)
    {
        commit_finish(&store_of(n)->commit.image);
        if (rc == 0)
            rc = add_parts(j, store_of(n));
    }
    if (rc == 0)
        rc = journal_entry_encode(&j->entry, j->part, j->parts, j->into->head.key, j->into->end);
    if (rc != 0)
        return mf_fail(&j->error, rc, "an entry of the commit journal");
    return j->io->pwrite(j->io, j->into->file, j->entry.ptr, j->entry.len, j->into->end, &j->error);
}

/* A part of it may be on disk, or all. */
static void wipe_entry(struct store_journal *j)
{
    bool changed = false;
    struct mf_error e;
    int rc =
        wipe_range(j->io, j->into->file, j->into->end, j->into->end + j->entry.len, &changed, &e);

    if (rc == 0 && changed)
        rc = j->io->sync(j->io, j->into->file, &e);
    j->stuck = rc != 0;
}

static void journal_work(void *arg)
{
    struct store_journal *j = arg;
    struct mf_list *n;
    bool synced = true;

    j->stuck = false;
    j->status = write_entry(j);
    if (j->status == 0) {
        j->status = j->io->sync(j->io, j->into->file, &j->error);
        synced = j->status == 0;
    }
    if (j->status != 0)
        wipe_entry(j);
    mf_list_each(n, &j->in_flight)
    {
        struct image *im = &store_of(n)->commit.image;
        im->journal = j->status == 0 || !synced || j->stuck ? j : NULL;
        im->sync_failed = !synced || j->stuck;
        im->status = j->status;
        im->error = j->error;
        if (j->status == 0)
            im->status = commit_spread(im);
    }
}

/* --- back on the loop ------------------------------------------------------------------------- */

static void journal_failed(struct store_journal *j)
{
    j->out = true;
    log_error("commit journal: %s: commits of several streams are synced one by one until the next "
              "start%s",
              j->error.text, j->stuck ? "; messages that are refused now may exist after it" : "");
}

static void journal_done(void *arg)
{
    struct store_journal *j = arg;
    struct mf_list done, *n;

    mf_list_init(&done);
    mf_list_move(&done, &j->in_flight);
    j->running = false;
    if (j->status == 0) {
        pthread_mutex_lock(&j->lock);
        j->into->end += j->entry.len;
        pthread_mutex_unlock(&j->lock);
        j->stats.entries++;
        j->stats.bytes += j->entry.len;
    } else {
        journal_failed(j);
    }
    if (!mf_list_empty(&j->waiting))
        loop_defer(j->loop, &j->defer);
    while ((n = mf_list_pop(&done)) != NULL) {
        struct store *s = store_of(n);
        if (s->commit.image.journal == NULL) {
            loop_job_submit(s->commit.job);
            continue;
        }
        s->share.generation = j->into->head.generation;
        j->stats.groups++;
        commit_done(&s->commit.image);
    }
}

/* --- stores ----------------------------------------------------------------------------------- */

int store_join_journal(struct store *s, struct store_journal *j, const char *path)
{
    assert(s->loop != NULL && s->share.journal == NULL);
    if (strlen(path) >= UINT16_MAX)
        return MF_NOMEM;
    s->share.path = mf_slice_dup(mf_str(path));
    if (s->share.path == NULL)
        return MF_NOMEM;
    s->share.journal = j;
    if (++j->members >= MANY) { /* ready when they need it */
        j->wanted = true;
        journal_files_kick(j);
    }
    return 0;
}

bool share_lives(const struct store *s)
{
    return s->share.journal != NULL && s->share.generation > s->share.journal->emptied;
}

void share_leave(struct store *s, bool synced)
{
    struct store_journal *j = s->share.journal;

    if (j == NULL)
        return;
    mf_list_del(&s->share.node);
    if (!synced && share_lives(s))
        j->keep = true;
    j->members--;
    free(s->share.path);
    s->share = (struct share){0};
    mf_list_init(&s->share.node);
}

/* --- opening and closing ---------------------------------------------------------------------- */

void store_journal_stats(const struct store_journal *j, struct store_journal_stats *out)
{
    *out = j->stats;
}

void journal_free(struct store_journal *j)
{
    if (j->loop != NULL)
        loop_defer_cancel(j->loop, &j->defer);
    loop_job_free(j->job);
    loop_job_free(j->upkeep);
    mf_buf_fini(&j->entry);
    free(j->part);
    pthread_mutex_destroy(&j->lock);
    pthread_mutex_destroy(&j->wiping);
    j->io->free(j->io);
    if (j->o.free != NULL)
        j->o.free(j->o.arg);
    free(j);
}

static void journal_leave(struct store_journal *j)
{
    if (j->entered)
        j->io->leave(j->io);
    journal_free(j);
}

static int go_without(struct store_journal *j, const struct mf_error *e)
{
    log_warn("commit journal: %s: commits of several streams are synced one by one until the next "
             "start",
             e->text);
    j->out = true;
    return 0;
}

int store_journal_new(struct store_journal **out, struct loop *l,
                      const struct store_journal_opts *o, struct store_io *io, struct mf_error *e)
{
    struct store_journal *j = calloc(1, sizeof *j);
    int rc;

    if (j == NULL) {
        io->free(io);
        if (o->free != NULL)
            o->free(o->arg);
        return mf_fail(e, MF_NOMEM, "commit journal");
    }
    j->o = *o;
    if (j->o.file_size == 0)
        j->o.file_size = JOURNAL_FILE_DEFAULT;
    j->io = io;
    mf_list_init(&j->waiting);
    mf_list_init(&j->in_flight);
    pthread_mutex_init(&j->lock, NULL); /* neither fails on Linux */
    pthread_mutex_init(&j->wiping, NULL);
    rc = io->enter(io, e);
    j->entered = rc == 0;
    if (rc == 0)
        rc = journal_recover(j, e);
    else if (o->fresh && store_io_is_shortage(rc))
        rc = go_without(j, e);
    j->loop = l;
    j->defer.fn = journal_start;
    if (rc == 0) {
        j->job = loop_job_new(l, LOOP_DISK, journal_work, journal_done, j);
        rc = j->job == NULL ? mf_fail(e, MF_NOMEM, "commit journal") : journal_files_init(j);
    }
    if (rc != 0) {
        journal_leave(j);
        return mf_wrap(e, "commit journal");
    }
    *out = j;
    return 0;
}

static void close_step(struct store_journal *j)
{
    if (j->busy)
        return;
    void (*closed)(void *) = j->closed;
    void *arg = j->closed_arg;

    journal_files_close(j);
    journal_leave(j);
    closed(arg);
}

void journal_upkeep_ended(struct store_journal *j)
{
    if (j->closed != NULL)
        close_step(j);
    else
        journal_files_kick(j);
}

void store_journal_close(struct store_journal *j, void (*closed)(void *arg), void *arg)
{
    assert(j->members == 0 && !j->running);
    j->closed = closed;
    j->closed_arg = arg;
    close_step(j);
}

void store_journal_abandon(struct store_journal *j)
{
    j->keep = true;
    journal_files_close(j);
    journal_leave(j);
}
