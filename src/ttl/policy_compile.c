/* policy_compile.c: compiles, shows, compares and frees policies. */
#include "ttl/policy_impl.h"

#include "base/clock.h"

#include <stdlib.h>

static int compile_into(struct policy *p, bool *reaches, const struct policy_stream *s,
                        const struct policy_server *srv, struct mf_error *e)
{
    struct arena mem = {0};
    struct subjects subjects = {.list = NULL};
    struct levels l;
    bool denied;
    int rc;

    if ((rc = policy_levels_read(&l, s, srv, &mem, e)) != 0 ||
        (rc = policy_levels_check(&l, s, srv, e)) != 0)
        goto out;
    if (policy_levels_need_subjects(&l) && policy_subjects_init(&subjects, s->subjects) != 0) {
        rc = mf_fail(e, MF_NOMEM, "TTL policy");
        goto out;
    }
    denied = !s->stored && l.operator_never == POLICY_NEVER_DENY;
    if ((rc = policy_rules_read(&p->rules, l.rules, &subjects, denied, &p->mem, e)) != 0 ||
        (rc = policy_levels_check_late(&l, s, &subjects, &p->rules, e)) != 0)
        goto out;
    *reaches = policy_levels_reach(&l, s);
    if (*reaches)
        policy_merge_levels(p, &l, s, srv);
    if (p->mem.failed || mem.failed)
        rc = mf_fail(e, MF_NOMEM, "TTL policy");
out:
    policy_subjects_fini(&subjects);
    arena_fini(&mem);
    return rc;
}

int policy_compile(struct policy **out, const struct policy_stream *s,
                   const struct policy_server *srv, struct mf_error *e)
{
    struct policy *p = calloc(1, sizeof *p);
    bool reaches = false;
    int rc;

    if (p == NULL)
        return mf_fail(e, MF_NOMEM, "TTL policy");
    rc = compile_into(p, &reaches, s, srv, e);
    if (rc != 0 || !reaches) {
        policy_free(p);
        p = NULL;
    }
    if (rc == 0)
        *out = p;
    return rc;
}

/* The policy where neither the stream nor the server has a key. */
static struct policy *make_empty(void)
{
    struct policy *p = calloc(1, sizeof *p);

    if (p == NULL)
        return NULL;
    p->view.keys = (struct policy_keys)POLICY_KEYS_INIT;
    p->view.keys.enforce = POLICY_ENFORCE_OFF;
    p->fallback = TTL_NONE;
    p->fallback_by = POLICY_BY_NONE;
    return p;
}

int policy_compile_stored(struct policy **out, const struct policy_stream *s,
                          const struct policy_server *srv)
{
    struct policy_stream bare = *s;
    struct policy *p = NULL;
    struct mf_error why;
    int rc = policy_compile(out, s, srv, &why);

    if (rc == 0 || rc == MF_NOMEM)
        return rc;
    bare.metadata = NULL;
    if (policy_compile(&p, &bare, srv, NULL) != 0 || (p == NULL && (p = make_empty()) == NULL))
        return MF_NOMEM;
    p->view.invalid = arena_str(&p->mem, why.text);
    if (p->view.active)
        policy_merge_note(
            p, "the stream's own keys are not understood: those of the server alone are in "
               "force");
    if (p->mem.failed || p->view.invalid == NULL) {
        policy_free(p);
        return MF_NOMEM;
    }
    *out = p;
    return 0;
}

void policy_free(struct policy *p)
{
    if (p == NULL)
        return;
    arena_fini(&p->mem);
    free(p);
}

const struct policy_view *policy_view(const struct policy *p)
{
    return &p->view;
}

/* --- comparison ------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool same_rule(const struct policy_rule_text *a, const struct policy_rule_text *b)
{
    if (!same_text(a->id, b->id) || !same_text(a->subject, b->subject) ||
        !same_text(a->ttl, b->ttl) || !same_text(a->permanent_if, b->permanent_if) ||
        a->nheaders != b->nheaders)
        return false;
    for (size_t i = 0; i < a->nheaders; i++)
        if (!same_text(a->headers[i].key, b->headers[i].key) ||
            !same_text(a->headers[i].value, b->headers[i].value))
            return false;
    return true;
}

static bool same_keys(const struct policy_keys *a, const struct policy_keys *b)
{
    return a->warn_ns == b->warn_ns && a->bounds == b->bounds && a->never == b->never &&
           a->scope == b->scope && a->slide == b->slide && a->enforce == b->enforce &&
           same_text(a->pattern, b->pattern) && same_text(a->on_expire, b->on_expire);
}

bool policy_equal(const struct policy *a, const struct policy *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    if (!same_keys(&a->view.keys, &b->view.keys) || !same_text(a->view.invalid, b->view.invalid) ||
        a->view.active != b->view.active ||
        a->view.operator_denies_never != b->view.operator_denies_never ||
        a->fallback != b->fallback || a->fallback_by != b->fallback_by || a->min_ns != b->min_ns ||
        a->max_ns != b->max_ns || a->floor_ns != b->floor_ns || a->max_age_ns != b->max_age_ns ||
        a->object != b->object || a->rules.n != b->rules.n)
        return false;
    for (size_t i = 0; i < a->rules.n; i++)
        if (!same_rule(&a->rules.texts[i], &b->rules.texts[i]))
            return false;
    return true;
}

/* --- legal, and without any effect ------------------------------------------------------------ */

static const char *find_idle(const struct levels *l, const struct policy_stream *s,
                             struct arena *mem)
{
    const struct policy_keys *k = &l->own;
    const struct {
        const char *name;
        int64_t ns;
    } ages[] = {{"default", k->default_ttl}, {"max", k->max_ns}};
    char a[POLICY_TEXT], b[POLICY_TEXT];

    if (s->mirror && l->any_own)
        return "TTL policy keys have no effect on a mirror";
    for (size_t i = 0; s->max_age_ns > 0 && i < MF_COUNT(ages); i++)
        if (ages[i].ns > s->max_age_ns)
            return arena_printf(mem, POLICY_PREFIX "%s %s is above max_age %s", ages[i].name,
                                policy_ttl_text(a, ages[i].ns), policy_ttl_text(b, s->max_age_ns));
    if (k->warn_ns > 0 && k->max_ns > 0 && k->warn_ns >= k->max_ns)
        return arena_printf(mem, POLICY_PREFIX "warn %s is not below " POLICY_PREFIX "max %s",
                            policy_ttl_text(a, k->warn_ns), policy_ttl_text(b, k->max_ns));
    return NULL;
}

const char *policy_pedantic(const struct policy_stream *s, const struct policy_server *srv,
                            struct arena *mem)
{
    struct levels l;

    if (policy_levels_read(&l, s, srv, mem, NULL) != 0)
        return NULL; /* policy_compile() has the words */
    return find_idle(&l, s, mem);
}
