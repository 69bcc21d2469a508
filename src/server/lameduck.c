/* lameduck.c: an end that spreads reconnects.  New clients are refused, present ones get an INFO
 * with ldm:true, and after the grace period they are closed one by one over the configured time. */
#include "server/server_impl.h"

#include "base/clock.h"
#include "base/log.h"

static struct client *oldest_open(struct server *s)
{
    struct mf_list *pos;

    mf_list_each(pos, &s->clients)
    {
        struct client *c = mf_container(pos, struct client, link);
        if (c->phase != CLIENT_CLOSING)
            return c;
    }
    return NULL;
}

static void close_next(void *arg)
{
    struct server *s = arg;
    struct client *c = oldest_open(s);

    if (c == NULL) {
        server_shutdown(s);
        return;
    }
    if (s->ldm_close_every_ns == 0) {
        const struct options *o = s->opts;
        int64_t span = o->lame_duck_duration_ns - o->lame_duck_grace_ns;
        s->ldm_close_every_ns = span / (int64_t)s->nclients;
        if (s->ldm_close_every_ns > CLOCK_S)
            s->ldm_close_every_ns = CLOCK_S;
        if (s->ldm_close_every_ns < 1)
            s->ldm_close_every_ns = 1;
        log_info("Closing existing clients");
    }
    /* A timer fires at most once a millisecond: of very many clients, several are closed at a time.
     */
    for (int64_t n = CLOCK_MS / s->ldm_close_every_ns; c != NULL; c = oldest_open(s), n--) {
        client_close(c, NULL, REASON_SHUTDOWN);
        if (n <= 1)
            break;
    }
    loop_timer_arm(s->ldm_timer, loop_mono_ns(s->loop) + s->ldm_close_every_ns);
}

void server_lame_duck(struct server *s)
{
    struct mf_list *pos;

    if (s->lame_duck || s->stopping)
        return;
    s->lame_duck = true;
    log_info("Entering lame duck mode, stop accepting new clients");
    net_listener_close(s->listener);
    net_listener_close(s->ws_listener);
    s->listener = s->ws_listener = NULL;
    unix_close(s);
    ws_cancel(s);
    notify_lame_duck(s);
    s->ldm_timer = loop_timer_new(s->loop, close_next, s);
    if (s->nclients == 0 || s->ldm_timer == NULL) {
        server_shutdown(s);
        return;
    }
    server_tell_state(s);
    mf_list_each(pos, &s->clients) client_send_ldm(mf_container(pos, struct client, link));
    loop_timer_arm(s->ldm_timer, loop_mono_ns(s->loop) + s->opts->lame_duck_grace_ns);
}
