/* json_scan.c: the grammar of JSON, without recursion: each open level is one byte. */
#include "codec/json_scan_impl.h"

#include "base/utf8.h"

void json_scan_blank(struct json_scan *s)
{
    for (; json_scan_more(s); s->pos++) {
        uint8_t c = s->text.ptr[s->pos];

        if (c != ' ' && c != '\t' && c != '\r' && c != '\n')
            return;
    }
}

static int fail_ended(struct json_scan *s)
{
    s->ended = true;
    return MF_INVAL;
}

/* A character as Go's strconv.QuoteRune shows it. */
static void quote_char(struct json_text *t, struct mf_slice c)
{
    static const char hex[] = "0123456789abcdef";
    uint32_t rune;

    if (mf_eq_str(c, "'")) {
        json_text_puts(t, "'\\''");
    } else if (mf_eq_str(c, "\"")) {
        json_text_puts(t, "'\"'");
    } else if (utf8_next(c.ptr, c.len, &rune) == 0) {
        char byte[] = {'\'', '\\', 'x', hex[c.ptr[0] >> 4], hex[c.ptr[0] & 15], '\'', '\0'};
        json_text_puts(t, byte);
    } else { /* the rest is quoted as in a string, between other quotes */
        struct json_text q = {.len = 0};
        json_text_quote(&q, c);
        json_text_puts(t, "'");
        json_text_add(t, mf_slice(q.at + 1, q.len - 2));
        json_text_puts(t, "'");
    }
}

int json_scan_stray(struct json_scan *s, const char *where)
{
    uint32_t rune;
    size_t n = utf8_next(s->text.ptr + s->pos, s->text.len - s->pos, &rune);

    if (n == 0)
        n = 1;
    json_text_puts(&s->what, "invalid character ");
    quote_char(&s->what, mf_slice(s->text.ptr + s->pos, n));
    json_text_puts(&s->what, " ");
    json_text_puts(&s->what, where);
    s->offset = s->pos + n;
    return MF_INVAL;
}

/* n bytes at pos are an unknown escape. */
static int bad_escape(struct json_scan *s, size_t n)
{
    struct mf_slice what = mf_slice(s->text.ptr + s->pos, n);

    json_text_puts(&s->what, "invalid escape sequence ");
    if (json_text_plain(what)) {
        json_text_puts(&s->what, "`");
        json_text_add(&s->what, what);
        json_text_puts(&s->what, "`");
    } else {
        json_text_quote(&s->what, what);
    }
    json_text_puts(&s->what, " in string");
    s->offset = s->pos + n;
    return MF_INVAL;
}

static bool is_hex(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static int scan_escape(struct json_scan *s)
{
    const uint8_t *p = s->text.ptr + s->pos;
    size_t left = s->text.len - s->pos, n = 2;

    if (left < 2)
        return fail_ended(s);
    if (memchr("\"\\/bfnrt", p[1], 8) != NULL) {
        s->pos += 2;
        return 0;
    }
    if (p[1] != 'u')
        return bad_escape(s, 2);
    while (n < 6 && n < left && is_hex(p[n]))
        n++;
    if (n == 6) {
        s->pos += 6;
        return 0;
    }
    return n == left ? fail_ended(s) : bad_escape(s, left < 6 ? left : 6);
}

static int scan_string(struct json_scan *s)
{
    if (s->text.ptr[s->pos] != '"')
        return json_scan_stray(s, "looking for beginning of object key string");
    s->pos++;
    while (json_scan_more(s)) {
        uint8_t c = s->text.ptr[s->pos];

        if (c == '"') {
            s->pos++;
            return 0;
        }
        if (c < ' ')
            return json_scan_stray(s, "in string");
        if (c != '\\')
            s->pos++;
        else if (scan_escape(s) != 0)
            return MF_INVAL;
    }
    return fail_ended(s);
}

static bool at_digit(const struct json_scan *s)
{
    uint8_t c = json_scan_peek(s);

    return c >= '0' && c <= '9';
}

/* One digit at least. */
static int scan_digits(struct json_scan *s)
{
    if (!json_scan_more(s))
        return fail_ended(s);
    if (!at_digit(s))
        return json_scan_stray(s, "in numeric literal");
    while (at_digit(s))
        s->pos++;
    return 0;
}

static int scan_number(struct json_scan *s)
{
    if (json_scan_peek(s) == '-')
        s->pos++;
    if (json_scan_peek(s) == '0')
        s->pos++; /* nothing may follow a leading zero: the next check fails then */
    else if (scan_digits(s) != 0)
        return MF_INVAL;
    if (json_scan_peek(s) == '.') {
        s->pos++;
        if (scan_digits(s) != 0)
            return MF_INVAL;
    }
    if (json_scan_peek(s) == 'e' || json_scan_peek(s) == 'E') {
        s->pos++;
        if (json_scan_peek(s) == '-' || json_scan_peek(s) == '+')
            s->pos++;
        return scan_digits(s);
    }
    return 0;
}

static int scan_word(struct json_scan *s, const char *word)
{
    for (const char *c = word; *c != '\0'; c++, s->pos++) {
        if (!json_scan_more(s))
            return fail_ended(s);
        if (s->text.ptr[s->pos] != (uint8_t)*c) {
            struct json_text where = {.len = 0};
            json_text_puts(&where, "in literal ");
            json_text_puts(&where, word);
            json_text_puts(&where, " (expecting '");
            json_text_add(&where, mf_slice(c, 1));
            json_text_puts(&where, "')");
            return json_scan_stray(s, where.at);
        }
    }
    return 0;
}

/* A value that has no values in it; pos is at its first byte. */
static int scan_scalar(struct json_scan *s)
{
    uint8_t c = s->text.ptr[s->pos];

    switch (c) {
    case '"':
        return scan_string(s);
    case 'n':
        return scan_word(s, "null");
    case 't':
        return scan_word(s, "true");
    case 'f':
        return scan_word(s, "false");
    default:
        if (c == '-' || (c >= '0' && c <= '9'))
            return scan_number(s);
        return json_scan_stray(s, "looking for beginning of value");
    }
}

/* "name": in an object; pos is behind the '{' or ','. */
static int scan_name(struct json_scan *s)
{
    json_scan_blank(s);
    if (!json_scan_more(s))
        return fail_ended(s);
    if (scan_string(s) != 0)
        return MF_INVAL;
    json_scan_blank(s);
    if (!json_scan_more(s))
        return fail_ended(s);
    if (s->text.ptr[s->pos] != ':')
        return json_scan_stray(s, "after object key");
    s->pos++;
    return 0;
}

struct nest {
    size_t depth;
    char close[JSON_DEPTH_MAX]; /* '}' or ']' of each open level */
};

/* Behind a value: closes levels until another value must follow or none is open. */
static int scan_behind(struct json_scan *s, struct nest *n)
{
    while (n->depth > 0) {
        char close = n->close[n->depth - 1];

        json_scan_blank(s);
        if (!json_scan_more(s))
            return fail_ended(s);
        if (s->text.ptr[s->pos] == ',') {
            s->pos++;
            return close == '}' ? scan_name(s) : 0;
        }
        if (s->text.ptr[s->pos] != (uint8_t)close)
            return json_scan_stray(s, close == '}' ? "after object key:value pair"
                                                   : "after array element");
        s->pos++;
        n->depth--;
    }
    return 0;
}

/* pos is at a '{' or '['.  *empty: it was closed at once. */
static int scan_open(struct json_scan *s, struct nest *n, bool *empty)
{
    char close = s->text.ptr[s->pos] == '{' ? '}' : ']';

    if (n->depth == JSON_DEPTH_MAX) {
        json_text_puts(&s->what, "exceeded max depth");
        s->offset = s->pos + 1;
        return MF_INVAL;
    }
    s->pos++;
    json_scan_blank(s);
    if (!json_scan_more(s))
        return fail_ended(s);
    *empty = s->text.ptr[s->pos] == (uint8_t)close;
    if (*empty) {
        s->pos++;
        return 0;
    }
    n->close[n->depth++] = close;
    return close == '}' ? scan_name(s) : 0;
}

int json_scan_value(struct json_scan *s)
{
    struct nest n;

    n.depth = 0;
    do {
        bool empty = true;

        json_scan_blank(s);
        if (!json_scan_more(s))
            return fail_ended(s);
        uint8_t c = s->text.ptr[s->pos];
        if (c == '{' || c == '[') {
            if (scan_open(s, &n, &empty) != 0)
                return MF_INVAL;
            if (!empty)
                continue; /* its first value comes */
        } else if (scan_scalar(s) != 0) {
            return MF_INVAL;
        }
        if (scan_behind(s, &n) != 0)
            return MF_INVAL;
    } while (n.depth > 0);
    return 0;
}
