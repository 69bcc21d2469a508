/* consumer_wire.c: what leaves consumers, and what clients tell them.
 *
 * Out: deliver() hands a message to the account's router under the inbox or deliver subject, while
 * its receivers see the subject it was stored under.
 * In: pull requests come through the API's subscription, acks and flow control through one
 * subscription each.  The names in the subject lead to the consumer; who names none that is there
 * is told that nobody is (deliver() refuses, and so "no responders" is what its publisher hears),
 * just as if each consumer had its own subscription.
 * None of this allocates. */
#include "api/api_impl.h"

#include "codec/sha256.h"

static const struct mf_slice ack_prefix = MF_LIT("$JS.ACK."), flow_prefix = MF_LIT("$JS.FC.");

/* --- out -------------------------------------------------------------------------------------- */

static unsigned delivering; /* one loop thread */

bool wire_delivering(void)
{
    return delivering > 0;
}

static int64_t host_now(void *arg)
{
    struct api_account *aa = arg;

    return api_now_ns(aa->api);
}

static int64_t host_wall(void *arg)
{
    struct api_account *aa = arg;

    return api_wall_ns(aa->api);
}

static size_t host_deliver(void *arg, struct mf_slice route, const struct mf_msg *m)
{
    struct api_account *aa = arg;
    struct router_msg rm = {.route = route, .msg = m, .no_request = true};
    size_t n;

    delivering++;
    n = account_publish(aa->account, &rm);
    delivering--;
    return n == 0 && router_starved(account_router(aa->account)) ? CONSUMER_LATER : n;
}

static bool host_bound(void *arg, struct mf_slice subject, struct mf_slice queue)
{
    struct api_account *aa = arg;

    return router_has_exact(account_router(aa->account), subject, queue);
}

static uint64_t host_departures(void *arg)
{
    struct api_account *aa = arg;

    return router_departures(account_router(aa->account));
}

static size_t host_largest(void *arg)
{
    struct api_account *aa = arg;

    return (size_t)aa->api->options->max_payload;
}

/* Groups are asked for by push consumers only. */
static bool host_interest(void *arg, struct mf_slice subject, struct mf_slice queue)
{
    struct api_account *aa = arg;

    return queue.len > 0 ? host_bound(arg, subject, queue)
                         : router_has_interest(account_router(aa->account), subject);
}

static void host_await(void *arg, struct consumer *c, bool on)
{
    waits_set(arg, c, on);
}

/* --- in: which consumer ----------------------------------------------------------------------- */

/* The first token; *rest goes on behind it, and is empty at the end. */
static struct mf_slice cut(struct mf_slice *rest)
{
    const uint8_t *dot = rest->len == 0 ? NULL : memchr(rest->ptr, '.', rest->len);
    struct mf_slice token = *rest;

    if (dot == NULL) {
        *rest = MF_SLICE_NONE;
        return token;
    }
    token.len = (size_t)(dot - rest->ptr);
    *rest = mf_slice(dot + 1, rest->len - token.len - 1);
    return token;
}

static size_t count_tokens(struct mf_slice s)
{
    size_t n = s.len > 0;

    for (size_t i = 0; i < s.len; i++)
        n += s.ptr[i] == '.';
    return n;
}

/* The consumer that <stream>.<consumer> at the start of *rest names; NULL: there is none. */
static struct consumer *named(struct api_account *aa, struct mf_slice *rest)
{
    struct mf_slice stream = cut(rest), name = cut(rest);
    struct stream *s = catalog_find(aa->catalog, stream);
    struct consumers *g = s == NULL ? NULL : api_consumers(s);

    return g == NULL || name.len == 0 ? NULL : consumers_find(g, name);
}

/* Newer subjects have <domain or _>.<hash of the account> before the stream: tokens that must be
 * ours. */
static bool cut_place(const struct api_account *aa, struct mf_slice *rest)
{
    const char *domain = api_domain(aa->api);
    struct mf_slice first = cut(rest), second = cut(rest);

    return mf_eq_str(first, *domain == '\0' ? "_" : domain) && mf_eq_str(second, aa->hash);
}

/* --- in: acks --------------------------------------------------------------------------------- */

#define ACK_TOKENS 5 /* <delivered>.<stream seq>.<consumer seq>.<time>.<pending> */

/* The first five tokens: more may follow in times to come. */
static struct mf_slice ack_tokens(struct mf_slice rest)
{
    struct mf_slice all = rest;

    for (unsigned i = 0; i < ACK_TOKENS; i++)
        (void)cut(&rest);
    return rest.len == 0 ? all : mf_slice(all.ptr, (size_t)(rest.ptr - all.ptr) - 1);
}

static bool ack_deliver(struct router_sub *sub, const struct router_msg *m)
{
    struct api_account *aa = mf_container(sub, struct api_account, ack_sub);
    struct mf_slice rest = mf_slice(m->route.ptr + ack_prefix.len, m->route.len - ack_prefix.len);
    size_t n = count_tokens(rest);
    struct consumer *c;

    if (m->no_request || delivering > 0)
        return false;
    if (n != ACK_TOKENS + 2 && (n < ACK_TOKENS + 4 || !cut_place(aa, &rest)))
        return false;
    c = named(aa, &rest);
    if (c == NULL || consumer_config(c)->ack_policy == ACK_NONE ||
        consumer_config(c)->ack_policy == ACK_FLOW_CONTROL)
        return false;
    return consumer_ack(c, ack_tokens(rest), m->msg->reply, m->msg->payload);
}

/* --- in: flow control ------------------------------------------------------------------------- */

static bool flow_deliver(struct router_sub *sub, const struct router_msg *m)
{
    struct api_account *aa = mf_container(sub, struct api_account, flow_sub);
    struct mf_slice rest = mf_slice(m->route.ptr + flow_prefix.len, m->route.len - flow_prefix.len);
    size_t n = count_tokens(rest);
    struct consumer *c;

    if (m->no_request || delivering > 0 || (n != 3 && (n != 5 || !cut_place(aa, &rest))))
        return false;
    c = named(aa, &rest);
    if (c == NULL || !consumer_config(c)->flow_control)
        return false;
    consumer_flow(c, rest, m->msg->hdr);
    return true;
}

/* --- in: pull requests ------------------------------------------------------------------------ */

bool wire_next(struct api_account *aa, const struct router_msg *m, struct mf_slice rest)
{
    static const struct mf_slice prefix = MF_LIT("CONSUMER.MSG.NEXT.");
    struct consumer *c;

    rest = mf_slice(rest.ptr + prefix.len, rest.len - prefix.len);
    if (count_tokens(rest) != 2)
        return false;
    c = named(aa, &rest);
    if (c == NULL)
        return false;
    if (m->msg->reply.len == 0)
        return true;
    if (!api_level_served(aa->api, m->msg->hdr))
        api_publish(aa, m->msg->reply, MF_SLICE_NONE,
                    MF_LIT("NATS/1.0 412 Required Api Level\r\n\r\n"), MF_SLICE_NONE);
    else
        consumer_pull(c, m->msg->reply, m->msg->payload, m->msg->hdr);
    return true;
}

/* --- coming and going ------------------------------------------------------------------------- */

void wire_init(struct api_account *aa)
{
    aa->consumer_host = (struct consumer_host){
        .loop = aa->api->loop,
        .now_ns = host_now,
        .wall_ns = host_wall,
        .deliver = host_deliver,
        .interest = host_interest,
        .bound = host_bound,
        .departures = host_departures,
        .largest = host_largest,
        .await_interest = host_await,
        .event = consumer_advisory,
        .arg = aa,
        .codec = consumer_json_codec,
    };
    sha256_short(mf_str(account_name(aa->account)),
                 aa->hash); /* tells it from others of a domain */
    waits_init(aa);
}

int wire_listen(struct api_account *aa, struct mf_error *e)
{
    struct router *r = account_router(aa->account);

    aa->ack_sub.deliver = ack_deliver;
    aa->flow_sub.deliver = flow_deliver;
    if (router_subscribe(r, MF_LIT("$JS.ACK.>"), MF_SLICE_NONE, &aa->ack_sub) != 0)
        return mf_fail(e, MF_NOMEM, "subscribe $JS.ACK.>");
    if (router_subscribe(r, MF_LIT("$JS.FC.>"), MF_SLICE_NONE, &aa->flow_sub) != 0)
        return mf_fail(e, MF_NOMEM, "subscribe $JS.FC.>");
    return 0;
}

void wire_unlisten(struct api_account *aa)
{
    router_unsubscribe(account_router(aa->account), &aa->ack_sub);
    router_unsubscribe(account_router(aa->account), &aa->flow_sub);
}

int wire_open(struct api_account *aa, struct stream *s, struct mf_error *e)
{
    struct consumers *g;
    int rc = consumers_open(&g, s, &aa->consumer_host, e);

    if (rc == 0)
        ingest_set_consumers(s, g);
    return rc;
}

void wire_close(struct api_account *aa, struct stream *s, bool deleted)
{
    struct consumers *g = api_consumers(s);

    if (g == NULL)
        return;
    ingest_set_consumers(s, NULL); /* what they say in their last moment finds nobody */
    waits_drop(aa, g);
    consumers_close(g, deleted);
}

size_t api_consumer_count(struct stream *s)
{
    struct consumers *g = api_consumers(s);

    return g == NULL ? 0 : consumers_count(g);
}

static void add_count(void *arg, struct stream *s)
{
    uint64_t *n = arg;

    *n += api_consumer_count(s);
}

uint64_t api_account_consumers(const struct api_account *aa)
{
    uint64_t n = 0;

    if (aa->catalog != NULL)
        catalog_each(aa->catalog, MF_SLICE_NONE, add_count, &n);
    return n;
}
