/* dispatch.c: routes requests to their handlers.
 *
 * Requests under the domain's prefix arrive here under the plain one: the account's mappings have
 * replaced it before the client's permissions were checked (account/mapping.c).
 *
 * Checks common to all requests are made here, in nats-server's order: the API level, then whether
 * the account has JetStream.  A subject without a route gets no answer but counts as received: its
 * sender must not get "no responders". */
#include "api/account_purge_impl.h"
#include "api/api_impl.h"
#include "jetstream/consumer_wire.h"
#include "jetstream/direct.h"

#include "base/clock.h"
#include "msgtrace/msgtrace.h"
#include "proto/header.h"
#include "base/log.h"
#include "subject/subject.h"

#include <stdlib.h>

/* --- the table -------------------------------------------------------------------------------- */

static void no_page(struct api_call *call, struct jsonw *w)
{
    (void)call;
    jsonw_u64(w, "total", 0);
    jsonw_u64(w, "offset", 0);
    jsonw_u64(w, "limit", 0);
}

static void no_names(struct api_call *call, struct jsonw *w)
{
    no_page(call, w);
    jsonw_null(w, "streams");
}

static void no_streams(struct api_call *call, struct jsonw *w)
{
    no_page(call, w);
    jsonw_array(w, "streams");
    jsonw_end(w);
}

static void no_consumers(struct api_call *call, struct jsonw *w)
{
    no_page(call, w);
    jsonw_array(w, "consumers");
    jsonw_end(w);
}

static void no_purged(struct api_call *call, struct jsonw *w)
{
    (void)call;
    jsonw_u64(w, "purged", 0);
}

static void no_pause(struct api_call *call, struct jsonw *w)
{
    (void)call;
    jsonw_bool(w, "paused", false);
    jsonw_time(w, "pause_until", CLOCK_ZERO);
}

/* Requests that need a cluster. */
static void cluster_handle(struct api_call *call)
{
    struct js_error e;

    js_error_set(&e, JS_CLUSTER_REQUIRED);
    api_reply_error(call, &e);
}

static const struct api_route routes[] = {
    {"INFO", "account_info_response", account_info_handle, NULL, false, false},
    {"STREAM.CREATE.*", "stream_create_response", stream_create_handle, NULL, false, false},
    {"STREAM.UPDATE.*", "stream_update_response", stream_update_handle, NULL, false, false},
    {"STREAM.INFO.*", "stream_info_response", stream_info_handle, no_page, false, false},
    {"STREAM.NAMES", "stream_names_response", stream_names_handle, no_names, false, false},
    {"STREAM.LIST", "stream_list_response", stream_list_handle, no_streams, false, false},
    {"STREAM.DELETE.*", "stream_delete_response", stream_delete_handle, NULL, false, false},
    {"STREAM.PURGE.*", "stream_purge_response", stream_purge_handle, no_purged, false, false},
    {"STREAM.MSG.GET.*", "stream_msg_get_response", msg_get_handle, NULL, false, false},
    {"STREAM.MSG.DELETE.*", "stream_msg_delete_response", msg_delete_handle, NULL, false, false},
    {"STREAM.LEADER.STEPDOWN.*", "stream_leader_stepdown_response", cluster_handle, NULL, false,
     false},
    {"STREAM.PEER.REMOVE.*", "stream_remove_peer_response", cluster_handle, NULL, false, false},
    {"STREAM.PEER.EVACUATE.*", "stream_evacuate_peer_response", cluster_handle, NULL, false, false},
    {"STREAM.CANCEL_MOVE.*", "stream_cancel_move_response", cluster_handle, NULL, false, false},
    {"CONSUMER.PEER.REMOVE.*.*", "consumer_remove_peer_response", cluster_handle, NULL, false,
     false},
    {"CONSUMER.PEER.EVACUATE.*.*", "consumer_evacuate_peer_response", cluster_handle, NULL, false,
     false},
    {"CONSUMER.LEADER.STEPDOWN.*.*", "consumer_leader_stepdown_response", cluster_handle, NULL,
     false, false},
    {"CONSUMER.CREATE.*", "consumer_create_response", consumer_create_handle, NULL, false, true},
    {"CONSUMER.CREATE.*.>", "consumer_create_response", consumer_create_handle, NULL, false, true},
    {"CONSUMER.DURABLE.CREATE.*.*", "consumer_create_response", consumer_create_handle, NULL, false,
     true},
    {"CONSUMER.INFO.*.*", "consumer_info_response", consumer_info_handle, NULL, false, true},
    {"CONSUMER.NAMES.*", "consumer_names_response", consumer_names_handle, no_consumers, false,
     false},
    {"CONSUMER.LIST.*", "consumer_list_response", consumer_list_handle, no_consumers, false, false},
    {"CONSUMER.DELETE.*.*", "consumer_delete_response", consumer_delete_handle, NULL, false, false},
    {"CONSUMER.PAUSE.*.*", "consumer_pause_response", consumer_pause_handle, no_pause, false, true},
    {"CONSUMER.RESET.*.*", "consumer_reset_response", consumer_reset_handle, NULL, false, true},
    {"CONSUMER.UNPIN.*.*", "consumer_unpin_response", consumer_unpin_handle, NULL, false, true},
};

/* For the system account: without a cluster only the first is answered. */
static const struct api_route system_routes[] = {
    {"ACCOUNT.PURGE.*", "account_purge_response", account_purge_handle, NULL, false, true},
    {"META.LEADER.STEPDOWN", "", NULL, NULL, false, false},
    {"META.RESCUE", "", NULL, NULL, false, false},
    {"SERVER.REMOVE", "", NULL, NULL, false, false},
    {"SERVER.EVACUATE", "", NULL, NULL, false, false},
    {"ACCOUNT.STREAM.MOVE.*.*", "", NULL, NULL, false, false},
    {"ACCOUNT.STREAM.CANCEL_MOVE.*.*", "", NULL, NULL, false, false},
};

const struct api_service api_jetstream = {MF_LIT("$JS.API."), API_TYPE, routes, MF_COUNT(routes)};
static const struct api_service api_system = {MF_LIT("$JS.API."), API_TYPE, system_routes,
                                              MF_COUNT(system_routes)};

static const struct api_route *route_of(const struct api_service *service, struct mf_slice rest)
{
    for (size_t i = 0; i < service->nroutes; i++)
        if (subject_match(mf_str(service->routes[i].pattern), rest))
            return &service->routes[i];
    return NULL;
}

/* --- common to all requests ------------------------------------------------------------------- */

bool api_call_level(struct api_call *call)
{
    struct js_error e;

    if (jetstream_level_served(call->aa->api->js, call->hdr))
        return true;
    js_error_set(&e, JS_REQUIRED_API_LEVEL);
    api_reply_error(call, &e);
    return false;
}

bool api_call_enabled(struct api_call *call)
{
    struct js_error e;

    if (call->ja->catalog != NULL)
        return true;
    js_error_set(&e, JS_NOT_ENABLED_FOR_ACCOUNT);
    api_reply_error(call, &e);
    return false;
}

#define API_ELEMENTS_MAX 100000u /* of lists and objects in one request, by its commas */

/* A document with this many elements would keep other clients waiting. */
static bool body_too_rich(struct api_call *call)
{
    const uint8_t *p = call->body.ptr, *end = p + call->body.len;
    struct mf_error why;
    size_t n = 0;

    if (call->body.len <= 2 * API_ELEMENTS_MAX) /* usual requests are not scanned */
        return false;
    while (n <= API_ELEMENTS_MAX && (p = memchr(p, ',', (size_t)(end - p))) != NULL) {
        n++;
        p++;
    }
    if (n <= API_ELEMENTS_MAX)
        return false;
    mf_fail(&why, MF_LIMIT, "more than %u elements", API_ELEMENTS_MAX);
    api_reply_unread(call, MF_INVAL, &why);
    return true;
}

void api_call_run(struct api_call *call)
{
    if (api_settle_call(call) || body_too_rich(call))
        return;
    if (call->route->own_order || (api_call_level(call) && api_call_enabled(call)))
        call->route->handle(call);
}

/* The system account has no JetStream: every request gets that error, INFO in its own form.  Orders
 * to the server are served. */
static void serve_system(struct api_account *aa, const struct router_msg *m, struct mf_slice rest)
{
    const struct api_route *order = route_of(&api_system, rest);
    struct api_call *call;
    struct js_error e;

    if (order != NULL && order->handle == NULL)
        return;
    call = api_call_new(aa, &api_jetstream, m, rest, false);
    if (call == NULL)
        return;
    if (order != NULL) {
        call->route = order;
        call->type = order->type;
        order->handle(call);
        return;
    }
    call->type = "system_response";
    js_error_set(&e, JS_NOT_ENABLED_FOR_ACCOUNT);
    api_reply_error(call, &e);
}

/* Waiting requests take memory: there is a limit. */
static bool over_limit(struct api_account *aa)
{
    if (!api_queue_full(aa))
        return false;
    advisory_api_limit(aa->api, 1);
    return true;
}

/* Keeps the request and serves it. */
static void serve_route(struct api_account *aa, const struct api_service *service,
                        const struct api_route *route, const struct router_msg *m,
                        struct mf_slice rest)
{
    struct api_call *call;

    if (route == NULL || over_limit(aa))
        return;
    call = api_call_new(aa, service, m, rest, route->with_client || advisory_audited(aa));
    if (call == NULL) {
        api_send_no_memory(aa, service, m->msg->subject, m->msg->reply, route->type);
        return;
    }
    call->route = route;
    call->type = route->type;
    api_call_serve(call, m->origin != NULL);
}

/* --- subscriptions ---------------------------------------------------------------------------- */

static struct mf_slice rest_of(const struct api_service *service, const struct router_msg *m)
{
    size_t n = service->prefix.len;

    return mf_slice(m->route.ptr + n, m->route.len - n);
}

/* To nats-server this is a service of the system account, which allows no traces. */
static bool trace_request(struct api_account *aa, const struct router_msg *m)
{
    const struct account *system = accounts_system(aa->api->js->accounts);

    if (system != NULL)
        msgtrace_imported(m->trace, account_name(system), m->route, m->route);
    return !m->dry_run;
}

bool dispatch_api(struct router_sub *sub, const struct router_msg *m)
{
    struct api_account *aa = mf_container(sub, struct api_account, api_sub);
    const struct api_extension *above = aa->api->extension;
    const struct api_service *service = &api_jetstream;
    struct mf_slice rest = rest_of(service, m);
    const struct api_route *route;

    if (m->no_request || consumer_wire_delivering())
        return false;
    if (m->dry_run && (mf_starts(rest, "CONSUMER.MSG.NEXT.") || mf_starts(rest, "DIRECT.GET.")))
        return false;
    if (mf_starts(rest, "CONSUMER.MSG.NEXT."))
        return aa->ja->catalog != NULL && consumer_wire_next(aa->ja, m, rest);
    if (mf_starts(rest, "DIRECT.GET."))
        return aa->ja->catalog != NULL && direct_get(aa->ja, m, rest);
    if (MF_UNLIKELY(m->trace != NULL) && !trace_request(aa, m))
        return false;
    route = route_of(service, rest);
    if (route == NULL && above != NULL) {
        service = above->service;
        route = route_of(service, rest);
    }
    if (account_is_system(aa->ja->account) &&
        (route == NULL || route->handle != account_info_handle))
        serve_system(aa, m, rest);
    else
        serve_route(aa, service, route, m, rest);
    return true;
}

bool dispatch_ttl(struct router_sub *sub, const struct router_msg *m)
{
    struct api_account *aa = mf_container(sub, struct api_account, ttl_sub);
    struct mf_slice rest = rest_of(&api_ttl, m);

    if (m->no_request || consumer_wire_delivering())
        return false;
    serve_route(aa, &api_ttl, route_of(&api_ttl, rest), m, rest);
    return true;
}
