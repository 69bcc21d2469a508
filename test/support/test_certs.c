/* test_certs.c: see test_certs.h. */
#include "test_certs.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PATHS 64
#define DAY       (24 * 3600L)

struct test_certs {
    char dir[128];
    char *paths[MAX_PATHS];
    int npaths;
    long serial;
    EVP_PKEY *key;
    X509 *ca;
};

#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                             \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* The same path text for the same file, owned by t. */
static const char *path_of(struct test_certs *t, const char *name, const char *suffix)
{
    char path[256];
    int n = snprintf(path, sizeof path, "%s/%s%s", t->dir, name, suffix);

    MUST(n > 0 && (size_t)n < sizeof path);
    for (int i = 0; i < t->npaths; i++) {
        if (strcmp(t->paths[i], path) == 0)
            return t->paths[i];
    }
    MUST(t->npaths < MAX_PATHS);
    t->paths[t->npaths] = strdup(path);
    MUST(t->paths[t->npaths] != NULL);
    return t->paths[t->npaths++];
}

const char *test_certs_ca(struct test_certs *t)
{
    return path_of(t, "ca", ".pem");
}

const char *test_certs_cert(struct test_certs *t, const char *name)
{
    return path_of(t, name, "-cert.pem");
}

const char *test_certs_key(struct test_certs *t, const char *name)
{
    return path_of(t, name, "-key.pem");
}

/* "A=x,B=y+C=z": an RDN for each comma, its attributes joined by '+'; ';' stands for a comma. */
static void set_subject(X509 *x, const char *subject)
{
    X509_NAME *name = X509_NAME_new();
    char *copy = strdup(subject), *at = copy;
    int set = 0;

    MUST(name != NULL && copy != NULL);
    while (*at != '\0') {
        char *value = strchr(at, '='), end;
        size_t n;
        MUST(value != NULL);
        *value++ = '\0';
        n = strcspn(value, ",+");
        end = value[n];
        value[n] = '\0';
        for (char *p = value; *p != '\0'; p++)
            *p = *p == ';' ? ',' : *p;
        MUST(X509_NAME_add_entry_by_txt(name, at, MBSTRING_UTF8, (unsigned char *)value, -1, -1,
                                        set) == 1);
        set = end == '+' ? -1 : 0; /* -1: into the RDN before */
        at = value + n + (end != '\0');
    }
    MUST(X509_set_subject_name(x, name) == 1);
    X509_NAME_free(name);
    free(copy);
}

static void add_extension(X509 *x, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509_EXTENSION *ext;

    X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
    ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    MUST(ext != NULL && X509_add_ext(x, ext, -1) == 1);
    X509_EXTENSION_free(ext);
}

static X509 *cert_new(struct test_certs *t, EVP_PKEY *key, const char *subject, bool expired)
{
    X509 *x = X509_new();

    MUST(x != NULL && X509_set_version(x, 2) == 1);
    ASN1_INTEGER_set(X509_get_serialNumber(x), ++t->serial);
    MUST(X509_gmtime_adj(X509_getm_notBefore(x), -2 * DAY) != NULL);
    MUST(X509_gmtime_adj(X509_getm_notAfter(x), expired ? -DAY : DAY) != NULL);
    MUST(X509_set_pubkey(x, key) == 1);
    set_subject(x, subject);
    return x;
}

static void write_cert(const char *path, X509 *x)
{
    FILE *out = fopen(path, "w");

    MUST(out != NULL && PEM_write_X509(out, x) == 1 && fclose(out) == 0);
}

static void write_key(const char *path, EVP_PKEY *key)
{
    FILE *out = fopen(path, "w");

    MUST(out != NULL && PEM_write_PrivateKey(out, key, NULL, NULL, 0, NULL, NULL) == 1 &&
         fclose(out) == 0);
}

void test_certs_make(struct test_certs *t, const struct test_cert *c)
{
    EVP_PKEY *key = c->rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256");
    X509 *x;

    MUST(key != NULL);
    x = cert_new(t, key, c->subject, c->expired);
    MUST(X509_set_issuer_name(x, X509_get_subject_name(t->ca)) == 1);
    add_extension(x, t->ca, NID_basic_constraints, "critical,CA:FALSE");
    add_extension(x, t->ca, NID_ext_key_usage, c->client ? "clientAuth" : "serverAuth");
    if (c->san != NULL)
        add_extension(x, t->ca, NID_subject_alt_name, c->san);
    MUST(X509_sign(x, t->key, EVP_sha256()) > 0);
    write_cert(test_certs_cert(t, c->name), x);
    write_key(test_certs_key(t, c->name), key);
    X509_free(x);
    EVP_PKEY_free(key);
}

struct test_certs *test_certs_new(void)
{
    static int authorities;
    struct test_certs *t = calloc(1, sizeof *t);
    const char *tmp = getenv("TMPDIR");
    char subject[64];

    MUST(t != NULL);
    snprintf(t->dir, sizeof t->dir, "%s/mayfly-certs-XXXXXX", tmp != NULL ? tmp : P_tmpdir);
    MUST(mkdtemp(t->dir) != NULL);
    t->key = EVP_EC_gen("P-256");
    MUST(t->key != NULL);
    snprintf(subject, sizeof subject, "O=Mayfly tests,CN=Authority %d", ++authorities);
    t->ca = cert_new(t, t->key, subject, false);
    MUST(X509_set_issuer_name(t->ca, X509_get_subject_name(t->ca)) == 1);
    add_extension(t->ca, t->ca, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(t->ca, t->ca, NID_key_usage, "critical,keyCertSign");
    MUST(X509_sign(t->ca, t->key, EVP_sha256()) > 0);
    write_cert(test_certs_ca(t), t->ca);
    return t;
}

void test_certs_free(struct test_certs *t)
{
    for (int i = 0; i < t->npaths; i++) {
        unlink(t->paths[i]);
        free(t->paths[i]);
    }
    rmdir(t->dir);
    X509_free(t->ca);
    EVP_PKEY_free(t->key);
    free(t);
}
