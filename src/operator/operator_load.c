/* operator_load.c: accounts are loaded when somebody asks for them: one look-up for each account,
 * however many ask.
 *
 * Happy path: operator_load() starts a look-up; take_found() takes the claims, starts to load the
 * accounts that they import from, and tells all who wait when those have come, too, or have failed:
 * a client's first request finds its imports.  Two accounts that import from each other wait only
 * until the other one is there.  Failure: those who wait are told why, and an account that nobody
 * knows is forgotten. */
#include "operator/operator_impl.h"

#include "base/clock.h"
#include "base/log.h"
#include "codec/hash.h"

#include <stdio.h>
#include <stdlib.h>

/* --- entries ---------------------------------------------------------------------------------- */

struct operator_entry *operator_entry_find(const struct operator* op, const char *key)
{
    struct table_node *n = table_first(&op->accounts, hash_slice(mf_str(key)));

    for (; n != NULL; n = table_next(n)) {
        struct operator_entry *en = mf_container(n, struct operator_entry, node);
        if (strcmp(en->a.key, key) == 0)
            return en;
    }
    return NULL;
}

struct operator_entry *operator_entry_new(struct operator* op, const char *key)
{
    struct operator_entry *en = calloc(1, sizeof *en);

    if (en == NULL || table_add(&op->accounts, &en->node, hash_slice(mf_str(key))) != 0) {
        free(en);
        return NULL;
    }
    en->op = op;
    mf_list_init(&en->waiting);
    snprintf(en->a.key, sizeof en->a.key, "%s", key);
    return en;
}

void operator_load_needs_end(struct operator_entry *en)
{
    for (size_t i = 0; i < en->nneeds; i++)
        operator_load_cancel(&en->needs[i].load);
    free(en->needs);
    en->needs = NULL;
    en->nneeds = en->needs_open = 0;
}

void operator_entry_free(struct operator_entry *en)
{
    struct operator* op = en->op;

    operator_load_needs_end(en);
    resolver_cancel(&en->lookup);
    loop_defer_cancel(op->setup.loop, &en->turn);
    free(en->found);
    loop_timer_free(en->timer);
    table_del(&op->accounts, &en->node);
    op->nloaded -= en->claims != NULL;
    account_release(en->a.account);
    perms_release(en->a.defaults);
    operator_claims_free(en->claims);
    free(en);
}

struct operator_account *operator_account_find(struct operator* op, const char *key)
{
    struct operator_entry *en = operator_entry_find(op, key);

    return en == NULL || en->claims == NULL ? NULL : &en->a;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void finish_load(struct operator_load *q, struct operator_account *a, const char *why)
{
    mf_list_del(&q->link);
    q->op = NULL;
    q->done(q, a, a == NULL ? why : NULL);
}

static bool is_idle(const struct operator_entry *en)
{
    return en->lookup.resolver == NULL && en->found == NULL;
}

static bool is_ready(const struct operator_entry *en)
{
    return is_idle(en) && en->needs_open == 0;
}

/* An importer does not wait for the imports of its exporter.  done() may lead back here, to this
 * entry, too: the outermost call frees it. */
void operator_load_answer(struct operator_entry *en)
{
    struct mf_list all, *n;

    mf_list_init(&all);
    mf_list_move(&all, &en->waiting);
    en->answering++;
    while ((n = mf_list_pop(&all)) != NULL) {
        struct operator_load *q = mf_container(n, struct operator_load, link);
        bool usable = en->claims != NULL && !en->deleted;
        if (is_ready(en) || (q->early && is_idle(en)))
            finish_load(q, usable ? &en->a : NULL, en->why);
        else
            mf_list_push(&en->waiting, &q->link);
    }
    if (--en->answering == 0 && en->claims == NULL && is_ready(en) && mf_list_empty(&en->waiting))
        operator_entry_free(en);
}

static void take_found(struct loop_defer *d)
{
    struct operator_entry *en = mf_container(d, struct operator_entry, turn);
    char *text = en->found;
    struct mf_error e;

    en->found = NULL;
    en->reloads = false;
    if (operator_account_apply(en, mf_str(text), &e) == 0) {
        operator_load_needs(en);
    } else {
        log_warn("Account %s cannot be used: %s", en->a.key, e.text);
        en->why = "account validation failed";
    }
    free(text);
    operator_load_answer(en);
}

/* May run inside deliver(), with the answer of another server. */
static void jwt_found(struct resolver_lookup *lookup, int rc, struct mf_slice jwt, const char *why)
{
    struct operator_entry *en = mf_container(lookup, struct operator_entry, lookup);

    en->why = "account missing";
    if (rc == 0 && (en->found = mf_slice_dup(jwt)) != NULL) {
        en->turn.fn = take_found;
        loop_defer(en->op->setup.loop, &en->turn);
        return;
    }
    log_debug("Account fetch failed for %s: %s", en->a.key, why);
    if (rc == MF_NOTFOUND && en->reloads && en->claims != NULL)
        operator_account_drop(en);
    else
        operator_load_answer(en);
}

void operator_load_start(struct operator_entry *en)
{
    struct operator* op = en->op;

    if (!is_idle(en))
        return;
    en->asked_ns = loop_mono_ns(op->setup.loop);
    en->lookup = (struct resolver_lookup){.done = jwt_found};
    memcpy(en->lookup.account, en->a.key, sizeof en->a.key);
    resolver_lookup(op->resolver, &en->lookup);
}

/* --- accounts to import from ------------------------------------------------------------------ */

static void need_met(struct operator_load *q, struct operator_account *a, const char *why)
{
    struct operator_need *need = mf_container(q, struct operator_need, load);
    struct operator_entry *en = need->importer;

    if (a == NULL)
        log_warn("Can't locate account [%s] for import of account [%s]: %s", q->account, en->a.key,
                 why);
    if (--en->needs_open == 0)
        operator_load_answer(en);
}

void operator_load_needs(struct operator_entry *en)
{
    const struct options_account *o = &en->claims->options;
    struct operator* op = en->op;

    operator_load_needs_end(en);
    if (o->nimports == 0 || (en->needs = calloc(o->nimports, sizeof *en->needs)) == NULL)
        return;
    for (size_t i = 0; i < o->nimports; i++) {
        const char *key = o->imports[i].account;
        struct operator_need *need = &en->needs[en->nneeds];
        if ((i > 0 && strcmp(key, o->imports[i - 1].account) == 0) ||
            operator_account_find(op, key) != NULL)
            continue;
        *need = (struct operator_need){.load = {.done = need_met, .early = true}, .importer = en};
        snprintf(need->load.account, sizeof need->load.account, "%s", key);
        en->nneeds++;
        en->needs_open++;
        operator_load(op, &need->load);
    }
}

/* --- requests --------------------------------------------------------------------------------- */

static void answer_now(struct loop_defer *d)
{
    struct operator_load *q = mf_container(d, struct operator_load, turn);
    struct operator_entry *en = operator_entry_find(q->op, q->account);
    bool usable = en != NULL && en->claims != NULL && !en->deleted;

    finish_load(q, usable ? &en->a : NULL, en == NULL ? "out of memory" : "account missing");
}

/* An expired or deleted account is looked up again, at most once a second. */
static bool wants_lookup(const struct operator_entry *en)
{
    if (en->claims != NULL && !en->a.expired)
        return false;
    return en->claims == NULL || loop_mono_ns(en->op->setup.loop) - en->asked_ns >= CLOCK_S;
}

void operator_load(struct operator* op, struct operator_load *q)
{
    struct operator_entry *en = operator_entry_find(op, q->account);

    q->op = op;
    mf_list_init(&q->link);
    if (en == NULL)
        en = operator_entry_new(op, q->account);
    if (en != NULL && wants_lookup(en))
        operator_load_start(en);
    if (en != NULL && !is_ready(en) && (!q->early || !is_idle(en))) {
        mf_list_push(&en->waiting, &q->link);
        return;
    }
    q->turn.fn = answer_now;
    loop_defer(op->setup.loop, &q->turn);
}

void operator_load_cancel(struct operator_load *q)
{
    if (q->op == NULL)
        return;
    loop_defer_cancel(q->op->setup.loop, &q->turn);
    mf_list_del(&q->link);
    q->op = NULL;
}
