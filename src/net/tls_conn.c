/* tls_conn.c: TLS on one connection, through a BIO that takes from the bytes just received and
 * gives to the connection's send queue, so that OpenSSL never meets the socket.
 *
 * Happy path: net_conn_secure() turns TLS on; net_tls_input() runs the handshake, then decrypts all
 * that came in and shows it; net_tls_pump() encrypts what is queued when it is about to leave.
 * Failure: the alert OpenSSL left in the send queue is sent with the last flush.
 * Close: the pump sends close_notify behind the last bytes.
 * OpenSSL takes all wire bytes it is offered, and holds a part of a record itself, so no wire bytes
 * are ever kept here.  Paused, the connection keeps at most what one read brought. */
#include "net/tls_impl.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* OpenSSL bounds single messages; this bounds a peer that sends many and never finishes. */
#define HANDSHAKE_MAX (256u << 10)

/* --- the BIO ---------------------------------------------------------------------------------- */

static int bio_read(BIO *b, char *out, int n)
{
    struct tls_conn *t = BIO_get_data(b);
    size_t k = (size_t)n < t->in_len ? (size_t)n : t->in_len;

    BIO_clear_retry_flags(b);
    if (k == 0) {
        BIO_set_retry_read(b);
        return -1;
    }
    memcpy(out, t->in, k);
    t->in += k;
    t->in_len -= k;
    return (int)k;
}

static int bio_write(BIO *b, const char *p, int n)
{
    struct tls_conn *t = BIO_get_data(b);
    struct net_conn *c = t->c;

    BIO_clear_retry_flags(b);
    if (chunk_queue_append(&c->ext->send, &c->ctx->pool, p, (size_t)n) != 0) {
        c->flags |= CONN_BROKEN;
        net_conn_end(c, NET_CLOSED_NOMEM, 0, 0);
        return -1;
    }
    c->tail.sealed += (size_t)n;
    return n;
}

static long bio_ctrl(BIO *b, int cmd, long num, void *ptr)
{
    (void)b, (void)num, (void)ptr;
    return cmd == BIO_CTRL_FLUSH;
}

/* One for the process, made once and never changed: OpenSSL has few numbers for kinds of BIO, and
 * takes none back. */
static BIO_METHOD *method;
static pthread_once_t method_once = PTHREAD_ONCE_INIT;

static void make_method(void)
{
    method = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "mayfly");
    if (method == NULL)
        return;
    BIO_meth_set_read(method, bio_read);
    BIO_meth_set_write(method, bio_write);
    BIO_meth_set_ctrl(method, bio_ctrl);
}

static BIO *bio_new(struct tls_conn *t)
{
    BIO *b;

    (void)pthread_once(&method_once, make_method);
    if (method == NULL)
        return NULL;
    b = BIO_new(method);
    if (b != NULL) {
        BIO_set_data(b, t);
        BIO_set_init(b, 1);
    }
    return b;
}

/* --- failing ---------------------------------------------------------------------------------- */

/* Keeps the reason before anything else uses OpenSSL's error queue. */
static void note_failure(struct tls_conn *t, const char *what)
{
    unsigned long why = ERR_get_error();
    const char *text = why == 0 ? NULL : ERR_reason_error_string(why);
    long verify = SSL_get_verify_result(t->ssl);

    ERR_clear_error();
    t->failed = true;
    snprintf(t->text, sizeof t->text, "TLS %s: %s%s%s", what,
             text == NULL ? "connection broken" : text, verify == X509_V_OK ? "" : ": ",
             verify == X509_V_OK ? "" : X509_verify_cert_error_string(verify));
}

void net_tls_eof(struct net_conn *c)
{
    struct tls_conn *t = c->ext->tls;

    if (t->done || (c->flags & CONN_CLOSING))
        return; /* many peers end without close_notify; the protocols above frame their messages */
    snprintf(t->text, sizeof t->text, "TLS handshake: closed by the peer");
    net_conn_end(c, NET_CLOSED_TLS, 0, 0);
}

const char *net_tls_text(const struct net_conn *c)
{
    return c->ext == NULL || c->ext->tls == NULL ? NULL : c->ext->tls->text;
}

/* --- bytes in --------------------------------------------------------------------------------- */

/* Whether the handshake is done; if not it waits for more, or the connection is closing. */
static bool do_handshake(struct net_conn *c)
{
    struct tls_conn *t = c->ext->tls;
    int rc;

    ERR_clear_error();
    rc = SSL_do_handshake(t->ssl);
    if (rc != 1) {
        rc = SSL_get_error(t->ssl, rc);
        if (rc != SSL_ERROR_WANT_READ && rc != SSL_ERROR_WANT_WRITE) {
            note_failure(t, "handshake");
            net_conn_end(c, NET_CLOSED_TLS, 0, 0);
        } else if (t->handshake_bytes > HANDSHAKE_MAX) {
            t->failed = true;
            snprintf(t->text, sizeof t->text, "TLS handshake: too long");
            net_conn_end(c, NET_CLOSED_TLS, 0, 0);
        }
        return false;
    }
    t->done = true;
    if ((c->flags & CONN_STARTED) && !(c->flags & CONN_CLOSING) && c->handler->secured != NULL)
        c->handler->secured(c->arg);
    return !(c->flags & CONN_CLOSING);
}

/* Fills *s as far as the bytes at hand go; why it stopped: SSL_ERROR_NONE when full. */
static int decrypt_into(struct tls_conn *t, const struct net_space *s, size_t *added)
{
    size_t n;
    int rc = SSL_ERROR_NONE;

    *added = 0;
    ERR_clear_error();
    while (s->have + *added < s->cap) {
        rc = SSL_read_ex(t->ssl, s->base + s->have + *added, s->cap - s->have - *added, &n);
        if (rc == 1) {
            *added += n;
            rc = SSL_ERROR_NONE;
            continue;
        }
        rc = SSL_get_error(t->ssl, rc);
        if (rc != SSL_ERROR_WANT_READ && rc != SSL_ERROR_WANT_WRITE && rc != SSL_ERROR_ZERO_RETURN)
            note_failure(t, "record");
        break;
    }
    return rc;
}

/* Shows one buffer full.  Whether there may be more. */
static bool pull_plain(struct net_conn *c)
{
    struct tls_conn *t = c->ext->tls;
    uint8_t *plain = net_ctx_plain(c->ctx);
    struct net_space s = {plain, 0, NET_READ_BUFFER};
    size_t added;
    int rc;

    if (plain == NULL) {
        net_conn_end(c, NET_CLOSED_NOMEM, 0, 0);
        return false;
    }
    if (c->ext->filter == NULL && net_space_open(c, plain, &s) != 0)
        return false;
    rc = decrypt_into(t, &s, &added);
    if (added > 0 && c->ext->filter != NULL)
        net_filter_input(c, s.base, added);
    else if (added > 0)
        net_space_show(c, &s, added);
    if (c->flags & CONN_CLOSING)
        return false;
    if (rc == SSL_ERROR_ZERO_RETURN)
        net_conn_end(c, NET_CLOSED_PEER, 0, 0);
    else if (t->failed)
        net_conn_end(c, NET_CLOSED_TLS, 0, 0);
    return rc == SSL_ERROR_NONE;
}

void net_tls_input(struct net_conn *c, const uint8_t *p, size_t n)
{
    struct tls_conn *t = c->ext->tls;

    if (c->flags & CONN_CLOSING)
        return;
    t->in = p;
    t->in_len = n;
    if (!t->done)
        t->handshake_bytes += n;
    if (t->done || do_handshake(c)) {
        while (pull_plain(c))
            ;
    }
    t->in = NULL;
    t->in_len = 0;
    if (c->tail.sealed > 0)
        net_conn_todo(c, TODO_FLUSH);
}

/* --- bytes out -------------------------------------------------------------------------------- */

static void drop_plain(struct net_conn *c)
{
    c->tail.sealed -= c->app.bytes + c->ext->mid.bytes;
    net_app_drop(c, c->app.bytes);
    chunk_queue_clear(&c->ext->mid, &c->ctx->pool);
}

void net_tls_pump(struct net_conn *c)
{
    struct net_ext *x = c->ext;
    struct tls_conn *t = x->tls;
    struct chunk_queue *from = x->filter != NULL ? &x->mid : &c->app;
    size_t n;

    if (!t->done || t->failed) {
        if (c->flags & CONN_CLOSING)
            drop_plain(c); /* there is no way left to say it */
        return;
    }
    ERR_clear_error();
    while (from->bytes > 0 && x->send.bytes < NET_PUMP_MAX) {
        const struct chunk *k = from->head;
        n = k->end - k->start;
        if (n > 0 && SSL_write_ex(t->ssl, k->data + k->start, n, &n) != 1) {
            note_failure(t, "record");
            c->flags |= CONN_BROKEN;
            net_conn_end(c, NET_CLOSED_TLS, 0, 0);
            return;
        }
        c->tail.sealed -= n;
        if (from == &c->app)
            net_app_drop(c, n);
        else
            chunk_queue_drop(from, &c->ctx->pool, n);
    }
    if ((c->flags & CONN_CLOSING) && from->bytes == 0 && !t->said_bye) {
        t->said_bye = true;
        SSL_shutdown(t->ssl);
        ERR_clear_error();
    }
}

/* --- turning it on ---------------------------------------------------------------------------- */

void net_tls_free(struct tls_conn *t)
{
    if (t == NULL)
        return;
    SSL_free(t->ssl); /* and the BIO */
    net_tls_release(t->tls);
    free(t);
}

static struct tls_conn *session_new(struct net_conn *c, struct net_tls *tls)
{
    struct tls_conn *t = calloc(1, sizeof *t);
    BIO *b;

    if (t == NULL)
        return NULL;
    t->c = c;
    t->tls = net_tls_retain(tls);
    t->ssl = SSL_new(tls->ctx);
    b = bio_new(t);
    if (t->ssl == NULL || b == NULL) {
        BIO_free(b);
        net_tls_free(t);
        return NULL;
    }
    SSL_set_bio(t->ssl, b, b);
    return t;
}

static int session_attach(struct net_conn *c, struct tls_conn *t, struct mf_error *e)
{
    if (net_conn_need_ext(c) != 0) {
        net_tls_free(t);
        return mf_fail(e, MF_NOMEM, "tls");
    }
    c->ext->tls = t;
    net_app_splice(c, &c->ext->send);
    net_conn_swapped(c, FOR_TLS);
    net_conn_todo(c, TODO_FLUSH);
    return 0;
}

static int check_state(const struct net_conn *c, struct mf_error *e)
{
    if (c->flags & CONN_CLOSING)
        return mf_fail(e, MF_CLOSED, "tls");
    if (c->ext != NULL)
        return mf_fail(e, MF_INVAL, "tls: the connection has %s already",
                       c->ext->tls != NULL ? "TLS" : "a filter");
    return 0;
}

int net_conn_secure(struct net_conn *c, struct net_tls *tls, struct mf_error *e)
{
    struct tls_conn *t;
    int rc = check_state(c, e);

    if (rc != 0)
        return rc;
    t = session_new(c, tls);
    if (t == NULL)
        return net_tls_error(e, MF_NOMEM, "tls");
    SSL_set_accept_state(t->ssl);
    SSL_set_verify(t->ssl, tls->verify ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0,
                   NULL);
    return session_attach(c, t, e);
}

/* Asks for the name (an address is no name) and has the certificate checked against it. */
static bool expect_name(SSL *ssl, const char *name)
{
    uint8_t addr[16];

    if (inet_pton(AF_INET, name, addr) == 1 || inet_pton(AF_INET6, name, addr) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
    return SSL_set_tlsext_host_name(ssl, name) == 1 && SSL_set1_host(ssl, name) == 1;
}

int net_conn_secure_client(struct net_conn *c, struct net_tls *tls, const char *server_name,
                           struct mf_error *e)
{
    struct tls_conn *t;
    int rc = check_state(c, e);

    if (rc != 0)
        return rc;
    if (!tls->insecure && (rc = net_tls_need_cas(tls, e)) != 0)
        return rc;
    t = session_new(c, tls);
    if (t == NULL)
        return net_tls_error(e, MF_NOMEM, "tls");
    SSL_set_connect_state(t->ssl);
    SSL_set_verify(t->ssl, tls->insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    if (server_name != NULL && !expect_name(t->ssl, server_name)) {
        net_tls_free(t);
        return net_tls_error(e, MF_INVAL, "tls server name");
    }
    rc = session_attach(c, t, e);
    if (rc == 0)
        (void)do_handshake(c); /* the first word is the client's; it cannot be done yet */
    return rc;
}

bool net_conn_is_secure(const struct net_conn *c)
{
    return c->ext != NULL && c->ext->tls != NULL && c->ext->tls->done;
}
