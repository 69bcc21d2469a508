/* connz_sort.c: the orders in which /connz lists connections. */
#include "status/connz_impl.h"

static const char *const sort_names[] = {
    "cid",        "start", "subs", "pending", "msgs_to", "msgs_from", "bytes_to",
    "bytes_from", "last",  "idle", "uptime",  "stop",    "reason",    "rtt"};

int connz_sort_parse(const struct connz_query *q, enum connz_sort *out, struct mf_error *e)
{
    *out = CONNZ_SORT_CID;
    if (q->sort == NULL || q->sort[0] == '\0')
        return 0;
    for (size_t i = 0; i < MF_COUNT(sort_names); i++)
        if (strcmp(q->sort, sort_names[i]) == 0) {
            *out = (enum connz_sort)i;
            if ((*out == CONNZ_SORT_STOP || *out == CONNZ_SORT_REASON) && q->state != CONNZ_CLOSED)
                return mf_fail(e, MF_INVAL, "sort by %s only valid on closed connections", q->sort);
            return 0;
        }
    return mf_fail(e, MF_INVAL, "invalid sorting option: %s", q->sort);
}

uint64_t connz_sort_value(const struct client_info *i, enum connz_sort key, int64_t now)
{
    switch (key) {
    case CONNZ_SORT_CID:
    case CONNZ_SORT_START: /* cids are given in the order of arrival */
    case CONNZ_SORT_REASON:
        return i->cid;
    case CONNZ_SORT_SUBS:
        return i->nsubs;
    case CONNZ_SORT_PENDING:
        return i->pending;
    case CONNZ_SORT_MSGS_TO:
        return i->out_msgs;
    case CONNZ_SORT_MSGS_FROM:
        return i->in_msgs;
    case CONNZ_SORT_BYTES_TO:
        return i->out_bytes;
    case CONNZ_SORT_BYTES_FROM:
        return i->in_bytes;
    case CONNZ_SORT_LAST:
        return (uint64_t)i->last_ns;
    case CONNZ_SORT_IDLE:
        return (uint64_t)connz_time_since(i->last_ns, now);
    case CONNZ_SORT_UPTIME:
        return (uint64_t)connz_time_since(i->start_ns, i->stop_ns != 0 ? i->stop_ns : now);
    case CONNZ_SORT_STOP:
        return (uint64_t)i->stop_ns;
    case CONNZ_SORT_RTT:
        return (uint64_t)i->rtt_ns;
    }
    return 0;
}

static int by_cid(const struct connz_row *a, const struct connz_row *b)
{
    return a->cid < b->cid ? -1 : a->cid > b->cid;
}
static int compare_ascending(const void *x, const void *y)
{
    const struct connz_row *a = x, *b = y;

    return a->order != b->order ? (a->order < b->order ? -1 : 1) : by_cid(a, b);
}
static int compare_descending(const void *x, const void *y)
{
    const struct connz_row *a = x, *b = y;

    return a->order != b->order ? (a->order > b->order ? -1 : 1) : by_cid(a, b);
}
/* Closed ones alone. */
static int by_reason(const void *x, const void *y)
{
    const struct connz_row *a = x, *b = y;
    int d = strcmp(a->closed->info.reason, b->closed->info.reason);

    return d != 0 ? d : by_cid(a, b);
}

connz_compare connz_sort_compare(enum connz_sort key)
{
    bool up = key == CONNZ_SORT_CID || key == CONNZ_SORT_START || key == CONNZ_SORT_UPTIME;

    return key == CONNZ_SORT_REASON ? by_reason : up ? compare_ascending : compare_descending;
}
