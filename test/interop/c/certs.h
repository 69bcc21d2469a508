/* certs.h: a certificate authority and certificates for one test, written as PEM files. */
#ifndef TEST_CERTS_H
#define TEST_CERTS_H

/* Writes into dir: ca.pem, server.pem/.key (localhost, 127.0.0.1), client.pem/.key and, signed by
 * nobody the server knows, stranger_ca.pem.  Fails the test when OpenSSL does. */
void certs_write(const char *dir);

#endif
