/* resolver_impl.h: what the kinds of resolvers share.  Private to operator. */
#ifndef MAYFLY_OPERATOR_RESOLVER_IMPL_H
#define MAYFLY_OPERATOR_RESOLVER_IMPL_H

#include "operator/resolver.h"

/* NULL members: this kind does not have it. */
struct resolver_ops {
    bool (*close)(struct resolver *r, void (*closed)(void *arg), void *arg);
    int (*reload)(struct resolver *r, const struct options *o, struct mf_error *e);
    void (*lookup)(struct resolver *r, struct resolver_lookup *q);
    void (*cancel)(struct resolver_lookup *q);
    void (*change)(struct resolver *r, struct resolver_change *q);
    void (*walk)(struct resolver *r, struct resolver_walk *q);
    void (*walk_cancel)(struct resolver_walk *q);
    bool (*hash)(const struct resolver *r, uint8_t hash[32]);
    void (*ask_others)(struct resolver *r, struct resolver_asking *asking);
    void (*found)(struct resolver *r, uint64_t id, struct mf_slice jwt);
    void (*missing)(struct resolver *r, uint64_t id, int rc, const char *why);
};

struct resolver { /* first member of each kind */
    const struct resolver_ops *ops;
    enum options_resolver_kind kind;
    struct loop *loop;
};

MF_MUSTCHECK int resolver_mem_open(struct resolver **out, const struct resolver_setup *s,
                                   struct mf_error *e);
MF_MUSTCHECK int resolver_url_open(struct resolver **out, const struct resolver_setup *s,
                                   struct mf_error *e);
MF_MUSTCHECK int resolver_dir_open(struct resolver **out, const struct resolver_setup *s,
                                   struct mf_error *e);

/* Ends a request: q may be freed in done(). */
void resolver_finish(struct resolver_lookup *q, int rc, struct mf_slice jwt, const char *why);

#endif
