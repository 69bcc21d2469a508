/* slice.c: the few operations on borrowed bytes that are not worth inlining. */
#include "base/base.h"

#include <stdlib.h>

bool mf_starts(struct mf_slice s, const char *prefix)
{
    size_t n = strlen(prefix);

    return s.len >= n && (n == 0 || memcmp(s.ptr, prefix, n) == 0);
}

bool mf_ends(struct mf_slice s, const char *suffix)
{
    size_t n = strlen(suffix);

    return s.len >= n && memcmp(s.ptr + s.len - n, suffix, n) == 0;
}

int mf_compare(struct mf_slice a, struct mf_slice b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int d = n == 0 ? 0 : memcmp(a.ptr, b.ptr, n);

    return d != 0 ? d : (a.len > b.len) - (a.len < b.len);
}

static bool is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct mf_slice mf_trim(struct mf_slice s)
{
    while (s.len > 0 && is_space(s.ptr[0]))
        s = mf_slice(s.ptr + 1, s.len - 1);
    while (s.len > 0 && is_space(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

/* Not tolower(): that one asks the locale. */
static unsigned to_lower(unsigned c)
{
    return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

bool mf_eq_nocase(struct mf_slice a, const char *s)
{
    if (a.len != strlen(s))
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (to_lower(a.ptr[i]) != to_lower((unsigned char)s[i]))
            return false;
    return true;
}

char *mf_slice_dup(struct mf_slice s)
{
    char *copy = malloc(s.len + 1);

    if (copy == NULL)
        return NULL;
    if (s.len > 0)
        memcpy(copy, s.ptr, s.len);
    copy[s.len] = '\0';
    return copy;
}

struct mf_slice mf_slice_put(uint8_t **at, struct mf_slice s)
{
    struct mf_slice copy = mf_slice(*at, s.len);

    if (s.len > 0)
        memcpy(*at, s.ptr, s.len);
    *at += s.len;
    return copy;
}

int mf_parse_u64(struct mf_slice s, uint64_t *out)
{
    uint64_t n = 0;

    if (s.len == 0)
        return MF_INVAL;
    for (size_t i = 0; i < s.len; i++) {
        unsigned digit = (unsigned)s.ptr[i] - '0';
        if (digit > 9 || n > (UINT64_MAX - digit) / 10)
            return MF_INVAL;
        n = n * 10 + digit;
    }
    *out = n;
    return 0;
}
