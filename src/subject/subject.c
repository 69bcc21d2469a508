/* subject.c: grammar of subjects and patterns: validity, matching, subset, overlap. */
#include "subject/subject.h"

/* rest->ptr after subject_next_token() when the text ended with a '.': one empty token follows,
 * which the length alone cannot tell from the end. */
static const uint8_t pending_empty[1] = {0};

static bool is_star(struct mf_slice token)
{
    return token.len == 1 && token.ptr[0] == '*';
}

/* '>' is a wildcard only as the last token. */
static bool is_tail(struct mf_slice token, struct mf_slice rest)
{
    return token.len == 1 && token.ptr[0] == '>' && rest.ptr == NULL;
}

bool subject_next_token(struct mf_slice *rest, struct mf_slice *token)
{
    if (rest->len == 0) {
        if (rest->ptr != pending_empty)
            return false;
        *token = *rest;
        *rest = MF_SLICE_NONE;
        return true;
    }
    const uint8_t *dot = memchr(rest->ptr, '.', rest->len);
    if (dot == NULL) {
        *token = *rest;
        *rest = MF_SLICE_NONE;
        return true;
    }
    *token = mf_slice(rest->ptr, (size_t)(dot - rest->ptr));
    rest->len -= token->len + 1;
    rest->ptr = rest->len > 0 ? dot + 1 : pending_empty;
    return true;
}

/* Whether a token holds a byte that would end an argument of a control line. */
static bool has_blank(struct mf_slice token)
{
    for (size_t i = 0; i < token.len; i++) {
        uint8_t c = token.ptr[i];
        if (c == ' ' || (c >= '\t' && c <= '\r' && c != '\v'))
            return true;
    }
    return false;
}

bool subject_valid(struct mf_slice pattern)
{
    struct mf_slice rest = pattern, token;
    bool tail = false;

    if (pattern.len == 0)
        return false;
    while (subject_next_token(&rest, &token)) {
        if (token.len == 0 || tail || has_blank(token))
            return false;
        tail = token.len == 1 && token.ptr[0] == '>';
    }
    return true;
}

bool subject_has_wildcard(struct mf_slice pattern)
{
    struct mf_slice rest = pattern, token;

    while (subject_next_token(&rest, &token))
        if (token.len == 1 && (token.ptr[0] == '*' || token.ptr[0] == '>'))
            return true;
    return false;
}

bool subject_valid_literal(struct mf_slice subject)
{
    return subject_valid(subject) && !subject_has_wildcard(subject);
}

struct mf_slice subject_head(struct mf_slice pattern)
{
    struct mf_slice rest = pattern, token;

    while (subject_next_token(&rest, &token))
        if (token.len == 1 && (token.ptr[0] == '*' || token.ptr[0] == '>'))
            return mf_slice(pattern.ptr, (size_t)(token.ptr - pattern.ptr));
    return pattern;
}

unsigned subject_tokens(struct mf_slice subject)
{
    unsigned n = 0;
    struct mf_slice rest = subject, token;

    while (subject_next_token(&rest, &token))
        n++;
    return n;
}

struct mf_slice subject_token(struct mf_slice subject, unsigned index)
{
    struct mf_slice rest = subject, token;

    while (subject_next_token(&rest, &token))
        if (index-- == 0)
            return token;
    return MF_SLICE_NONE;
}

static bool no_empty_token(struct mf_slice rest)
{
    struct mf_slice token;

    while (subject_next_token(&rest, &token))
        if (token.len == 0)
            return false;
    return true;
}

bool subject_match(struct mf_slice pattern, struct mf_slice literal)
{
    struct mf_slice pt, lt;

    while (subject_next_token(&pattern, &pt)) {
        if (!subject_next_token(&literal, &lt) || pt.len == 0 || lt.len == 0)
            return false;
        if (is_tail(pt, pattern))
            return no_empty_token(literal);
        if (!is_star(pt) && !mf_eq(pt, lt))
            return false;
        if ((pattern.ptr == NULL) != (literal.ptr == NULL))
            return false; /* one of them has more tokens */
        if (pattern.ptr == NULL)
            return true;
    }
    return false;
}

/* A '*' of `super` takes any one token, so '*' too, but never the open end of a '>'. */
bool subject_is_subset(struct mf_slice sub, struct mf_slice super)
{
    struct mf_slice st, pt;

    while (subject_next_token(&super, &pt)) {
        if (!subject_next_token(&sub, &st) || pt.len == 0 || st.len == 0)
            return false;
        if (is_tail(pt, super))
            return no_empty_token(sub);
        if (is_tail(st, sub))
            return false;
        if (!is_star(pt) && !mf_eq(pt, st))
            return false;
        if ((super.ptr == NULL) != (sub.ptr == NULL))
            return false;
        if (super.ptr == NULL)
            return true;
    }
    return false;
}

bool subject_overlap(struct mf_slice a, struct mf_slice b)
{
    struct mf_slice at, bt;

    while (subject_next_token(&a, &at)) {
        if (!subject_next_token(&b, &bt) || at.len == 0 || bt.len == 0)
            return false;
        if (is_tail(at, a) || is_tail(bt, b))
            return no_empty_token(a) && no_empty_token(b);
        if (!is_star(at) && !is_star(bt) && !mf_eq(at, bt))
            return false;
        if ((a.ptr == NULL) != (b.ptr == NULL))
            return false;
        if (a.ptr == NULL)
            return true;
    }
    return false;
}
