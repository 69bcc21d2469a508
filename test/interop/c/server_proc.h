/* server_proc.h: one server process for a test, in a temporary folder, on a port the kernel chose.
 * The binary is $MAYFLYD, else ./mayflyd of the build folder. */
#ifndef TEST_SERVER_PROC_H
#define TEST_SERVER_PROC_H

#include <stdbool.h>
#include <sys/types.h>

struct server_proc {
    pid_t pid; /* 0: not running */
    int port;
    char dir[128];
    char url[64]; /* nats://127.0.0.1:PORT */
};

/* Makes the folder without a server yet, for files that the configuration names. */
void server_proc_folder(struct server_proc *s);
/* Starts a server with this configuration added to its port and folder; fails the test otherwise.
 * port 0: any. */
void server_proc_start(struct server_proc *s, const char *config, int port);
/* SIGTERM, then waits; fails the test when the exit code is not 0. */
void server_proc_stop(struct server_proc *s);
/* SIGKILL, then waits. */
void server_proc_kill(struct server_proc *s);
/* Removes the folder too; harmless when nothing runs.  Kills what did not stop. */
void server_proc_end(struct server_proc *s);
/* The tests are run against nats-server too, which does not do all that mayflyd does. */
bool server_is_mayfly(void);
/* Polls until test(arg) holds; fails the test with `what` after ten seconds. */
void wait_until(const char *what, bool (*test)(void *arg), void *arg);

#endif
