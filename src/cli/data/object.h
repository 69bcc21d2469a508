/* object.h: the object store's format, as the official clients define it.
 *
 * A bucket is the stream OBJ_<bucket>.  An object has a meta record, the last message of
 * $O.<bucket>.M.<base64url of its name>, and chunks on $O.<bucket>.C.<nuid>.  The meta record is a
 * JSON document: name, size, chunks, nuid, digest "SHA-256=<base64url>", deleted. */
#ifndef CLI_DATA_OBJECT_H
#define CLI_DATA_OBJECT_H

#include "cli/data/message.h"
#include "codec/sha256.h"

struct object_bucket {
    const char *name;
    char stream[256];
    char chunks[300]; /* "$O.<bucket>.C." */
    char metas[300];  /* "$O.<bucket>.M." */
};
MF_MUSTCHECK int object_init(struct cli *c, const char *bucket, struct object_bucket *b);
/* The meta record: CLI_NOT_FOUND if there is none or the object is removed; if quiet 0, and *meta
 * is NULL.  With `deleted` records of removed objects count too. */
MF_MUSTCHECK int object_find(struct cli *c, const struct object_bucket *b, const char *name,
                             bool quiet, bool deleted, json_t **meta);
/* Stores the meta record in place of an older one. */
MF_MUSTCHECK int object_store_meta(struct cli *c, const struct object_bucket *b, const char *name,
                                   const json_t *meta);
/* Removes the chunks of a nuid (an invalid one removes nothing); errors are not printed: nobody
 * reads the chunks any more. */
void object_purge_chunks(struct cli *c, const struct object_bucket *b, const char *nuid);
void object_digest_text(const uint8_t digest[SHA256_BYTES], char dst[64]);
bool object_digest_matches(const char *text, const uint8_t digest[SHA256_BYTES]);

#endif
