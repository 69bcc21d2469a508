/* options_mapping.c: checks mappings and imports by compiling their transforms, so that a mistake
 * is found while the file is read, with its place and in the transform's words. */
#include "config/options_impl.h"
#include "subject/transform.h"

static bool ends_in_tail(const char *pattern)
{
    return strcmp(pattern, ">") == 0 || mf_ends(mf_str(pattern), ".>");
}

/* The transform only says "invalid subject" to these two mistakes. */
static const char *explain_wildcards(const char *src, const char *dest, bool stars_allowed)
{
    struct mf_slice rest = mf_str(dest), token;

    while (!stars_allowed && subject_next_token(&rest, &token))
        if (mf_eq_str(token, "*"))
            return "bad subject: '*' can not stand in a destination; use {{wildcard(1)}} or $1";
    if (ends_in_tail(src) != ends_in_tail(dest))
        return "bad subject: '>' must end both source and destination, or none";
    return NULL;
}

/* The text of a failed transform; frees one that compiled. */
static const char *keep_error(struct arena *a, int rc, struct transform *t,
                              const struct mf_error *e)
{
    char *text;

    if (rc == 0) {
        transform_free(t);
        return NULL;
    }
    text = arena_str(a, e->text);
    return text == NULL ? mf_err_text(MF_NOMEM) : text;
}

const char *opt_text_mapping_error(struct arena *a, const char *src, const char *dest)
{
    const char *why = explain_wildcards(src, dest, false);
    struct mf_error e;
    struct transform *t = NULL;
    int rc;

    if (why != NULL)
        return why;
    rc = transform_new(&t, mf_str(src), mf_str(dest), &e);
    return keep_error(a, rc, t, &e);
}

const char *opt_text_import_error(struct arena *a, const struct options_import *m)
{
    size_t cap = strlen(m->to) * 16 + 64; /* each token becomes a wildcard() at most */
    char *tokenized = arena_alloc(a, cap);
    ssize_t n = tokenized == NULL ? MF_NOMEM : transform_tokenize(mf_str(m->to), tokenized, cap);
    struct mf_error e;
    struct transform *t = NULL;
    int rc;

    if (n < 0)
        return mf_err_text(MF_NOMEM);
    if (explain_wildcards(m->subject, m->to, true) != NULL)
        return explain_wildcards(m->subject, m->to, true);
    rc = transform_new_strict(&t, mf_str(m->subject), mf_slice(tokenized, (size_t)n), &e);
    if (rc != 0)
        mf_wrap(&e,
                "failed to create mapping transform for %s import subject from \"%s\" to \"%s\"",
                m->service ? "service" : "stream", m->service ? m->to : m->subject,
                m->service ? m->subject : m->to);
    return keep_error(a, rc, t, &e);
}

char *opt_text_untokenize(struct arena *a, const char *subject)
{
    size_t cap = strlen(subject); /* a '*' is shorter than any placeholder */
    char *out = arena_alloc(a, cap + 1);
    ssize_t n = out == NULL ? MF_NOMEM : transform_untokenize(mf_str(subject), out, cap);

    return n < 0 ? NULL : out;
}
