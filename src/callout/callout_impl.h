/* callout_impl.h: auth callouts from inside: callout.c the login service, ask.c requests,
 * place.c users of configuration mode, admit.c operator mode.  Private to callout. */
#ifndef MAYFLY_CALLOUT_IMPL_H
#define MAYFLY_CALLOUT_IMPL_H

#include "callout/answer.h"
#include "callout/callout.h"
#include "config/options_callout.h"

#define CALLOUT_REPLY 64

/* A login that the service is asked about.  In operator mode it is checked as a user first. */
struct callout_login {
    struct callout *callout;
    struct login *q; /* its state points here */
    struct mf_list link;
    /* Operator mode: */
    struct login first; /* the check that precedes; state NULL: not under way */
    struct operator_admission admission;
    struct login_user *sentinel;               /* the user of CONNECT; or NULL */
    char issuer[NKEY_TEXT], target[NKEY_TEXT]; /* of the service's user */
    /* The request: */
    struct account *account; /* where the service is asked, retained; NULL: not asked yet */
    char *xkey;              /* of the service; NULL: requests are not sealed */
    char user_nkey[NKEY_TEXT];
    char reply[CALLOUT_REPLY];
    struct router_sub sub;
    struct loop_timer *timer;
    struct work_task task; /* the response is looked at, or the login is refused */
    bool running;          /* the task is */
    char *response;        /* NULL: none, and why says so */
    size_t nresponse;
    char why[512];
};

/* --- callout.c -------------------------------------------------------------------------------- */
/* They finish the login and free it.  callout_refuse() warns in the log. */
void callout_accept(struct callout_login *l, const struct login_result *r);
void callout_refuse(struct callout_login *l, const char *why);
void callout_refuse_as(struct callout_login *l, const struct login_refusal *no);
/* The user of the file for a client without credentials; NULL: it has some, or there is none. */
const struct options_user *callout_nobody(const struct callout_login *l);
/* The user to show: the name that the service gave, or what CONNECT said; "" if neither did. */
const char *callout_shown(const struct callout_login *l, const char *name);
/* A number in the claims of a user; absent ones are 0, and no limit. */
int64_t callout_limit(int64_t claimed);

/* --- ask.c ------------------------------------------------------------------------------------ */
void ask_prepare(struct callout_login *l);
/* Asks the service in this account; xkey may be NULL.  Refuses in a later turn if it cannot. */
void ask_service(struct callout_login *l, struct account *a, const char *xkey, const char *subject);
void ask_refuse_later(struct callout_login *l, const char *why);
void ask_forget_response(struct callout_login *l); /* overwrites it: it holds the JWT of a user */
void ask_drop(struct callout_login *l);            /* nothing is under way any more */

/* --- place.c: users of configuration mode ----------------------------------------------------- */
bool place_signs(const void *login, const char *signer);    /* answer_rules.signs */
void place_user(struct callout_login *l, struct jwt *user); /* takes user */
void place_renew(struct account *a, struct login_user *u, struct login_result *out);

/* --- admit.c: users of operator mode ---------------------------------------------------------- */
MF_MUSTCHECK int admit_start(struct callout_login *l);
void admit_cancel(struct callout_login *l);
bool admit_signs(const void *login, const char *signer);
void admit_user(struct callout_login *l, struct jwt *user); /* takes user */
MF_MUSTCHECK int admit_renew(struct callout *c, struct account *a, struct login_user *u,
                             struct login_result *out, struct login_refusal *no);

#endif
