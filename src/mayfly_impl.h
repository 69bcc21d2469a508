/* mayfly_impl.h: a server inside another program, shared by mayfly.c and the files named
 * mayfly_*.c. */
#ifndef MAYFLY_IMPL_H
#define MAYFLY_IMPL_H

#include "loop/loop.h"
#include "mayfly.h"
#include "store/store.h"
#include "wiring.h"

#include <pthread.h>

/* The options as the caller gave them, copied: a reload reads them again. */
struct mayfly_source {
    char *text, *file;
    int argc;
    char **argv;
    uint64_t max_memory, max_files;
};
MF_MUSTCHECK int mayfly_source_init(struct mayfly_source *s, const struct mayfly_options *o,
                                    struct mf_error *e);
/* Reads the configuration and applies the budgets. */
MF_MUSTCHECK int mayfly_source_load(const struct mayfly_source *s, struct options **out,
                                    struct mf_error *e);
void mayfly_source_fini(struct mayfly_source *s);

#define MAYFLY_LEAST_MEMORY (8 << 20) /* of mayfly_options.max_memory */

/* In this order; BUILDING: calls may be posted, and wait for the loop. */
enum mayfly_state { STATE_STARTING, STATE_BUILDING, STATE_READY, STATE_ENDED };

struct mayfly {
    pid_t owner;     /* the process that started it */
    struct log *log; /* of all threads of the server */
    pthread_t thread;
    void (*log_line)(void *arg, int level, const char *line);
    void *log_arg;
    bool log_stderr;
    struct server_guest guest;

    pthread_mutex_t mutex; /* guards the five below */
    pthread_cond_t changed;
    enum mayfly_state state;
    struct loop *loop;     /* NULL: no call may be posted */
    struct mf_error story; /* why the server ended by itself; code 0: it did not */
    bool stop_asked;
    int how; /* enum mayfly_how */

    /* The server's thread alone, once it runs. */
    struct mayfly_source source;
    struct options *options; /* NULL: the server has them */
    struct wiring w;
};

/* A call that runs on the loop while the caller waits. */
struct mayfly_call {
    int (*run)(struct mayfly *m, struct mayfly_call *c);
    void *arg;
    struct mf_error *e;
    struct mayfly *m;
    int rv;
    bool done;
};
/* Waits until the server is ready, then for the answer. */
MF_MUSTCHECK int mayfly_ask(struct mayfly *m, struct mayfly_call *c);
/* The error to fill: the caller's, or *own. */
struct mf_error *mayfly_error_of(struct mayfly_error *e, struct mf_error *own);
/* A line of the log, for the host or standard error. */
void mayfly_put_line(void *arg, enum log_level level, const char *line);

#endif
