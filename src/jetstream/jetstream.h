/* jetstream.h: JetStream of the server: the streams of all accounts, connected to their routers.
 * Read js_account.h next.
 *
 * One loop thread owns all of it.  The layer above (the JSON API) hands down jetstream_hooks: they
 * carry news about accounts up, and the codecs of stored configurations down. */
#ifndef JETSTREAM_JETSTREAM_H
#define JETSTREAM_JETSTREAM_H

#include "account/account.h"
#include "config/options.h"
#include "consumer/consumer.h"
#include "loop/loop.h"
#include "stream/catalog.h"

struct js_account;
struct store_journal;
struct store_patrol;

/* Callbacks of the layer above.  All of them run on the loop thread. */
struct jetstream_hooks {
    /* A new account, before its streams are loaded.  Sets ja->above.  MF_NOMEM: not opened. */
    int (*account_init)(void *arg, struct js_account *ja);
    /* Subscribes to the requests of the account; undone by account_unlisten(). */
    int (*account_listen)(struct js_account *ja, struct mf_error *e);
    void (*account_unlisten)(struct js_account *ja);
    /* The account is about to close (ja->closing): ends all work on its streams. */
    void (*account_stop)(struct js_account *ja);
    /* All streams are closed: frees ja->above. */
    void (*account_fini)(struct js_account *ja);
    const struct catalog_codec *stream_codec;    /* stored configurations of streams */
    const struct consumer_codec *consumer_codec; /* and of consumers */
};

struct jetstream_setup {
    struct loop *loop;
    struct accounts *accounts;
    const struct options *options; /* valid until the next jetstream_reload() or the end */
    const char *server_name, *server_id, *version; /* as clients of nats-server expect them */
    unsigned level;                                /* of the JetStream API */
    const struct jetstream_hooks *hooks;
    void *arg; /* of account_init() */
};

/* Layers above read these members and write none of them. */
struct jetstream {
    struct loop *loop;
    struct accounts *accounts;
    const struct options *options;
    struct jetstream_setup setup;
    char *store_dir;                /* <store_dir>/jetstream, for texts */
    struct store_journal *journal;  /* commits of several streams; NULL: not opened */
    struct store_patrol *patrol;    /* reads the files of all streams at a limited rate */
    struct mf_list list;            /* js_account.link: one for each account that is not closing */
    struct stream_usage usage, max; /* of the whole server */
};

/* Checks that jetstream_start() could use the store directory.  Changes nothing. */
MF_MUSTCHECK int jetstream_check(const struct options *o, struct mf_error *e);
/* NULL: no memory.  Copies *setup. */
struct jetstream *jetstream_new(const struct jetstream_setup *setup);
/* Locks the store directory and loads every stream of every account.  Blocks.  After a failure
 * jetstream_close() is still due. */
MF_MUSTCHECK int jetstream_start(struct jetstream *js, struct mf_error *e);
/* After accounts_reload(): opens and closes accounts, applies new limits.  O(accounts). */
void jetstream_reload(struct jetstream *js, const struct options *o);
/* The same for one account that was put or dropped. */
void jetstream_account_changed(struct jetstream *js, struct account *acc);
/* The server is about to stop and clients are still connected: answers waiting pull requests.
 * O(consumers). */
void jetstream_leaving(struct jetstream *js);
/* Accepts no more requests, closes all streams, frees js, then calls closed (NULL: nobody). */
void jetstream_close(struct jetstream *js, void (*closed)(void *arg), void *arg);

int64_t jetstream_now_ns(struct jetstream *js);  /* the steady clock: deadlines, timestamps */
int64_t jetstream_wall_ns(struct jetstream *js); /* the wall clock: schedules, pauses */
/* Steps of the wall clock since the start; it is looked at every second. */
const struct clock_steps *jetstream_clock_steps(const struct jetstream *js);
/* Commits of several streams that were synced together. */
struct jetstream_shared {
    uint64_t syncs, commits, bytes;
    uint64_t turned_away; /* commits that found the commit journal full, or not ready */
};
void jetstream_shared(const struct jetstream *js, struct jetstream_shared *out);
const char *jetstream_domain(const struct jetstream *js); /* "": none */
/* True if this server serves the API level that a request's header block asks for.  O(bytes). */
bool jetstream_level_served(const struct jetstream *js, struct mf_slice hdr);
/* True if the store directory holds streams of an account of this name, served or not. */
bool jetstream_stored(struct jetstream *js, const char *account);

#endif
