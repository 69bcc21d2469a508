/* nats_store.h: a stream's folder in the store of a stopped nats-server (2.10 to 2.15), read only.
 *
 *     meta.inf, meta.sum       configuration, and its HighwayHash in hex; meta.key: encrypted
 *     msgs/N.blk, index.db     messages (nats_block.h), state at the last orderly stop
 *     __new_msgs__/            instead of msgs, if a purge was cut short
 *     obs/C/meta.inf, o.dat    consumers
 *
 * Which messages exist is decided as nats-server does it when it starts: by index.db if it names
 * the last record of the last block, otherwise by the blocks alone (records that are erased, and
 * tombstones, which name removed messages).
 * Nothing is written, and no file is opened for writing. */
#ifndef CLI_NATS_STORE_H
#define CLI_NATS_STORE_H

#include "base/buf.h"
#include "codec/natsfile.h"

#include <jansson.h>

/* A list of sentences. */
struct nats_notes {
    char **at;
    size_t n, cap;
};
void nats_notes_add(struct nats_notes *l, const char *fmt, ...) MF_PRINTF(2, 3);

struct nats_consumer {
    char name[256];
    struct mf_buf doc; /* {"config":{...},"state":{...}}: an entry of an archive */
};

#define NATS_SOURCE_KEY 800
struct nats_source {
    char key[NATS_SOURCE_KEY]; /* "STREAM FILTER DESTINATION" */
    uint64_t seq, marked;      /* by sources.db; by the messages that are left */
};

struct nats_range; /* of a block, by index.db */
struct nats_store {
    char *dir;
    char name[256];
    json_t *config; /* of meta.inf, without "created" */
    char msgs[16];  /* the folder of blocks */
    bool outdated;  /* there are files of 2.9 */
    uint32_t *blocks;
    size_t nblocks, blocks_cap;
    struct mf_buf index; /* index.db; empty: none */
    uint8_t version;     /* of index.db; 0: none, or damaged */
    bool indexed;        /* and it decides which messages exist */
    uint64_t index_last; /* its last sequence, also if it is outdated */
    int64_t index_last_ts_ns;
    struct nats_range *ranges;
    size_t nranges, ranges_cap;
    uint64_t *dead; /* sequences that tombstones name, sorted */
    size_t ndead, dead_cap;
    struct nats_consumer *consumers;
    size_t nconsumers, consumers_cap;
    struct nats_source *sources;
    size_t nsources, sources_cap;
    struct mf_buf header; /* of nats_source_header() */
    char sibling[256];    /* the name asked for last: is it a stream of this store? */
    bool has_sibling;
    /* Found by nats_store_scan(): */
    uint64_t count, bytes, first_seq, last_seq, deleted, with_ttl;
    int64_t first_ts_ns, last_ts_ns;
    uint64_t largest, largest_seq; /* headers and payload of a message */
    uint64_t files_bytes;          /* of all blocks on disk */
    bool packed;                   /* there are compressed blocks */
    bool torn;                     /* the last record was cut off: the server was killed */
    struct nats_notes damage;      /* file, offset, kind */
    struct nats_notes remarks;
};

/* Reads configuration, consumers and index.db.  MF_UNSUPPORTED: encrypted.  MF_INVAL: of 2.9.
 * MF_NOTFOUND: not a stream's folder.  MF_CORRUPT: no usable configuration.  Lesser damage is noted
 * in s->damage. */
MF_MUSTCHECK int nats_store_open(struct nats_store **out, const char *dir, struct mf_error *e);
void nats_store_free(struct nats_store *s); /* NULL is fine */

/* progress: bytes of block files read so far; not 0 stops with MF_CLOSED. */
typedef int nats_progress(void *arg, uint64_t bytes);
typedef int nats_visit(void *arg, const struct natsfile_record *r);
/* Reads all blocks, checks every record, and counts.  Two rounds if index.db does not decide. */
MF_MUSTCHECK int nats_store_scan(struct nats_store *s, nats_progress *progress, void *arg,
                                 struct mf_error *e);
/* After the scan: visits each message that exists, sequences going up.  A visitor's result other
 * than 0 ends the walk and is returned. */
MF_MUSTCHECK int nats_store_walk(struct nats_store *s, nats_visit *visit, nats_progress *progress,
                                 void *arg, struct mf_error *e);

/* The headers as they are imported: without the identity of a source that is in the store too.
 * Valid until the next call. */
struct mf_slice nats_source_header(struct nats_store *s, struct mf_slice hdr);

/* A whole file of the folder, appended to out.  MF_NOTFOUND, MF_LIMIT (more than max), MF_IO. */
MF_MUSTCHECK int nats_store_read(const char *dir, const char *name, uint64_t max,
                                 struct mf_buf *out, struct mf_error *e);
/* Does the checksum file agree?  key: the text whose SHA-256 is the key. */
bool nats_store_sum_matches(struct mf_slice bytes, struct mf_slice hex, const char *key);

#endif
