/* http_get.c: one blocking HTTP/1.0 request.  1.0, so that the end of the connection is the end of
 * the body and there are no chunks. */
#include "cli/http_get.h"

#include "base/clock.h"

#include "cli/cli.h"
#include "cli/human.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define SCHEME      "http://"
#define SECURE      "https://"
#define TLS_ALERT   0x15     /* the first byte of a TLS alert */
#define CLIENT_PORT "INFO {" /* the greeting of a NATS server */

/* Copies n bytes and a NUL, or refuses what does not fit. */
static int copy_text(char *dst, size_t cap, const char *src, size_t n)
{
    if (n >= cap)
        return MF_LIMIT;
    memcpy(dst, src, n);
    dst[n] = '\0';
    return 0;
}

static int copy_port(struct http_url *out, const char *digits, size_t n)
{
    uint64_t port;

    if (mf_parse_u64(mf_slice(digits, n), &port) != 0 || port == 0 || port > 65535)
        return MF_INVAL;
    return copy_text(out->port, sizeof out->port, digits, n);
}

int http_url_parse(struct http_url *out, const char *text, struct mf_error *e)
{
    const char *host = text, *end, *colon, *path;
    char shown[512];
    size_t n;

    (void)human_url(shown, sizeof shown, text);
    *out = (struct http_url){.secure = strncmp(text, SECURE, strlen(SECURE)) == 0};
    if (out->secure)
        host += strlen(SECURE);
    else if (strncmp(text, SCHEME, strlen(SCHEME)) == 0)
        host += strlen(SCHEME);
    else if (strstr(text, "://") != NULL)
        return mf_fail(
            e, MF_INVAL,
            "%s: not an http:// or https:// address (the pages are on the port of -m PORT)", shown);
    if (*text != '\0' && text[strspn(text, "0123456789")] == '\0')
        return mf_fail(e, MF_INVAL, "%s is a port, not an address: http://127.0.0.1:%s", shown,
                       shown);
    path = host + strcspn(host, "/");
    if (memchr(host, '@', (size_t)(path - host)) != NULL)
        return mf_fail(e, MF_INVAL, "%s: the pages take no user and password", shown);
    if (host[0] == '[') {
        end = memchr(host, ']', (size_t)(path - host));
        if (end == NULL)
            return mf_fail(e, MF_INVAL, "%s: no closing bracket", shown);
        host++;
        colon = end + 1;
    } else {
        colon = memchr(host, ':', (size_t)(path - host));
        end = colon == NULL ? path : colon;
        colon = end;
    }
    if (end == host || copy_text(out->host, sizeof out->host, host, (size_t)(end - host)) != 0)
        return mf_fail(e, MF_INVAL, "%s: no host", shown);
    if (colon == path)
        (void)copy_text(out->port, sizeof out->port, "8222", 4);
    else if (*colon != ':' || copy_port(out, colon + 1, (size_t)(path - colon - 1)) != 0)
        return mf_fail(e, MF_INVAL, "%s: the port is a number from 1 to 65535", shown);
    for (n = strlen(path); n > 0 && path[n - 1] == '/';)
        n--;
    if (copy_text(out->base, sizeof out->base, path, n) != 0)
        return mf_fail(e, MF_INVAL, "%s: the path is too long", shown);
    return 0;
}

int http_response_parse(struct mf_slice raw, int *status, struct mf_slice *body, struct mf_error *e)
{
    const uint8_t *end = raw.ptr == NULL ? NULL : memmem(raw.ptr, raw.len, "\r\n\r\n", 4);
    const uint8_t *blank = raw.ptr == NULL ? NULL : memchr(raw.ptr, ' ', raw.len);
    uint64_t code;

    if (mf_starts(raw, CLIENT_PORT))
        return mf_fail(e, MF_PROTO,
                       "this is the port for clients; the pages have a port of their own, which "
                       "-m PORT or http: in the configuration of the server names");
    if (end == NULL || !mf_starts(raw, "HTTP/1.") || blank == NULL || blank + 4 > end)
        return mf_fail(e, MF_PROTO, "not an HTTP response");
    if (mf_parse_u64(mf_slice(blank + 1, 3), &code) != 0)
        return mf_fail(e, MF_PROTO, "not an HTTP status");
    *status = (int)code;
    *body = mf_slice(end + 4, raw.len - (size_t)(end + 4 - raw.ptr));
    return 0;
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* An open connection, non-blocking; ssl is NULL without TLS. */
struct stream {
    int fd;
    int64_t end_ns; /* the whole request ends before this */
    SSL_CTX *ctx;
    SSL *ssl;
};

/* Waits until the socket is ready.  False: errno is ETIMEDOUT, or EINTR after Ctrl-C. */
static bool wait_ready(const struct stream *s, short events)
{
    struct pollfd p = {.fd = s->fd, .events = events};

    for (;;) {
        int64_t left = (s->end_ns - clock_mono_ns() + CLOCK_MS - 1) / CLOCK_MS;
        int n = left <= 0 ? 0 : poll(&p, 1, left > INT_MAX ? INT_MAX : (int)left);

        if (n == 0)
            errno = ETIMEDOUT;
        if (n > 0 || n == 0 || errno != EINTR || cli_interrupted())
            return n > 0;
    }
}

/* Whether a call that found nothing to do is made again, after the wait for it.  n: its result. */
static bool may_retry(const struct stream *s, int n, short events)
{
    int why = s->ssl == NULL ? SSL_ERROR_NONE : SSL_get_error(s->ssl, n);

    if (s->ssl != NULL && why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) {
        errno = 0;
        return false;
    }
    if (s->ssl == NULL && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        return false;
    return wait_ready(s, s->ssl == NULL ? events : why == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN);
}

int http_dial(const char *host, const char *port, int64_t ms, int *out, struct mf_error *e)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    const struct timeval limit = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    struct addrinfo *list = NULL;
    int fd = -1, rc;

    *out = -1;
    rc = getaddrinfo(host, port, &hints, &list);
    if (rc != 0)
        return mf_fail(e, MF_NOTFOUND, "the name %s cannot be resolved: %s", host,
                       gai_strerror(rc));
    for (const struct addrinfo *a = list; a != NULL && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (fd < 0)
            continue;
        /* The send limit is connect()'s too. */
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        if (connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
            int why = errno;

            (void)close(fd);
            fd = -1;
            errno = why;
        }
    }
    if (fd < 0)
        rc = mf_fail_errno(e, MF_IO, "connect to %s port %s", host, port);
    freeaddrinfo(list);
    *out = fd;
    return fd < 0 ? rc : 0;
}

/* --- bytes, with and without TLS -------------------------------------------------------------- */

static void stream_close(struct stream *s)
{
    SSL_free(s->ssl);
    SSL_CTX_free(s->ctx);
    if (s->fd >= 0)
        (void)close(s->fd);
}

static int fail_tls(struct mf_error *e, const char *what)
{
    unsigned long code = ERR_get_error();
    const char *why = code == 0 ? NULL : ERR_reason_error_string(code);

    return mf_fail(e, MF_IO, "%s: %s", what, why == NULL ? "TLS failed" : why);
}

static int load_files(SSL_CTX *ctx, const struct http_tls *t, struct mf_error *e)
{
    int ok = t->ca == NULL ? SSL_CTX_set_default_verify_paths(ctx)
                           : SSL_CTX_load_verify_locations(ctx, t->ca, NULL);

    if (ok != 1)
        return fail_tls(e, t->ca == NULL ? "authorities of the system" : t->ca);
    if (t->cert != NULL && SSL_CTX_use_certificate_chain_file(ctx, t->cert) != 1)
        return fail_tls(e, t->cert);
    if (t->key != NULL && SSL_CTX_use_PrivateKey_file(ctx, t->key, SSL_FILETYPE_PEM) != 1)
        return fail_tls(e, t->key);
    return 0;
}

/* The certificate must be of a trusted authority and for this host, a name or an address. */
static int expect_host(SSL *ssl, const char *host)
{
    X509_VERIFY_PARAM *p = SSL_get0_param(ssl);

    if (X509_VERIFY_PARAM_set1_ip_asc(p, host) == 1)
        return 0;
    ERR_clear_error();
    return X509_VERIFY_PARAM_set1_host(p, host, 0) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1
               ? 0
               : MF_INVAL;
}

static int shake_hands(struct stream *s, const struct http_url *url, struct mf_error *e)
{
    long why;
    int n;

    s->ctx = SSL_CTX_new(TLS_client_method());
    if (s->ctx == NULL)
        return fail_tls(e, url->host);
    SSL_CTX_set_verify(s->ctx, SSL_VERIFY_PEER, NULL);
    if (load_files(s->ctx, &url->tls, e) != 0)
        return e == NULL ? MF_IO : e->code;
    s->ssl = SSL_new(s->ctx);
    if (s->ssl == NULL || SSL_set_fd(s->ssl, s->fd) != 1 || expect_host(s->ssl, url->host) != 0)
        return fail_tls(e, url->host);
    do
        n = SSL_connect(s->ssl);
    while (n != 1 && may_retry(s, n, POLLIN));
    if (n == 1)
        return 0;
    if (errno == ETIMEDOUT)
        return mf_fail(e, MF_IO, "TLS with %s: no answer in time (--timeout)", url->host);
    why = SSL_get_verify_result(s->ssl);
    if (why != X509_V_OK)
        return mf_fail(e, MF_DENIED, "certificate of %s: %s (--tlsca FILE names its authority)",
                       url->host, X509_verify_cert_error_string(why));
    return fail_tls(e, url->host);
}

static int fail_socket(const struct stream *s, const char *what, struct mf_error *e)
{
    if (errno == ETIMEDOUT)
        return mf_fail(e, MF_IO, "%s: no answer in time (--timeout)", what);
    return s->ssl != NULL ? fail_tls(e, what) : mf_fail_errno(e, MF_IO, "%s", what);
}

static int send_all(struct stream *s, struct mf_slice bytes, struct mf_error *e)
{
    while (bytes.len > 0) {
        ssize_t n = s->ssl != NULL ? SSL_write(s->ssl, bytes.ptr, (int)bytes.len)
                                   : send(s->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);

        if (n <= 0 && may_retry(s, (int)n, POLLOUT))
            continue;
        if (n <= 0)
            return fail_socket(s, "send", e);
        bytes = mf_slice(bytes.ptr + n, bytes.len - (size_t)n);
    }
    return 0;
}

/* Bytes read, 0 at the end, negative: see errno or the TLS error. */
static ssize_t receive_some(struct stream *s, void *room, size_t size)
{
    int n;

    do {
        n = s->ssl == NULL ? (int)recv(s->fd, room, size, 0) : SSL_read(s->ssl, room, (int)size);
        if (n > 0 || (s->ssl == NULL && n == 0))
            return n;
        if (s->ssl != NULL && SSL_get_error(s->ssl, n) == SSL_ERROR_ZERO_RETURN)
            return 0;
    } while (may_retry(s, n, POLLIN));
    return -1;
}

static int receive_all(struct stream *s, struct mf_buf *raw, struct mf_error *e)
{
    for (;;) {
        uint8_t *room = mf_buf_reserve(raw, 65536);
        ssize_t n;

        if (room == NULL)
            return mf_fail(e, MF_NOMEM, "receive");
        n = receive_some(s, room, 65536);
        if (n < 0)
            return fail_socket(s, "receive", e);
        if (n == 0)
            return 0;
        raw->len += (size_t)n;
        if (clock_mono_ns() > s->end_ns) {
            errno = ETIMEDOUT;
            return fail_socket(s, "receive", e);
        }
        if (raw->len > HTTP_GET_MAX_BYTES)
            return mf_fail(e, MF_LIMIT, "more than %u bytes", HTTP_GET_MAX_BYTES);
    }
}

int http_get(const struct http_url *url, const char *path, struct mf_buf *raw, int *status,
             struct mf_slice *body, struct mf_error *e)
{
    int64_t ms = url->timeout_ms > 0 ? url->timeout_ms : HTTP_GET_TIMEOUT_MS;
    struct stream s = {.fd = -1, .end_ns = clock_mono_ns() + ms * CLOCK_MS};
    struct mf_buf request = MF_BUF_INIT;
    int rc;

    mf_buf_printf(&request, "GET %s%s HTTP/1.0\r\nHost: %s\r\nUser-Agent: mayfly\r\n\r\n",
                  url->base, path, url->host);
    rc = http_dial(url->host, url->port, ms, &s.fd, e);
    if (rc == 0)
        (void)fcntl(s.fd, F_SETFL, O_NONBLOCK);
    if (rc == 0 && url->secure)
        rc = shake_hands(&s, url, e);
    if (rc == 0)
        rc = send_all(&s, mf_buf_slice(&request), e);
    if (rc == 0)
        rc = receive_all(&s, raw, e);
    stream_close(&s);
    mf_buf_fini(&request);
    /* A port with TLS hangs up, or sends an alert. */
    if (rc == 0 && !url->secure && (raw->len == 0 || raw->ptr[0] == TLS_ALERT))
        rc = mf_fail(e, MF_PROTO, "no answer: a port with TLS wants https://");
    /* A port for clients greets, and may reset the connection for this request. */
    if ((rc == 0 || mf_starts(mf_buf_slice(raw), CLIENT_PORT)) &&
        http_response_parse(mf_buf_slice(raw), status, body, e) == 0)
        return 0;
    return mf_wrap(e, "GET %s%s", url->base, path);
}
