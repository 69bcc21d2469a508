/* leaf_world.h: servers that consist of accounts and leaf links alone, all on one loop, for tests:
 * they dial each other, or a peer that the test plays on a plain socket. */
#ifndef TEST_LEAF_WORLD_H
#define TEST_LEAF_WORLD_H

#include "leaf/leaf.h"

#include "base/buf.h"

struct leaf_world {
    struct loop *loop;
    struct options *o;
    struct accounts *as;
    struct leaf *lf;
    struct net_listener *listener;
    char id[60], name[32];
    uint64_t ids;
    unsigned ups, downs;
    struct leaf_totals traffic;
    bool closed;
};

/* text: a configuration; "PORT" in it becomes the number.  Aborts when it does not start. */
void leaf_world_open(struct leaf_world *w, struct loop *l, const char *name, const char *text,
                     int port);
void leaf_world_close(struct leaf_world *w);
/* leaf_setup.want_account and want_cancel of worlds that are opened later; NULL: none. */
void leaf_world_wants(void *(*ask)(void *arg, const char *name,
                                   void (*done)(void *to, struct account *a, const char *why),
                                   void *to),
                      void (*cancel)(void *arg, void *want));
/* Replaces the configuration. */
void leaf_world_reload(struct leaf_world *w, const char *text, int port);
int leaf_world_port(const struct leaf_world *w); /* of its listener */
struct account *leaf_world_account(struct leaf_world *w, const char *name);

/* Runs the loop until check() is true; false: not within a minute. */
bool leaf_until(struct loop *l, bool (*check)(void *arg), void *arg);
void leaf_turns(struct loop *l, unsigned n); /* enough for what is under way to arrive */

/* --- subscribers and publishers --------------------------------------------------------------- */

struct leaf_ear {
    struct router_sub rs;
    struct account *account;
    unsigned got;
    char last[512]; /* "subject reply header payload" */
};
void leaf_listen(struct leaf_ear *e, struct account *a, const char *subject, const char *queue);
void leaf_deafen(struct leaf_ear *e);
/* Returns the receivers. */
size_t leaf_say(struct account *a, const char *subject, const char *reply, const char *hdr,
                const char *payload);

/* --- a peer on a plain socket ----------------------------------------------------------------- */

struct leaf_peer {
    struct loop *loop;
    int fd, listener; /* -1: none */
    int port;         /* of the listener */
    struct mf_buf in;
    bool ended;
};
void leaf_peer_dial(struct leaf_peer *p, struct loop *l, int port);
void leaf_peer_listen(struct leaf_peer *p, struct loop *l); /* then leaf_peer_accept() */
void leaf_peer_accept(struct leaf_peer *p);
void leaf_peer_send(struct leaf_peer *p, const char *text);
void leaf_peer_send_bytes(struct leaf_peer *p, const void *bytes, size_t n);
/* Runs the loop until the text was received; aborts after a minute.  What is up to its end is taken
 * out of `in`. */
void leaf_peer_expect(struct leaf_peer *p, const char *text);
void leaf_peer_wait(struct leaf_peer *p, const char *text); /* the same, and takes nothing */
bool leaf_peer_has(struct leaf_peer *p, const char *text);  /* received, and not taken yet */
void leaf_peer_until_end(struct leaf_peer *p);
void leaf_peer_close(struct leaf_peer *p);

#endif
