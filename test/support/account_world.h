/* account_world.h: a few accounts, their exports and imports and their clients, for tests.  Options
 * are written by hand, so that these tests need no configuration parser; what clients receive goes
 * into one log. */
#ifndef TEST_ACCOUNT_WORLD_H
#define TEST_ACCOUNT_WORLD_H

#include "account/account.h"

#define WORLD_ACCOUNTS 8
#define WORLD_SHARED   16
#define WORLD_LOG      4096

struct world {
    struct options o;
    struct options_account accounts[WORLD_ACCOUNTS];
    struct options_export exports[WORLD_ACCOUNTS][WORLD_SHARED];
    struct options_import imports[WORLD_ACCOUNTS][WORLD_SHARED];
    struct options_mapping mappings[WORLD_ACCOUNTS][WORLD_SHARED];
    struct accounts *as;
    int64_t now_ns;
    char *log[WORLD_LOG]; /* "client subject reply payload" of each delivery */
    size_t nlog;
    char joined[1 << 16];
};

/* One subscription of one client. */
struct listener {
    struct router_sub s;
    struct world *w;
    struct account *a;
    const char *name;
    size_t count;
    bool refuse;
    /* Called after logging, may do anything; NULL: nothing. */
    void (*on)(struct listener *l, const struct router_msg *m);
    void *arg;
};

void world_init(struct world *w); /* no accounts but $G and $SYS */
/* Names are borrowed.  All before world_start() or world_reload(). */
struct options_account *world_account(struct world *w, const char *name);
void world_drop_account(struct world *w, const char *name);
struct options_export *world_export(struct world *w, const char *account, bool service,
                                    const char *subject);
struct options_import *world_import(struct world *w, const char *account, bool service,
                                    const char *from, const char *subject, const char *to);
void world_map(struct world *w, const char *account, const char *source,
               struct options_mapping_dest *dests, size_t n);
void world_start(struct world *w); /* asserts success */
int world_try(struct world *w, struct mf_error *e);
int world_reload(struct world *w, struct mf_error *e);
void world_fini(struct world *w); /* listeners have left */

struct account *world_get(struct world *w, const char *name);
void listen_to(struct listener *l, struct world *w, const char *account, const char *name,
               const char *pattern, const char *queue);
void leave(struct listener *l);
/* Publishes as somebody else than any listener; returns the receivers. */
size_t say(struct world *w, const char *account, const char *subject, const char *reply,
           const char *payload);
size_t say_as(struct world *w, const char *account, const char *subject, const char *reply,
              const char *payload, const void *origin);
/* What was received since the last call, sorted, joined by '|'. */
const char *heard(struct world *w);
/* The reply of the newest delivery. */
const char *last_reply(const struct world *w);

#endif
