/* jsonw.h: writes JSON straight into a buffer, in the order of the calls, O(bytes), no tree.
 * (Reading is jansson's; it cannot hold unsigned 64 bit numbers, so writing is ours.)
 *
 *     jsonw_begin(&w, &buf, JSONW_PRETTY);
 *     jsonw_object(&w, NULL);  jsonw_str(&w, "name", "x");  jsonw_u64(&w, "n", 1);  jsonw_end(&w);
 *
 * key is NULL inside arrays and at the top. */
#ifndef MAYFLY_JSONW_H
#define MAYFLY_JSONW_H

#include "base/buf.h"

enum jsonw_style { JSONW_COMPACT, JSONW_PRETTY }; /* pretty: two spaces, as nats-server's pages */
#define JSONW_MAX_DEPTH 32

struct jsonw {
    struct mf_buf *out;
    enum jsonw_style style;
    int depth;
    bool comma;                  /* the next value needs a comma before it */
    char close[JSONW_MAX_DEPTH]; /* '}' or ']' of each open level */
};

void jsonw_begin(struct jsonw *w, struct mf_buf *out, enum jsonw_style style);
void jsonw_object(struct jsonw *w, const char *key);
void jsonw_array(struct jsonw *w, const char *key);
void jsonw_end(struct jsonw *w); /* closes the innermost object or array */
/* Text is escaped as Go's encoding/json does it: < > & U+2028 U+2029 as \u00XX, invalid UTF-8 as
 * U+FFFD. */
void jsonw_str(struct jsonw *w, const char *key, const char *value); /* NULL writes "" */
void jsonw_slice(struct jsonw *w, const char *key, struct mf_slice value);
void jsonw_i64(struct jsonw *w, const char *key, int64_t value);
void jsonw_u64(struct jsonw *w, const char *key, uint64_t value);
void jsonw_f64(struct jsonw *w, const char *key, double value); /* shortest form, as Go prints */
void jsonw_bool(struct jsonw *w, const char *key, bool value);
void jsonw_null(struct jsonw *w, const char *key);
void jsonw_time(struct jsonw *w, const char *key, int64_t wall_ns); /* RFC 3339, UTC */
/* A long text in several calls, for example over several time slices.  A piece ends at the end of
 * a character. */
void jsonw_text(struct jsonw *w, const char *key);
void jsonw_piece(struct jsonw *w, struct mf_slice piece);
void jsonw_text_end(struct jsonw *w);
/* Bytes that are JSON already. */
void jsonw_raw(struct jsonw *w, const char *key, struct mf_slice json);

/* Left out, key and all, when the value is empty: NULL or "", zero, false, no strings (Go's
 * omitempty). */
struct json_strs;
void jsonw_opt_str(struct jsonw *w, const char *key, const char *value);
void jsonw_opt_i64(struct jsonw *w, const char *key, int64_t value);
void jsonw_opt_u64(struct jsonw *w, const char *key, uint64_t value);
void jsonw_opt_bool(struct jsonw *w, const char *key, bool value);
void jsonw_opt_strs(struct jsonw *w, const char *key, const struct json_strs *value);

#endif
