/* resolver_dir.c: account JWTs in a directory: start, stop, and look-ups in files and at other
 * servers. */
#include "operator/dir_impl.h"

#include "base/clock.h"
#include "base/log.h"
#include "codec/sha256.h"
#include "operator/token_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct dir_lookup {
    struct mf_list link; /* dir_resolver.lookups */
    struct dir_resolver *d;
    struct resolver_lookup *q; /* NULL: cancelled */
    struct loop_job *job;
    struct loop_timer *timer; /* while others are asked */
    uint64_t id;              /* of the question; 0: none */
    char account[NKEY_TEXT];
    struct mf_buf text, answer; /* answer: of another server; the file is read once more */
    int rc;
    struct mf_error why;
};

int64_t dir_now_s(const struct dir_resolver *d)
{
    return loop_wall_ns(d->r.loop) / CLOCK_S;
}

void dir_hash(struct mf_slice text, uint8_t hash[32])
{
    sha256(text, hash);
}

/* --- start and stop --------------------------------------------------------------------------- */

static void dir_free(struct dir_resolver *d)
{
    dir_change_fini(d);
    dir_scan_stop(d);
    free(d->seen);
    dir_index_fini(&d->index);
    if (d->fd >= 0)
        close(d->fd);
    free(d->path);
    free(d);
}

void dir_job_start(struct dir_resolver *d, struct loop_job *j)
{
    d->njobs++;
    loop_job_submit(j);
}

bool dir_job_ended(struct dir_resolver *d)
{
    void (*closed)(void *arg) = d->closed;
    void *arg = d->closed_arg;

    if (--d->njobs > 0 || !d->closing)
        return false;
    dir_free(d);
    closed(arg);
    return true;
}

static bool dir_close(struct resolver *r, void (*closed)(void *arg), void *arg)
{
    struct dir_resolver *d = (struct dir_resolver *)r;
    struct mf_list *n;

    d->closing = true;
    d->closed = closed;
    d->closed_arg = arg;
    loop_timer_stop(d->sweep);
    while ((n = mf_list_pop(&d->changes)) != NULL) { /* they never ran */
        struct resolver_change *q = mf_container(n, struct resolver_change, link);
        free(q->text);
        q->text = NULL;
        q->done(q, MF_CLOSED, mf_err_text(MF_CLOSED));
    }
    if (d->njobs > 0)
        return false;
    dir_free(d);
    return true;
}

/* --- look-ups --------------------------------------------------------------------------------- */

static void lookup_free(struct dir_lookup *x)
{
    mf_list_del(&x->link);
    loop_timer_free(x->timer);
    loop_job_free(x->job);
    mf_buf_fini(&x->text);
    mf_buf_fini(&x->answer);
    free(x);
}

static void lookup_end(struct dir_lookup *x, int rc, const char *why)
{
    struct resolver_lookup *q = x->q;
    struct mf_buf text = x->text;

    x->text = (struct mf_buf){0};
    lookup_free(x);
    if (q != NULL)
        resolver_finish(q, rc, rc == 0 ? mf_buf_slice(&text) : MF_SLICE_NONE, why);
    mf_buf_fini(&text);
}

static void read_work(void *arg)
{
    struct dir_lookup *x = arg;

    x->rc = dir_file_read(x->d->fd, x->account, &x->text, &x->why);
}

static void forget_question(struct dir_lookup *x)
{
    struct resolver_asking *a = x->d->asking;

    if (a != NULL)
        a->forget(a->arg, x->id);
}

static void others_silent(void *arg)
{
    struct dir_lookup *x = arg;

    forget_question(x);
    lookup_end(x, MF_TIMEOUT, "fetching jwt timed out");
}

/* Answers may come from inside ask(), so x is complete before. */
static void ask_others(struct dir_lookup *x)
{
    struct dir_resolver *d = x->d;
    struct resolver_asking *a = d->asking;
    uint64_t id = ++d->next_id;

    x->timer = a == NULL ? NULL : loop_timer_new(d->r.loop, others_silent, x);
    if (x->timer == NULL) {
        lookup_end(x, MF_NOTFOUND, "account jwt not found");
        return;
    }
    x->id = id;
    loop_timer_arm(x->timer, loop_mono_ns(d->r.loop) + d->timeout_ns);
    if (!a->ask(a->arg, id, x->account))
        lookup_end(x, MF_NOTFOUND, "account jwt not found");
}

/* A file that somebody put there is known from now on. */
static void note_file(struct dir_resolver *d, const char *account, struct mf_slice text)
{
    struct dir_entry *known = dir_index_find(&d->index, account);
    struct token_times t;
    uint8_t hash[32];

    if (known != NULL) {
        dir_index_use(&d->index, known, dir_now_s(d));
        return;
    }
    dir_hash(text, hash);
    if (d->scanned && token_peek(text, &t) == 0 &&
        dir_index_put(&d->index, account, hash, t.exp, dir_now_s(d)) != 0)
        log_error("resolver directory %s: %s: out of memory", d->path, account);
}

struct own_store {
    struct resolver_change q;
};

static void own_store_done(struct resolver_change *q, int rc, const char *why)
{
    if (rc != 0 && rc != MF_CLOSED)
        log_warn("resolver: the JWT of %s was not stored: %s", q->account, why);
    free(mf_container(q, struct own_store, q));
}

static void store_answer(struct dir_lookup *x)
{
    struct own_store *own = calloc(1, sizeof *own);

    if (own == NULL)
        return;
    memcpy(own->q.account, x->account, sizeof own->q.account);
    own->q.done = own_store_done;
    resolver_store(&x->d->r, &own->q, mf_buf_slice(&x->answer), true);
}

/* A newer token may have been stored while others were asked: then it is the answer. */
static void use_newer(struct dir_lookup *x)
{
    struct token_times file = {.iat = 0}, answer = {.iat = 0};
    struct mf_buf text = x->text;

    if (x->rc != 0 || token_peek(mf_buf_slice(&x->text), &file) != 0 ||
        (token_peek(mf_buf_slice(&x->answer), &answer) == 0 && answer.iat > file.iat)) {
        store_answer(x);
        x->text = x->answer;
        x->answer = text;
    } else {
        note_file(x->d, x->account, mf_buf_slice(&x->text));
    }
    lookup_end(x, 0, "");
}

static void read_done(void *arg)
{
    struct dir_lookup *x = arg;
    struct dir_resolver *d = x->d;

    if (x->q == NULL || d->closing) {
        lookup_end(x, MF_CLOSED, "closed");
        (void)dir_job_ended(d);
        return;
    }
    (void)dir_job_ended(d);
    if (x->answer.len > 0) {
        use_newer(x);
    } else if (x->rc == 0) {
        note_file(d, x->account, mf_buf_slice(&x->text));
        lookup_end(x, 0, "");
    } else if (x->rc == MF_NOTFOUND && !x->q->local) {
        ask_others(x);
    } else if (x->rc == MF_NOTFOUND) {
        lookup_end(x, MF_NOTFOUND, "account jwt not found");
    } else {
        struct mf_error why = x->why;
        log_error("resolver directory %s: %s", d->path, why.text);
        lookup_end(x, x->rc, why.text);
    }
}

static void lookup_failed(struct loop_defer *turn)
{
    resolver_finish(mf_container(turn, struct resolver_lookup, turn), MF_NOMEM, MF_SLICE_NONE,
                    "out of memory");
}

static void dir_lookup(struct resolver *r, struct resolver_lookup *q)
{
    struct dir_resolver *d = (struct dir_resolver *)r;
    struct dir_lookup *x = calloc(1, sizeof *x);

    if (x != NULL) {
        mf_list_init(&x->link);
        x->d = d;
        x->q = q;
        memcpy(x->account, q->account, sizeof x->account);
        x->job = loop_job_new(r->loop, LOOP_READ, read_work, read_done, x);
        if (x->job == NULL) {
            free(x);
            x = NULL;
        }
    }
    if (x == NULL) {
        q->turn.fn = lookup_failed;
        loop_defer(r->loop, &q->turn);
        return;
    }
    q->state = x;
    mf_list_push(&d->lookups, &x->link);
    dir_job_start(d, x->job);
}

static void dir_cancel(struct resolver_lookup *q)
{
    struct dir_lookup *x = q->state;

    if (x == NULL)
        return;
    x->q = NULL;
    q->state = NULL;
    if (x->id != 0) { /* its job is over */
        forget_question(x);
        lookup_free(x);
    }
}

/* O(look-ups that wait). */
static struct dir_lookup *find_lookup(struct dir_resolver *d, uint64_t id)
{
    struct mf_list *pos;

    mf_list_each(pos, &d->lookups)
    {
        struct dir_lookup *x = mf_container(pos, struct dir_lookup, link);
        if (x->id == id)
            return x;
    }
    return NULL;
}

static void dir_found(struct resolver *r, uint64_t id, struct mf_slice jwt)
{
    struct dir_lookup *x = find_lookup((struct dir_resolver *)r, id);

    if (x == NULL || jwt.len == 0)
        return;
    mf_buf_append(&x->answer, jwt.ptr, jwt.len);
    if (mf_buf_failed(&x->answer)) {
        lookup_end(x, MF_NOMEM, "out of memory");
        return;
    }
    x->id = 0; /* the question is over */
    loop_timer_stop(x->timer);
    dir_job_start(x->d, x->job);
}

static void dir_missing(struct resolver *r, uint64_t id, int rc, const char *why)
{
    struct dir_lookup *x = find_lookup((struct dir_resolver *)r, id);

    if (x != NULL)
        lookup_end(x, rc, why);
}

static void dir_ask_others(struct resolver *r, struct resolver_asking *asking)
{
    struct dir_resolver *d = (struct dir_resolver *)r;
    struct mf_list *pos, *next;

    d->asking = asking;
    if (asking != NULL)
        return;
    mf_list_each_safe(pos, next, &d->lookups)
    {
        struct dir_lookup *x = mf_container(pos, struct dir_lookup, link);
        if (x->id != 0)
            loop_timer_arm(x->timer, 0); /* it ends in the next turn */
    }
}

static bool dir_total_hash(const struct resolver *r, uint8_t hash[32])
{
    const struct dir_resolver *d = (const struct dir_resolver *)r;

    memcpy(hash, d->index.hash, 32);
    return d->scanned;
}

static const struct resolver_ops dir_ops = {.close = dir_close,
                                            .lookup = dir_lookup,
                                            .cancel = dir_cancel,
                                            .change = dir_change,
                                            .walk = dir_walk,
                                            .walk_cancel = dir_walk_cancel,
                                            .hash = dir_total_hash,
                                            .ask_others = dir_ask_others,
                                            .found = dir_found,
                                            .missing = dir_missing};

int resolver_dir_open(struct resolver **out, const struct resolver_setup *s, struct mf_error *e)
{
    const struct options_resolver *o = &s->options->operators->resolver;
    struct dir_resolver *d = calloc(1, sizeof *d);

    if (d == NULL)
        return mf_fail(e, MF_NOMEM, "resolver");
    d->r = (struct resolver){&dir_ops, o->kind, s->loop};
    d->fd = -1;
    d->hard_delete = o->hard_delete || o->kind == OPTIONS_RESOLVER_CACHE;
    d->limit = o->limit;
    d->ttl_s = (o->ttl_ns + CLOCK_S - 1) / CLOCK_S;
    d->timeout_ns = o->timeout_ns;
    d->asking = s->asking;
    mf_list_init(&d->lookups);
    mf_list_init(&d->changes);
    mf_list_init(&d->walks);
    dir_index_init(&d->index);
    d->path = mf_slice_dup(mf_str(o->dir));
    d->seen = calloc(DIR_BATCH, sizeof *d->seen);
    if (d->path == NULL || d->seen == NULL || dir_change_init(d) != 0)
        mf_fail(e, MF_NOMEM, "resolver");
    else if (dir_file_open(&d->fd, o->dir, e) == 0 &&
             dir_change_preload(d, &s->options->operators->preload, e) == 0 &&
             dir_scan_start(d, e) == 0) {
        log_info("Managing %s jwt in exclusive directory %s",
                 o->kind == OPTIONS_RESOLVER_FULL ? "all" : "some", o->dir);
        *out = &d->r;
        return 0;
    }
    dir_free(d);
    return e->code;
}
