/* tls_ctx.c: TLS settings that connections share, counted so that a reload touches new ones only.
 */
#include "net/tls_impl.h"

#include <openssl/err.h>
#include <stdlib.h>

/* As Go orders its own: AES-128 is enough and the fastest on the processors servers have. */
#define SUITES_13 "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
#define CIPHERS_12                                                                                 \
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+" \
    "AES"

int net_tls_error(struct mf_error *e, int code, const char *what)
{
    unsigned long why = ERR_get_error();
    const char *text = why == 0 ? NULL : ERR_reason_error_string(why);

    ERR_clear_error();
    return mf_fail(e, code, "%s: %s", what, text == NULL ? "refused by OpenSSL" : text);
}

static int set_algorithms(SSL_CTX *ctx, const struct net_tls_options *o, struct mf_error *e)
{
    int min = o->min_version == 0 ? TLS1_2_VERSION : o->min_version;

    if (SSL_CTX_set_min_proto_version(ctx, min) != 1)
        return net_tls_error(e, MF_INVAL, "min_version");
    if (SSL_CTX_set_cipher_list(ctx, o->ciphers != NULL ? o->ciphers : CIPHERS_12) != 1)
        return net_tls_error(e, MF_INVAL, "cipher_suites");
    if (SSL_CTX_set_ciphersuites(ctx, o->suites != NULL ? o->suites : SUITES_13) != 1)
        return net_tls_error(e, MF_INVAL, "cipher_suites");
    if (o->curves != NULL && SSL_CTX_set1_groups_list(ctx, o->curves) != 1)
        return net_tls_error(e, MF_INVAL, "curve_preferences");
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE);
    /* Tickets carry the session; a cache in our memory would only grow. */
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    /* An idle connection keeps no record buffers; writes take what the queue gives. */
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                              SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    return 0;
}

static int set_authorities(struct net_tls *t, const struct net_tls_options *o, struct mf_error *e)
{
    STACK_OF(X509_NAME) * names;

    if (o->ca_file == NULL)
        return o->verify ? net_tls_need_cas(t, e) : 0;
    if (SSL_CTX_load_verify_locations(t->ctx, o->ca_file, NULL) != 1)
        return net_tls_error(e, MF_INVAL, o->ca_file);
    t->has_cas = true;
    if (!o->verify)
        return 0;
    names = SSL_load_client_CA_file(o->ca_file); /* tells clients which certificate to show */
    if (names == NULL)
        return net_tls_error(e, MF_INVAL, o->ca_file);
    SSL_CTX_set_client_CA_list(t->ctx, names);
    return 0;
}

int net_tls_need_cas(struct net_tls *t, struct mf_error *e)
{
    if (t->has_cas)
        return 0;
    if (SSL_CTX_set_default_verify_paths(t->ctx) != 1)
        return net_tls_error(e, MF_IO, "the system's certificate authorities");
    t->has_cas = true;
    return 0;
}

static int set_pairs(struct net_tls *t, const struct net_tls_options *o, struct mf_error *e)
{
    t->pairs = calloc(o->npairs + 1, sizeof *t->pairs);
    if (t->pairs == NULL)
        return mf_fail(e, MF_NOMEM, "certificates");
    for (size_t i = 0; i < o->npairs; i++) {
        if (tls_pair_load(&t->pairs[i], &o->pairs[i], e) != 0)
            return e->code;
        t->npairs++;
    }
    for (size_t i = t->npairs; i-- > 0;) { /* the first of each kind is set last, and stays */
        const struct tls_pair *p = &t->pairs[i];
        if (SSL_CTX_use_cert_and_key(t->ctx, p->cert, p->key, p->chain, 1) != 1)
            return net_tls_error(e, MF_INVAL, o->pairs[i].cert_file);
    }
    if (t->npairs > 1)
        SSL_CTX_set_cert_cb(t->ctx, tls_pair_choose, t);
    return 0;
}

int net_tls_new(struct net_tls **out, const struct net_tls_options *o, struct mf_error *e)
{
    static const unsigned char id[] = "mayfly";
    struct net_tls *t = calloc(1, sizeof *t);
    struct mf_error own;

    e = e != NULL ? e : &own; /* the steps below return what they noted there */
    if (t == NULL)
        return mf_fail(e, MF_NOMEM, "tls");
    t->refs = 1;
    t->verify = o->verify;
    t->insecure = o->insecure;
    ERR_clear_error();
    t->ctx = SSL_CTX_new(TLS_method());
    if (t->ctx == NULL) {
        net_tls_error(e, MF_NOMEM, "OpenSSL");
        goto err;
    }
    if (set_algorithms(t->ctx, o, e) != 0 || set_authorities(t, o, e) != 0 ||
        set_pairs(t, o, e) != 0)
        goto err;
    /* Without it OpenSSL does not resume sessions of peers that showed a certificate. */
    SSL_CTX_set_session_id_context(t->ctx, id, sizeof id - 1);
    *out = t;
    return 0;
err:
    net_tls_release(t);
    return mf_wrap(e, "tls");
}

struct net_tls *net_tls_retain(struct net_tls *t)
{
    t->refs++;
    return t;
}

void net_tls_release(struct net_tls *t)
{
    if (t == NULL || --t->refs > 0)
        return;
    for (size_t i = 0; i < t->npairs; i++)
        tls_pair_free(&t->pairs[i]);
    free(t->pairs);
    SSL_CTX_free(t->ctx);
    free(t);
}
