/* config_subjects.c: the subjects of a configuration: which are allowed, and which meet. */
#include "config_impl.h"

#include "mayfly/hash.h"
#include "mayfly/subject.h"
#include "mayfly/transform.h"
#include "mayfly/utf8.h"

bool config_overlap(struct mf_slice a, struct mf_slice b)
{
    if (mf_eq(a, b))
        return true;
    if (a.len == 0 || b.len == 0)
        return mf_eq_str(a, ">") || mf_eq_str(b, ">");
    return subject_overlap(a, b);
}

bool config_within(struct mf_slice sub, struct mf_slice super)
{
    if (sub.len == 0)
        return mf_eq_str(super, ">");
    return subject_is_subset(sub, super);
}

int pattern_set_init(struct pattern_set *s, struct arena *scratch, size_t n)
{
    memset(s, 0, sizeof *s);
    s->n = n;
    s->at = arena_alloc(scratch, n * sizeof *s->at);
    s->wild = arena_alloc(scratch, n * sizeof *s->wild);
    s->is_wild = arena_alloc(scratch, n * sizeof *s->is_wild);
    s->literals = arena_alloc(scratch, n * sizeof *s->literals);
    return scratch->failed ? MF_NOMEM : 0;
}

int pattern_set_ready(struct pattern_set *s)
{
    /* From the end: a chain of the table has its newest first, so equal ones come in order. */
    for (size_t i = s->n; i-- > 0;) {
        s->is_wild[i] = s->at[i].len == 0 || subject_has_wildcard(s->at[i]);
        if (s->is_wild[i])
            continue;
        s->literals[i].index = i;
        if (table_add(&s->table, &s->literals[i].node, hash_slice(s->at[i])) != 0)
            return MF_NOMEM;
    }
    for (size_t i = 0; i < s->n; i++)
        if (s->is_wild[i])
            s->wild[s->nwild++] = i;
    return 0;
}

void pattern_set_fini(struct pattern_set *s)
{
    table_fini(&s->table);
}

static bool related(const struct pattern_set *s, size_t i, size_t j, enum pattern_relation how)
{
    if (how == PATTERN_OVERLAP)
        return config_overlap(s->at[i], s->at[j]);
    return config_within(s->at[i], s->at[j]) || config_within(s->at[j], s->at[i]);
}

/* The next equal literal; s->n when there is none. */
static size_t next_equal(const struct pattern_set *s, size_t i)
{
    size_t best = s->n;

    for (struct table_node *n = table_first(&s->table, s->literals[i].node.hash); n != NULL;
         n = table_next(n)) {
        size_t j = mf_container(n, struct pattern_node, node)->index;
        if (j > i && j < best && mf_eq(s->at[i], s->at[j]))
            best = j;
    }
    return best;
}

size_t pattern_set_meets(const struct pattern_set *s, size_t i, enum pattern_relation how)
{
    size_t best;

    if (s->is_wild[i]) {
        for (size_t j = i + 1; j < s->n; j++)
            if (related(s, i, j, how))
                return j;
        return s->n;
    }
    best = next_equal(s, i);
    for (size_t k = 0; k < s->nwild && s->wild[k] < best; k++)
        if (s->wild[k] > i && related(s, i, s->wild[k], how))
            return s->wild[k];
    return best;
}

/* The letter after the backslash for what has one, 0 for the rest. */
static char escape_letter(uint32_t rune)
{
    static const char from[] = "\a\b\f\n\r\t\v\"\\", to[] = "abfnrtv\"\\";
    const char *p = rune == 0 || rune > 0x7f ? NULL : strchr(from, (int)rune);

    return p == NULL ? '\0' : to[p - from];
}

void config_quote(struct mf_buf *out, const char *s)
{
    struct mf_slice rest = mf_str(s);

    mf_buf_byte(out, '"');
    while (rest.len > 0) {
        uint32_t rune = 0;
        size_t n = utf8_next(rest.ptr, rest.len, &rune);
        if (n == 0) {
            n = 1;
            mf_buf_printf(out, "\\x%02x", rest.ptr[0]);
        } else if (escape_letter(rune) != '\0') {
            mf_buf_printf(out, "\\%c", escape_letter(rune));
        } else if (rune < 0x20 || rune == 0x7f) {
            mf_buf_printf(out, "\\x%02x", (unsigned)rune);
        } else if ((rune >= 0x80 && rune <= 0xa0) || rune == 0xad) {
            mf_buf_printf(out, "\\u%04x", (unsigned)rune);
        } else {
            mf_buf_append(out, rest.ptr, n);
        }
        rest = mf_slice(rest.ptr + n, rest.len - n);
    }
    mf_buf_byte(out, '"');
}

int config_check_mapping(const struct stream_mapping *m, enum js_err source_error,
                         enum js_err dest_error, struct js_error *e)
{
    struct transform *t = NULL;
    struct mf_error why = {0, ""};
    int rc;

    if (!config_empty(m->src) && !subject_valid(mf_str(m->src))) {
        struct mf_buf text = MF_BUF_INIT; /* the subject may be longer than any fixed room */
        mf_buf_printf(&text, "invalid subject %s", m->src);
        rc = mf_buf_failed(&text) ? MF_NOMEM : js_refuse(e, source_error, mf_buf_cstr(&text));
        mf_buf_fini(&text);
        return rc;
    }
    if (config_empty(m->dest))
        return 0;
    rc = transform_new(&t, mf_str(m->src), mf_str(m->dest), &why);
    transform_free(t);
    return rc == 0 || rc == MF_NOMEM ? rc : js_refuse(e, dest_error, why.text);
}

/* Replies to the requests caught here would be stored, too, and answered... */
static int check_reserved(const struct stream_config *c, struct mf_slice subject,
                          struct js_error *e)
{
    static const char *const api[] = {"$JS.>", "$JSC.>", "$NRG.>"};

    if (mf_eq_str(subject, ">")) {
        if (!c->no_ack)
            return config_invalid(e, "capturing all subjects requires no-ack to be true");
        if (c->replicas != 1)
            return config_invalid(e, "capturing all subjects requires replicas of 1");
    }
    if (c->no_ack)
        return 0;
    for (size_t i = 0; i < MF_COUNT(api); i++)
        if (subject_overlap(subject, mf_str(api[i])) &&
            !subject_is_subset(subject, MF_LIT("$JS.EVENT.>")))
            return config_invalid(
                e, "subjects that overlap with jetstream api require no-ack to be true");
    if (subject_overlap(subject, MF_LIT("$SYS.>")) &&
        !subject_is_subset(subject, MF_LIT("$SYS.ACCOUNT.>")))
        return config_invalid(e, "subjects that overlap with system api require no-ack to be true");
    return 0;
}

static int refuse_overlap(const char *a, const char *b, struct js_error *e)
{
    struct mf_buf text = MF_BUF_INIT;
    int rc;

    mf_buf_puts(&text, "subject ");
    config_quote(&text, a);
    mf_buf_puts(&text, " overlaps with ");
    config_quote(&text, b);
    rc = mf_buf_failed(&text) ? MF_NOMEM : config_invalid(e, "%s", mf_buf_cstr(&text));
    mf_buf_fini(&text);
    return rc;
}

static int check_each(const struct stream_config *c, const struct pattern_set *set,
                      struct js_error *e)
{
    for (size_t i = 0; i < set->n; i++) {
        if (!subject_valid(set->at[i]))
            return config_invalid(e, "invalid subject");
        int rc = check_reserved(c, set->at[i], e);
        if (rc != 0)
            return rc;
        size_t j = pattern_set_meets(set, i, PATTERN_OVERLAP);
        if (j < set->n)
            return refuse_overlap(c->subjects.at[i], c->subjects.at[j], e);
    }
    return 0;
}

static int default_subject(struct stream_config *c)
{
    char **at = arena_alloc(&c->mem, sizeof(char *));
    char *name = arena_str(&c->mem, c->name);

    if (at == NULL || name == NULL)
        return MF_NOMEM;
    at[0] = name;
    c->subjects = (struct json_strs){at, 1};
    return 0;
}

int config_check_subjects(struct stream_config *c, struct js_error *e)
{
    struct arena scratch = {NULL, 0, 0, false};
    struct pattern_set set;
    int rc;

    if (c->subjects.n == 0)
        return c->mirror == NULL && c->sources.n == 0 ? default_subject(c) : 0;
    rc = pattern_set_init(&set, &scratch, c->subjects.n);
    for (size_t i = 0; rc == 0 && i < set.n; i++)
        set.at[i] = mf_str(c->subjects.at[i]);
    if (rc == 0)
        rc = pattern_set_ready(&set);
    if (rc == 0)
        rc = check_each(c, &set, e);
    pattern_set_fini(&set);
    arena_fini(&scratch);
    return rc;
}
