/* status.c: begin and end, and the events of the server. */
#include "status/pages_leaf_impl.h"
#include "status/sys_impl.h"

#include <stdlib.h>

static void client_connected(void *arg, const struct client *c)
{
    sys_client_connected(((struct status *)arg)->sys, c);
}
static void client_left(void *arg, const struct client *c)
{
    sys_client_left(((struct status *)arg)->sys, c);
}
static void auth_failed(void *arg, const struct client *c, const struct login_refusal *no)
{
    sys_auth_failed(((struct status *)arg)->sys, c, no);
}
static void account_removed(void *arg, struct account *a)
{
    sys_account_removed(((struct status *)arg)->sys, a);
}
static void lame_duck(void *arg)
{
    sys_lame_duck(arg);
}
static int monitor_opened(void *arg, struct monitor *m)
{
    return pages_register(arg, m);
}

int status_open(struct status **out, struct server *s, struct api *api, struct mf_error *e)
{
    struct status *st = calloc(1, sizeof *st);

    if (st == NULL)
        return mf_fail(e, MF_NOMEM, "status");
    *st = (struct status){.server = s,
                          .loop = server_loop(s),
                          .accounts = server_accounts(s),
                          .id = server_id(s),
                          .observer = {.arg = st,
                                       .connected = client_connected,
                                       .left = client_left,
                                       .auth_failed = auth_failed,
                                       .account_removed = account_removed,
                                       .lame_duck = lame_duck,
                                       .monitor_opened = monitor_opened}};
    if (api != NULL && (st->js = js_status_new(api)) == NULL) {
        status_close(st);
        return mf_fail(e, MF_NOMEM, "status");
    }
    if (sys_start(st, e) != 0) {
        status_close(st);
        return e->code;
    }
    request_info_register(st->accounts);
    server_observe(s, &st->observer);
    *out = st;
    return 0;
}

void status_show_operator(struct status *s, struct operator* op)
{
    s->op = op;
}

void status_show_leaf(struct status *s, struct leaf *lf)
{
    s->leaf = lf;
}

void status_leaf_changed(struct status *s, const struct leaf_link *l, bool up)
{
    struct client_info i;

    if (s == NULL)
        return;
    page_leaf_client(l, &i);
    if (!up)
        closed_remember_info(s->server, &i);
    sys_leaf_changed(s->sys, accounts_get(s->accounts, i.account), &i, up);
}

void status_leaf_refused(struct status *s, const struct leaf_link *l,
                         const struct login_refusal *no)
{
    struct client_info i;

    if (s == NULL)
        return;
    page_leaf_client(l, &i);
    sys_leaf_refused(s->sys, &i, no);
}

void status_leaving(struct status *s)
{
    sys_shutdown(s);
}

void status_close(struct status *s)
{
    if (s == NULL)
        return;
    server_unobserve(&s->observer);
    sys_stop(s);
    if (s->js != NULL)
        js_status_stop(s->js);
    js_status_free(s->js);
    free(s);
}

void status_write_server(struct status *s, struct jsonw *w)
{
    if (s != NULL)
        sys_write_server(s->sys, w);
}
