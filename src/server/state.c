/* state.c: accessors of the state of a server, and notification of its observers. */
#include "server/server_impl.h"

#include <stdio.h>

struct accounts *server_accounts(struct server *s)
{
    return s->accounts;
}
const char *server_name(const struct server *s)
{
    return s->name;
}
const char *server_id(const struct server *s)
{
    return s->id;
}
struct loop *server_loop(const struct server *s)
{
    return s->loop;
}
const struct options *server_options(const struct server *s)
{
    return s->opts;
}
const struct auth *server_auth(const struct server *s)
{
    return s->auth;
}
const struct server_counters *server_counters(const struct server *s)
{
    return &s->total;
}
const char *server_program(const struct server *s)
{
    return s->setup.program;
}
uint32_t server_clients(const struct server *s)
{
    return s->nclients;
}
uint64_t server_max_clients(const struct server *s)
{
    return admission_limit(s);
}
uint64_t server_subs(const struct server *s)
{
    return s->nsubs;
}
int64_t server_start_wall_ns(const struct server *s)
{
    return s->start_wall_ns;
}
int64_t server_start_mono_ns(const struct server *s)
{
    return s->start_mono_ns;
}
int64_t server_config_load_ns(const struct server *s)
{
    return s->config_load_wall_ns;
}
bool server_is_stopping(const struct server *s)
{
    return s->stopping;
}
bool server_is_lame_duck(const struct server *s)
{
    return s->lame_duck;
}
bool server_has_tls(const struct server *s)
{
    return s->tls != NULL;
}

/* --- for modules ------------------------------------------------------------------------------ */

void server_on_leafnode(struct server *s, void (*accepted)(void *arg, struct net_conn *c, bool ws),
                        void *arg)
{
    s->leafnode = accepted;
    s->leafnode_arg = arg;
}
uint64_t server_next_cid(struct server *s)
{
    return ++s->next_cid;
}
void server_stall(struct server *s, const void *origin)
{
    struct client *publisher = (struct client *)(uintptr_t)origin;

    if (!s->opts->no_fast_producer_stall)
        publisher->stall_wanted = true;
}

/* --- ports ------------------------------------------------------------------------------------ */

int server_open_port(const struct server *s, enum server_listener which, int otherwise)
{
    const struct monitor *m = which == SERVER_HTTP ? s->http : s->https;
    const struct net_listener *l;

    if (which == SERVER_HTTP || which == SERVER_HTTPS)
        return m != NULL ? monitor_port(m) : otherwise;
    l = which == SERVER_WEBSOCKET ? s->ws_listener : s->idle_listeners[which];
    return l != NULL ? net_listener_port(l) : otherwise;
}

const struct net_listener *server_client_listener(const struct server *s, bool local)
{
    const struct net_listener *found = local ? s->unix_listener : s->listener;

    for (size_t i = 0; found == NULL && i < SERVER_FDS; i++)
        if (s->inherited[i] != NULL && (net_listener_path(s->inherited[i]) != NULL) == local)
            found = s->inherited[i];
    return found;
}

uint64_t server_page_hits(const struct server *s, const char *path)
{
    return (s->http != NULL ? monitor_hits(s->http, path) : 0) +
           (s->https != NULL ? monitor_hits(s->https, path) : 0);
}

/* The colon before the port of "host:port" or "[::1]:port", or NULL. */
static const char *port_colon(const char *text)
{
    const char *colon = strrchr(text, ':'), *bracket = strrchr(text, ']');

    return colon != NULL && (bracket == NULL || colon > bracket) ? colon : NULL;
}

const char *server_host(const struct server *s, char dst[SERVER_HOST])
{
    const char *advertised = s->opts->client_advertise, *colon;

    if (advertised == NULL || advertised[0] == '\0')
        return s->opts->host;
    colon = port_colon(advertised);
    snprintf(dst, SERVER_HOST, "%.*s",
             (int)(colon != NULL ? (size_t)(colon - advertised) : strlen(advertised)), advertised);
    return dst;
}

int server_port(const struct server *s)
{
    const char *advertised = s->opts->client_advertise;
    const char *colon = advertised != NULL ? port_colon(advertised) : NULL;
    uint64_t port = 0;

    if (colon != NULL && mf_parse_u64(mf_str(colon + 1), &port) == 0 && port > 0 && port < 65536)
        return (int)port;
    return s->listener != NULL ? net_listener_port(s->listener) : s->opts->port;
}

/* --- observers -------------------------------------------------------------------------------- */

void server_observe(struct server *s, struct server_observer *o)
{
    mf_list_push(&s->observers, &o->link);
}

void server_unobserve(struct server_observer *o)
{
    if (o->link.next != NULL)
        mf_list_del(&o->link);
}

#define EACH_OBSERVER(s, o, call)                                                                  \
    do {                                                                                           \
        struct mf_list *pos_, *next_;                                                              \
        mf_list_each_safe(pos_, next_, &(s)->observers)                                            \
        {                                                                                          \
            struct server_observer *o = mf_container(pos_, struct server_observer, link);          \
            call;                                                                                  \
        }                                                                                          \
    } while (0)

void notify_connected(const struct client *c)
{
    EACH_OBSERVER(c->srv, o, if (o->connected != NULL) o->connected(o->arg, c));
}
void notify_left(const struct client *c)
{
    EACH_OBSERVER(c->srv, o, if (o->left != NULL) o->left(o->arg, c));
}
void notify_auth_failed(const struct client *c, const struct login_refusal *no)
{
    EACH_OBSERVER(c->srv, o, if (o->auth_failed != NULL) o->auth_failed(o->arg, c, no));
}
void notify_account_removed(struct server *s, struct account *a)
{
    EACH_OBSERVER(s, o, if (o->account_removed != NULL) o->account_removed(o->arg, a));
}
void notify_lame_duck(struct server *s)
{
    EACH_OBSERVER(s, o, if (o->lame_duck != NULL) o->lame_duck(o->arg));
}
int notify_monitor_opened(struct server *s, struct monitor *m)
{
    int rc = 0;

    EACH_OBSERVER(s, o,
                  if (rc == 0 && o->monitor_opened != NULL) rc = o->monitor_opened(o->arg, m));
    return rc;
}
