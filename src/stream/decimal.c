/* decimal.c: addition on decimal digits. */
#include "stream/decimal_impl.h"

bool decimal_parse(struct mf_slice text, struct decimal *out)
{
    bool negative = text.len > 0 && text.ptr[0] == '-';
    size_t at = negative || (text.len > 0 && text.ptr[0] == '+') ? 1 : 0;

    if (at == text.len)
        return false;
    for (size_t i = at; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
    while (at + 1 < text.len && text.ptr[at] == '0')
        at++;
    if (text.len - at > DECIMAL_MAX)
        return false;
    out->digits = mf_slice(text.ptr + at, text.len - at);
    out->negative = negative && text.ptr[at] != '0';
    return true;
}

/* The digit that counts 10^i. */
static int digit_at(struct mf_slice n, size_t i)
{
    return i < n.len ? n.ptr[n.len - 1 - i] - '0' : 0;
}

/* -1, 0, 1: without regard to signs. */
static int compare_digits(struct mf_slice a, struct mf_slice b)
{
    if (a.len != b.len)
        return a.len < b.len ? -1 : 1;
    return memcmp(a.ptr, b.ptr, a.len);
}

/* Both write exactly n digits that end at p[n - 1], with leading zeros. */
static void add_digits(uint8_t *p, size_t n, struct mf_slice a, struct mf_slice b)
{
    int carry = 0;

    for (size_t i = 0; i < n; i++) {
        int d = digit_at(a, i) + digit_at(b, i) + carry;
        carry = d / 10;
        p[n - 1 - i] = (uint8_t)('0' + d % 10);
    }
}
static void subtract_digits(uint8_t *p, size_t n, struct mf_slice a, struct mf_slice b) /* a >= b */
{
    int borrow = 0;

    for (size_t i = 0; i < n; i++) {
        int d = digit_at(a, i) - digit_at(b, i) - borrow;
        borrow = d < 0;
        p[n - 1 - i] = (uint8_t)('0' + d + 10 * borrow);
    }
}

int decimal_add(struct mf_buf *out, struct decimal a, struct decimal b)
{
    bool same = a.negative == b.negative;
    int order = same ? 1 : compare_digits(a.digits, b.digits);
    size_t n = (a.digits.len > b.digits.len ? a.digits.len : b.digits.len) + 1, zeros = 0;
    bool negative = order < 0 ? b.negative : a.negative;

    if (order == 0) { /* a - a */
        mf_buf_byte(out, '0');
        return mf_buf_failed(out) ? MF_NOMEM : 0;
    }
    uint8_t *p = mf_buf_reserve(out, n + 1); /* a sign before the digits */
    if (p == NULL)
        return MF_NOMEM;
    if (same)
        add_digits(p + 1, n, a.digits, b.digits);
    else if (order > 0)
        subtract_digits(p + 1, n, a.digits, b.digits);
    else
        subtract_digits(p + 1, n, b.digits, a.digits);
    while (zeros + 1 < n && p[1 + zeros] == '0')
        zeros++;
    n -= zeros;
    if (n > DECIMAL_MAX)
        return MF_LIMIT;
    memmove(p + negative, p + 1 + zeros, n);
    if (negative)
        p[0] = '-';
    out->len += n + negative;
    return 0;
}
