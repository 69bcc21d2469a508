/* loop_thread.h: a loop on a thread of its own, so that a test can talk to it through blocking
 * sockets like any client. */
#ifndef TEST_LOOP_THREAD_H
#define TEST_LOOP_THREAD_H

#include "loop/loop.h"

struct loop_thread;
/* setup(arg, loop) runs on the new thread before the loop does.  Aborts when anything fails. */
struct loop_thread *loop_thread_start(void (*setup)(void *arg, struct loop *l), void *arg);
/* fn(arg) on the loop's thread; returns when it has run. */
void loop_thread_call(struct loop_thread *t, void (*fn)(void *arg), void *arg);
/* teardown(arg) on the loop's thread, then the loop is stopped and freed. */
void loop_thread_stop(struct loop_thread *t, void (*teardown)(void *arg), void *arg);

#endif
