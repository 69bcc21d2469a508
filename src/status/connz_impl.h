/* connz_impl.h: the rows of /connz and their order. */
#ifndef MAYFLY_STATUS_CONNZ_IMPL_H
#define MAYFLY_STATUS_CONNZ_IMPL_H

#include "status/pages_impl.h"

struct connz_row {
    uint64_t cid;
    uint64_t order;               /* sort key; equal ones are sorted by cid */
    struct closed_client *closed; /* NULL: it is open; else held */
    bool leaf;                    /* a leaf link that is open */
};

enum connz_sort {
    CONNZ_SORT_CID,
    CONNZ_SORT_START,
    CONNZ_SORT_SUBS,
    CONNZ_SORT_PENDING,
    CONNZ_SORT_MSGS_TO,
    CONNZ_SORT_MSGS_FROM,
    CONNZ_SORT_BYTES_TO,
    CONNZ_SORT_BYTES_FROM,
    CONNZ_SORT_LAST,
    CONNZ_SORT_IDLE,
    CONNZ_SORT_UPTIME,
    CONNZ_SORT_STOP,
    CONNZ_SORT_REASON,
    CONNZ_SORT_RTT,
};
/* MF_INVAL with nats-server's text. */
MF_MUSTCHECK int connz_sort_parse(const struct connz_query *q, enum connz_sort *out,
                                  struct mf_error *e);
/* The value by which rows are ordered; not of CONNZ_SORT_REASON.  now: of the page. */
uint64_t connz_sort_value(const struct client_info *i, enum connz_sort key, int64_t now);
typedef int (*connz_compare)(const void *a, const void *b);
connz_compare connz_sort_compare(enum connz_sort key);

/* 0 for times after that of the page: later slices see connections that were active since. */
static inline int64_t connz_time_since(int64_t from_ns, int64_t to_ns)
{
    return to_ns > from_ns ? to_ns - from_ns : 0;
}

#endif
