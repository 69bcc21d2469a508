/* login.c: which servers may attach, to which account.
 *
 * In this order: the user, the nkey or the users of leafnodes { authorization }; where there are
 * none, the users for clients, if they may be leaf nodes (allowed_connection_types); where there
 * are none either, everybody.  bcrypt takes tens of milliseconds, so such passwords are checked by
 * a worker; the job has copies of all that it reads, and outlives a link that closes. */
#include "leaf/leaf_impl.h"

#include "base/log.h"
#include "session/through_proxy.h"

#include <stdlib.h>

/* Counted: jobs read the table while a reload replaces it. */
struct login_table {
    struct auth *auth;
    unsigned refs;
};

struct login_job {
    struct leaf_link *link; /* NULL: it closed */
    struct leaf *leaf;
    struct loop_job *job;
    struct login_table *table;
    struct auth_request req; /* points into the copies */
    char *user, *pass, *token, *nkey, *sig;
    char nonce[NONCE];
    char *stored; /* a password of leafnodes { authorization }; NULL: req is asked of the table */
    char *account;
    struct auth_identity who;
    int status;
};

static void table_release(struct login_table *t)
{
    if (t == NULL || --t->refs > 0)
        return;
    auth_free(t->auth);
    free(t);
}

int login_reload(struct leaf *lf, struct mf_error *e)
{
    struct login_table *t = calloc(1, sizeof *t);

    if (t == NULL)
        return mf_fail(e, MF_NOMEM, "users");
    if (auth_new(&t->auth, lf->options, e) != 0) {
        free(t);
        return e->code;
    }
    t->refs = 1;
    table_release(lf->logins);
    lf->logins = t;
    return 0;
}

void login_free(struct leaf *lf)
{
    table_release(lf->logins);
    lf->logins = NULL;
}

/* --- a worker checks -------------------------------------------------------------------------- */

static void job_free(struct login_job *j)
{
    char **secrets[] = {&j->user, &j->pass, &j->token, &j->nkey, &j->sig, &j->stored};

    for (size_t i = 0; i < MF_COUNT(secrets); i++) {
        if (*secrets[i] != NULL)
            explicit_bzero(*secrets[i], strlen(*secrets[i]));
        free(*secrets[i]);
    }
    free(j->account);
    loop_job_free(j->job);
    table_release(j->table);
    j->leaf->njobs--;
    free(j);
}

static void check_work(void *arg) /* on a worker */
{
    struct login_job *j = arg;

    if (j->stored != NULL)
        j->status = j->pass != NULL && password_matches(j->stored, j->pass) ? 0 : MF_DENIED;
    else
        j->status = auth_check(j->table->auth, &j->req, &j->who);
}

/* A reload came in between, and may have removed this user.  The other server tries again. */
static void refuse_outdated(struct leaf_link *l, struct login_job *j)
{
    perms_release(j->who.perms);
    link_log_error(l, "the users were reloaded while a login was checked: it must be tried again");
    link_close(l, NULL, REASON_AUTH_FAILURE);
}

static void check_done(void *arg)
{
    struct login_job *j = arg;
    struct leaf *lf = j->leaf;
    struct leaf_link *l = j->link;

    if (j->stored != NULL)
        j->who = (struct auth_identity){.account = j->account, .name = j->user};
    if (l != NULL) {
        l->job = NULL;
        l->phase = LEAF_WAIT_LOGIN;
        if (j->status == 0 && j->table != lf->logins)
            refuse_outdated(l, j);
        else if (j->status == 0)
            accept_entered(l, &j->who);
        else
            accept_refused(l);
        if (l->phase != LEAF_CLOSING)
            net_resume(l->conn);
    } else if (j->status == 0) {
        perms_release(j->who.perms);
    }
    job_free(j);
    leaf_link_gone(lf); /* a closing module waits for jobs, too */
}

static void start_job(struct leaf_link *l, const struct auth_request *r, const char *stored,
                      const char *account)
{
    struct login_job *j = calloc(1, sizeof *j);

    if (j == NULL ||
        (j->job = loop_job_new(l->leaf->loop, LOOP_OUTSIDE, check_work, check_done, j)) == NULL) {
        free(j);
        link_close(l, NULL, REASON_NO_MEMORY);
        return;
    }
    j->link = l;
    j->leaf = l->leaf;
    j->table = l->leaf->logins;
    j->table->refs++;
    l->leaf->njobs++;
    j->req = *r;
    j->req.user = j->user = leaf_copy_text(r->user);
    j->req.pass = j->pass = leaf_copy_text(r->pass);
    j->req.token = j->token = leaf_copy_text(r->token);
    j->req.nkey = j->nkey = leaf_copy_text(r->nkey);
    j->req.sig = j->sig = leaf_copy_text(r->sig);
    memcpy(j->nonce, l->nonce, sizeof j->nonce);
    j->req.nonce = mf_str(j->nonce);
    j->req.no_auth_user = NULL;
    j->stored = leaf_copy_text(stored);
    j->account = leaf_copy_text(account);
    if (stored != NULL && (j->stored == NULL || j->account == NULL)) {
        job_free(j);
        link_close(l, NULL, REASON_NO_MEMORY);
        return;
    }
    l->job = j;
    l->phase = LEAF_CHECKING;
    net_pause(l->conn);
    loop_job_submit(j->job);
}

void login_abandon(struct leaf_link *l)
{
    service_abandon(l);
    if (l->job != NULL)
        l->job->link = NULL;
    l->job = NULL;
}

/* --- who it is -------------------------------------------------------------------------------- */

static const char *account_or_global(const char *account)
{
    return account != NULL && account[0] != '\0' ? account : ACCOUNT_GLOBAL;
}

static void enter(struct leaf_link *l, const char *account, const char *name)
{
    accept_entered(l, &(struct auth_identity){.account = account_or_global(account), .name = name});
}

static void check_password(struct leaf_link *l, const struct auth_request *r, const char *stored,
                           const char *account)
{
    account = account_or_global(account);
    if (stored != NULL && password_is_bcrypt(stored) && r->pass != NULL)
        start_job(l, r, stored, account);
    else if (stored != NULL && r->pass != NULL && password_matches(stored, r->pass))
        enter(l, account, r->user);
    else
        accept_refused(l);
}

static void check_users(struct leaf_link *l, const struct auth_request *r,
                        const struct options_auth *a)
{
    for (size_t i = 0; i < a->nusers; i++) {
        const struct options_user *u = &a->users[i];
        if (u->user == NULL || r->user == NULL || strcmp(u->user, r->user) != 0)
            continue;
        if (u->proxy_required && !r->through_proxy)
            accept_refused_by(l, &PROXY_IS_REQUIRED);
        else
            check_password(l, r, u->password, u->account != NULL ? u->account : a->account);
        return;
    }
    accept_refused(l);
}

/* The users for clients, who may be leaf nodes. */
static void check_clients(struct leaf_link *l, const struct auth_request *r)
{
    const struct auth *a = l->leaf->logins->auth;
    struct auth_identity who;

    if (auth_is_slow(a, r))
        start_job(l, r, NULL, NULL);
    else if (auth_check(a, r, &who) == 0)
        accept_entered(l, &who);
    else if (auth_wants_proxy(a, r))
        accept_refused_by(l, &PROXY_IS_REQUIRED);
    else
        accept_refused(l);
}

/* false: a proxy that nobody trusts; the link is refused. */
static bool check_proxy(struct leaf_link *l, const struct hello_connect *c)
{
    const char *key;

    if (auth_proxy_check(l->leaf->options, c->proxy_sig, mf_str(l->nonce), &key) ==
        AUTH_PROXY_UNKNOWN) {
        accept_refused_by(l, &PROXY_NOT_TRUSTED);
        return false;
    }
    l->proxy_key = link_keep(l, key);
    return true;
}

void login_check(struct leaf_link *l, const struct hello_connect *c)
{
    const struct options_auth *a = &leaf_options(l->leaf)->auth;
    struct auth_request r = {.user = c->user,
                             .pass = c->pass,
                             .token = c->token,
                             .nkey = c->nkey,
                             .sig = c->sig,
                             .nonce = mf_str(l->nonce),
                             .kind = AUTH_LEAFNODE,
                             .no_auth_user = l->leaf->options->no_auth_user,
                             .now_ns = loop_wall_ns(l->leaf->loop)};

    if (!check_proxy(l, c))
        return;
    r.through_proxy = l->proxy_key != NULL;
    if (c->jwt != NULL && c->jwt[0] != '\0' && !l->leaf->options->operator_set)
        r.nkey = NULL; /* a server with JWT credentials: not one of the users here */
    if (a->proxy_required && !r.through_proxy) {
        accept_refused_by(l, &PROXY_IS_REQUIRED);
    } else if (a->user != NULL) {
        if (c->user != NULL && strcmp(a->user, c->user) == 0)
            check_password(l, &r, a->password, a->account);
        else
            accept_refused(l);
    } else if (a->nkey != NULL) {
        if (c->nkey != NULL && c->sig != NULL && strcmp(a->nkey, c->nkey) == 0 &&
            nkey_verify(mf_str(c->nkey), mf_str(l->nonce), mf_str(c->sig)))
            enter(l, a->account, c->nkey);
        else
            accept_refused(l);
    } else if (a->users_set) {
        check_users(l, &r, a);
    } else if (service_decides(l, c)) {
        service_begin(l, c);
    } else if (auth_required_kind(l->leaf->logins->auth, AUTH_LEAFNODE)) {
        check_clients(l, &r);
    } else {
        enter(l, a->account, NULL);
    }
}

void login_keep(struct leaf *lf, struct leaf_logins_before *before)
{
    before->table = lf->logins;
    before->table->refs++;
}

void login_drop(struct leaf_logins_before *before)
{
    table_release(before->table);
}

bool login_still_valid(const struct leaf_link *l, const struct leaf_logins_before *before,
                       struct perms **now)
{
    const struct options_auth *a = &leaf_options(l->leaf)->auth;
    const struct auth *table = l->leaf->logins->auth;
    struct auth_present present = {l->user, account_name(l->account), AUTH_LEAFNODE,
                                   l->proxy_key != NULL};
    struct auth_identity who;

    *now = NULL;
    if (a->user != NULL || a->nkey != NULL || a->users_set || before->block)
        return before->same_block;
    if (!auth_required_kind(table, AUTH_LEAFNODE))
        return true;
    if (!auth_same(before->table->auth, table, &present))
        return false;
    if (auth_renew(table, &present, &who) == 0)
        *now = who.perms;
    return true;
}
