/* trace_impl.h: traced messages on their way to other accounts. */
#ifndef ACCOUNT_TRACE_IMPL_H
#define ACCOUNT_TRACE_IMPL_H

#include "account/account_impl.h"
#include "account/account_trace.h"

/* The message enters another account: with the destination as this account knows it, or, where
 * traces are not allowed, untraced.  false: a dry run, which ends here.  hdr: empty; its header. */
bool trace_cross(struct router_msg *rm, struct mf_msg *msg, struct mf_buf *hdr, bool allowed);
/* Many answers may come, until it expires. */
void reply_keep(struct reply *r);

#endif
