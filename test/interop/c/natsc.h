/* natsc.h: what the nats.c tests share: one server, connections that end with the test. */
#ifndef TEST_NATSC_H
#define TEST_NATSC_H

#include <nats/nats.h>

#include "server_proc.h"
#include "unity.h"

#define NATSC_MAX        8
#define NATSC_TIMEOUT_MS 60000 /* for what never comes: a machine may stall */

extern struct server_proc natsc_server; /* stopped and removed by tearDown() */

#define ASSERT_NATS(expected, call)                                                                \
    do {                                                                                           \
        natsStatus got_ = (call);                                                                  \
        TEST_ASSERT_EQUAL_STRING_MESSAGE(natsStatus_GetText(expected), natsStatus_GetText(got_),   \
                                         #call);                                                   \
    } while (0)
#define ASSERT_OK(call) ASSERT_NATS(NATS_OK, call)

/* Options without reconnects, for the running server; freed by tearDown(). */
natsOptions *natsc_options(void);
/* A connection with these options, or with natsc_options() when NULL; closed by tearDown(). */
natsConnection *natsc_connect(natsOptions *o);
/* The last signature began with a zero byte: nats.c leaves it out, and natsc_connect() connects
 * again. */
extern bool natsc_signature_lost;
/* JetStream whose requests wait for ms; destroyed by the caller. */
jsCtx *natsc_jetstream(natsConnection *nc, int64_t ms);
/* Expects the connection to be refused with this status. */
void natsc_refused(natsOptions *o, natsStatus why);
/* The next message's text equals `expected`. */
void natsc_expect(natsSubscription *sub, const char *expected);
/* Publishes to itself and hears it: the connection works both ways. */
void natsc_works(natsConnection *nc);

void run_core_tests(void);
void run_auth_tests(void);
void run_life_tests(void);
void run_js_tests(void);
void run_mirror_tests(void);
void run_stream_tests(void);
void run_watch_tests(void);

#endif
