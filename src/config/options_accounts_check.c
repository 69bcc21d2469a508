/* options_accounts_check.c: checks between accounts: unique users, known accounts, imports that an
 * export allows, no import in a circle. */
#include "config/options_impl.h"

#include <stdlib.h>

#define MAX_PATH  256       /* accounts in a row */
#define MAX_STEPS 100000000 /* looked at for all imports together */

static bool is_text(const char *s)
{
    return s != NULL && s[0] != '\0';
}

/* A value that only has a place, for errors. */
static struct conf_value place_of(const char *file, int line, int col)
{
    return (struct conf_value){.file = file, .line = line, .col = col};
}

/* --- accounts by name ------------------------------------------------------------------------- */

struct directory {
    struct opt *c;
    const struct options_account **by_name; /* sorted */
    size_t n, steps;
    const struct options_import *asked; /* the one being checked is not in its own way */
};

static int compare_accounts(const void *a, const void *b)
{
    const struct options_account *const *x = a, *const *y = b;
    int by_name = strcmp((*x)->name, (*y)->name);
    if (by_name != 0 || (*x)->line == 0 || (*y)->line == 0) /* the key of a search has no place */
        return by_name;
    return (*x)->line != (*y)->line ? (*x)->line - (*y)->line : (*x)->col - (*y)->col;
}

static const struct options_account *find_account(const struct directory *d, const char *name)
{
    struct options_account key = {.name = (char *)(uintptr_t)name};
    const struct options_account *k = &key;
    const struct options_account **found =
        d->n == 0 ? NULL : bsearch(&k, d->by_name, d->n, sizeof(void *), compare_accounts);
    return found == NULL ? NULL : *found;
}

static bool directory_init(struct directory *d, struct opt *c)
{
    *d = (struct directory){.c = c, .n = c->o->naccounts};
    d->by_name = arena_alloc(c->a, (d->n + 1) * sizeof(void *));
    if (d->by_name == NULL)
        return false;
    for (size_t i = 0; i < d->n; i++)
        d->by_name[i] = &c->o->accounts[i];
    if (d->n > 0)
        qsort(d->by_name, d->n, sizeof(void *), compare_accounts);
    for (size_t i = 1; i < d->n; i++) {
        const struct options_account *a = d->by_name[i];
        struct conf_value at = place_of(a->file, a->line, a->col);
        if (strcmp(a->name, d->by_name[i - 1]->name) == 0)
            opt_error(c, &at, "Duplicate Account Entry: %s", a->name);
    }
    return true;
}

/* --- users ------------------------------------------------------------------------------------ */

struct named_user {
    const char *name;
    const struct options_user *u;
    size_t order;
};

static int compare_users(const void *a, const void *b)
{
    const struct named_user *x = a, *y = b;
    int by_name = strcmp(x->name, y->name);
    if (by_name != 0)
        return by_name;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void name_users(struct named_user *all, size_t *n, const struct options_user *users,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        all[*n] = (struct named_user){users[i].nkey != NULL ? users[i].nkey : users[i].user,
                                      &users[i], *n};
        (*n)++;
    }
}

/* Names and nkeys are unique over all accounts. */
static void check_users(struct opt *c)
{
    const struct options *o = c->o;
    size_t count = o->auth.nusers, n = 0;
    for (size_t i = 0; i < o->naccounts; i++)
        count += o->accounts[i].nusers;
    struct named_user *all = arena_alloc(c->a, (count + 1) * sizeof *all);
    if (all == NULL)
        return;
    name_users(all, &n, o->auth.users, o->auth.nusers);
    for (size_t i = 0; i < o->naccounts; i++)
        name_users(all, &n, o->accounts[i].users, o->accounts[i].nusers);
    if (n > 1)
        qsort(all, n, sizeof *all, compare_users);
    for (size_t i = 1; i < n; i++) {
        if (strcmp(all[i].name, all[i - 1].name) != 0)
            continue;
        struct conf_value at = place_of(all[i].u->file, all[i].u->line, all[i].u->col);
        opt_error(c, &at, "Duplicate %s \"%s\" detected", all[i].u->nkey != NULL ? "nkey" : "user",
                  all[i].name);
    }
}

static void check_single_user(struct opt *c)
{
    const struct options *o = c->o;
    for (size_t i = 0; i < o->naccounts; i++) {
        const struct options_account *a = &o->accounts[i];
        struct conf_value at = place_of(a->file, a->line, a->col);
        if (a->nusers == 0)
            continue;
        if (is_text(o->auth.user))
            opt_error(c, &at, "Can not have a single user/pass and accounts");
        else if (is_text(o->auth.token))
            opt_error(c, &at, "Can not have a token and accounts");
        else
            continue;
        return;
    }
}

/* --- exports ---------------------------------------------------------------------------------- */

static void check_export(struct directory *d, const struct options_export *x)
{
    struct conf_value at = place_of(x->file, x->line, x->col);
    const char *kind = x->service ? "service" : "stream";
    for (size_t i = 0; i < x->accounts.n; i++)
        if (find_account(d, x->accounts.items[i]) == NULL)
            opt_error(d->c, &at, "\"%s\" account not defined for %s export", x->accounts.items[i],
                      kind);
    if (x->latency_subject != NULL && d->c->o->no_system_account)
        opt_error(d->c, &at,
                  "Error adding service latency sampling for \"%s\": system account not setup",
                  x->subject);
}

static bool list_has(const struct options_list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->items[i], name) == 0)
            return true;
    return false;
}

/* account_token_position: that token of the import is the importing account's name. */
static bool token_is(const char *subject, unsigned position, const char *name)
{
    for (; position > 1; position--) {
        subject = strchr(subject, '.');
        if (subject == NULL)
            return false;
        subject++;
    }
    size_t n = strcspn(subject, ".");
    return strlen(name) == n && memcmp(subject, name, n) == 0;
}

static bool export_approves(const struct options_export *x, const char *importer,
                            const char *subject, bool exact)
{
    if (x->account_token_position > 0)
        return !exact && token_is(subject, x->account_token_position, importer);
    return !x->restricted || list_has(&x->accounts, importer);
}

/* An export of exactly this subject decides; else any export that covers it. */
static bool import_authorized(const struct options_account *exporter,
                              const struct options_import *m, const char *importer)
{
    bool covered = false;
    for (size_t i = 0; i < exporter->nexports; i++) {
        const struct options_export *x = &exporter->exports[i];
        if (x->service != m->service)
            continue;
        if (strcmp(x->subject, m->subject) == 0)
            return export_approves(x, importer, m->subject, true);
        if (opt_text_subject_covers(x->subject, m->subject))
            covered = covered || export_approves(x, importer, m->subject, false);
    }
    return covered;
}

/* --- circles ---------------------------------------------------------------------------------- */

struct walk { /* accounts on the way here */
    const struct walk *up;
    const struct options_account *a;
    int depth;
};

static bool on_the_way(const struct walk *w, const struct options_account *a)
{
    for (; w != NULL; w = w->up)
        if (w->a == a)
            return true;
    return false;
}

static bool exports_stream(const struct options_account *a, const char *subject)
{
    for (size_t i = 0; i < a->nexports; i++)
        if (!a->exports[i].service && opt_text_subject_covers(a->exports[i].subject, subject))
            return true;
    return false;
}

/* Does a message that reaches w->a under this subject return to an account on the way?  As in
 * nats-server, services compare with the requested subject, streams with the local name. */
static bool comes_back(struct directory *d, const struct walk *w, const char *subject, bool service)
{
    if (w->depth > MAX_PATH)
        return true;
    if (!service && !exports_stream(w->a, subject))
        return false;
    for (size_t i = 0; i < w->a->nimports; i++) {
        const struct options_import *m = &w->a->imports[i];
        if (m == d->asked || m->service != service || ++d->steps > MAX_STEPS)
            continue;
        const char *local = m->local;
        const char *met = service ? m->subject : local;
        if (!subject_overlap(mf_str(subject), mf_str(met)))
            continue;
        const struct options_account *from = find_account(d, m->account);
        if (from == NULL)
            continue;
        if (on_the_way(w, from))
            return true;
        struct walk next = {w, from, w->depth + 1};
        if (comes_back(d, &next, opt_text_subject_covers(subject, local) ? local : subject,
                       service))
            return true;
    }
    return false;
}

/* --- imports ---------------------------------------------------------------------------------- */

static const char *import_error(struct directory *d, const struct options_account *a,
                                const struct options_import *m,
                                const struct options_account *exporter)
{
    const char *local = m->local;
    struct walk start = {NULL, a, 0}, next = {&start, exporter, 1};
    d->asked = m;
    if (!import_authorized(exporter, m, a->name))
        return m->service ? "service import not authorized" : "stream import not authorized";
    if (m->to != NULL && !opt_text_subject_valid(m->to))
        return "invalid subject";
    if (comes_back(d, &next, local, m->service) ||
        (!m->service && comes_back(d, &next, m->subject, false)))
        return "import forms a cycle";
    if (m->to == NULL || strcmp(m->to, m->subject) == 0 || opt_text_subject_literal(m->subject))
        return NULL;
    return opt_text_import_error(d->c->a, m);
}

static void check_import(struct directory *d, const struct options_account *a, size_t i)
{
    const struct options_import *m = &a->imports[i];
    const char *kind = m->service ? "service" : "stream";
    struct conf_value at = place_of(m->file, m->line, m->col);
    const struct options_account *exporter = find_account(d, m->account);
    if (exporter == NULL) {
        opt_error(d->c, &at, "\"%s\" account not defined for %s import", m->account, kind);
        return;
    }
    const char *bad = import_error(d, a, m, exporter);
    for (size_t k = 0; bad == NULL && k < i && !m->service; k++)
        if (!a->imports[k].service && strcmp(a->imports[k].account, m->account) == 0 &&
            strcmp(a->imports[k].subject, m->subject) == 0)
            bad = "stream import already exists";
    if (bad != NULL)
        opt_error(d->c, &at, "Error adding %s import \"%s\": %s", kind, m->subject, bad);
}

void opt_check_accounts(struct opt *c)
{
    struct directory d;
    size_t before = c->nerrors;
    check_users(c);
    check_single_user(c);
    if (c->nerrors != before || !directory_init(&d, c))
        return;
    for (size_t i = 0; i < d.n; i++)
        for (size_t k = 0; k < c->o->accounts[i].nexports; k++)
            check_export(&d, &c->o->accounts[i].exports[k]);
    for (size_t i = 0; i < d.n; i++)
        for (size_t k = 0; k < c->o->accounts[i].nimports; k++)
            check_import(&d, &c->o->accounts[i], k);
    if (d.steps > MAX_STEPS)
        opt_error(c, NULL, "accounts import from each other too often to check for cycles");
}
