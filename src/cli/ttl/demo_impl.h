/* demo_impl.h: what the files of `mayfly demo` share: a bucket of its own, its keys, its news. */
#ifndef CLI_TTL_DEMO_IMPL_H
#define CLI_TTL_DEMO_IMPL_H

#include "cli/ttl/ttl_impl.h"

#define DEMO_KEYS 4

struct demo_key {
    const char *name;
    int ttl_s;          /* 0: none, the bucket's default decides */
    int64_t expires_ns; /* as the server said it; 0: none yet */
    bool warned, ended;
};

struct demo {
    struct cli *c;
    bool mayfly; /* there is a TTL API */
    bool denied; /* there may be one, but not for this user */
    bool made;   /* the bucket exists */
    char bucket[32], stream[40], key_prefix[48];
    int warn_s;
    natsSubscription *news, *warnings; /* deliveries of a consumer; events */
    struct demo_key keys[DEMO_KEYS];
    size_t nkeys;
    bool lives_shown; /* the line of demo_show_lives() is on the screen */
};

/* 0 or an exit code, printed; in the order in which they are called. */
MF_MUSTCHECK int demo_look(struct demo *d); /* is there JetStream, and a TTL API? */
MF_MUSTCHECK int demo_make_bucket(struct demo *d);
MF_MUSTCHECK int demo_watch(struct demo *d);
MF_MUSTCHECK int demo_put(struct demo *d, struct demo_key *k);
/* CLI_NOT_FOUND, not printed, if the key has expired already. */
MF_MUSTCHECK int demo_touch(struct demo *d, struct demo_key *k);
/* The answer of a request of the TTL API about the bucket's stream, for a table.  NULL on failure,
 * printed. */
json_t *demo_ask(struct demo *d, const char *request, const char *body);
void demo_remove(struct demo *d); /* also after Ctrl-C */

/* News of a key. */
enum demo_kind { DEMO_NOTHING, DEMO_PUT, DEMO_WARNING, DEMO_END };
struct demo_news {
    enum demo_kind kind;
    struct demo_key *key;
    char reason[32]; /* of a delete marker: MaxAge */
    int64_t late_ns; /* from the deadline to the marker, by the server's clock */
    int64_t left_ms; /* of a warning */
};
/* Waits up to `ms`. */
MF_MUSTCHECK int demo_next(struct demo *d, int ms, struct demo_news *n);

/* --- showing ------------------------------------------------------------------------------------
 */

/* A sentence, and the command with which users do the same ("": none). */
void demo_say(struct demo *d, const char *command, const char *fmt, ...) MF_PRINTF(3, 4);
void demo_show_news(struct demo *d, const struct demo_news *n);
void demo_print_json(struct demo *d, json_t *doc); /* one line; takes doc */
/* On a terminal: a last line with the time left of each key, drawn again and again. */
void demo_show_lives(struct demo *d);
void demo_hide_lives(struct demo *d);

#endif
