/* mapping.c: subject mappings of an account.
 *
 * Literal sources are found by bisection, patterns are tried in the order of the configuration
 * (nats-server tries them in no particular order).  Destinations have weights in percent; the share
 * missing to 100 keeps the subject, unless the source is among the destinations: then those
 * messages are dropped on purpose.
 *
 * The JetStream API under the server's own domain, `$JS.<domain>.API.>`, is one more mapping, tried
 * last, as in nats-server: permissions apply to the plain name.  `$MAYFLY.<domain>.TTL.>` is
 * another. */
#include "account/account_impl.h"

#include "base/rand.h"
#include "subject/subject.h"

#include <stdio.h>
#include <stdlib.h>

struct dest {
    struct transform *tr; /* NULL: the subject stays as it is */
    double until;         /* chosen by a random number below this and not below the one before */
};

struct mapping {
    struct mf_slice source; /* points into `text` */
    char *text;
    bool pattern;
    size_t order; /* of patterns, in the configuration */
    struct dest *dests;
    size_t ndests;
};

struct mappings {
    struct mapping *items; /* literals first, sorted; then patterns */
    size_t n, nliterals;
    char *domain;      /* "$JS.<domain>.API.", or NULL */
    char *hidden;      /* the same while a service import takes its place */
    bool whole_domain; /* every subject behind it; else only those of `domain_names` */
    char *ttl_domain;  /* "$MAYFLY.<domain>.TTL.", or NULL */
    char *other;       /* "$JS.<other domain>.API.", where the plain names lead, or NULL */
};

static void mapping_fini(struct mapping *m)
{
    for (size_t i = 0; i < m->ndests; i++)
        transform_free(m->dests[i].tr);
    free(m->dests);
    free(m->text);
}

void mappings_free(struct mappings *m)
{
    if (m == NULL)
        return;
    for (size_t i = 0; i < m->n; i++)
        mapping_fini(&m->items[i]);
    free(m->items);
    free(m->domain);
    free(m->hidden);
    free(m->ttl_domain);
    free(m->other);
    free(m);
}

/* --- compiling -------------------------------------------------------------------------------- */

static bool same_cluster(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

/* Destinations of this cluster if there are any, else those for all clusters. */
static const char *choose_cluster(const struct options_mapping *o, const char *cluster)
{
    if (cluster == NULL || cluster[0] == '\0')
        return NULL;
    for (size_t i = 0; i < o->ndests; i++) {
        if (same_cluster(o->dests[i].cluster, cluster))
            return cluster;
    }
    return NULL;
}

static int check_dests(const struct options_mapping *o, bool *has_source, struct mf_error *e)
{
    *has_source = false;
    for (size_t i = 0; i < o->ndests; i++) {
        const struct options_mapping_dest *d = &o->dests[i];
        double total = 0;
        if (!(d->weight >= 0 && d->weight <= 100))
            return mf_fail(e, MF_INVAL, "individual weights need to be <= 100");
        for (size_t k = 0; k <= i; k++) {
            if (k < i && strcmp(o->dests[k].subject, d->subject) == 0)
                return mf_fail(e, MF_EXISTS, "duplicate entry for \"%s\"", d->subject);
            if (same_cluster(o->dests[k].cluster, d->cluster))
                total += o->dests[k].weight;
        }
        if (total > 100)
            return mf_fail(e, MF_INVAL, "total weight needs to be <= 100");
        *has_source |= strcmp(d->subject, o->source) == 0;
    }
    return 0;
}

static int mapping_compile(struct mapping *m, const struct options_mapping *o, const char *cluster,
                           struct mf_error *e)
{
    const char *wanted = choose_cluster(o, cluster);
    double sum = 0;
    bool has_source;

    if (!subject_valid(mf_str(o->source)))
        return mf_fail(e, MF_INVAL, "invalid subject");
    if (check_dests(o, &has_source, e) != 0)
        return e->code;
    m->text = mf_slice_dup(mf_str(o->source));
    m->dests = calloc(o->ndests + 1, sizeof *m->dests);
    if (m->text == NULL || m->dests == NULL)
        return mf_fail(e, MF_NOMEM, "mapping");
    m->source = mf_str(m->text);
    m->pattern = subject_has_wildcard(m->source);
    for (size_t i = 0; i < o->ndests; i++) {
        const struct options_mapping_dest *d = &o->dests[i];
        struct transform *tr;
        int rc = transform_new(&tr, m->source, mf_str(d->subject), e);
        if (rc != 0)
            return rc;
        if (!same_cluster(d->cluster, wanted)) {
            transform_free(tr);
            continue;
        }
        sum += d->weight;
        m->dests[m->ndests++] = (struct dest){tr, sum};
    }
    if (sum < 100 && !has_source)
        m->dests[m->ndests++] = (struct dest){NULL, 100};
    return 0;
}

static int by_kind_and_name(const void *x, const void *y)
{
    const struct mapping *a = x, *b = y;

    if (a->pattern != b->pattern)
        return a->pattern ? 1 : -1;
    return a->pattern ? (a->order > b->order) - (a->order < b->order) : strcmp(a->text, b->text);
}

static char *domain_prefix(const char *before, const char *domain, const char *behind)
{
    size_t cap = strlen(before) + strlen(domain) + strlen(behind) + 1;
    char *text = malloc(cap);

    if (text != NULL)
        snprintf(text, cap, "%s%s%s", before, domain, behind);
    return text;
}

/* Domains whose name is a word of the plain subjects would hide those. */
static bool names_ttl_domain(const char *domain)
{
    return strcmp(domain, "TTL") != 0 && strcmp(domain, "EVENT") != 0;
}

static int set_domain(struct mappings *m, const struct mapping_place *place)
{
    const char *domain = place->domain;

    m->whole_domain = place->whole_domain;
    if (place->other_domain != NULL &&
        (m->other = domain_prefix("$JS.", place->other_domain, ".API.")) == NULL)
        return MF_NOMEM;
    if (domain == NULL)
        return 0;
    m->domain = domain_prefix("$JS.", domain, ".API.");
    if (!place->whole_domain && names_ttl_domain(domain) &&
        (m->ttl_domain = domain_prefix("$MAYFLY.", domain, ".TTL.")) == NULL)
        return MF_NOMEM;
    return m->domain == NULL ? MF_NOMEM : 0;
}

int mappings_new(struct mappings **out, const struct options_mapping *list, size_t n,
                 const struct mapping_place *place, struct mf_error *e)
{
    const char *cluster = place->cluster;
    struct mappings *m;

    *out = NULL;
    if (n == 0 && place->domain == NULL && place->other_domain == NULL)
        return 0;
    m = calloc(1, sizeof *m);
    if (m == NULL || (m->items = calloc(n + 1, sizeof *m->items)) == NULL ||
        set_domain(m, place) != 0) {
        mappings_free(m);
        return mf_fail(e, MF_NOMEM, "mappings");
    }
    for (size_t i = 0; i < n; i++) {
        m->n = i + 1;
        m->items[i].order = i;
        if (mapping_compile(&m->items[i], &list[i], cluster, e) != 0) {
            mappings_free(m);
            return mf_wrap(e, "Error adding mapping for \"%s\"", list[i].source);
        }
        m->nliterals += !m->items[i].pattern;
    }
    qsort(m->items, n, sizeof *m->items, by_kind_and_name);
    *out = m;
    return 0;
}

/* --- applying --------------------------------------------------------------------------------- */

static const struct mapping *literal_find(const struct mappings *m, struct mf_slice subject)
{
    size_t lo = 0, hi = m->nliterals;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        struct mf_slice s = m->items[mid].source;
        size_t n = s.len < subject.len ? s.len : subject.len;
        int d = memcmp(s.ptr, subject.ptr, n);
        if (d == 0 && s.len == subject.len)
            return &m->items[mid];
        if (d < 0 || (d == 0 && s.len < subject.len))
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

static const struct mapping *find_mapping(const struct mappings *m, struct mf_slice subject)
{
    const struct mapping *literal = subject.len > 0 ? literal_find(m, subject) : NULL;

    if (literal != NULL)
        return literal;
    for (size_t i = m->nliterals; i < m->n; i++) {
        if (subject_is_subset(subject, m->items[i].source))
            return &m->items[i];
    }
    return NULL;
}

static const struct dest *draw_weight(const struct mapping *m)
{
    double at;

    if (m->ndests == 1 && m->dests[0].until >= 100)
        return &m->dests[0];
    at = (double)(rand_fast() >> 11) * 0x1p-53 * 100;
    for (size_t i = 0; i < m->ndests; i++) {
        if (at < m->dests[i].until)
            return &m->dests[i];
    }
    return NULL;
}

const char *mappings_domain(const struct mappings *m)
{
    return m == NULL ? NULL : m->domain;
}

/* Behind `$JS.<domain>.API.`: these lead to `$JS.API.`, $KV and $OBJ to themselves. */
static const char *const domain_names[] = {"STREAM.", "CONSUMER.", "DIRECT.",
                                           "META.",   "SERVER.",   "ACCOUNT."};

static bool domain_knows(const struct mappings *m, struct mf_slice rest)
{
    if (m->whole_domain || mf_eq_str(rest, "INFO"))
        return true;
    for (size_t i = 0; i < MF_COUNT(domain_names); i++)
        if (mf_starts(rest, domain_names[i]))
            return true;
    return false;
}

static ssize_t join_subject(struct mf_slice to, struct mf_slice rest, char *dst, size_t cap)
{
    if (to.len + rest.len > cap)
        return MF_LIMIT;
    memcpy(dst, to.ptr, to.len);
    memcpy(dst + to.len, rest.ptr, rest.len);
    return (ssize_t)(to.len + rest.len);
}

static ssize_t ttl_domain_apply(const struct mappings *m, struct mf_slice subject, char *dst,
                                size_t cap)
{
    if (m->ttl_domain == NULL || !mf_starts(subject, m->ttl_domain))
        return 0;
    return join_subject(
        MF_LIT("$MAYFLY.TTL."),
        mf_slice(subject.ptr + strlen(m->ttl_domain), subject.len - strlen(m->ttl_domain)), dst,
        cap);
}

/* The plain names, of the API and of keys and objects, lead to the other domain. */
static ssize_t other_apply(const struct mappings *m, struct mf_slice subject, char *dst, size_t cap)
{
    static const struct mf_slice api = MF_LIT("$JS.API.");

    if (mf_starts(subject, "$JS.API."))
        return join_subject(mf_str(m->other),
                            mf_slice(subject.ptr + api.len, subject.len - api.len), dst, cap);
    if (mf_starts(subject, "$KV.") || mf_starts(subject, "$OBJ."))
        return join_subject(mf_str(m->other), subject, dst, cap);
    return 0;
}

static ssize_t domain_apply(const struct mappings *m, struct mf_slice subject, char *dst,
                            size_t cap)
{
    struct mf_slice to = MF_LIT("$JS.API."), rest;

    if (m->other != NULL) {
        ssize_t n = other_apply(m, subject, dst, cap);
        if (n != 0)
            return n;
    }

    if (m->domain == NULL || !mf_starts(subject, m->domain))
        return ttl_domain_apply(m, subject, dst, cap);
    rest = mf_slice(subject.ptr + strlen(m->domain), subject.len - strlen(m->domain));
    if (!m->whole_domain && (mf_starts(rest, "$KV.") || mf_starts(rest, "$OBJ.")))
        to.len = 0;
    else if (!domain_knows(m, rest))
        return 0;
    return join_subject(to, rest, dst, cap);
}

static void visit_prefix(const char *prefix, void (*visit)(void *v, struct mf_slice pattern),
                         void *v)
{
    char *pattern = prefix == NULL ? NULL : domain_prefix(prefix, ">", "");

    if (pattern != NULL)
        visit(v, mf_str(pattern));
    free(pattern);
}

void mappings_each(const struct mappings *m, void (*visit)(void *v, struct mf_slice pattern),
                   void *v)
{
    if (m == NULL)
        return;
    for (size_t i = 0; i < m->n; i++)
        visit(v, m->items[i].source);
    visit_prefix(m->domain, visit, v);
    visit_prefix(m->ttl_domain, visit, v);
}

bool mappings_concern(const struct mappings *m, struct mf_slice subject)
{
    return m->n > 0 || ((m->domain != NULL || m->ttl_domain != NULL || m->other != NULL) &&
                        subject.len > 0 && subject.ptr[0] == '$');
}

void mappings_hide_domain(struct mappings *m, bool hidden)
{
    char **from = hidden ? &m->domain : &m->hidden, **to = hidden ? &m->hidden : &m->domain;

    if (*from == NULL)
        return;
    *to = *from;
    *from = NULL;
}

ssize_t mappings_apply(const struct mappings *m, struct mf_slice subject, char *dst, size_t cap)
{
    const struct mapping *found = find_mapping(m, subject);
    const struct dest *d;
    ssize_t n;

    if (found == NULL)
        return domain_apply(m, subject, dst, cap);
    d = draw_weight(found);
    if (d == NULL)
        return MF_NOTFOUND;
    if (d->tr == NULL)
        return 0;
    n = transform_apply(d->tr, subject, dst, cap);
    return n == MF_INVAL ? MF_NOTFOUND : n; /* an empty result reaches nobody */
}
