/* js_pipe.c: see js_pipe.h. */
#include "js_pipe.h"

#include <errno.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define PIECE ((size_t)1 << 20) /* of a WebSocket frame that is sent */

static enum js_way way_now;
static SSL_CTX *context;

void js_pipe_use(enum js_way way)
{
    way_now = way;
    if (way == JS_TLS && context == NULL) {
        context = SSL_CTX_new(TLS_client_method());
        SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    }
}

static bool send_plain(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        p += sent;
        n -= (size_t)sent;
    }
    return true;
}

/* Up to the empty line, and no byte further: INFO may be right behind it. */
static bool upgrade(int fd)
{
    static const char ask[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
                              "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                              "Sec-WebSocket-Key: YmVuY2ggb2YgbWF5Zmx5IQ==\r\n\r\n";
    char text[2048];
    size_t n = 0;

    if (!send_plain(fd, ask, sizeof ask - 1))
        return false;
    while (n < sizeof text && (n < 4 || memcmp(text + n - 4, "\r\n\r\n", 4) != 0)) {
        if (recv(fd, text + n, 1, 0) != 1)
            return false;
        n++;
    }
    return n < sizeof text && memcmp(text, "HTTP/1.1 101", 12) == 0;
}

bool js_pipe_open(struct js_pipe *p, int fd)
{
    *p = (struct js_pipe){.fd = fd, .ws = way_now == JS_WS};
    if (p->ws)
        return upgrade(fd);
    if (way_now != JS_TLS)
        return true;
    p->tls = SSL_new(context);
    return p->tls != NULL && SSL_set_fd(p->tls, fd) == 1 && SSL_connect(p->tls) == 1;
}

void js_pipe_close(struct js_pipe *p)
{
    SSL_free(p->tls);
    *p = (struct js_pipe){.fd = -1};
}

/* --- receiving -------------------------------------------------------------------------------- */

/* Bytes of a frame's header, as far as its first two tell. */
static size_t head_size(const uint8_t *head, size_t n)
{
    size_t size = n < 2 ? 2 : (head[1] & 127) == 126 ? 4 : (head[1] & 127) == 127 ? 10 : 2;

    return size;
}

static void read_head(struct js_pipe *p)
{
    uint64_t left = p->head[1] & 127;

    if (p->nhead > 2) {
        left = 0;
        for (size_t i = 2; i < p->nhead; i++)
            left = left << 8 | p->head[i];
    }
    p->left = left;
    p->nhead = 0;
}

/* Moves the payloads of frames together; the bytes that remain. */
static size_t strip(struct js_pipe *p, char *buf, size_t n)
{
    size_t at = 0, kept = 0;

    while (at < n) {
        if (p->left == 0) {
            p->head[p->nhead++] = (uint8_t)buf[at++];
            if (p->nhead == head_size(p->head, p->nhead))
                read_head(p);
            continue;
        }
        size_t part = n - at < p->left ? n - at : (size_t)p->left;
        memmove(buf + kept, buf + at, part);
        kept += part;
        at += part;
        p->left -= part;
    }
    return kept;
}

static ssize_t recv_tls(struct js_pipe *p, char *dst, size_t cap)
{
    size_t have = 0, n = 0;

    while (have < cap && (have == 0 || SSL_pending(p->tls) > 0)) {
        if (SSL_read_ex(p->tls, dst + have, cap - have, &n) != 1)
            return have > 0 ? (ssize_t)have : -1;
        have += n;
    }
    return (ssize_t)have;
}

ssize_t js_pipe_recv(struct js_pipe *p, char *dst, size_t cap)
{
    ssize_t n;

    if (p->tls != NULL)
        return recv_tls(p, dst, cap);
    do {
        n = recv(p->fd, dst, cap, 0);
        if (n > 0 && p->ws)
            n = (ssize_t)strip(p, dst, (size_t)n);
        else
            break;
    } while (n == 0); /* headers alone */
    return n;
}

/* --- sending ---------------------------------------------------------------------------------- */

/* One frame.  The mask is zero, so the payload is sent as it is. */
static bool send_frame(int fd, const char *src, size_t n)
{
    uint8_t head[14] = {0x82};
    size_t size = n < 126 ? 2 : n < 65536 ? 4 : 10;

    head[1] = (uint8_t)(128 | (n < 126 ? n : n < 65536 ? 126 : 127));
    for (size_t i = 2; i < size; i++)
        head[i] = (uint8_t)((uint64_t)n >> 8 * (size - 1 - i));
    return send_plain(fd, (const char *)head, size + 4) && send_plain(fd, src, n);
}

bool js_pipe_send(struct js_pipe *p, const char *src, size_t n)
{
    size_t sent;

    if (p->tls != NULL)
        return n == 0 || SSL_write_ex(p->tls, src, n, &sent) == 1;
    if (!p->ws)
        return send_plain(p->fd, src, n);
    for (; n > 0; src += sent, n -= sent) {
        sent = n < PIECE ? n : PIECE;
        if (!send_frame(p->fd, src, sent))
            return false;
    }
    return true;
}

/* --- a certificate ---------------------------------------------------------------------------- */

static X509 *make_cert(EVP_PKEY *key)
{
    X509 *x = X509_new();

    if (x == NULL)
        return NULL;
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 86400);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                               (const unsigned char *)"localhost", -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(x));
    if (X509_set_pubkey(x, key) == 1 && X509_sign(x, key, EVP_sha256()) > 0)
        return x;
    X509_free(x);
    return NULL;
}

static FILE *create(const char *dir, const char *name)
{
    char path[400];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return fopen(path, "we");
}

bool js_pipe_make_cert(const char *dir)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = key != NULL ? make_cert(key) : NULL;
    FILE *cert = create(dir, "cert.pem"), *secret = create(dir, "key.pem");
    bool ok = x != NULL && cert != NULL && secret != NULL && PEM_write_X509(cert, x) == 1 &&
              PEM_write_PrivateKey(secret, key, NULL, NULL, 0, NULL, NULL) == 1;

    if (cert != NULL)
        ok = fclose(cert) == 0 && ok;
    if (secret != NULL)
        ok = fclose(secret) == 0 && ok;
    X509_free(x);
    EVP_PKEY_free(key);
    return ok;
}
