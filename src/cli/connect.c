/* connect.c: see connect.h. */
#include "cli/connect.h"

#include "base/clock.h"

#include "cli/context.h"
#include "cli/human.h"
#include "cli/ops/nkeys.h"

#include <jansson.h>
#include <limits.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_URL     "nats://127.0.0.1:4222"
#define DEFAULT_TIMEOUT (5 * CLOCK_S)
#define MAX_URLS        64

struct cli_connection {
    natsConnection *nc;
    natsOptions *options;
    json_t *context;
    char url[512], api_prefix[CONNECT_PREFIX]; /* url: to show */
    pthread_mutex_t lock;                      /* of `error`, which nats.c's threads write */
    char error[512];
};

/* --- settings --------------------------------------------------------------------------------- */

/* The value of a setting from its flag, environment variable or member of the context; NULL. */
static const char *find_setting(const struct cli *c, const char *flag, const char *env,
                                const char *member)
{
    const char *text = cli_text(c, flag);

    if (text == NULL && env != NULL && (text = getenv(env)) != NULL && text[0] == '\0')
        text = NULL;
    if (text == NULL && c->connection != NULL)
        text = json_string_value(json_object_get(c->connection->context, member));
    return text == NULL || text[0] == '\0' ? NULL : text;
}

int64_t connect_timeout_ms(const struct cli *c)
{
    const char *env = getenv("NATS_TIMEOUT");
    int64_t ns = DEFAULT_TIMEOUT;

    if (env != NULL && cli_parse_duration(env, &ns) != 0)
        ns = DEFAULT_TIMEOUT;
    ns = cli_duration(c, "timeout", ns);
    return ns < CLOCK_MS ? 1 : ns / CLOCK_MS > INT_MAX ? INT_MAX : ns / CLOCK_MS;
}

const char *connect_domain(const struct cli *c)
{
    return find_setting(c, "js-domain", NULL, "jetstream_domain");
}

static int set_api_prefix(struct cli *c)
{
    struct cli_connection *k = c->connection;
    const char *prefix = find_setting(c, "js-api-prefix", NULL, "jetstream_api_prefix");
    const char *domain = connect_domain(c);
    size_t len = prefix == NULL ? 0 : strlen(prefix), size = sizeof k->api_prefix;
    int n;

    len -= len > 0 && prefix[len - 1] == '.';
    n = prefix != NULL   ? snprintf(k->api_prefix, size, "%.*s", (int)len, prefix)
        : domain != NULL ? snprintf(k->api_prefix, size, "$JS.%s.API", domain)
                         : snprintf(k->api_prefix, size, "$JS.API");
    return (size_t)n < size ? 0 : cli_usage(c, "the prefix of the JetStream API is too long");
}

const char *connect_api_prefix(const struct cli *c)
{
    return c->connection->api_prefix;
}

void connect_make_inbox(struct cli *c, char dst[CONNECT_INBOX])
{
    const char *prefix = find_setting(c, "inbox-prefix", NULL, "inbox_prefix");
    natsInbox *inbox = NULL;
    const char *id = "";

    if (natsInbox_Create(&inbox) == NATS_OK)
        id = strrchr((const char *)inbox, '.') + 1; /* _INBOX.<id> */
    (void)snprintf(dst, CONNECT_INBOX, "%.150s.%s", prefix == NULL ? "_INBOX" : prefix, id);
    natsInbox_Destroy(inbox);
}

/* --- errors ----------------------------------------------------------------------------------- */

static void note_error(natsConnection *nc, natsSubscription *sub, natsStatus err, void *closure)
{
    struct cli_connection *k = closure;
    const char *text = NULL;

    (void)sub;
    if (natsConnection_GetLastError(nc, &text) == NATS_OK || text == NULL || text[0] == '\0')
        text = natsStatus_GetText(err);
    (void)pthread_mutex_lock(&k->lock);
    (void)snprintf(k->error, sizeof k->error, "%s", text);
    (void)pthread_mutex_unlock(&k->lock);
}

bool connect_take_error(struct cli *c, char *text, size_t size)
{
    struct cli_connection *k = c->connection;
    bool any;

    (void)pthread_mutex_lock(&k->lock);
    any = k->error[0] != '\0';
    if (any)
        (void)snprintf(text, size, "%s", k->error);
    k->error[0] = '\0';
    (void)pthread_mutex_unlock(&k->lock);
    return any;
}

int connect_fail(struct cli *c, natsStatus s, const char *fmt, ...)
{
    char what[512];
    va_list ap;
    int code = s == NATS_NOT_PERMITTED || s == NATS_CONNECTION_AUTH_FAILED ? CLI_DENIED
               : s == NATS_NOT_FOUND                                       ? CLI_NOT_FOUND
                                                                           : CLI_USAGE;

    va_start(ap, fmt);
    (void)vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return cli_fail(c, code, "%s: %s", what, natsStatus_GetText(s));
}

/* --- connecting ------------------------------------------------------------------------------- */

static natsStatus set_servers(struct cli *c, natsOptions *o)
{
    struct cli_connection *k = c->connection;
    const char *text = find_setting(c, "server", "NATS_URL", "url"), *urls[MAX_URLS];
    char *copy = strdup(text == NULL ? DEFAULT_URL : text), *rest = copy, *one;
    natsStatus s = copy == NULL ? NATS_NO_MEMORY : NATS_OK;
    int n = 0;

    (void)human_url(k->url, sizeof k->url, text == NULL ? DEFAULT_URL : text);
    while (copy != NULL && n < MAX_URLS && (one = strsep(&rest, ", ")) != NULL)
        if (one[0] != '\0')
            urls[n++] = one;
    if (s == NATS_OK)
        s = natsOptions_SetServers(o, urls, n);
    free(copy);
    return s;
}

/* A file with a user's seed: of an nkey, or with the JWT of credentials.  A file that is not there
 * is a mistake on the command line. */
static int load_user_seed(struct cli *c, const char *file, char public[NKEY_TEXT])
{
    enum nkey_kind kind;

    if (nkeys_load(c, file, &kind, public) != 0)
        return CLI_USAGE;
    if (kind != NKEY_USER)
        return cli_fail(c, CLI_USAGE, "%s holds no seed of a user (mayfly nkey make user)", file);
    return 0;
}

/* nats.c reads the seed again for each connection, and forgets it. */
static int set_nkey(struct cli *c, natsOptions *o, const char *file)
{
    char public[NKEY_TEXT];
    natsStatus s;
    int rc = load_user_seed(c, file, public);

    if (rc != 0)
        return rc;
    s = natsOptions_SetNKeyFromSeed(o, public, file);
    return s == NATS_OK ? 0 : connect_fail(c, s, "nkey %s", file);
}

static int set_credentials(struct cli *c, natsOptions *o)
{
    const char *user = find_setting(c, "user", "NATS_USER", "user");
    const char *password = find_setting(c, "password", "NATS_PASSWORD", "password");
    const char *token = find_setting(c, "token", "NATS_TOKEN", "token");
    const char *creds = find_setting(c, "creds", "NATS_CREDS", "creds");
    const char *nkey = find_setting(c, "nkey", "NATS_NKEY", "nkey");
    natsStatus s = NATS_OK;

    if (user != NULL && password == NULL && token == NULL)
        token = user;
    if (user != NULL && password != NULL)
        s = natsOptions_SetUserInfo(o, user, password);
    else if (token != NULL)
        s = natsOptions_SetToken(o, token);
    if (s == NATS_OK && creds != NULL) {
        char public[NKEY_TEXT];

        /* nats.c reads the file while it connects, and of a mistake says no more than "Error". */
        if (load_user_seed(c, creds, public) != 0)
            return CLI_USAGE;
        s = natsOptions_SetUserCredentialsFromFiles(o, creds, NULL);
    }
    if (s == NATS_OK && nkey != NULL)
        return set_nkey(c, o, nkey);
    return s == NATS_OK ? 0 : connect_fail(c, s, "credentials");
}

static int find_tls_files(struct cli *c, struct http_tls *out)
{
    *out = (struct http_tls){.ca = find_setting(c, "tlsca", "NATS_CA", "ca"),
                             .cert = find_setting(c, "tlscert", "NATS_CERT", "cert"),
                             .key = find_setting(c, "tlskey", "NATS_KEY", "key")};
    if ((out->cert == NULL) != (out->key == NULL))
        return cli_usage(c, "--tlscert and --tlskey belong together");
    return 0;
}

static int set_tls(struct cli *c, natsOptions *o)
{
    struct http_tls t;
    natsStatus s;
    int rc = find_tls_files(c, &t);

    if (rc != 0)
        return rc;
    if (t.ca != NULL && (s = natsOptions_LoadCATrustedCertificates(o, t.ca)) != NATS_OK)
        return connect_fail(c, s, "certificates in %s", t.ca);
    if (t.cert != NULL && (s = natsOptions_LoadCertificatesChain(o, t.cert, t.key)) != NATS_OK)
        return connect_fail(c, s, "certificate %s with key %s", t.cert, t.key);
    return t.ca == NULL && t.cert == NULL ? 0
           : natsOptions_SetSecure(o, true) == NATS_OK
               ? 0
               : cli_fail(c, CLI_USAGE, "this nats.c was built without TLS");
}

static int set_options(struct cli *c, natsOptions *o)
{
    const char *inbox = find_setting(c, "inbox-prefix", NULL, "inbox_prefix");
    natsStatus s = set_servers(c, o);
    int rc;

    if (strncmp(c->connection->url, "http", 4) == 0 && strstr(c->connection->url, "://") != NULL)
        return cli_fail(c, CLI_USAGE,
                        "%s is an address of pages; clients use nats://HOST:4222 (-s URL)",
                        c->connection->url);
    if (s == NATS_OK)
        s = natsOptions_SetName(o, "mayfly");
    if (s == NATS_OK)
        s = natsOptions_SetTimeout(o, connect_timeout_ms(c));
    if (s == NATS_OK)
        s = natsOptions_SetErrorHandler(o, note_error, c->connection);
    if (s == NATS_OK && inbox != NULL)
        s = natsOptions_SetCustomInboxPrefix(o, inbox);
    if (s != NATS_OK)
        return connect_fail(c, s, "connection to %s", c->connection->url);
    rc = set_credentials(c, o);
    return rc != 0 ? rc : set_tls(c, o);
}

/* Whether the host of an address is a name without an address; host: that name.  Of several
 * addresses with commas none is asked for. */
static bool is_unknown_host(const char *url, char *host, size_t size)
{
    const char *from = strstr(url, "://"), *at, *end;
    struct addrinfo *list = NULL;

    from = from == NULL ? url : from + 3;
    at = strrchr(from, '@');
    from = at == NULL ? from : at + 1;
    end = from + strcspn(from, ":/,[");
    if (*end == ',' || *end == '[')
        return false;
    (void)snprintf(host, size, "%.*s", (int)(end - from), from);
    if (getaddrinfo(host, NULL, NULL, &list) != 0)
        return true;
    freeaddrinfo(list);
    return false;
}

/* Something listens there, and does not greet.  nats.c waits for the greeting before it begins
 * TLS. */
static int report_silence(struct cli *c, const char *how)
{
    const char *url = c->connection->url;

    if (strncmp(url, "tls://", 6) == 0 || find_setting(c, "tlsca", "NATS_CA", "ca") != NULL)
        return cli_fail(c, CLI_USAGE,
                        "%s %s: is it the monitoring port, or has its tls block handshake_first: "
                        "true? This tool needs auto there, or false",
                        url, how);
    return cli_fail(c, CLI_USAGE, "%s %s: is it the monitoring port? Clients use another (4222)",
                    url, how);
}

/* Says what a user can do about a failed connection. */
static int report_failure(struct cli *c, natsStatus s)
{
    const char *url = c->connection->url;
    const char *more = nats_GetLastError(NULL);
    char host[256];

    switch (s) {
    case NATS_NO_SERVER:
        if (is_unknown_host(url, host, sizeof host))
            return cli_fail(c, CLI_USAGE, "the name %s cannot be resolved (-s URL: %s)", host, url);
        return cli_fail(c, CLI_USAGE,
                        "no server at %s (start one with mayflyd, or name another with -s URL)",
                        url);
    case NATS_CONNECTION_AUTH_FAILED:
    case NATS_NOT_PERMITTED:
        return cli_fail(c, CLI_DENIED,
                        "%s refused the credentials (--user, --password, --creds, --nkey)", url);
    case NATS_TIMEOUT:
        return report_silence(c, "did not answer in time (--timeout)");
    case NATS_CONNECTION_CLOSED:
    case NATS_PROTOCOL_ERROR:
        return report_silence(c, "speaks no NATS");
    case NATS_SSL_ERROR:
    case NATS_SECURE_CONNECTION_REQUIRED:
    case NATS_SECURE_CONNECTION_WANTED:
        return cli_fail(c, CLI_USAGE, "%s: TLS failed: %s (--tlsca FILE, tls://HOST)", url,
                        more == NULL ? natsStatus_GetText(s) : more);
    default:
        return more == NULL || more[0] == '\0' ? connect_fail(c, s, "connection to %s", url)
                                               : cli_fail(c, CLI_USAGE, "connection to %s: %s: %s",
                                                          url, natsStatus_GetText(s), more);
    }
}

static int load_context(struct cli *c)
{
    const char *name = cli_text(c, "context"), *env = getenv("NATS_CONTEXT");
    struct mf_error e;

    if (name != NULL && cli_on(c, "no-context"))
        return cli_usage(c, "--context and --no-context exclude each other");
    if (cli_on(c, "no-context"))
        return 0;
    if (name == NULL && env != NULL && env[0] != '\0')
        name = env;
    if (context_load(name, &c->connection->context, &e) != 0)
        return cli_fail(c, CLI_USAGE, "%s", e.text);
    return 0;
}

/* Reads the settings; does not connect. */
static int load_settings(struct cli *c)
{
    struct cli_connection *k;
    int rc;

    if (c->connection != NULL)
        return 0;
    k = c->connection = calloc(1, sizeof *k);
    if (k == NULL)
        return cli_fail(c, CLI_USAGE, "out of memory");
    (void)pthread_mutex_init(&k->lock, NULL);
    rc = load_context(c);
    return rc == 0 ? set_api_prefix(c) : rc;
}

int connect_tls_files(struct cli *c, struct http_tls *out)
{
    int rc = load_settings(c);

    return rc == 0 ? find_tls_files(c, out) : rc;
}

/* nats.c leaves out a signature that begins with a zero byte, which is one in 256, and the server
 * refuses the credentials.  The next connection signs another nonce. */
static natsStatus connect_signed(struct cli *c, natsConnection **out)
{
    bool signs = find_setting(c, "nkey", "NATS_NKEY", "nkey") != NULL ||
                 find_setting(c, "creds", "NATS_CREDS", "creds") != NULL;
    natsStatus s = natsConnection_Connect(out, c->connection->options);

    if (s == NATS_CONNECTION_AUTH_FAILED && signs)
        s = natsConnection_Connect(out, c->connection->options);
    return s;
}

int connect_open(struct cli *c)
{
    struct cli_connection *k;
    natsStatus s;
    int rc;

    if (c->connection != NULL && c->connection->nc != NULL)
        return 0;
    if ((rc = load_settings(c)) != 0)
        return rc;
    k = c->connection;
    s = natsOptions_Create(&k->options);
    if (s != NATS_OK)
        return connect_fail(c, s, "connection");
    if ((rc = set_options(c, k->options)) != 0)
        return rc;
    s = connect_signed(c, &k->nc);
    return s == NATS_OK ? 0 : report_failure(c, s);
}

int connect_another(struct cli *c, natsConnection **out)
{
    natsStatus s = connect_signed(c, out);

    return s == NATS_OK ? 0 : report_failure(c, s);
}

natsConnection *connect_get(struct cli *c)
{
    return c->connection->nc;
}

void connect_server_url(const struct cli *c, char *dst, size_t size)
{
    char url[512] = "";

    (void)natsConnection_GetConnectedUrl(c->connection->nc, url, sizeof url);
    (void)human_url(dst, size, url);
}

const char *connect_url(const struct cli *c)
{
    return c->connection->url;
}

bool connect_is_closed(struct cli *c)
{
    return natsConnection_IsClosed(c->connection->nc);
}

void connect_close(struct cli *c)
{
    struct cli_connection *k = c->connection;

    if (k == NULL)
        return;
    natsConnection_Destroy(k->nc);
    natsOptions_Destroy(k->options);
    json_decref(k->context);
    if (k->options != NULL)
        nats_CloseAndWait(2000);
    (void)pthread_mutex_destroy(&k->lock);
    free(k);
    c->connection = NULL;
}
