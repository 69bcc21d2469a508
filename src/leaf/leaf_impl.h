/* leaf_impl.h: leaf links from inside: the module, its realms, and what its files call of each
 * other. The folder is listed in README.md. */
#ifndef LEAF_LEAF_IMPL_H
#define LEAF_LEAF_IMPL_H

#include "base/rand.h"
#include "leaf/remote_impl.h"

#define LEAF_SUBS_MAX      (1u << 20)   /* announced by one peer */
#define LEAF_SUBS_ROOM_MAX (512u << 20) /* bytes of memory for their subjects */
#define LEAF_TOKEN_ROOM    96           /* a token that no other subject shares */
#define LEAF_UNKNOWN_MAX   1024         /* connections that have not shown who they are */
#define LEAF_PENALTY_NS    (30 * (int64_t)1000000000) /* after a refusal that will not pass soon */

#define LEAF_REFUSALS 64

/* The interest of one account that has links, usable or ending: realm.c. */
struct leaf_realm {
    struct mf_list link; /* leaf.realms */
    struct leaf *leaf;
    struct account *account;
    struct mf_list links;  /* leaf_link.in_realm, the oldest first */
    struct mf_list ending; /* leaf_link.in_realm: links that are not usable any more */
    uint64_t moves;        /* links that came and left, so far */
    struct work_owner work;
    struct table interest;
    struct table families; /* of clusters: family.c */
    uint64_t looks;       /* at what a cluster or a link announced, so far: for tests of the cost */
    struct mf_list marks; /* of it: those that find loops, the oldest first */
    struct router_observer observer;
    struct account_linker linker;
    char lds[5 + RAND_NUID + 1]; /* $LDS.<unique>: finds loops */
    struct json_strs fixed;      /* sources of mappings, announced as interest */
    struct arena fixed_mem;
    struct loop_defer api_seen; /* tells the account that an API came within reach */
};

struct leaf {
    struct leaf_setup setup;
    struct loop *loop;
    char *name;
    const struct options *options;
    struct login_table *logins; /* its own: workers may read it while the server's is replaced */
    unsigned njobs;             /* of login.c */
    struct mf_list links, remotes, realms;
    uint32_t nlinks, usable, strangers;
    struct net_tls *tls; /* of the listener */
    struct leaf_totals totals;
    /* Servers that refused a message of this size: accept.c.  The oldest entry is replaced. */
    struct leaf_refusal {
        char server_id[64];
        size_t size;
    } refusals[LEAF_REFUSALS];
    unsigned refusal_at;
    bool leaving, closing;
    bool crowded; /* newcomers are turned away, and the log says so */
    void (*closed)(void *arg);
    void *closed_arg;
};

static inline const struct options_leaf *leaf_options(const struct leaf *lf)
{
    return lf->options->leaf;
}

/* A copy of the caller's own, or NULL: there is no text, or no memory. */
static inline char *leaf_copy_text(const char *s)
{
    return s == NULL ? NULL : mf_slice_dup(mf_str(s));
}

/* --- leaf.c ----------------------------------------------------------------------------------- */
const char *leaf_cluster(const struct leaf *lf, bool always); /* own name; NULL: none */
const char *leaf_domain(const struct leaf *lf);               /* "": none */
void leaf_link_gone(struct leaf *lf);                         /* one was freed */

/* --- accept.c --------------------------------------------------------------------------------- */
void accept_command(struct leaf_link *l, const struct verb_cmd *cmd);
void accept_entered(struct leaf_link *l,
                    const struct auth_identity *who); /* credentials are good */
void accept_refused(struct leaf_link *l);
void accept_admitted(struct leaf_link *l, const struct login_result *r); /* by a login service */
void accept_refused_by(struct leaf_link *l, const struct login_refusal *no);
void accept_send_info(struct leaf_link *l, bool answer);
void accept_secured(struct leaf_link *l);
void accept_peeked(struct leaf_link *l, uint8_t first); /* 0: none came in time */
/* The peer closes because a message was larger than it takes: the next link remembers that. */
void accept_too_large(struct leaf_link *l);
void accept_renew(struct leaf_link *l, struct perms *now); /* takes now */
int accept_tls(struct leaf *lf, struct mf_error *e);       /* builds leaf.tls from the options */

/* --- login.c ---------------------------------------------------------------------------------- */
/* Checks the credentials; calls accept_entered() or accept_refused(), perhaps later. */
void login_check(struct leaf_link *l, const struct hello_connect *c);
void login_abandon(struct leaf_link *l);
int login_reload(struct leaf *lf, struct mf_error *e); /* a new table */
void login_free(struct leaf *lf);
struct leaf_logins_before {
    struct login_table *table;
    bool block, same_block; /* leafnodes { authorization } decided; and decides alike */
};
void login_keep(struct leaf *lf, struct leaf_logins_before *before);
void login_drop(struct leaf_logins_before *before);
/* After a reload: false: it may not stay.  *now: its present permissions, for the caller, or NULL.
 */
bool login_still_valid(const struct leaf_link *l, const struct leaf_logins_before *before,
                       struct perms **now);

/* --- service.c -------------------------------------------------------------------------------- */
/* Whether a login service decides, where leafnodes { authorization } names nobody. */
bool service_decides(const struct leaf_link *l, const struct hello_connect *c);
/* Calls accept_admitted() or accept_refused_by(), later. */
void service_begin(struct leaf_link *l, const struct hello_connect *c);
void service_abandon(struct leaf_link *l); /* harmless without a login under way */
/* New permissions and limits of its user, or its end. */
void service_renew(struct leaf_link *l);

/* --- rules.c ---------------------------------------------------------------------------------- */
/* allow and deny lists of the hub's user, as INFO shows them; NULL: everything. */
MF_MUSTCHECK int rules_set_user(struct leaf_link *l, const struct hello_subjects *import,
                                const struct hello_subjects *export);
/* Denies of JetStream and of the configuration: in and out of this server. */
MF_MUSTCHECK int rules_set_denies(struct leaf_link *l, const struct json_strs *peer_deny);
bool rules_may_send(const struct leaf_link *l, struct mf_slice subject);
bool rules_may_receive(const struct leaf_link *l, struct mf_slice subject);
/* Whether interest in the pattern is announced to the peer, and what to do about the peer's. */
bool rules_may_announce(const struct leaf_link *l, struct mf_slice pattern);
enum rules_verdict { RULES_YES, RULES_IGNORE, RULES_VIOLATION };
enum rules_verdict rules_learn(const struct leaf_link *l, struct mf_slice pattern);

/* --- realm.c ---------------------------------------------------------------------------------- */
MF_MUSTCHECK int realm_enter(struct leaf_link *l); /* announces everything, in time slices */
void realm_announce_more(struct leaf_link *l);     /* the peer read what waited for it */
void realm_reload(struct leaf_realm *r);           /* mappings changed */
/* Permissions changed: interest is announced and withdrawn, in time slices. */
void realm_announce_again(struct leaf_link *l, struct perms *old);
void realm_end_walk(struct leaf_link *l); /* harmless twice */

/* --- learn.c ---------------------------------------------------------------------------------- */
/* Its interest ends: some of it at once, and the rest in time slices; l->realm is NULL when all of
 * it has ended.  now: all at once, O(its subscriptions).  Harmless twice. */
void realm_leave(struct leaf_link *l, bool now);
/* LS+ and LS- of the peer. */
void realm_learn(struct leaf_link *l, const struct verb_cmd *cmd);
void realm_forget(struct leaf_link *l, const struct verb_cmd *cmd);

/* --- show.c: only while log_enabled(LOG_TRACE_) ----------------------------------------------- */
void show_received(const struct leaf_link *l, const struct verb_cmd *cmd, struct mf_slice bytes);
void show_sent(const struct leaf_link *l, struct mf_slice line);
void show_message(const struct leaf_link *l, const struct verb_line *line,
                  const struct mf_msg *msg);

/* --- cross.c ---------------------------------------------------------------------------------- */
bool cross_takes(struct router_remote *r, const struct router_msg *m);
bool cross_send(struct router_remote *r, const struct router_msg *m, const struct mf_slice *queue,
                uint32_t nqueues);
void cross_receive(struct leaf_link *l, const struct verb_cmd *cmd);

/* --- cross_trace.c: messages with router_msg.trace, or that ask for one ------------------------
 */
void cross_trace_denied(const struct leaf_link *l, const struct router_msg *m);
/* hdr: its header, with the number of the hop.  false: it is not sent. */
bool cross_trace_out(const struct leaf_link *l, const struct router_msg *m, struct mf_buf *hdr);
/* Sets rm->trace and rm->dry_run, perhaps another header.  false: the message is not published. */
bool cross_trace_in(struct leaf_link *l, struct router_msg *rm, struct mf_msg *msg,
                    struct mf_buf *hdr);

#endif
