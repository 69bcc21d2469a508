/* leaf.h: leaf links: connections to other NATS servers that join one account on each side.
 *
 * Both roles: the accounts of this server dial out (leafnodes { remotes }), and other servers
 * attach to it (leafnodes { listen }).  Interest travels ahead of messages: each side announces
 * what its account subscribed to, and only such messages cross.
 *
 * Costs: a subscription costs O(links of its account) and one line on each of them; a message
 * costs one line for each link that wants it.  An account without links pays nothing. */
#ifndef MAYFLY_LEAF_H
#define MAYFLY_LEAF_H

#include "account/account.h"
#include "loop/loop.h"
#include "net/net.h"
#include "session/login.h"

struct leaf;
struct leaf_link;

struct leaf_totals { /* messages that crossed any link */
    uint64_t in_msgs, in_bytes, out_msgs, out_bytes;
    uint64_t slow, stale; /* links closed because the peer did not read, or did not answer */
    uint64_t accepted, established;
};

struct leaf_setup {
    struct loop *loop;
    struct accounts *accounts;
    const struct options *options; /* valid until the next leaf_reload() or the end */
    const char *server_id, *version, *go_version; /* valid until the end */
    const char *server_name;                      /* copied */
    unsigned api_level;
    uint64_t (*next_id)(void *arg);     /* ids of links and clients are one sequence */
    const struct login_service *logins; /* NULL: none; valid until the end */
    /* The publisher of a message fills the output of a link faster than the peer reads it: it is
     * to wait a moment.  origin: of the message. */
    void (*stall)(void *arg, const void *origin);
    /* The port of the listener, for announcements; 0: no listener. */
    int (*port)(void *arg);
    /* A link became usable (up), or a usable one ended. */
    void (*changed)(void *arg, const struct leaf_link *l, bool up);
    /* The service of an auth callout refused a server that attaches; NULL: nobody wants to know. */
    void (*refused)(void *arg, const struct leaf_link *l, const struct login_refusal *no);
    /* Accounts that are loaded when somebody needs them.  want_account() looks for the account of a
     * remote before each attempt to dial: done() is called once, never from inside, unless the
     * returned request is cancelled before.  a NULL: it cannot be used, and why.  NULL: no memory.
     * Without these functions all accounts are there from the start. */
    void *(*want_account)(void *arg, const char *name,
                          void (*done)(void *to, struct account *a, const char *why), void *to);
    void (*want_cancel)(void *arg, void *want);
    void *arg;
};

/* Copies *setup.  Dialling begins in a later turn.  MF_INVAL: an account that the configuration
 * names does not exist. */
MF_MUSTCHECK int leaf_open(struct leaf **out, const struct leaf_setup *setup, struct mf_error *e);
/* After accounts_reload(): links of remotes that did not change stay. */
void leaf_reload(struct leaf *lf, const struct options *o);
/* A connection to the listener for leaf links; ws: an upgraded one to that for WebSocket. */
void leaf_accept(struct leaf *lf, struct net_conn *conn, bool ws);
/* A reload removed the account: its links close, and their subscriptions end now. */
void leaf_account_removed(struct leaf *lf, struct account *a);
/* It expired: the links that its remotes made close. */
void leaf_account_ended(struct leaf *lf, const struct account *a);
/* The claims of an account changed: each of its links gets the present rights of its user, or ends.
 * O(accounts with links). */
void leaf_account_renew(struct leaf *lf, const struct account *a);
/* Dialling ends, links close. */
void leaf_leaving(struct leaf *lf);
/* true: freed.  false: closed() is called after the last link has ended. */
bool leaf_close(struct leaf *lf, void (*closed)(void *arg), void *arg);

/* --- what is known of them -------------------------------------------------------------------- */

const struct leaf_totals *leaf_totals(const struct leaf *lf);
uint32_t leaf_count(const struct leaf *lf); /* usable links */

struct leaf_info { /* account: NULL until it is let in */
    uint64_t id;
    const char *account, *account_tag, *name, *ip;
    int port;
    bool spoke; /* this server is the spoke */
    bool isolated, solicited;
    const char *proxy_key;   /* of a trusted proxy in between, or NULL */
    const char *compression; /* the mode that was agreed, or NULL */
    const char *cluster, *domain, *server_id, *version, *remote_account;
    int64_t rtt_ns, start_wall_ns, last_wall_ns; /* rtt 0: not measured yet; last: it was heard */
    uint64_t in_msgs, in_bytes, out_msgs, out_bytes, nsubs, pending;
    uint64_t reconnects; /* of the remote, since the start */
};
/* Every usable link, the oldest first. */
void leaf_each(const struct leaf *lf, void (*visit)(void *arg, const struct leaf_link *l),
               void *arg);
void leaf_info_of(const struct leaf_link *l, struct leaf_info *out);
/* The interest of the peer; weight 0: no queue. */
void leaf_each_sub(const struct leaf_link *l,
                   void (*visit)(void *arg, struct mf_slice subject, struct mf_slice queue,
                                 uint32_t weight),
                   void *arg);

#endif
