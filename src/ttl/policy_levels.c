/* policy_levels.c: the keys of each level for one stream, checked in the documented order: unknown
 * keys, durations, words, pattern, bounds, the server's bounds | rules | scope, on_expire, links,
 * floor of markers, counter. */
#include "ttl/policy_impl.h"

#include "ttl/policy_keys_impl.h"
#include "base/clock.h"
#include "subject/subject.h"

/* --- reading ---------------------------------------------------------------------------------- */

/* The key of this pair without the prefix; false: it is none of ours. */
static bool strip_prefix(const struct json_pair *p, struct mf_slice *name)
{
    struct mf_slice key = mf_str(p->key);

    if (!mf_starts(key, POLICY_PREFIX))
        return false;
    *name = mf_slice(key.ptr + strlen(POLICY_PREFIX), key.len - strlen(POLICY_PREFIX));
    return true;
}

static int refuse_unknown(struct mf_slice name, struct mf_error *e)
{
    const char *near = policy_keys_suggest(name);
    char shown[KEYS_SHOWN];

    policy_keys_shown(shown, name);
    if (near == NULL)
        return mf_fail(e, MF_INVAL, "unknown TTL policy key \"" POLICY_PREFIX "%s\"", shown);
    return mf_fail(e, MF_INVAL,
                   "unknown TTL policy key \"" POLICY_PREFIX "%s\"; did you mean \"" POLICY_PREFIX
                   "%s\"?",
                   shown, near);
}

/* The values by key; an empty slice: not set. */
static int find_values(struct mf_slice values[POLICY_KEYS], const struct json_map *metadata,
                       struct mf_error *e)
{
    enum policy_key k;

    for (size_t i = 0; metadata != NULL && i < metadata->n; i++) {
        struct mf_slice name;

        if (!strip_prefix(&metadata->at[i], &name))
            continue;
        if (!policy_key_find(name, &k))
            return refuse_unknown(name, e);
        values[k] = mf_str(metadata->at[i].value);
    }
    return 0;
}

static int read_values(struct levels *l, const struct mf_slice values[POLICY_KEYS],
                       bool (*wanted)(enum policy_key k), struct arena *mem, struct mf_error *e)
{
    for (unsigned k = 0; k < POLICY_RULES; k++) {
        char name[sizeof POLICY_PREFIX + 16] = POLICY_PREFIX;
        int rc;

        if (!wanted((enum policy_key)k))
            continue;
        strncat(name, policy_key_name((enum policy_key)k), 16);
        rc = policy_key_read(&l->own, (enum policy_key)k, name, values[k], mem, e);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static bool is_text(enum policy_key k)
{
    return !policy_keys_is_word(k) && !policy_keys_is_duration(k);
}

static int read_own(struct levels *l, const struct json_map *metadata, struct arena *mem,
                    struct mf_error *e)
{
    struct mf_slice values[POLICY_KEYS] = {{NULL, 0}};
    int rc;

    if ((rc = find_values(values, metadata, e)) != 0 ||
        (rc = read_values(l, values, policy_keys_is_duration, mem, e)) != 0 ||
        (rc = read_values(l, values, policy_keys_is_word, mem, e)) != 0 ||
        (rc = read_values(l, values, is_text, mem, e)) != 0)
        return rc;
    l->rules = values[POLICY_RULES];
    for (unsigned k = 0; k < POLICY_KEYS; k++)
        l->any_own = l->any_own || values[k].len > 0;
    return 0;
}

static void find_entry(struct levels *l, const struct policy_stream *s,
                       const struct policy_server *srv)
{
    if (srv == NULL || !srv->set)
        return;
    l->block = &srv->keys;
    for (size_t i = 0; i < srv->nnamespaces; i++)
        if (policy_namespace_matches(&srv->namespaces[i], s->account, s->name, s->memory)) {
            l->entry = &srv->namespaces[i].keys;
            l->entry_no = (unsigned)i + 1;
            return;
        }
}

static void find_operator(struct levels *l)
{
    l->operator_max = POLICY_UNSET;
    if (l->entry != NULL && l->entry->never != POLICY_NEVER_UNSET)
        l->operator_never = l->entry->never;
    else if (l->block != NULL)
        l->operator_never = l->block->never;
    if (l->entry != NULL && l->entry->max_ns > 0)
        l->operator_max = l->entry->max_ns;
    else if (l->block != NULL && l->block->max_ns > 0)
        l->operator_max = l->block->max_ns;
}

int policy_levels_read(struct levels *l, const struct policy_stream *s,
                       const struct policy_server *srv, struct arena *mem, struct mf_error *e)
{
    *l = (struct levels){.own = POLICY_KEYS_INIT};
    find_entry(l, s, srv);
    find_operator(l);
    return read_own(l, s->metadata, mem, e);
}

/* --- checks before the rules ------------------------------------------------------------------ */

static int check_pattern(const struct levels *l, const struct policy_stream *s,
                         const struct policy_server *srv, struct mf_error *e)
{
    struct arena mem = {0};
    char shown[KEYS_SHOWN];
    const char *names;
    int64_t ttl;

    if (l->own.pattern == NULL || s->stored || policy_pattern_find(srv, l->own.pattern, &ttl))
        return 0;
    names = policy_pattern_names(srv, &mem);
    mf_fail(e, MF_INVAL, POLICY_PREFIX "pattern: no pattern \"%s\"; known: %s",
            policy_keys_shown(shown, mf_str(l->own.pattern)), names == NULL ? "" : names);
    arena_fini(&mem);
    return MF_INVAL;
}

static int refuse_order(const char *key, int64_t value, const char *than, const char *what,
                        int64_t limit, struct mf_error *e)
{
    char a[POLICY_TEXT], b[POLICY_TEXT];

    return mf_fail(e, MF_INVAL, POLICY_PREFIX "%s %s is %s %s %s", key, policy_ttl_text(a, value),
                   than, what, policy_ttl_text(b, limit));
}

static int check_own_bounds(const struct policy_keys *k, struct mf_error *e)
{
    if (k->min_ns > 0 && k->max_ns > 0 && k->min_ns > k->max_ns)
        return refuse_order("min", k->min_ns, "above", POLICY_PREFIX "max", k->max_ns, e);
    if (k->default_ttl > 0 && k->max_ns > 0 && k->default_ttl > k->max_ns)
        return refuse_order("default", k->default_ttl, "above", POLICY_PREFIX "max", k->max_ns, e);
    if (k->default_ttl > 0 && k->min_ns > 0 && k->default_ttl < k->min_ns)
        return refuse_order("default", k->default_ttl, "below", POLICY_PREFIX "min", k->min_ns, e);
    return 0;
}

/* The operator allows the patterns of the server's configuration, even one that gives `never`;
 * built-in ones not. */
bool policy_levels_pattern_evades(const char *pattern, const struct policy_server *srv)
{
    int64_t ttl;

    if (pattern == NULL)
        return false;
    for (size_t i = 0; i < srv->npatterns; i++)
        if (strcmp(srv->patterns[i].name, pattern) == 0)
            return false;
    return policy_pattern_find(NULL, pattern, &ttl) && ttl == TTL_NEVER;
}

static int check_operator(const struct levels *l, const struct policy_server *srv,
                          struct mf_error *e)
{
    const struct policy_keys *k = &l->own;
    const struct {
        const char *name;
        int64_t ns;
    } own[] = {{"max", k->max_ns}, {"min", k->min_ns}, {"default", k->default_ttl}};

    for (size_t i = 0; l->operator_max > 0 && i < MF_COUNT(own); i++)
        if (own[i].ns > l->operator_max)
            return refuse_order(own[i].name, own[i].ns, "above", "the server's", l->operator_max,
                                e);
    if (l->operator_never == POLICY_NEVER_DENY &&
        (k->never == POLICY_NEVER_ALLOW || k->default_ttl == TTL_NEVER ||
         policy_levels_pattern_evades(k->pattern, srv)))
        return mf_fail(e, MF_INVAL, "never is not allowed here by the server");
    return 0;
}

int policy_levels_check(const struct levels *l, const struct policy_stream *s,
                        const struct policy_server *srv, struct mf_error *e)
{
    int rc;

    if ((rc = check_pattern(l, s, srv, e)) != 0 || (rc = check_own_bounds(&l->own, e)) != 0)
        return rc;
    return s->stored ? 0 : check_operator(l, srv, e);
}

/* --- checks behind the rules ------------------------------------------------------------------ */

bool policy_levels_scope_fits(const struct policy_stream *s)
{
    return s->limits_retention && s->max_msgs_per_subject >= 1 &&
           s->max_msgs_per_subject <= POLICY_HISTORY_MAX;
}

/* The first subject of a dead letter that the stream does not have, in mem: 1; 0: there is none. */
static int find_stray_letter(struct subjects *subjects, const char *prefix, struct arena *mem,
                             const char **letter)
{
    const char *under = arena_printf(mem, "%s.>", prefix);

    for (size_t i = 0; subjects->list != NULL && i < subjects->list->n; i++) {
        const char *subject = subjects->list->at[i];
        int rc;

        if (under == NULL)
            return MF_NOMEM;
        if (subject_is_subset(mf_str(subject), mf_str(under)))
            continue;
        if ((*letter = arena_printf(mem, "%s.%s", prefix, subject)) == NULL)
            return MF_NOMEM;
        rc = policy_subjects_cover(subjects, mf_str(*letter));
        if (rc != 1)
            return rc == MF_NOMEM ? rc : 1; /* or the check would take too long */
    }
    return 0;
}

static int check_letters(struct levels *l, struct subjects *subjects, struct mf_error *e)
{
    const char *prefix = l->own.on_expire, *stray = NULL;
    struct arena mem = {0};
    int rc = 0;

    if (prefix == NULL && l->entry != NULL)
        prefix = l->entry->on_expire;
    if (prefix != NULL)
        rc = find_stray_letter(subjects, prefix, &mem, &stray);
    l->letters_fit = rc == 0;
    if (rc == 1 && l->own.on_expire == NULL)
        rc = 0; /* an entry is written for many streams */
    if (rc == 1)
        rc = mf_fail(e, MF_INVAL,
                     POLICY_PREFIX "on_expire: \"%s\" is not within the stream's subjects", stray);
    else if (rc != 0)
        rc = mf_fail(e, MF_NOMEM, POLICY_PREFIX "on_expire");
    arena_fini(&mem);
    return rc;
}

bool policy_levels_need_subjects(const struct levels *l)
{
    return l->rules.len > 0 || l->own.on_expire != NULL ||
           (l->entry != NULL && l->entry->on_expire != NULL);
}

/* A counter may only say enforce: off. */
static bool only_off(const struct levels *l)
{
    const struct policy_keys *k = &l->own;

    return k->enforce == POLICY_ENFORCE_OFF && l->rules.len == 0 &&
           k->default_ttl == POLICY_UNSET && k->pattern == NULL && k->min_ns == POLICY_UNSET &&
           k->max_ns == POLICY_UNSET && k->warn_ns == POLICY_UNSET && k->on_expire == NULL &&
           k->bounds == 0 && k->never == 0 && k->scope == 0 && k->slide == 0;
}

int policy_levels_check_late(struct levels *l, const struct policy_stream *s,
                             struct subjects *subjects, const struct rules *rules,
                             struct mf_error *e)
{
    int64_t floor = s->marker_ttl_ns / CLOCK_S * CLOCK_S;
    int rc;

    if (l->own.scope == POLICY_SCOPE_SUBJECT && !policy_levels_scope_fits(s))
        return mf_fail(e, MF_INVAL,
                       POLICY_PREFIX
                       "scope subject needs limits retention and max_msgs_per_subject of 1 to 256");
    if ((rc = check_letters(l, subjects, e)) != 0 || (rc = policy_rules_check_links(rules, e)) != 0)
        return rc;
    if (l->own.max_ns > 0 && l->own.max_ns < floor && s->max_msgs_per_subject != 1)
        return refuse_order("max", l->own.max_ns, "below", "subject_delete_marker_ttl",
                            s->marker_ttl_ns, e);
    if (s->counter && l->any_own && !only_off(l))
        return mf_fail(e, MF_INVAL, "counter stream cannot use message TTLs");
    return 0;
}

/* --- is there a policy at all? ---------------------------------------------------------------- */

static bool says_something(const struct policy_keys *k)
{
    return k->default_ttl != POLICY_UNSET || k->pattern != NULL || k->min_ns > 0 || k->max_ns > 0 ||
           k->warn_ns >= 0 || k->bounds != 0 || k->never != 0 || k->scope != 0 || k->slide != 0 ||
           k->enforce != 0 || k->on_expire != NULL;
}

bool policy_levels_default_reaches(const struct levels *l, const struct policy_stream *s)
{
    return l->block != NULL && l->block->default_ttl != POLICY_UNSET &&
           l->block->default_ttl != TTL_NONE && s->max_age_ns <= 0;
}

bool policy_levels_reach(const struct levels *l, const struct policy_stream *s)
{
    if (l->any_own)
        return true;
    if (s->counter)
        return false;
    if (l->entry != NULL && says_something(l->entry))
        return true;
    return policy_levels_default_reaches(l, s) || l->operator_max > 0 ||
           l->operator_never == POLICY_NEVER_DENY;
}
