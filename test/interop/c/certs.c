/* certs.c: see certs.h. */
#include "certs.h"

#include <stdio.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "unity.h"

struct identity {
    X509 *cert;
    EVP_PKEY *key;
};

static void extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509_EXTENSION *e;

    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    TEST_ASSERT_NOT_NULL_MESSAGE(e, value);
    TEST_ASSERT_EQUAL_INT(1, X509_add_ext(cert, e, -1));
    X509_EXTENSION_free(e);
}

/* alt NULL: a certificate authority; by NULL: signs itself. */
static struct identity identity_new(const char *name, const char *alt, const struct identity *by)
{
    static long serial = 1;
    struct identity id = {X509_new(), EVP_EC_gen("P-256")};
    const struct identity *signer = by == NULL ? &id : by;
    X509_NAME *subject;

    TEST_ASSERT_NOT_NULL(id.cert);
    TEST_ASSERT_NOT_NULL(id.key);
    subject = X509_get_subject_name(id.cert);
    TEST_ASSERT_EQUAL_INT(1, X509_set_version(id.cert, X509_VERSION_3));
    ASN1_INTEGER_set(X509_get_serialNumber(id.cert), serial++);
    X509_gmtime_adj(X509_getm_notBefore(id.cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(id.cert), 86400);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(id.cert, X509_get_subject_name(signer->cert));
    X509_set_pubkey(id.cert, id.key);
    if (alt == NULL)
        extension(id.cert, signer->cert, NID_basic_constraints, "critical,CA:TRUE");
    else
        extension(id.cert, signer->cert, NID_subject_alt_name, alt);
    TEST_ASSERT_TRUE(X509_sign(id.cert, signer->key, EVP_sha256()) > 0);
    return id;
}

static void identity_write(const char *dir, const char *name, const struct identity *id)
{
    char path[160];
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/%s.pem", dir, name);
    f = fopen(path, "w");
    TEST_ASSERT_NOT_NULL_MESSAGE(f, path);
    TEST_ASSERT_EQUAL_INT(1, PEM_write_X509(f, id->cert));
    (void)fclose(f);
    (void)snprintf(path, sizeof path, "%s/%s.key", dir, name);
    f = fopen(path, "w");
    TEST_ASSERT_NOT_NULL_MESSAGE(f, path);
    TEST_ASSERT_EQUAL_INT(1, PEM_write_PrivateKey(f, id->key, NULL, NULL, 0, NULL, NULL));
    (void)fclose(f);
}

static void identity_fini(struct identity *id)
{
    X509_free(id->cert);
    EVP_PKEY_free(id->key);
}

void certs_write(const char *dir)
{
    struct identity ca = identity_new("Test CA", NULL, NULL);
    struct identity stranger = identity_new("Another CA", NULL, NULL);
    struct identity server = identity_new("localhost", "DNS:localhost,IP:127.0.0.1", &ca);
    struct identity client = identity_new("client", "email:client@example.test", &ca);

    identity_write(dir, "ca", &ca);
    identity_write(dir, "stranger_ca", &stranger);
    identity_write(dir, "server", &server);
    identity_write(dir, "client", &client);
    identity_fini(&ca);
    identity_fini(&stranger);
    identity_fini(&server);
    identity_fini(&client);
}
