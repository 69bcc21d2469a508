/* kv.h: what the commands of KV buckets share: names, keys, subjects. */
#ifndef CLI_DATA_KV_H
#define CLI_DATA_KV_H

#include "cli/data/message.h"

struct kv {
    const char *bucket;
    char stream[256];
    char prefix[300]; /* "$KV.<bucket>." */
};

/* The rules of the official clients: letters, digits, - and _ in buckets; these, and / = . in keys,
 * which neither begin nor end with a dot.  With `wild` also * and >.  0 or CLI_USAGE, printed. */
MF_MUSTCHECK int kv_init(struct cli *c, const char *bucket, struct kv *kv);
MF_MUSTCHECK int kv_check_key(struct cli *c, const char *key, bool wild);
bool kv_is_bucket(const char *name);
/* Checks the arguments BUCKET and KEY, and connects.  0 or an exit code, printed. */
MF_MUSTCHECK int kv_open_key(struct cli *c, struct kv *kv);

/* "$KV.<bucket>.<key>" */
void kv_subject(const struct kv *kv, const char *key, struct mf_buf *out);
const char *kv_key(const struct kv *kv, const struct message *m);
/* "put", or why the key has no value (message_end()). */
const char *kv_operation(const struct message *m);
/* {"bucket", "key", "revision", "operation", "time", "ttl"}, with `value` also {"value",
 * "encoding"}. */
json_t *kv_to_json(const struct kv *kv, const struct message *m, bool value);
/* When the key's message of this sequence expires, if the server is a Mayfly that tells; 0: it does
 * not expire, or nobody told.  Nothing is printed. */
int64_t kv_expiry(struct cli *c, const struct kv *kv, const char *key, uint64_t seq);

#endif
