/* policy_rules.c: the JSON array of rules, checked and compiled. */
#include "ttl/policy_rules_impl.h"

#include "ttl/policy_keys_impl.h"
#include "subject/subject.h"

#include <stdio.h>

#define KEY POLICY_PREFIX "rules"

/* A rule as written. */
struct written {
    char *id, *subject, *ttl, *permanent_if;
    struct json_map header;
};
static const struct json_field written_fields[] = {
    {.name = "id", .kind = JSON_STR, .offset = offsetof(struct written, id)},
    {.name = "subject", .kind = JSON_STR, .offset = offsetof(struct written, subject)},
    {.name = "header", .kind = JSON_MAP, .offset = offsetof(struct written, header)},
    {.name = "ttl", .kind = JSON_STR, .offset = offsetof(struct written, ttl)},
    {.name = "permanent_if", .kind = JSON_STR, .offset = offsetof(struct written, permanent_if)},
};
static const struct json_type written_type = {"rule", sizeof(struct written), written_fields,
                                              MF_COUNT(written_fields)};

struct reading {
    struct rules *r;
    struct arena *mem;
    const struct subjects *subjects;
    bool never_denied;
    size_t index;
    struct mf_error *e;
};

static int refuse_rule(struct reading *g, const char *field, const char *fmt, ...) MF_PRINTF(3, 4);
static int refuse_rule(struct reading *g, const char *field, const char *fmt, ...)
{
    char text[sizeof g->e->text];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return mf_fail(g->e, MF_INVAL, KEY "[%zu]%s%s: %s", g->index, field[0] == '\0' ? "" : ".",
                   field, text);
}

static int fail_memory(struct reading *g)
{
    return mf_fail(g->e, MF_NOMEM, KEY);
}

/* --- header names ----------------------------------------------------------------------------- */

bool policy_rules_header_valid(struct mf_slice name)
{
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] <= ' ' || name.ptr[i] == ':' || name.ptr[i] == 0x7F)
            return false;
    return name.len > 0;
}

int policy_rules_intern_header(struct rules *r, struct mf_slice name, struct arena *mem,
                               unsigned *index, struct mf_error *e)
{
    for (*index = 0; *index < r->nheaders; (*index)++)
        if (mf_eq(name, r->headers[*index]))
            return 0;
    if (r->nheaders == RULES_HEADERS_MAX)
        return mf_fail(e, MF_LIMIT, "more than %d header names", RULES_HEADERS_MAX);
    r->headers[r->nheaders] = mf_slice(arena_dup(mem, name), name.len);
    if (r->headers[r->nheaders].ptr == NULL)
        return mf_fail(e, MF_NOMEM, KEY);
    r->nheaders++;
    return 0;
}

/* --- the parts of a rule ---------------------------------------------------------------------- */

static bool id_valid(const char *id)
{
    size_t n = strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");

    return n > 0 && n <= RULES_ID_BYTES && id[n] == '\0';
}

static int read_id(struct reading *g, struct rule *to, const char *id)
{
    char shown[KEYS_SHOWN];

    if (id == NULL)
        id = arena_printf(g->mem, "%zu", g->index + 1);
    if (id == NULL)
        return fail_memory(g);
    if (!id_valid(id))
        return refuse_rule(g, "id", "\"%s\" is not 1 to 32 of A-Z, a-z, 0-9, _ and -",
                           policy_keys_shown(shown, mf_str(id)));
    for (size_t i = 0; i < g->index; i++)
        if (strcmp(g->r->at[i].text.id, id) == 0)
            return refuse_rule(g, "id", "\"%s\" is the id of rules[%zu], too", id, i);
    to->text.id = id;
    return 0;
}

static int read_subject(struct reading *g, struct rule *to, const char *subject)
{
    struct mf_slice s = mf_str(subject == NULL ? ">" : subject);
    char shown[KEYS_SHOWN];
    int overlaps = 1;

    if (!subject_valid(s))
        return refuse_rule(g, "subject", "\"%s\" is no subject filter",
                           policy_keys_shown(shown, s));
    if (g->subjects->list != NULL)
        overlaps = policy_subjects_overlap(g->subjects, s);
    if (overlaps == MF_NOMEM)
        return fail_memory(g);
    if (overlaps != 1) /* or the check would take too long */
        return refuse_rule(g, "subject", "\"%s\" does not overlap the stream's subjects",
                           policy_keys_shown(shown, s));
    to->text.subject = subject == NULL ? ">" : subject;
    to->subject = s;
    to->head = subject_head(s);
    to->all = mf_eq_str(s, ">");
    return 0;
}

static int read_conditions(struct reading *g, struct rule *to, const struct json_map *map)
{
    if (map->n > RULES_CONDITIONS)
        return refuse_rule(g, "header", "%zu headers, %d allowed", map->n, RULES_CONDITIONS);
    for (size_t i = 0; i < map->n; i++) {
        struct condition *c = &to->when[i];
        struct mf_slice name = mf_str(map->at[i].key);
        struct mf_error why = {0, ""};
        char shown[KEYS_SHOWN];
        int rc;

        if (!policy_rules_header_valid(name))
            return refuse_rule(g, "header", "\"%s\" is no header name",
                               policy_keys_shown(shown, name));
        rc = policy_rules_intern_header(g->r, name, g->mem, &c->header, &why);
        if (rc == MF_LIMIT)
            return refuse_rule(g, "header", "%s", why.text);
        if (rc != 0)
            return fail_memory(g);
        c->value = mf_str(map->at[i].value);
    }
    to->nwhen = map->n;
    to->text.headers = map->at;
    to->text.nheaders = map->n;
    return 0;
}

static int read_ttl(struct reading *g, struct rule *to, const char *ttl)
{
    struct mf_error why = {0, ""};
    char shown[KEYS_SHOWN];
    int rc;

    if (ttl == NULL)
        return 0;
    rc = policy_expr_parse(&to->ttl, mf_str(ttl), g->r, g->mem, &why);
    if (rc == MF_INVAL)
        return refuse_rule(g, "ttl", "\"%s\" is no TTL expression",
                           policy_keys_shown(shown, mf_str(ttl)));
    if (rc == MF_LIMIT)
        return refuse_rule(g, "ttl", "%s", why.text);
    if (rc != 0)
        return fail_memory(g);
    bool never = to->ttl.base == EXPR_CONST && to->ttl.constant == TTL_NEVER;
    if (g->never_denied && never)
        return refuse_rule(g, "ttl", "never is not allowed here by the server");
    g->r->never = g->r->never || never;
    to->has_ttl = true;
    to->text.ttl = ttl;
    return 0;
}

static int read_link(struct reading *g, struct rule *to, const char *template)
{
    struct mf_error why = {0, ""};
    int rc;

    if (template == NULL)
        return 0;
    rc = policy_link_parse(&to->link, mf_str(template), to->subject, g->mem, &why);
    if (rc == MF_NOMEM)
        return fail_memory(g);
    if (rc != 0)
        return refuse_rule(g, "permanent_if", "%s", why.text);
    if (g->never_denied)
        return refuse_rule(g, "permanent_if", "never is not allowed here by the server");
    to->text.permanent_if = template;
    g->r->links = g->r->never = true;
    return 0;
}

/* --- all rules -------------------------------------------------------------------------------- */

static int read_rule(struct reading *g, struct mf_slice text)
{
    struct rule *to = &g->r->at[g->index];
    struct written w = {.id = NULL};
    struct mf_error why = {0, ""};
    int rc;

    if (text.ptr[0] != '{')
        return refuse_rule(g, "", "not an object");
    rc = json_read(text, &written_type, &w, g->mem, true, &why);
    if (rc == MF_NOMEM)
        return fail_memory(g);
    if (rc != 0)
        return refuse_rule(g, "", "%s", why.text + (mf_starts(mf_str(why.text), "json: ") ? 6 : 0));
    if (w.ttl == NULL && w.permanent_if == NULL)
        return refuse_rule(g, "", "neither ttl nor permanent_if");
    if ((rc = read_id(g, to, w.id)) != 0 || (rc = read_subject(g, to, w.subject)) != 0 ||
        (rc = read_conditions(g, to, &w.header)) != 0 || (rc = read_ttl(g, to, w.ttl)) != 0 ||
        (rc = read_link(g, to, w.permanent_if)) != 0)
        return rc;
    g->r->texts[g->index] = to->text;
    g->r->giving = g->r->giving || to->link.n > 0 ||
                   !(to->ttl.base == EXPR_CONST && to->ttl.constant == TTL_NONE);
    return 0;
}

static int split_rules(struct reading *g, struct mf_slice text, struct mf_slice **items, size_t *n)
{
    struct mf_error why = {0, ""};
    size_t offset;
    int rc;

    if (text.len > POLICY_RULES_BYTES_MAX)
        return mf_fail(g->e, MF_INVAL, KEY ": %zu bytes, %d allowed", text.len,
                       POLICY_RULES_BYTES_MAX);
    rc = json_split_array(text, items, n, &offset, g->mem, &why);
    if (rc == MF_INVAL && offset > 0)
        return mf_fail(g->e, MF_INVAL, KEY " at byte %zu: %s", offset, why.text);
    if (rc == MF_INVAL)
        return mf_fail(g->e, MF_INVAL, KEY ": not an array of rules");
    if (rc == 0 && *n > POLICY_RULES_MAX)
        return mf_fail(g->e, MF_INVAL, KEY ": %zu rules, %d allowed", *n, POLICY_RULES_MAX);
    return rc == 0 ? 0 : fail_memory(g);
}

int policy_rules_read(struct rules *r, struct mf_slice text, const struct subjects *subjects,
                      bool never_denied, struct arena *mem, struct mf_error *e)
{
    struct reading g = {r, mem, subjects, never_denied, 0, e};
    struct mf_slice *items = NULL;
    size_t n = 0;
    int rc;

    if (text.len == 0)
        return 0;
    if ((rc = split_rules(&g, text, &items, &n)) != 0)
        return rc;
    r->at = arena_alloc(mem, n * sizeof *r->at);
    r->texts = arena_alloc(mem, n * sizeof *r->texts);
    if (r->at == NULL || r->texts == NULL)
        return fail_memory(&g);
    for (; g.index < n; g.index++)
        if ((rc = read_rule(&g, items[g.index])) != 0)
            return rc;
    r->n = n;
    return 0;
}

int policy_rules_check_links(const struct rules *r, struct mf_error *e)
{
    if (!r->links)
        return 0;
    for (size_t i = 0; i < r->n; i++) {
        if (r->at[i].link.n == 0)
            continue;
        for (size_t j = 0; j < r->n; j++)
            if (r->at[j].link.n > 0 &&
                subject_overlap(mf_str(r->at[i].link.filter), r->at[j].subject))
                return mf_fail(e, MF_INVAL,
                               KEY "[%zu].permanent_if: a linked subject can not have a link "
                                   "itself",
                               i);
    }
    return 0;
}
