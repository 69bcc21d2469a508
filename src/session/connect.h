/* connect.h: the JSON of CONNECT. */
#ifndef MAYFLY_SESSION_CONNECT_H
#define MAYFLY_SESSION_CONNECT_H

#include "base/base.h"

/* Strings are owned, NULL when absent.  Booleans keep their former value when a later CONNECT does
 * not name them, so initialise once and parse into it again. */
struct connect_opts {
    bool verbose, pedantic, echo, tls_required, headers, no_responders;
    int protocol;
    char *user, *pass, *token, *nkey, *sig, *jwt, *name, *lang, *version;
    char *proxy_sig;    /* the nonce, signed by a proxy in between */
    bool account_named; /* "account" or "new_account" was given: refused */
};
#define CONNECT_OPTS_INIT ((struct connect_opts){.verbose = true, .pedantic = true, .echo = true})

/* MF_INVAL for anything but the JSON object that Go would decode; out stays unchanged. */
MF_MUSTCHECK int connect_parse(struct mf_slice json, struct connect_opts *out, struct mf_error *e);
/* Checks an INFO line of a client, which is otherwise ignored: an object (or null) whose texts and
 * numbers have the right types. */
bool connect_info_ok(struct mf_slice json);
/* Overwrites and frees the secrets; other members stay for pages. */
void connect_opts_forget(struct connect_opts *o);
void connect_opts_fini(struct connect_opts *o);

#endif
