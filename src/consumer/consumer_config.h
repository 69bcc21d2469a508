/* consumer_config.h: the configuration of a consumer, its defaults and all its checks.  Pure: the
 * stream and its other consumers are given in struct consumer_config_world.  src/api reads and
 * writes the JSON. */
#ifndef MAYFLY_CONSUMER_CONFIG_H
#define MAYFLY_CONSUMER_CONFIG_H

#include "subject/pattern_tree.h"
#include "stream/stream_config.h"

enum consumer_deliver {
    DELIVER_ALL,
    DELIVER_LAST,
    DELIVER_NEW,
    DELIVER_BY_SEQUENCE,
    DELIVER_BY_TIME,
    DELIVER_LAST_PER_SUBJECT,
};
enum consumer_ack_policy { ACK_NONE, ACK_ALL, ACK_EXPLICIT, ACK_FLOW_CONTROL };
enum consumer_replay { REPLAY_INSTANT, REPLAY_ORIGINAL };
enum consumer_priority { PRIORITY_NONE, PRIORITY_OVERFLOW, PRIORITY_PINNED, PRIORITY_PRIORITIZED };

/* Strings are NULL or in `mem`; NULL and "" mean the same.  A pull consumer has no deliver_subject.
 */
struct consumer_config {
    char *durable_name, *name, *description;
    int deliver_policy; /* the enums are ints for json.h */
    uint64_t opt_start_seq;
    int64_t opt_start_time_ns;
    bool has_start_time;
    int ack_policy;
    int64_t ack_wait_ns, max_deliver;
    struct json_durations backoff;
    char *filter_subject;
    struct json_strs filter_subjects;
    int replay_policy;
    uint64_t rate_limit_bps;
    char *sample_freq;
    int64_t max_waiting, max_ack_pending;
    bool flow_control, headers_only;
    int64_t max_batch, max_expires_ns, max_bytes;
    char *deliver_subject, *deliver_group;
    int64_t idle_heartbeat_ns, inactive_threshold_ns, replicas;
    bool mem_storage, direct, sourcing;
    struct json_map metadata;
    int64_t pause_until_ns; /* 0: not paused */
    struct json_strs priority_groups;
    int priority_policy;
    int64_t priority_timeout_ns;
    struct arena mem;
};

/* Filters of one request; see STREAM_SUBJECTS_MAX. */
#define CONSUMER_FILTERS_MAX 8000

enum consumer_action { ACTION_CREATE_OR_UPDATE, ACTION_CREATE, ACTION_UPDATE };

void consumer_config_init(struct consumer_config *c); /* as an empty request */
void consumer_config_fini(struct consumer_config *c);
/* A deep copy whose memory is no larger than it must be: there may be 100,000 of them. */
MF_MUSTCHECK int consumer_config_copy(struct consumer_config *to,
                                      const struct consumer_config *from);
/* Same meaning, `_nats.*` metadata left out. */
bool consumer_config_equal(const struct consumer_config *a, const struct consumer_config *b);

/* The value of the metadata mayfly.ttl.show; NULL: there is none, or an empty one. */
#define CONSUMER_SHOW_KEY "mayfly.ttl.show"
const char *consumer_config_show(const struct consumer_config *c);

/* Facts that the checks need beside the configuration. */
struct consumer_config_world {
    const struct stream_config *stream;
    bool pedantic;                   /* of the request: values are refused, not corrected */
    int64_t max_ack_pending;         /* of the server; 0 or less: none */
    int64_t account_max_ack_pending; /* of the account; the same */
    int64_t max_request_batch;       /* of the server; the same */
    int64_t max_consumers;           /* of the account, for each stream; the same */
    int64_t default_max_consumers;   /* of a stream, where neither says; the same */
    size_t consumers;                /* of the stream, by now */
    /* For work queues: the filters of its consumers, ">" for one without; those that copy it into
     * another stream (direct, sourcing) left out.  NULL: there are none. */
    const struct pattern_tree *claims;
    const void *self; /* owner of those that are of the consumer itself; NULL: it is new */
};
/* Fills in defaults, then checks the configuration against its stream and the limits, in the order
 * of docs/checks.md, Consumer configuration.  The request's subject (Consumer create, a to d) is
 * the caller's.  0, or MF_DENIED with *e; MF_NOMEM.  O(size); filters whose wildcards would make it
 * more are refused (PATTERN_STEPS). */
MF_MUSTCHECK int consumer_config_check(struct consumer_config *c,
                                       const struct consumer_config_world *w, struct js_error *e);
/* c passed consumer_config_check().  Checks it against the other consumers of the stream
 * (docs/checks.md, Consumer create, i).  exists: it replaces one, so only filters count.  O(1); on
 * a work queue O(its filters), usually. */
MF_MUSTCHECK int consumer_config_admit(const struct consumer_config *c, bool exists,
                                       const struct consumer_config_world *w, struct js_error *e);
/* `next` passed consumer_config_check().  Checks whether it may replace `now`.  bound: now's
 * deliver_subject has a subscription. */
MF_MUSTCHECK int consumer_config_check_update(const struct consumer_config *now,
                                              const struct consumer_config *next, bool bound,
                                              struct js_error *e);
/* The last change before it is stored: an ephemeral ends after 5 s without interest.  now: the
 * configuration that it replaces, or NULL. */
void consumer_config_settle(struct consumer_config *c, const struct consumer_config *now);
/* A priority group's name. */
bool consumer_group_valid(const char *name);
unsigned consumer_config_level(const struct consumer_config *c);
MF_MUSTCHECK int consumer_config_stamp(
    struct consumer_config *c); /* _nats.req.level; drops _nats.ver, _nats.level */
/* Sets pause_until_ns and the stamp that follows from it; c is still as small as it can be. */
MF_MUSTCHECK int consumer_config_set_pause(struct consumer_config *c, int64_t until_ns);
bool consumer_name_valid(const char *name);
/* All filters, none: everything.  filter_subject counts as one. */
size_t consumer_filters(const struct consumer_config *c, char *const **at);

#endif
