/* connect.h: one connection to a NATS server, by flags, environment and the nats CLI's contexts.
 *
 * A value comes from the first of: its flag, its environment variable (NATS_URL, NATS_USER,
 * NATS_PASSWORD, NATS_TOKEN, NATS_CREDS, NATS_NKEY, NATS_CERT, NATS_KEY, NATS_CA, NATS_TIMEOUT,
 * NATS_CONTEXT), the context (--context, or the one that `nats context select` chose, unless
 * --no-context), the default. */
#ifndef CLI_CONNECT_H
#define CLI_CONNECT_H

#include "cli/cli.h"
#include "cli/http_get.h"

#include <nats/nats.h>

/* Connects if the command has no connection yet.  0, or an exit code (the error is printed). */
MF_MUSTCHECK int connect_open(struct cli *c);
natsConnection *connect_get(struct cli *c); /* after connect_open() */
/* One more connection with the same settings, after connect_open(); the caller's to destroy. */
MF_MUSTCHECK int connect_another(struct cli *c, natsConnection **out);
void connect_close(struct cli *c); /* called by the frame at the end */

/* The files of --tlsca, --tlscert and --tlskey, their variables and the context; also without a
 * connection, for https.  They live as long as c.  0, or an exit code (printed). */
MF_MUSTCHECK int connect_tls_files(struct cli *c, struct http_tls *out);
int64_t connect_timeout_ms(const struct cli *c); /* --timeout, 5 s; at most INT_MAX */
/* The addresses of the command line, and that of the connected server; without passwords. */
const char *connect_url(const struct cli *c);
void connect_server_url(const struct cli *c, char *dst, size_t size);
const char *connect_domain(const struct cli *c); /* --js-domain; NULL: none */
/* The subject prefix of the JetStream API: "$JS.API", "$JS.<domain>.API" or --js-api-prefix. */
#define CONNECT_PREFIX 300
const char *connect_api_prefix(const struct cli *c);

/* A new reply subject below the prefix of inboxes (--inbox-prefix). */
#define CONNECT_INBOX 200
void connect_make_inbox(struct cli *c, char dst[CONNECT_INBOX]);

/* The last error that the server sent on its own (-ERR: a permission, for instance) since the last
 * call; false: none.  Any thread of nats.c may report one meanwhile. */
bool connect_take_error(struct cli *c, char *text, size_t size);
bool connect_is_closed(struct cli *c);

/* Prints why nats.c failed, and returns the exit code for it. */
int connect_fail(struct cli *c, natsStatus s, const char *fmt, ...) MF_PRINTF(3, 4);

#endif
