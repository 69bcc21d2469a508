/* post.c: calls from any thread, run on the loop in the order they came. */
#include "loop/loop_impl.h"

#include <stdlib.h>

void loop_post_call(struct loop *l, struct loop_call *c)
{
    c->next = NULL;
    pthread_mutex_lock(&l->mutex);
    if (l->call_last == NULL)
        l->call_first = c;
    else
        l->call_last->next = c;
    l->call_last = c;
    /* Under the mutex: once the call is visible, it may be the one that ends the loop, and `wake`
     * must not be touched after that. */
    uv_async_send(&l->wake);
    pthread_mutex_unlock(&l->mutex);
}

int loop_post(struct loop *l, void (*fn)(void *arg), void *arg)
{
    struct loop_call *c = malloc(sizeof *c);

    if (c == NULL)
        return MF_NOMEM;
    *c = (struct loop_call){.fn = fn, .arg = arg, .heap = true};
    loop_post_call(l, c);
    return 0;
}

void loop_post_run(struct loop *l)
{
    pthread_mutex_lock(&l->mutex);
    struct loop_call *c = l->call_first;
    l->call_first = l->call_last = NULL;
    pthread_mutex_unlock(&l->mutex);
    /* Calls that these calls post wait for the next turn, so that they cannot starve the loop. */
    while (c != NULL) {
        struct loop_call *next = c->next;
        void (*fn)(void *) = c->fn;
        void *arg = c->arg;
        if (c->heap)
            free(c);
        fn(arg);
        c = next;
    }
}

bool loop_post_waiting(struct loop *l)
{
    pthread_mutex_lock(&l->mutex);
    bool waiting = l->call_first != NULL;
    pthread_mutex_unlock(&l->mutex);
    return waiting;
}
