/* request_info.c: the client of a request, as other accounts see it: the header Nats-Request-Info,
 * and latency reports. */
#include "status/pages_impl.h"

#include "session/login.h"

static void write_details(struct jsonw *w, const struct client *c, const char *service,
                          bool with_jwt)
{
    struct client_info i;

    client_info_of(c, &i);
    if (i.who == NULL)
        i.issuer = NULL;
    jsonw_time(w, "start", i.start_ns);
    jsonw_str(w, "host", i.ip);
    jsonw_u64(w, "id", i.cid);
    jsonw_opt_str(w, "acc", i.account);
    jsonw_opt_str(w, "svc", service);
    jsonw_opt_str(w, "user", i.user);
    jsonw_opt_str(w, "name", i.name);
    jsonw_opt_str(w, "lang", i.lang);
    jsonw_opt_str(w, "ver", i.version);
    if (i.rtt_ns > 0)
        jsonw_i64(w, "rtt", i.rtt_ns);
    jsonw_str(w, "server", server_name(client_server(c)));
    page_user_identity(w, &i, i.who != NULL ? i.who->name : NULL, with_jwt);
    jsonw_str(w, "kind", "Client");
    jsonw_str(w, "client_type", i.kind == CLIENT_WS ? "websocket" : "nats");
}

/* origin: the publishing client, or NULL for the server itself. */
static bool describe(const void *origin, bool detailed, bool with_jwt, const char *service,
                     struct mf_buf *json, int64_t *rtt_ns)
{
    const struct client *c = origin;
    struct jsonw w;

    if (c == NULL || client_account(c) == NULL)
        return false;
    *rtt_ns = client_rtt_ns(c);
    jsonw_begin(&w, json, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    if (detailed) {
        write_details(&w, c, service, with_jwt);
    } else {
        jsonw_str(&w, "acc", account_name(client_account(c)));
        jsonw_opt_str(&w, "svc", service);
        if (*rtt_ns > 0)
            jsonw_i64(&w, "rtt", *rtt_ns);
    }
    jsonw_end(&w);
    return true;
}

static bool info_of(void *arg, const void *origin, bool detailed, const char *service,
                    struct mf_buf *json, int64_t *rtt_ns)
{
    (void)arg;
    return describe(origin, detailed, true, service, json, rtt_ns);
}

void request_info_register(struct accounts *as)
{
    accounts_set_request_info(as, info_of, NULL);
}

bool status_client_info(const void *origin, struct mf_buf *json)
{
    int64_t rtt_ns;

    return describe(origin, true, false, NULL, json, &rtt_ns);
}
