/* tls_pair.c: certificates with their keys, and which of them a peer is shown.
 *
 * OpenSSL holds one certificate for each kind of key and chooses among kinds by what the peer
 * offers. For several certificates of one kind we choose by name first, and let OpenSSL choose
 * among those. */
#include "net/tls_impl.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

/* A server cannot ask for a password: keys that need one are refused. */
static int no_password(char *buf, int size, int rw, void *arg)
{
    (void)buf, (void)size, (void)rw, (void)arg;
    return -1;
}

static int load_certs(struct tls_pair *p, const char *file, struct mf_error *e)
{
    BIO *in = BIO_new_file(file, "r");
    X509 *x;

    if (in == NULL)
        return net_tls_error(e, MF_IO, file);
    p->cert = PEM_read_bio_X509_AUX(in, NULL, no_password, NULL);
    p->chain = sk_X509_new_null();
    if (p->cert == NULL || p->chain == NULL) {
        BIO_free(in);
        return net_tls_error(e, MF_INVAL, file);
    }
    while ((x = PEM_read_bio_X509(in, NULL, no_password, NULL)) != NULL) {
        if (sk_X509_push(p->chain, x) == 0) {
            X509_free(x);
            BIO_free(in);
            return mf_fail(e, MF_NOMEM, "%s", file);
        }
    }
    ERR_clear_error(); /* "no start line": the end of the file */
    BIO_free(in);
    return 0;
}

int tls_pair_load(struct tls_pair *p, const struct net_tls_pair *files, struct mf_error *e)
{
    BIO *in;

    memset(p, 0, sizeof *p);
    if (files->cert_file == NULL || files->key_file == NULL)
        return mf_fail(e, MF_INVAL, "a certificate and its key belong together");
    if (load_certs(p, files->cert_file, e) != 0)
        goto err;
    in = BIO_new_file(files->key_file, "r");
    if (in == NULL) {
        net_tls_error(e, MF_IO, files->key_file);
        goto err;
    }
    p->key = PEM_read_bio_PrivateKey(in, NULL, no_password, NULL);
    BIO_free(in);
    if (p->key == NULL) {
        net_tls_error(e, MF_INVAL, files->key_file);
        goto err;
    }
    if (X509_check_private_key(p->cert, p->key) != 1) {
        net_tls_error(e, MF_INVAL, files->key_file);
        goto err;
    }
    return 0;
err:
    tls_pair_free(p);
    return mf_wrap(e, "certificate %s", files->cert_file);
}

void tls_pair_free(struct tls_pair *p)
{
    X509_free(p->cert);
    EVP_PKEY_free(p->key);
    sk_X509_pop_free(p->chain, X509_free);
    memset(p, 0, sizeof *p);
}

static bool is_for(const struct tls_pair *p, const char *name)
{
    return X509_check_host(p->cert, name, 0, 0, NULL) == 1;
}

int tls_pair_choose(SSL *ssl, void *arg)
{
    const struct net_tls *t = arg;
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    bool cleared = false;

    if (!SSL_is_server(ssl) || name == NULL)
        return 1; /* the context's: the first of each kind */
    /* Backwards: the first of each kind is set last, and stays. */
    for (size_t i = t->npairs; i-- > 0;) {
        const struct tls_pair *p = &t->pairs[i];
        if (!is_for(p, name))
            continue;
        if (!cleared)
            SSL_certs_clear(ssl);
        cleared = true;
        if (SSL_use_cert_and_key(ssl, p->cert, p->key, p->chain, 1) != 1)
            return 0;
    }
    return 1;
}
