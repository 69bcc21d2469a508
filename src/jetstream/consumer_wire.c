/* consumer_wire.c: messages to and from consumers.
 *
 * Out: host_deliver() publishes a message to the inbox or deliver subject; its receivers see the
 * subject it was stored under.
 * In: pull requests arrive through the API's subscription, consumer acks and flow control through
 * one subscription each.  The subject names the consumer.  If there is none, the subscription
 * refuses the message, so the sender gets "no responders", as if each consumer had its own
 * subscription.
 * Nothing here allocates. */
#include "jetstream/consumer_wire.h"

#include "jetstream/advisory.h"
#include "jetstream/jetstream_impl.h"

#include "codec/sha256.h"

static const struct mf_slice ack_prefix = MF_LIT("$JS.ACK."), flow_prefix = MF_LIT("$JS.FC.");

/* --- out -------------------------------------------------------------------------------------- */

static _Thread_local unsigned delivering; /* of the loop thread */

bool consumer_wire_delivering(void)
{
    return delivering > 0;
}

static int64_t host_now(void *arg)
{
    struct js_account *ja = arg;

    return jetstream_now_ns(ja->js);
}

static int64_t host_wall(void *arg)
{
    struct js_account *ja = arg;

    return jetstream_wall_ns(ja->js);
}

static size_t host_deliver(void *arg, struct mf_slice route, const struct mf_msg *m)
{
    struct js_account *ja = arg;
    struct router_msg rm = {.route = route, .msg = m, .no_request = true};
    size_t n;

    delivering++;
    n = account_publish(ja->account, &rm);
    delivering--;
    return n == 0 && router_search_failed(account_router(ja->account)) ? CONSUMER_LATER : n;
}

static bool host_bound(void *arg, struct mf_slice subject, struct mf_slice queue)
{
    struct js_account *ja = arg;

    return router_has_exact(account_router(ja->account), subject, queue);
}

static uint64_t host_departures(void *arg)
{
    struct js_account *ja = arg;

    return router_count_ended(account_router(ja->account));
}

static size_t host_largest(void *arg)
{
    struct js_account *ja = arg;

    return (size_t)ja->js->options->max_payload;
}

/* Only push consumers have a queue group. */
static bool host_interest(void *arg, struct mf_slice subject, struct mf_slice queue)
{
    struct js_account *ja = arg;

    return queue.len > 0 ? host_bound(arg, subject, queue)
                         : router_has_interest(account_router(ja->account), subject);
}

static void host_await(void *arg, struct consumer *c, bool on)
{
    waits_set(arg, c, on);
}

/* --- in: which consumer ----------------------------------------------------------------------- */

/* Cuts off the first token; *rest is empty after the last. */
static struct mf_slice cut_token(struct mf_slice *rest)
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
static struct consumer *find_named(struct js_account *ja, struct mf_slice *rest)
{
    struct mf_slice stream = cut_token(rest), name = cut_token(rest);
    struct stream *s = catalog_find(ja->catalog, stream);
    struct consumers *g = s == NULL ? NULL : js_consumers(s);

    return g == NULL || name.len == 0 ? NULL : consumers_find(g, name);
}

/* Newer subjects have <domain or _>.<hash of the account> before the stream; both must match. */
static bool cut_place(const struct js_account *ja, struct mf_slice *rest)
{
    const char *domain = jetstream_domain(ja->js);
    struct mf_slice first = cut_token(rest), second = cut_token(rest);

    return mf_eq_str(first, *domain == '\0' ? "_" : domain) && mf_eq_str(second, js_wire(ja)->hash);
}

/* --- in: acks --------------------------------------------------------------------------------- */

#define ACK_TOKENS 5 /* <delivered>.<stream seq>.<consumer seq>.<time>.<pending> */

/* The first five tokens; later versions may append more. */
static struct mf_slice ack_tokens(struct mf_slice rest)
{
    struct mf_slice all = rest;

    for (unsigned i = 0; i < ACK_TOKENS; i++)
        (void)cut_token(&rest);
    return rest.len == 0 ? all : mf_slice(all.ptr, (size_t)(rest.ptr - all.ptr) - 1);
}

static bool ack_deliver(struct router_sub *sub, const struct router_msg *m)
{
    struct js_account *ja = &mf_container(sub, struct js_wire, ack_sub)->account;
    struct mf_slice rest = mf_slice(m->route.ptr + ack_prefix.len, m->route.len - ack_prefix.len);
    size_t n = count_tokens(rest);
    struct consumer *c;

    if (m->no_request || delivering > 0)
        return false;
    if (n != ACK_TOKENS + 2 && (n < ACK_TOKENS + 4 || !cut_place(ja, &rest)))
        return false;
    c = find_named(ja, &rest);
    if (c == NULL || consumer_config(c)->ack_policy == ACK_NONE ||
        consumer_config(c)->ack_policy == ACK_FLOW_CONTROL)
        return false;
    return consumer_ack(c, ack_tokens(rest), m->msg->reply, m->msg->payload);
}

/* --- in: flow control ------------------------------------------------------------------------- */

static bool flow_deliver(struct router_sub *sub, const struct router_msg *m)
{
    struct js_account *ja = &mf_container(sub, struct js_wire, flow_sub)->account;
    struct mf_slice rest = mf_slice(m->route.ptr + flow_prefix.len, m->route.len - flow_prefix.len);
    size_t n = count_tokens(rest);
    struct consumer *c;

    if (m->no_request || delivering > 0 || (n != 3 && (n != 5 || !cut_place(ja, &rest))))
        return false;
    c = find_named(ja, &rest);
    if (c == NULL || !consumer_config(c)->flow_control)
        return false;
    consumer_flow(c, rest, m->msg->hdr);
    return true;
}

/* --- in: pull requests ------------------------------------------------------------------------ */

bool consumer_wire_next(struct js_account *ja, const struct router_msg *m, struct mf_slice rest)
{
    static const struct mf_slice prefix = MF_LIT("CONSUMER.MSG.NEXT.");
    struct consumer *c;

    rest = mf_slice(rest.ptr + prefix.len, rest.len - prefix.len);
    if (count_tokens(rest) != 2)
        return false;
    c = find_named(ja, &rest);
    if (c == NULL)
        return false;
    if (m->msg->reply.len == 0)
        return true;
    if (!jetstream_level_served(ja->js, m->msg->hdr))
        js_publish(ja, m->msg->reply, MF_SLICE_NONE,
                   MF_LIT("NATS/1.0 412 Required Api Level\r\n\r\n"), MF_SLICE_NONE);
    else
        consumer_pull(c, m->msg->reply, m->msg->payload, m->msg->hdr);
    return true;
}

/* --- added and removed ------------------------------------------------------------------------ */

void wire_init(struct js_account *ja)
{
    js_wire(ja)->consumer_host = (struct consumer_host){
        .loop = ja->js->loop,
        .now_ns = host_now,
        .wall_ns = host_wall,
        .deliver = host_deliver,
        .interest = host_interest,
        .bound = host_bound,
        .departures = host_departures,
        .largest = host_largest,
        .await_interest = host_await,
        .event = consumer_advisory,
        .present = declare_present,
        .arg = ja,
        .codec = *ja->js->setup.hooks->consumer_codec,
    };
    sha256_short(mf_str(account_name(ja->account)),
                 js_wire(ja)->hash); /* distinguishes accounts of one domain */
    waits_init(ja);
    declare_init(ja);
}

int wire_listen(struct js_account *ja, struct mf_error *e)
{
    struct router *r = account_router(ja->account);

    js_wire(ja)->ack_sub.deliver = ack_deliver;
    js_wire(ja)->flow_sub.deliver = flow_deliver;
    if (router_subscribe(r, MF_LIT("$JS.ACK.>"), MF_SLICE_NONE, &js_wire(ja)->ack_sub) != 0)
        return mf_fail(e, MF_NOMEM, "subscribe $JS.ACK.>");
    if (router_subscribe(r, MF_LIT("$JS.FC.>"), MF_SLICE_NONE, &js_wire(ja)->flow_sub) != 0)
        return mf_fail(e, MF_NOMEM, "subscribe $JS.FC.>");
    return 0;
}

void wire_unlisten(struct js_account *ja)
{
    router_unsubscribe(account_router(ja->account), &js_wire(ja)->ack_sub);
    router_unsubscribe(account_router(ja->account), &js_wire(ja)->flow_sub);
}

int wire_open(struct js_account *ja, struct stream *s, struct mf_error *e)
{
    struct consumers *g;
    int rc = consumers_open(&g, s, &js_wire(ja)->consumer_host, e);

    if (rc == 0)
        ingest_set_consumers(s, g);
    return rc;
}

void wire_close(struct js_account *ja, struct stream *s, bool deleted)
{
    struct consumers *g = js_consumers(s);

    if (g == NULL)
        return;
    declare_absent(ja, g);
    ingest_set_consumers(s, NULL); /* acks that arrive during the close find no consumer */
    waits_drop(ja, g);
    consumers_close(g, deleted);
}
