/* reply.c: reply subjects that lead an answer from the exporting account back to the requestor.
 *
 * Happy path: reply_new() when a request enters another account; answer_deliver() finds it by
 * subject; an export with single answers drops it after the first answer, other exports after an
 * empty message.  Failure: a reply waits no longer than its export allows (2 minutes by default;
 * each answer of a stream of answers starts the time anew).  An export keeps a bounded number of
 * replies: the oldest are dropped first. */
#include "account/trace_impl.h"

#include "codec/hash.h"
#include "base/rand.h"

#include <stdlib.h>

/* Per export; beyond, the oldest are dropped: they are the least likely to be answered. */
#define MAX_WAITING       262144
#define MAX_WAITING_BYTES (64u << 20) /* of the requestors' reply subjects */
#define PREFIX_LEN        11          /* "_R_.XXXXXX." */
#define RANDOM_LEN        6
#define SUBJECT_LEN       (PREFIX_LEN + RANDOM_LEN)

struct reply {
    struct table_node node; /* in owner->replies, by subject */
    struct mf_list age;     /* in export->waiting */
    struct mf_list owned;   /* in owner->owned */
    struct mf_list asked;   /* in to->asked */
    struct account *owner;  /* in whose space the subject lives */
    struct account *to;     /* account of the requestor */
    struct acc_export *export;
    struct latency *lat;
    int64_t since_ns;
    unsigned held; /* answers being delivered: it must not be freed */
    bool dead, share;
    bool keep; /* many answers, whatever the export says */
    char subject[SUBJECT_LEN];
    uint32_t original_len;
    char original[]; /* the requestor's reply */
};

static void random_text(char *dst, size_t n)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    for (size_t i = 0; i < n; i++)
        dst[i] = digits[rand_below(62)];
}

/* The account's own `_R_.XXXXXX.>`, once. */
static int prefix_open(struct account *a)
{
    char pattern[PREFIX_LEN + 1];

    if (a->reply_prefix[0] != '\0')
        return 0;
    memcpy(pattern, "_R_.", 4);
    random_text(pattern + 4, 6);
    pattern[PREFIX_LEN - 1] = '.';
    pattern[PREFIX_LEN] = '>';
    a->reply_sub.deliver = answer_deliver;
    a->reply_sub.dry_runs = true;
    if (router_subscribe(a->router, mf_slice(pattern, sizeof pattern), MF_SLICE_NONE,
                         &a->reply_sub) != 0)
        return MF_NOMEM;
    memcpy(a->reply_prefix, pattern, PREFIX_LEN);
    return 0;
}

struct reply *reply_find(struct account *owner, struct mf_slice subject)
{
    struct table_node *n = table_first(&owner->replies, hash_slice(subject));

    for (; n != NULL; n = table_next(n)) {
        struct reply *r = mf_container(n, struct reply, node);
        if (mf_eq(reply_subject(r), subject))
            return r;
    }
    return NULL;
}

struct reply *reply_new(struct account *owner, struct account *to, struct acc_export *export,
                        struct mf_slice reply, bool share, struct latency *lat)
{
    struct accounts *as = owner->as;
    struct reply *r = NULL;

    if (prefix_open(owner) != 0 || (r = calloc(1, sizeof *r + reply.len)) == NULL)
        goto err;
    memcpy(r->subject, owner->reply_prefix, PREFIX_LEN);
    do
        random_text(r->subject + PREFIX_LEN, RANDOM_LEN);
    while (reply_find(owner, reply_subject(r)) != NULL);
    if (table_add(&owner->replies, &r->node, hash_slice(reply_subject(r))) != 0)
        goto err;
    r->owner = owner;
    r->to = to;
    r->export = export;
    r->lat = lat;
    r->share = share;
    r->since_ns = as->now_ns(as->now_arg);
    r->original_len = (uint32_t)reply.len;
    memcpy(r->original, reply.ptr, reply.len);
    mf_list_push(&export->waiting, &r->age);
    mf_list_push(&owner->owned, &r->owned);
    mf_list_push(&to->asked, &r->asked);
    if (as->nreplies++ == 0 && as->waits != NULL)
        as->waits(as->waits_arg);
    export->nwaiting++;
    export->waiting_bytes += reply.len;
    while (export->nwaiting > MAX_WAITING || export->waiting_bytes > MAX_WAITING_BYTES)
        reply_drop(mf_container(mf_list_first(&export->waiting), struct reply, age), REPLY_TIMEOUT);
    return r;
err:
    free(r);
    latency_free(lat);
    return NULL;
}

struct mf_slice reply_subject(const struct reply *r)
{
    return mf_slice(r->subject, SUBJECT_LEN);
}

struct account *reply_to(const struct reply *r)
{
    return r->to;
}

struct mf_slice reply_original(const struct reply *r)
{
    return mf_slice(r->original, r->original_len);
}

struct acc_export *reply_export(const struct reply *r)
{
    return r->export;
}

bool reply_share(const struct reply *r)
{
    return r->share;
}

void reply_keep(struct reply *r)
{
    r->keep = true;
}

void reply_drop(struct reply *r, enum reply_end why)
{
    struct latency *lat = r->lat;

    if (r->dead)
        return;
    table_del(&r->owner->replies, &r->node);
    mf_list_del(&r->age);
    mf_list_del(&r->owned);
    mf_list_del(&r->asked);
    r->export->nwaiting--;
    r->export->waiting_bytes -= r->original_len;
    r->owner->as->nreplies--;
    r->dead = true;
    r->lat = NULL;
    if (r->held == 0)
        free(r);
    if (lat == NULL)
        return;
    if (why == REPLY_NO_DELIVERY || why == REPLY_TIMEOUT)
        latency_failed(lat, why); /* publishes: last */
    else
        latency_free(lat);
}

void reply_hold(struct reply *r, const struct router_msg *m)
{
    struct latency *lat = r->lat;

    r->held++;
    r->lat = NULL; /* the first answer is the one that is measured */
    if (lat != NULL)
        latency_answered(lat, m);
}

void reply_served(struct reply *r, bool taken, bool empty)
{
    struct accounts *as = r->owner->as;

    r->held--;
    if (r->dead) {
        if (r->held == 0)
            free(r);
        return;
    }
    if (!taken || (!r->keep && (empty || r->export->response == OPTIONS_RESPONSE_SINGLETON))) {
        reply_drop(r, REPLY_ANSWERED);
        return;
    }
    r->since_ns = as->now_ns(as->now_arg);
    mf_list_del(&r->age);
    mf_list_push(&r->export->waiting, &r->age);
}

/* --- listing ---------------------------------------------------------------------------------- */

void account_each_response(const struct account *a, size_t max,
                           void (*visit)(void *arg, const struct account_response_info *x),
                           void *arg)
{
    struct mf_list *pos;

    for (size_t i = 0; i < a->sharing->nexports; i++) {
        mf_list_each(pos, &a->sharing->exports[i].waiting)
        {
            const struct reply *r = mf_container(pos, struct reply, age);
            if (max-- == 0)
                return;
            visit(arg, &(struct account_response_info){.subject = reply_subject(r),
                                                       .original = reply_original(r),
                                                       .account = r->to->name,
                                                       .share = r->share,
                                                       .tracked = r->lat != NULL});
        }
    }
}

/* --- in bulk ---------------------------------------------------------------------------------- */

void export_drop_replies(struct acc_export *x)
{
    struct mf_list *n;

    while ((n = mf_list_first(&x->waiting)) != NULL)
        reply_drop(mf_container(n, struct reply, age), REPLY_FORGOTTEN);
}

void account_drop_replies(struct account *a)
{
    struct mf_list *n;

    while ((n = mf_list_first(&a->owned)) != NULL)
        reply_drop(mf_container(n, struct reply, owned), REPLY_FORGOTTEN);
    while ((n = mf_list_first(&a->asked)) != NULL)
        reply_drop(mf_container(n, struct reply, asked), REPLY_FORGOTTEN);
}

void export_adopt_replies(struct acc_export *x, struct acc_export *old)
{
    struct mf_list *pos;

    mf_list_each(pos, &old->waiting) mf_container(pos, struct reply, age)->export = x;
    mf_list_move(&x->waiting, &old->waiting);
    x->nwaiting += old->nwaiting;
    x->waiting_bytes += old->waiting_bytes;
    old->nwaiting = old->waiting_bytes = 0;
}

/* Returns when the oldest of x expires, 0: nothing waits. */
static int64_t export_expire(struct acc_export *x, int64_t now_ns)
{
    struct mf_list *n;

    while ((n = mf_list_first(&x->waiting)) != NULL) {
        struct reply *r = mf_container(n, struct reply, age);
        if (r->since_ns + x->threshold_ns > now_ns)
            return r->since_ns + x->threshold_ns;
        reply_drop(r, REPLY_TIMEOUT);
    }
    return 0;
}

void accounts_on_wait(struct accounts *as, void (*waits)(void *arg), void *arg)
{
    as->waits = waits;
    as->waits_arg = arg;
}

int64_t accounts_expire(struct accounts *as, int64_t now_ns)
{
    int64_t next = 0;
    struct mf_list *pos;

    if (as->nreplies == 0)
        return 0;
    mf_list_each(pos, &as->all)
    {
        struct sharing *d = mf_container(pos, struct account, link)->sharing;
        for (size_t i = 0; i < d->nexports; i++) {
            int64_t at = export_expire(&d->exports[i], now_ns);
            /* A request to a faster export must not wait for a slower one. */
            if (at == 0 && d->exports[i].service)
                at = now_ns + d->exports[i].threshold_ns;
            if (at != 0 && (next == 0 || at < next))
                next = at;
        }
    }
    return as->nreplies == 0 ? 0 : next;
}
