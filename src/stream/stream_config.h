/* stream_config.h: the configuration of a stream, its defaults and all its rules.  Pure: what other
 * streams have is asked through struct stream_config_world.  JSON is the api's. */
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
/* Same meaning: what decides whether a second CREATE succeeds.  Order of subjects counts. */
bool stream_config_equal(const struct stream_config *a, const struct stream_config *b);

/* What the checks must know of the rest of the world. */
struct stream_config_world {
    bool strict;   /* compat: strict: take what 2.15.1 takes, wrong or not */
    bool update;   /* an UPDATE's request: rules 10 and 12 wait for stream_config_check_update() */
    bool restored; /* of a backup: a TTL policy that is not understood is kept, out of force */
    int64_t default_duplicate_window_ns; /* the server's limit for it, too; 0: 2 min, no limit */
    int64_t max_stream_bytes_memory, max_stream_bytes_file; /* account limits; -1: none */
    bool max_bytes_required;
    const char *account;             /* its name, for the namespaces of the ttl block */
    const struct policy_server *ttl; /* the server's ttl block; NULL: none */
    /* The configuration of another stream of the account, or NULL; for mirrors, sources and cycles.
     * The function may be NULL: nobody is seen (a stored stream is loaded whatever others are). */
    const struct stream_config *(*find)(void *arg, const char *name);
    void *arg;
};
/* Fills in defaults and makes the silent changes, then checks everything in the order of the
 * validation table (facts/streams.md 1.2 rules 9, 10 and 12, and 6.2).  Rules 5 to 7 (path
 * separators, sealed, mirror_direct without a mirror) are for CREATE alone and the caller's.  0, or
 * MF_DENIED with *e; MF_NOMEM.  After a failure *c is half changed and good for nothing.  O(size);
 * lists whose wildcards would make it more are refused (PATTERN_STEPS). */
MF_MUSTCHECK int stream_config_check(struct stream_config *c, const struct stream_config_world *w,
                                     struct js_error *e);
/* `next` has passed stream_config_check().  May it replace `now`?  Also makes what an update makes:
 * sealing, and first_seq stays as it was (strict: the new one is taken). */
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
/* Its size as the limit of 128 KB counts it: stamped. */
size_t stream_metadata_size(const struct json_map *m);
#define STREAM_METADATA_MAX 131072
/* Keys of metadata that begin so are the server's: no client may set one. */
#define STREAM_METADATA_RESERVED "_mayfly."
/* The first reserved key, NULL: there is none.  O(keys). */
const char *stream_metadata_reserved(const struct json_map *m);
/* What a request may list: subjects of a stream and their tokens in all, sources, transforms of a
 * mirror or of all sources; and how long a subject may be.  More would keep the server from its
 * other clients for too long. */
#define STREAM_SUBJECTS_MAX    8000
#define STREAM_TOKENS_MAX      50000
#define STREAM_SOURCES_MAX     500
#define STREAM_TRANSFORMS_MAX  3000
#define STREAM_SUBJECT_LEN_MAX 65535
/* Appends s as Go's %q shows it. */
struct mf_buf;
void config_quote(struct mf_buf *out, const char *s);
/* Is it a name at all (rules 5 and the table's first)? */
bool stream_name_valid(const char *name);

#endif
