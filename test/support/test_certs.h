/* test_certs.h: certificates made when a test runs, so that no key is ever kept with the source. */
#ifndef TEST_CERTS_H
#define TEST_CERTS_H

#include <stdbool.h>

struct test_certs; /* a folder of its own with an authority in it */

struct test_cert {
    const char *name;    /* of the files */
    const char *subject; /* "C=CH,O=Mayfly,CN=x" in the certificate's order; "OU=a+CN=x": one RDN;
                            a ';' in a value makes a comma */
    const char *san;     /* "DNS:localhost,IP:127.0.0.1,email:a@b,URI:x:y", or NULL */
    bool client;         /* may be shown by a client; else by a server */
    bool rsa;            /* else P-256 */
    bool expired;
};

/* All of these end the program when something is wrong: a test cannot go on without. */
struct test_certs *test_certs_new(void);
void test_certs_free(struct test_certs *t);                            /* and removes the files */
void test_certs_make(struct test_certs *t, const struct test_cert *c); /* signed by the authority */
/* Paths of the PEM files; valid until test_certs_free(). */
const char *test_certs_ca(struct test_certs *t);
const char *test_certs_cert(struct test_certs *t, const char *name);
const char *test_certs_key(struct test_certs *t, const char *name);

#endif
