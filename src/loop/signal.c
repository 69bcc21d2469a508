/* signal.c: signals as calls on the loop. */
#include "loop/loop_impl.h"

#include <signal.h>
#include <stdlib.h>

struct loop_signal {
    uv_signal_t uv;
    struct mf_list link; /* in loop.signals */
    void (*fire)(void *arg, int signum);
    void *arg;
};

static void on_closed(uv_handle_t *h)
{
    free(h->data);
}

static void on_signal(uv_signal_t *h, int signum)
{
    struct loop_signal *s = h->data;

    s->fire(s->arg, signum); /* last: it may free s */
}

void loop_ignore_signals(void)
{
    struct sigaction sa = {.sa_handler = SIG_IGN};

    sigemptyset(&sa.sa_mask);
    sigaction(SIGPIPE, &sa, NULL);
    sigaction(SIGXFSZ, &sa, NULL);
}

struct loop_signal *loop_signal_new(struct loop *l, int signum, void (*fire)(void *arg, int signum),
                                    void *arg)
{
    struct loop_signal *s = calloc(1, sizeof *s);

    if (s == NULL)
        return NULL;
    if (uv_signal_init(&l->uv, &s->uv) != 0) {
        free(s);
        return NULL;
    }
    s->uv.data = s;
    s->fire = fire;
    s->arg = arg;
    mf_list_push(&l->signals, &s->link);
    if (uv_signal_start(&s->uv, on_signal, signum) != 0) {
        loop_signal_free(s); /* libuv knows the handle: it ends in its close callback */
        return NULL;
    }
    return s;
}

void loop_signal_free(struct loop_signal *s)
{
    if (s == NULL)
        return;
    mf_list_del(&s->link);
    uv_close((uv_handle_t *)&s->uv, on_closed);
}

void loop_signals_free(struct loop *l)
{
    struct mf_list *p;

    while ((p = mf_list_first(&l->signals)) != NULL)
        loop_signal_free(mf_container(p, struct loop_signal, link));
}
