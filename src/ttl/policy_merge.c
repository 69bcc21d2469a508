/* policy_merge.c: merges the keys of the stream, its namespace entry and the ttl block.
 *
 *     max       the smaller of the stream's and the operator's
 *     never     deny where the operator says deny; else the stream's, else the operator's
 *     enforce   the entry's, else the stream's, else the block's
 *     default   the stream's, else the entry's (the block's is asked after the pattern and max_age)
 *     others    the stream's, else the entry's, else the block's
 *
 * Where the operator denies `never`, one of the stream's own means max, or nothing without a max.
 */
#include "ttl/policy_impl.h"

#include "base/clock.h"

#define WARN_NS (3600 * CLOCK_S) /* where the block says nothing */

struct merger {
    struct policy *p;
    const struct levels *l;
    const struct policy_stream *s;
    const struct policy_server *srv;
};

static void set_origin(struct merger *m, enum policy_key k, enum policy_origin from)
{
    m->p->view.origin[k] = from;
}

/* A line of the trace, or a sentence of the notes. */
static void add_line(struct policy *p, const char *const **to, size_t *n, const char *line)
{
    const char **at = arena_grow(&p->mem, (void *)(uintptr_t)*to, *n, sizeof *at);

    if (at == NULL || line == NULL)
        return; /* arena.failed is set */
    at[(*n)++] = line;
    *to = at;
}

void policy_merge_note(struct policy *p, const char *line)
{
    add_line(p, &p->view.notes, &p->view.nnotes, line);
}

static void add_note(struct merger *m, const char *line)
{
    policy_merge_note(m->p, line);
}

static void add_why(struct merger *m, const char *line)
{
    add_line(m->p, &m->p->why, &m->p->nwhy, line);
}

/* --- keys ------------------------------------------------------------------------------------- */

static int64_t pick_duration(struct merger *m, enum policy_key k, int64_t own, int64_t entry)
{
    if (own != POLICY_UNSET) {
        set_origin(m, k, POLICY_OF_STREAM);
        return own;
    }
    if (m->l->entry != NULL && entry != POLICY_UNSET)
        set_origin(m, k, POLICY_OF_NAMESPACE);
    return m->l->entry == NULL ? POLICY_UNSET : entry;
}

static const char *pick_text(struct merger *m, enum policy_key k, const char *own,
                             const char *entry)
{
    const char *text = own != NULL ? own : entry;

    if (text != NULL)
        set_origin(m, k, own != NULL ? POLICY_OF_STREAM : POLICY_OF_NAMESPACE);
    return arena_str(&m->p->mem, text);
}

static unsigned pick_word(struct merger *m, enum policy_key k, unsigned own, unsigned entry,
                          unsigned otherwise)
{
    if (own != 0) {
        set_origin(m, k, POLICY_OF_STREAM);
        return own;
    }
    if (entry != 0)
        set_origin(m, k, POLICY_OF_NAMESPACE);
    return entry != 0 ? entry : otherwise;
}

static void merge_max(struct merger *m)
{
    struct policy_keys *k = &m->p->view.keys;
    const struct levels *l = m->l;

    k->max_ns = l->own.max_ns;
    if (k->max_ns != POLICY_UNSET)
        set_origin(m, POLICY_MAX, POLICY_OF_STREAM);
    if (l->operator_max > 0 && (k->max_ns == POLICY_UNSET || l->operator_max < k->max_ns)) {
        bool entry = l->entry != NULL && l->entry->max_ns > 0;

        k->max_ns = l->operator_max;
        set_origin(m, POLICY_MAX, entry ? POLICY_OF_NAMESPACE : POLICY_OF_SERVER);
    }
    if (k->max_ns != POLICY_UNSET && k->min_ns > k->max_ns) { /* of different levels */
        k->min_ns = k->max_ns;
        add_note(m, "min is lowered to max: they come from different levels");
    }
}

static void merge_enforce(struct merger *m)
{
    const struct levels *l = m->l;
    struct policy_keys *k = &m->p->view.keys;

    k->enforce = POLICY_ENFORCE_ON;
    if (l->entry != NULL && l->entry->enforce != POLICY_ENFORCE_UNSET) {
        k->enforce = l->entry->enforce;
        set_origin(m, POLICY_ENFORCE, POLICY_OF_NAMESPACE);
    } else if (l->own.enforce != POLICY_ENFORCE_UNSET) {
        k->enforce = l->own.enforce;
        set_origin(m, POLICY_ENFORCE, POLICY_OF_STREAM);
    } else if (l->block != NULL && l->block->enforce != POLICY_ENFORCE_UNSET) {
        k->enforce = l->block->enforce;
        set_origin(m, POLICY_ENFORCE, POLICY_OF_SERVER);
    }
}

static void merge_plain(struct merger *m)
{
    static const struct policy_keys nothing = POLICY_KEYS_INIT;
    const struct policy_keys *own = &m->l->own, *entry = m->l->entry;
    struct policy_keys *k = &m->p->view.keys;

    if (entry == NULL)
        entry = &nothing;
    k->default_ttl = pick_duration(m, POLICY_DEFAULT, own->default_ttl, entry->default_ttl);
    k->min_ns = pick_duration(m, POLICY_MIN, own->min_ns, entry->min_ns);
    k->warn_ns = pick_duration(m, POLICY_WARN, own->warn_ns, entry->warn_ns);
    k->pattern = pick_text(m, POLICY_PATTERN, own->pattern, entry->pattern);
    k->on_expire = pick_text(m, POLICY_ON_EXPIRE, own->on_expire, entry->on_expire);
    k->bounds = pick_word(m, POLICY_BOUNDS, own->bounds, entry->bounds, POLICY_BOUNDS_CLAMP);
    k->scope = pick_word(m, POLICY_SCOPE, own->scope, entry->scope, POLICY_SCOPE_UNSET);
    k->slide = pick_word(m, POLICY_SLIDE, own->slide, entry->slide, POLICY_SLIDE_WRITE);
    merge_max(m);
    merge_enforce(m);
    if (m->p->view.nrules > 0)
        set_origin(m, POLICY_RULES, POLICY_OF_STREAM);
}

/* --- steps 3 to 7, the same for every message ------------------------------------------------- */

static const char *show_ttl(struct merger *m, int64_t ttl)
{
    char text[POLICY_TEXT];

    return arena_str(&m->p->mem, policy_ttl_text(text, ttl));
}

static bool set_fallback(struct merger *m, int64_t ttl, enum policy_by by)
{
    m->p->fallback = ttl;
    m->p->fallback_by = by;
    return true;
}

static const char *infer_pattern(const struct policy_stream *s)
{
    if (mf_starts(mf_str(s->name), "KV_"))
        return "keyvalue";
    if (mf_starts(mf_str(s->name), "OBJ_"))
        return "object";
    return s->limits_retention ? NULL : "pubsub";
}

/* Is this a `never` of the stream's own that the operator denies? */
static bool is_denied(const struct merger *m, enum policy_key k)
{
    return m->l->operator_never == POLICY_NEVER_DENY && m->p->view.origin[k] == POLICY_OF_STREAM;
}

/* Replaces a denied `never` by max.  False: there is no max, and the next step decides. */
static bool decide_instead(struct merger *m, const char *why, const char *note)
{
    int64_t max = m->p->view.keys.max_ns;

    add_why(m, why);
    add_note(m, note);
    if (max == POLICY_UNSET)
        return false;
    add_why(m, arena_printf(&m->p->mem, "max: %s", show_ttl(m, max)));
    return set_fallback(m, max, POLICY_BY_MAX);
}

static bool decide_by_default(struct merger *m)
{
    int64_t ttl = m->p->view.keys.default_ttl;

    if (ttl == POLICY_UNSET) {
        add_why(m, "default: not set");
        return false;
    }
    if (ttl == TTL_NEVER && is_denied(m, POLICY_DEFAULT))
        return decide_instead(m, "default: never, which the server denies",
                              "default never is not in force: the server denies it");
    add_why(m, arena_printf(&m->p->mem, "default: %s", show_ttl(m, ttl)));
    return set_fallback(m, ttl, POLICY_BY_DEFAULT);
}

static bool decide_by_pattern(struct merger *m)
{
    const char *name = m->p->view.keys.pattern;
    int64_t ttl;

    if (name == NULL) {
        add_why(m, "pattern: not set");
        return false;
    }
    if (!policy_pattern_find(m->srv, name, &ttl)) { /* the server's configuration has changed */
        add_why(m, arena_printf(&m->p->mem, "pattern %s: not defined", name));
        add_note(m, arena_printf(&m->p->mem, "pattern %s is not defined any more", name));
        return false;
    }
    if (is_denied(m, POLICY_PATTERN) && policy_levels_pattern_evades(name, m->srv))
        return decide_instead(
            m, arena_printf(&m->p->mem, "pattern %s: never, which the server denies", name),
            arena_printf(&m->p->mem, "pattern %s is not in force: the server denies never", name));
    add_why(m, arena_printf(&m->p->mem, "pattern %s: %s", name, show_ttl(m, ttl)));
    return set_fallback(m, ttl, POLICY_BY_PATTERN);
}

static bool decide_by_max_age(struct merger *m)
{
    int64_t age = m->s->max_age_ns, max = m->p->view.keys.max_ns;
    const char *shown;

    if (age <= 0)
        return false;
    shown = show_ttl(m, age);
    if (max == POLICY_UNSET || max >= age) {
        add_why(m, arena_printf(&m->p->mem, "max_age %s: holds", shown));
        return set_fallback(m, TTL_NONE, POLICY_BY_MAX_AGE);
    }
    add_why(m, arena_printf(&m->p->mem, "max_age %s: max %s is smaller", shown, show_ttl(m, max)));
    return set_fallback(m, max, POLICY_BY_MAX);
}

static bool decide_by_server(struct merger *m)
{
    struct policy *p = m->p;
    const char *name = infer_pattern(m->s);
    int64_t ttl;

    if (!policy_levels_default_reaches(m->l, m->s)) {
        add_why(m, "server: not set");
        return false;
    }
    if (p->view.keys.default_ttl == POLICY_UNSET) {
        p->view.keys.default_ttl = m->l->block->default_ttl;
        set_origin(m, POLICY_DEFAULT, POLICY_OF_SERVER);
    }
    if (name == NULL || !policy_pattern_find(m->srv, name, &ttl)) {
        ttl = m->l->block->default_ttl;
        add_why(m, arena_printf(&p->mem, "server: %s", show_ttl(m, ttl)));
    } else {
        p->view.inferred = name;
        add_why(m, arena_printf(&p->mem, "server, pattern %s: %s", name, show_ttl(m, ttl)));
    }
    return set_fallback(m, ttl, POLICY_BY_SERVER);
}

static void decide_fallback(struct merger *m)
{
    int64_t max = m->p->view.keys.max_ns;

    if (decide_by_default(m) || decide_by_pattern(m) || decide_by_max_age(m) || decide_by_server(m))
        return;
    if (max == POLICY_UNSET) {
        add_why(m, "max: not set");
        set_fallback(m, TTL_NONE, POLICY_BY_NONE);
    } else {
        add_why(m, arena_printf(&m->p->mem, "max: %s", show_ttl(m, max)));
        set_fallback(m, max, POLICY_BY_MAX);
    }
}

/* --- words whose default depends on the above ------------------------------------------------- */

static void merge_never(struct merger *m, bool gives)
{
    const struct levels *l = m->l;
    struct policy_keys *k = &m->p->view.keys;
    bool entry = l->entry != NULL && l->entry->never != POLICY_NEVER_UNSET;
    enum policy_origin operator_is = entry ? POLICY_OF_NAMESPACE : POLICY_OF_SERVER;

    m->p->view.operator_denies_never = l->operator_never == POLICY_NEVER_DENY;
    if (l->operator_never == POLICY_NEVER_DENY) {
        k->never = POLICY_NEVER_DENY;
        set_origin(m, POLICY_NEVER, operator_is);
    } else if (l->own.never != POLICY_NEVER_UNSET) {
        k->never = l->own.never;
        set_origin(m, POLICY_NEVER, POLICY_OF_STREAM);
    } else if (l->operator_never == POLICY_NEVER_ALLOW) {
        k->never = POLICY_NEVER_ALLOW;
        set_origin(m, POLICY_NEVER, operator_is);
    } else {
        k->never = gives ? POLICY_NEVER_DENY : POLICY_NEVER_ALLOW;
    }
}

static void merge_scope(struct merger *m, bool gives)
{
    struct policy_keys *k = &m->p->view.keys;
    bool fits = policy_levels_scope_fits(m->s);

    if (k->scope == POLICY_SCOPE_UNSET) {
        k->scope = gives && fits ? POLICY_SCOPE_SUBJECT : POLICY_SCOPE_MESSAGE;
    } else if (k->scope == POLICY_SCOPE_SUBJECT && !fits) {
        k->scope = POLICY_SCOPE_MESSAGE;
        add_note(m, "scope is message: subject needs limits retention and max_msgs_per_subject of "
                    "1 to 256");
    }
}

static void merge_warn(struct merger *m, bool gives)
{
    struct policy_keys *k = &m->p->view.keys;

    if (k->warn_ns != POLICY_UNSET)
        return;
    k->warn_ns = gives ? WARN_NS : 0;
    if (gives && m->l->block != NULL && m->l->block->warn_ns != POLICY_UNSET) {
        k->warn_ns = m->l->block->warn_ns;
        set_origin(m, POLICY_WARN, POLICY_OF_SERVER);
    }
}

static void merge_letters(struct merger *m)
{
    struct policy_keys *k = &m->p->view.keys;

    if (k->on_expire == NULL || m->l->letters_fit)
        return;
    k->on_expire = NULL;
    set_origin(m, POLICY_ON_EXPIRE, POLICY_BUILT_IN);
    add_note(m, "on_expire of the namespace is not within the stream's subjects: no dead letters");
}

/* --- all of it -------------------------------------------------------------------------------- */

static void set_bounds(struct merger *m)
{
    struct policy *p = m->p;
    const struct policy_keys *k = &p->view.keys;
    const struct policy_stream *s = m->s;
    const char *pattern = k->pattern != NULL ? k->pattern : p->view.inferred;

    p->min_ns = k->min_ns > 0 ? k->min_ns : 0;
    p->max_ns = k->max_ns > 0 ? k->max_ns : 0;
    p->max_age_ns = s->max_age_ns > 0 ? s->max_age_ns : 0;
    p->floor_ns = s->max_msgs_per_subject == 1 || s->marker_ttl_ns < CLOCK_S
                      ? 0
                      : s->marker_ttl_ns / CLOCK_S * CLOCK_S;
    p->reject = k->bounds == POLICY_BOUNDS_REJECT;
    p->deny_never = k->never == POLICY_NEVER_DENY;
    p->object =
        mf_starts(mf_str(s->name), "OBJ_") || (pattern != NULL && strcmp(pattern, "object") == 0);
}

static void add_notes(struct merger *m)
{
    struct policy *p = m->p;

    if (m->s->mirror)
        add_note(m, "a mirror follows its origin: this policy is inactive");
    if (m->s->counter)
        add_note(m, "counter streams have no TTLs: this policy is inactive");
    if (p->view.operator_denies_never && p->rules.never)
        add_note(m, "never and permanent_if of rules are not in force: the server denies never");
    if (p->view.keys.enforce == POLICY_ENFORCE_OFF)
        add_note(m, "enforce is off: this policy is inactive");
    if (p->view.keys.enforce == POLICY_ENFORCE_AUDIT)
        add_note(m, "enforce is audit: decisions are counted, messages stay as they are");
    if (p->floor_ns > 0)
        add_note(m, arena_printf(&p->mem, "TTLs below %s are raised: subject_delete_marker_ttl",
                                 show_ttl(m, p->floor_ns)));
    if (p->floor_ns > 0 && p->max_ns > 0 && p->max_ns < p->floor_ns)
        add_note(m, "max is below subject_delete_marker_ttl, which wins");
}

void policy_merge_levels(struct policy *p, const struct levels *l, const struct policy_stream *s,
                         const struct policy_server *srv)
{
    struct merger m = {p, l, s, srv};
    bool gives;

    p->view.namespace_no = l->entry_no;
    p->view.rules = p->rules.texts;
    p->view.nrules = p->rules.n;
    merge_plain(&m);
    decide_fallback(&m);
    gives = p->rules.giving || p->fallback != TTL_NONE;
    merge_never(&m, gives);
    merge_scope(&m, gives);
    merge_warn(&m, gives);
    merge_letters(&m);
    p->view.active = p->view.keys.enforce != POLICY_ENFORCE_OFF && !s->mirror && !s->counter;
    p->view.governed = p->view.active && gives;
    set_bounds(&m);
    add_notes(&m);
}
