/* account_trace.h: messages whose way is traced (msgtrace.h): which of them, and where their traces
 * are sent. */
#ifndef MAYFLY_ACCOUNT_TRACE_H
#define MAYFLY_ACCOUNT_TRACE_H

#include "account/account.h"
#include "msgtrace/msgtrace.h"

/* Sends a finished trace in the account it was asked for in.  Without it no trace is sent. */
typedef void (*account_trace_fn)(void *arg, struct account *a, const struct msgtrace *t);
void accounts_set_tracer(struct accounts *as, account_trace_fn fn, void *arg);
/* The publisher; may_publish NULL: everything is allowed. */
struct account_publisher {
    struct msgtrace_peer peer;
    const char *label; /* for the log */
    bool (*may_publish)(const void *who, struct mf_slice subject);
    const void *who;
};
enum account_trace {
    ACCOUNT_TRACE_NONE,   /* publish it; its header may be another one now */
    ACCOUNT_TRACE_YES,    /* publish it with *out, then msgtrace_release() */
    ACCOUNT_TRACE_DROP,   /* a dry run that cannot be traced: it is not published */
    ACCOUNT_TRACE_DENIED, /* not published: the publisher may not publish to *dest */
};
/* Of a message with msgtrace_asked() headers, before the account's mappings.  hdr: empty; holds the
 * other header. */
enum account_trace account_trace_begin(struct account *a, const struct account_publisher *p,
                                       struct mf_msg *m, struct mf_buf *hdr, struct msgtrace **out,
                                       struct mf_slice *dest);

#endif
