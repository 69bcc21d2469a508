/* config_subjects.c: the subjects of a configuration: which are allowed, and which meet. */
#include "stream/config_impl.h"

#include "subject/subject.h"
#include "subject/transform.h"
#include "base/utf8.h"

bool config_overlap(struct mf_slice a, struct mf_slice b)
{
    if (mf_eq(a, b))
        return true;
    if (a.len == 0 || b.len == 0)
        return mf_eq_str(a, ">") || mf_eq_str(b, ">");
    return subject_overlap(a, b);
}

void config_quote(struct mf_buf *out, const char *s)
{
    utf8_quote(out, mf_str(s));
}

int config_check_mapping(const struct stream_mapping *m, enum js_err source_error,
                         enum js_err dest_error, struct js_error *e)
{
    struct transform *t = NULL;
    struct mf_error why = {0, ""};
    int rc;

    if (mf_str(m->src).len > STREAM_SUBJECT_LEN_MAX || mf_str(m->dest).len > STREAM_SUBJECT_LEN_MAX)
        return config_invalid(e, "subject transform is too long, maximum allowed is %d",
                              STREAM_SUBJECT_LEN_MAX);
    if (!config_empty(m->src) && !subject_valid(mf_str(m->src))) {
        struct mf_buf text = MF_BUF_INIT; /* the subject may be longer than any fixed room */
        mf_buf_printf(&text, "invalid subject %s", m->src);
        rc = mf_buf_failed(&text) ? MF_NOMEM : js_error_set(e, source_error, mf_buf_cstr(&text));
        mf_buf_fini(&text);
        return rc;
    }
    if (config_empty(m->dest))
        return 0;
    rc = transform_new(&t, mf_str(m->src), mf_str(m->dest), &why);
    transform_free(t);
    return rc == 0 || rc == MF_NOMEM ? rc : js_error_set(e, dest_error, why.text);
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
    if (subject_overlap(subject, MF_LIT("$MAYFLY.TTL.>")))
        return config_invalid(e, "subjects that overlap with TTL api require no-ack to be true");
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

/* The lowest subject behind the first one of a pair that it overlaps. */
static int refuse_first_overlap(const struct stream_config *c, size_t i, struct js_error *e)
{
    size_t j = i + 1;

    while (j < c->subjects.n &&
           !subject_overlap(mf_str(c->subjects.at[i]), mf_str(c->subjects.at[j])))
        j++;
    return refuse_overlap(c->subjects.at[i], c->subjects.at[j], e);
}

/* first: overlaps another one; n if none does. */
static int check_each(const struct stream_config *c, size_t first, struct js_error *e)
{
    for (size_t i = 0; i < c->subjects.n; i++) {
        struct mf_slice subject = mf_str(c->subjects.at[i]);
        if (!subject_valid(subject))
            return config_invalid(e, "invalid subject");
        int rc = check_reserved(c, subject, e);
        if (rc != 0)
            return rc;
        if (i == first)
            return refuse_first_overlap(c, i, e);
    }
    return 0;
}

/* The cost of a comparison is known before it begins. */
static int check_sizes(const struct stream_config *c, struct js_error *e)
{
    uint64_t tokens = 0;

    if (c->subjects.n > STREAM_SUBJECTS_MAX)
        return config_invalid(e, "maximum number of subjects is %d", STREAM_SUBJECTS_MAX);
    for (size_t i = 0; i < c->subjects.n; i++) {
        struct mf_slice subject = mf_str(c->subjects.at[i]);
        if (subject.len > STREAM_SUBJECT_LEN_MAX)
            return config_invalid(e, "subject is too long, maximum allowed is %d",
                                  STREAM_SUBJECT_LEN_MAX);
        tokens += subject_tokens(subject);
    }
    if (tokens > STREAM_TOKENS_MAX)
        return config_invalid(e, "maximum number of tokens in all subjects is %d",
                              STREAM_TOKENS_MAX);
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
    struct pattern_set set;
    size_t first = c->subjects.n;
    int met, rc;

    if (c->subjects.n == 0)
        return c->mirror == NULL && c->sources.n == 0 ? default_subject(c) : 0;
    if ((rc = check_sizes(c, e)) != 0)
        return rc;
    met = pattern_set_strings(&set, c->subjects.at, c->subjects.n, NULL);
    if (met == 0)
        met = pattern_set_first(&set, PATTERN_OVERLAP, &first);
    pattern_set_fini(&set);
    if (met != 0 && met != MF_LIMIT)
        return met;
    rc = check_each(c, first, e);
    return rc == 0 && met == MF_LIMIT
               ? config_invalid(e, "subjects have too many wildcards to be compared")
               : rc;
}
