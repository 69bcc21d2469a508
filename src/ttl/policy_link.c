/* policy_link.c: the template of a policy link, filled from a subject, and the other way round. */
#include "ttl/policy_rules_impl.h"

#include "ttl/policy_keys_impl.h"
#include "subject/subject.h"

/* {{wildcard(n)}} or $n; 0: something else. */
static unsigned wildcard_number(struct mf_slice token)
{
    struct mf_slice n = MF_SLICE_NONE;
    uint64_t v;

    if (mf_starts(token, "{{wildcard(") && mf_ends(token, ")}}") && token.len > 14)
        n = mf_slice(token.ptr + 11, token.len - 14);
    else if (token.len > 1 && token.ptr[0] == '$')
        n = mf_slice(token.ptr + 1, token.len - 1);
    return mf_parse_u64(n, &v) != 0 || v > 1000 ? 0 : (unsigned)v;
}

static unsigned count_stars(struct mf_slice subject)
{
    struct mf_slice rest = subject, token;
    unsigned n = 0;

    while (subject_next_token(&rest, &token))
        n += mf_eq_str(token, "*");
    return n;
}

static int parse_token(struct link_token *t, struct mf_slice token, struct mf_slice subject,
                       struct arena *mem, struct mf_error *e)
{
    char shown[KEYS_SHOWN];

    t->wildcard = wildcard_number(token);
    if (t->wildcard > count_stars(subject))
        return mf_fail(e, MF_INVAL, "there is no wildcard %u in \"%s\"", t->wildcard,
                       policy_keys_shown(shown, subject));
    if (t->wildcard > 0)
        return 0;
    if (!subject_valid_literal(token) || memchr(token.ptr, '{', token.len) != NULL)
        return mf_fail(e, MF_INVAL, "\"%s\" is neither a literal token nor {{wildcard(n)}}",
                       policy_keys_shown(shown, token));
    t->literal = mf_slice(arena_dup(mem, token), token.len);
    return t->literal.ptr == NULL ? mf_fail(e, MF_NOMEM, "permanent_if") : 0;
}

/* The template with '*' for each wildcard. */
static char *make_filter(const struct link *l, struct arena *mem)
{
    size_t bytes = 1;
    char *filter, *at;

    for (size_t i = 0; i < l->n; i++)
        bytes += l->tokens[i].literal.len + 2;
    if ((at = filter = arena_alloc(mem, bytes)) == NULL)
        return NULL;
    for (size_t i = 0; i < l->n; i++) {
        const struct link_token *t = &l->tokens[i];

        if (i > 0)
            *at++ = '.';
        if (t->wildcard > 0)
            *at++ = '*';
        else
            at = mempcpy(at, t->literal.ptr, t->literal.len);
    }
    return filter;
}

int policy_link_parse(struct link *l, struct mf_slice template, struct mf_slice subject,
                      struct arena *mem, struct mf_error *e)
{
    struct mf_slice rest = template, token;
    unsigned n = subject_tokens(template);

    l->n = 0;
    if (n == 0)
        return mf_fail(e, MF_INVAL, "an empty template");
    if ((l->tokens = arena_alloc(mem, n * sizeof *l->tokens)) == NULL)
        return mf_fail(e, MF_NOMEM, "permanent_if");
    while (subject_next_token(&rest, &token)) {
        int rc = parse_token(&l->tokens[l->n], token, subject, mem, e);

        if (rc != 0)
            return rc;
        l->n++;
    }
    l->filter = make_filter(l, mem);
    if (l->filter == NULL)
        return mf_fail(e, MF_NOMEM, "permanent_if");
    l->head = subject_head(mf_str(l->filter));
    return 0;
}

/* --- filling ---------------------------------------------------------------------------------- */

struct writer {
    char *dst;
    size_t len;
    bool full;
};

static void put_token(struct writer *w, struct mf_slice token)
{
    size_t dot = w->len > 0 ? 1 : 0;

    if (w->full || token.len == 0 || token.len + dot > LINK_SUBJECT_MAX - w->len) {
        w->full = true;
        return;
    }
    if (dot != 0)
        w->dst[w->len++] = '.';
    memcpy(w->dst + w->len, token.ptr, token.len);
    w->len += token.len;
}

/* The token of `subject` at the n-th '*' of `pattern`, which matches it. */
static struct mf_slice star_token(struct mf_slice pattern, struct mf_slice subject, unsigned n)
{
    struct mf_slice p = pattern, s = subject, ptoken, stoken;

    while (subject_next_token(&p, &ptoken) && subject_next_token(&s, &stoken))
        if (mf_eq_str(ptoken, "*") && --n == 0)
            return stoken;
    return MF_SLICE_NONE;
}

struct mf_slice policy_link_fill(const struct link *l, struct mf_slice rule_subject,
                                 struct mf_slice subject, char dst[LINK_SUBJECT_MAX])
{
    struct writer w = {dst, 0, false};

    for (size_t i = 0; i < l->n; i++) {
        const struct link_token *t = &l->tokens[i];

        put_token(&w,
                  t->wildcard > 0 ? star_token(rule_subject, subject, t->wildcard) : t->literal);
    }
    return w.full ? MF_SLICE_NONE : mf_slice(dst, w.len);
}

/* --- the other way ---------------------------------------------------------------------------- */

/* The token of `subject` that stands for wildcard n; false: two of them differ. */
static bool find_captured(const struct link *l, struct mf_slice subject, unsigned n,
                          struct mf_slice *out)
{
    struct mf_slice rest = subject, token;

    *out = MF_SLICE_NONE;
    for (size_t i = 0; i < l->n && subject_next_token(&rest, &token); i++) {
        if (l->tokens[i].wildcard != n)
            continue;
        if (out->ptr != NULL && !mf_eq(*out, token))
            return false;
        *out = token;
    }
    return true;
}

bool policy_link_reverse(const struct link *l, struct mf_slice rule_subject,
                         struct mf_slice subject, char dst[LINK_SUBJECT_MAX],
                         struct mf_slice *filter)
{
    struct writer w = {dst, 0, false};
    struct mf_slice rest = rule_subject, token, value;
    unsigned stars = 0;

    if (!subject_match(mf_str(l->filter), subject))
        return false;
    while (subject_next_token(&rest, &token)) {
        if (mf_eq_str(token, "*")) {
            if (!find_captured(l, subject, ++stars, &value))
                return false;
            if (value.ptr != NULL)
                token = value;
        }
        put_token(&w, token);
    }
    *filter = w.full ? rule_subject : mf_slice(dst, w.len); /* wider is safe */
    return true;
}
