/* auth_impl.h: the table of users, shared by the files that build and search it. */
#ifndef MAYFLY_AUTH_INT_H
#define MAYFLY_AUTH_INT_H

#include "auth/auth.h"
#include "base/table.h"
#include "auth/dn_impl.h"

#define AUTH_GLOBAL "$G"

struct auth_user {
    struct table_node by_name;
    char *name;     /* user name, or the nkey */
    char *password; /* NULL: none */
    char *account;
    bool nkey;
    unsigned kinds; /* bit per auth_kind it may connect as */
    struct perms *perms;
    int64_t deadline_ns;
    unsigned asked; /* bit per auth_kind: an auth callout decides, not this table */
    bool proxied;   /* may connect through a trusted proxy alone */
    bool has_dn;    /* its name is a distinguished name (only looked at with verify_and_map) */
    struct dn dn;
};

struct auth_simple { /* one user or one token for everybody */
    char *user, *password, *token;
};

/* Never changes once built, so workers may read it. */
struct auth {
    struct auth_user *users; /* in the order of the configuration */
    size_t nusers;
    struct table names;
    size_t nnkeys;
    bool required;
    bool closed; /* another authority would decide, and none is asked yet: all are refused */
    bool open;   /* only the system account has users: others need no credentials */
    /* An auth callout decides about those who are not of the table, but for the one user of
     * authorization {} if auth_users names it. */
    bool asks, simple_asked;
    struct perms *global; /* of users without an entry, in the account of the callout; or NULL */
    struct auth_simple simple;
    bool proxied; /* the same for users without an entry */
    bool anyone;  /* no credentials are needed, but a proxy is */
    bool ws_override;
    struct auth_simple ws;
    unsigned maps; /* bit per auth_kind whose listener maps certificates to users */
};

const struct auth_user *auth_find(const struct auth *a, const char *name);
/* The user a certificate stands for: e-mail, DNS and URI names literally, then the subject. */
const struct auth_user *auth_cert_user(const struct auth *a, const struct auth_request *r);

#endif
