/* direct.h: direct gets: messages of a stream without the JSON API. */
#ifndef JETSTREAM_DIRECT_H
#define JETSTREAM_DIRECT_H

#include "jetstream/js_account.h"
#include "router/router.h"

/* DIRECT.GET; rest: the subject behind $JS.API.  False: no such stream, or direct gets are not
 * allowed, so there is no responder. */
bool direct_get(struct js_account *ja, const struct router_msg *m, struct mf_slice rest);

/* How one message is sent. */
#define DIRECT_NO_HDR 1u /* payload alone */
#define DIRECT_LAST   2u /* as the last value of a subject: a sliding lifetime is renewed */
#define DIRECT_LIFE   4u /* with Mayfly-Expires and Mayfly-TTL-Left */
/* Sends message seq of s to reply, or the 404 status if seq is 0 or there is none. */
void direct_get_one(struct js_account *ja, struct stream *s, struct mf_slice reply, uint64_t seq,
                    unsigned how);
/* True if the header block of a request has "Mayfly-TTL: show": the reply then carries
 * Mayfly-Expires (RFC 3339, never, none) and Mayfly-TTL-Left (seconds). */
bool direct_shows_life(struct mf_slice hdr);

#endif
