/* base.h: slices, error codes and macros that every layer uses. */
#ifndef MAYFLY_BASE_H
#define MAYFLY_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#define MF_MUSTCHECK         __attribute__((warn_unused_result))
#define MF_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define MF_LIKELY(x)         __builtin_expect(!!(x), 1)
#define MF_UNLIKELY(x)       __builtin_expect(!!(x), 0)

/* The struct that embeds `member` at address `ptr`. */
#define mf_container(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
#define MF_COUNT(array)                 (sizeof(array) / sizeof((array)[0]))

/* Borrowed bytes; no NUL at the end.  ptr may be NULL only when len is 0. */
struct mf_slice {
    const uint8_t *ptr;
    size_t len;
};

#define MF_SLICE_NONE ((struct mf_slice){NULL, 0})
/* A slice of a string literal, its length known at compile time. */
#define MF_LIT(literal) ((struct mf_slice){(const uint8_t *)("" literal), sizeof(literal) - 1})
/* For printf("%.*s"). */
#define MF_FMT(s) (int)(s).len, (const char *)(s).ptr

static inline struct mf_slice mf_slice(const void *ptr, size_t len)
{
    return (struct mf_slice){(const uint8_t *)ptr, len};
}
static inline struct mf_slice mf_str(const char *s) /* NULL gives the empty slice */
{
    return (struct mf_slice){(const uint8_t *)s, s == NULL ? 0 : strlen(s)};
}
static inline bool mf_has_text(const char *s) /* neither NULL nor empty */
{
    return s != NULL && *s != '\0';
}
static inline bool mf_eq(struct mf_slice a, struct mf_slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}
static inline bool mf_eq_str(struct mf_slice a, const char *s)
{
    return mf_eq(a, mf_str(s));
}
/* Compares bytes; a prefix sorts before the longer text. */
int mf_compare(struct mf_slice a, struct mf_slice b);
/* Without the white space of ASCII (\t to \r, blank) at both ends. */
struct mf_slice mf_trim(struct mf_slice s);
bool mf_starts(struct mf_slice s, const char *prefix);
bool mf_ends(struct mf_slice s, const char *suffix);
/* ASCII only, as the wire protocol and configuration keys need it. */
bool mf_eq_nocase(struct mf_slice a, const char *s);
/* A NUL-terminated copy of the caller's own; NULL when out of memory. */
char *mf_slice_dup(struct mf_slice s);
/* Copies s to *at, which moves behind it.  The copy. */
struct mf_slice mf_slice_put(uint8_t **at, struct mf_slice s);
/* Decimal digits only, no sign, no overflow: 0 and *out, or MF_INVAL. */
MF_MUSTCHECK int mf_parse_u64(struct mf_slice s, uint64_t *out);

/* A message as every layer above the wire sees it.  hdr is the whole block from "NATS/1.0" to the
 * empty line, or empty.  All of it is borrowed for the length of the call. */
struct mf_msg {
    struct mf_slice subject, reply, hdr, payload;
};

/* Every int result is 0 or one of these (negative). */
#define MF_ERRORS(X)                                                                               \
    X(MF_NOMEM, -1, "out of memory")                                                               \
    X(MF_INVAL, -2, "invalid value")                                                               \
    X(MF_AGAIN, -3, "not ready, try again later")                                                  \
    X(MF_NOTFOUND, -4, "not found")                                                                \
    X(MF_EXISTS, -5, "already exists")                                                             \
    X(MF_LIMIT, -6, "limit reached")                                                               \
    X(MF_IO, -7, "input or output failed")                                                         \
    X(MF_CORRUPT, -8, "stored data is corrupt")                                                    \
    X(MF_PROTO, -9, "protocol violation")                                                          \
    X(MF_DENIED, -10, "not permitted")                                                             \
    X(MF_CLOSED, -11, "closed")                                                                    \
    X(MF_FULL, -12, "no space left")                                                               \
    X(MF_UNSUPPORTED, -13, "not supported")                                                        \
    X(MF_TIMEOUT, -14, "timed out")                                                                \
    X(MF_READONLY, -15, "read only")

enum mf_err {
#define MF_ERR_ENUM(name, value, text) name = value,
    MF_ERRORS(MF_ERR_ENUM)
#undef MF_ERR_ENUM
};
const char *mf_err_text(int code);

/* A failure: its code and its text.  The text lists the levels that passed the error on, then the
 * innermost cause. */
struct mf_error {
    int code;
    char text[512];
};
/* Sets code and text; e may be NULL.  Returns code.  The text of the code is added as the cause
 * for MF_NOMEM, MF_CORRUPT and an empty fmt. */
int mf_fail(struct mf_error *e, int code, const char *fmt, ...) MF_PRINTF(3, 4);
/* Like mf_fail, with strerror(errno) as the cause. */
int mf_fail_errno(struct mf_error *e, int code, const char *fmt, ...) MF_PRINTF(3, 4);
/* Puts the formatted text and ": " before the text of e.  Returns e->code (MF_INVAL when e is
 * NULL). */
int mf_wrap(struct mf_error *e, const char *fmt, ...) MF_PRINTF(2, 3);

#endif
