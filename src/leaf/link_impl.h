/* link_impl.h: one connection to another server. */
#ifndef LEAF_LINK_IMPL_H
#define LEAF_LINK_IMPL_H

#include "auth/auth.h"
#include "base/list.h"
#include "base/table.h"
#include "config/options_leaf.h"
#include "leaf/hello_impl.h"
#include "leaf/leaf.h"
#include "leaf/verb_impl.h"
#include "loop/work.h"
#include "session/delivery.h"
#include "session/login.h"
#include "session/nonce.h"
#include "session/reason.h"
#include "session/s2_pipe.h"

struct leaf_remote;
struct leaf_realm;
struct leaf_family;
struct login_job;
struct leaf_login;

enum leaf_phase {
    LEAF_DIALLING,    /* solicitor: no connection yet */
    LEAF_PEEKING,     /* acceptor: TLS may begin at once; else INFO is sent after a moment */
    LEAF_SECURING,    /* TLS handshake */
    LEAF_WAIT_INFO,   /* solicitor: for the first INFO */
    LEAF_WAIT_LOGIN,  /* acceptor: for CONNECT */
    LEAF_CHECKING,    /* acceptor: a worker checks the password */
    LEAF_WAIT_ANSWER, /* solicitor: for the INFO that answers CONNECT */
    LEAF_USABLE,
    LEAF_CLOSING,
};

struct login_table;

/* A subject, or a subject and a queue, that the peer announced. */
struct leaf_sub {
    struct router_sub rs;
    struct table_node node; /* leaf_link.subs, by key */
    struct mf_list mark;    /* leaf_link.marks, if it finds loops; else in no list */
    uint32_t weight;        /* 1 without a queue; 0 until it counts */
};

struct leaf_link {
    struct router_remote peer;
    struct mf_list all;      /* leaf.links */
    struct mf_list in_realm; /* leaf_realm.links while it is usable, then leaf_realm.ending */
    struct leaf *leaf;
    struct net_conn *conn;
    struct leaf_remote *remote; /* NULL: it was accepted */
    struct leaf_realm *realm;   /* while it is usable, and until its interest has ended */
    struct account *account;    /* bound to; NULL: not known yet */
    uint64_t id;
    enum leaf_phase phase;
    enum reason reason;
    bool spoke, isolated, headers; /* headers: the peer understands them */
    bool traces;                   /* the peer traces messages */
    bool counted;                  /* in account_counters.leafnodes */
    bool shown;                    /* its owner was told that it is usable */
    bool stranger;                 /* accepted, and not usable yet */
    bool refilter;                 /* the rest of the input goes through a new filter */
    bool informed;                 /* solicitor: the first INFO came */
    bool ws;                       /* inside WebSocket */
    bool told;                     /* acceptor: INFO was sent */
    bool agreed;                   /* compression was decided */
    bool answers;                  /* solicitor: the peer answers CONNECT with INFO */
    struct arena mem;              /* of the texts below */
    const char *name, *server_id, *cluster, *domain, *version, *remote_account;
    const char *compression; /* mode with which this side writes; NULL: none */
    const char *their_compression;
    enum options_compress level;
    struct s2_pipe *pipe; /* NULL: no compression */
    uint64_t cluster_hash;
    struct leaf_family *family; /* of its cluster, while it has a realm; NULL: it names none */
    size_t max_out;             /* the largest message that the peer takes; 0: unknown */
    size_t largest;             /* message sent so far */
    int64_t error_ns;           /* the last error of the peer that was logged, or left out */
    uint64_t oversized;
    int64_t oversized_logged_ns;

    struct perms *perms;  /* of the user, as the hub's user sees it; NULL: everything */
    struct perms *denies; /* publish: what must not go out; subscribe: what must not come in */
    bool open_api;        /* a leaf may ask the API by its plain name: this hub has no domain */

    struct table subs;      /* leaf_sub.node */
    struct mf_list marks;   /* leaf_sub.mark */
    uint64_t entered, left; /* leaf_realm.moves as it did so; 0: not yet */
    struct work_task rest;  /* ends what is left of subs when the link has ended */
    size_t rest_at;         /* see table_any() */
    bool gone;              /* the connection is closed; freed when the interest has ended */
    /* A walk over leaf_realm.interest tells the peer what was there before the link, or what a
     * change of permissions opened and closed. */
    struct work_task announce;
    enum leaf_walk { LEAF_WALK_NONE, LEAF_WALK_FRESH, LEAF_WALK_CHANGE, LEAF_WALK_ALL } walking;
    struct perms *walk_from; /* CHANGE: the permissions before it */
    bool marks_first;        /* they were announced before the walk */
    struct table_scan walk;
    size_t subs_room; /* bytes of memory for their subjects, at most */
    uint32_t before;  /* scratch of realm.c */

    char nonce[NONCE];
    const char *proxy_key;      /* of the trusted proxy in between, in mem; NULL: none */
    char *user;                 /* shown in logs; NULL: none */
    struct json_strs peer_deny; /* of CONNECT, in mem */
    struct login_job *job;
    struct leaf_login *service; /* a login service decides; NULL: none does, or it has decided */
    struct login_user *who;     /* of the service; NULL: a user of the configuration */
    int64_t max_subs;           /* of `who`; -1: no limit */
    struct loop_timer *timer;
    int64_t rtt_ns, ping_sent_ns, next_ping_ns, deadline_wall_ns;
    unsigned pings_out;
    bool heard;   /* bytes came since the last look */
    size_t whole; /* bytes of the message whose payload is incomplete; 0: none */
    uint64_t in_msgs, in_bytes, out_msgs, out_bytes;
    int64_t start_wall_ns, start_mono_ns, last_wall_ns;
    struct delivery_output output;
    struct mf_slice *queue; /* of the message being read */
    size_t queue_room;
};

/* --- link.c ----------------------------------------------------------------------------------- */
extern const struct net_handler link_handler;
struct leaf_link *link_new(struct leaf *lf, struct leaf_remote *remote); /* NULL: no memory */
void link_free(struct leaf_link *l);                                     /* never connected */
#define LINK_LABEL 320
const char *link_label(const struct leaf_link *l, char dst[LINK_LABEL]);
/* err: text of an -ERR line to send first, or NULL. */
void link_close(struct leaf_link *l, const char *err, enum reason reason);
/* Its interest ends at once, and nothing is sent to it any more; harmless twice.  May free it. */
void link_leave_now(struct leaf_link *l);
void link_departed(struct leaf_link *l); /* its interest has ended: frees it if it is gone */
void link_send_err(struct leaf_link *l, const char *fmt, ...) MF_PRINTF(2, 3);
void link_log_error(const struct leaf_link *l, const char *fmt, ...) MF_PRINTF(2, 3);
/* The handshake is done: interest is announced, messages cross. */
void link_use(struct leaf_link *l);
void link_wait(struct leaf_link *l, int64_t ns); /* arms the timer of the phase */
/* The same for the next ping, unless the credentials end before. */
void link_wait_ping(struct leaf_link *l, int64_t ns);
void link_check_queue(struct leaf_link *l, const void *origin);
/* Both directions are S2 from here on; what is unread of the input goes through it. */
bool link_compress(struct leaf_link *l, enum options_compress mode);
/* The settings for compression of this link. */
const struct options_compression *link_compression(const struct leaf_link *l);
int64_t link_ping_every(const struct leaf_link *l);

/* --- use.c ------------------------------------------------------------------------------------ */
void link_choose_level(struct leaf_link *l);                  /* a new round trip time */
const char *link_keep(struct leaf_link *l, const char *text); /* a copy as long as the link */

#endif
