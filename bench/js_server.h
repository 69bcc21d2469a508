/* js_server.h: a server with JetStream on, its data folder, and a connection to ask it things. */
#ifndef MAYFLY_BENCH_JS_SERVER_H
#define MAYFLY_BENCH_JS_SERVER_H

#include <stdbool.h>

#include "js_wire.h"
#include "proc.h"

struct js_server {
    struct proc proc;
    struct js_conn ask;
    char data[300];
};
/* The data goes below TMPDIR.  settings: more lines of the jetstream block, or "". */
bool js_server_start(struct js_server *s, const char *binary, const char *settings);
void js_server_stop(struct js_server *s); /* removes its data */
/* False, with a word on stderr, when the answer is an error or does not come. */
bool js_server_ask(struct js_server *s, const char *subject, const char *body);

#endif
