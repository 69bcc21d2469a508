/* ttl_impl.h: what the files of this part share: the commands, requests side by side, texts. */
#ifndef CLI_TTL_IMPL_H
#define CLI_TTL_IMPL_H

#include "cli/human.h"
#include "cli/request.h"
#include "cli/table.h"

/* The functions of the commands, one a file. */
int ttl_stats_run(struct cli *c);
int ttl_list_run(struct cli *c);
int ttl_show_run(struct cli *c);
int ttl_set_run(struct cli *c);
int ttl_touch_run(struct cli *c);
int ttl_persist_run(struct cli *c);
int ttl_forecast_run(struct cli *c);
int ttl_watch_run(struct cli *c);
int ttl_top_run(struct cli *c);
int ttl_policy_run(struct cli *c);
int ttl_backfill_run(struct cli *c);
int ttl_doctor_run(struct cli *c);
int demo_run(struct cli *c);

/* --- streams and messages --------------------------------------------------------------------- */

/* Connects, and finds the stream that the first argument names.  0 or an exit code, printed. */
MF_MUSTCHECK int ttl_open_stream(struct cli *c, struct request_stream *s);
/* How users named the message: drafts/k.  For errors. */
#define TTL_WHAT 600
const char *ttl_what(char dst[TTL_WHAT], const struct cli *c, const char *key);
/* The subject of a key, which may have wildcards.  CLI_USAGE, printed, for what no subject can be:
 * it would be another request, not a refused one. */
MF_MUSTCHECK int ttl_key_subject(struct cli *c, const struct request_stream *s, const char *key,
                                 char subject[1024]);
bool ttl_has_wildcard(const char *subject);
/* The subject of a request of the TTL API: $MAYFLY.TTL.<request>, or that of the domain. */
#define TTL_SUBJECT 1024
const char *ttl_subject(char dst[TTL_SUBJECT], const struct cli *c, const char *fmt, ...)
    MF_PRINTF(3, 4);

/* A request of the TTL API.  `what` is named if it was not found; other refusals speak for
 * themselves.  0, or an exit code; printed. */
MF_MUSTCHECK int ttl_request(struct cli *c, const json_t *body, const char *what, json_t **out,
                             const char *fmt, ...) MF_PRINTF(5, 6);

/* A flag of kind CLI_DURATION as the API reads it (Go's text), added to the body under `name`. */
void ttl_put_duration(const struct cli *c, const char *flag, const char *name, json_t *body);
void ttl_put_text(const char *text, const char *name, json_t *body); /* NULL: not added */
/* The flag --filter, a key or a subject with wildcards. */
void ttl_put_filter(const struct cli *c, const struct request_stream *s, json_t *body);
/* "12m31s" of a text as Go writes it; other texts (never, none) stay as they are. */
const char *ttl_duration_text(char dst[HUMAN_TEXT], const char *go);
/* 0 or MF_INVAL for what is no duration. */
MF_MUSTCHECK int ttl_duration_ns(const char *go, int64_t *ns);

/* --- policies -----------------------------------------------------------------------------------
 */

/* "governed by default 24h (stream), enforce on, scope subject, warn 1h" of POLICY's answer. */
void ttl_policy_line(struct mf_buf *out, const json_t *doc);
/* All streams' policies, page after page: an array of POLICY's answers.  NULL and the exit code. */
json_t *ttl_policies(struct cli *c, int *code);

/* Is the rate of a "steady" taken from enough messages, over enough time, to tell where a stream is
 * heading? */
bool ttl_is_steady(const json_t *steady);

/* --- many requests side by side -----------------------------------------------------------------
 */

struct ttl_ask {
    char *subject;  /* its own memory, freed by ttl_ask_free() */
    json_t *body;   /* or NULL; freed too */
    json_t *answer; /* NULL: no answer within --timeout, or no JSON */
    bool denied;    /* in the first of optional ones: they are not permitted */
};
/* Sends all of them, some hundred at a time, and collects the answers.  0 or an exit code, printed.
 * optional: where the server does not permit the first one, all answers are just missing. */
MF_MUSTCHECK int ttl_ask_all(struct cli *c, struct ttl_ask *asks, size_t n, bool optional);
/* One optional request; the body may be NULL and is not taken.  NULL: no answer, a refusal, or
 * *denied. */
MF_MUSTCHECK json_t *ttl_ask_one(struct cli *c, json_t *body, bool *denied, const char *fmt, ...)
    MF_PRINTF(4, 5);
void ttl_ask_free(struct ttl_ask *asks, size_t n); /* also the array */

/* --- waiting for messages ------------------------------------------------------------------------
 */

/* The next message of a subscription within `ms`.  0: *m is one, the caller's to destroy, or NULL
 * (nothing came, or Ctrl-C).  Else an exit code: the server refused the subscription, or it left;
 * printed. */
MF_MUSTCHECK int ttl_next(struct cli *c, natsSubscription *sub, int ms, natsMsg **m);

#endif
