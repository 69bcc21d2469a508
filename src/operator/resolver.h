/* resolver.h: turns the key of an account into its JWT: from the configuration (MEM), from a web
 * server (URL), or from a directory of files (FULL, CACHE).
 *
 * Texts are handed out as they are stored: the caller decodes them and asks whether their signer is
 * trusted.  Every request is a struct of the caller's that finishes once, never from inside the
 * call that started it, and can be cancelled until then.
 *
 * Cost: a look-up is O(1) file, or one request; a store is one file, written, synced and renamed;
 * those that wait at the same time share the sync of the directory. Memory: FULL and CACHE keep
 * about 130 bytes for each account; a start does not wait for the directory, which a worker reads
 * once in pieces. */
#ifndef MAYFLY_RESOLVER_H
#define MAYFLY_RESOLVER_H

#include "base/list.h"
#include "config/options_operator.h"
#include "loop/work.h"

struct resolver;

/* A question to other servers: their first answer that is a JWT of the account ends it. */
struct resolver_asking {
    void *arg;
    /* Asks; resolver_found() or resolver_missing() follows, also from inside this call.  id names
     * the question.  false: there is nobody to ask. */
    bool (*ask)(void *arg, uint64_t id, const char *account);
    void (*forget)(void *arg, uint64_t id); /* the answer is not wanted any more */
};

struct resolver_setup {
    struct loop *loop;
    const struct options *options;  /* must live until resolver_reload() or the end */
    struct resolver_asking *asking; /* FULL and CACHE; NULL: nobody to ask */
};
/* May block: MEM and the preload of a directory.  FULL and CACHE create the directory, with mode
 * 0700. */
MF_MUSTCHECK int resolver_open(struct resolver **out, const struct resolver_setup *s,
                               struct mf_error *e);
/* All requests must be finished or cancelled.  true: closed; false: closed() follows, when the
 * worker has finished. */
bool resolver_close(struct resolver *r, void (*closed)(void *arg), void *arg);
/* The preload of MEM; the others keep what they have. */
MF_MUSTCHECK int resolver_reload(struct resolver *r, const struct options *o, struct mf_error *e);
enum options_resolver_kind resolver_kind(const struct resolver *r);
/* FULL and CACHE: resolver_store() keeps JWTs. */
bool resolver_is_directory(const struct resolver *r);

/* --- one account ------------------------------------------------------------------------------ */

struct resolver_lookup {
    char account[NKEY_TEXT];
    /* rc 0 and the text, borrowed; or MF_NOTFOUND, MF_TIMEOUT, MF_IO..., and why in nats-server's
     * words ("account missing", "account jwt not found", "fetching jwt timed out"). */
    void (*done)(struct resolver_lookup *q, int rc, struct mf_slice jwt, const char *why);
    bool local; /* other servers are not asked */
    /* The resolver's: */
    struct resolver *resolver; /* NULL: finished */
    struct mf_list link;
    struct loop_defer turn;
    void *state;
};
/* *q is zeroed but for account, done and local. */
void resolver_lookup(struct resolver *r, struct resolver_lookup *q);
void resolver_cancel(struct resolver_lookup *q); /* harmless when finished */

/* A store or a removal: durable when done(0). */
struct resolver_change {
    char account[NKEY_TEXT];
    void (*done)(struct resolver_change *q, int rc, const char *why);
    /* The resolver's: */
    struct mf_list link;
    struct loop_defer turn;
    char *text; /* NULL: a removal */
    int rc;
    bool newer_only;
    char why[160];
};
/* Keeps the JWT of q->account; the text is copied.  newer_only: an equal or newer one (by `iat`)
 * stays.  FULL refuses a new account above its limit ("jwt store is full"), CACHE forgets the one
 * that was not used for the longest time. Not for MEM and URL: MF_UNSUPPORTED. */
void resolver_store(struct resolver *r, struct resolver_change *q, struct mf_slice jwt,
                    bool newer_only);
/* Renames the file to <account>.jwt.deleted; removes it if the directory deletes for good. An
 * absent one counts as removed. */
void resolver_remove(struct resolver *r, struct resolver_change *q);

/* --- all accounts ----------------------------------------------------------------------------- */

/* FULL and CACHE.  Accounts that expired are left out.  Runs in time slices; waits until the
 * directory was read once. */
struct resolver_walk {
    void (*account)(struct resolver_walk *q, const char *account);
    /* Instead of account(): with its text, borrowed. */
    void (*jwt)(struct resolver_walk *q, const char *account, struct mf_slice jwt);
    void (*done)(struct resolver_walk *q, int rc);
    /* The resolver's: */
    struct resolver *resolver;
    struct mf_list link;
    void *state;
};
void resolver_walk(struct resolver *r, struct resolver_walk *q);
void resolver_walk_cancel(struct resolver_walk *q);
/* SHA-256 of each JWT, all XORed: equal on servers that have the same.  false: not known yet. */
bool resolver_hash(const struct resolver *r, uint8_t hash[32]);

/* FULL and CACHE.  Whom to ask from now on; NULL: nobody, and who was asked is forgotten. */
void resolver_ask_others(struct resolver *r, struct resolver_asking *asking);
/* Called by the owner of struct resolver_asking. */
void resolver_found(struct resolver *r, uint64_t id, struct mf_slice jwt);
void resolver_missing(struct resolver *r, uint64_t id, int rc, const char *why);

#endif
