/* tls_client.h: a blocking TLS client for tests, OpenSSL straight on a socket. */
#ifndef TEST_TLS_CLIENT_H
#define TEST_TLS_CLIENT_H

#include "test_certs.h"

#include <openssl/ssl.h>

struct tls_client {
    int fd;
    SSL_CTX *ctx;
    SSL *ssl;
};

/* Trusts the authority of `trusted`.  max_version 0: the newest. */
void tls_client_init(struct tls_client *c, int max_version, struct test_certs *trusted);
void tls_client_use(struct tls_client *c, struct test_certs *of, const char *name);
bool tls_client_handshake(struct tls_client *c, int fd); /* c owns fd now */
bool tls_client_send(struct tls_client *c, const void *p, size_t n);
bool tls_client_recv(struct tls_client *c, void *p, size_t n); /* exactly n */
void tls_client_free(struct tls_client *c);

#endif
