/* server_info.c: see server_info.h.
 *
 * nats.c keeps the INFO line to itself, so a second, short connection reads it: a server sends it
 * first, before any TLS, unless it wants the handshake first. */
#include "cli/ops/server_info.h"

#include "base/clock.h"

#include "cli/human.h"
#include "cli/request.h"
#include "cli/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define INFO_MAX  (64u << 10)
#define INFO_MS   2000
#define PING_MS   1000 /* for the first answer of $SYS.REQ.SERVER.PING; then as long as they come */
#define PING_IDLE 300

/* --- the INFO line ---------------------------------------------------------------------------- */

/* Host and port of nats://host:port. */
static void split_url(const char *url, char host[256], char port[8])
{
    const char *p = strstr(url, "://"), *colon;

    p = p == NULL ? url : p + 3;
    colon = strrchr(p, ':');
    (void)snprintf(port, 8, "%.6s", colon == NULL ? "4222" : colon + 1);
    if (*p == '[')
        (void)snprintf(host, 256, "%.*s", (int)strcspn(p + 1, "]"), p + 1);
    else
        (void)snprintf(host, 256, "%.*s", (int)strcspn(p, ":/"), p);
}

/* The INFO document, or NULL if the server sends none to a plain connection. */
static json_t *read_info(const char *url)
{
    struct mf_buf text = MF_BUF_INIT;
    char host[256], port[8];
    json_t *doc = NULL;
    int fd;

    split_url(url, host, port);
    if (http_dial(host, port, INFO_MS, &fd, NULL) != 0)
        return NULL;
    while (text.len < INFO_MAX) {
        uint8_t *room = mf_buf_reserve(&text, 4096);
        ssize_t n = room == NULL ? -1 : recv(fd, room, 4096, 0);

        if (n <= 0)
            break;
        text.len += (size_t)n;
        if (memchr(text.ptr, '\n', text.len) != NULL)
            break;
    }
    (void)close(fd);
    if (mf_starts(mf_buf_slice(&text), "INFO "))
        doc = json_loadb((const char *)text.ptr + 5, text.len - 5, JSON_DISABLE_EOF_CHECK, NULL);
    mf_buf_fini(&text);
    return doc;
}

/* --- info ------------------------------------------------------------------------------------- */

static void put_row(struct table *t, const char *name, const char *fmt, ...) MF_PRINTF(3, 4);
static void put_row(struct table *t, const char *name, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    table_styled(t, TERM_BOLD, "%s", name);
    table_cell(t, "%s", text);
}

static void put_limit(struct table *t, const char *name, const json_t *used, const char *use_key,
                      const json_t *limits, const char *limit_key, bool bytes)
{
    const char *(*show)(char *, uint64_t) = bytes ? human_bytes : human_count;
    int64_t limit = request_int(limits, limit_key);
    char a[HUMAN_TEXT], b[HUMAN_TEXT];

    (void)show(a, (uint64_t)request_int(used, use_key));
    if (limit < 0 || limits == NULL)
        put_row(t, name, "%s, no limit", a);
    else
        put_row(t, name, "%s of %s", a, show(b, (uint64_t)limit));
}

static void put_account(struct table *t, const json_t *user, const json_t *account)
{
    const json_t *limits = json_object_get(account, "limits");

    if (user != NULL) {
        if (request_text(user, "user")[0] != '\0')
            put_row(t, "user", "%s", request_text(user, "user"));
        put_row(t, "account", "%s", request_text(user, "account"));
    }
    if (account == NULL) {
        put_row(t, "jetstream", "not for this account");
        return;
    }
    put_row(t, "jetstream", "API level %" PRId64 ", %" PRId64 " requests, %" PRId64 " errors",
            request_int(json_object_get(account, "api"), "level"),
            request_int(json_object_get(account, "api"), "total"),
            request_int(json_object_get(account, "api"), "errors"));
    if (request_text(account, "domain")[0] != '\0')
        put_row(t, "domain", "%s", request_text(account, "domain"));
    put_limit(t, "streams", account, "streams", limits, "max_streams", false);
    put_limit(t, "consumers", account, "consumers", limits, "max_consumers", false);
    put_limit(t, "file storage", account, "storage", limits, "max_storage", true);
    put_limit(t, "memory storage", account, "memory", limits, "max_memory", true);
}

static void put_server(struct table *t, const json_t *info, const char *url, int64_t rtt)
{
    char text[HUMAN_TEXT];

    put_row(t, "url", "%s", url);
    put_row(t, "round trip", "%s", human_duration(text, rtt));
    if (info == NULL) {
        put_row(t, "server", "sends its INFO only after a TLS handshake");
        return;
    }
    put_row(t, "server", "%s", request_text(info, "server_name"));
    put_row(t, "id", "%s", request_text(info, "server_id"));
    if (request_text(info, "mayfly")[0] != '\0')
        put_row(t, "mayfly", "%s", request_text(info, "mayfly"));
    put_row(t, "version", "%s", request_text(info, "version"));
    put_row(t, "max payload", "%s", human_bytes(text, (uint64_t)request_int(info, "max_payload")));
    put_row(t, "headers", "%s", request_bool(info, "headers") ? "yes" : "no");
    put_row(t, "needs a user", "%s", request_bool(info, "auth_required") ? "yes" : "no");
    put_row(t, "TLS", "%s",
            request_bool(info, "tls_required")    ? "required"
            : request_bool(info, "tls_available") ? "available"
                                                  : "no");
}

/* An optional document: silence and refusals are no failure. */
static json_t *ask_quietly(struct cli *c, const char *subject)
{
    natsMsg *reply = NULL;
    json_t *doc = NULL;

    if (natsConnection_RequestString(&reply, connect_get(c), subject, "", 2000) == NATS_OK)
        doc = json_loadb(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), 0, NULL);
    natsMsg_Destroy(reply);
    if (json_is_object(doc) && json_object_get(doc, "error") == NULL)
        return doc;
    json_decref(doc);
    return NULL;
}

int server_info_run(struct cli *c)
{
    char url[256], subject[CONNECT_PREFIX + 8];
    json_t *info, *user, *account, *all;
    int64_t rtt = 0;
    struct table t;
    int rc = connect_open(c);

    if (rc != 0)
        return rc;
    connect_server_url(c, url, sizeof url);
    (void)natsConnection_GetRTT(connect_get(c), &rtt);
    info = read_info(url);
    user = ask_quietly(c, "$SYS.REQ.USER.INFO");
    (void)snprintf(subject, sizeof subject, "%s.INFO", connect_api_prefix(c));
    account = ask_quietly(c, subject);
    if (c->json) {
        all = json_pack("{s:s, s:I, s:O*, s:O*, s:O*}", "url", url, "rtt_ns", (json_int_t)rtt,
                        "info", info, "user", json_object_get(user, "data"), "account", account);
        request_print(c, all);
        json_decref(all);
    } else {
        table_init(&t, &c->term, "ll", NULL);
        put_server(&t, info, url, rtt);
        put_account(&t, json_object_get(user, "data"), account);
        table_print(&t);
    }
    json_decref(info);
    json_decref(user);
    json_decref(account);
    return CLI_OK;
}

/* --- ls --------------------------------------------------------------------------------------- */

/* All answers to a PING of the servers; an empty list if nobody may ask. */
static json_t *ping_servers(struct cli *c)
{
    natsSubscription *sub = NULL;
    char inbox[CONNECT_INBOX], error[256];
    json_t *list = json_array();
    int64_t wait = PING_MS;
    natsMsg *m = NULL;

    connect_make_inbox(c, inbox);
    if (natsConnection_SubscribeSync(&sub, connect_get(c), inbox) != NATS_OK ||
        natsConnection_PublishRequestString(connect_get(c), "$SYS.REQ.SERVER.PING", inbox, "") !=
            NATS_OK)
        wait = 0;
    while (wait > 0 && natsSubscription_NextMsg(&m, sub, wait) == NATS_OK) {
        json_t *doc =
            natsMsg_IsNoResponders(m)
                ? NULL
                : json_loadb(natsMsg_GetData(m), (size_t)natsMsg_GetDataLength(m), 0, NULL);

        wait = doc == NULL ? 0 : PING_IDLE;
        if (doc != NULL)
            (void)json_array_append_new(list, doc);
        natsMsg_Destroy(m);
        m = NULL;
    }
    (void)connect_take_error(c, error, sizeof error);
    natsSubscription_Destroy(sub);
    return list;
}

static void put_pinged(struct table *t, const json_t *doc)
{
    const json_t *s = json_object_get(doc, "server"), *z = json_object_get(doc, "statsz");
    char bytes[HUMAN_TEXT], uptime[HUMAN_TEXT];
    int64_t since = request_time(z, "start"), now = request_time(s, "time");

    table_cell(t, "%s", request_text(s, "name"));
    table_cell(t, "%s", request_text(s, "host"));
    table_cell(t, "%s", request_text(s, "ver"));
    table_cell(t, "%s", request_bool(s, "jetstream") ? "yes" : "no");
    table_cell(t, "%" PRId64, request_int(z, "connections"));
    table_cell(t, "%" PRId64, request_int(z, "subscriptions"));
    table_cell(t, "%s", human_bytes(bytes, (uint64_t)request_int(z, "mem")));
    table_cell(t, "%.0f %%", request_real(z, "cpu"));
    table_cell(t, "%s", since == 0 || now < since ? "-" : human_duration(uptime, now - since));
}

static void print_servers(struct cli *c, const json_t *list)
{
    static const char *const heads[] = {"SERVER", "HOST",   "VERSION", "JETSTREAM", "CONNECTIONS",
                                        "SUBS",   "MEMORY", "CPU",     "UPTIME"};
    struct table t;
    json_t *doc;
    size_t i;

    table_init(&t, &c->term, "llllrrrrr", heads);
    json_array_foreach(list, i, doc) put_pinged(&t, doc);
    table_print(&t);
}

/* Without the system account only the connected server is known. */
static int print_connected(struct cli *c)
{
    static const char *const heads[] = {"SERVER", "ADDRESS", "VERSION", "JETSTREAM"};
    char url[256];
    json_t *info, *all;
    struct table t;

    connect_server_url(c, url, sizeof url);
    info = read_info(url);
    if (c->json) {
        all = json_pack("{s:[O*], s:s}", "connected", info, "why",
                        "only users of the system account may ask for all servers");
        request_print(c, all);
        json_decref(all);
    } else {
        table_init(&t, &c->term, "llll", heads);
        table_cell(&t, "%s", request_text(info, "server_name"));
        table_cell(&t, "%s", url);
        table_cell(&t, "%s", request_text(info, "version"));
        table_cell(&t, "%s", request_bool(info, "jetstream") ? "yes" : "no");
        table_print(&t);
        (void)fputs("Only the connected server is shown: only users of the system account may ask "
                    "for all.\n",
                    c->term.out);
    }
    json_decref(info);
    return CLI_OK;
}

int server_info_list(struct cli *c)
{
    json_t *list, *all;
    int rc = connect_open(c);

    if (rc != 0)
        return rc;
    list = ping_servers(c);
    if (json_array_size(list) == 0)
        rc = print_connected(c);
    else if (c->json) {
        all = json_pack("{s:O}", "servers", list);
        request_print(c, all);
        json_decref(all);
    } else
        print_servers(c, list);
    json_decref(list);
    return rc;
}
