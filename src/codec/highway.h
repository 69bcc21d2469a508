/* highway.h: HighwayHash, 64 bits, under a key of 32 bytes: the checksum of nats-server's files.
 * O(bytes). */
#ifndef MAYFLY_HIGHWAY_H
#define MAYFLY_HIGHWAY_H

#include "base/base.h"

#define HIGHWAY_KEY   32
#define HIGHWAY_BYTES 8

struct highway {
    uint64_t v0[4], v1[4], mul0[4], mul1[4];
    uint8_t rest[32]; /* of a packet that is not full */
    size_t n;
};
void highway_init(struct highway *h, const uint8_t key[HIGHWAY_KEY]);
void highway_add(struct highway *h, struct mf_slice bytes);
/* Little endian, as it stands in files; h is used up. */
void highway_end(struct highway *h, uint8_t out[HIGHWAY_BYTES]);

#endif
