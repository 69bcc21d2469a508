/* demo_server.c: the demo's side towards the server: its bucket, its watcher, its requests. */
#include "cli/ttl/demo_impl.h"

#include "base/clock.h"

#include "cli/data/message.h"

#include <stdio.h>

#define ASK_MS 2000 /* for requests whose failure is an answer */

/* --- what is there ---------------------------------------------------------------------------- */

enum answer { ANSWERED, NOBODY, DENIED, SILENT };

/* A request that prints nothing.  *doc: the answer, if it is a JSON object. */
static enum answer ask_quietly(struct demo *d, const char *subject, json_t **doc)
{
    int64_t end = clock_mono_ns() + ASK_MS * CLOCK_MS;
    char inbox[CONNECT_INBOX], error[512];
    natsSubscription *sub = NULL;
    natsMsg *m = NULL;
    natsStatus s;
    enum answer found = SILENT;

    *doc = NULL;
    connect_make_inbox(d->c, inbox);
    s = natsConnection_SubscribeSync(&sub, connect_get(d->c), inbox);
    if (s == NATS_OK)
        s = natsConnection_PublishRequest(connect_get(d->c), subject, inbox, NULL, 0);
    while (s == NATS_OK && found == SILENT && !cli_interrupted() && clock_mono_ns() < end) {
        natsStatus got = natsSubscription_NextMsg(&m, sub, 10);

        if (got == NATS_NO_RESPONDERS || (got == NATS_OK && natsMsg_IsNoResponders(m)))
            found = NOBODY;
        else if (got == NATS_OK)
            found = ANSWERED;
        else if (connect_take_error(d->c, error, sizeof error))
            found = DENIED;
    }
    if (found == ANSWERED)
        *doc = json_loadb(natsMsg_GetData(m), (size_t)natsMsg_GetDataLength(m), 0, NULL);
    natsMsg_Destroy(m);
    natsSubscription_Destroy(sub);
    return found;
}

int demo_look(struct demo *d)
{
    char subject[TTL_SUBJECT];
    enum answer found;
    json_t *doc;
    int64_t code;
    int rc = connect_open(d->c);

    if (rc != 0)
        return rc;
    (void)snprintf(subject, sizeof subject, "%s.INFO", connect_api_prefix(d->c));
    found = ask_quietly(d, subject, &doc);
    code = request_int(json_object_get(doc, "error"), "code");
    json_decref(doc);
    if (found == NOBODY || code == 503)
        return cli_fail(d->c, CLI_USAGE,
                        "JetStream is off on %s, or for this account, and lifetimes are "
                        "JetStream's; start a server with it: mayflyd -js -sd DIR",
                        connect_url(d->c));
    found = ask_quietly(d, ttl_subject(subject, d->c, "POLICY"), &doc);
    d->mayfly = json_is_object(doc);
    d->denied = found == DENIED;
    json_decref(doc);
    return 0;
}

/* --- the bucket ------------------------------------------------------------------------------- */

static json_t *make_config(const struct demo *d)
{
    char subject[64], warn[16];
    json_t *config;

    (void)snprintf(subject, sizeof subject, "%s>", d->key_prefix);
    (void)snprintf(warn, sizeof warn, "%ds", d->warn_s);
    config = json_pack("{s:s,s:[s],s:i,s:b,s:b,s:b,s:b,s:s,s:I}", "name", d->stream, "subjects",
                       subject, "max_msgs_per_subject", 1, "allow_msg_ttl", 1, "allow_direct", 1,
                       "allow_rollup_hdrs", 1, "deny_delete", 1, "discard", "new",
                       "subject_delete_marker_ttl", (json_int_t)(60 * CLOCK_S));
    (void)json_object_set_new(
        config, "metadata",
        json_pack("{s:s,s:s}", "mayfly.ttl.default", "10m", "mayfly.ttl.warn", warn));
    return config;
}

int demo_make_bucket(struct demo *d)
{
    json_t *config = make_config(d), *doc = NULL;
    int rc = request_api(d->c, config, d->stream, &doc, NULL, "STREAM.CREATE.%s", d->stream);

    d->made = rc == 0;
    if (rc == 0 && !request_bool(json_object_get(doc, "config"), "allow_msg_ttl"))
        rc = cli_fail(d->c, CLI_USAGE,
                      "%s has no TTLs of messages; a Mayfly or a nats-server from 2.11 on has",
                      connect_url(d->c));
    json_decref(config);
    json_decref(doc);
    return rc;
}

/* With nats.c's own request: the others give up after Ctrl-C. */
void demo_remove(struct demo *d)
{
    char subject[TTL_SUBJECT];
    natsMsg *reply = NULL;

    natsSubscription_Destroy(d->news);
    natsSubscription_Destroy(d->warnings);
    d->news = d->warnings = NULL;
    if (!d->made || cli_on(d->c, "keep"))
        return;
    (void)snprintf(subject, sizeof subject, "%s.STREAM.DELETE.%s", connect_api_prefix(d->c),
                   d->stream);
    if (natsConnection_RequestString(&reply, connect_get(d->c), subject, "", ASK_MS) != NATS_OK)
        (void)cli_fail(d->c, CLI_USAGE, "the stream %s could not be removed", d->stream);
    natsMsg_Destroy(reply);
    d->made = false;
}

/* --- the watcher ------------------------------------------------------------------------------ */

/* As kv watch: a consumer pushes everything to an inbox, in order. */
int demo_watch(struct demo *d)
{
    char inbox[CONNECT_INBOX], events[TTL_SUBJECT];
    json_t *request, *doc = NULL;
    natsStatus s;
    int rc;

    connect_make_inbox(d->c, inbox);
    s = natsConnection_SubscribeSync(&d->news, connect_get(d->c), inbox);
    if (s == NATS_OK && d->mayfly) {
        (void)snprintf(events, sizeof events, "$MAYFLY.EVENT.TTL.EXPIRING.%s.>", d->stream);
        s = natsConnection_SubscribeSync(&d->warnings, connect_get(d->c), events);
    }
    if (s != NATS_OK)
        return connect_fail(d->c, s, "subscribe");
    request = json_pack("{s:s,s:{s:s,s:s,s:s,s:b,s:i,s:s}}", "stream_name", d->stream, "config",
                        "deliver_subject", inbox, "deliver_policy", "all", "ack_policy", "none",
                        "mem_storage", 1, "num_replicas", 1, "replay_policy", "instant");
    rc = request_api(d->c, request, d->stream, &doc, NULL, "CONSUMER.CREATE.%s", d->stream);
    json_decref(request);
    json_decref(doc);
    return rc;
}

static struct demo_key *find_key(struct demo *d, const char *subject)
{
    size_t len = strlen(d->key_prefix);

    for (size_t i = 0; strncmp(subject, d->key_prefix, len) == 0 && i < d->nkeys; i++)
        if (strcmp(subject + len, d->keys[i].name) == 0)
            return &d->keys[i];
    return NULL;
}

/* The time at which the server stored a delivered message; 0: it is no delivery. */
static int64_t stored_ns(natsMsg *m)
{
    struct message delivered;

    return message_from_delivery(m, &delivered) == 0 ? delivered.time_ns : 0;
}

static void take_delivery(struct demo *d, natsMsg *m, struct demo_news *n)
{
    struct demo_key *k = find_key(d, natsMsg_GetSubject(m));
    int64_t stored = stored_ns(m);
    const char *reason = NULL;

    if (k == NULL)
        return;
    n->key = k;
    if (natsMsgHeader_Get(m, "Nats-Marker-Reason", &reason) != NATS_OK) {
        n->kind = DEMO_PUT;
        if (k->ttl_s > 0 && k->expires_ns == 0)
            k->expires_ns = stored + k->ttl_s * CLOCK_S;
        return;
    }
    n->kind = DEMO_END;
    k->ended = true;
    (void)snprintf(n->reason, sizeof n->reason, "%s", reason);
    n->late_ns = k->expires_ns == 0 ? 0 : stored - k->expires_ns;
}

static void take_warning(struct demo *d, natsMsg *m, struct demo_news *n)
{
    json_t *doc = json_loadb(natsMsg_GetData(m), (size_t)natsMsg_GetDataLength(m), 0, NULL);

    n->key = find_key(d, request_text(doc, "subject"));
    n->left_ms = request_int(doc, "left_ms");
    if (n->key != NULL) {
        n->kind = DEMO_WARNING;
        n->key->warned = true;
    }
    json_decref(doc);
}

int demo_next(struct demo *d, int ms, struct demo_news *n)
{
    int64_t end = clock_mono_ns() + ms * CLOCK_MS;
    natsMsg *m = NULL;
    int rc = 0;

    *n = (struct demo_news){.kind = DEMO_NOTHING};
    while (rc == 0 && n->kind == DEMO_NOTHING && !cli_interrupted() && clock_mono_ns() < end) {
        if (d->warnings != NULL && natsSubscription_NextMsg(&m, d->warnings, 1) == NATS_OK)
            take_warning(d, m, n);
        else if ((rc = ttl_next(d->c, d->news, 20, &m)) == 0 && m != NULL)
            take_delivery(d, m, n);
        natsMsg_Destroy(m);
        m = NULL;
    }
    return rc;
}

/* --- keys ------------------------------------------------------------------------------------- */

/* Mayfly says the deadline in the publish ack, if it is asked to. */
static void read_ack(struct demo *d, natsMsg *reply, struct demo_key *k)
{
    json_t *ack = json_loadb(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), 0, NULL);

    if (d->mayfly)
        k->expires_ns = request_time(ack, "expires");
    json_decref(ack);
}

int demo_put(struct demo *d, struct demo_key *k)
{
    char subject[TTL_SUBJECT], ttl[16];
    natsMsg *m = NULL, *reply = NULL;
    natsStatus s;
    int rc;

    (void)snprintf(subject, sizeof subject, "%s%s", d->key_prefix, k->name);
    (void)snprintf(ttl, sizeof ttl, "%ds", k->ttl_s);
    s = natsMsg_Create(&m, subject, NULL, "hello", 5);
    if (s == NATS_OK && k->ttl_s > 0)
        s = natsMsgHeader_Set(m, "Nats-TTL", ttl);
    if (s == NATS_OK && d->mayfly)
        s = natsMsgHeader_Set(m, "Mayfly-TTL", "show");
    rc = s == NATS_OK ? request_send(d->c, m, &reply) : connect_fail(d->c, s, "put %s", k->name);
    if (rc == 0)
        read_ack(d, reply, k);
    natsMsg_Destroy(m);
    natsMsg_Destroy(reply);
    return rc;
}

int demo_touch(struct demo *d, struct demo_key *k)
{
    struct request_error err = {.code = 0};
    json_t *doc = NULL;
    int rc = request_ttl(d->c, NULL, k->name, &doc, &err, "TOUCH.%s.%s%s", d->stream, d->key_prefix,
                         k->name);

    if (rc == 0 && err.code != 0)
        rc = err.code == 404 ? CLI_NOT_FOUND : request_refused(d->c, &err, k->name);
    if (rc == 0) {
        k->expires_ns = request_time(doc, "expires");
        k->warned = false;
    }
    json_decref(doc);
    return rc;
}

json_t *demo_ask(struct demo *d, const char *request, const char *body)
{
    json_t *doc = NULL, *in = json_loads(body, 0, NULL);

    if (ttl_request(d->c, in, d->bucket, &doc, "%s.%s", request, d->stream) != 0)
        doc = NULL;
    json_decref(in);
    return doc;
}
