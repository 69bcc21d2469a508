/* operator_system.c: the accounts that a server needs by itself: the system account, those with
 * streams, those of leaf remotes.
 *
 * A resolver that is filled through the server itself does not have the system account at first.
 * Then a stand-in is made: users signed by its own key can log in and push its JWT, and it is
 * looked up every second until it is found. */
#include "operator/operator_impl.h"

#include "base/clock.h"
#include "base/log.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

/* --- loads that the start waits for ------------------------------------------------------------
 */

struct first_load {
    struct operator_load load;
    struct operator* op;
    struct operator_batch *batch; /* NULL: the start waits for it */
    char why[160];                /* "": it is there */
};

static void first_loaded(struct operator_load *q, struct operator_account *a, const char *why)
{
    struct first_load *f = mf_container(q, struct first_load, load);

    if (a == NULL)
        snprintf(f->why, sizeof f->why, "%s", why);
    if (--f->op->opening == 0)
        loop_stop(f->op->setup.loop);
}

static void load_first(struct operator* op, struct first_load *f, const char *key)
{
    *f = (struct first_load){.load.done = first_loaded, .op = op};
    snprintf(f->load.account, sizeof f->load.account, "%s", key);
    op->opening++;
    operator_load(op, &f->load);
}

/* --- the stand-in ----------------------------------------------------------------------------- */

static struct jwt *stand_in(const struct operator* op, const char *key)
{
    const struct options_list *trusted = &op->setup.options->operators->trusted;
    struct jwt *j = calloc(1, sizeof *j);
    struct jwt_account *a;

    if (j == NULL)
        return NULL;
    a = arena_alloc(&j->mem, sizeof *a);
    j->text = j->aud = j->jti = j->name = j->claims = arena_str(&j->mem, "");
    j->iss = arena_str(&j->mem, trusted->n > 0 ? trusted->items[0] : "");
    j->sub = arena_str(&j->mem, key);
    if (j->mem.failed) {
        jwt_free(j);
        return NULL;
    }
    a->limits = (struct jwt_account_limits){.subs = -1,
                                            .data = -1,
                                            .payload = -1,
                                            .imports = -1,
                                            .exports = -1,
                                            .conn = -1,
                                            .leaf = -1,
                                            .wildcards = true};
    a->authorization.xkey = a->cluster_traffic = a->description = a->info_url = j->text;
    j->kind = JWT_ACCOUNT;
    j->version = 2;
    j->account = a;
    return j;
}

bool operator_account_stand_in(const struct operator_account *a)
{
    return a->jwt->text[0] == '\0';
}

static void fetch_again(void *arg)
{
    struct operator* op = arg;
    struct operator_entry *en = operator_entry_find(op, op->setup.options->system_account);

    if (en == NULL || !operator_account_stand_in(&en->a)) {
        log_info("System account fetched and updated");
        return;
    }
    operator_load_start(en);
    loop_timer_arm(op->fetch, loop_mono_ns(op->setup.loop) + CLOCK_S);
}

static int make_stand_in(struct operator* op, const char *key, struct mf_error *e)
{
    struct operator_entry *en = operator_entry_find(op, key);
    struct operator_claims *c;
    struct jwt *j = stand_in(op, key);
    int rc = MF_NOMEM;

    if (en == NULL)
        en = operator_entry_new(op, key);
    op->fetch = loop_timer_new(op->setup.loop, fetch_again, op);
    if (en == NULL || op->fetch == NULL || j == NULL) {
        jwt_free(j);
        return mf_fail(e, MF_NOMEM, "system account");
    }
    rc = operator_claims_new(&c, j, e);
    if (rc == 0)
        rc = operator_account_replace(en, c, e);
    if (rc != 0)
        return rc;
    log_info("Using bootstrapping system account");
    loop_timer_arm(op->fetch, loop_mono_ns(op->setup.loop) + CLOCK_S);
    return 0;
}

/* --- the system account ----------------------------------------------------------------------- */

static bool may_come_later(const struct operator* op, const struct first_load *f)
{
    return resolver_kind(op->resolver) != OPTIONS_RESOLVER_MEM &&
           strcmp(f->why, "account missing") == 0;
}

int operator_system_load(struct operator* op, struct mf_error *e)
{
    const struct options *o = op->setup.options;
    const struct operator_account *a;
    struct first_load f;

    if (o->no_system_account || o->system_account == NULL ||
        strcmp(o->system_account, ACCOUNT_SYSTEM) == 0)
        return 0;
    load_first(op, &f, o->system_account);
    loop_run(op->setup.loop);
    operator_load_cancel(&f.load);
    if (may_come_later(op, &f))
        return make_stand_in(op, o->system_account, e);
    if (f.why[0] != '\0')
        return mf_fail(e, MF_NOTFOUND, "error resolving system account: %s", f.why);
    a = operator_account_find(op, o->system_account);
    if (a != NULL && o->jetstream.enabled && jwt_js_enabled(&a->jwt->account->limits))
        return mf_fail(e, MF_INVAL, "Not allowed to enable JetStream on the system account");
    return a != NULL ? 0 : mf_fail(e, MF_CLOSED, "error resolving system account: interrupted");
}

/* --- accounts that the server needs by itself ---------------------------------------------------
 */

struct operator_batch {
    struct mf_list link; /* operator.batches */
    struct operator* op;
    struct first_load *all;
    size_t n, open;
    const char *what;
    void (*done)(void *arg);
    void *arg;
};

static void log_failure(const char *what, const char *account, const char *why)
{
    log_warn("%s: account %s is not known: %s", what, account, why);
}

static void add_account(struct first_load **all, size_t *n, const char *key)
{
    struct first_load *grown;
    uint8_t raw[32];

    if (nkey_decode(mf_str(key), NKEY_ACCOUNT, raw) != 0)
        return;
    grown = realloc(*all, (*n + 1) * sizeof *grown);
    if (grown == NULL) {
        log_error("Account %s: out of memory: it waits for its first use", key);
        return;
    }
    *all = grown;
    grown[*n] = (struct first_load){.op = NULL};
    memcpy(grown[(*n)++].load.account, key, strlen(key) + 1);
}

/* Frees all. */
static void load_now(struct operator* op, struct first_load *all, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++) {
        char key[NKEY_TEXT];
        memcpy(key, all[i].load.account, sizeof key);
        load_first(op, &all[i], key);
    }
    if (op->opening > 0)
        loop_run(op->setup.loop);
    for (size_t i = 0; i < n; i++) {
        operator_load_cancel(&all[i].load);
        if (all[i].why[0] != '\0')
            log_failure(what, all[i].load.account, all[i].why);
    }
    free(all);
}

void operator_load_folders(struct operator* op, const char *dir)
{
    struct first_load *all = NULL;
    const struct dirent *d;
    size_t n = 0;
    DIR *folder = op == NULL ? NULL : opendir(dir);

    if (folder == NULL)
        return;
    while ((d = readdir(folder)) != NULL)
        add_account(&all, &n, d->d_name);
    closedir(folder);
    load_now(op, all, n, "JetStream: streams are not served");
}

void operator_load_named(struct operator* op, const struct options_list *keys, const char *what)
{
    struct first_load *all = NULL;
    size_t n = 0;

    for (size_t i = 0; i < keys->n; i++)
        add_account(&all, &n, keys->items[i]);
    load_now(op, all, n, what);
}

/* --- the same in later turns --- */

static void batch_free(struct operator_batch *b)
{
    mf_list_del(&b->link);
    for (size_t i = 0; i < b->n; i++)
        operator_load_cancel(&b->all[i].load);
    free(b->all);
    free(b);
}

static void batch_loaded(struct operator_load *q, struct operator_account *a, const char *why)
{
    struct first_load *f = mf_container(q, struct first_load, load);
    struct operator_batch *b = f->batch;

    if (a == NULL)
        log_failure(b->what, q->account, why);
    if (--b->open > 0)
        return;
    void (*done)(void *arg) = b->done;
    void *arg = b->arg;
    batch_free(b);
    done(arg);
}

int operator_load_later(struct operator* op, const struct options_list *keys, const char *what,
                        void (*done)(void *arg), void *arg)
{
    struct operator_batch *b = calloc(1, sizeof *b);

    if (b == NULL)
        return MF_NOMEM;
    *b = (struct operator_batch){.op = op, .what = what, .done = done, .arg = arg};
    mf_list_push(&op->batches, &b->link);
    for (size_t i = 0; i < keys->n; i++)
        if (operator_account_find(op, keys->items[i]) == NULL)
            add_account(&b->all, &b->n, keys->items[i]);
    b->open = b->n;
    if (b->n == 0) {
        batch_free(b);
        return 0;
    }
    for (size_t i = 0; i < b->n; i++) { /* none is answered inside the call */
        struct first_load *f = &b->all[i];
        f->batch = b;
        f->load.done = batch_loaded;
        operator_load(op, &f->load);
    }
    return 0;
}

void operator_batches_end(struct operator* op)
{
    struct mf_list *first;

    while ((first = mf_list_first(&op->batches)) != NULL)
        batch_free(mf_container(first, struct operator_batch, link));
}
