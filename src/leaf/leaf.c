/* leaf.c: the module: open, reload, close, and what pages show. */
#include "leaf/leaf_impl.h"

#include "base/log.h"
#include "session/through_proxy.h"

#include <stdlib.h>

const char *leaf_cluster(const struct leaf *lf, bool always)
{
    const struct options *o = lf->options;

    if (o->cluster.set && o->cluster.name != NULL && o->cluster.name[0] != '\0')
        return o->cluster.name;
    return always || leaf_options(lf)->nremotes > 0 ? lf->setup.server_name : NULL;
}

const char *leaf_domain(const struct leaf *lf)
{
    const char *domain = lf->options->jetstream.enabled ? lf->options->jetstream.domain : NULL;

    return domain != NULL ? domain : "";
}

/* --- open ------------------------------------------------------------------------------------- */

static int check_accounts(const struct leaf *lf, struct mf_error *e)
{
    const struct options_leaf *o = leaf_options(lf);

    if (lf->setup.want_account != NULL)
        return 0;
    for (size_t i = 0; i < o->nremotes; i++)
        if (accounts_get(lf->setup.accounts, o->remotes[i].account) == NULL)
            return mf_fail(e, MF_INVAL,
                           "cannot find local account \"%s\" specified in leafnode "
                           "remote",
                           o->remotes[i].account);
    if (o->auth.account != NULL && accounts_get(lf->setup.accounts, o->auth.account) == NULL)
        return mf_fail(e, MF_INVAL,
                       "cannot find local account \"%s\" specified in leafnode authorization",
                       o->auth.account);
    for (size_t i = 0; i < o->auth.nusers; i++)
        if (o->auth.users[i].account != NULL &&
            accounts_get(lf->setup.accounts, o->auth.users[i].account) == NULL)
            return mf_fail(e, MF_INVAL,
                           "cannot find local account \"%s\" specified in leafnode authorization",
                           o->auth.users[i].account);
    return 0;
}

int leaf_open(struct leaf **out, const struct leaf_setup *setup, struct mf_error *e)
{
    struct leaf *lf = calloc(1, sizeof *lf);

    if (lf == NULL)
        return mf_fail(e, MF_NOMEM, "leaf links");
    lf->setup = *setup;
    lf->name = mf_slice_dup(mf_str(setup->server_name));
    lf->setup.server_name = lf->name; /* the caller's may go with its options */
    lf->loop = setup->loop;
    lf->options = setup->options;
    mf_list_init(&lf->links);
    mf_list_init(&lf->remotes);
    mf_list_init(&lf->realms);
    if (lf->name == NULL)
        (void)mf_fail(e, MF_NOMEM, "leaf links");
    if (lf->name == NULL || check_accounts(lf, e) != 0 || login_reload(lf, e) != 0 ||
        accept_tls(lf, e) != 0 || dial_open(lf, e) != 0) {
        lf->leaving = true;
        dial_stop(lf);
        (void)leaf_close(lf, NULL, NULL);
        return e->code;
    }
    *out = lf;
    return 0;
}

/* --- reload ----------------------------------------------------------------------------------- */

static void recheck_accepted(struct leaf *lf, const struct leaf_logins_before *before)
{
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &lf->links)
    {
        struct leaf_link *l = mf_container(pos, struct leaf_link, all);
        struct perms *now;
        if (l->remote != NULL || l->phase == LEAF_CLOSING)
            continue;
        if (l->proxy_key != NULL && !auth_proxy_trusted(lf->options, l->proxy_key)) {
            accept_refused_by(l, &PROXY_NOT_TRUSTED); /* also a login that waits for its answer */
            continue;
        }
        if (l->phase != LEAF_USABLE)
            continue;
        if (l->who != NULL) {
            service_renew(l);
            continue;
        }
        if (login_still_valid(l, before, &now)) {
            accept_renew(l, now);
            continue;
        }
        link_log_error(l, "no longer authorized after a reload");
        link_close(l, "Authorization Violation", REASON_AUTH_FAILURE);
    }
}

void leaf_reload(struct leaf *lf, const struct options *o)
{
    const struct options *old = lf->options;
    struct leaf_logins_before before;
    struct mf_list *pos;
    struct mf_error e;
    char what[256];

    login_keep(lf, &before);
    before.block =
        old->leaf->auth.user != NULL || old->leaf->auth.nkey != NULL || old->leaf->auth.users_set;
    lf->options = o;
    before.same_block = options_leaf_compare_block(old->leaf, o->leaf, what, sizeof what) !=
                        OPTIONS_LEAF_RECONNECTS;
    if (login_reload(lf, &e) != 0 || accept_tls(lf, &e) != 0)
        log_error("leaf links keep the former settings: %s", e.text);
    recheck_accepted(lf, &before);
    login_drop(&before);
    dial_reload(lf, old);
    mf_list_each(pos, &lf->realms) realm_reload(mf_container(pos, struct leaf_realm, link));
}

void leaf_account_removed(struct leaf *lf, struct account *a)
{
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &lf->remotes)
    {
        struct leaf_remote *r = mf_container(pos, struct leaf_remote, link);
        if (r->account == a && lf->setup.want_account != NULL)
            remote_set_account(r, NULL); /* it is looked for when the link has ended */
        else if (r->account == a)
            dial_remove(r);
    }
    mf_list_each_safe(pos, next, &lf->links)
    {
        struct leaf_link *l = mf_container(pos, struct leaf_link, all);
        if (l->account != a)
            continue;
        link_close(l, NULL, REASON_MISSING_ACCOUNT);
        link_leave_now(l); /* it may have been closing already */
    }
}

void leaf_account_ended(struct leaf *lf, const struct account *a)
{
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &lf->remotes)
    {
        struct leaf_remote *r = mf_container(pos, struct leaf_remote, link);
        if (r->account == a && r->conn != NULL)
            link_close(r->conn, NULL, REASON_AUTH_EXPIRED);
    }
}

/* --- close ------------------------------------------------------------------------------------ */

void leaf_leaving(struct leaf *lf)
{
    struct mf_list *pos, *next;

    lf->leaving = true;
    dial_stop(lf);
    mf_list_each_safe(pos, next, &lf->links)
    {
        struct leaf_link *l = mf_container(pos, struct leaf_link, all);
        if (l->phase == LEAF_DIALLING) {
            net_close(l->conn, 0);
            continue;
        }
        link_close(l, NULL, REASON_SHUTDOWN);
        link_leave_now(l); /* it may have been closing already */
    }
}

static void free_module(struct leaf *lf)
{
    void (*closed)(void *arg) = lf->closed;
    void *arg = lf->closed_arg;

    dial_free_all(lf);
    login_free(lf);
    net_tls_release(lf->tls);
    free(lf->name);
    free(lf);
    if (closed != NULL)
        closed(arg);
}

void leaf_link_gone(struct leaf *lf)
{
    if (lf->closing && lf->nlinks == 0 && lf->njobs == 0) {
        lf->closing = false; /* once */
        free_module(lf);
    }
}

bool leaf_close(struct leaf *lf, void (*closed)(void *arg), void *arg)
{
    if (lf == NULL)
        return true;
    leaf_leaving(lf);
    if (lf->nlinks == 0 && lf->njobs == 0) {
        free_module(lf);
        return true;
    }
    lf->closed = closed;
    lf->closed_arg = arg;
    lf->closing = true;
    return false;
}

/* --- what is known ---------------------------------------------------------------------------- */

const struct leaf_totals *leaf_totals(const struct leaf *lf)
{
    return &lf->totals;
}

uint32_t leaf_count(const struct leaf *lf)
{
    return lf->usable;
}

void leaf_each(const struct leaf *lf, void (*visit)(void *arg, const struct leaf_link *l),
               void *arg)
{
    struct mf_list *pos;

    mf_list_each(pos, &lf->links)
    {
        const struct leaf_link *l = mf_container(pos, struct leaf_link, all);
        if (l->phase == LEAF_USABLE)
            visit(arg, l);
    }
}

void leaf_info_of(const struct leaf_link *l, struct leaf_info *out)
{
    const struct account *in = l->account;

    *out = (struct leaf_info){.id = l->id,
                              .account = in != NULL ? account_name(in) : NULL,
                              .account_tag = in != NULL ? account_tag(in) : NULL,
                              .name = l->name,
                              .ip = net_conn_ip(l->conn),
                              .port = net_conn_port(l->conn),
                              .spoke = l->spoke,
                              .isolated = l->isolated,
                              .solicited = l->remote != NULL,
                              .compression = l->compression,
                              .proxy_key = l->proxy_key,
                              .cluster = l->cluster,
                              .domain = l->domain,
                              .server_id = l->server_id,
                              .version = l->version,
                              .remote_account = l->remote_account,
                              .rtt_ns = l->rtt_ns,
                              .start_wall_ns = l->start_wall_ns,
                              .last_wall_ns = l->last_wall_ns,
                              .in_msgs = l->in_msgs,
                              .in_bytes = l->in_bytes,
                              .out_msgs = l->out_msgs,
                              .out_bytes = l->out_bytes,
                              .nsubs = l->subs.count,
                              .pending = net_queued(l->conn)};
    if (l->remote != NULL && l->remote->established > 0)
        out->reconnects = l->remote->established - 1;
}

void leaf_each_sub(const struct leaf_link *l,
                   void (*visit)(void *arg, struct mf_slice subject, struct mf_slice queue,
                                 uint32_t weight),
                   void *arg)
{
    for (size_t i = 0; i < l->subs.cap; i++) {
        for (struct table_node *n = l->subs.slot[i]; n != NULL; n = n->next) {
            const struct leaf_sub *s = mf_container(n, struct leaf_sub, node);
            visit(arg, s->rs.pattern, s->rs.queue, s->rs.queue.len > 0 ? s->weight : 0);
        }
    }
}
