/* keys_get.h: keys_get_hashed() for tests that hash each key once. */
#ifndef TEST_KEYS_GET_H
#define TEST_KEYS_GET_H

#include "store/keys/keys.h"

static inline int keys_get(struct keys *k, struct mf_slice key, uint32_t *id)
{
    return keys_get_hashed(k, key, keys_hash(k, key), id);
}

#endif
