/* tls_impl.h: TLS settings and sessions, shared by the tls files only. */
#ifndef NET_TLS_IMPL_H
#define NET_TLS_IMPL_H

#include "net/net_impl.h"

#include <openssl/ssl.h>

struct tls_pair {
    X509 *cert;
    EVP_PKEY *key;
    STACK_OF(X509) * chain; /* without cert itself */
};

struct net_tls {
    unsigned refs;
    SSL_CTX *ctx;
    struct tls_pair *pairs;
    size_t npairs;
    bool verify, insecure;
    bool has_cas; /* some authority was loaded */
};
/* Loads the system's authorities unless others were given; for the client side. */
MF_MUSTCHECK int net_tls_need_cas(struct net_tls *t, struct mf_error *e);
/* "what: OpenSSL's reason"; empties OpenSSL's error queue.  Returns code. */
int net_tls_error(struct mf_error *e, int code, const char *what);

struct tls_conn {
    SSL *ssl;
    struct net_conn *c;
    struct net_tls *tls;
    const uint8_t *in; /* wire bytes OpenSSL has not taken yet */
    size_t in_len;
    size_t handshake_bytes;
    bool done;   /* handshake */
    bool failed; /* OpenSSL forbids any further use */
    bool said_bye;
    char text[160]; /* what went wrong */
};

/* tls_pair.c */
MF_MUSTCHECK int tls_pair_load(struct tls_pair *p, const struct net_tls_pair *files,
                               struct mf_error *e);
void tls_pair_free(struct tls_pair *p);
/* SSL_CTX_set_cert_cb() callback: chooses by the name the peer asks for.  arg: struct net_tls. */
int tls_pair_choose(SSL *ssl, void *arg);

#endif
