/* policy_keys.h: the keys of a TTL policy, as a stream's metadata (`mayfly.ttl.<key>`) and the
 * server's `ttl` block write them.  Pure; O(length of the text). */
#ifndef MAYFLY_POLICY_KEYS_H
#define MAYFLY_POLICY_KEYS_H

#include "base/arena.h"
#include "ttl/ttl.h"

/* Metadata keys of this prefix are the policy of the stream. */
#define POLICY_PREFIX "mayfly.ttl."
/* A duration or TTL that no key has set.  A TTL is a duration (> 0 ns), TTL_NEVER or TTL_NONE. */
#define POLICY_UNSET      INT64_MIN
#define POLICY_TTL_MIN_NS ((int64_t)1000000000)
#define POLICY_TTL_MAX_NS ((int64_t)36500 * 86400 * 1000000000)

/* Each word's 0 is "not set". */
enum policy_bounds { POLICY_BOUNDS_UNSET, POLICY_BOUNDS_CLAMP, POLICY_BOUNDS_REJECT };
enum policy_never { POLICY_NEVER_UNSET, POLICY_NEVER_ALLOW, POLICY_NEVER_DENY };
enum policy_scope { POLICY_SCOPE_UNSET, POLICY_SCOPE_MESSAGE, POLICY_SCOPE_SUBJECT };
enum policy_slide { POLICY_SLIDE_UNSET, POLICY_SLIDE_WRITE, POLICY_SLIDE_READ };
enum policy_enforce {
    POLICY_ENFORCE_UNSET,
    POLICY_ENFORCE_OFF,
    POLICY_ENFORCE_AUDIT,
    POLICY_ENFORCE_ON
};

/* In the order in which they are shown. */
enum policy_key {
    POLICY_DEFAULT,
    POLICY_PATTERN,
    POLICY_MIN,
    POLICY_MAX,
    POLICY_BOUNDS,
    POLICY_NEVER,
    POLICY_SCOPE,
    POLICY_SLIDE,
    POLICY_WARN,
    POLICY_ON_EXPIRE,
    POLICY_ENFORCE,
    POLICY_RULES, /* metadata only */
    POLICY_KEYS
};
const char *policy_key_name(enum policy_key k); /* "default", ... without the prefix */

/* The keys of one level: a stream's metadata, a namespace entry, the ttl block, or all of them
 * merged.  Strings are NULL (not set) or belong to the arena that the reader was given. */
struct policy_keys {
    int64_t default_ttl; /* POLICY_UNSET, TTL_NONE, TTL_NEVER or a duration */
    const char *pattern;
    int64_t min_ns, max_ns, warn_ns; /* POLICY_UNSET or a duration; warn also 0: off */
    enum policy_bounds bounds;
    enum policy_never never;
    enum policy_scope scope;
    enum policy_slide slide;
    enum policy_enforce enforce;
    const char *on_expire;
};
#define POLICY_KEYS_INIT                                                                           \
    {                                                                                              \
        .default_ttl = POLICY_UNSET, .min_ns = POLICY_UNSET, .max_ns = POLICY_UNSET,               \
        .warn_ns = POLICY_UNSET                                                                    \
    }

/* Reads one value (all keys but rules).  `name` is how errors call the key ("mayfly.ttl.max", or
 * "max" in a configuration file).  An empty value unsets the key.  The pattern's name is checked by
 * policy_compile(), which knows the patterns.  0, MF_INVAL with the text, MF_NOMEM. */
MF_MUSTCHECK int policy_key_read(struct policy_keys *to, enum policy_key k, const char *name,
                                 struct mf_slice value, struct arena *mem, struct mf_error *e);
/* A Go duration, "Nd", or plain seconds, from 1 s to 36500 d.  MF_INVAL otherwise. */
MF_MUSTCHECK int policy_parse_duration(struct mf_slice text, int64_t *ns);
/* "24h0m0s", "never", "none", and "" for POLICY_UNSET. */
#define POLICY_TEXT 40
const char *policy_ttl_text(char dst[POLICY_TEXT], int64_t ttl);
const char *policy_word(const struct policy_keys *k, enum policy_key key); /* bounds..., "" unset */

/* --- the server's side --------------------------------------------------------------------------
 */

struct policy_pattern {
    const char *name;
    int64_t ttl; /* a duration, TTL_NEVER or TTL_NONE */
};
enum policy_storage { POLICY_STORAGE_ANY, POLICY_STORAGE_FILE, POLICY_STORAGE_MEMORY };
/* An entry matches a stream by account, name and storage; the first match holds. */
struct policy_namespace {
    const char *account; /* NULL: any */
    const char *stream;  /* a name in which '*' stands for any run of characters; NULL: any */
    enum policy_storage storage;
    struct policy_keys keys;
};
#define POLICY_PATTERNS_MAX   256
#define POLICY_NAMESPACES_MAX 256
struct policy_server {
    bool set;                        /* a ttl block exists */
    struct policy_keys keys;         /* default, warn, enforce, never and max only */
    struct policy_pattern *patterns; /* redefine or extend the built-in ones */
    size_t npatterns;
    struct policy_namespace *namespaces;
    size_t nnamespaces;
};
/* The TTL of a pattern, by the server's own patterns, then the built-in ones.  False: unknown. */
bool policy_pattern_find(const struct policy_server *srv, const char *name, int64_t *ttl);
/* The names of all patterns, sorted, ", " between them, as errors list them; in `mem`. */
const char *policy_pattern_names(const struct policy_server *srv, struct arena *mem);
/* Does this entry match the stream?  O(pattern x name) at worst. */
bool policy_namespace_matches(const struct policy_namespace *n, const char *account,
                              const char *stream, bool memory);

#endif
