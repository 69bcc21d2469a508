/* ttl_ask.c: many requests side by side: one subscription for all answers, so that a page of keys
 * costs one round trip, not one a key. */
#include "cli/ttl/ttl_impl.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

#define IN_FLIGHT 256 /* far below the server's request_queue_limit */

struct asking {
    struct cli *c;
    struct ttl_ask *asks;
    size_t n, sent, answered;
    char inbox[CONNECT_INBOX];
    natsSubscription *sub;
    bool optional, denied;
};

static natsStatus send_one(struct asking *a, size_t i)
{
    char *body = a->asks[i].body == NULL ? NULL : json_dumps(a->asks[i].body, JSON_COMPACT);
    char reply[CONNECT_INBOX + 24];
    natsStatus s;

    (void)snprintf(reply, sizeof reply, "%s.%zu", a->inbox, i);
    s = natsConnection_PublishRequest(connect_get(a->c), a->asks[i].subject, reply, body,
                                      body == NULL ? 0 : (int)strlen(body));
    free(body);
    return s;
}

static natsStatus send_more(struct asking *a)
{
    natsStatus s = NATS_OK;

    /* Of optional ones the first goes alone: so there is at most one refusal, and it is heard. */
    size_t most = a->optional && a->answered == 0 ? 1 : IN_FLIGHT;

    while (s == NATS_OK && a->sent < a->n && a->sent - a->answered < most)
        s = send_one(a, a->sent++);
    return s == NATS_OK ? natsConnection_Flush(connect_get(a->c)) : s;
}

static void take_answer(struct asking *a, natsMsg *m)
{
    const char *dot = strrchr(natsMsg_GetSubject(m), '.');
    uint64_t i;

    if (dot == NULL || mf_parse_u64(mf_str(dot + 1), &i) != 0 || i >= a->n)
        return;
    a->answered++;
    if (a->asks[i].answer == NULL && !natsMsg_IsNoResponders(m))
        a->asks[i].answer =
            json_loadb(natsMsg_GetData(m), (size_t)natsMsg_GetDataLength(m), 0, NULL);
}

/* The next answer.  0 and NULL: there is none to come. */
static int wait_for_answer(struct asking *a, natsMsg **m)
{
    int64_t end = clock_mono_ns() + connect_timeout_ms(a->c) * CLOCK_MS;
    char error[512];

    if (!a->optional)
        return ttl_next(a->c, a->sub, (int)connect_timeout_ms(a->c), m);
    while (natsSubscription_NextMsg(m, a->sub, 10) == NATS_TIMEOUT)
        if ((a->denied = connect_take_error(a->c, error, sizeof error)) ||
            connect_is_closed(a->c) || cli_interrupted() || clock_mono_ns() > end)
            break;
    return 0;
}

static int collect_answers(struct asking *a)
{
    int rc = 0;

    while (rc == 0 && a->answered < a->n && !cli_interrupted()) {
        natsMsg *m = NULL;
        natsStatus s = send_more(a);

        if (s != NATS_OK)
            return connect_fail(a->c, s, "send a request");
        rc = wait_for_answer(a, &m);
        if (m == NULL && rc == 0 && !a->optional && !cli_interrupted())
            rc = cli_fail(a->c, CLI_USAGE, "%zu of %zu requests have no answer in time (--timeout)",
                          a->n - a->answered, a->n);
        if (m == NULL)
            break;
        take_answer(a, m);
        natsMsg_Destroy(m);
    }
    return rc;
}

int ttl_ask_all(struct cli *c, struct ttl_ask *asks, size_t n, bool optional)
{
    struct asking a = {.c = c, .asks = asks, .n = n, .optional = optional};
    char all[CONNECT_INBOX + 8];
    natsStatus s;
    int rc;

    if (n == 0)
        return 0;
    connect_make_inbox(c, a.inbox);
    (void)snprintf(all, sizeof all, "%s.*", a.inbox);
    s = natsConnection_SubscribeSync(&a.sub, connect_get(c), all);
    rc = s == NATS_OK ? collect_answers(&a) : connect_fail(c, s, "subscribe to %s", all);
    natsSubscription_Destroy(a.sub);
    asks[0].denied = a.denied;
    return rc;
}

json_t *ttl_ask_one(struct cli *c, json_t *body, bool *denied, const char *fmt, ...)
{
    char request[TTL_SUBJECT], subject[TTL_SUBJECT];
    struct ttl_ask ask = {.subject = subject, .body = body};
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(request, sizeof request, fmt, ap);
    va_end(ap);
    (void)ttl_subject(subject, c, "%s", request);
    if (ttl_ask_all(c, &ask, 1, true) != 0 || json_object_get(ask.answer, "error") != NULL) {
        json_decref(ask.answer);
        ask.answer = NULL;
    }
    *denied = ask.denied;
    return ask.answer;
}

void ttl_ask_free(struct ttl_ask *asks, size_t n)
{
    for (size_t i = 0; asks != NULL && i < n; i++) {
        free(asks[i].subject);
        json_decref(asks[i].body);
        json_decref(asks[i].answer);
    }
    free(asks);
}
