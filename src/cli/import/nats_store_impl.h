/* nats_store_impl.h: shared by the files of the reader of nats-server's store. */
#ifndef CLI_NATS_STORE_IMPL_H
#define CLI_NATS_STORE_IMPL_H

#include "cli/import/nats_store.h"

/* A block as index.db describes it. */
struct nats_range {
    uint32_t block;
    uint64_t first, last, count;
    struct natsfile_set deleted;
};

/* nats_index.c: is index.db usable?  Sets s->indexed and s->ranges. */
MF_MUSTCHECK int nats_index_load(struct nats_store *s, struct mf_error *e);
/* nats_consumer.c: reads obs/. */
MF_MUSTCHECK int nats_consumers_load(struct nats_store *s, struct mf_error *e);
/* nats_source.c: reads sources.db; sees each message; then settles places in s->config. */
MF_MUSTCHECK int nats_source_load(struct nats_store *s, struct mf_error *e);
void nats_source_see(struct nats_store *s, struct mf_slice hdr);
void nats_source_settle(struct nats_store *s);
bool nats_store_has_block(const struct nats_store *s, uint32_t block);

#endif
