/* json_scan_impl.h: the grammar of JSON, its strings, and Go's texts for its errors.  Private to
 * codec.  Nothing here recurses; everything is O(bytes). */
#ifndef BASE_JSON_SCAN_H
#define BASE_JSON_SCAN_H

#include "codec/json.h"

#define JSON_DEPTH_MAX 10000 /* Go's */

/* Text of bounded length, cut where it does not fit, never inside a character. */
struct json_text {
    char at[sizeof((struct mf_error *)NULL)->text];
    size_t len;
    bool full;
};
void json_text_add(struct json_text *t, struct mf_slice s);
void json_text_puts(struct json_text *t, const char *s);
/* May it stand between `backquotes`: printable, no blanks, no backquote? */
bool json_text_plain(struct mf_slice s);
/* As Go's strconv.Quote: "a\tb", bytes that are no UTF-8 as \xff. */
void json_text_quote(struct json_text *t, struct mf_slice s);

/* A walk over a text.  [0, pos) is behind us. */
struct json_scan {
    struct mf_slice text;
    size_t pos;
    /* Of an error: */
    bool ended;    /* the text is a beginning of JSON, nothing more; else: */
    size_t offset; /* behind the offending character, and */
    struct json_text what;
};
static inline bool json_scan_more(const struct json_scan *s)
{
    return s->pos < s->text.len;
}
static inline uint8_t json_scan_peek(const struct json_scan *s) /* 0 at the end */
{
    return s->pos < s->text.len ? s->text.ptr[s->pos] : 0;
}
void json_scan_blank(struct json_scan *s); /* over white space */
/* Over the value at pos, which need not start there: blanks come first.  0 or MF_INVAL. */
MF_MUSTCHECK int json_scan_value(struct json_scan *s);
/* Fails: the character at pos is not allowed there. */
int json_scan_stray(struct json_scan *s, const char *where);

/* The bytes a string stands for, raw being its text with the quotes: a copy in the arena, NUL
 * behind it (not counted).  Bytes that are no UTF-8 and lone surrogates become U+FFFD; with
 * c_string so does U+0000, which a C string cannot hold.  0 or MF_NOMEM. */
MF_MUSTCHECK int json_unquote(struct mf_slice raw, struct arena *mem, bool c_string,
                              struct mf_slice *out);

#endif
