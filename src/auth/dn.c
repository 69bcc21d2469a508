/* dn.c: distinguished names in a form that can be compared.
 *
 * "CN=x+OU=y, DC=com" becomes one text per RDN, here "cn\x01x\x02ou\x01y\x02" and "dc\x01com\x02",
 * each closed by \x03.  Control characters cannot be confused with values: a value that holds one
 * (escaped) is refused. */
#include "auth/dn_impl.h"

#include "base/buf.h"

#include <stdlib.h>

#define MAX_RDNS  64
#define MAX_ATTRS 16

struct attr {
    struct mf_buf text; /* type \x01 value \x02 */
    bool known;
};
struct rdn {
    struct attr attrs[MAX_ATTRS];
    size_t n;
};
struct parser {
    struct mf_slice in;
    size_t at;
    struct rdn *rdns;
    size_t n;
};

static char lower_char(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static int read_hex(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (uint8_t)lower_char((char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_known(struct mf_slice type)
{
    static const char *const names[] = {"cn", "serialnumber", "c",  "l",         "st",
                                        "o",  "street",       "ou", "postalcode"};

    for (size_t i = 0; i < MF_COUNT(names); i++) {
        if (mf_eq_str(type, names[i]))
            return true;
    }
    return false;
}

static void skip_blanks(struct parser *p)
{
    while (p->at < p->in.len && p->in.ptr[p->at] == ' ')
        p->at++;
}

/* A short name or a dotted number: letters, digits, '-' and '.'. */
static int parse_type(struct parser *p, struct attr *a)
{
    size_t start;

    skip_blanks(p);
    start = p->at;
    for (; p->at < p->in.len && p->in.ptr[p->at] != '='; p->at++) {
        char c = lower_char((char)p->in.ptr[p->at]);
        if (c == ' ')
            continue;
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'))
            return MF_INVAL;
        mf_buf_byte(&a->text, (uint8_t)c);
    }
    if (p->at == p->in.len || p->at == start || a->text.len == 0)
        return MF_INVAL;
    p->at++; /* '=' */
    a->known = is_known(mf_buf_slice(&a->text));
    mf_buf_byte(&a->text, 1);
    return 0;
}

/* After a backslash: a special character, or two hex digits. */
static int parse_escape(struct parser *p, struct attr *a)
{
    int hi, lo;

    if (p->at >= p->in.len)
        return MF_INVAL;
    if (memchr(" \"#+,;<=>\\", p->in.ptr[p->at], 10) != NULL) {
        mf_buf_byte(&a->text, p->in.ptr[p->at++]);
        return 0;
    }
    if (p->at + 1 >= p->in.len || (hi = read_hex(p->in.ptr[p->at])) < 0 ||
        (lo = read_hex(p->in.ptr[p->at + 1])) < 0)
        return MF_INVAL;
    p->at += 2;
    if (hi == 0 && lo < 8)
        return MF_INVAL; /* would equal a separator */
    mf_buf_byte(&a->text, (uint8_t)(hi << 4 | lo));
    return 0;
}

static int parse_value(struct parser *p, struct attr *a)
{
    size_t keep; /* unescaped blanks at the end do not count */

    skip_blanks(p);
    if (p->at < p->in.len && p->in.ptr[p->at] == '#')
        return MF_INVAL; /* BER in hex: not comparable as text */
    keep = a->text.len;
    while (p->at < p->in.len) {
        uint8_t c = p->in.ptr[p->at];
        if (c == ',' || c == '+')
            break;
        p->at++;
        if (c < 8)
            return MF_INVAL;
        if (c == '\\') {
            if (parse_escape(p, a) != 0)
                return MF_INVAL;
            keep = a->text.len;
            continue;
        }
        mf_buf_byte(&a->text, c);
        if (c != ' ')
            keep = a->text.len;
    }
    a->text.len = keep;
    mf_buf_byte(&a->text, 2);
    return mf_buf_failed(&a->text) ? MF_NOMEM : 0;
}

static int parse_rdn(struct parser *p, struct rdn *r)
{
    int rc;

    for (;;) {
        if (r->n == MAX_ATTRS)
            return MF_INVAL;
        struct attr *a = &r->attrs[r->n++];
        if ((rc = parse_type(p, a)) != 0 || (rc = parse_value(p, a)) != 0)
            return rc;
        if (p->at >= p->in.len || p->in.ptr[p->at] != '+')
            return 0;
        p->at++;
    }
}

static int attr_order(const void *x, const void *y)
{
    const struct attr *a = x, *b = y;

    return mf_compare(mf_buf_slice(&a->text), mf_buf_slice(&b->text));
}

static int rdn_order(const void *x, const void *y)
{
    const struct rdn *a = x, *b = y;

    for (size_t i = 0; i < a->n && i < b->n; i++) {
        int d = attr_order(&a->attrs[i], &b->attrs[i]);
        if (d != 0)
            return d;
    }
    return (a->n > b->n) - (a->n < b->n);
}

static char *render_name(const struct parser *p, bool known_only)
{
    struct mf_buf b = MF_BUF_INIT;
    char *text;

    for (size_t i = 0; i < p->n; i++) {
        size_t before = b.len;
        for (size_t k = 0; k < p->rdns[i].n; k++) {
            const struct attr *a = &p->rdns[i].attrs[k];
            if (!known_only || a->known)
                mf_buf_append(&b, a->text.ptr, a->text.len);
        }
        if (b.len > before)
            mf_buf_byte(&b, 3);
    }
    text = mf_buf_failed(&b) ? NULL : mf_slice_dup(mf_buf_slice(&b));
    mf_buf_fini(&b);
    return text;
}

static void parser_fini(struct parser *p)
{
    for (size_t i = 0; i < MAX_RDNS && p->rdns != NULL; i++) {
        for (size_t k = 0; k < p->rdns[i].n; k++)
            mf_buf_fini(&p->rdns[i].attrs[k].text);
    }
    free(p->rdns);
}

void dn_fini(struct dn *d)
{
    free(d->ordered);
    free(d->sorted);
    free(d->plain);
    *d = (struct dn){NULL, NULL, NULL};
}

int dn_parse(struct dn *out, struct mf_slice text)
{
    struct parser p = {.in = text};
    int rc = 0;

    *out = (struct dn){NULL, NULL, NULL};
    if (text.len == 0 || memchr(text.ptr, '=', text.len) == NULL)
        return MF_INVAL;
    p.rdns = calloc(MAX_RDNS, sizeof *p.rdns);
    if (p.rdns == NULL)
        return MF_NOMEM;
    do {
        if (p.n == MAX_RDNS)
            rc = MF_INVAL;
        else if ((rc = parse_rdn(&p, &p.rdns[p.n])) == 0)
            qsort(p.rdns[p.n].attrs, p.rdns[p.n].n, sizeof *p.rdns[p.n].attrs, attr_order);
        p.n++;
    } while (rc == 0 && p.at < p.in.len && p.at++ < p.in.len);
    if (rc == 0) {
        out->ordered = render_name(&p, false);
        qsort(p.rdns, p.n, sizeof *p.rdns, rdn_order);
        out->sorted = render_name(&p, false);
        out->plain = render_name(&p, true);
        if (out->ordered == NULL || out->sorted == NULL || out->plain == NULL)
            rc = MF_NOMEM;
    }
    if (rc != 0)
        dn_fini(out);
    parser_fini(&p);
    return rc;
}
