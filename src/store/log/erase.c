/* erase.c: removals after which the bytes of the message are overwritten (docs/disk-format.md).
 *
 * Happy path: store_erase() writes an erase record, like any removal; when it is committed the
 * message waits in `due`. erase_kick() collects all that wait.  A commit that calls their records
 * synced is written first, so that recovery can tell a record without its data from a torn tail.
 * Then erase_work(), on a worker, overwrites and syncs; erase_done() calls the waiters.  A
 * message that the cleaner has copied may still lie in the first segment, too: that segment is
 * searched for it, and so is the commit journal.
 * Failure: the store turns read-only, as after any failed write.  After a shortage of space or
 * memory only the waiter gets the error: the message is removed, but its bytes may remain.
 * Restart: erase records that the replay met are done once more, because nothing records how far
 * they were done.
 * Close: waits for all of it. */
#include "store/store_impl.h"

#include "store/log/scan.h"
#include "store/io/wipe.h"

#include "base/log.h"

#include <stdlib.h>

#define AT_ONCE      1000 /* messages in one job */
#define MESSAGE_HEAD 56u

struct erasure {
    struct mf_list node; /* in one of the lists of struct eraser */
    struct store_wait *wait;
    uint64_t seq;
    struct record_pos victim;
    struct record_pos end;    /* of the group its record is in, */
    struct record_pos before; /* and where that begins; segment 0: not known */
    uint32_t before_chain;
    /* The worker's. */
    struct store_file *file;
    uint64_t key, size;
    bool copied; /* it lies here as a copy: the original may be there still */
    bool changed;
};

static struct erasure *erasure_at(struct mf_list *n)
{
    return mf_container(n, struct erasure, node);
}

static void answer_waits(struct mf_list *list, int status)
{
    struct mf_list *n;

    while ((n = mf_list_pop(list)) != NULL) {
        struct erasure *x = erasure_at(n);
        struct store_wait *w = x->wait;
        free(x);
        if (w != NULL)
            w->done(w, status);
    }
}

/* --- the record ----------------------------------------------------------------------------- */

/* The final place of a message: a copy of it may be in flight. */
static uint64_t last_place(const struct store *s, uint64_t seq, uint64_t place)
{
    const struct image *im[] = {&s->commit.image, &s->commit.filling};

    for (size_t k = 0; k < MF_COUNT(im); k++)
        for (size_t i = 0; i < im[k]->moves; i++)
            if (im[k]->moved[i].seq == seq && im[k]->moved[i].from == place)
                place = im[k]->moved[i].to;
    return place;
}

int store_erase_ready(struct store *s, uint64_t seq)
{
    uint32_t id;
    int rc = write_check_removal(s, seq, &id);

    if (rc != 0)
        return rc;
    if (place_offset(last_place(s, seq, index_place(s->ix, id))) == 0)
        return MF_INVAL; /* of the open batch: it has no place yet */
    if (segs_current(s)->version < SEGMENT_PLAIN)
        return MF_FULL; /* store_attach() found no room for a segment that may hold the record */
    if (s->erase.spare == NULL)
        s->erase.spare = malloc(sizeof *s->erase.spare);
    return s->erase.spare == NULL ? MF_NOMEM : 0;
}

int store_erase(struct store *s, uint64_t seq, struct store_wait *w)
{
    int rc = store_erase_ready(s, seq);

    if (rc != 0)
        return rc;
    uint32_t id = index_find(s->ix, seq);
    uint64_t place = last_place(s, seq, index_place(s->ix, id));
    struct erasure *x = s->erase.spare;
    *x = (struct erasure){.seq = seq};
    x->wait = w != NULL && w->done != NULL ? w : NULL;
    x->victim = (struct record_pos){segs_of(s, place)->number, place_offset(place)};
    struct record r = {.type = RECORD_ERASE, .seq = seq, .victim = x->victim};
    if ((rc = write_removal(s, &r, RECORD_ERASE_SIZE)) != 0)
        return rc;
    s->erase.spare = NULL;
    removing_add(s, id);
    mf_list_push(&s->erase.filling, &x->node);
    return 0;
}

void erase_committed(struct store *s, struct record_pos before, uint32_t before_chain)
{
    struct mf_list *n;

    while ((n = mf_list_pop(&s->erase.in_flight)) != NULL) {
        struct erasure *x = erasure_at(n);
        x->end = s->log.committed;
        x->before = before;
        x->before_chain = before_chain;
        segs_get(s, x->victim.segment)->erasing++;
        mf_list_push(&s->erase.due, n);
    }
}

int erase_restore(struct store *s, const struct recovered_erase *r)
{
    struct segment *seg = segs_get(s, r->victim.segment);

    if (seg == NULL || seg->file == NULL)
        return 0; /* reclaimed since, or missing */
    struct erasure *x = calloc(1, sizeof *x);
    if (x == NULL)
        return MF_NOMEM;
    x->seq = r->seq;
    x->victim = r->victim;
    x->end = s->log.committed;
    seg->erasing++;
    mf_list_push(&s->erase.due, &x->node);
    return 0;
}

bool erase_pending(const struct store *s)
{
    return !mf_list_empty(&s->erase.due) || !mf_list_empty(&s->erase.working);
}

bool erase_start_of_log(const struct store *s, struct record_pos *at, uint32_t *chain)
{
    struct mf_list *n = mf_list_first(&s->erase.working);

    if (n == NULL)
        n = mf_list_first(&s->erase.due);
    if (n == NULL)
        return true;
    const struct erasure *x = erasure_at(n);
    bool going = s->clean.stage != CLEAN_IDLE && x->before.segment <= s->clean.number;
    if (x->before.segment < s->log.first_segment || x->before.segment == 0 || going)
        return false;
    *at = x->before;
    *chain = x->before_chain;
    return true;
}

/* --- on the worker -------------------------------------------------------------------------- */

/* The bytes behind the head of one record. */
static int wipe_record(struct eraser *z, struct store_file *f, uint64_t offset,
                       const struct record *r, bool *changed)
{
    return wipe_range(z->io, f, offset + MESSAGE_HEAD, offset + r->size, changed, &z->error);
}

static int wipe_victim(struct eraser *z, struct erasure *x)
{
    uint8_t head[MESSAGE_HEAD];
    struct record r;

    if (x->file == NULL || x->victim.offset > x->size || x->size - x->victim.offset < sizeof head)
        return 0;
    int rc = z->io->pread(z->io, x->file, head, sizeof head, x->victim.offset, &z->error);
    if (rc != 0)
        return rc;
    /* Only the fixed part is read, which is longer where another record lies there. */
    if (!record_holds_message(head) ||
        !record_read_head(head, x->size - x->victim.offset, x->key, x->victim.offset, &r) ||
        r.seq != x->seq)
        return 0; /* damaged: unknown contents */
    x->copied = r.type == RECORD_COPY && x->victim.segment != z->first_number;
    return wipe_record(z, x->file, x->victim.offset, &r, &x->changed);
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static int wipe_originals(struct eraser *z, const uint8_t *base, bool *changed)
{
    uint64_t copied[AT_ONCE], at;
    size_t count = 0;
    struct mf_list *n;
    struct record r;
    struct scan sc;
    bool broken;
    int rc = 0;

    mf_list_each(n, &z->working) if (erasure_at(n)->copied) copied[count++] = erasure_at(n)->seq;
    qsort(copied, count, sizeof *copied, by_number);
    scan_init(&sc, base, z->first_end, z->first_key, SEGMENT_PAGE);
    sc.loose = sc.hollows = true;
    for (;;) {
        enum scan_result got = scan_next(&sc, &r, &at, &broken);
        if (got == SCAN_END || rc != 0)
            return rc;
        if (got == SCAN_HOLLOW)
            scan_pass(&sc, &r);
        if (got == SCAN_STRETCH || (r.type != RECORD_MESSAGE && r.type != RECORD_COPY))
            continue;
        if (bsearch(&r.seq, copied, count, sizeof *copied, by_number) != NULL)
            rc = wipe_record(z, z->first, at, &r, changed);
    }
}

static int search_first(struct eraser *z)
{
    uint8_t *all = malloc(z->first_end);
    bool changed = false;

    if (all == NULL)
        return mf_fail(&z->error, MF_NOMEM, "search the first segment for what is to be erased");
    int rc = z->io->pread(z->io, z->first, all, z->first_end, 0, &z->error);
    if (rc == 0)
        rc = wipe_originals(z, all, &changed);
    if (rc == 0 && changed)
        rc = z->io->sync(z->io, z->first, &z->error);
    free(all);
    return rc;
}

/* Each file once. */
static int sync_changed(struct eraser *z)
{
    int rc = 0;

    for (struct mf_list *n = z->working.next; n != &z->working && rc == 0; n = n->next) {
        struct store_file *f = erasure_at(n)->file;
        if (!erasure_at(n)->changed)
            continue;
        for (struct mf_list *o = n; o != &z->working; o = o->next)
            if (erasure_at(o)->file == f)
                erasure_at(o)->changed = false;
        rc = z->io->sync(z->io, f, &z->error);
    }
    return rc;
}

/* First, so that no start writes them again. */
static int void_in_journal(struct eraser *z)
{
    uint64_t seqs[AT_ONCE];
    size_t n = 0;
    struct mf_list *x;

    if (z->journal == NULL)
        return 0;
    mf_list_each(x, &z->working) seqs[n++] = erasure_at(x)->seq;
    qsort(seqs, n, sizeof *seqs, by_number);
    return journal_void_messages(z->journal, z->id, seqs, n, &z->error);
}

static void erase_work(void *arg)
{
    struct eraser *z = arg;
    bool copied = false;

    z->status = void_in_journal(z);
    for (struct mf_list *n = z->working.next; n != &z->working && z->status == 0; n = n->next) {
        z->status = wipe_victim(z, erasure_at(n));
        copied |= erasure_at(n)->copied;
    }
    if (z->status == 0 && copied && z->first != NULL)
        z->status = search_first(z);
    if (z->status == 0)
        z->status = sync_changed(z);
}

/* --- on the loop ---------------------------------------------------------------------------- */

static void erase_end(struct store *s, int status)
{
    struct mf_list done;

    for (struct mf_list *n = s->erase.working.next; n != &s->erase.working; n = n->next)
        segs_get(s, erasure_at(n)->victim.segment)->erasing--;
    mf_list_init(&done);
    mf_list_move(&done, &s->erase.working);
    s->erase.stage = ERASE_IDLE;
    answer_waits(&done, status);
}

static void erase_done(void *arg)
{
    struct store *s = mf_container(arg, struct store, erase);
    struct eraser *z = &s->erase;
    struct mf_list *n;

    mf_list_each(n, &z->working) if (erasure_at(n)->file != NULL)
        segs_get(s, erasure_at(n)->victim.segment)
            ->readers--;
    if (z->first != NULL)
        segs_get(s, z->first_number)->readers--;
    if (store_io_is_shortage(z->status))
        log_error("store %s: erased messages are removed, but their bytes may still be on disk: %s",
                  s->name, z->error.text);
    else if (z->status != 0)
        store_fail(s, z->status, z->error.text);
    erase_end(s, z->status);
    store_progress(s);
}

void erase_notify_scrub(struct store *s)
{
    struct mf_list *n;

    if (s->erase.stage != ERASE_WIPE)
        return; /* the scrub gets them when the wipe begins */
    mf_list_each(n, &s->erase.working)
        mf_buf_append(&s->scrub.meanwhile, &erasure_at(n)->seq, sizeof(uint64_t));
}

static void wipe_start(struct store *s)
{
    struct eraser *z = &s->erase;
    struct segment *first = segs_first(s);
    struct mf_list *n;

    if (clean_reclaims(s, first))
        return; /* it may hold originals; they vanish with the file */
    z->first = first->copied ? first->file : NULL;
    z->first_number = first->number;
    z->first_key = first->key;
    z->first_end = first->end;
    first->readers += z->first != NULL;
    mf_list_each(n, &z->working)
    {
        struct erasure *x = erasure_at(n);
        struct segment *seg = segs_get(s, x->victim.segment);
        x->file = seg->file;
        x->key = seg->key;
        x->size = seg->size;
        seg->readers += seg->file != NULL;
    }
    z->io = s->io;
    z->journal = share_lives(s) ? s->share.journal : NULL;
    memcpy(z->id, s->id, STORE_ID);
    z->stage = ERASE_WIPE;
    if (s->scrub.busy)
        erase_notify_scrub(s);
    loop_job_submit(z->job);
}

static void erase_record_committed(struct store_wait *w, int status)
{
    struct store *s = mf_container(w, struct store, erase.wait);

    if (status != 0) {
        erase_end(s, status);
        return;
    }
    s->erase.need = s->log.committed;
    s->erase.stage = ERASE_COMMIT_SYNC;
    erase_kick(s);
}

/* A commit of its own, unless a group fills already. */
static void commit_erase(struct store *s)
{
    if (!commit_bare(s)) {
        log_error("store %s: no room to erase: messages are removed, but their bytes may still be "
                  "on disk",
                  s->name);
        erase_end(s, MF_FULL);
        return;
    }
    s->erase.stage = ERASE_COMMIT;
    s->erase.wait.done = erase_record_committed;
    write_add_wait(s, &s->erase.wait);
}

static void collect_due(struct store *s)
{
    struct eraser *z = &s->erase;

    for (int i = 0; i < AT_ONCE && !mf_list_empty(&z->due); i++) {
        struct mf_list *n = mf_list_pop(&z->due);
        z->need = erasure_at(n)->end;
        mf_list_push(&z->working, n);
    }
    z->stage = ERASE_SYNC;
    z->flushed = false;
}

/* The groups of these messages in the commit journal are wiped, so what is in them must be synced
 * in the segments.  False: store_progress() follows when it is, or when another job ended that
 * syncs some of it. */
static bool journal_flushed(struct store *s)
{
    if (s->sync.running || s->check.stage != CHECK_IDLE)
        return !share_lives(s);
    if (share_lives(s) && !s->erase.flushed) {
        s->erase.flushed = true;
        commit_sync(s);
        return false;
    }
    return true;
}

void erase_kick(struct store *s)
{
    struct eraser *z = &s->erase;

    if (s->failed != 0 || s->loop == NULL)
        return;
    if (z->stage == ERASE_IDLE && !mf_list_empty(&z->due))
        collect_due(s);
    if (z->stage != ERASE_SYNC && z->stage != ERASE_COMMIT_SYNC)
        return;
    if (s->o.sync == STORE_SYNC_NEVER)
        s->log.synced = s->log.committed; /* not needed: memory has no torn tail */
    if (record_pos_cmp(s->log.synced, z->need) < 0)
        commit_sync(s); /* and then once more here */
    else if (z->stage == ERASE_SYNC)
        commit_erase(s);
    else if (journal_flushed(s))
        wipe_start(s);
}

void erase_refuse(struct store *s, int status)
{
    struct mf_list refused;

    mf_list_init(&refused);
    mf_list_move(&refused, &s->erase.in_flight);
    mf_list_move(&refused, &s->erase.filling);
    if (s->erase.stage != ERASE_WIPE && s->erase.stage != ERASE_COMMIT) { /* their ends come */
        mf_list_move(&refused, &s->erase.working);
        s->erase.stage = ERASE_IDLE;
    }
    mf_list_move(&refused, &s->erase.due);
    answer_waits(&refused, status);
}

int erase_init(struct store *s)
{
    s->erase.job = loop_job_new(s->loop, LOOP_UPKEEP, erase_work, erase_done, &s->erase);
    return s->erase.job == NULL ? MF_NOMEM : 0;
}

static void list_free(struct mf_list *list)
{
    struct mf_list *n;

    while ((n = mf_list_pop(list)) != NULL)
        free(erasure_at(n));
}

void erase_fini(struct store *s)
{
    free(s->erase.spare);
    s->erase.spare = NULL;
    list_free(&s->erase.filling);
    list_free(&s->erase.in_flight);
    list_free(&s->erase.due);
    list_free(&s->erase.working);
}
