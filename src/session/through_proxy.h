/* through_proxy.h: refusals of connections that should, or should not, come through a proxy. */
#ifndef MAYFLY_SESSION_THROUGH_PROXY_H
#define MAYFLY_SESSION_THROUGH_PROXY_H

#include "session/login.h"

#define PROXY_NOT_TRUSTED                                                                          \
    ((struct login_refusal){.err = "Authorization Violation",                                      \
                            .reason = REASON_PROXY_NOT_TRUSTED,                                    \
                            .why = "proxy is not trusted"})
#define PROXY_IS_REQUIRED                                                                          \
    ((struct login_refusal){.err = "Authorization Violation",                                      \
                            .reason = REASON_PROXY_REQUIRED,                                       \
                            .why = "proxy connection required"})

#endif
