/* renew.c: new claims of an account reach its clients, the oldest first.
 *
 * The first clients are looked at inside the call; an account with more has a task, and goes on in
 * time slices.  Between them clients leave and enter: one that leaves moves the position on, one
 * that enters has the new claims already and stands behind it. */
#include "server/client_enter_impl.h"

#include <stdlib.h>

#define AT_ONCE 256

struct renewal {
    struct mf_list link; /* server.renewals */
    struct server *server;
    struct account *account; /* retained */
    struct mf_list *at;      /* client.session_link of the next one; account_sessions(): none */
    int64_t kept;            /* connections that stay, so far */
    struct work_task task;
};

static void renewal_free(struct renewal *r)
{
    mf_list_del(&r->link);
    work_cancel(r->server->loop, &r->task);
    account_release(r->account);
    free(r);
}

static void renew_one(struct renewal *r, struct client *c)
{
    const struct options_account *o = account_options(r->account);

    if (c->who == NULL || c->phase == CLIENT_CLOSING)
        return;
    client_login_renew(c);
    if (c->phase != CLIENT_CLOSING && o != NULL && o->max_connections >= 0 &&
        ++r->kept > o->max_connections)
        client_close(c, "maximum account active connections exceeded",
                     REASON_MAX_ACCOUNT_CONNECTIONS);
}

/* false: it was the last one. */
static bool renew_next(struct renewal *r)
{
    struct mf_list *at = r->at;

    if (at == account_sessions(r->account))
        return false;
    r->at = at->next;
    renew_one(r, mf_container(at, struct client, session_link));
    return true;
}

static bool renew_some(struct work_task *t)
{
    struct renewal *r = mf_container(t, struct renewal, task);

    do {
        if (!renew_next(r)) {
            mf_list_del(&r->link);
            account_release(r->account);
            free(r);
            return false;
        }
    } while (!work_spent(r->server->loop));
    return true;
}

static struct renewal *find_renewal(const struct server *s, const struct account *a)
{
    struct mf_list *pos;

    mf_list_each(pos, &s->renewals)
    {
        struct renewal *r = mf_container(pos, struct renewal, link);
        if (r->account == a)
            return r;
    }
    return NULL;
}

static struct renewal *begin_renewal(struct server *s, struct account *a)
{
    struct renewal *r = find_renewal(s, a);

    if (r == NULL && (r = calloc(1, sizeof *r)) != NULL) {
        r->server = s;
        r->account = account_retain(a);
        r->task = (struct work_task){.run = renew_some, .cause = WORK_OTHER};
        mf_list_push(&s->renewals, &r->link);
    }
    if (r != NULL) {
        r->at = account_sessions(a)->next;
        r->kept = (int64_t)account_counters(a)->leafnodes; /* links stay */
    }
    return r;
}

/* Without memory nobody keeps rights that may have ended. */
static void close_all(struct account *a)
{
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, account_sessions(a))
    {
        struct client *c = mf_container(pos, struct client, session_link);
        if (c->who != NULL)
            client_close(c, NULL, REASON_NO_MEMORY);
    }
}

void server_account_renew(struct server *s, struct account *a)
{
    struct renewal *r = begin_renewal(s, a);

    if (r == NULL) {
        close_all(a);
        return;
    }
    for (int n = 0; n < AT_ONCE; n++)
        if (!renew_next(r)) {
            renewal_free(r);
            return;
        }
    work_add(s->loop, &s->upkeep, &r->task);
}

void renewals_pass(struct client *c)
{
    struct mf_list *pos;

    mf_list_each(pos, &c->srv->renewals)
    {
        struct renewal *r = mf_container(pos, struct renewal, link);
        if (r->at == &c->session_link)
            r->at = c->session_link.next;
    }
}

void renewals_end(struct server *s)
{
    struct mf_list *first;

    while ((first = mf_list_first(&s->renewals)) != NULL)
        renewal_free(mf_container(first, struct renewal, link));
}
