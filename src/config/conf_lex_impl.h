/* conf_lex_impl.h: splits a configuration file into keys and values.  Private to config. */
#ifndef MAYFLY_CONFIG_CONF_LEX_H
#define MAYFLY_CONFIG_CONF_LEX_H

#include "base/arena.h"

/* The container around the lexer's position.  The grammars differ: after `key:` the top level
 * needs the value on the same line, a map does not. */
enum lex_in { LEX_TOP, LEX_BLOCK, LEX_MAP, LEX_ARRAY }; /* BLOCK: braces around the whole file */

enum lex_type {
    LEX_END,   /* of the text */
    LEX_CLOSE, /* '}' or ']' */
    LEX_NEXT,  /* another entry may follow */
    LEX_OPEN,  /* '{' around the whole file */
    LEX_KEY,
    LEX_INCLUDE, /* text: the path */
    LEX_STRING,
    LEX_BOOL, /* text: lower or upper case word */
    LEX_INT,  /* text: as written, with its unit */
    LEX_FLOAT,
    LEX_DATE,
    LEX_VARIABLE, /* text: without '$' */
    LEX_ARRAY_OPEN,
    LEX_MAP_OPEN,
};

struct lex_token {
    enum lex_type type;
    struct mf_slice text; /* in the input, or in the arena where escapes were resolved */
    int line, col;        /* of its first character, both from 1 */
};

struct conf_lex {
    const char *file; /* for messages */
    const uint8_t *p, *end, *line_start;
    int line;
    struct arena *arena;
    struct mf_error *e;
};

void conf_lex_init(struct conf_lex *lx, struct mf_slice text, const char *file, struct arena *arena,
                   struct mf_error *e);
/* A key, an include, the end of this map or of the text (LEX_TOP also: LEX_OPEN). */
MF_MUSTCHECK int conf_lex_key(struct conf_lex *lx, enum lex_in in, struct lex_token *t);
/* The value after a key.  key: for messages. */
MF_MUSTCHECK int conf_lex_value(struct conf_lex *lx, enum lex_in in, struct mf_slice key,
                                struct lex_token *t);
/* An element of an array, or LEX_CLOSE. */
MF_MUSTCHECK int conf_lex_element(struct conf_lex *lx, struct lex_token *t);
/* Behind a value: LEX_NEXT, LEX_CLOSE or (top level) LEX_END. */
MF_MUSTCHECK int conf_lex_value_end(struct conf_lex *lx, enum lex_in in, struct lex_token *t);
/* "file:line:col: Parse error on line N: 'text'"; the position is where the lexer stands. */
int conf_lex_fail(struct conf_lex *lx, const char *fmt, ...) MF_PRINTF(2, 3);

/* An unquoted, non-empty word without escapes. */
enum lex_type conf_lex_classify(struct mf_slice word);
/* Words.  0 and *out, or a negative code: MF_INVAL not such a number, MF_LIMIT out of range. */
MF_MUSTCHECK int conf_lex_int(struct mf_slice word, int64_t *out);
MF_MUSTCHECK int conf_lex_date(struct mf_slice word, int64_t *out_ns);

#endif
