/* policy.h: decides the TTL of a message whose writer sent none, and bounds the TTL of a writer.
 *
 * A policy is compiled once from a stream's metadata and the server's ttl block, and never changes.
 * policy_resolve() is a pure function of the message and of its linked message: no clock, no
 * allocation, no I/O.  Precedence: client > rule > stream > pattern > server.
 *
 * Costs of policy_resolve(): a default or pattern O(1); rules O(rules), at most 64, with a test of
 * the first token before each match; a header rule one pass over the header block; a JSON rule at
 * most 16 KB of the payload; a link one call of permanent(). */
#ifndef MAYFLY_POLICY_H
#define MAYFLY_POLICY_H

#include "base/buf.h"
#include "codec/json.h"
#include "ttl/policy_keys.h"

#define POLICY_RULES_MAX       64
#define POLICY_RULES_BYTES_MAX 16384
#define POLICY_JSON_SCAN_MAX   16384
#define POLICY_HISTORY_MAX     256 /* of a subject, where scope is subject */

/* The parts of a stream that a policy depends on.  Borrowed during policy_compile(). */
struct policy_stream {
    const char *account, *name;
    const struct json_strs *subjects;
    const struct json_map *metadata;
    bool memory;           /* storage: memory */
    bool limits_retention; /* neither interest nor work queue */
    bool counter, mirror;
    /* Already accepted: read from disk, or compiled again after a reload.  Bounds that the server
     * tightened since then apply without a refusal: max replaces a `never` of the stream's own,
     * else the next step does.  The notes say so, and name a pattern that no longer exists. */
    bool stored;
    int64_t max_age_ns, marker_ttl_ns, max_msgs_per_subject;
};

enum policy_origin { POLICY_BUILT_IN, POLICY_OF_STREAM, POLICY_OF_NAMESPACE, POLICY_OF_SERVER };
struct policy_rule_text { /* for display; NULL: not given */
    const char *id, *subject, *ttl, *permanent_if;
    const struct json_pair *headers;
    size_t nheaders;
};
/* The effective policy, for display and for callers that act on its words. */
struct policy_view {
    struct policy_keys keys; /* merged; unset words already replaced by their defaults */
    enum policy_origin origin[POLICY_KEYS];
    unsigned namespace_no;      /* of the entry that matched, from 1; 0: none */
    const char *inferred;       /* the inferred pattern; NULL: none, or another one was named */
    bool governed;              /* can give a TTL to a message whose writer sent none */
    bool active;                /* runs at all: enforce is not off, no mirror, no counter */
    bool operator_denies_never; /* the entry or the block says so: PERSIST is refused, too */
    const char *invalid;        /* why the stream's own keys were not understood; NULL: valid */
    const struct policy_rule_text *rules;
    size_t nrules;
    const char *const *notes; /* sentences for POLICY's `notes` */
    size_t nnotes;
};

struct policy;
/* Validates in the documented order and compiles.  *out is NULL if neither the metadata nor the
 * server has a policy for this stream.  srv may be NULL.  MF_INVAL with the exact text; MF_NOMEM.
 * `operator` texts ("above the server's 24h0m0s") count as errors only for metadata of the stream
 * itself.  O(metadata + namespaces + rules + subjects), subjects only where rules or on_expire
 * ask. */
MF_MUSTCHECK int policy_compile(struct policy **out, const struct policy_stream *s,
                                const struct policy_server *srv, struct mf_error *e);
/* The same for a stream that exists.  Where its own keys do not compile (a newer server wrote
 * them) *out is the server's policy alone, perhaps inactive, and view.invalid has the reason:
 * invalid keys do not evade the operator's bounds.  0, MF_NOMEM. */
MF_MUSTCHECK int policy_compile_stored(struct policy **out, const struct policy_stream *s,
                                       const struct policy_server *srv);
void policy_free(struct policy *p);                            /* NULL is fine */
const struct policy_view *policy_view(const struct policy *p); /* borrowed from p */
/* The text about a key that is legal but has no effect (pedantic requests refuse it), or NULL.  In
 * `mem`. */
const char *policy_pedantic(const struct policy_stream *s, const struct policy_server *srv,
                            struct arena *mem);
/* Do both have the same effect on every message?  Then a reload sends no event. */
bool policy_equal(const struct policy *a, const struct policy *b); /* NULL equals NULL */

/* --- one message --------------------------------------------------------------------------------
 */

enum policy_by {
    POLICY_BY_CLIENT,
    POLICY_BY_RULE,
    POLICY_BY_DEFAULT,
    POLICY_BY_PATTERN,
    POLICY_BY_SERVER,
    POLICY_BY_MAX,
    POLICY_BY_MAX_AGE,
    POLICY_BY_NONE,
    POLICY_BYS
};
enum policy_verdict { POLICY_OK, POLICY_CLAMPED, POLICY_REJECTED };

struct policy_message {
    struct mf_slice subject, hdr, payload; /* the subject after the stream's transform */
    int64_t ts_ns;      /* the time from which the TTL counts; until() subtracts it */
    int64_t client_ttl; /* the writer's Nats-TTL; TTL_NONE: none */
    bool copy;          /* brought by a source: clamped where a client would be refused */
    /* Does the last message of this subject exist, is it no tombstone, and has it no deadline?
     * NULL: no link is followed. */
    bool (*permanent)(void *arg, struct mf_slice subject);
    void *arg;
    /* Called with one line for each step, for POLICY's test; NULL: no trace. */
    void (*trace)(void *arg, const char *line);
    void *trace_arg;
};
struct policy_decision {
    int64_t ttl; /* a duration, TTL_NEVER or TTL_NONE; after bounds and the floor of markers */
    enum policy_by by;
    unsigned rule;               /* its index, if matched */
    bool matched;                /* a rule decided, or would have: by may be POLICY_BY_MAX */
    bool linked;                 /* by rule: its linked message is infinite */
    bool link_denied;            /* the same, but the operator denies `never`: no link acts */
    enum policy_verdict verdict; /* of the client's own TTL */
    bool rule_clamped;           /* a value of the policy's own was outside its bounds */
    int64_t asked;               /* clamped or rejected: the client's TTL, */
    int64_t limit;               /* and the bound it met; TTL_NEVER: `never` is denied */
    bool marker; /* a server's delete marker: its own TTL is the stream's, policies pass over it */
    bool by_operator; /* policy_bound() only: it is the server's configuration that denies */
    /* The work of this call: rules tried (at most 64), bytes of JSON read (at most 16 KB for each
     * of at most 4 pointers, and as much again to read the values there). */
    unsigned rules_tried;
    uint32_t scanned;
};
/* REJECTED: ttl is the one the writer asked for; policy_refusal() has the text.  In audit mode the
 * caller stores the message with that TTL and counts the decision. */
void policy_resolve(const struct policy *p, const struct policy_message *m,
                    struct policy_decision *d);
/* "48h0m0s is above the maximum of 24h0m0s", "never is not allowed here". */
#define POLICY_REFUSAL 128
const char *policy_refusal(char dst[POLICY_REFUSAL], const struct policy_decision *d);
/* "client", "rule:bucket (linked)", "pattern:cache", "server", "marker", ...: as decided_by shows
 * it. */
#define POLICY_BY_TEXT 96
const char *policy_by_text(char dst[POLICY_BY_TEXT], const struct policy *p,
                           const struct policy_decision *d);
const char *policy_by_word(enum policy_by by); /* "client", "rule", ...: of counters */
/* Raises or lowers the TTL of a SET to the bounds, or REJECTED; TTL_NEVER (PERSIST): REJECTED
 * where the server's configuration denies it, OK otherwise.  by is POLICY_BY_CLIENT. */
void policy_bound(const struct policy *p, int64_t ttl, struct policy_decision *d);

/* --- linked records ------------------------------------------------------------------------------
 */

bool policy_has_links(const struct policy *p);
/* Can a message link to a message of this subject?  O(rules), a comparison for most of them. */
bool policy_is_link(const struct policy *p, struct mf_slice subject);
/* A message on `subject` is stored or removed.  For each linked rule whose template it can fill:
 * visit(filter of the messages that link to it).  O(linked rules). */
void policy_linked_by(const struct policy *p, struct mf_slice subject,
                      void (*visit)(void *arg, struct mf_slice filter), void *arg);

#endif
