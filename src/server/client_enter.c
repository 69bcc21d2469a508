/* client_enter.c: a client enters its account with permissions and limits, keeps them in step with
 * the configuration, and leaves. */
#include "server/client_enter_impl.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

/* The user that it claims to be: ` - JWT User "U..."` and the like. */
static const char *claimed_user(const struct client *c, const struct login_refusal *no, char *dst,
                                size_t cap)
{
    const struct connect_opts *o = &c->opts;
    const char *key = no != NULL && no->user != NULL ? no->user->key : NULL;

    dst[0] = '\0';
    if (key != NULL)
        (void)snprintf(dst, cap, " - JWT User \"%s\"", key);
    else if (no != NULL && o->nkey != NULL)
        (void)snprintf(dst, cap, " - Nkey \"%s\"", o->nkey);
    else if (o->user != NULL)
        (void)snprintf(dst, cap, " - User \"%s\"", o->user);
    return dst;
}

void client_refuse(struct client *c, const struct login_refusal *no)
{
    char label[256], user[256];

    if (no != NULL && no->why != NULL && no->loud)
        log_error("%s - %s", client_label(c, label, sizeof label), no->why);
    else if (no != NULL && no->why != NULL)
        log_debug("%s - %s", client_label(c, label, sizeof label), no->why);
    log_error("%s - authentication error%s", client_label(c, label, sizeof label),
              claimed_user(c, no, user, sizeof user));
    if (no != NULL && c->who == NULL)
        c->who = login_user_retain(no->user); /* for the events about it */
    notify_auth_failed(c, no);
    client_close(c, no != NULL ? no->err : "Authorization Violation",
                 no != NULL ? no->reason : REASON_AUTH_FAILURE);
}

/* --- limits ----------------------------------------------------------------------------------- */

static bool is_account_full(struct account *a)
{
    const struct options_account *o = account_options(a);
    const struct account_counters *n = account_counters(a);

    return o != NULL && o->max_connections >= 0 &&
           n->clients + n->leafnodes >= (uint64_t)o->max_connections;
}

bool client_subs_full(const struct client *c)
{
    const struct options *o = c->srv->opts;
    const struct options_account *a = account_options(c->account);
    uint64_t n = c->subs.count;

    /* All are limits of one connection; those of user and account may be 0. */
    return (o->max_subscriptions > 0 && n >= (uint64_t)o->max_subscriptions) ||
           (c->max_subs >= 0 && n >= (uint64_t)c->max_subs) ||
           (a != NULL && a->max_subscriptions >= 0 && n >= (uint64_t)a->max_subscriptions);
}

bool client_apply_limits(struct client *c)
{
    const struct options_account *o = account_options(c->account);
    size_t max = (size_t)c->srv->opts->max_payload;

    if (o != NULL && o->max_payload >= 0 && (size_t)o->max_payload < max)
        max = (size_t)o->max_payload;
    if (c->max_payload >= 0 && (size_t)c->max_payload < max)
        max = (size_t)c->max_payload;
    c->limits.max_payload = max;
    c->limits.connect_only = false;
    c->limits.headers = c->headers;
    if (c->who == NULL || !client_subs_full(c))
        return true;
    client_close(c, "maximum subscriptions exceeded", REASON_MAX_SUBS);
    return false;
}

/* --- entering and leaving --------------------------------------------------------------------- */

static void drop_entry(struct client_entry *e)
{
    perms_release(e->perms);
    login_user_release(e->user);
}

static void keep_identity(struct client *c, struct client_entry *e)
{
    grants_fini(&c->grants); /* granted to the former user */
    perms_release(c->perms);
    c->perms = e->perms;
    login_user_release(c->who);
    c->who = e->user;
    c->account = e->account;
    c->deadline_wall_ns = e->deadline_ns;
    c->max_subs = e->max_subs;
    c->max_payload = e->max_payload;
    free(c->user);
    c->user = e->name != NULL && e->name[0] != '\0' ? mf_slice_dup(mf_str(e->name)) : NULL;
}

bool client_enter(struct client *c, struct client_entry *e)
{
    struct account *a = e->account;
    bool stays = c->in_account && c->account == a;

    if (a == NULL || (!stays && is_account_full(a))) {
        drop_entry(e);
        if (a == NULL)
            client_refuse(c, NULL);
        else
            client_close(c, "maximum account active connections exceeded",
                         REASON_MAX_ACCOUNT_CONNECTIONS);
        return false;
    }
    if (c->in_account && !stays) {
        (void)client_drop_subs(c, false);
        client_leave_account(c);
    }
    keep_identity(c, e);
    if (stays) {
        client_recheck_subs(c);
    } else {
        c->in_account = true;
        net_conn_set_lane(c->conn, account_name(a));
        admission_remove(c);
        mf_list_push(account_sessions(a), &c->session_link);
        account_counters(a)->clients++;
        account_counters(a)->total_clients++;
    }
    return c->phase != CLIENT_CLOSING && client_apply_limits(c);
}

bool client_enter_table(struct client *c, const struct auth_identity *who)
{
    struct client_entry e = {.account = accounts_get(c->srv->accounts, who->account),
                             .perms = who->perms,
                             .deadline_ns = who->deadline_ns,
                             .max_subs = -1,
                             .max_payload = -1,
                             .name = who->name};

    return client_enter(c, &e);
}

void client_leave_account(struct client *c)
{
    if (c->in_account)
        account_counters(c->account)->clients--;
    c->in_account = false;
    renewals_pass(c);
    mf_list_del(&c->session_link);
    notify_left(c); /* clients without an account, too: nats-server counts them to $G */
}

static bool refuse_options(struct client *c)
{
    const struct connect_opts *o = &c->opts;

    if (o->protocol != 0 && o->protocol != 1)
        client_close(c, "invalid client protocol", REASON_BAD_VERSION);
    else if (o->no_responders && !(o->headers && !c->srv->opts->no_header_support))
        client_close(c, "no responders requires headers support", REASON_NO_HEADERS);
    else
        return false;
    return true;
}

bool client_finish_connect(struct client *c)
{
    char label[256];
    bool first = !c->connected;

    if (refuse_options(c))
        return false;
    c->by_token = c->opts.token != NULL;
    connect_opts_forget(&c->opts);
    net_set_kept_max(c->conn, 0); /* no limit for authenticated clients */
    c->connected = true;
    c->phase = CLIENT_READY;
    client_send_ok(c);
    if (first) {
        log_debug("%s - Client connected to account %s", client_label(c, label, sizeof label),
                  account_name(c->account));
        client_timer_pings(c);
        notify_connected(c);
    }
    return true;
}

/* --- after a reload --------------------------------------------------------------------------- */

void client_renew_perms(struct client *c, struct perms *perms, int64_t deadline_ns)
{
    perms_release(c->perms);
    c->perms = perms;
    client_recheck_grants(c);
    if (c->deadline_wall_ns != deadline_ns) {
        c->deadline_wall_ns = deadline_ns;
        client_timer_pings(c); /* also arms the timer for the deadline */
    }
}

void client_reload(struct client *c, const struct auth *old)
{
    struct auth_present present = {c->user, account_name(c->account), client_auth_kind(c),
                                   c->proxy_key != NULL};
    struct auth_identity now;

    if (c->who != NULL) {
        client_login_renew(c);
        return;
    }
    if (!auth_same(old, c->srv->auth, &present)) {
        notify_auth_failed(c, NULL);
        client_close(c, "Authorization Violation", REASON_AUTH_FAILURE);
        return;
    }
    if (auth_renew(c->srv->auth, &present, &now) != 0)
        return;
    client_renew_perms(c, now.perms, now.deadline_ns);
    if (client_apply_limits(c))
        client_recheck_subs(c);
}
