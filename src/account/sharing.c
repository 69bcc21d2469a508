/* sharing.c: exports, imports and mappings of one account, compiled from the options.  All errors
 * in them are found here, before anything is replaced. */
#include "account/account_impl.h"

#include "base/clock.h"
#include "base/log.h"
#include "subject/subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_THRESHOLD_NS (120 * CLOCK_S)

static bool is_text(const char *s)
{
    return s != NULL && s[0] != '\0';
}

/* --- exports ---------------------------------------------------------------------------------- */

static int export_init(struct acc_export *x, struct account *a, const struct options_export *o,
                       struct mf_error *e)
{
    mf_list_init(&x->waiting);
    x->owner = a;
    x->service = o->service;
    x->options = o;
    x->response = o->response;
    x->threshold_ns = o->threshold_ns > 0 ? o->threshold_ns : DEFAULT_THRESHOLD_NS;
    x->latency_percent = o->latency_percent;
    if (!subject_valid(mf_str(o->subject)))
        return mf_fail(e, MF_INVAL, "invalid subject");
    x->subject = mf_slice_dup(mf_str(o->subject));
    if (x->subject == NULL)
        return mf_fail(e, MF_NOMEM, "export");
    if (o->account_token_position > 0 &&
        !mf_eq_str(subject_token(mf_str(o->subject), o->account_token_position - 1), "*"))
        return mf_fail(e, MF_INVAL, "invalid subject");
    if (o->service && is_text(o->latency_subject)) {
        if (!subject_valid_literal(mf_str(o->latency_subject)))
            return mf_fail(e, MF_INVAL, "invalid publish subject");
        x->latency_subject = mf_slice_dup(mf_str(o->latency_subject));
        if (x->latency_subject == NULL)
            return mf_fail(e, MF_NOMEM, "export");
    }
    return 0;
}

static int sharing_add_exports(struct sharing *d, struct account *a,
                               const struct options_account *oa, struct mf_error *e)
{
    d->exports = calloc(oa->nexports + 1, sizeof *d->exports);
    if (d->exports == NULL)
        return mf_fail(e, MF_NOMEM, "exports");
    for (size_t i = 0; i < oa->nexports; i++) {
        d->nexports = i + 1;
        if (export_init(&d->exports[i], a, &oa->exports[i], e) != 0)
            return mf_wrap(e, "Error adding %s export \"%s\"",
                           oa->exports[i].service ? "service" : "stream", oa->exports[i].subject);
    }
    return 0;
}

/* As JetStream itself decides: $G has it where no other account is configured. */
static bool has_jetstream(const struct account *a, const struct options *o,
                          const struct options_account *oa)
{
    if (!o->jetstream.enabled)
        return false;
    if (oa != NULL && oa->js.enabled)
        return true;
    if (strcmp(a->name, ACCOUNT_GLOBAL) != 0 || o->operator_set)
        return false;
    for (size_t i = 0; i < o->naccounts; i++)
        if (strcmp(o->accounts[i].name, ACCOUNT_GLOBAL) != 0 &&
            (o->system_account == NULL || strcmp(o->accounts[i].name, o->system_account) != 0))
            return false;
    return true;
}

/* default_js_domain: for accounts without JetStream alone. */
static const char *other_domain(const struct account *a, const struct options *o,
                                const struct options_account *oa)
{
    const char *domain = NULL;

    for (size_t i = 0; i < o->default_js_domains.n; i++)
        if (strcmp(o->default_js_domains.items[i].key, a->name) == 0)
            domain = o->default_js_domains.items[i].value;
    if (!is_text(domain))
        return NULL;
    if (has_jetstream(a, o, oa)) {
        log_warn("Skipping Default Domain \"%s\", set for JetStream enabled account \"%s\"", domain,
                 a->name);
        return NULL;
    }
    return domain;
}

/* The global account's own block counts only where the top level has no mappings. */
static int sharing_add_mappings(struct sharing *d, const struct account *a, const struct options *o,
                                const struct options_account *oa, bool system, struct mf_error *e)
{
    bool top = strcmp(a->name, ACCOUNT_GLOBAL) == 0 && o->nmappings > 0;
    struct mapping_place place = {.cluster = o->cluster.set ? o->cluster.name : NULL,
                                  .whole_domain = system};

    if (o->jetstream.enabled && is_text(o->jetstream.domain))
        place.domain = o->jetstream.domain;
    if (!system)
        place.other_domain = other_domain(a, o, oa);
    if (top)
        return mappings_new(&d->mappings, o->mappings, o->nmappings, &place, e);
    return mappings_new(&d->mappings, oa == NULL ? NULL : oa->mappings,
                        oa == NULL ? 0 : oa->nmappings, &place, e);
}

int sharing_new(struct sharing **out, struct account *a, const struct options *o,
                const struct options_account *oa, bool system, struct mf_error *e)
{
    struct sharing *d = calloc(1, sizeof *d);
    int rc = 0;

    if (d == NULL)
        return mf_fail(e, MF_NOMEM, "account %s", a->name);
    if (oa != NULL)
        rc = sharing_add_exports(d, a, oa, e);
    if (rc == 0)
        rc = sharing_add_mappings(d, a, o, oa, system, e);
    if (rc != 0) {
        sharing_free(d);
        return mf_wrap(e, "account %s", a->name);
    }
    *out = d;
    return 0;
}

static void stream_fini(struct stream_import *im)
{
    free(im->subject);
    free(im->local);
    transform_free(im->fwd);
    transform_free(im->rev);
}

static void service_fini(struct service_import *im)
{
    free(im->subject);
    free(im->local);
    transform_free(im->tr);
}

void sharing_free(struct sharing *d)
{
    if (d == NULL)
        return;
    for (size_t i = 0; i < d->nexports; i++) {
        free(d->exports[i].subject);
        free(d->exports[i].latency_subject);
    }
    for (size_t i = 0; i < d->nstreams; i++)
        stream_fini(&d->streams[i]);
    for (size_t i = 0; i < d->nservices; i++)
        service_fini(&d->services[i]);
    for (size_t i = 0; i < d->nfaults; i++)
        free(d->faults[i].why);
    free(d->faults);
    free(d->exports);
    free(d->streams);
    free(d->services);
    mappings_free(d->mappings);
    free(d);
}

/* --- permission to import --------------------------------------------------------------------- */

static bool in_list(const struct options_list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++) {
        if (strcmp(l->items[i], name) == 0)
            return true;
    }
    return false;
}

/* An export with a token position is for the account of that name: "x.*" allows A to import x.A. */
static bool is_import_allowed(const struct acc_export *x, const struct account *a,
                              const struct options_import *im)
{
    const struct options_export *o = x->options;
    const struct accounts *as = a->as;

    if (o->account_token_position > 0)
        return mf_eq_str(subject_token(mf_str(im->subject), o->account_token_position - 1),
                         a->name);
    return !o->restricted || in_list(&o->accounts, a->name) ||
           (as->gate != NULL && as->gate(as->gate_arg, x->owner, o, a, im));
}

static struct acc_export *export_for(struct sharing *d, const struct options_import *im,
                                     const struct account *a)
{
    struct mf_slice subject = mf_str(im->subject);
    struct acc_export *wider = NULL;

    for (size_t i = 0; i < d->nexports; i++) {
        struct acc_export *x = &d->exports[i];
        bool same = mf_eq_str(subject, x->subject);
        if (x->service != im->service || (!same && wider != NULL) ||
            !subject_is_subset(subject, mf_str(x->subject)) || !is_import_allowed(x, a, im))
            continue;
        if (same)
            return x;
        wider = x;
    }
    return wider;
}

/* --- local names ------------------------------------------------------------------------------ */

/* The local name as written: `to`, or prefix.subject, or the same. */
static char *local_text(const struct options_import *o)
{
    size_t np = !o->service && is_text(o->prefix) ? strlen(o->prefix) : 0;
    size_t cap = np + strlen(o->subject) + 2;
    char *text;

    if (np == 0)
        return mf_slice_dup(mf_str(is_text(o->to) ? o->to : o->subject));
    text = malloc(cap);
    if (text != NULL)
        snprintf(text, cap, "%s%s%s", o->prefix, o->prefix[np - 1] == '.' ? "" : ".", o->subject);
    return text;
}

/* From "a.*.$2" to the transform's form and to the pattern.  Both are as long as a wildcard() is
 * for each token at most. */
static int both_forms(const char *written, char **tokenized, char **pattern)
{
    size_t cap = strlen(written) * 16 + 64;
    ssize_t n, m;

    *tokenized = malloc(cap);
    *pattern = malloc(cap);
    if (*tokenized != NULL && *pattern != NULL &&
        (n = transform_tokenize(mf_str(written), *tokenized, cap - 1)) >= 0 &&
        (m = transform_untokenize(mf_str(written), *pattern, cap - 1)) >= 0) {
        (*tokenized)[n] = '\0';
        (*pattern)[m] = '\0';
        return 0;
    }
    free(*tokenized);
    free(*pattern);
    *tokenized = *pattern = NULL;
    return MF_NOMEM;
}

/* For an exported subject with wildcards and another local name: *fwd transforms the exported
 * subject to the local one, and *local becomes a plain pattern. */
static int make_transform(struct transform **fwd, const char *kind, const char *subject,
                          char **local, struct mf_error *e)
{
    char *tokenized, *pattern;
    int rc;

    if (both_forms(*local, &tokenized, &pattern) != 0)
        return mf_fail(e, MF_NOMEM, "import");
    rc = transform_new_strict(fwd, mf_str(subject), mf_str(tokenized), e);
    if (rc == 0) {
        free(*local);
        *local = pattern;
    } else {
        bool service = kind[1] == 'e';
        rc = mf_wrap(
            e, "failed to create mapping transform for %s import subject from \"%s\" to \"%s\"",
            kind, service ? *local : subject, service ? subject : *local);
        free(pattern);
    }
    free(tokenized);
    return rc;
}

static int stream_init(struct stream_import *im, const struct options_import *o, struct mf_error *e)
{
    int rc;

    im->subject = mf_slice_dup(mf_str(o->subject));
    im->local = local_text(o);
    if (im->subject == NULL || im->local == NULL)
        return mf_fail(e, MF_NOMEM, "import");
    if (is_text(o->prefix) && subject_has_wildcard(mf_str(o->prefix)))
        return mf_fail(e, MF_INVAL, "stream import prefix can not contain wildcard tokens");
    im->same = strcmp(im->local, im->subject) == 0;
    if (!im->same && subject_has_wildcard(mf_str(im->subject))) {
        rc = make_transform(&im->fwd, "stream", im->subject, &im->local, e);
        if (rc != 0)
            return rc;
        im->rev = transform_reverse(im->fwd); /* NULL: deliveries are checked one by one */
    }
    if (!subject_valid(mf_str(im->local)))
        return mf_fail(e, MF_INVAL, "invalid subject");
    return 0;
}

static int service_init(struct service_import *im, const struct options_import *o,
                        struct mf_error *e)
{
    struct transform *fwd;
    int rc;

    im->subject = mf_slice_dup(mf_str(o->subject));
    im->local = local_text(o);
    im->share = o->share;
    if (im->subject == NULL || im->local == NULL)
        return mf_fail(e, MF_NOMEM, "import");
    im->same = strcmp(im->local, im->subject) == 0;
    if (!im->same && subject_has_wildcard(mf_str(im->subject))) {
        rc = make_transform(&fwd, "service", im->subject, &im->local, e);
        if (rc != 0)
            return rc;
        im->tr = transform_reverse(fwd);
        transform_free(fwd);
        if (im->tr == NULL)
            return mf_fail(e, MF_INVAL,
                           "invalid mapping destination: not using all of the token wildcard(s)");
    }
    if (!subject_valid(mf_str(im->local)))
        return mf_fail(e, MF_INVAL, "invalid subject");
    return 0;
}

/* --- imports ---------------------------------------------------------------------------------- */

static int import_add(struct sharing *d, struct account *a, const struct options_import *o,
                      struct mf_error *e)
{
    const char *kind = o->service ? "service" : "stream";
    struct account *from = accounts_get(a->as, o->account);
    struct sharing *theirs = from == NULL ? NULL : plan_exports_of(from);
    struct acc_export *x;

    if (theirs == NULL)
        return mf_fail(e, MF_NOTFOUND, "\"%s\" account not defined for %s import", o->account,
                       kind);
    if (!subject_valid(mf_str(o->subject)))
        return mf_fail(e, MF_INVAL, "Error adding %s import \"%s\": invalid subject", kind,
                       o->subject);
    x = export_for(theirs, o, a);
    if (x == NULL)
        return mf_fail(e, MF_DENIED, "Error adding %s import \"%s\": %s import not authorized",
                       kind, o->subject, kind);
    if (o->service) {
        struct service_import *im = &d->services[d->nservices++];
        im->importer = a;
        im->exporter = from;
        im->export = x;
        im->options = o;
        return service_init(im, o, e) == 0
                   ? 0
                   : mf_wrap(e, "Error adding service import \"%s\"", o->subject);
    }
    struct stream_import *im = &d->streams[d->nstreams++];
    im->importer = a;
    im->exporter = from;
    im->options = o;
    return stream_init(im, o, e) == 0 ? 0
                                      : mf_wrap(e, "Error adding stream import \"%s\"", o->subject);
}

/* Compares the newest import with those before it. */
static int check_duplicate(const struct sharing *d, bool service, struct mf_error *e)
{
    if (service) {
        const struct service_import *last = &d->services[d->nservices - 1];
        for (size_t i = 0; i + 1 < d->nservices; i++) {
            const struct service_import *im = &d->services[i];
            if (im->exporter == last->exporter && strcmp(im->local, last->local) == 0)
                return mf_fail(e, MF_EXISTS,
                               "Duplicate service import subject \"%s\", previously used in import "
                               "for account \"%s\", subject \"%s\"",
                               last->local, im->exporter->name, im->subject);
        }
        return 0;
    }
    const struct stream_import *last = &d->streams[d->nstreams - 1];
    for (size_t i = 0; i + 1 < d->nstreams; i++) {
        const struct stream_import *im = &d->streams[i];
        if (im->exporter == last->exporter && strcmp(im->subject, last->subject) == 0)
            return mf_fail(e, MF_EXISTS,
                           "Error adding stream import \"%s\": stream import already exists",
                           last->subject);
    }
    return 0;
}

/* An account without JetStream that imports the API of another account: the plain name leads to the
 * import, and the prefix of the domain leads nowhere. */
static void find_hidden_domain(struct sharing *d, const struct options_account *oa)
{
    d->hides_domain = false;
    if (oa->js.enabled)
        return;
    for (size_t i = 0; i < d->nservices && !d->hides_domain; i++)
        d->hides_domain = subject_match(mf_str(d->services[i].local), MF_LIT("$JS.API.INFO"));
}

/* --- imports that cannot be made now ---------------------------------------------------------- */

/* Whether the account has had the import under the same configuration. */
static bool was_made(const struct account *a, const struct options_import *o)
{
    const struct sharing *d = a->sharing;

    if (d == NULL)
        return false;
    for (size_t i = 0; o->service && i < d->nservices; i++)
        if (d->services[i].options == o)
            return true;
    for (size_t i = 0; !o->service && i < d->nstreams; i++)
        if (d->streams[i].options == o)
            return true;
    for (size_t i = 0; i < d->nfaults; i++)
        if (d->faults[i].options == o)
            return d->faults[i].was_made;
    return false;
}

static int add_fault(struct sharing *d, const struct account *a, const struct options_import *o,
                     const struct mf_error *why, struct mf_error *e)
{
    char *text = mf_slice_dup(mf_str(why->text));

    if (text == NULL)
        return mf_fail(e, MF_NOMEM, "imports");
    d->faults[d->nfaults++] = (struct import_fault){o, was_made(a, o), text};
    return 0;
}

/* Frees what import_add() began. */
static void drop_last(struct sharing *d, const struct options_import *o)
{
    if (o->service && d->nservices > 0 && d->services[d->nservices - 1].options == o) {
        struct service_import *im = &d->services[--d->nservices];
        service_fini(im);
        *im = (struct service_import){0};
    }
    if (!o->service && d->nstreams > 0 && d->streams[d->nstreams - 1].options == o) {
        struct stream_import *im = &d->streams[--d->nstreams];
        stream_fini(im);
        *im = (struct stream_import){0};
    }
}

int sharing_drop_cycles(struct sharing *d, struct account *a, struct mf_error *e)
{
    struct mf_error why;

    for (size_t i = d->nservices; i-- > 0;) {
        struct service_import *im = &d->services[i];
        if (!service_cycles(im))
            continue;
        mf_fail(&why, MF_INVAL, "Error adding service import \"%s\": import forms a cycle",
                im->subject);
        if (add_fault(d, a, im->options, &why, e) != 0)
            return e->code;
        service_fini(im);
        memmove(im, im + 1, (--d->nservices - i) * sizeof *im);
    }
    for (size_t i = d->nstreams; i-- > 0;) {
        struct stream_import *im = &d->streams[i];
        if (!stream_cycles(im))
            continue;
        mf_fail(&why, MF_INVAL, "Error adding stream import \"%s\": import forms a cycle",
                im->subject);
        if (add_fault(d, a, im->options, &why, e) != 0)
            return e->code;
        stream_fini(im);
        memmove(im, im + 1, (--d->nstreams - i) * sizeof *im);
    }
    return 0;
}

int sharing_add_imports(struct sharing *d, struct account *a, const struct options_account *oa,
                        bool patient, struct mf_error *e)
{
    d->streams = calloc(oa->nimports + 1, sizeof *d->streams);
    d->services = calloc(oa->nimports + 1, sizeof *d->services);
    d->faults = calloc(oa->nimports + 1, sizeof *d->faults);
    if (d->streams == NULL || d->services == NULL || d->faults == NULL)
        return mf_fail(e, MF_NOMEM, "imports");
    for (size_t i = 0; i < oa->nimports; i++) {
        const struct options_import *o = &oa->imports[i];
        struct mf_error why;
        if (import_add(d, a, o, &why) == 0 && check_duplicate(d, o->service, &why) == 0)
            continue;
        if (patient && why.code != MF_NOMEM) {
            drop_last(d, o);
            if (add_fault(d, a, o, &why, e) != 0)
                return e->code;
            continue;
        }
        if (e != NULL)
            *e = why;
        if (o->file != NULL)
            return mf_wrap(e, "%s:%d:%d", o->file, o->line, o->col);
        return mf_wrap(e, "account %s", a->name);
    }
    find_hidden_domain(d, oa);
    return 0;
}

void sharing_swap_imports(struct sharing *a, struct sharing *b)
{
    struct sharing was = *a;

    a->streams = b->streams;
    a->nstreams = b->nstreams;
    a->services = b->services;
    a->nservices = b->nservices;
    a->faults = b->faults;
    a->nfaults = b->nfaults;
    a->hides_domain = b->hides_domain;
    b->streams = was.streams;
    b->nstreams = was.nstreams;
    b->services = was.services;
    b->nservices = was.nservices;
    b->faults = was.faults;
    b->nfaults = was.nfaults;
}
