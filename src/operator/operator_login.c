/* operator_login.c: the login service of operator mode: user JWTs in CONNECT.
 *
 * Happy path: start_login() copies what a worker needs; check_work() decodes the JWT and checks
 * both signatures, which takes most of the time of a login; checked() asks operator_admit();
 * login_admitted() tells who asked.  A login that comes alone is checked on the loop, which is
 * faster than waking a worker; those that come meanwhile go to workers, so that a flood of logins
 * delays nobody else.
 * Without a JWT that can be read: the default sentinel, or a refusal.
 * Cancel: the admission is cancelled, or the job outlives its login and finds q == NULL. */
#include "operator/operator_login.h"

#include "operator/operator_impl.h"
#include "operator/operator_user_impl.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct pending {
    struct operator_login *service;
    struct login *q; /* NULL: cancelled while the job is with a worker */
    struct operator_admission admission;
    /* The worker's, until it is done: */
    bool working;
    struct loop_defer turn; /* it is checked on the loop */
    _Atomic bool cancelled; /* it need not check */
    struct loop_job *job;
    char *jwt, *sentinel, *sig, *nonce; /* NULL: absent */
    struct jwt *user;                   /* NULL: none can be read, and why in e */
    const char *signature;              /* see operator_check_signature() */
    struct mf_error e;                  /* text "": there was none */
};

static void pending_free(struct pending *p)
{
    char *texts[] = {p->jwt, p->sentinel, p->sig, p->nonce};

    for (size_t i = 0; i < MF_COUNT(texts); i++) {
        if (texts[i] != NULL)
            explicit_bzero(texts[i], strlen(texts[i])); /* a bearer's JWT is a secret */
        free(texts[i]);
    }
    jwt_free(p->user);
    loop_job_free(p->job);
    free(p);
}

static void finish_login(struct pending *p, const struct login_result *r,
                         const struct login_refusal *no)
{
    struct login *q = p->q;

    pending_free(p);
    q->state = NULL;
    q->done(q, r, no);
}

static void login_admitted(struct operator_admission *a, const struct login_result *r,
                           const struct login_refusal *no)
{
    struct pending *p = mf_container(a, struct pending, admission);
    struct login_refusal copy;
    char why[sizeof a->why];

    if (no != NULL) { /* its text ends with p */
        copy = *no;
        memcpy(why, a->why, sizeof why);
        copy.why = why;
        no = &copy;
    }
    finish_login(p, r, no);
}

/* --- a worker checks -------------------------------------------------------------------------- */

static void check_work(void *arg) /* on a worker: touches nothing but p */
{
    struct pending *p = arg;

    if (atomic_load(&p->cancelled))
        return;
    if (p->jwt != NULL && jwt_decode_as(&p->user, JWT_USER, mf_str(p->jwt), &p->e) != 0)
        p->user = NULL;
    if (p->user == NULL && p->sentinel != NULL &&
        jwt_decode_as(&p->user, JWT_USER, mf_str(p->sentinel), &p->e) != 0)
        p->user = NULL;
    if (p->user != NULL)
        p->signature = operator_check_signature(p->user->sub, p->nonce, p->sig);
}

static void refuse_unread(struct pending *p)
{
    struct login_refusal no = LOGIN_REFUSED("Authentication requires a user JWT");
    char why[sizeof p->e.text + 50];

    if (p->e.text[0] != '\0') {
        (void)snprintf(why, sizeof why, "%s: %s", no.why, p->e.text);
        no.why = why;
    }
    finish_login(p, NULL, &no);
}

static void checked(void *arg)
{
    struct pending *p = arg;

    if (p->q == NULL) {
        pending_free(p);
        return;
    }
    p->working = false;
    p->service->checking--;
    if (p->user == NULL) {
        refuse_unread(p);
    } else {
        p->admission = (struct operator_admission){
            .user = p->user, .login = p->q, .done = login_admitted, .signature = p->signature};
        p->user = NULL;
        operator_admit(p->service->op, &p->admission);
    }
}

static void check_here(struct loop_defer *d)
{
    struct pending *p = mf_container(d, struct pending, turn);

    check_work(p);
    checked(p);
}

/* --- the service ------------------------------------------------------------------------------ */

static bool decides_login(void *arg, const struct login *q)
{
    (void)arg, (void)q;
    return true;
}

static int copy_text(char **to, const char *from)
{
    if (!mf_has_text(from))
        return 0;
    *to = mf_slice_dup(mf_str(from));
    return *to != NULL ? 0 : MF_NOMEM;
}

static int start_login(void *arg, struct login *q)
{
    struct operator_login *l = arg;
    struct pending *p = calloc(1, sizeof *p);

    if (p == NULL)
        return MF_NOMEM;
    p->job = loop_job_new(l->op->setup.loop, LOOP_OUTSIDE, check_work, checked, p);
    if (p->job == NULL || copy_text(&p->jwt, q->connect->jwt) != 0 ||
        copy_text(&p->sig, q->connect->sig) != 0 || copy_text(&p->nonce, q->nonce) != 0 ||
        copy_text(&p->sentinel, operator_options(l->op)->operators->default_sentinel) != 0) {
        pending_free(p);
        return MF_NOMEM;
    }
    p->service = l;
    p->q = q;
    p->working = true;
    p->turn.fn = check_here;
    q->state = p;
    if (l->checking++ == 0)
        loop_next(l->op->setup.loop, &p->turn);
    else
        loop_job_submit(p->job);
    return 0;
}

static void cancel_login(void *arg, struct login *q)
{
    struct pending *p = q->state;

    (void)arg;
    if (p == NULL)
        return;
    q->state = NULL;
    p->q = NULL;
    p->service->checking -= p->working;
    if (p->working && !p->turn.queued) {
        atomic_store(&p->cancelled, true);
        return;
    }
    loop_defer_cancel(p->service->op->setup.loop, &p->turn);
    operator_admit_cancel(&p->admission);
    pending_free(p);
}

static int renew_user(void *arg, struct account *a, struct login_user *u, struct login_result *out,
                      struct login_refusal *no)
{
    return operator_renew(((struct operator_login *)arg)->op, a, u, out, no);
}

void operator_login_open(struct operator_login *l, struct operator* op)
{
    *l = (struct operator_login){.service = {.arg = l,
                                             .required = true,
                                             .decides = decides_login,
                                             .start = start_login,
                                             .cancel = cancel_login,
                                             .renew = renew_user},
                                 .op = op};
}

void operator_login_close(struct operator_login *l)
{
    l->service = (struct login_service){0};
    l->op = NULL;
}
