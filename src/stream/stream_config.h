/* stream_config.h: the configuration of a stream, its defaults and all its checks.  Pure: other
 * streams are looked up through struct stream_config_world.  src/api reads and writes the JSON. */
#ifndef MAYFLY_STREAM_CONFIG_H
#define MAYFLY_STREAM_CONFIG_H

#include "base/arena.h"
#include "stream/js_error.h"
#include "codec/json.h"
#include "ttl/policy_keys.h"

enum stream_retention { RETENTION_LIMITS, RETENTION_INTEREST, RETENTION_WORKQUEUE };
enum stream_discard { DISCARD_OLD, DISCARD_NEW };
enum stream_storage { STORAGE_FILE, STORAGE_MEMORY };
enum stream_compression { COMPRESSION_NONE, COMPRESSION_S2 };
enum stream_persist { PERSIST_DEFAULT, PERSIST_ASYNC };

struct stream_mapping { /* subject_transform(s) */
    char *src, *dest;
};
struct stream_external {
    char *api, *deliver;
};
struct stream_source_consumer {
    char *name, *deliver_subject;
};
struct stream_source {
    char *name;
    uint64_t opt_start_seq;
    int64_t opt_start_time_ns;
    bool has_start_time;
    char *filter_subject;
    struct json_objects transforms; /* struct stream_mapping */
    struct stream_external *external;
    struct stream_source_consumer *consumer;
};
struct stream_placement {
    char *cluster, *preferred;
    struct json_strs tags;
};
struct stream_republish {
    char *src, *dest;
    bool headers_only;
};
struct stream_consumer_limits {
    int64_t inactive_threshold_ns, max_ack_pending;
};

/* Strings are NULL or in `mem`; a NULL string and "" mean the same. */
struct stream_config {
    char *name, *description;
    struct json_strs subjects;
    int retention; /* enum stream_retention; the enums are ints for json.h */
    int64_t max_consumers, max_msgs, max_bytes, max_age_ns, max_msgs_per_subject;
    int32_t max_msg_size;
    int discard, storage;
    int64_t replicas;
    bool no_ack;
    int64_t duplicate_window_ns;
    struct stream_placement *placement;
    struct stream_source *mirror;
    struct json_objects sources; /* struct stream_source *; entries may be NULL until checked */
    int compression;
    uint64_t first_seq;
    struct stream_mapping *subject_transform;
    struct stream_republish *republish;
    bool allow_direct, mirror_direct, discard_new_per_subject, sealed, deny_delete, deny_purge,
        allow_rollup;
    struct stream_consumer_limits consumer_limits;
    bool allow_msg_ttl;
    int64_t subject_delete_marker_ttl_ns;
    bool allow_msg_counter, allow_atomic, allow_msg_schedules, allow_batched;
    int persist_mode;
    struct json_map metadata;
    bool pedantic; /* of the request only, never stored */
    bool strict;   /* how stream_config_check() judged it; never stored */
    struct arena mem;
};

void stream_config_init(struct stream_config *c); /* as an empty request: all zero */
void stream_config_fini(struct stream_config *c);
/* A deep copy with memory of its own. */
MF_MUSTCHECK int stream_config_copy(struct stream_config *to, const struct stream_config *from);
/* Same meaning: a second CREATE with an equal configuration succeeds.  The order of subjects
 * counts. */
bool stream_config_equal(const struct stream_config *a, const struct stream_config *b);

/* Facts that the checks need beside the configuration. */
struct stream_config_world {
    bool strict; /* compat: strict: accept whatever nats-server 2.15.1 accepts */
    bool update; /* an UPDATE: stream_config_check_update() makes checks 10 and 12 of Stream create
                  */
    bool restored; /* of a backup: an unknown TTL policy is kept, and not in force */
    int64_t default_duplicate_window_ns; /* the server's limit for it, too; 0: 2 min, no limit */
    int64_t max_stream_bytes_memory, max_stream_bytes_file; /* account limits; -1: none */
    bool max_bytes_required;
    const char *account;             /* its name, for the namespaces of the ttl block */
    const struct policy_server *ttl; /* the server's ttl block; NULL: none */
    /* The configuration of another stream of the account, or NULL; for mirrors, sources and cycles.
     * The function may be NULL: others are not checked (a stored stream is always loaded). */
    const struct stream_config *(*find)(void *arg, const char *name);
    void *arg;
};
/* Fills in defaults and makes the silent changes, then checks everything in the order of
 * docs/checks.md, Stream configuration and Mirrors and sources, then Stream create, 10 and 12.
 * Stream create, 5 to 7 (path separators, sealed, mirror_direct without a mirror), are the
 * caller's. 0, or MF_DENIED with *e; MF_NOMEM.  After a failure *c is half changed: only free it.
 * O(size); lists whose wildcards would make it more are refused (PATTERN_STEPS). */
MF_MUSTCHECK int stream_config_check(struct stream_config *c, const struct stream_config_world *w,
                                     struct js_error *e);
/* `next` has passed stream_config_check().  Checks whether it may replace `now`, and applies the
 * effects of an update: sealing, and first_seq stays as it was (strict: the new one counts). */
MF_MUSTCHECK int stream_config_check_update(const struct stream_config *now,
                                            struct stream_config *next, struct js_error *e);
/* The API level this configuration needs: 0, 1, 2, 4. */
unsigned stream_config_level(const struct stream_config *c);
/* Sets _nats.req.level and drops _nats.ver and _nats.level, which only responses have. */
MF_MUSTCHECK int stream_config_stamp(struct stream_config *c);
/* The same for the metadata of anything: compared without what the server writes itself, and
 * stamped. */
bool stream_metadata_equal(const struct json_map *a, const struct json_map *b);
MF_MUSTCHECK int stream_metadata_stamp(struct json_map *m, unsigned level, struct arena *mem);
/* Its size with the stamp, as the limit of 128 KB counts it. */
size_t stream_metadata_size(const struct json_map *m);
#define STREAM_METADATA_MAX 131072
/* Metadata keys with this prefix are the server's: clients may not set them. */
#define STREAM_METADATA_RESERVED "_mayfly."
/* The first reserved key, NULL: there is none.  O(keys). */
const char *stream_metadata_reserved(const struct json_map *m);
/* Limits of a request: subjects of a stream and their tokens together, sources, transforms of a
 * mirror or of all sources, length of a subject.  Larger requests would block the loop too long. */
#define STREAM_SUBJECTS_MAX    8000
#define STREAM_TOKENS_MAX      50000
#define STREAM_SOURCES_MAX     500
#define STREAM_TRANSFORMS_MAX  3000
#define STREAM_SUBJECT_LEN_MAX 65535
/* Appends s as Go's %q shows it. */
struct mf_buf;
void config_quote(struct mf_buf *out, const char *s);
/* A valid stream name: docs/checks.md, Stream create, 5, and Stream configuration, a. */
bool stream_name_valid(const char *name);

#endif
