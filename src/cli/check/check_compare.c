/* check_compare.c: compares the state by the checkpoint and the log behind it with the state by
 * the whole log.  A checkpoint may hold some later changes; replaying corrects them. */
#include "cli/check/check_impl.h"

#include <inttypes.h>
#include <stdlib.h>

struct comparison {
    struct ctx *c;
    const struct summary *log;
    size_t at;        /* the next line of the log's */
    size_t stretches; /* damage of the log: the head of the list, ascending */
    uint64_t both_differ, only_log, only_cp, gone_files, lost, blobs;
    uint64_t first_seq; /* that differs */
    uint64_t first_gone;
};

/* The damage in which this record lies, or NULL. */
static struct check_damage *damage_at(const struct comparison *k, struct check_pos p)
{
    size_t lo = 0, hi = k->stretches;
    struct check_damage *d;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        d = &k->c->res->damage[mid];
        if (pos_before(p, (struct check_pos){d->segment, d->offset}))
            hi = mid;
        else
            lo = mid + 1;
    }
    d = lo == 0 ? NULL : &k->c->res->damage[lo - 1];
    return d != NULL && d->kind == CHECK_RECORDS && d->segment == p.segment &&
                   p.offset < d->offset + d->length
               ? d
               : NULL;
}

static void note_difference(struct comparison *k, uint64_t *counter, uint64_t seq)
{
    ++*counter;
    if (k->first_seq == 0 || seq < k->first_seq)
        k->first_seq = seq;
}

static void only_in_checkpoint(struct comparison *k, uint64_t seq, const struct entry *en)
{
    struct check_damage *d;

    if (en->segment == NO_SEGMENT) {
        k->gone_files++;
        if (k->first_gone == 0)
            k->first_gone = seq;
        return;
    }
    d = damage_at(k, entry_pos(k->c, en));
    if (d == NULL) {
        note_difference(k, &k->only_cp, seq);
        return;
    }
    d->lost++;
    k->lost++;
}

static int compare_message(void *arg, uint64_t seq, const struct entry *en)
{
    struct comparison *k = arg;
    const struct summary *log = k->log;

    k->c->res->cp_messages++;
    for (; k->at < log->lines && log->line[k->at].seq < seq; k->at++)
        note_difference(k, &k->only_log, log->line[k->at].seq);
    if (k->at == log->lines || log->line[k->at].seq != seq)
        only_in_checkpoint(k, seq, en);
    else if (log->line[k->at++].digest != check_live_line(k->c, seq, en))
        note_difference(k, &k->both_differ, seq);
    return 0;
}

static void compare_blob(void *arg, const struct blob *b)
{
    struct comparison *k = arg;
    const struct blob *o = check_model_find_blob(&k->log->blobs, mf_slice(b->name, b->name_len));

    k->c->res->cp_blobs++;
    if (o == NULL || o->body_len != b->body_len || o->body_hash != b->body_hash)
        k->blobs++;
}

/* Damage of the log before the checkpoint's position: then the two may differ. */
static bool damaged_before(const struct comparison *k, struct check_pos p)
{
    for (size_t i = 0; i < k->stretches; i++) {
        const struct check_damage *d = &k->c->res->damage[i];

        if (d->kind != CHECK_RULE && pos_before((struct check_pos){d->segment, d->offset}, p))
            return true;
    }
    return false;
}

static bool in_damage(const struct comparison *k, struct check_pos p)
{
    for (size_t i = 0; i < k->stretches; i++) {
        const struct check_damage *d = &k->c->res->damage[i];

        if ((d->kind == CHECK_RECORDS && d->segment == p.segment && p.offset >= d->offset &&
             p.offset <= d->offset + d->length) ||
            (d->kind == CHECK_MISSING && d->segment <= p.segment))
            return true;
    }
    return false;
}

static void judge_checkpoint(struct comparison *k, struct cp *cp)
{
    struct check_result *res = k->c->res;
    uint64_t wrong = k->both_differ + k->only_log + k->only_cp + k->blobs;
    bool explained = damaged_before(k, cp->pos);

    if (res->cp_last_sequence != res->last_sequence)
        wrong++;
    res->lost = k->lost + k->gone_files;
    res->checkpoint = CHECK_CP_MATCHES;
    if (wrong + res->lost == 0)
        return;
    res->checkpoint = explained ? CHECK_CP_EXPLAINED : CHECK_CP_DIFFERS;
    if (explained) {
        check_note(k->c,
                   "the checkpoint knows of %" PRIu64
                   " live messages that damage took, and differs "
                   "from what is left of the log in %" PRIu64 " more points",
                   res->lost, wrong);
        return;
    }
    if (k->gone_files > 0)
        (void)check_found(k->c, CHECK_MISSING, 0, 0, 0,
                          "%" PRIu64 " live messages lie in segment files that are gone, the first "
                          "is sequence %" PRIu64,
                          k->gone_files, k->first_gone);
    if (wrong > 0)
        (void)check_found(k->c, CHECK_CHECKPOINT, 0, 0, cp->size,
                          "with the log behind it it gives another state: %" PRIu64
                          " messages too many, %" PRIu64 " missing, %" PRIu64
                          " differ (first: %" PRIu64 "), %" PRIu64 " blobs",
                          k->only_cp, k->only_log, k->both_differ, k->first_seq, k->blobs);
}

int check_compare_replay(struct ctx *c, struct cp *cp, const struct run *whole, struct run *behind,
                         bool *old, struct mf_error *e)
{
    struct comparison k = {.c = c, .stretches = c->res->log_damages};
    int rc = check_cp_load(c, cp, behind->m, e);

    *old = rc == 0 && cp->usable && cp->pos.segment < whole->first;
    if (rc != 0 || !cp->usable || cp->unread || *old)
        return rc;
    if (!cp->at_record && !in_damage(&k, cp->pos))
        check_cp_bad(cp, 32, 16, "its position is not where a record starts");
    else if (cp->at_record && cp->chain_differs)
        check_cp_bad(cp, 48, 4, "the record before its position is another one");
    if (!cp->usable)
        return 0;
    behind->c = c;
    behind->quiet = true;
    behind->synced = whole->synced;
    behind->first = whole->first;
    behind->chain = cp->chain;
    behind->chain_known = cp->at_record;
    rc = check_log_run(behind, cp->pos, e);
    /* Only now: entries may be older than this mark and wait for a record that lifts them. */
    check_model_mark(behind->m, cp->mark_t, cp->mark_s);
    return rc;
}

int check_compare_checkpoint(struct ctx *c, struct cp *cp, const struct run *whole,
                             const struct summary *log, struct mf_error *e)
{
    struct comparison k = {.c = c, .log = log, .stretches = c->res->log_damages};
    struct model m;
    struct run behind = {.m = &m};
    bool old;
    int rc;

    check_model_init(&m);
    rc = check_compare_replay(c, cp, whole, &behind, &old, e);
    if (old) {
        /* The records between are missing: the server reads the whole log, and so did this check.
         */
        c->res->checkpoint = CHECK_CP_OLD;
        check_note(c, "the checkpoint is older than the first segment: the next start reads the "
                      "whole log instead");
    } else if (rc == 0 && cp->usable && cp->unread) {
        c->res->checkpoint = CHECK_CP_UNREAD;
    } else if (rc == 0 && cp->usable) {
        if (check_model_each(&m, compare_message, &k) != 0)
            rc = mf_fail(e, MF_NOMEM, "compare the checkpoint");
        for (; k.at < log->lines; k.at++)
            note_difference(&k, &k.only_log, log->line[k.at].seq);
        check_model_each_blob(&m, compare_blob, &k);
        if (c->res->cp_blobs < c->res->live.blobs)
            k.blobs += c->res->live.blobs - c->res->cp_blobs;
        c->res->cp_last_sequence = m.last;
        if (rc == 0)
            judge_checkpoint(&k, cp);
    }
    check_doubt_fini(&behind.doubt);
    check_model_fini(&m);
    return rc;
}
