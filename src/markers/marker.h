/* marker.h: decides whether a death earns a delete marker, and writes it.  Pure functions of facts.
 */
#ifndef MAYFLY_MARKER_H
#define MAYFLY_MARKER_H

#include "base/base.h"

enum marker_reason { MARKER_MAX_AGE, MARKER_REMOVE, MARKER_PURGE };

struct marker_facts {
    int64_t marker_ttl_ns; /* the stream's subject_delete_marker_ttl; 0: off */
    bool last_on_subject;  /* no other message of the subject is left */
    bool tombstone;        /* marker_is_tombstone() of the one that dies */
    bool mirror;           /* copies never make messages of their own */
};
bool marker_wanted(const struct marker_facts *f);

/* A marker, or a KV delete or purge, by its headers Nats-Marker-Reason and KV-Operation: its death
 * is no news.  strict: a KV DEL is not one (2.15.1). */
bool marker_is_tombstone(struct mf_slice reason, struct mf_slice kv_operation, bool strict);

/* A key of a KV bucket: `$KV.>`.  Its markers also say KV-Operation (MaxAge and Purge: PURGE,
 * Remove: DEL), so that clients which know no markers read them right. */
bool marker_of_key(struct mf_slice subject);

/* The marker's header block (the body is empty); the same for all subjects with the same `key`.
 * ttl_ns is shown as Go's text of whole seconds, as in nats-server. */
#define MARKER_MAX 192
struct marker {
    uint8_t hdr[MARKER_MAX];
    size_t len;
};
void marker_write(struct marker *m, enum marker_reason why, int64_t ttl_ns, bool key);

#endif
