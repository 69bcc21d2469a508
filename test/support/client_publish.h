/* client_publish.h: publishes as a client does: the account's subject mappings first, then the
 * account's subscribers. */
#ifndef CLIENT_PUBLISH_H
#define CLIENT_PUBLISH_H

#include "account/account.h"

static inline size_t client_publish(struct account *a, const struct router_msg *m)
{
    char subject[4096];
    ssize_t n = account_map(a, m->route, subject, sizeof subject);
    struct mf_msg msg = *m->msg;
    struct router_msg mapped = *m;

    if (n < 0)
        return 0;
    if (n > 0) {
        mapped.route = mf_slice(subject, (size_t)n);
        if (mf_eq(msg.subject, m->route))
            msg.subject = mapped.route;
        mapped.msg = &msg;
    }
    return account_publish(a, &mapped);
}

#endif
