/* request.h: requests to the JSON APIs, their answers and errors.
 *
 * Errors are printed here, in one wording:
 *     mayfly: not permitted: publish to "$JS.API.INFO" (ask for publish permission on it)
 *     mayfly: refused: invalid per-message TTL: ... (10165)
 *     mayfly: no message found: drafts/k (10037) */
#ifndef CLI_REQUEST_H
#define CLI_REQUEST_H

#include "cli/connect.h"

#include <jansson.h>

struct request_error {
    int code, err_code; /* 0, 0: no error */
    char text[256];
};

/* Sends m and waits for one answer (--timeout).  *reply is the caller's to destroy.  A status 503
 * (no responders) is an answer: natsMsg_IsNoResponders().  0 or an exit code, printed. */
MF_MUSTCHECK int request_send(struct cli *c, natsMsg *m, natsMsg **reply);

/* Waits for the next answer (--timeout) on a subscription that a request named as its reply; `what`
 * names the request in errors.  As request_send(). */
MF_MUSTCHECK int request_wait(struct cli *c, natsSubscription *sub, const char *what,
                              natsMsg **reply);

/* Sends body (NULL: empty; not taken) and reads a JSON object.  An error in it is stored in *err
 * if err is given; otherwise it is printed, naming `what` (NULL: nothing), and its exit code is
 * returned.  *out is the caller's to decref, NULL on failure. */
MF_MUSTCHECK int request_json(struct cli *c, const char *subject, const json_t *body,
                              const char *what, json_t **out, struct request_error *err);

/* The same below the JetStream API's prefix: request_api(c, NULL, "ORDERS", &doc, NULL,
 * "STREAM.INFO.%s", name); below `$MAYFLY.TTL` (or `$MAYFLY.<domain>.TTL`): request_ttl(). */
MF_MUSTCHECK int request_api(struct cli *c, const json_t *body, const char *what, json_t **out,
                             struct request_error *err, const char *fmt, ...) MF_PRINTF(6, 7);
MF_MUSTCHECK int request_ttl(struct cli *c, const json_t *body, const char *what, json_t **out,
                             struct request_error *err, const char *fmt, ...) MF_PRINTF(6, 7);

/* The error in an answer; its code is 0 if there is none. */
void request_read_error(const json_t *doc, struct request_error *err);
/* Prints an error of the API, for some with a second line that says what to type, and returns its
 * exit code: 3 for 404, 5 for 403, 4 otherwise. */
int request_refused(struct cli *c, const struct request_error *err, const char *what);
/* The second line for a stream or bucket that is absent; `what` is BUCKET or BUCKET/KEY. */
void request_hint_absent(struct cli *c, const char *what);
/* Prints a document and a line end: --json; live commands one in a line, and at once.  Characters
 * that could harm a terminal are escaped on one. */
void request_print_line(struct cli *c, const json_t *doc);
void request_print(struct cli *c, const json_t *doc);

/* Appends a page of a list.  False: the list ends here, since the page is empty or the same as the
 * one before, whatever total the server claims. */
bool request_add_page(json_t *all, const json_t *page);

/* Members of documents; 0, "" and false where they are absent or of another type. */
int64_t request_int(const json_t *doc, const char *key);
const char *request_text(const json_t *doc, const char *key);
double request_real(const json_t *doc, const char *key);
bool request_bool(const json_t *doc, const char *key);
int64_t request_time(const json_t *doc, const char *key); /* nanoseconds; 0 if absent */

/* A stream as users name it: STREAM, kv:BUCKET or obj:BUCKET, or the name of a bucket if no stream
 * has that name. */
struct request_stream {
    char name[256];
    char bucket[256];     /* "" unless the stream is a KV bucket */
    char key_prefix[300]; /* "$KV.bucket." or "" */
};
/* Of a name as the server has it; asks nobody. */
void request_name_stream(struct request_stream *out, const char *name);
MF_MUSTCHECK int request_find_stream(struct cli *c, const char *text, struct request_stream *out);
/* Appends the subject of a key as the user gave it; and the other way round. */
void request_subject(const struct request_stream *s, const char *key, struct mf_buf *out);
const char *request_key(const struct request_stream *s, const char *subject);

#endif
