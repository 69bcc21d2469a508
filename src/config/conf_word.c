/* conf_word.c: classifies an unquoted word: boolean, variable, number with unit, date or text. */
#include "config/conf_lex_impl.h"

#include "base/civil.h"

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static size_t count_digits(struct mf_slice w, size_t from)
{
    size_t i = from;
    while (i < w.len && is_digit(w.ptr[i]))
        i++;
    return i - from;
}

/* Powers of 1000 alone, of 1024 with b, i or ib; 0: no unit. */
static int64_t unit_factor(struct mf_slice u)
{
    static const char letters[] = "kmgtpe";
    if (u.len == 0)
        return 1;
    const char *at = strchr(letters, u.ptr[0] | 0x20);
    if (at == NULL)
        return 0;
    int64_t base;
    struct mf_slice rest = mf_slice(u.ptr + 1, u.len - 1);
    if (rest.len == 0)
        base = 1000;
    else if (mf_eq_nocase(rest, "b") || mf_eq_nocase(rest, "i") || mf_eq_nocase(rest, "ib"))
        base = 1024;
    else
        return 0;
    int64_t n = base;
    for (ptrdiff_t i = at - letters; i > 0; i--)
        n *= base;
    return n;
}

int conf_lex_int(struct mf_slice word, int64_t *out)
{
    size_t from = word.len > 0 && word.ptr[0] == '-';
    size_t n = count_digits(word, from);
    if (n == 0)
        return MF_INVAL;
    int64_t times = unit_factor(mf_slice(word.ptr + from + n, word.len - from - n));
    if (times == 0)
        return MF_INVAL;
    int64_t value = 0;
    for (size_t i = from; i < from + n; i++) {
        /* Summed negative: the range is one larger there. */
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, word.ptr[i] - '0', &value))
            return MF_LIMIT;
    }
    if (from == 0 && __builtin_sub_overflow(0, value, &value))
        return MF_LIMIT;
    if (__builtin_mul_overflow(value, times, &value))
        return MF_LIMIT;
    *out = value;
    return 0;
}

static bool is_float(struct mf_slice w)
{
    size_t i = w.ptr[0] == '-';
    size_t whole = count_digits(w, i);
    i += whole;
    if (whole == 0 || i == w.len || w.ptr[i] != '.')
        return false;
    size_t part = count_digits(w, i + 1);
    return part > 0 && i + 1 + part == w.len;
}

static const char date_shape[] = "0000-00-00T00:00:00Z";

static bool is_date(struct mf_slice w)
{
    if (w.len != sizeof date_shape - 1)
        return false;
    for (size_t i = 0; i < w.len; i++)
        if (date_shape[i] == '0' ? !is_digit(w.ptr[i]) : w.ptr[i] != (uint8_t)date_shape[i])
            return false;
    return true;
}

static int number_at(struct mf_slice w, size_t at, size_t n)
{
    int v = 0;
    for (size_t i = at; i < at + n; i++)
        v = v * 10 + (w.ptr[i] - '0');
    return v;
}

int conf_lex_date(struct mf_slice w, int64_t *out_ns)
{
    if (!is_date(w))
        return MF_INVAL;
    int y = number_at(w, 0, 4), m = number_at(w, 5, 2), d = number_at(w, 8, 2);
    int h = number_at(w, 11, 2), min = number_at(w, 14, 2), s = number_at(w, 17, 2);
    if (m < 1 || m > 12 || d < 1 || d > civil_month_days(y, m) || h > 23 || min > 59 || s > 59)
        return MF_INVAL;
    int64_t secs = civil_days(y, m, d) * CIVIL_DAY_S + ((int64_t)h * 60 + min) * 60 + s;
    if (__builtin_mul_overflow(secs, (int64_t)1000000000, out_ns))
        return MF_LIMIT;
    return 0;
}

static bool is_bool(struct mf_slice w)
{
    static const char *const words[] = {"true", "false", "on", "off", "yes", "no"};
    for (size_t i = 0; i < MF_COUNT(words); i++)
        if (mf_eq_nocase(w, words[i]))
            return true;
    return false;
}

enum lex_type conf_lex_classify(struct mf_slice word)
{
    int64_t ignored;
    if (is_bool(word))
        return LEX_BOOL;
    if (word.ptr[0] == '$')
        return LEX_VARIABLE;
    if (!is_digit(word.ptr[0]) && word.ptr[0] != '-')
        return LEX_STRING;
    if (conf_lex_int(word, &ignored) != MF_INVAL)
        return LEX_INT;
    if (is_float(word))
        return LEX_FLOAT;
    return is_date(word) ? LEX_DATE : LEX_STRING;
}
