/* remote.c: the configured remotes and the addresses of each: opened, reloaded, removed. */
#include "leaf/leaf_impl.h"

#include "base/array.h"
#include "base/log.h"
#include "base/rand.h"

#include <stdio.h>
#include <stdlib.h>

#define TARGETS_MAX 1024 /* a hub cannot make the list longer */

/* --- addresses -------------------------------------------------------------------------------- */

static void target_fini(struct leaf_target *t)
{
    if (t->password != NULL)
        explicit_bzero(t->password, strlen(t->password));
    free(t->host);
    free(t->user);
    free(t->password);
    free(t->path);
}

static bool add_target(struct leaf_remote *r, const struct leaf_target *t)
{
    struct leaf_target *to;

    if (r->ntargets >= TARGETS_MAX ||
        mf_array_reserve(&r->targets, &r->room, r->ntargets + 1, sizeof *r->targets) != 0)
        return false;
    to = &r->targets[r->ntargets++];
    *to = *t;
    to->host = leaf_copy_text(t->host);
    to->user = leaf_copy_text(t->user);
    to->password = leaf_copy_text(t->password);
    to->path = leaf_copy_text(t->path);
    if (to->host != NULL)
        return true;
    target_fini(to); /* no memory */
    r->ntargets--;
    return false;
}

static void clear_targets(struct leaf_remote *r)
{
    for (size_t i = 0; i < r->ntargets; i++)
        target_fini(&r->targets[i]);
    r->ntargets = 0;
}

static void shuffle(struct leaf_target *t, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = rand_below((uint32_t)i);
        struct leaf_target tmp = t[i - 1];
        t[i - 1] = t[k];
        t[k] = tmp;
    }
}

bool remote_is_address(const char *host)
{
    return strchr(host, ':') != NULL || strspn(host, "0123456789.") == strlen(host);
}

void remote_configure(struct leaf_remote *r)
{
    const struct options_leaf_remote *o = r->opt;

    clear_targets(r);
    free(r->tls_name);
    r->tls_name = NULL;
    for (size_t i = 0; i < o->nurls; i++) {
        const struct options_leaf_url *u = &o->urls[i];
        (void)add_target(r, &(struct leaf_target){.host = u->host,
                                                  .user = u->user,
                                                  .password = u->password,
                                                  .path = u->path,
                                                  .port = u->port,
                                                  .ws = u->ws,
                                                  .tls = u->tls});
        if (r->tls_name == NULL && !remote_is_address(u->host))
            r->tls_name = leaf_copy_text(u->host);
    }
    if (!o->no_randomize)
        shuffle(r->targets, r->ntargets);
    r->at = r->ntargets;
}

/* "host:port", "[::1]:7422". */
static bool split_address(const char *text, char host[256], int *port)
{
    const char *colon = strrchr(text, ':');
    size_t n = colon == NULL ? 0 : (size_t)(colon - text);
    uint64_t number;

    if (n == 0 || n >= 256 || mf_parse_u64(mf_str(colon + 1), &number) != 0 || number > 65535)
        return false;
    if (text[0] == '[' && text[n - 1] == ']') {
        text++;
        n -= 2;
    }
    memcpy(host, text, n);
    host[n] = '\0';
    *port = (int)number;
    return n > 0;
}

static bool is_known(const struct leaf_remote *r, const char *host, int port)
{
    for (size_t i = 0; i < r->ntargets; i++)
        if (r->targets[i].port == port && strcmp(r->targets[i].host, host) == 0)
            return true;
    return false;
}

/* The hub tells of its cluster: those addresses replace the ones it told before, and are tried
 * before the configured ones. */
void remote_learn(struct leaf_remote *r, const struct json_strs *urls)
{
    struct leaf_target *old = r->targets;
    size_t nold = r->ntargets, current = r->at;
    char now_host[256] = "";
    int now_port = 0;

    if (r->opt->ignore_discovered || urls->n == 0)
        return;
    if (current < nold) {
        (void)snprintf(now_host, sizeof now_host, "%s", old[current].host);
        now_port = old[current].port;
    }
    r->targets = NULL;
    r->ntargets = r->room = 0;
    for (size_t i = 0; i < nold; i++)
        if (!old[i].discovered)
            (void)add_target(r, &old[i]);
    size_t configured = r->ntargets;
    for (size_t i = 0; i < urls->n; i++) {
        char host[256];
        int port;
        if (!split_address(urls->at[i], host, &port) || is_known(r, host, port))
            continue;
        (void)add_target(r, &(struct leaf_target){.host = host,
                                                  .port = port,
                                                  .ws = r->opt->ws,
                                                  .path = r->opt->ws ? r->opt->urls[0].path : NULL,
                                                  .tls = r->opt->ws && r->opt->urls[0].tls,
                                                  .discovered = true});
    }
    /* Discovered ones to the front. */
    for (size_t i = 0; i < configured && configured < r->ntargets; i++) {
        struct leaf_target first = r->targets[0];
        memmove(r->targets, r->targets + 1, (r->ntargets - 1) * sizeof *r->targets);
        r->targets[r->ntargets - 1] = first;
    }
    r->at = r->ntargets;
    for (size_t i = 0; i < r->ntargets; i++)
        if (r->targets[i].port == now_port && strcmp(r->targets[i].host, now_host) == 0)
            r->at = i;
    for (size_t i = 0; i < nold; i++)
        target_fini(&old[i]);
    free(old);
}

/* --- remotes ---------------------------------------------------------------------------------- */

void remote_set_account(struct leaf_remote *r, struct account *a)
{
    if (a != NULL)
        (void)account_retain(a);
    account_release(r->account);
    r->account = a;
}

void remote_forget_want(struct leaf_remote *r)
{
    const struct leaf_setup *s = &r->leaf->setup;

    if (r->want != NULL)
        s->want_cancel(s->arg, r->want);
    r->want = NULL;
}

static void free_remote(struct leaf_remote *r)
{
    remote_forget_want(r);
    clear_targets(r);
    free(r->targets);
    free(r->tls_name);
    loop_timer_free(r->timer);
    mf_list_del(&r->link);
    account_release(r->account);
    free(r);
}

static void dial_soon(struct leaf_remote *r)
{
    if (!r->opt->disabled)
        loop_timer_arm(r->timer, loop_mono_ns(r->leaf->loop));
}

static int add_remote(struct leaf *lf, const struct options_leaf_remote *opt, struct mf_error *e)
{
    bool later = lf->setup.want_account != NULL;
    struct account *a = later ? NULL : accounts_get(lf->setup.accounts, opt->account);
    struct leaf_remote *r;

    if (a == NULL && !later)
        return mf_fail(e, MF_INVAL, "cannot find local account \"%s\" specified in leafnode remote",
                       opt->account);
    r = calloc(1, sizeof *r);
    if (r == NULL || (r->timer = loop_timer_new(lf->loop, dial_next, r)) == NULL) {
        free(r);
        return mf_fail(e, MF_NOMEM, "leafnode remote");
    }
    r->leaf = lf;
    remote_set_account(r, a);
    r->opt = opt;
    mf_list_push(&lf->remotes, &r->link);
    remote_configure(r);
    dial_soon(r);
    return 0;
}

int dial_open(struct leaf *lf, struct mf_error *e)
{
    const struct options_leaf *o = leaf_options(lf);

    for (size_t i = 0; i < o->nremotes; i++)
        if (add_remote(lf, &o->remotes[i], e) != 0)
            return e->code;
    return 0;
}

/* The connection of a removed remote still points to it: dial_ended() frees it then. */
void dial_remove(struct leaf_remote *r)
{
    struct leaf_link *l = r->conn;

    r->removed = true;
    loop_timer_stop(r->timer);
    remote_forget_want(r);
    if (l == NULL)
        free_remote(r);
    else if (l->phase == LEAF_DIALLING)
        net_close(l->conn, 0);
    else
        link_close(l, NULL, REASON_REMOTE_REMOVED);
}

void remote_gone(struct leaf_remote *r)
{
    if (r->removed)
        free_remote(r);
}

/* --- reload ----------------------------------------------------------------------------------- */

static void restart_link(struct leaf_remote *r)
{
    struct leaf_link *l = r->conn;

    if (l == NULL)
        dial_soon(r);
    else if (l->phase == LEAF_DIALLING)
        net_close(l->conn, 0);
    else
        link_close(l, NULL, REASON_REMOTE_REMOVED);
}

static void change_remote(struct leaf_remote *r, const struct options_leaf_remote *now,
                          bool block_changed)
{
    char what[256] = "";
    enum options_leaf_change change = options_leaf_compare(r->opt, now, what, sizeof what);

    r->opt = now;
    if (change == OPTIONS_LEAF_SAME && !block_changed)
        return;
    if (change != OPTIONS_LEAF_SAME)
        log_info("Reloaded: LeafNode Remote %s: %s", now->label, what);
    if (now->disabled) {
        loop_timer_stop(r->timer);
        remote_forget_want(r);
    }
    if (change == OPTIONS_LEAF_RECONNECTS || block_changed)
        restart_link(r);
}

void dial_reload(struct leaf *lf, const struct options *old)
{
    const struct options_leaf *o = leaf_options(lf);
    struct mf_list *pos, *next;
    struct mf_error e;
    bool *kept = calloc(o->nremotes + 1, sizeof *kept);
    bool block_changed = old->leaf->compression.mode != o->compression.mode;

    if (kept == NULL) {
        log_error("leafnode remotes: out of memory: links end");
    }
    mf_list_each_safe(pos, next, &lf->remotes)
    {
        struct leaf_remote *r = mf_container(pos, struct leaf_remote, link);
        const struct options_leaf_remote *now =
            kept == NULL || r->removed ? NULL : options_leaf_find(o, r->opt);
        if (now != NULL) {
            kept[now - o->remotes] = true;
            change_remote(r, now, block_changed);
            continue;
        }
        if (!r->removed)
            log_info("Reloaded: LeafNode Remote %s removed", r->opt->label);
        r->opt = NULL;
        dial_remove(r);
    }
    for (size_t i = 0; kept != NULL && i < o->nremotes; i++) {
        if (kept[i])
            continue;
        log_info("Reloaded: LeafNode Remote %s added", o->remotes[i].label);
        if (add_remote(lf, &o->remotes[i], &e) != 0)
            log_error("%s", e.text);
    }
    free(kept);
}

void dial_stop(struct leaf *lf)
{
    struct mf_list *pos;

    mf_list_each(pos, &lf->remotes)
    {
        struct leaf_remote *r = mf_container(pos, struct leaf_remote, link);
        loop_timer_stop(r->timer);
        remote_forget_want(r);
    }
}

void dial_free_all(struct leaf *lf)
{
    while (!mf_list_empty(&lf->remotes))
        free_remote(mf_container(lf->remotes.next, struct leaf_remote, link));
}

/* --- credentials ------------------------------------------------------------------------------ */

/* User and password of the address that is tried, else the first of any configured one: addresses
 * of a hub's cluster come without. */
const struct leaf_target *remote_user(const struct leaf_remote *r)
{
    if (r->at < r->ntargets && r->targets[r->at].user != NULL)
        return &r->targets[r->at];
    for (size_t i = 0; i < r->ntargets; i++)
        if (r->targets[i].user != NULL)
            return &r->targets[i];
    return NULL;
}
