/* js_server.h: a server that stores, its data folder, and a connection to ask it things. */
#ifndef MAYFLY_BENCH_JS_SERVER_H
#define MAYFLY_BENCH_JS_SERVER_H

#include <stdbool.h>

#include "js_wire.h"
#include "proc.h"

/* What to start.  settings: more lines of the jetstream block, or "". */
struct js_kind {
    const char *binary, *settings;
    const char *more; /* more of the configuration, or NULL */
    bool ws;          /* clients come to the WebSocket port */
    bool redis;       /* appendonly, and every write synced */
};
struct js_server {
    const struct js_kind *kind;
    struct proc proc;
    struct js_conn ask;
    char data[300];
};
/* The data goes below TMPDIR.  After a failure there is nothing to stop. */
bool js_server_start(struct js_server *s, const struct js_kind *kind);
void js_server_stop(struct js_server *s); /* removes its data */
/* Ends it with this signal, waits for its end, and leaves its data. */
void js_server_end(struct js_server *s, int sig);
/* Starts it again on the same data, and asks until it has answered.  Not every server is ready
 * when it listens.  Messages or keys it has are in *live; false: none within a minute. */
bool js_server_again(struct js_server *s, const char *stream, uint64_t *live);
/* Messages of a stream, or keys of Redis.  False, silent, while the server cannot tell. */
bool js_server_live(struct js_server *s, const char *stream, uint64_t *live);
/* False, with a word on stderr, when the answer is an error or does not come. */
bool js_server_ask(struct js_server *s, const char *subject, const char *body);

/* Another connection, of the server's kind. */
bool js_server_dial(const struct js_server *s, struct js_conn *c);

double js_server_disk_mb(const struct js_server *s); /* what its files occupy */

#endif
