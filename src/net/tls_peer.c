/* tls_peer.c: the identity of a TLS peer, in the texts by which nats-server maps users. */
#include "net/tls_impl.h"

#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>
#include <stdio.h>

/* Text of bounded size.  If something does not fit, all of it is dropped. */
struct text {
    char *at;
    size_t cap, len;
    bool full;
};

static void text_put(struct text *t, const char *p, size_t n)
{
    if (t->full || n >= t->cap - t->len) {
        t->full = true;
        return;
    }
    memcpy(t->at + t->len, p, n);
    t->len += n;
}

static void text_end(struct text *t)
{
    if (t->full)
        t->len = 0;
    t->at[t->len] = '\0';
}

/* The attributes nats-server knows, in the order in which Go prints them: the reverse of the one it
 * sorts them by. */
static const struct attribute {
    int nid;
    const char *name;
    bool last_only; /* Go keeps one value: the last */
} attributes[] = {
    {NID_serialNumber, "SERIALNUMBER", true},
    {NID_commonName, "CN", true},
    {NID_postalCode, "POSTALCODE", false},
    {NID_streetAddress, "STREET", false},
    {NID_stateOrProvinceName, "ST", false},
    {NID_localityName, "L", false},
    {NID_organizationalUnitName, "OU", false},
    {NID_organizationName, "O", false},
    {NID_countryName, "C", false},
    {NID_domainComponent, "DC", false}, /* not in Go's text */
};
#define GO_ATTRIBUTES (MF_COUNT(attributes) - 1)

static const struct attribute *attribute_of(const X509_NAME_ENTRY *entry)
{
    int nid = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));

    for (size_t i = 0; i < MF_COUNT(attributes); i++) {
        if (attributes[i].nid == nid)
            return &attributes[i];
    }
    return NULL;
}

/* RFC 2253's escapes; `equals` also escapes '=', which some parsers trip over. */
static void put_value(struct text *t, const X509_NAME_ENTRY *entry, bool escape, bool equals)
{
    unsigned char *utf8 = NULL;
    int n = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(entry));

    if (n < 0 || memchr(utf8, '\0', (size_t)n) != NULL)
        t->full = true; /* not a text: better no name than a wrong one */
    for (int i = 0; i < n && !t->full; i++) {
        char ch = (char)utf8[i];
        bool edge = i == 0 || i == n - 1;
        if (escape && (strchr(",+\"\\<>;", ch) != NULL || (ch == ' ' && edge) ||
                       (ch == '#' && i == 0) || (ch == '=' && equals)))
            text_put(t, "\\", 1);
        text_put(t, &ch, 1);
    }
    if (n >= 0)
        OPENSSL_free(utf8);
}

static void put_pair(struct text *t, const struct attribute *a, const X509_NAME_ENTRY *entry,
                     bool escape, bool equals)
{
    text_put(t, a->name, strlen(a->name));
    text_put(t, "=", 1);
    put_value(t, entry, escape, equals);
}

/* Go's text: per kind of attribute, values of one kind joined by '+'. */
static void subject_as_go(const X509_NAME *name, struct text *t)
{
    int count = X509_NAME_entry_count(name);

    for (size_t i = 0; i < GO_ATTRIBUTES; i++) {
        const struct attribute *a = &attributes[i];
        const X509_NAME_ENTRY *last = NULL;
        bool first = true;
        for (int k = 0; k < count; k++) {
            const X509_NAME_ENTRY *entry = X509_NAME_get_entry(name, k);
            if (attribute_of(entry) != a)
                continue;
            last = entry;
            if (a->last_only)
                continue;
            text_put(t, !first ? "+" : ",", !first || t->len > 0 ? 1 : 0);
            put_pair(t, a, entry, true, false);
            first = false;
        }
        if (a->last_only && last != NULL) {
            text_put(t, ",", t->len > 0 ? 1 : 0);
            put_pair(t, a, last, true, false);
        }
    }
    text_end(t);
}

/* RFC 4514: the certificate's order backwards; attributes of one RDN joined by '+'. */
static void subject_as_dn(const X509_NAME *name, struct text *t)
{
    int set = -1;

    for (int k = X509_NAME_entry_count(name) - 1; k >= 0; k--) {
        const X509_NAME_ENTRY *entry = X509_NAME_get_entry(name, k);
        const struct attribute *a = attribute_of(entry);
        if (a == NULL) {
            t->full = true;
            break;
        }
        if (t->len > 0)
            text_put(t, set == X509_NAME_ENTRY_set(entry) ? "+" : ",", 1);
        set = X509_NAME_ENTRY_set(entry);
        put_pair(t, a, entry, true, true);
    }
    text_end(t);
}

static void subject_dcs(const X509_NAME *name, struct text *t)
{
    const struct attribute *dc = &attributes[GO_ATTRIBUTES];

    for (int k = 0; k < X509_NAME_entry_count(name); k++) {
        const X509_NAME_ENTRY *entry = X509_NAME_get_entry(name, k);
        if (attribute_of(entry) != dc)
            continue;
        if (t->len > 0)
            text_put(t, ",", 1);
        put_pair(t, dc, entry, false, false);
    }
    text_end(t);
}

/* Names with a NUL inside, too long ones and those beyond the table are left out. */
static void add_sans(const GENERAL_NAMES *names, int type, struct net_tls_peer *out)
{
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && out->nsans < MF_COUNT(out->sans); i++) {
        const GENERAL_NAME *g = sk_GENERAL_NAME_value(names, i);
        if (g->type != type)
            continue;
        const ASN1_STRING *s = g->d.ia5; /* e-mail, DNS and URI are all this */
        const unsigned char *p = ASN1_STRING_get0_data(s);
        size_t n = (size_t)ASN1_STRING_length(s);
        if (n == 0 || n >= sizeof out->sans[0] || memchr(p, '\0', n) != NULL)
            continue;
        memcpy(out->sans[out->nsans], p, n);
        out->sans[out->nsans][n] = '\0';
        out->nsans++;
    }
}

static void hex_sha256(char dst[65], const unsigned char *p, size_t n)
{
    unsigned char md[SHA256_DIGEST_LENGTH];

    SHA256(p, n, md);
    for (size_t i = 0; i < sizeof md; i++)
        snprintf(dst + 2 * i, 3, "%02x", md[i]);
}

static void describe_peer(const X509 *cert, struct net_tls_peer *out)
{
    const X509_NAME *name = X509_get_subject_name(cert);
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    unsigned char *der = NULL;
    int n;

    subject_as_go(name, &(struct text){.at = out->subject, .cap = sizeof out->subject});
    subject_as_dn(name, &(struct text){.at = out->dn, .cap = sizeof out->dn});
    subject_dcs(name, &(struct text){.at = out->dcs, .cap = sizeof out->dcs});
    if (names != NULL) {
        add_sans(names, GEN_EMAIL, out);
        add_sans(names, GEN_DNS, out);
        add_sans(names, GEN_URI, out);
        GENERAL_NAMES_free(names);
    }
    n = i2d_X509(cert, &der);
    if (n > 0)
        hex_sha256(out->cert_sha256, der, (size_t)n);
    OPENSSL_free(der);
    der = NULL;
    n = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(cert), &der);
    if (n > 0)
        hex_sha256(out->spki_sha256, der, (size_t)n);
    OPENSSL_free(der);
}

void net_conn_tls_peer(const struct net_conn *c, struct net_tls_peer *out)
{
    const struct tls_conn *t = c->ext == NULL ? NULL : c->ext->tls;
    const char *version;
    X509 *cert;

    memset(out, 0, sizeof *out);
    out->version = out->cipher = "";
    if (t == NULL || !t->done)
        return;
    version = SSL_get_version(t->ssl); /* "TLSv1.3" */
    out->version = strncmp(version, "TLSv", 4) == 0 ? version + 4 : version;
    if (SSL_get_current_cipher(t->ssl) != NULL)
        out->cipher = SSL_CIPHER_standard_name(SSL_get_current_cipher(t->ssl));
    cert = SSL_get0_peer_certificate(t->ssl);
    if (cert != NULL)
        describe_peer(cert, out);
}

static void show_pem(X509 *cert, void (*each)(void *arg, struct mf_slice pem), void *arg)
{
    BIO *mem = BIO_new(BIO_s_mem());
    char *text;
    long n;

    if (mem == NULL)
        return;
    if (PEM_write_bio_X509(mem, cert) == 1 && (n = BIO_get_mem_data(mem, &text)) > 0)
        each(arg, mf_slice(text, (size_t)n));
    BIO_free(mem);
}

void net_conn_tls_chain(const struct net_conn *c, bool *verified,
                        void (*each)(void *arg, struct mf_slice pem), void *arg)
{
    const struct tls_conn *t = c->ext == NULL ? NULL : c->ext->tls;
    STACK_OF(X509) *chain = NULL;
    X509 *own;

    *verified = false;
    if (t == NULL || !t->done || (own = SSL_get0_peer_certificate(t->ssl)) == NULL)
        return;
    if (SSL_get_verify_result(t->ssl) == X509_V_OK)
        chain = SSL_get0_verified_chain(t->ssl);
    *verified = chain != NULL;
    if (chain == NULL) {
        show_pem(own, each, arg);
        chain = SSL_get_peer_cert_chain(t->ssl); /* of a client: without its own */
    }
    for (int i = 0; i < sk_X509_num(chain); i++)
        show_pem(sk_X509_value(chain, i), each, arg);
}
