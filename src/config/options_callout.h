/* options_callout.h: authorization { auth_callout } as a plain struct: a service decides who may
 * log in.  No text here is a secret. */
#ifndef MAYFLY_OPTIONS_CALLOUT_H
#define MAYFLY_OPTIONS_CALLOUT_H

#include "config/options.h"

struct options_callout {
    char *issuer;  /* public key of an account: signs users and responses */
    char *account; /* where the service is asked; default $G */
    char *xkey;    /* public curve key: requests are sealed for it; NULL: they are not */
    struct options_list users;   /* user names and nkeys that the file decides about */
    struct options_list allowed; /* accounts that are asked about, and where the service may place
                                    users, beside its own; none: all */
};

/* Whether the service is asked about a user of the file, who may be NULL: nobody known.  leaf: a
 * server that attaches.  O(lists). */
bool options_callout_asks(const struct options_callout *k, const char *user, const char *account,
                          bool leaf);

#endif
