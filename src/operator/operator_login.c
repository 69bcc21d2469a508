/* operator_login.c: the login service of operator mode: user JWTs in CONNECT.
 *
 * Happy path: start_login() queues the login; a task decodes its JWT, login after login in time
 * slices; operator_admit() decides; login_login_admitted() tells who asked.
 * Without a JWT that can be read: the default sentinel, or a refusal.
 * Cancel: it leaves the queue, or its admission is cancelled. */
#include "operator/operator_login.h"

#include "base/list.h"
#include "operator/operator_impl.h"

#include <stdio.h>
#include <stdlib.h>

struct pending {
    struct mf_list link; /* operator_login.waiting, until it is decoded */
    struct operator_login *service;
    struct login *q;
    struct operator_admission admission;
};

static void finish_login(struct pending *p, const struct login_result *r,
                         const struct login_refusal *no)
{
    struct login *q = p->q;

    mf_list_del(&p->link);
    free(p);
    q->state = NULL;
    q->done(q, r, no);
}

static void login_admitted(struct operator_admission *a, const struct login_result *r,
                           const struct login_refusal *no)
{
    struct login_refusal copy;
    struct pending *p = mf_container(a, struct pending, admission);
    char why[sizeof a->why];

    if (no != NULL) { /* its text ends with p */
        copy = *no;
        memcpy(why, a->why, sizeof why);
        copy.why = why;
        no = &copy;
    }
    finish_login(p, r, no);
}

/* --- decoding --------------------------------------------------------------------------------- */

/* NULL: there is none, and e says why. */
static struct jwt *read_jwt(const struct pending *p, struct mf_error *e)
{
    const char *text = p->q->connect->jwt;
    const char *sentinel = operator_options(p->service->op)->operators->default_sentinel;
    struct jwt *j = NULL;

    e->text[0] = '\0';
    if (mf_has_text(text) && jwt_decode_as(&j, JWT_USER, mf_str(text), e) == 0)
        return j;
    if (sentinel == NULL || jwt_decode_as(&j, JWT_USER, mf_str(sentinel), e) != 0)
        return NULL;
    return j;
}

static void decode_login(struct pending *p)
{
    struct login_refusal no = LOGIN_REFUSED("Authentication requires a user JWT");
    struct mf_error e;
    char why[sizeof e.text + 50];

    mf_list_del(&p->link);
    p->admission =
        (struct operator_admission){.user = read_jwt(p, &e), .login = p->q, .done = login_admitted};
    if (p->admission.user != NULL) {
        operator_admit(p->service->op, &p->admission);
        return;
    }
    if (e.text[0] != '\0') {
        (void)snprintf(why, sizeof why, "%s: %s", no.why, e.text);
        no.why = why;
    }
    finish_login(p, NULL, &no);
}

static bool decode_some(struct work_task *t)
{
    struct operator_login *l = mf_container(t, struct operator_login, task);
    struct mf_list *next;

    do {
        next = mf_list_pop(&l->waiting);
        if (next == NULL)
            return false;
        decode_login(mf_container(next, struct pending, link));
    } while (!work_spent(l->op->setup.loop));
    return !mf_list_empty(&l->waiting);
}

/* --- the service ------------------------------------------------------------------------------ */

static bool decides_login(void *arg, const struct login *q)
{
    (void)arg, (void)q;
    return true;
}

static int start_login(void *arg, struct login *q)
{
    struct operator_login *l = arg;
    struct pending *p = calloc(1, sizeof *p);

    if (p == NULL)
        return MF_NOMEM;
    p->service = l;
    p->q = q;
    q->state = p;
    mf_list_push(&l->waiting, &p->link);
    work_add(l->op->setup.loop, &l->work, &l->task);
    return 0;
}

static void cancel_login(void *arg, struct login *q)
{
    struct pending *p = q->state;

    (void)arg;
    if (p == NULL)
        return;
    q->state = NULL;
    mf_list_del(&p->link);
    operator_admit_cancel(&p->admission);
    free(p);
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
                                 .op = op,
                                 .work = {.name = "logins"},
                                 .task = {.run = decode_some, .cause = WORK_OTHER}};
    mf_list_init(&l->waiting);
}

void operator_login_close(struct operator_login *l)
{
    if (l->op != NULL)
        work_cancel(l->op->setup.loop, &l->task);
    l->service = (struct login_service){0};
    l->op = NULL;
}
