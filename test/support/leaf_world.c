/* leaf_world.c: servers with leaf links on one loop, and peers on plain sockets. */
#include "support/leaf_world.h"

#include "base/clock.h"
#include "config/options_leaf.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define LIMIT_NS (60 * CLOCK_S)

static void demand(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "leaf_world: %s\n", what);
    abort();
}

/* --- servers ---------------------------------------------------------------------------------- */

static int64_t now_ns(void *arg)
{
    return loop_mono_ns(((struct leaf_world *)arg)->loop);
}

static uint64_t next_id(void *arg)
{
    return ++((struct leaf_world *)arg)->ids;
}

static void stall(void *arg, const void *origin)
{
    (void)arg, (void)origin;
}

static int port_of(void *arg)
{
    return leaf_world_port(arg);
}

static void changed(void *arg, const struct leaf_link *l, bool up)
{
    struct leaf_world *w = arg;

    (void)l;
    if (up)
        w->ups++;
    else
        w->downs++;
}

static void accepted(void *arg, struct net_conn *c)
{
    leaf_accept(((struct leaf_world *)arg)->lf, c, false);
}

static struct options *parse(const char *text, int port)
{
    struct mf_buf b = MF_BUF_INIT;
    const char *at;
    struct options *o;
    struct mf_error e;

    for (; (at = strstr(text, "PORT")) != NULL; text = at + 4) {
        mf_buf_append(&b, text, (size_t)(at - text));
        mf_buf_printf(&b, "%d", port);
    }
    mf_buf_puts(&b, text);
    demand(options_parse(&o, mf_buf_slice(&b), "test", &e) == 0, e.text);
    mf_buf_fini(&b);
    return o;
}

static struct leaf_setup wants; /* these two members */

void leaf_world_wants(void *(*ask)(void *arg, const char *name,
                                   void (*done)(void *to, struct account *a, const char *why),
                                   void *to),
                      void (*cancel)(void *arg, void *want))
{
    wants.want_account = ask;
    wants.want_cancel = cancel;
}

void leaf_world_open(struct leaf_world *w, struct loop *l, const char *name, const char *text,
                     int port)
{
    struct mf_error e = {.text = "?"};

    memset(w, 0, sizeof *w);
    w->loop = l;
    w->o = parse(text, port);
    (void)snprintf(w->name, sizeof w->name, "%s", name);
    (void)snprintf(w->id, sizeof w->id, "N%s", name);
    demand(accounts_new(&w->as, w->o, now_ns, w, &e) == 0, e.text);
    struct leaf_setup setup = {.loop = l,
                               .accounts = w->as,
                               .options = w->o,
                               .server_id = w->id,
                               .server_name = w->name,
                               .version = "2.15.1",
                               .go_version = "none",
                               .api_level = 5,
                               .next_id = next_id,
                               .stall = stall,
                               .port = port_of,
                               .changed = changed,
                               .want_account = wants.want_account,
                               .want_cancel = wants.want_cancel,
                               .arg = w};
    demand(leaf_open(&w->lf, &setup, &e) == 0, e.text);
    if (w->o->leafnodes.listens)
        demand(net_listen(&w->listener, l, "127.0.0.1", 0, accepted, w, &e) == 0, e.text);
}

int leaf_world_port(const struct leaf_world *w)
{
    return w->listener == NULL ? 0 : net_listener_port(w->listener);
}

struct account *leaf_world_account(struct leaf_world *w, const char *name)
{
    struct account *a = accounts_get(w->as, name);

    demand(a != NULL, name);
    return a;
}

static void account_gone(void *arg, struct account *a)
{
    leaf_account_removed(((struct leaf_world *)arg)->lf, a);
}

void leaf_world_reload(struct leaf_world *w, const char *text, int port)
{
    struct options *old = w->o;
    struct mf_error e;

    w->o = parse(text, port);
    demand(accounts_reload(w->as, w->o, account_gone, w, &e) == 0, e.text);
    leaf_reload(w->lf, w->o);
    options_free(old);
}

static void on_closed(void *arg)
{
    ((struct leaf_world *)arg)->closed = true;
}

static bool is_closed(void *arg)
{
    return ((struct leaf_world *)arg)->closed;
}

void leaf_world_close(struct leaf_world *w)
{
    net_listener_close(w->listener);
    if (!leaf_close(w->lf, on_closed, w))
        demand(leaf_until(w->loop, is_closed, w), "the links did not close");
    accounts_free(w->as);
    options_free(w->o);
}

/* --- time ------------------------------------------------------------------------------------- */

bool leaf_until(struct loop *l, bool (*check)(void *arg), void *arg)
{
    int64_t end = clock_mono_ns() + LIMIT_NS;

    while (!check(arg)) {
        if (clock_mono_ns() > end)
            return false;
        loop_turn(l);
    }
    return true;
}

void leaf_turns(struct loop *l, unsigned n)
{
    while (n-- > 0)
        loop_turn(l);
}

/* --- subscribers ------------------------------------------------------------------------------ */

static bool hear(struct router_sub *s, const struct router_msg *m)
{
    struct leaf_ear *e = mf_container(s, struct leaf_ear, rs);

    e->got++;
    (void)snprintf(e->last, sizeof e->last, "%.*s %.*s %.*s %.*s", MF_FMT(m->msg->subject),
                   MF_FMT(m->msg->reply), MF_FMT(m->msg->hdr), MF_FMT(m->msg->payload));
    return true;
}

void leaf_listen(struct leaf_ear *e, struct account *a, const char *subject, const char *queue)
{
    memset(e, 0, sizeof *e);
    e->account = a;
    e->rs.deliver = hear;
    e->rs.client = true;
    demand(account_subscribe(a, mf_str(subject), mf_str(queue), &e->rs) == 0, subject);
}

void leaf_deafen(struct leaf_ear *e)
{
    account_unsubscribe(e->account, &e->rs);
}

size_t leaf_say(struct account *a, const char *subject, const char *reply, const char *hdr,
                const char *payload)
{
    struct mf_msg m = {mf_str(subject), mf_str(reply), mf_str(hdr), mf_str(payload)};

    return account_publish(a, &(struct router_msg){.route = m.subject, .msg = &m});
}

/* --- peers ------------------------------------------------------------------------------------ */

static void no_wait(int fd)
{
    demand(fd >= 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0, "socket");
}

void leaf_peer_dial(struct leaf_peer *p, struct loop *l, int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

    memset(p, 0, sizeof *p);
    p->loop = l;
    p->listener = -1;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    demand(connect(p->fd, (struct sockaddr *)&to, sizeof to) == 0, "connect");
    no_wait(p->fd);
}

void leaf_peer_listen(struct leaf_peer *p, struct loop *l)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t n = sizeof at;

    memset(p, 0, sizeof *p);
    p->loop = l;
    p->fd = -1;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    demand(bind(p->listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(p->listener, 8) == 0,
           "listen");
    demand(getsockname(p->listener, (struct sockaddr *)&at, &n) == 0, "getsockname");
    p->port = ntohs(at.sin_port);
    no_wait(p->listener);
}

static bool try_accept(void *arg)
{
    struct leaf_peer *p = arg;

    p->fd = accept(p->listener, NULL, NULL);
    return p->fd >= 0;
}

void leaf_peer_accept(struct leaf_peer *p)
{
    if (p->fd >= 0)
        close(p->fd);
    mf_buf_clear(&p->in);
    p->ended = false;
    demand(leaf_until(p->loop, try_accept, p), "nobody dials");
    no_wait(p->fd);
}

struct sending {
    struct leaf_peer *p;
    const uint8_t *at;
    size_t left;
};

static bool try_send(void *arg)
{
    struct sending *s = arg;
    ssize_t n = send(s->p->fd, s->at, s->left, MSG_NOSIGNAL);

    if (n > 0) {
        s->at += n;
        s->left -= (size_t)n;
    } else if (n < 0 && errno != EAGAIN) {
        return true; /* the server closed: what it said shows why */
    }
    return s->left == 0;
}

void leaf_peer_send_bytes(struct leaf_peer *p, const void *bytes, size_t n)
{
    struct sending s = {p, bytes, n};

    demand(leaf_until(p->loop, try_send, &s), "the server does not read");
}

void leaf_peer_send(struct leaf_peer *p, const char *text)
{
    leaf_peer_send_bytes(p, text, strlen(text));
}

static void receive(struct leaf_peer *p)
{
    char room[65536];
    ssize_t n;

    while ((n = recv(p->fd, room, sizeof room, 0)) > 0)
        mf_buf_append(&p->in, room, (size_t)n);
    p->ended = p->ended || n == 0 || (n < 0 && errno != EAGAIN);
}

struct wanted {
    struct leaf_peer *p;
    const char *text;
    uint8_t *found;
};

static bool is_there(void *arg)
{
    struct wanted *w = arg;

    receive(w->p);
    w->found =
        w->p->in.len == 0 ? NULL : memmem(w->p->in.ptr, w->p->in.len, w->text, strlen(w->text));
    return w->found != NULL || w->p->ended;
}

static uint8_t *wait_for(struct leaf_peer *p, const char *text)
{
    struct wanted w = {p, text, NULL};

    if (!leaf_until(p->loop, is_there, &w) || w.found == NULL) {
        fprintf(stderr, "expected: %s\nreceived: %s\n", text, mf_buf_cstr(&p->in));
        abort();
    }
    return w.found;
}

void leaf_peer_wait(struct leaf_peer *p, const char *text)
{
    (void)wait_for(p, text);
}

void leaf_peer_expect(struct leaf_peer *p, const char *text)
{
    const uint8_t *found = wait_for(p, text);

    mf_buf_consume(&p->in, (size_t)(found - p->in.ptr) + strlen(text));
}

bool leaf_peer_has(struct leaf_peer *p, const char *text)
{
    struct wanted w = {p, text, NULL};

    (void)is_there(&w);
    return w.found != NULL;
}

static bool has_ended(void *arg)
{
    struct leaf_peer *p = arg;

    receive(p);
    return p->ended;
}

void leaf_peer_until_end(struct leaf_peer *p)
{
    demand(leaf_until(p->loop, has_ended, p), "the server does not close");
}

void leaf_peer_close(struct leaf_peer *p)
{
    if (p->fd >= 0)
        close(p->fd);
    if (p->listener >= 0)
        close(p->listener);
    mf_buf_fini(&p->in);
    p->fd = p->listener = -1;
}
