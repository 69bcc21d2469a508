/* policy_patterns.c: patterns by name, and the entries of the server's configuration. */
#include "ttl/policy_keys.h"

#include "base/clock.h"

#include <stdlib.h>

#define DAY ((int64_t)86400 * CLOCK_S)

static const struct policy_pattern built_in[] = {
    {"cache", 900 * CLOCK_S}, {"graph", TTL_NEVER}, {"keyvalue", 30 * DAY},   {"object", 90 * DAY},
    {"pubsub", TTL_NONE},     {"session", DAY},     {"timeseries", 90 * DAY}, {"vector", 90 * DAY},
};

static const struct policy_pattern *find_pattern(const struct policy_pattern *in, size_t n,
                                                 const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(in[i].name, name) == 0)
            return &in[i];
    return NULL;
}

bool policy_pattern_find(const struct policy_server *srv, const char *name, int64_t *ttl)
{
    const struct policy_pattern *p = NULL;

    if (srv != NULL)
        p = find_pattern(srv->patterns, srv->npatterns, name);
    if (p == NULL)
        p = find_pattern(built_in, MF_COUNT(built_in), name);
    if (p == NULL)
        return false;
    *ttl = p->ttl;
    return true;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *policy_pattern_names(const struct policy_server *srv, struct arena *mem)
{
    size_t own = srv == NULL ? 0 : srv->npatterns, n = 0, bytes = 1;
    const char **names = arena_alloc(mem, (own + MF_COUNT(built_in)) * sizeof *names);
    char *text, *at;

    if (names == NULL)
        return NULL;
    for (size_t i = 0; i < MF_COUNT(built_in); i++)
        names[n++] = built_in[i].name;
    for (size_t i = 0; i < own; i++)
        if (find_pattern(built_in, MF_COUNT(built_in), srv->patterns[i].name) == NULL)
            names[n++] = srv->patterns[i].name;
    qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 0; i < n; i++)
        bytes += strlen(names[i]) + 2;
    if ((at = text = arena_alloc(mem, bytes)) == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            at = mempcpy(at, ", ", 2);
        at = mempcpy(at, names[i], strlen(names[i]));
    }
    return text;
}

/* On a mismatch the last '*' takes one byte more; earlier ones are never tried again. */
static bool match_name(const char *pattern, const char *name)
{
    const char *star = NULL, *from = NULL;

    while (*name != '\0') {
        if (*pattern == '*') {
            star = pattern++;
            from = name;
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (star != NULL) {
            pattern = star + 1;
            name = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

bool policy_namespace_matches(const struct policy_namespace *n, const char *account,
                              const char *stream, bool memory)
{
    if (n->storage != POLICY_STORAGE_ANY && (n->storage == POLICY_STORAGE_MEMORY) != memory)
        return false;
    if (n->account != NULL && (account == NULL || strcmp(n->account, account) != 0))
        return false;
    return n->stream == NULL || match_name(n->stream, stream);
}
