/* sys_event.c: events for the system account: connects and disconnects, refused logins, connection
 * counts of accounts, statistics, lame duck mode, shutdown.
 *
 * Nothing is rendered without a subscriber.  Statistics are published soon after the start, then at
 * growing intervals up to 10 s; the count of an account with connections is repeated every 30 s. */
#include "status/pages_leaf_impl.h"
#include "status/sys_impl.h"

#include "base/clock.h"
#include "base/rand.h"
#include "session/login.h"

#include <stdio.h>
#include <unistd.h>

#define STATS_FIRST (250 * CLOCK_MS)
#define STATS_EVERY (10 * CLOCK_S)
#define BEAT_EVERY  (30 * CLOCK_S)
#define SUBJECT_CAP 512

static bool has_subscriber(const struct sys *y, struct account *a, const char *subject)
{
    return !y->silent && router_has_interest(account_router(a), mf_str(subject));
}

static void event_begin(struct jsonw *w, struct mf_buf *b, const char *type)
{
    char id[RAND_NUID + 1];

    rand_nuid(id);
    jsonw_begin(w, b, JSONW_COMPACT);
    jsonw_object(w, NULL);
    jsonw_str(w, "type", type);
    jsonw_str(w, "id", id);
    jsonw_time(w, "timestamp", clock_wall_ns());
}

static void event_server(struct sys *y, struct jsonw *w)
{
    jsonw_object(w, "server");
    sys_write_server(y, w);
    jsonw_end(w);
}

static void event_send(struct sys *y, struct account *a, const char *subject, struct mf_buf *b)
{
    sys_publish(y, a, mf_str(subject), MF_SLICE_NONE, b);
    mf_buf_fini(b);
}

/* --- clients ---------------------------------------------------------------------------------- */

static const char *event_account(const struct client *c)
{
    return client_account(c) != NULL ? account_name(client_account(c)) : ACCOUNT_GLOBAL;
}

/* c NULL: a leaf link, or an event of the account that i names. */
static void event_client(struct jsonw *w, const struct client *c, const struct client_info *i,
                         bool gone)
{
    const char *account = c != NULL ? event_account(c) : i->account;

    jsonw_object(w, "client");
    jsonw_time(w, "start", i->start_ns);
    jsonw_str(w, "host", i->ip);
    jsonw_u64(w, "id", i->cid);
    jsonw_str(w, "acc", account);
    jsonw_opt_str(w, "user", i->user);
    jsonw_opt_str(w, "name", i->name);
    jsonw_opt_str(w, "lang", i->lang);
    jsonw_opt_str(w, "ver", i->version);
    if (gone) {
        if (i->rtt_ns > 0)
            jsonw_i64(w, "rtt", i->rtt_ns);
        jsonw_time(w, "stop", clock_wall_ns());
    }
    page_user_identity(w, i, i->account_tag, true);
    jsonw_str(w, "kind", i->kind == CLIENT_LEAF ? "Leafnode" : "Client");
    if (i->kind != CLIENT_LEAF)
        jsonw_str(w, "client_type", i->kind == CLIENT_WS ? "websocket" : "nats");
    jsonw_end(w);
}

static void event_traffic(struct jsonw *w, const char *key, uint64_t msgs, uint64_t bytes)
{
    jsonw_object(w, key);
    jsonw_u64(w, "msgs", msgs);
    jsonw_u64(w, "bytes", bytes);
    jsonw_end(w);
}

static void send_disconnect(struct sys *y, struct account *a, const struct client *c,
                            const struct client_info *i, const char *subject, const char *reason)
{
    struct mf_buf b = MF_BUF_INIT;
    struct jsonw w;

    event_begin(&w, &b, "io.nats.server.advisory.v1.client_disconnect");
    event_server(y, &w);
    event_client(&w, c, i, true);
    event_traffic(&w, "sent", i->in_msgs, i->in_bytes); /* from the client's side */
    event_traffic(&w, "received", i->out_msgs, i->out_bytes);
    jsonw_str(&w, "reason", reason);
    jsonw_end(&w);
    event_send(y, a, subject, &b);
}

/* The subject of an event about an account, whose name may be long.  NULL: no subscriber. */
static const char *account_subject(struct sys *y, struct mf_buf *b, const char *fmt,
                                   const char *account)
{
    const char *subject;

    mf_buf_printf(b, fmt, account);
    subject = mf_buf_cstr(b);
    return mf_buf_failed(b) || !has_subscriber(y, y->account, subject) ? NULL : subject;
}

static void write_connect(struct sys *y, const struct client *c, const struct client_info *i,
                          const char *subject)
{
    struct mf_buf b = MF_BUF_INIT;
    struct jsonw w;

    event_begin(&w, &b, "io.nats.server.advisory.v1.client_connect");
    event_server(y, &w);
    event_client(&w, c, i, false);
    jsonw_end(&w);
    event_send(y, y->account, subject, &b);
}

static void send_connect(struct sys *y, const struct client *c)
{
    struct mf_buf b = MF_BUF_INIT;
    const char *subject = account_subject(y, &b, "$SYS.ACCOUNT.%s.CONNECT", event_account(c));
    struct client_info i;

    client_info_of(c, &i);
    if (subject != NULL)
        write_connect(y, c, &i, subject);
    mf_buf_fini(&b);
}

/* --- connection counts ------------------------------------------------------------------------ */

void sys_write_conns_msg(struct sys *y, struct account *a, struct mf_buf *out)
{
    struct jsonw w;

    event_begin(&w, out, "io.nats.server.advisory.v1.account_connections");
    event_server(y, &w);
    page_account_stat_fields(a, &w);
    jsonw_end(&w);
}

static void send_conns(struct sys *y, struct account *a)
{
    static const char *const names[] = {"$SYS.SERVER.ACCOUNT.%s.CONNS",
                                        "$SYS.ACCOUNT.%s.SERVER.CONNS"};

    for (size_t i = 0; i < MF_COUNT(names); i++) {
        struct mf_buf name = MF_BUF_INIT, b = MF_BUF_INIT;
        const char *subject = account_subject(y, &name, names[i], account_name(a));
        if (subject != NULL) {
            sys_write_conns_msg(y, a, &b);
            event_send(y, y->account, subject, &b);
        }
        mf_buf_fini(&name);
    }
}

static void beat_arm(struct sys *y)
{
    if (mf_list_empty(&y->beats))
        loop_timer_stop(y->beat_timer);
    else
        loop_timer_arm(y->beat_timer,
                       mf_container(y->beats.next, struct sys_account, beat_link)->beat_ns);
}

/* Schedules the next repetition one period from now, if the account has connections. */
static void beat_reset(struct sys *y, struct sys_account *x)
{
    struct account_counters *n = account_counters(x->account);

    mf_list_del(&x->beat_link);
    mf_list_init(&x->beat_link);
    if (n->clients + n->leafnodes == 0)
        return;
    x->beat_ns = loop_mono_ns(y->status->loop) + BEAT_EVERY;
    mf_list_push(&y->beats, &x->beat_link);
}

static void beat_fired(void *arg)
{
    struct sys *y = arg;
    int64_t now = loop_mono_ns(y->status->loop);

    while (!mf_list_empty(&y->beats)) {
        struct sys_account *x = mf_container(y->beats.next, struct sys_account, beat_link);
        if (x->beat_ns > now)
            break;
        beat_reset(y, x);
        send_conns(y, x->account);
    }
    beat_arm(y);
}

static void conns_changed(struct sys *y, struct account *a)
{
    struct sys_account *x;
    bool idle = mf_list_empty(&y->beats);

    if (y->silent || a == accounts_global(y->status->accounts)) /* nats-server does not count $G */
        return;
    x = sys_account_find(y, a);
    if (x == NULL)
        return;
    beat_reset(y, x);
    if (idle) /* else the timer is armed already */
        beat_arm(y);
    send_conns(y, a);
}

/* --- events of the server --------------------------------------------------------------------- */

void sys_client_connected(struct sys *y, const struct client *c)
{
    if (y == NULL || y->silent)
        return;
    conns_changed(y, client_account(c));
    send_connect(y, c);
}

void sys_client_left(struct sys *y, const struct client *c)
{
    struct mf_buf b = MF_BUF_INIT;
    struct client_info i;
    const char *subject;

    if (y == NULL || y->silent)
        return;
    if (client_account(c) != NULL)
        conns_changed(y, client_account(c));
    if (!client_is_closing(c))
        return; /* it moves to another account */
    subject = account_subject(y, &b, "$SYS.ACCOUNT.%s.DISCONNECT", event_account(c));
    client_info_of(c, &i);
    if (subject != NULL)
        send_disconnect(y, y->account, c, &i, subject, i.reason);
    mf_buf_fini(&b);
}

void sys_leaf_changed(struct sys *y, struct account *a, const struct client_info *i, bool up)
{
    struct mf_buf b = MF_BUF_INIT;
    const char *subject;

    if (y == NULL || y->silent)
        return;
    if (a != NULL)
        conns_changed(y, a);
    subject = account_subject(y, &b, up ? "$SYS.ACCOUNT.%s.CONNECT" : "$SYS.ACCOUNT.%s.DISCONNECT",
                              i->account);
    if (subject != NULL && up)
        write_connect(y, NULL, i, subject);
    else if (subject != NULL)
        send_disconnect(y, y->account, NULL, i, subject, i->reason);
    mf_buf_fini(&b);
}

/* The account of an auth callout learns why, and the event is about itself. */
static void tell_account(struct sys *y, struct account *a, struct client_info *i, const char *why)
{
    if (!has_subscriber(y, a, "$SYS.ACCOUNT.CLIENT.AUTH.ERR"))
        return;
    i->account = account_name(a);
    send_disconnect(y, a, NULL, i, "$SYS.ACCOUNT.CLIENT.AUTH.ERR", why);
}

void sys_leaf_refused(struct sys *y, struct client_info *i, const struct login_refusal *no)
{
    if (y != NULL && !y->silent && no->why != NULL)
        tell_account(y, no->account, i, no->why);
}

static const char *auth_failure(const struct login_refusal *no)
{
    bool proxy = no != NULL &&
                 (no->reason == REASON_PROXY_NOT_TRUSTED || no->reason == REASON_PROXY_REQUIRED);

    return proxy ? reason_text(no->reason) : "Authentication Failure";
}

void sys_auth_failed(struct sys *y, const struct client *c, const struct login_refusal *no)
{
    const char *reason = auth_failure(no);
    struct account *home;
    char subject[SUBJECT_CAP];
    struct client_info i;

    if (y == NULL || y->silent)
        return;
    client_info_of(c, &i);
    snprintf(subject, sizeof subject, "$SYS.SERVER.%s.CLIENT.AUTH.ERR", y->status->id);
    if (has_subscriber(y, y->account, subject))
        send_disconnect(y, y->account, c, &i, subject, reason);
    if (no != NULL && no->account != NULL) {
        tell_account(y, no->account, &i, no->why != NULL ? no->why : reason);
        return;
    }
    /* The account gets the event, too; without an account, the global account does. */
    home = client_account(c);
    if (home == NULL)
        home = accounts_global(y->status->accounts);
    if (has_subscriber(y, home, "$SYS.ACCOUNT.CLIENT.AUTH.ERR"))
        send_disconnect(y, home, c, &i, "$SYS.ACCOUNT.CLIENT.AUTH.ERR", reason);
}

static void send_server_event(struct status *s, const char *what)
{
    struct sys *y = s->sys;
    struct mf_buf b = MF_BUF_INIT;
    char subject[SUBJECT_CAP];
    struct jsonw w;

    if (y == NULL)
        return;
    snprintf(subject, sizeof subject, "$SYS.SERVER.%s.%s", s->id, what);
    if (!has_subscriber(y, y->account, subject))
        return;
    jsonw_begin(&w, &b, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    sys_write_server(y, &w);
    jsonw_end(&w);
    event_send(y, y->account, subject, &b);
}

void sys_lame_duck(struct status *s)
{
    send_server_event(s, "LAMEDUCK");
}

void sys_shutdown(struct status *s)
{
    send_server_event(s, "SHUTDOWN");
    if (s->sys != NULL)
        s->sys->silent = true;
}

/* --- statistics ------------------------------------------------------------------------------- */

static void count_active(void *arg, struct account *a)
{
    int64_t *n = arg;

    *n += account_counters(a)->clients + account_counters(a)->leafnodes > 0;
}

static void stats_by_kind(struct jsonw *w, const char *key, uint64_t clients, uint64_t leafs)
{
    if (clients + leafs == 0)
        return;
    jsonw_object(w, key);
    jsonw_u64(w, "clients", clients);
    jsonw_i64(w, "routes", 0);
    jsonw_i64(w, "gateways", 0);
    jsonw_u64(w, "leafs", leafs);
    jsonw_end(w);
}

static void stats_write(struct status *s, struct jsonw *w)
{
    const struct server_counters *t = server_counters(s->server);
    struct page_usage u;
    int64_t active = 0;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct leaf_totals l;

    page_leaf_totals(s, &l);
    page_usage(s, &u);
    accounts_each(s->accounts, count_active, &active);
    jsonw_time(w, "start", server_start_wall_ns(s->server));
    jsonw_u64(w, "mem", u.rss);
    jsonw_i64(w, "cores", cores);
    jsonw_f64(w, "cpu", u.cpu_percent);
    jsonw_u64(w, "connections", server_clients(s->server));
    jsonw_u64(w, "total_connections", t->total_connections);
    jsonw_i64(w, "active_accounts", active);
    jsonw_u64(w, "subscriptions", page_subscriptions(s));
    event_traffic(w, "sent", t->out_msgs + l.out_msgs, t->out_bytes + l.out_bytes);
    event_traffic(w, "sent_to_clients", t->out_msgs, t->out_bytes);
    event_traffic(w, "received", t->in_msgs + l.in_msgs, t->in_bytes + l.in_bytes);
    event_traffic(w, "received_from_clients", t->in_msgs, t->in_bytes);
    jsonw_u64(w, "slow_consumers", t->slow_consumers + l.slow);
    stats_by_kind(w, "slow_consumer_stats", t->slow_consumers, l.slow);
    jsonw_opt_u64(w, "stale_connections", t->stale_connections + l.stale);
    stats_by_kind(w, "stale_connection_stats", t->stale_connections, l.stale);
    jsonw_opt_u64(w, "stalled_clients", t->stalled);
    jsonw_i64(w, "active_servers", 1);
    if (s->js != NULL) {
        jsonw_object(w, "jetstream");
        js_status_varz(s->js, w, false);
        jsonw_end(w);
    }
    jsonw_i64(w, "gomaxprocs", cores);
}

void sys_write_stats_msg(struct sys *y, struct mf_buf *out)
{
    struct jsonw w;

    jsonw_begin(&w, out, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    event_server(y, &w);
    jsonw_object(&w, "statsz");
    stats_write(y->status, &w);
    jsonw_end(&w);
    jsonw_end(&w);
}

void sys_send_stats(struct sys *y)
{
    struct mf_buf b = MF_BUF_INIT;
    char subject[SUBJECT_CAP];

    snprintf(subject, sizeof subject, "$SYS.SERVER.%s.STATSZ", y->status->id);
    if (!has_subscriber(y, y->account, subject))
        return;
    sys_write_stats_msg(y, &b);
    event_send(y, y->account, subject, &b);
}

/* Somebody subscribed in the system account: perhaps to the statistics. */
static void stats_heard(void *arg, const struct router_sub *sub)
{
    struct sys *y = arg;

    (void)sub;
    router_unobserve(&y->stats_heard);
    loop_timer_arm(y->stats_timer, loop_mono_ns(y->status->loop) + STATS_FIRST);
}

/* Inside another program an idle server does not wake up for statistics that nobody reads. */
static bool stats_rest(struct sys *y)
{
    char subject[SUBJECT_CAP];

    snprintf(subject, sizeof subject, "$SYS.SERVER.%s.STATSZ", y->status->id);
    if (!server_options(y->status->server)->embedded || has_subscriber(y, y->account, subject))
        return false;
    router_observe(account_router(y->account), &y->stats_heard);
    return true;
}

static void stats_fired(void *arg)
{
    struct sys *y = arg;

    if (y->silent || stats_rest(y))
        return;
    y->stats_every_ns = y->stats_every_ns * 2 < STATS_EVERY ? y->stats_every_ns * 2 : STATS_EVERY;
    loop_timer_arm(y->stats_timer, loop_mono_ns(y->status->loop) + y->stats_every_ns);
    sys_send_stats(y);
}

int sys_event_start(struct sys *y, struct mf_error *e)
{
    y->stats_timer = loop_timer_new(y->status->loop, stats_fired, y);
    y->beat_timer = loop_timer_new(y->status->loop, beat_fired, y);
    if (y->stats_timer == NULL || y->beat_timer == NULL)
        return mf_fail(e, MF_NOMEM, "timers");
    y->stats_every_ns = STATS_FIRST;
    y->stats_heard = (struct router_observer){.subscribed = stats_heard, .arg = y};
    loop_timer_arm(y->stats_timer, loop_mono_ns(y->status->loop) + STATS_FIRST);
    return 0;
}

void sys_event_stop(struct sys *y)
{
    router_unobserve(&y->stats_heard);
    loop_timer_free(y->stats_timer);
    loop_timer_free(y->beat_timer);
    y->stats_timer = y->beat_timer = NULL;
}
