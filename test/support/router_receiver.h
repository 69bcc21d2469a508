/* router_receiver.h: subscribers that count and act, for the tests of the router. */
#ifndef MAYFLY_TEST_ROUTER_RECEIVER_H
#define MAYFLY_TEST_ROUTER_RECEIVER_H

#include "router/router.h"

#include "unity.h"

struct receiver {
    struct router_sub rs;
    unsigned got;
    bool refuse;
    void (*act)(struct receiver *self); /* before it answers; self may be gone after */
    void *arg;
};

static struct router *router;

static inline bool receive(struct router_sub *rs, const struct router_msg *m)
{
    struct receiver *x = mf_container(rs, struct receiver, rs);
    bool take = !x->refuse;

    (void)m;
    x->got++;
    if (x->act != NULL)
        x->act(x);
    return take;
}

static inline void join(struct receiver *x, const char *pattern, const char *queue)
{
    x->rs.deliver = receive;
    TEST_ASSERT_EQUAL_INT(0, router_subscribe(router, mf_str(pattern), mf_str(queue), &x->rs));
}

static inline void leave(struct receiver *x)
{
    router_unsubscribe(router, &x->rs);
}

static inline size_t publish_slice(struct mf_slice subject)
{
    struct mf_msg msg = {.subject = subject};

    return router_publish(router, &(struct router_msg){.route = subject, .msg = &msg});
}

static inline size_t publish(const char *subject)
{
    return publish_slice(mf_str(subject));
}

static inline void check(void)
{
    const char *wrong = router_check(router);

    TEST_ASSERT_NULL_MESSAGE(wrong, wrong);
}

static inline void act_leave(struct receiver *self)
{
    leave(self);
}

#endif
