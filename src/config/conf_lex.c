/* conf_lex.c: the lexer of nats-server's configuration language.
 *
 * Unquoted words are cut first (up to blank, newline, `,` `;` `]` `}`) and classified afterwards
 * (conf_word.c), so `1m30s`, `10.0.0.1:4222` and `[1, 2]` need no rules of their own.
 * No message repeats a value: it might be a password. */
#include "config/conf_lex_impl.h"

#include <stdio.h>

void conf_lex_init(struct conf_lex *lx, struct mf_slice text, const char *file, struct arena *arena,
                   struct mf_error *e)
{
    *lx = (struct conf_lex){.file = file, .line = 1, .arena = arena, .e = e};
    if (mf_starts(text, "\xef\xbb\xbf")) /* byte order mark */
        text = mf_slice(text.ptr + 3, text.len - 3);
    lx->p = lx->line_start = text.ptr;
    lx->end = text.len == 0 ? text.ptr : text.ptr + text.len;
}

int conf_lex_fail(struct conf_lex *lx, const char *fmt, ...)
{
    char what[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return mf_fail(lx->e, MF_INVAL, "%s:%d:%d: Parse error on line %d: '%s'", lx->file, lx->line,
                   (int)(lx->p - lx->line_start) + 1, lx->line, what);
}

static int peek_byte(const struct conf_lex *lx) /* -1 at the end */
{
    return lx->p == lx->end ? -1 : *lx->p;
}

static void next_char(struct conf_lex *lx)
{
    if (*lx->p++ == '\n') {
        lx->line++;
        lx->line_start = lx->p;
    }
}

static bool is_blank(int c)
{
    return c == ' ' || c == '\t';
}
static bool is_newline(int c)
{
    return c == '\n' || c == '\r';
}
static bool is_space(int c)
{
    return is_blank(c) || is_newline(c) || c == '\v' || c == '\f';
}
static bool ends_word(int c)
{
    return c == -1 || is_blank(c) || is_newline(c) || c == ',' || c == ';' || c == ']' || c == '}';
}

static bool at_comment(const struct conf_lex *lx)
{
    return peek_byte(lx) == '#' || (lx->end - lx->p >= 2 && lx->p[0] == '/' && lx->p[1] == '/');
}

static void skip_comment(struct conf_lex *lx)
{
    while (peek_byte(lx) != -1 && !is_newline(peek_byte(lx)))
        next_char(lx);
}

/* Blanks, newlines and comments. */
static void skip_all(struct conf_lex *lx)
{
    for (;;) {
        while (is_space(peek_byte(lx)))
            next_char(lx);
        if (!at_comment(lx))
            return;
        skip_comment(lx);
    }
}

/* A character for a message: never raw control or non-ASCII bytes. */
static const char *show_char(int c, char buf[8])
{
    if (c == -1)
        snprintf(buf, 8, "EOF");
    else if (c == '\n')
        snprintf(buf, 8, "\\n");
    else if (c == '\r')
        snprintf(buf, 8, "\\r");
    else if (c < 0x20 || c >= 0x7f)
        snprintf(buf, 8, "\\x%02x", (unsigned)c & 0xff);
    else
        snprintf(buf, 8, "%c", c);
    return buf;
}

static void token_at(const struct conf_lex *lx, struct lex_token *t, enum lex_type type)
{
    t->type = type;
    t->text = mf_slice(lx->p, 0);
    t->line = lx->line;
    t->col = (int)(lx->p - lx->line_start) + 1;
}

static void token_text(const struct conf_lex *lx, struct lex_token *t, const uint8_t *from)
{
    t->text = mf_slice(from, (size_t)(lx->p - from));
}

/* --- keys ------------------------------------------------------------------------------------ */

static int quoted_raw(struct conf_lex *lx, struct lex_token *t, enum lex_type type,
                      const char *what)
{
    int quote = peek_byte(lx);
    int line = lx->line;
    next_char(lx);
    token_at(lx, t, type);
    const uint8_t *from = lx->p;
    while (peek_byte(lx) != quote) {
        if (peek_byte(lx) == -1)
            return conf_lex_fail(lx, "Unexpected EOF %s. The %c opened on line %d is not closed",
                                 what, quote, line);
        if (peek_byte(lx) == 0)
            return conf_lex_fail(lx, "Unexpected NUL byte %s.", what);
        next_char(lx);
    }
    token_text(lx, t, from);
    next_char(lx);
    return 0;
}

static bool ends_key(int c)
{
    return c == -1 || is_space(c) || c == '=' || c == ':' || c == '{' || c == '[' || c == '}';
}

static int include_path(struct conf_lex *lx, struct lex_token *t)
{
    char buf[8];
    while (is_blank(peek_byte(lx)))
        next_char(lx);
    int c = peek_byte(lx);
    if (c == '"' || c == '\'')
        return quoted_raw(lx, t, LEX_INCLUDE, "in quoted include");
    if (c == '[' || c == '{' || c == '(' || c == -1 || is_newline(c))
        return conf_lex_fail(lx, "Expected include value but found %s. Write include \"file\"",
                             c == -1         ? "EOF"
                             : is_newline(c) ? "new line"
                             : c == '['      ? "start of an array"
                             : c == '{'      ? "start of a map"
                                             : "start of a block");
    const uint8_t *from = lx->p;
    token_at(lx, t, LEX_INCLUDE);
    while (!ends_word(c = peek_byte(lx)) || c == ',' || c == ']') {
        if (c == 0)
            return conf_lex_fail(lx, "Unexpected character '%s' in include", show_char(c, buf));
        next_char(lx);
    }
    token_text(lx, t, from);
    return 0;
}

/* A '}' at the top level closes nothing; nats-server accepts one at the very end. */
static int stray_close(struct conf_lex *lx, struct lex_token *t)
{
    struct conf_lex here = *lx;
    next_char(lx);
    skip_all(lx);
    token_at(lx, t, LEX_END);
    if (peek_byte(lx) == -1)
        return 0;
    *lx = here;
    return conf_lex_fail(lx, "Unexpected '}': no map is open here");
}

static int bare_key(struct conf_lex *lx, struct lex_token *t)
{
    const uint8_t *from = lx->p;
    token_at(lx, t, LEX_KEY);
    do {
        if (peek_byte(lx) == 0)
            return conf_lex_fail(lx, "Unexpected NUL byte in a key");
        next_char(lx);
    } while (!ends_key(peek_byte(lx)));
    token_text(lx, t, from);
    if (is_space(peek_byte(lx)) && mf_eq_nocase(t->text, "include"))
        return include_path(lx, t);
    return 0;
}

int conf_lex_key(struct conf_lex *lx, enum lex_in in, struct lex_token *t)
{
    char buf[8];
    skip_all(lx);
    int c = peek_byte(lx);
    token_at(lx, t, LEX_END);
    if (c == -1)
        return in == LEX_TOP ? 0 : conf_lex_fail(lx, "Unexpected EOF processing map.");
    if (c == '}') {
        if (in == LEX_TOP)
            return stray_close(lx, t);
        next_char(lx);
        t->type = LEX_CLOSE;
        return 0;
    }
    if (c == '{' && (in == LEX_TOP || in == LEX_BLOCK)) {
        next_char(lx);
        t->type = LEX_OPEN;
        return 0;
    }
    if (c == '=' || c == ':')
        return conf_lex_fail(lx, "Unexpected key separator '%c'", c);
    if (c == ']')
        return conf_lex_fail(lx, "Unexpected array end ']' processing map.");
    if (c == ',' || c == ';' || c == '{' || c == '[' || c == 0)
        return conf_lex_fail(lx, "Expected a key but got '%s'", show_char(c, buf));
    if (c == '"' || c == '\'')
        return quoted_raw(lx, t, LEX_KEY, "processing quoted key");
    return bare_key(lx, t);
}

/* --- strings ---------------------------------------------------------------------------------- */

static int hex_digit(int c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* lx stands behind a backslash. */
static int read_escape(struct conf_lex *lx, char *out)
{
    char buf[8];
    int c = peek_byte(lx);
    static const char from[] = "tnr\"\\", to[] = "\t\n\r\"\\";
    const char *at = c > 0 ? strchr(from, c) : NULL;
    if (at != NULL) {
        *out = to[at - from];
        next_char(lx);
        return 0;
    }
    if (c != 'x')
        return conf_lex_fail(
            lx,
            "Invalid escape character '%s'. Only the following escape characters are "
            "allowed: \\xXX, \\t, \\n, \\r, \\\", \\\\.",
            show_char(c, buf));
    next_char(lx);
    int value = 0;
    for (int i = 0; i < 2; i++) {
        int d = hex_digit(peek_byte(lx));
        if (d < 0)
            return conf_lex_fail(lx, "Expected two hexadecimal digits after '\\x'%s",
                                 is_newline(peek_byte(lx)) ? ", but hit end of line" : "");
        value = value * 16 + d;
        next_char(lx);
    }
    if (value == 0)
        return conf_lex_fail(lx, "A string can not hold a NUL byte (\\x00)");
    *out = (char)value;
    return 0;
}

/* Copies up to the end of the string and resolves escapes.  quote -1: an unquoted word. */
static int read_escaped(struct conf_lex *lx, struct lex_token *t, int quote)
{
    size_t room = 0;
    for (const uint8_t *q = lx->p; q < lx->end && (quote < 0 ? !ends_word(*q) : *q != quote); q++) {
        if (*q == '\\' && q + 1 < lx->end)
            q++;
        room += 2;
    }
    char *out = arena_alloc(lx->arena, room + 1);
    if (out == NULL)
        return mf_fail(lx->e, MF_NOMEM, "%s: string", lx->file);
    size_t n = 0;
    int line = lx->line;
    for (int c; c = peek_byte(lx), quote < 0 ? !ends_word(c) && c != '\'' : c != quote;) {
        if (c == -1)
            return conf_lex_fail(lx, "Unexpected EOF. The %c opened on line %d is not closed",
                                 quote, line);
        if (c == 0)
            return conf_lex_fail(lx, "A string can not hold a NUL byte");
        next_char(lx);
        if (c != '\\')
            out[n++] = (char)c;
        else if (read_escape(lx, &out[n]) == 0)
            n++;
        else
            return MF_INVAL;
    }
    t->text = mf_slice(out, n);
    return 0;
}

static int double_quoted(struct conf_lex *lx, struct lex_token *t)
{
    token_at(lx, t, LEX_STRING);
    next_char(lx);
    int rc = read_escaped(lx, t, '"');
    if (rc == 0)
        next_char(lx);
    return rc;
}

/* ( ... ) up to a ')' alone on its line. */
static int block_string(struct conf_lex *lx, struct lex_token *t)
{
    token_at(lx, t, LEX_STRING);
    next_char(lx);
    const uint8_t *from = lx->p;
    for (int c; (c = peek_byte(lx)) != -1; next_char(lx)) {
        if (c == 0)
            return conf_lex_fail(lx, "A string can not hold a NUL byte");
        if (c != ')' || lx->p != lx->line_start)
            continue;
        const uint8_t *q = lx->p + 1;
        if (q < lx->end && *q == '\r')
            q++;
        if (q != lx->end && *q != '\n')
            continue;
        token_text(lx, t, from);
        next_char(lx);
        return 0;
    }
    return conf_lex_fail(lx, "Unexpected EOF processing block. It ends with a ) alone on its line");
}

/* --- values ----------------------------------------------------------------------------------- */

static int bare_word(struct conf_lex *lx, struct lex_token *t)
{
    token_at(lx, t, LEX_STRING);
    struct conf_lex start = *lx;
    int c;
    while (!ends_word(c = peek_byte(lx)) && c != '\\' && c != '\'') {
        if (c == 0)
            return conf_lex_fail(lx, "A string can not hold a NUL byte");
        next_char(lx);
    }
    if (c == '\\' || c == '\'') {
        /* nats-server resolves escapes in words too, and lets a ' end one. */
        *lx = start;
        int rc = read_escaped(lx, t, -1);
        if (rc == 0 && peek_byte(lx) == '\'')
            next_char(lx);
        return rc;
    }
    token_text(lx, t, start.p);
    t->type = conf_lex_classify(t->text);
    if (t->type == LEX_VARIABLE)
        t->text = mf_slice(t->text.ptr + 1, t->text.len - 1);
    return 0;
}

static int any_value(struct conf_lex *lx, struct lex_token *t)
{
    char buf[8];
    int c = peek_byte(lx);
    int after = lx->end - lx->p >= 2 ? lx->p[1] : -1;
    token_at(lx, t, LEX_ARRAY_OPEN);
    switch (c) {
    case '[':
        next_char(lx);
        return 0;
    case '{':
        next_char(lx);
        t->type = LEX_MAP_OPEN;
        return 0;
    case '"':
        return double_quoted(lx, t);
    case '\'':
        return quoted_raw(lx, t, LEX_STRING, "in a string");
    case '(':
        return block_string(lx, t);
    case '-':
        if (after < '0' || after > '9')
            return conf_lex_fail(lx, "Expected a digit but got '%s'. Quote the value if it is text",
                                 show_char(after, buf));
        break;
    case '.':
        if (after >= '0' && after <= '9')
            return conf_lex_fail(lx, "Floats must start with a digit");
        break;
    default:
        break;
    }
    return bare_word(lx, t);
}

int conf_lex_value(struct conf_lex *lx, enum lex_in in, struct mf_slice key, struct lex_token *t)
{
    char buf[8];
    bool separator = false;
    while (is_space(peek_byte(lx)))
        next_char(lx);
    if (peek_byte(lx) == '=' || peek_byte(lx) == ':') {
        separator = true;
        next_char(lx);
    }
    while (in != LEX_TOP || !separator ? is_space(peek_byte(lx)) : is_blank(peek_byte(lx)))
        next_char(lx);
    int c = peek_byte(lx);
    if (c == -1)
        return mf_fail(lx->e, MF_INVAL,
                       "config is invalid (%s:%d:%d): expected a value for \"%.*s\", found EOF",
                       lx->file, lx->line, (int)(lx->p - lx->line_start) + 1, MF_FMT(key));
    if (is_newline(c))
        return conf_lex_fail(lx, "Expected value but found new line (key \"%.*s\")", MF_FMT(key));
    if (ends_word(c))
        return conf_lex_fail(lx, "Expected value but found '%s' (key \"%.*s\")", show_char(c, buf),
                             MF_FMT(key));
    return any_value(lx, t);
}

int conf_lex_element(struct conf_lex *lx, struct lex_token *t)
{
    skip_all(lx);
    int c = peek_byte(lx);
    token_at(lx, t, LEX_CLOSE);
    if (c == ']') {
        next_char(lx);
        return 0;
    }
    if (c == -1)
        return conf_lex_fail(lx, "Unexpected EOF processing array, expected \"]\"");
    if (c == ',' || c == ';' || c == '}')
        return conf_lex_fail(lx, "Unexpected array value terminator '%c'.", c);
    return any_value(lx, t);
}

int conf_lex_value_end(struct conf_lex *lx, enum lex_in in, struct lex_token *t)
{
    char buf[8];
    while (is_blank(peek_byte(lx)))
        next_char(lx);
    if (at_comment(lx))
        skip_comment(lx);
    int c = peek_byte(lx);
    token_at(lx, t, LEX_NEXT);
    if (is_newline(c) || c == ',' || (c == ';' && in != LEX_ARRAY)) {
        next_char(lx);
        return 0;
    }
    if (in == LEX_TOP) {
        if (c == -1 || c == '}')
            return 0; /* conf_lex_key() decides */
        return conf_lex_fail(
            lx,
            "Expected a top-level value to end with a new line, comment or EOF, but "
            "got '%s' instead.",
            show_char(c, buf));
    }
    if (c == (in == LEX_ARRAY ? ']' : '}'))
        return 0; /* conf_lex_key() and conf_lex_element() close */
    if (in == LEX_ARRAY)
        return conf_lex_fail(
            lx,
            "Expected an array value terminator \",\" or an array terminator \"]\", "
            "but got '%s' instead.",
            show_char(c, buf));
    return conf_lex_fail(
        lx,
        "Expected a map value terminator \",\" or a map terminator \"}\", but got '%s' "
        "instead.",
        show_char(c, buf));
}
