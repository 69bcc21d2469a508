/* kv_ttl.c: `mayfly kv ttl`: the time that a key has left.
 *
 * Mayfly's TTL API knows it.  Other servers do not tell: there it is reckoned from Nats-TTL and the
 * bucket's max_age, and the output says so. */
#include "cli/data/kv.h"

#include "base/clock.h"
#include "cli/data/data_impl.h"
#include "cli/human.h"

struct lifetime {
    const char *state;  /* ttl, infinite, none */
    int64_t expires_ns; /* 0: never */
    const char *source; /* NULL: the server said it */
};

static void print_lifetime(struct cli *c, const struct kv *kv, const char *key,
                           const struct lifetime *l)
{
    char left[HUMAN_TEXT], when[HUMAN_TEXT], rfc[CLOCK_TEXT];
    int64_t now = data_now();

    if (c->json) {
        json_t *doc = json_pack("{s:s, s:s, s:s, s:b}", "bucket", kv->bucket, "key", key, "state",
                                l->state, "reckoned", l->source != NULL);

        if (l->expires_ns != 0) {
            (void)json_object_set_new(doc, "expires",
                                      json_string(clock_rfc3339(rfc, l->expires_ns)));
            (void)json_object_set_new(doc, "left_ms",
                                      json_integer((l->expires_ns - now) / CLOCK_MS));
        }
        request_print(c, doc);
        json_decref(doc);
        return;
    }
    if (l->expires_ns != 0)
        (void)fprintf(c->term.out, "%s (expires %s)", human_duration(left, l->expires_ns - now),
                      human_time(when, l->expires_ns));
    else
        (void)fputs(strcmp(l->state, "infinite") == 0 ? "does not expire (never)"
                                                      : "does not expire (no TTL)",
                    c->term.out);
    (void)fprintf(c->term.out, "%s%s\n", l->source == NULL ? "" : ", ",
                  l->source == NULL ? "" : l->source);
}

/* --- reckoned --------------------------------------------------------------------------------- */

/* A value of Nats-TTL: whole seconds or a duration.  0: never, or not valid. */
static int64_t read_ttl(const char *text)
{
    uint64_t seconds;
    int64_t ns;

    if (mf_parse_u64(mf_str(text), &seconds) == 0)
        return seconds > INT64_MAX / CLOCK_S ? INT64_MAX : (int64_t)seconds * CLOCK_S;
    return cli_parse_duration(text, &ns) == 0 ? ns : 0;
}

static int reckon(struct cli *c, const struct kv *kv, const char *subject, const char *what,
                  struct lifetime *l)
{
    struct message m;
    json_t *doc = NULL;
    const char *ttl;
    int64_t ns = 0, age;
    int rc = message_get_last(c, kv->stream, subject, what, false, &m);

    if (rc != 0)
        return rc;
    if (message_end(&m) != NULL)
        rc = cli_fail(c, CLI_NOT_FOUND, "%s has no value: %s", what, message_end(&m));
    else
        rc = request_api(c, NULL, kv->bucket, &doc, NULL, "STREAM.INFO.%s", kv->stream);
    if (rc == 0) {
        age = request_int(json_object_get(doc, "config"), "max_age");
        ttl = message_header(&m, "Nats-TTL");
        l->source = "reckoned: this server has no TTL API";
        l->state = ttl != NULL && strcmp(ttl, "never") == 0 ? "infinite" : "none";
        if (ttl != NULL)
            ns = read_ttl(ttl);
        if (ns == 0 && strcmp(l->state, "none") == 0)
            ns = age;
        if (ns > 0) {
            l->state = "ttl";
            l->expires_ns = ns > INT64_MAX - m.time_ns ? INT64_MAX : m.time_ns + ns;
        }
    }
    json_decref(doc);
    message_fini(&m);
    return rc;
}

/* --- asked ------------------------------------------------------------------------------------ */

static int read_answer(struct cli *c, natsMsg *reply, const char *what, struct lifetime *l)
{
    json_error_t e;
    json_t *doc = json_loadb(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), 0, &e);
    const char *state = request_text(doc, "state");
    struct request_error err;
    int rc = 0;

    request_read_error(doc, &err);
    if (err.code != 0) {
        rc = request_refused(c, &err, what);
    } else if (!json_is_object(doc)) {
        rc = cli_fail(c, CLI_USAGE, "the answer of the TTL API is no JSON object");
    } else if (request_bool(doc, "tombstone")) {
        rc = cli_fail(c, CLI_NOT_FOUND, "%s has no value: its last message is a tombstone", what);
    } else {
        l->state = strcmp(state, "ttl") == 0        ? "ttl"
                   : strcmp(state, "infinite") == 0 ? "infinite"
                                                    : "none";
        l->expires_ns = request_time(doc, "expires");
    }
    json_decref(doc);
    return rc;
}

static void name_request(struct cli *c, const struct kv *kv, const char *subject, struct mf_buf *to)
{
    const char *domain = connect_domain(c);

    mf_buf_printf(to, "$MAYFLY.%s%sTTL.GET.%s.%s", domain == NULL ? "" : domain,
                  domain == NULL ? "" : ".", kv->stream, subject);
}

/* Waits for the answer; silent when it is refused or stays away. */
static natsMsg *wait_quietly(struct cli *c, natsSubscription *sub)
{
    int64_t end = clock_mono_ns() + connect_timeout_ms(c) * CLOCK_MS;
    natsMsg *reply = NULL;
    char text[512];

    while (natsSubscription_NextMsg(&reply, sub, 10) == NATS_TIMEOUT)
        if (clock_mono_ns() > end || connect_take_error(c, text, sizeof text) || cli_interrupted())
            break;
    return reply;
}

int64_t kv_expiry(struct cli *c, const struct kv *kv, const char *key, uint64_t seq)
{
    struct mf_buf subject = MF_BUF_INIT, to = MF_BUF_INIT;
    natsSubscription *sub = NULL;
    natsMsg *reply = NULL;
    char inbox[CONNECT_INBOX];
    int64_t expires = 0;
    json_error_t e;

    kv_subject(kv, key, &subject);
    name_request(c, kv, mf_buf_cstr(&subject), &to);
    connect_make_inbox(c, inbox);
    if (natsConnection_SubscribeSync(&sub, connect_get(c), inbox) == NATS_OK &&
        natsConnection_PublishRequestString(connect_get(c), mf_buf_cstr(&to), inbox, "") == NATS_OK)
        reply = wait_quietly(c, sub);
    if (reply != NULL) {
        json_t *doc =
            json_loadb(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), 0, &e);

        if ((uint64_t)request_int(doc, "seq") == seq)
            expires = request_time(doc, "expires");
        json_decref(doc);
    }
    natsMsg_Destroy(reply);
    natsSubscription_Destroy(sub);
    mf_buf_fini(&subject);
    mf_buf_fini(&to);
    return expires;
}

static int ask(struct cli *c, const struct kv *kv, const char *subject, const char *what,
               struct lifetime *l)
{
    struct mf_buf to = MF_BUF_INIT;
    natsMsg *m = NULL, *reply = NULL;
    int rc;

    name_request(c, kv, subject, &to);
    rc = data_new_msg(c, &m, mf_buf_cstr(&to), NULL, MF_SLICE_NONE);
    mf_buf_fini(&to);
    if (rc == 0)
        rc = request_send(c, m, &reply);
    if (rc == 0)
        rc = natsMsg_IsNoResponders(reply) ? reckon(c, kv, subject, what, l)
                                           : read_answer(c, reply, what, l);
    natsMsg_Destroy(m);
    natsMsg_Destroy(reply);
    return rc;
}

int kv_ttl_run(struct cli *c)
{
    struct lifetime l = {"none", 0, NULL};
    struct mf_buf subject = MF_BUF_INIT;
    char what[512];
    struct kv kv;
    int rc = kv_open_key(c, &kv);

    if (rc != 0)
        return rc;
    (void)snprintf(what, sizeof what, "%s/%s", kv.bucket, cli_arg(c, 1));
    kv_subject(&kv, cli_arg(c, 1), &subject);
    rc = ask(c, &kv, mf_buf_cstr(&subject), what, &l);
    if (rc == 0)
        print_lifetime(c, &kv, cli_arg(c, 1), &l);
    mf_buf_fini(&subject);
    return rc;
}
