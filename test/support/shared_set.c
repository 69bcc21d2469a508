/* shared_set.c: see shared_set.h. */
#include "shared_set.h"

#include "support/must.h"

#define FILE_SIZE (4096u + (12u << 10)) /* of the journal: filled often */

const char *shared_path(int i)
{
    static const char *const path[SHARED_STORES] = {"a.", "b.", "c."};

    return path[i];
}

static void note_store(struct shared_set *x, int i)
{
    if (x->at != NULL)
        *x->at = i;
}

static int find_store(void *arg, const char *path, struct store_io **out, struct mf_error *e)
{
    struct shared_set *x = arg;

    if (!view_io_any(x->all, path))
        return mf_fail(e, MF_NOTFOUND, "%s", path);
    *out = view_io_new(x->all, path);
    return 0;
}

static int sync_all(void *arg, struct mf_error *e)
{
    struct shared_set *x = arg;

    x->synced_all++;
    return view_io_sync_all(x->all, e);
}

static void add_stats(struct shared_set *x)
{
    struct store_journal_stats s;

    store_journal_stats(x->journal, &s);
    x->stats.entries += s.entries;
    x->stats.groups += s.groups;
    x->stats.emptied += s.emptied;
    x->stats.recovered += s.recovered;
    x->stats.turned_away += s.turned_away;
}

void shared_init(struct shared_set *x, struct loop *loop, struct store_io *all,
                 const struct store_opts *o, uint64_t seed)
{
    struct mf_error e;

    *x = (struct shared_set){.loop = loop, .all = all};
    MUST(all->enter(all, &e) == 0, "%s", e.text);
    for (int i = 0; i < SHARED_STORES; i++)
        drive_init(&x->d[i], loop, view_io_new(all, shared_path(i)), &o[i],
                   seed * 0x9E3779B97F4A7C15u + (uint64_t)i);
}

int shared_try_begin(struct shared_set *x, int i, struct mf_error *e)
{
    struct drive *d = &x->d[i];

    note_store(x, i);
    int rc = drive_try_open(d, e);
    if (rc == 0 && d->opts.sync == STORE_SYNC_ALWAYS)
        (void)!store_join_journal(d->store, x->journal, shared_path(i)); /* alone, then */
    return rc;
}

void shared_begin(struct shared_set *x, int i)
{
    struct mf_error e;

    MUST(shared_try_begin(x, i, &e) == 0, "opening: %s", e.text);
}

int shared_try_open(struct shared_set *x, struct mf_error *e)
{
    struct store_journal_opts o = {.find = find_store,
                                   .sync_all = sync_all,
                                   .arg = x,
                                   .file_size = FILE_SIZE,
                                   .sync_each = x->sync_each};
    int rc = store_journal_new(&x->journal, x->loop, &o, view_io_new(x->all, "j."), e);

    if (rc != 0)
        x->journal = NULL;
    for (int i = 0; i < SHARED_STORES && rc == 0; i++)
        rc = shared_try_begin(x, i, e);
    return rc;
}

void shared_open(struct shared_set *x)
{
    struct mf_error e;

    MUST(shared_try_open(x, &e) == 0, "opening: %s", e.text);
}

static void note_closed(void *arg)
{
    *(bool *)arg = true;
}

static void close_journal(struct shared_set *x)
{
    bool closed = false;

    add_stats(x);
    store_journal_close(x->journal, note_closed, &closed);
    while (!closed)
        loop_turn(x->loop);
    x->journal = NULL;
}

void shared_close(struct shared_set *x)
{
    for (int i = 0; i < SHARED_STORES; i++) {
        note_store(x, i);
        if (x->d[i].store != NULL)
            drive_close(&x->d[i]);
    }
    if (x->journal != NULL)
        close_journal(x);
}

void shared_fini(struct shared_set *x)
{
    for (int i = 0; i < SHARED_STORES; i++)
        while (x->d[i].store != NULL && !store_idle(x->d[i].store))
            loop_turn(x->loop);
    for (int i = 0; i < SHARED_STORES; i++)
        drive_fini(&x->d[i]);
    if (x->journal != NULL)
        close_journal(x);
    x->all->leave(x->all);
    x->all->free(x->all);
}
