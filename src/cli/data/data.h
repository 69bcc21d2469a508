/* data.h: what all commands of this part share: payloads, subjects, confirmation, publish acks. */
#ifndef CLI_DATA_DATA_H
#define CLI_DATA_DATA_H

#include "cli/request.h"

/* Payload: the argument, `-` or none for stdin (none only if stdin is no terminal), or --file.
 * *given is false if there was nothing to read from; NULL: then the payload is empty.  The server's
 * max_payload bounds it.  0 or an exit code, printed.  Needs a connection. */
MF_MUSTCHECK int data_read_payload(struct cli *c, const char *arg, struct mf_buf *out, bool *given);
/* The message of this number that `pub` or `req` sends.  Its subject is the first argument;
 * templates (template.h) are expanded in it, in the headers of -H "Key: value", and in a payload
 * that is an argument.  0 or an exit code, printed. */
MF_MUSTCHECK int data_make_msg(struct cli *c, const char *reply, struct mf_slice payload,
                               uint64_t number, natsMsg **m);
/* Finds mistakes in what data_make_msg() takes from the command line, without a server. */
MF_MUSTCHECK int data_check_msg(struct cli *c);
/* Nats-TTL by the flag --ttl: a duration or `never`.  0 or CLI_USAGE, printed. */
MF_MUSTCHECK int data_add_ttl(struct cli *c, natsMsg *m);
/* The value of a flag or argument as Nats-TTL wants it: 90s, 1500ms, never.  0 or MF_INVAL. */
MF_MUSTCHECK int data_ttl_text(const char *text, char *dst, size_t size);
MF_MUSTCHECK int data_new_msg(struct cli *c, natsMsg **m, const char *subject, const char *reply,
                              struct mf_slice payload);

/* Whether clients may publish to the subject; with `wild` also whether they may subscribe. */
bool data_is_subject(const char *s, bool wild);
/* Whether a stream or consumer may have this name. */
bool data_is_name(const char *s);
/* Checks and complains: 0 or CLI_USAGE. */
MF_MUSTCHECK int data_check_subject(struct cli *c, const char *s, bool wild);
MF_MUSTCHECK int data_check_name(struct cli *c, const char *kind, const char *s);

/* Asks on a terminal; without one --force is needed.  0, or CLI_USAGE: the user said no. */
MF_MUSTCHECK int data_confirm(struct cli *c, const char *fmt, ...) MF_PRINTF(2, 3);

/* Publishes m and waits for the publish ack.  *ack is the caller's to decref.  0 or an exit code,
 * printed; with err given, an error of the stream is stored there instead. */
MF_MUSTCHECK int data_publish(struct cli *c, natsMsg *m, const char *what, json_t **ack,
                              struct request_error *err);
/* The publish ack in an answer, in the same way. */
MF_MUSTCHECK int data_read_ack(struct cli *c, natsMsg *reply, const char *what, json_t **ack,
                               struct request_error *err);
/* Waits until the server read all that was sent, and prints what it refused. */
MF_MUSTCHECK int data_flush(struct cli *c);

/* Bytes into a document: `key` is the text, "encoding" is "text"; or base64 of bytes that are no
 * UTF-8, "encoding" is "base64". */
void data_bytes_to_json(json_t *doc, const char *key, struct mf_slice bytes);
/* Prints bytes: as they are into a pipe, line by line and safely on a terminal. */
void data_print_bytes(struct cli *c, struct mf_slice bytes);
/* The same and safe everywhere, for listings; no line end behind the last line. */
void data_print_lines(struct cli *c, struct mf_slice bytes, const char *indent);
void data_print_text(struct cli *c, const char *text); /* safe, one line, no line end */
/* Whether the reader of a pipe is gone: live commands end then. */
bool data_is_output_lost(const struct cli *c);
/* A line of output, safe. */
void data_say(struct cli *c, const char *fmt, ...) MF_PRINTF(2, 3);
/* A string of a document; bytes that are no UTF-8 as \\xff. */
json_t *data_json_text(const char *text);

/* A JSON object from a file; 0 or CLI_USAGE, printed. */
MF_MUSTCHECK int data_read_json(struct cli *c, const char *path, json_t **out);
/* K=V of each `flag` into the object, with `prefix` before K; an empty V removes K. */
MF_MUSTCHECK int data_merge_pairs(struct cli *c, const char *flag, const char *prefix, json_t *to);

/* Prints a list: {member: list} with --json, else by `print`; an empty one as `none` on stderr. */
void data_print_list(struct cli *c, const char *member, json_t *list, const char *none,
                     void (*print)(struct cli *c, const json_t *list));
/* Goes through the pages of a list request and appends the members of `list` to `all`.  body is
 * changed (offset); NULL: none. */
MF_MUSTCHECK int data_list(struct cli *c, const char *subject, json_t *body, const char *what,
                           const char *list, json_t *all);

/* Nanoseconds since 1970, now. */
int64_t data_now(void);

#endif
