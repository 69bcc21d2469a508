/* reader.c: a consumer of the tool's own that is pulled in batches. */
#include "cli/data/reader.h"

#include "base/clock.h"

#define SLICE_MS       100
#define HEARTBEAT_NS   (2 * CLOCK_S)
#define SILENT_NS      (3 * HEARTBEAT_NS) /* without even a heartbeat: something is lost */
#define EXPIRES_NS     (30 * CLOCK_S)
#define PAUSE_NS       (250 * CLOCK_MS)
#define PAUSE_SLICE_MS 20

static const char *const policies[] = {"all", "last_per_subject", "new"};

/* --- the consumer ----------------------------------------------------------------------------- */

static int create_consumer(struct reader *r, struct request_error *err)
{
    const char *filter = r->o.filter == NULL ? ">" : r->o.filter;
    json_t *config = json_pack("{s:s, s:s, s:s, s:b, s:i, s:I}", "name", r->consumer, "ack_policy",
                               "none", "replay_policy", "instant", "mem_storage", 1, "num_replicas",
                               1, "inactive_threshold", (json_int_t)EXPIRES_NS * 2);
    json_t *body = json_pack("{s:s, s:O}", "stream_name", r->o.stream, "config", config);
    json_t *doc = NULL;
    int rc;

    if (r->seq > 0) {
        (void)json_object_set_new(config, "deliver_policy", json_string("by_start_sequence"));
        (void)json_object_set_new(config, "opt_start_seq", json_integer((json_int_t)r->seq + 1));
    } else {
        (void)json_object_set_new(config, "deliver_policy", json_string(policies[r->o.from]));
    }
    if (r->o.headers_only)
        (void)json_object_set_new(config, "headers_only", json_true());
    if (r->o.filter != NULL)
        (void)json_object_set_new(config, "filter_subject", json_string(filter));
    rc =
        request_api(r->cli, body, r->o.what, &doc, err, "CONSUMER.CREATE.%s.%s%s%s", r->o.stream,
                    r->consumer, r->o.filter == NULL ? "" : ".", r->o.filter == NULL ? "" : filter);
    r->pending = (uint64_t)request_int(doc, "num_pending");
    if (r->o.from == READER_NEW && r->seq == 0) /* what comes while the consumer is lost counts */
        r->seq = (uint64_t)request_int(json_object_get(doc, "delivered"), "stream_seq");
    r->place = 0;
    r->asked = 0;
    json_decref(doc);
    json_decref(config);
    json_decref(body);
    return rc;
}

static void name_consumer(struct reader *r)
{
    connect_make_inbox(r->cli, r->inbox);
    (void)snprintf(r->consumer, sizeof r->consumer, "mayfly-%.40s", strrchr(r->inbox, '.') + 1);
}

static int subscribe_inbox(struct reader *r)
{
    natsStatus s = natsConnection_SubscribeSync(&r->sub, connect_get(r->cli), r->inbox);

    if (s == NATS_OK) /* bounded by the batch */
        s = natsSubscription_SetPendingLimits(r->sub, -1, -1);
    if (s == NATS_OK)
        return 0;
    natsSubscription_Destroy(r->sub);
    r->sub = NULL;
    return connect_fail(r->cli, s, "subscription to %s", r->inbox);
}

int reader_open(struct reader *r, struct cli *c, const struct reader_options *o)
{
    int rc = connect_open(c);

    memset(r, 0, sizeof *r);
    r->cli = c;
    r->o = *o;
    if (r->o.batch == 0)
        r->o.batch = 256;
    if (rc != 0)
        return rc;
    name_consumer(r);
    rc = create_consumer(r, NULL);
    if (rc != 0)
        return rc;
    r->heard_ns = clock_mono_ns();
    r->ended = !o->live && r->pending == 0;
    return subscribe_inbox(r);
}

static void delete_consumer(struct reader *r)
{
    struct mf_buf to = MF_BUF_INIT;

    /* Without waiting for the answer: a user who may not delete consumers waits for nothing. */
    mf_buf_printf(&to, "%s.CONSUMER.DELETE.%s.%s", connect_api_prefix(r->cli), r->o.stream,
                  r->consumer);
    (void)natsConnection_PublishString(connect_get(r->cli), mf_buf_cstr(&to), "");
    (void)natsConnection_FlushTimeout(connect_get(r->cli), 1000);
    mf_buf_fini(&to);
}

void reader_close(struct reader *r)
{
    if (r->sub == NULL)
        return;
    /* nats.c before 3.6 crashes if a message comes while its subscription is freed: behind the
     * flush none does. */
    (void)natsSubscription_Unsubscribe(r->sub);
    if (!connect_is_closed(r->cli))
        delete_consumer(r);
    natsSubscription_Destroy(r->sub);
    r->sub = NULL;
}

/* The server lost the consumer, or we lost messages: a live reader resumes. */
static int note_loss(struct reader *r)
{
    if (!r->o.live)
        return cli_fail(r->cli, CLI_USAGE, "the connection was lost while reading %s; try again",
                        r->o.what);
    r->lost_ns = clock_mono_ns();
    return 0;
}

/* Goes on behind the last message, with a new consumer.  A server that is about to stop still says
 * so, and takes requests that it does not answer any more: hence the pause and the flush. */
static int resume(struct reader *r)
{
    natsConnection *nc = connect_get(r->cli);
    struct request_error err = {.code = 0};
    int rc;

    if (clock_mono_ns() - r->lost_ns < PAUSE_NS ||
        natsConnection_Status(nc) != NATS_CONN_STATUS_CONNECTED) {
        nats_Sleep(PAUSE_SLICE_MS);
        return connect_is_closed(r->cli)
                   ? cli_fail(r->cli, CLI_USAGE, "the server closed the connection")
                   : 0;
    }
    r->lost_ns = clock_mono_ns();
    if (natsConnection_FlushTimeout(nc, 1000) != NATS_OK)
        return 0; /* later */
    natsSubscription_Destroy(r->sub);
    r->sub = NULL;
    name_consumer(r);
    rc = subscribe_inbox(r);
    if (rc != 0)
        return rc;
    rc = create_consumer(r, &err);
    if (rc == CLI_USAGE && !connect_is_closed(r->cli))
        return 0; /* no answer: later */
    if (rc == 0 && err.code != 0 && err.code != 503)
        return request_refused(r->cli, &err, r->o.what);
    if (rc == 0 && err.code == 0)
        r->lost_ns = 0;
    r->heard_ns = clock_mono_ns();
    return rc;
}

/* --- pulling ---------------------------------------------------------------------------------- */

static int send_pull(struct reader *r)
{
    struct mf_buf to = MF_BUF_INIT, body = MF_BUF_INIT;
    natsStatus s;

    mf_buf_printf(&to, "%s.CONSUMER.MSG.NEXT.%s.%s", connect_api_prefix(r->cli), r->o.stream,
                  r->consumer);
    if (r->o.live)
        mf_buf_printf(&body, "{\"batch\":%d,\"expires\":%lld,\"idle_heartbeat\":%lld}", r->o.batch,
                      (long long)EXPIRES_NS, (long long)HEARTBEAT_NS);
    else
        mf_buf_printf(&body, "{\"batch\":%d,\"no_wait\":true}", r->o.batch);
    s = natsConnection_PublishRequestString(connect_get(r->cli), mf_buf_cstr(&to), r->inbox,
                                            mf_buf_cstr(&body));
    mf_buf_fini(&to);
    mf_buf_fini(&body);
    if (s != NATS_OK)
        return connect_fail(r->cli, s, "pull request");
    r->asked = r->o.batch;
    r->heard_ns = clock_mono_ns();
    return 0;
}

/* A message without a body that has a status: the end of a pull request, or a heartbeat. */
static int take_status(struct reader *r, const char *status)
{
    uint64_t code;

    if (mf_parse_u64(mf_str(status), &code) != 0)
        code = 0; /* as one that is not known */
    if (code == 100)
        return 0;
    r->asked = 0;
    if (code == 404) {
        r->ended = !r->o.live;
        return 0;
    }
    return code == 408 ? 0 : note_loss(r); /* 409 and 503: the consumer is gone */
}

static int take_message(struct reader *r, natsMsg *msg, struct message *m)
{
    const char *status = NULL;
    bool headed = natsMsgHeader_Get(msg, "Status", &status) == NATS_OK;

    if (message_from_delivery(msg, m) != 0) {
        int rc = headed ? take_status(r, status) : 0;

        natsMsg_Destroy(msg);
        memset(m, 0, sizeof *m);
        return rc;
    }
    if (m->place != r->place + 1) {
        message_fini(m);
        return note_loss(r);
    }
    r->place = m->place;
    r->seq = m->seq;
    r->pending = m->pending;
    r->asked--;
    if (!r->o.live && m->pending == 0)
        r->ended = true;
    return 0;
}

static int check_errors(struct reader *r)
{
    char text[512];

    if (connect_is_closed(r->cli))
        return cli_fail(r->cli, CLI_USAGE, "the server closed the connection");
    if (connect_take_error(r->cli, text, sizeof text) && strcasestr(text, "permissions violation"))
        return cli_fail(r->cli, CLI_DENIED, "not permitted: %s", text);
    return 0;
}

int reader_next(struct reader *r, struct message *m, int64_t wait_ms)
{
    int64_t end = clock_mono_ns() + wait_ms * CLOCK_MS;
    int rc = 0;

    memset(m, 0, sizeof *m);
    while (rc == 0 && m->msg == NULL && !r->ended && !cli_interrupted()) {
        int64_t left = (end - clock_mono_ns()) / CLOCK_MS;
        natsMsg *msg = NULL;
        natsStatus s;

        if (r->lost_ns != 0) {
            rc = resume(r);
            if (rc != 0 || r->lost_ns != 0) {
                if (clock_mono_ns() >= end)
                    break;
                continue;
            }
        }
        if (r->asked <= 0 && (rc = send_pull(r)) != 0)
            break;
        s = natsSubscription_NextMsg(&msg, r->sub,
                                     left < 1          ? 1
                                     : left > SLICE_MS ? SLICE_MS
                                                       : left);
        if (s == NATS_OK) {
            r->heard_ns = clock_mono_ns();
            rc = take_message(r, msg, m);
        } else if (s == NATS_NO_RESPONDERS) {
            rc = take_status(r, "503");
        } else if (s != NATS_TIMEOUT) {
            rc = connect_fail(r->cli, s, "messages of %s", r->o.what);
        } else if ((rc = check_errors(r)) == 0 && clock_mono_ns() - r->heard_ns > SILENT_NS) {
            rc = note_loss(r);
        }
        if (m->msg == NULL && clock_mono_ns() >= end)
            break;
    }
    return rc;
}
