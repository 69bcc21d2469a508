/* remote_impl.h: one configured remote: its addresses, its attempts, its link. */
#ifndef LEAF_REMOTE_IMPL_H
#define LEAF_REMOTE_IMPL_H

#include "leaf/link_impl.h"

/* One configured remote. */
struct leaf_remote {
    struct mf_list link; /* leaf.remotes */
    struct leaf *leaf;
    struct account *account;               /* NULL: not found yet, see leaf_setup.want_account */
    void *want;                            /* a request for it */
    const struct options_leaf_remote *opt; /* points into the present options */
    struct leaf_link *conn;                /* NULL: none at the moment */
    struct loop_timer *timer;              /* the next attempt */
    struct leaf_target {
        char *host, *user, *password;
        char *path;
        int port;
        bool ws, tls, discovered;
    } * targets; /* discovered ones first, then those configured */
    size_t ntargets, room;
    size_t at;      /* tried last; ntargets: none */
    char *tls_name; /* first configured host name, for gossiped addresses */
    uint64_t attempts, established;
    bool removed;
    int64_t delay_ns; /* of the next attempt beyond `reconnect`; 0: none */
};

/* --- remote.c --------------------------------------------------------------------------------- */
void remote_configure(struct leaf_remote *r);
/* The hub tells of its cluster. */
void remote_learn(struct leaf_remote *r, const struct json_strs *urls);
bool remote_is_address(const char *host);
void remote_set_account(struct leaf_remote *r, struct account *a); /* NULL: none */
void remote_forget_want(struct leaf_remote *r);
void remote_gone(struct leaf_remote *r); /* its connection ended: a removed one is freed */
const struct leaf_target *remote_user(const struct leaf_remote *r); /* with user; NULL: none */
int dial_open(struct leaf *lf, struct mf_error *e);
void dial_reload(struct leaf *lf, const struct options *old);
void dial_stop(struct leaf *lf); /* no more attempts */
void dial_free_all(struct leaf *lf);
void dial_remove(struct leaf_remote *r); /* its link closes, it is freed later */

/* --- dial.c ----------------------------------------------------------------------------------- */
void dial_next(void *arg);
void dial_info(struct leaf_link *l, struct mf_slice json); /* any INFO, by phase */
void dial_secured(struct leaf_link *l);
/* The connection of a remote closed; why: it was never made. */
void dial_ended(struct leaf_link *l, const char *why);
void dial_refused(struct leaf_link *l, struct mf_slice text); /* -ERR of the peer */

#endif
