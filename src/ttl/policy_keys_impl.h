/* policy_keys_impl.h: the parts of policy_keys.c that the other files of the policy use. */
#ifndef POLICY_KEYS_IMPL_H
#define POLICY_KEYS_IMPL_H

#include "ttl/policy_keys.h"

bool policy_key_find(struct mf_slice name, enum policy_key *k); /* the name without the prefix */
const char *policy_keys_suggest(struct mf_slice name);          /* the nearest key, or NULL */
bool policy_keys_is_word(enum policy_key k);
bool policy_keys_is_duration(enum policy_key k);
/* "never", "none" or a duration. */
MF_MUSTCHECK int policy_keys_parse_ttl(struct mf_slice text, int64_t *ttl);
/* The three forms of a duration, of any size and sign.  MF_INVAL; MF_LIMIT: plain seconds or days,
 * beyond int64_t nanoseconds. */
MF_MUSTCHECK int policy_keys_parse_span(struct mf_slice text, int64_t *ns);
/* A value as errors repeat it: cut behind 64 bytes. */
#define KEYS_SHOWN 72
const char *policy_keys_shown(char dst[KEYS_SHOWN], struct mf_slice value);

#endif
