/* natsc_auth.c: every credential of nats.c, right and wrong, and TLS. */
#include "natsc.h"

#include <stdio.h>
#include <string.h>

#include "certs.h"

/* Keys made for this test; nats.c takes the seed as a plain void pointer. */
static char seed[] = "SUALX6QM4G7EK2G3H6FHSWVKDVCMSM7UNQ6OVC5RFUJYHWFBT7Q2FO5FRU";
static char seed2[] = "SUAAGUS27QZJMFJLZSNIDXQ4CZVDI26SN24OG43V7INV6RENLNNMH4KAKY";
#define PUBLIC  "UD2FJJDWODQ3K4C2QLPGPBXX23L43GPSBFNPGBZ6I2MBYOX2Y2E7BNW6"
#define PUBLIC2 "UBADXDILWKKDL2ZYZVICLBBFDG3EWPIOV7SSTYVJUGIHG4OJRFP3LUK4"
/* "s3cret" */
#define BCRYPT "$2a$04$abcdefghijklmnopqrstuuLZYjhNQAOdpbzt4WxWlUHjv1wsyH5DG"

static natsOptions *with_user(const char *user, const char *pass)
{
    natsOptions *o = natsc_options();

    ASSERT_OK(natsOptions_SetUserInfo(o, user, pass));
    return o;
}

static natsOptions *with_token(const char *token)
{
    natsOptions *o = natsc_options();

    ASSERT_OK(natsOptions_SetToken(o, token));
    return o;
}

static void test_token_decides(void)
{
    server_proc_start(&natsc_server, "authorization { timeout: 60, token: \"t0ken\" }", 0);
    natsc_works(natsc_connect(with_token("t0ken")));
    natsc_refused(with_token("token"), NATS_CONNECTION_AUTH_FAILED);
    natsc_refused(natsc_options(), NATS_CONNECTION_AUTH_FAILED);
    server_proc_stop(&natsc_server);
}

static void test_user_and_password_decide(void)
{
    server_proc_start(&natsc_server,
                      "authorization { timeout: 60, users: [ {user: plain, password: p}, "
                      "{user: hashed, password: \"" BCRYPT "\"} ] }",
                      0);
    natsc_works(natsc_connect(with_user("plain", "p")));
    natsc_works(natsc_connect(with_user("hashed", "s3cret")));
    natsc_refused(with_user("plain", "s3cret"), NATS_CONNECTION_AUTH_FAILED);
    natsc_refused(with_user("hashed", "p"), NATS_CONNECTION_AUTH_FAILED);
    natsc_refused(with_user("hashed", BCRYPT), NATS_CONNECTION_AUTH_FAILED);
    natsc_refused(natsc_options(), NATS_CONNECTION_AUTH_FAILED);
    server_proc_stop(&natsc_server);
}

static natsStatus sign(char **error, unsigned char **sig, int *len, const char *nonce, void *arg)
{
    natsStatus s = nats_Sign(arg, nonce, sig, len);

    (void)error;
    natsc_signature_lost = s == NATS_OK && (*sig)[0] == 0;
    return s;
}

static void test_nkey_signature_decides(void)
{
    natsOptions *right, *wrong, *claims;

    server_proc_start(&natsc_server,
                      "authorization { timeout: 60, users: [ { nkey: " PUBLIC " } ] }", 0);
    right = natsc_options();
    ASSERT_OK(natsOptions_SetNKey(right, PUBLIC, sign, seed));
    natsc_works(natsc_connect(right));
    wrong = natsc_options();
    ASSERT_OK(natsOptions_SetNKey(wrong, PUBLIC2, sign, seed2));
    natsc_refused(wrong, NATS_CONNECTION_AUTH_FAILED);
    claims = natsc_options();
    ASSERT_OK(natsOptions_SetNKey(claims, PUBLIC, sign, seed2));
    natsc_refused(claims, NATS_CONNECTION_AUTH_FAILED);
    server_proc_stop(&natsc_server);
}

static void test_no_auth_user_takes_the_anonymous(void)
{
    server_proc_start(&natsc_server,
                      "accounts { A { users: [ {user: guest, password: g} ] } }\n"
                      "no_auth_user: guest\nauthorization { timeout: 60 }",
                      0);
    natsc_works(natsc_connect(NULL));
    natsc_refused(with_user("guest", "wrong"), NATS_CONNECTION_AUTH_FAILED);
    server_proc_stop(&natsc_server);
}

/* --- TLS -------------------------------------------------------------------------------------- */

static void start_tls(const char *more)
{
    char config[1024];
    const char *d;

    server_proc_folder(&natsc_server);
    d = natsc_server.dir;
    certs_write(d);
    (void)snprintf(config, sizeof config,
                   "tls { cert_file: \"%s/server.pem\", key_file: \"%s/server.key\"\n"
                   "ca_file: \"%s/ca.pem\", timeout: 60\n%s }",
                   d, d, d, more);
    server_proc_start(&natsc_server, config, 0);
}

static natsOptions *trusting(const char *ca, bool with_certificate)
{
    natsOptions *o = natsc_options();
    char path[160], key[160];

    ASSERT_OK(natsOptions_SetSecure(o, true));
    ASSERT_OK(natsOptions_SetExpectedHostname(o, "localhost"));
    (void)snprintf(path, sizeof path, "%s/%s.pem", natsc_server.dir, ca);
    ASSERT_OK(natsOptions_LoadCATrustedCertificates(o, path));
    if (with_certificate) {
        (void)snprintf(path, sizeof path, "%s/client.pem", natsc_server.dir);
        (void)snprintf(key, sizeof key, "%s/client.key", natsc_server.dir);
        ASSERT_OK(natsOptions_LoadCertificatesChain(o, path, key));
    }
    return o;
}

static void test_tls_server_is_verified(void)
{
    start_tls("");
    natsc_works(natsc_connect(trusting("ca", false)));
    natsc_refused(trusting("stranger_ca", false), NATS_SSL_ERROR);
    /* Told by INFO, nats.c turns to TLS by itself, but knows no authority. */
    natsc_refused(natsc_options(), NATS_SSL_ERROR);
    server_proc_stop(&natsc_server);
}

static void test_tls_client_certificate_is_demanded(void)
{
    natsConnection *nc = NULL;

    start_tls("verify: true");
    natsc_works(natsc_connect(trusting("ca", true)));
    /* With TLS 1.3 the refusal arrives after the handshake, as any of several errors. */
    TEST_ASSERT_NOT_EQUAL_INT(NATS_OK, natsConnection_Connect(&nc, trusting("ca", false)));
    server_proc_stop(&natsc_server);
}

/* --- permissions ------------------------------------------------------------------------------ */

static bool error_seen(void *arg)
{
    const char *text = NULL;

    return natsConnection_GetLastError(arg, &text) == NATS_NOT_PERMITTED ||
           (text != NULL && strstr(text, "Permissions Violation") != NULL);
}

static void test_permission_violations_are_reported(void)
{
    natsSubscription *sub = NULL;
    natsConnection *nc;

    server_proc_start(&natsc_server,
                      "authorization { timeout: 60, users: [ {user: u, password: p, permissions: { "
                      "publish: [\"ok\", \"works\"], subscribe: [\"works\", \"_INBOX.>\"] } } ] }",
                      0);
    nc = natsc_connect(with_user("u", "p"));
    natsc_works(nc);
    ASSERT_OK(natsConnection_PublishString(nc, "forbidden", "x"));
    (void)natsConnection_FlushTimeout(nc, NATSC_TIMEOUT_MS);
    wait_until("no publish violation was reported", error_seen, nc);
    natsc_works(nc);
    natsConnection *again = natsc_connect(with_user("u", "p"));
    ASSERT_OK(natsConnection_SubscribeSync(&sub, again, "forbidden"));
    (void)natsConnection_FlushTimeout(again, NATSC_TIMEOUT_MS);
    wait_until("no subscribe violation was reported", error_seen, again);
    natsSubscription_Destroy(sub);
    server_proc_stop(&natsc_server);
}

void run_auth_tests(void)
{
    RUN_TEST(test_token_decides);
    RUN_TEST(test_user_and_password_decide);
    RUN_TEST(test_nkey_signature_decides);
    RUN_TEST(test_no_auth_user_takes_the_anonymous);
    RUN_TEST(test_tls_server_is_verified);
    RUN_TEST(test_tls_client_certificate_is_demanded);
    RUN_TEST(test_permission_violations_are_reported);
}
