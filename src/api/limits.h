/* limits.h: limits of accounts and of the server, as CREATE, UPDATE and restores check them. */
#ifndef API_LIMITS_H
#define API_LIMITS_H

#include "consumer/consumer.h"
#include "stream/stream.h"

struct api;
struct api_account;
struct js_account;
struct options_jetstream;
struct options_js_limits;

/* The account's limits for streams with that many replicas; NULL: it has tiers, and none of them
 * applies.  O(tiers). */
const struct options_js_limits *limits_of_tier(const struct js_account *ja, int64_t replicas);

/* Account limits and overlapping subjects (docs/checks.md, CREATE).  0: create it.  1: the same
 * stream exists.  MF_DENIED with *e. */
int limits_create_allowed(struct api_account *aa, const struct stream_config *c,
                          struct js_error *e);
/* Checks a configuration by itself, with the account's limits and the server's defaults; fills in
 * what is left out. */
enum config_use { CONFIG_CREATE, CONFIG_UPDATE, CONFIG_RESTORE };
MF_MUSTCHECK int limits_config_allowed(struct api_account *aa, struct stream_config *c,
                                       enum config_use use, struct js_error *e);
/* Bytes that streams reserve, of one account and of all; streams under restore included. */
void limits_account_reserved(const struct api_account *aa, struct stream_usage *out);
void limits_reserved(struct api *a, struct stream_usage *out); /* O(accounts) */
/* The account's limits alone.  now: the stream that it replaces, or NULL. */
MF_MUSTCHECK int limits_allow(struct api_account *aa, const struct stream_config *c,
                              const struct stream_config *now, struct js_error *e);
/* The account's limits (but the number of streams) and overlapping subjects of an update. */
MF_MUSTCHECK int limits_update_allowed(struct api_account *aa, const struct stream_config *now,
                                       const struct stream_config *next, struct js_error *e);
/* A consumer of a backup: fills in what is left open and checks it, on a stream that will have the
 * configuration sc.  0, MF_NOMEM, or MF_DENIED with *e. */
MF_MUSTCHECK int limits_consumer_allowed(struct api_account *aa, struct consumers *g,
                                         const struct stream_config *sc, struct consumer_config *c,
                                         struct js_error *e);
/* Consumers of a stream if neither it nor its account has a limit; negative: unlimited. */
int64_t limits_default_max_consumers(const struct options_jetstream *js);

#endif
