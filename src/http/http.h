/* http.h: HTTP/1.x request heads, pure: parse, look up, decode, and the texts of an answer.
 *
 * Strict where leniency helps only attackers: no folded lines, no control characters, one Host, one
 * Content-Length.  Bare LF line ends are accepted, as in nats-server.  Cost: O(bytes), no
 * allocation. */
#ifndef MAYFLY_HTTP_H
#define MAYFLY_HTTP_H

#include "base/base.h"

#define HTTP_FIELDS 64

struct http_field {
    struct mf_slice name, value; /* value without the blanks around it */
};

/* Slices point into the parsed bytes. */
struct http_request {
    struct mf_slice method;
    struct mf_slice path, query; /* still percent-encoded (validly, in path); query has no '?' */
    struct mf_slice host;        /* empty when not sent */
    int minor;                   /* HTTP/1.minor, 0 or 1 */
    bool chunked;                /* has a Transfer-Encoding */
    uint64_t body;               /* Content-Length, 0 without one */
    size_t nfields;
    struct http_field field[HTTP_FIELDS];
};

/* Length of the head including its empty line; 0: incomplete; negative: MF_PROTO, MF_LIMIT or
 * MF_UNSUPPORTED, with *fault set to the answer's text ("400 Bad Request: malformed Host header").
 * seen: how many of the bytes an earlier call on the same head returned 0 for, so that a head that
 * arrives byte by byte still costs O(bytes).  A head longer than limit is refused. */
ssize_t http_parse(const uint8_t *p, size_t n, size_t seen, size_t limit, struct http_request *out,
                   const char **fault);

/* The same for the head of an answer: *status and the fields of *out.  seen, limit, results: as
 * above; *fault says what is wrong with the answer. */
ssize_t http_parse_answer(const uint8_t *p, size_t n, size_t seen, size_t limit,
                          struct http_request *out, int *status, const char **fault);

/* The first field of that name (any case); false: none. */
bool http_get(const struct http_request *r, const char *name, struct mf_slice *value);
/* Whether a comma-separated list, over all fields of that name, holds the token (any case). */
bool http_has_token(const struct http_request *r, const char *name, const char *token);
/* Takes the next element of a list, blanks around it removed; false at the end. */
bool http_next(struct mf_slice *list, char separator, struct mf_slice *element);
/* Whether the connection may carry another request. */
bool http_keep_alive(const struct http_request *r);
/* Whether Accept-Encoding names the coding with a quality above 0. */
bool http_accepts(const struct http_request *r, const char *coding);

/* Percent-decodes into dst, which has room for s.len bytes; with plus, '+' is a blank.  The length,
 * or MF_INVAL for a bad escape or a NUL. */
ssize_t http_decode(uint8_t *dst, struct mf_slice s, bool plus);

const char *http_status_text(int status); /* "Not Found" */
#define HTTP_DATE 32
const char *http_date(char dst[HTTP_DATE], int64_t wall_ns); /* Sun, 06 Nov 1994 08:49:37 GMT */

#endif
