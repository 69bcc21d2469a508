/* journal_files.c: the two files of the journal.
 *
 * Happy path: both are made, filled with zeros and synced, when groups of several stores meet for
 * the first time.  Entries go into one; when it is full, into the other.  The full one is emptied
 * on a worker: everything that was written to the segments is synced, the header is wiped and
 * synced, then the entries, then a new header is written.  So at no time does a part of old entries
 * look like damage, and no message stays in a file that counts as empty.
 * Failure: without space the journal is not made, and tried again later.  If emptying fails, no
 * group goes in any more, and the files are kept for the next start.
 * Close: the files are removed, unless a start needs them. */
#include "store/journal/journal_impl.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/rand.h"

#include <stdio.h>

#define SLICE    (1u << 20)
#define AGAIN_NS (10 * CLOCK_S)
#define SPACE    64u /* made only where so many times its size is free */

void journal_file_name(unsigned i, char dst[32])
{
    snprintf(dst, 32, "%u.journal", i);
}

/* --- on the worker ---------------------------------------------------------------------------- */

static int fill_zeros(struct store_journal *j, struct journal_file *f, uint64_t from, uint64_t to)
{
    static const uint8_t zeros[SLICE];
    int rc = 0;

    for (; from < to && rc == 0; from += SLICE) {
        size_t n = to - from < SLICE ? (size_t)(to - from) : SLICE;
        rc = j->io->pwrite(j->io, f->file, zeros, n, from, &j->work_error);
        if (rc == 0)
            rc = j->io->sync(j->io, f->file, &j->work_error);
    }
    return rc;
}

static int write_head(struct store_journal *j, struct journal_file *f, uint64_t generation)
{
    uint8_t page[JOURNAL_PAGE];

    j->next = (struct journal_head){.generation = generation};
    rand_bytes(&j->next.key, sizeof j->next.key);
    journal_page_encode(page, &j->next);
    int rc = j->io->pwrite(j->io, f->file, page, sizeof page, 0, &j->work_error);
    return rc != 0 ? rc : j->io->sync(j->io, f->file, &j->work_error);
}

static int make_file(struct store_journal *j, unsigned i)
{
    struct journal_file *f = &j->file[i];
    char name[32];

    journal_file_name(i, name);
    int rc = j->io->open(j->io, name, true, &f->file, &j->work_error);
    if (rc != 0) {
        f->file = NULL;
        return rc;
    }
    rc = segment_space(j->io, f->file, j->o.file_size, &j->work_error);
    if (rc == 0)
        rc = fill_zeros(j, f, 0, j->o.file_size);
    if (rc == 0)
        rc = write_head(j, f, i == 0 ? JOURNAL_FILES : i);
    f->head = j->next;
    f->end = JOURNAL_PAGE;
    return rc;
}

static void drop_files(struct store_journal *j)
{
    char name[32];

    for (unsigned i = 0; i < JOURNAL_FILES; i++) {
        journal_file_name(i, name);
        if (j->file[i].file == NULL)
            continue;
        j->io->close(j->io, j->file[i].file);
        (void)j->io->unlink(j->io, name, NULL);
        j->file[i] = (struct journal_file){0};
    }
}

static void make_work(struct store_journal *j)
{
    int rc = 0;

    for (unsigned i = 0; i < JOURNAL_FILES && rc == 0; i++)
        rc = make_file(j, i);
    if (rc == 0)
        rc = j->io->syncdir(j->io, &j->work_error);
    if (rc != 0)
        drop_files(j);
    j->work_status = rc;
}

static void empty_work(struct store_journal *j)
{
    struct journal_file *f = j->target;
    int rc = j->o.sync_all(j->o.arg, &j->work_error);

    pthread_mutex_lock(&j->wiping);
    if (rc == 0)
        rc = fill_zeros(j, f, 0, JOURNAL_PAGE);
    if (rc == 0)
        rc = fill_zeros(j, f, JOURNAL_PAGE, f->end);
    pthread_mutex_unlock(&j->wiping);
    if (rc == 0)
        rc = write_head(j, f, f->head.generation + JOURNAL_FILES);
    j->work_status = rc;
}

static void upkeep_work(void *arg)
{
    struct store_journal *j = arg;

    if (j->work == JOURNAL_MAKE)
        make_work(j);
    else
        empty_work(j);
}

/* --- on the loop ------------------------------------------------------------------------------ */

static void made(struct store_journal *j)
{
    if (j->work_status != 0) {
        log_warn("commit journal: %s: commits of several streams are synced one by one for now",
                 j->work_error.text);
        j->again_ns = loop_mono_ns(j->loop) + AGAIN_NS;
        return;
    }
    for (unsigned i = 0; i < JOURNAL_FILES; i++)
        j->file[i].ready = true;
    j->generation = 1;
    journal_of(j, 1)->ready = false;
}

static void emptied(struct store_journal *j)
{
    struct journal_file *f = j->target;

    if (j->work_status != 0) {
        log_error("commit journal: %s: commits of several streams are synced one by one until the "
                  "next start",
                  j->work_error.text);
        j->out = j->keep = true;
        return;
    }
    j->emptied = f->head.generation;
    pthread_mutex_lock(&j->lock);
    f->head = j->next;
    f->end = JOURNAL_PAGE;
    pthread_mutex_unlock(&j->lock);
    f->ready = true;
    j->stats.emptied++;
}

static void upkeep_done(void *arg)
{
    struct store_journal *j = arg;

    j->busy = false;
    if (j->work == JOURNAL_MAKE)
        made(j);
    else
        emptied(j);
    journal_upkeep_ended(j);
}

static void submit(struct store_journal *j, enum journal_work work)
{
    j->work = work;
    j->busy = true;
    loop_job_submit(j->upkeep);
}

static bool has_space(struct store_journal *j)
{
    uint64_t space = j->io->space == NULL ? 0 : j->io->space(j->io);

    return space == 0 || space / SPACE >= j->o.file_size;
}

void journal_files_kick(struct store_journal *j)
{
    if (j->busy || j->out || j->closed != NULL)
        return;
    if (j->generation == 0) {
        if (!j->wanted || loop_mono_ns(j->loop) < j->again_ns)
            return;
        if (has_space(j))
            submit(j, JOURNAL_MAKE);
        else
            j->again_ns = loop_mono_ns(j->loop) + AGAIN_NS;
        return;
    }
    if (j->emptied + 1 >= j->generation)
        return;
    j->target = journal_of(j, j->emptied + 1);
    submit(j, JOURNAL_EMPTY);
}

struct journal_file *journal_files_room(struct store_journal *j, uint64_t size)
{
    struct journal_file *f = journal_of(j, j->generation);

    j->wanted = true;
    if (j->generation == 0)
        return NULL;
    if (f->end + size <= j->o.file_size)
        return f;
    f = journal_of(j, j->generation + 1);
    if (!f->ready || f->end + size > j->o.file_size)
        return NULL;
    f->ready = false;
    j->generation++;
    return f;
}

int journal_files_init(struct store_journal *j)
{
    j->upkeep = loop_job_new(j->loop, LOOP_UPKEEP, upkeep_work, upkeep_done, j);
    return j->upkeep == NULL ? MF_NOMEM : 0;
}

void journal_files_close(struct store_journal *j)
{
    struct mf_error e;
    bool any = j->file[0].file != NULL;

    if (!j->keep) {
        drop_files(j);
        if (any && j->io->syncdir(j->io, &e) != 0)
            log_warn("commit journal: %s", e.text); /* then the next start applies it: no harm */
        return;
    }
    for (unsigned i = 0; i < JOURNAL_FILES; i++)
        if (j->file[i].file != NULL)
            j->io->close(j->io, j->file[i].file);
}
