/* proc.h: starts a server binary on random ports, and reads its CPU time and memory from /proc.  A
 * NATS server tells its port in a ports file; Redis is given one. */
#ifndef MAYFLY_BENCH_PROC_H
#define MAYFLY_BENCH_PROC_H

#include <stdbool.h>
#include <sys/types.h>

struct proc {
    pid_t pid;
    int port, ws_port; /* ws_port: of WebSocket, 0 without */
    bool redis;
    char dir[256];
};
/* binary: path; extra: more configuration text, or "".  false with a message on stderr. */
bool proc_start(struct proc *p, const char *binary, bool redis, const char *extra);
/* Ends it with this signal and waits; its folder stays, for proc_again(). */
void proc_end(struct proc *p, int sig);
bool proc_again(struct proc *p, const char *binary);
void proc_stop(struct proc *p);          /* SIGTERM, then waits; removes its folder */
double proc_cpu_s(const struct proc *p); /* user and system */
double proc_rss_kb(const struct proc *p);

#endif
