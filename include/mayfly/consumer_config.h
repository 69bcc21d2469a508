/* consumer_config.h: the configuration of a consumer, its defaults and all its rules.  Pure: what
 * the stream and its other consumers have is asked through struct consumer_config_world.  JSON is
 * the api's. */
#ifndef MAYFLY_CONSUMER_CONFIG_H
#define MAYFLY_CONSUMER_CONFIG_H

#include "mayfly/stream_config.h"

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

struct consumer_durations { /* backoff */
    int64_t *at;
    size_t n;
};

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
    struct consumer_durations backoff;
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

enum consumer_action { ACTION_CREATE_OR_UPDATE, ACTION_CREATE, ACTION_UPDATE };

void consumer_config_init(struct consumer_config *c); /* as an empty request */
void consumer_config_fini(struct consumer_config *c);
/* A deep copy whose memory is no larger than it must be: there may be 100,000 of them. */
MF_MUSTCHECK int consumer_config_copy(struct consumer_config *to,
                                      const struct consumer_config *from);
/* Same meaning, `_nats.*` metadata left out. */
bool consumer_config_equal(const struct consumer_config *a, const struct consumer_config *b);

struct consumer_config_world {
    const struct stream_config *stream;
    bool strict, pedantic;
    bool exists;               /* an update of this name */
    int64_t max_ack_pending;   /* of the account or server; -1: none */
    int64_t max_request_batch; /* of the server; 0: none */
    int64_t max_consumers;     /* of the account; -1: none */
    size_t consumers, account_consumers;
    /* Is deliver_subject stored by a stream of the account (it would go round in circles)? */
    bool (*stored)(void *arg, const char *subject);
    /* The other consumers of the stream, for work queues. */
    void (*each_other)(void *arg, void (*visit)(void *visit_arg, const struct consumer_config *c),
                       void *visit_arg);
    void *arg;
};
/* Fills in defaults, then checks all in the order of facts/protocol-consumers.md 3.4 (from the
 * first row of its table on; what concerns the request's subject is the api's).  0, or MF_DENIED
 * with *e; MF_NOMEM. */
MF_MUSTCHECK int consumer_config_check(struct consumer_config *c,
                                       const struct consumer_config_world *w, struct js_error *e);
/* `next` passed the check.  May it replace `now`? */
MF_MUSTCHECK int consumer_config_check_update(const struct consumer_config *now,
                                              const struct consumer_config *next,
                                              struct js_error *e);
unsigned consumer_config_level(const struct consumer_config *c);
MF_MUSTCHECK int consumer_config_stamp(
    struct consumer_config *c); /* _nats.req.level; drops _nats.ver, _nats.level */
bool consumer_name_valid(const char *name);
/* All filters, none: everything.  filter_subject counts as one. */
size_t consumer_filters(const struct consumer_config *c, char *const **at);
/* Does one of them match? */
bool consumer_wants(const struct consumer_config *c, struct mf_slice subject);

#endif
