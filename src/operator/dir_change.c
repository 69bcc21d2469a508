/* dir_change.c: stores and removals in a directory of JWTs, in batches that share one sync; and the
 * sweep of tokens that expired or were not used. */
#include "operator/dir_impl.h"

#include "base/clock.h"
#include "base/log.h"
#include "operator/token_impl.h"

#include <stdio.h>
#include <stdlib.h>

#define SWEEP_NS (60 * CLOCK_S)

/* --- the worker ------------------------------------------------------------------------------- */

/* Is what the directory has as new as this? (by `iat`) */
static bool has_as_new(struct dir_resolver *d, const struct dir_change *c, int64_t iat)
{
    struct mf_buf old = {0};
    struct token_times t;
    struct mf_error e;
    bool newer = dir_file_read(d->fd, c->account, &old, &e) == 0 &&
                 token_peek(mf_buf_slice(&old), &t) == 0 && t.iat >= iat;

    mf_buf_fini(&old);
    return newer;
}

static void begin_change(struct dir_resolver *d, struct dir_change *c)
{
    struct mf_slice text = mf_str(c->text);
    struct token_times t = {.exp = 0};

    c->file = -1;
    if (c->text == NULL) {
        c->rc = dir_file_remove(d->fd, c->account, c->hard, &c->why);
        return;
    }
    if (token_peek(text, &t) != 0 || strcmp(t.sub, c->account) != 0) {
        c->rc = mf_fail(&c->why, MF_INVAL, "subject does not match jwt content");
        return;
    }
    c->kept = c->newer_only && has_as_new(d, c, t.iat);
    if (c->kept)
        return;
    c->rc = dir_file_begin(d->fd, c->account, text, &c->file, &c->why);
    c->exp = t.exp;
    dir_hash(text, c->hash);
}

static void finish_change(struct dir_resolver *d, struct dir_change *c)
{
    if (c->rc == 0 && c->file >= 0)
        c->rc = dir_file_finish(d->fd, c->account, c->file, &c->why);
}

static void apply_batch(void *arg)
{
    struct dir_resolver *d = arg;
    struct mf_error e;

    for (size_t i = 0; i < d->nbatch; i++)
        if (d->batch[i].rc == 0)
            begin_change(d, &d->batch[i]);
    for (size_t i = 0; i < d->nbatch; i++)
        finish_change(d, &d->batch[i]);
    if (dir_file_sync(d->fd, &e) == 0)
        return;
    for (size_t i = 0; i < d->nbatch; i++) {
        if (d->batch[i].rc != 0 || d->batch[i].kept)
            continue;
        d->batch[i].rc = e.code;
        d->batch[i].why = e;
    }
}

/* --- the loop --------------------------------------------------------------------------------- */

static void note_change(struct dir_resolver *d, const struct dir_change *c)
{
    if (c->rc != 0 || c->kept)
        return;
    if (c->text == NULL)
        dir_index_drop(&d->index, dir_index_find(&d->index, c->account));
    else if (dir_index_put(&d->index, c->account, c->hash, c->exp, dir_now_s(d)) != 0)
        log_error("resolver directory %s: %s: out of memory", d->path, c->account);
}

static void batch_done(void *arg)
{
    struct dir_resolver *d = arg;
    size_t n = d->nbatch;

    for (size_t i = 0; i < n; i++)
        note_change(d, &d->batch[i]);
    for (size_t i = 0; i < n; i++) {
        struct dir_change *c = &d->batch[i];
        struct resolver_change *q = c->request;
        free(c->text);
        c->text = NULL;
        if (c->rc != 0)
            log_error("resolver directory %s: %s", d->path, c->why.text);
        if (q == NULL)
            continue;
        q->rc = c->rc;
        snprintf(q->why, sizeof q->why, "%.150s", c->rc == 0 ? "" : c->why.text);
        q->done(q, q->rc, q->why);
    }
    d->nbatch = 0;
    d->changing = false;
    if (!dir_job_ended(d))
        dir_change_run(d);
}

static struct dir_change *add_to_batch(struct dir_resolver *d, const char *account)
{
    struct dir_change *c = &d->batch[d->nbatch++];

    *c = (struct dir_change){.hard = d->hard_delete, .file = -1};
    memcpy(c->account, account, sizeof c->account);
    return c;
}

/* Two changes of one account are in two batches. O(batch). */
static bool in_batch(const struct dir_resolver *d, const char *account)
{
    for (size_t i = 0; i < d->nbatch; i++)
        if (strcmp(d->batch[i].account, account) == 0)
            return true;
    return false;
}

/* Of a directory that is full: FULL refuses, CACHE forgets what was not used for the longest time.
 */
static void keep_limit(struct dir_resolver *d, struct dir_change *c)
{
    char account[NKEY_TEXT];
    struct dir_entry *oldest = dir_index_oldest(&d->index);
    size_t more = 0;

    if (d->limit == 0 || c->text == NULL || dir_index_find(&d->index, c->account) != NULL)
        return;
    for (size_t i = 0; i + 1 < d->nbatch; i++) /* new ones of this batch */
        more += d->batch[i].text != NULL && d->batch[i].rc == 0 &&
                dir_index_find(&d->index, d->batch[i].account) == NULL;
    if (d->index.table.count + more < (size_t)d->limit)
        return;
    if (d->r.kind == OPTIONS_RESOLVER_FULL || oldest == NULL) {
        c->rc = mf_fail(&c->why, MF_LIMIT, "jwt store is full");
        return;
    }
    dir_entry_account(oldest, account);
    if (in_batch(d, account)) /* all were used just now: for a moment there is one more */
        return;
    dir_index_drop(&d->index, oldest);
    add_to_batch(d, account);
}

void dir_change_run(struct dir_resolver *d)
{
    struct mf_list *n;

    if (d->changing || !d->scanned || d->closing || mf_list_empty(&d->changes))
        return;
    while (d->nbatch + 2 <= DIR_BATCH && (n = mf_list_first(&d->changes)) != NULL) {
        struct resolver_change *q = mf_container(n, struct resolver_change, link);
        if (in_batch(d, q->account))
            break;
        struct dir_change *c = add_to_batch(d, q->account);
        mf_list_del(n);
        c->request = q;
        c->text = q->text;
        c->newer_only = q->newer_only;
        q->text = NULL;
        struct dir_entry *known = dir_index_find(&d->index, c->account);
        if (known != NULL)
            dir_index_use(&d->index, known, dir_now_s(d));
        keep_limit(d, c);
    }
    d->changing = true;
    dir_job_start(d, d->changer);
}

void dir_change(struct resolver *r, struct resolver_change *q)
{
    struct dir_resolver *d = (struct dir_resolver *)r;

    mf_list_push(&d->changes, &q->link);
    dir_change_run(d);
}

/* --- the sweep -------------------------------------------------------------------------------- */

static struct dir_entry *next_overdue(struct dir_resolver *d, int64_t now_s)
{
    struct dir_entry *x = dir_index_next(&d->index);

    if (x != NULL && x->exp < now_s)
        return x;
    x = d->ttl_s > 0 ? dir_index_oldest(&d->index) : NULL;
    return x != NULL && x->used_s + d->ttl_s <= now_s ? x : NULL;
}

/* O(tokens that are removed), at most a batch; the rest after it. */
static void sweep_fired(void *arg)
{
    struct dir_resolver *d = arg;
    int64_t now_s = dir_now_s(d), wait_ns = SWEEP_NS;
    struct dir_entry *x = NULL;
    char account[NKEY_TEXT];

    if (d->ttl_s > 0 && d->ttl_s * CLOCK_S / 2 < wait_ns)
        wait_ns = d->ttl_s * CLOCK_S / 2;
    if (d->changing || !d->scanned) {
        wait_ns = CLOCK_S;
    } else {
        while (d->nbatch < DIR_BATCH && (x = next_overdue(d, now_s)) != NULL) {
            dir_entry_account(x, account);
            dir_index_drop(&d->index, x);
            add_to_batch(d, account)->hard = true;
        }
        if (d->nbatch > 0) {
            d->changing = true;
            dir_job_start(d, d->changer);
        }
    }
    loop_timer_arm(d->sweep, loop_mono_ns(d->r.loop) + (x != NULL ? CLOCK_MS : wait_ns));
}

/* --- start and stop --------------------------------------------------------------------------- */

int dir_change_preload(struct dir_resolver *d, const struct options_pairs *preload,
                       struct mf_error *e)
{
    struct dir_change c;

    for (size_t i = 0; i < preload->n; i++) {
        c = (struct dir_change){.newer_only = true, .text = preload->items[i].value};
        snprintf(c.account, sizeof c.account, "%s", preload->items[i].key);
        begin_change(d, &c);
        finish_change(d, &c);
        if (c.rc != 0)
            return mf_fail(e, c.rc, "resolver_preload: %s", c.why.text);
    }
    return preload->n == 0 ? 0 : dir_file_sync(d->fd, e);
}

int dir_change_init(struct dir_resolver *d)
{
    d->batch = calloc(DIR_BATCH, sizeof *d->batch);
    d->changer = loop_job_new(d->r.loop, LOOP_UPKEEP, apply_batch, batch_done, d);
    d->sweep = loop_timer_new(d->r.loop, sweep_fired, d);
    if (d->batch == NULL || d->changer == NULL || d->sweep == NULL)
        return MF_NOMEM;
    loop_timer_arm(d->sweep, loop_mono_ns(d->r.loop) + CLOCK_S);
    return 0;
}

void dir_change_fini(struct dir_resolver *d)
{
    loop_timer_free(d->sweep);
    loop_job_free(d->changer);
    free(d->batch);
}
