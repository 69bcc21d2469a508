/* options_mapping.c: can this destination be built from that source?  The words are those of the
 * transform itself, so that a mistake is found while reading, with its place. */
#include "config/options_impl.h"

#include <stdlib.h>

#define BAD "invalid mapping destination: "

struct mapping {
    unsigned stars; /* '*' of the source */
    bool full;      /* '>' at its end */
    bool strict;    /* an import: it must be possible to go back */
    unsigned used;  /* placeholders of the destination */
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static struct mf_slice trim_blanks(struct mf_slice s)
{
    while (s.len > 0 && is_space((char)s.ptr[0])) {
        s.ptr++;
        s.len--;
    }
    while (s.len > 0 && is_space((char)s.ptr[s.len - 1]))
        s.len--;
    return s;
}

static bool take_arg(struct mf_slice *args, struct mf_slice *one)
{
    if (args->ptr == NULL)
        return false;
    const uint8_t *comma = args->len == 0 ? NULL : memchr(args->ptr, ',', args->len);
    size_t n = comma == NULL ? args->len : (size_t)(comma - args->ptr);
    *one = trim_blanks(mf_slice(args->ptr, n));
    *args = comma == NULL ? MF_SLICE_NONE : mf_slice(comma + 1, args->len - n - 1);
    return true;
}

static const char *check_index(struct mapping *m, struct mf_slice text)
{
    uint64_t n;
    if (mf_parse_u64(text, &n) != 0)
        return BAD "function argument is invalid or in the wrong format";
    if (n > m->stars || n == 0)
        return BAD "wildcard index out of range";
    m->used++;
    return NULL;
}

static const char *check_count(struct mf_slice text)
{
    uint64_t n;
    if (mf_parse_u64(text, &n) != 0 || n > INT32_MAX)
        return BAD "function argument is invalid or in the wrong format";
    return NULL;
}

/* partition(n, token...) */
static const char *check_partition(struct mapping *m, struct mf_slice args)
{
    struct mf_slice arg;
    if (!take_arg(&args, &arg))
        return BAD "not enough arguments passed to the function";
    const char *bad = check_count(arg);
    while (bad == NULL && take_arg(&args, &arg))
        bad = check_index(m, arg);
    return bad;
}

enum second { SECOND_NONE, SECOND_COUNT, SECOND_TEXT };

/* f(token) or f(token, something) */
static const char *check_token_function(struct mapping *m, struct mf_slice args, enum second second)
{
    struct mf_slice index, arg, more;
    if (!take_arg(&args, &index) || index.len == 0 ||
        (second != SECOND_NONE && !take_arg(&args, &arg)))
        return BAD "not enough arguments passed to the function";
    if (take_arg(&args, &more))
        return BAD "too many arguments passed to the function";
    const char *bad = check_index(m, index);
    if (bad == NULL && second == SECOND_COUNT)
        bad = check_count(arg);
    return bad;
}

/* {{ name ( args ) }} */
static const char *check_function(struct mapping *m, struct mf_slice token)
{
    static const struct {
        const char *name;
        enum second second;
    } functions[] = {
        {"splitfromleft", SECOND_COUNT}, {"splitfromright", SECOND_COUNT},
        {"slicefromleft", SECOND_COUNT}, {"slicefromright", SECOND_COUNT},
        {"left", SECOND_COUNT},          {"right", SECOND_COUNT},
        {"split", SECOND_TEXT},          {"wildcard", SECOND_NONE},
    };
    struct mf_slice body = trim_blanks(mf_slice(token.ptr + 2, token.len - 4)), arg;
    const uint8_t *open = memchr(body.ptr, '(', body.len);
    if (open == NULL || body.len == 0 || body.ptr[body.len - 1] != ')')
        return BAD "unknown function";
    struct mf_slice name = trim_blanks(mf_slice(body.ptr, (size_t)(open - body.ptr)));
    struct mf_slice args = mf_slice(open + 1, (size_t)(body.ptr + body.len - 1 - (open + 1)));
    if (m->strict && !mf_eq_nocase(name, "wildcard"))
        return BAD "the only mapping function allowed for import transforms is {{Wildcard()}}";
    if (mf_eq_nocase(name, "partition"))
        return check_partition(m, args);
    if (mf_eq_nocase(name, "random"))
        return take_arg(&args, &arg) ? check_count(arg)
                                     : BAD "not enough arguments passed to the function";
    for (size_t i = 0; i < MF_COUNT(functions); i++)
        if (mf_eq_nocase(name, functions[i].name))
            return check_token_function(m, args, functions[i].second);
    return BAD "unknown function";
}

static const char *check_token(struct mapping *m, struct mf_slice t, bool last, bool *full)
{
    uint64_t n;
    if (t.len == 0)
        return BAD "invalid transform";
    if (t.len > 4 && t.ptr[0] == '{' && t.ptr[1] == '{' && t.ptr[t.len - 1] == '}' &&
        t.ptr[t.len - 2] == '}')
        return check_function(m, t);
    for (size_t i = 0; i < t.len; i++)
        if (is_space((char)t.ptr[i]))
            return BAD "invalid transform";
    if (t.len > 1 && t.ptr[0] == '$' && mf_parse_u64(mf_slice(t.ptr + 1, t.len - 1), &n) == 0)
        return check_index(m, mf_slice(t.ptr + 1, t.len - 1));
    if (mf_eq_str(t, "*")) {
        if (!m->strict)
            return "bad subject: '*' can not stand in a destination; use {{wildcard(1)}} or $1";
        m->used++; /* an import counts them off */
        return m->used > m->stars ? BAD "wildcard index out of range" : NULL;
    }
    if (mf_eq_str(t, ">")) {
        *full = true;
        return last ? NULL : BAD "invalid transform";
    }
    return NULL;
}

const char *text_transform_error(const char *src, const char *dest, bool strict)
{
    struct mapping m = {.strict = strict};
    bool full = false;
    for (const char *s = src;; s++) {
        size_t n = strcspn(s, ".");
        m.stars += n == 1 && s[0] == '*';
        m.full = n == 1 && s[0] == '>';
        s += n;
        if (*s == '\0')
            break;
    }
    for (const char *d = dest;;) {
        size_t n = strcspn(d, ".");
        const char *bad = check_token(&m, mf_slice(d, n), d[n] == '\0', &full);
        if (bad != NULL)
            return bad;
        if (d[n] == '\0')
            break;
        d += n + 1;
    }
    if (full != m.full)
        return "bad subject: '>' must end both source and destination, or none";
    if (strict && m.used < m.stars)
        return BAD "not using all of the token wildcard(s)";
    return NULL;
}

char *text_untokenize(struct arena *a, const char *subject)
{
    char *out = arena_str(a, subject), *w = out;
    for (const char *s = subject; out != NULL;) {
        size_t n = strcspn(s, ".");
        uint64_t ignored;
        if ((n > 1 && s[0] == '$' && mf_parse_u64(mf_slice(s + 1, n - 1), &ignored) == 0) ||
            (n > 4 && s[0] == '{' && s[1] == '{')) {
            *w++ = '*';
        } else {
            memcpy(w, s, n);
            w += n;
        }
        *w = s[n];
        if (s[n] == '\0')
            break;
        w++;
        s += n + 1;
    }
    return out;
}
