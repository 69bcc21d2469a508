/* operator_system.c: the accounts that a start needs: the system account, and those with streams.
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
    char why[160]; /* "": it is there */
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

/* --- accounts that have streams --------------------------------------------------------------- */

struct folders {
    struct operator* op;
    struct first_load *all;
    size_t n;
};

static void add_folder(struct folders *x, const char *name)
{
    struct first_load *grown;
    uint8_t raw[32];

    if (nkey_decode(mf_str(name), NKEY_ACCOUNT, raw) != 0)
        return;
    grown = realloc(x->all, (x->n + 1) * sizeof *grown);
    if (grown == NULL) {
        log_error("Account %s: out of memory: its streams wait for its first use", name);
        return;
    }
    x->all = grown;
    memcpy(x->all[x->n++].load.account, name, strlen(name) + 1);
}

void operator_load_folders(struct operator* op, const char *dir)
{
    struct folders x = {.op = op};
    const struct dirent *d;
    DIR *all = op == NULL ? NULL : opendir(dir);

    if (all == NULL)
        return;
    while ((d = readdir(all)) != NULL)
        add_folder(&x, d->d_name);
    closedir(all);
    for (size_t i = 0; i < x.n; i++) {
        char key[NKEY_TEXT];
        memcpy(key, x.all[i].load.account, sizeof key);
        load_first(op, &x.all[i], key);
    }
    if (op->opening > 0)
        loop_run(op->setup.loop);
    for (size_t i = 0; i < x.n; i++) {
        operator_load_cancel(&x.all[i].load);
        if (x.all[i].why[0] != '\0')
            log_warn("JetStream: the streams of account %s are not served before it is known: %s",
                     x.all[i].load.account, x.all[i].why);
    }
    free(x.all);
}
