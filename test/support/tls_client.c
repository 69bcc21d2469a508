/* tls_client.c: see tls_client.h. */
#include "tls_client.h"

#include <unistd.h>

void tls_client_init(struct tls_client *c, int max_version, struct test_certs *trusted)
{
    c->fd = -1;
    c->ctx = SSL_CTX_new(TLS_client_method());
    if (max_version != 0)
        SSL_CTX_set_max_proto_version(c->ctx, max_version);
    SSL_CTX_load_verify_locations(c->ctx, test_certs_ca(trusted), NULL);
    SSL_CTX_set_verify(c->ctx, SSL_VERIFY_PEER, NULL);
    c->ssl = SSL_new(c->ctx);
}

void tls_client_use(struct tls_client *c, struct test_certs *of, const char *name)
{
    SSL_use_certificate_file(c->ssl, test_certs_cert(of, name), SSL_FILETYPE_PEM);
    SSL_use_PrivateKey_file(c->ssl, test_certs_key(of, name), SSL_FILETYPE_PEM);
}

bool tls_client_handshake(struct tls_client *c, int fd)
{
    c->fd = fd;
    SSL_set_fd(c->ssl, fd);
    return SSL_connect(c->ssl) == 1;
}

bool tls_client_recv(struct tls_client *c, void *p, size_t n)
{
    size_t got = 0, k;

    while (got < n && SSL_read_ex(c->ssl, (char *)p + got, n - got, &k) == 1)
        got += k;
    return got == n;
}

bool tls_client_send(struct tls_client *c, const void *p, size_t n)
{
    size_t k;

    return SSL_write_ex(c->ssl, p, n, &k) == 1 && k == n;
}

void tls_client_free(struct tls_client *c)
{
    SSL_free(c->ssl);
    SSL_CTX_free(c->ctx);
    if (c->fd >= 0)
        close(c->fd);
}
