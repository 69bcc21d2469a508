/* seal.c: XChaCha20-Poly1305 and XAES-256-GCM.  OpenSSL has the ciphers below them, in versions
 * that are faster than libsodium's for short messages; libsodium has HChaCha20.
 *
 * Both derive a key from the first bytes of the nonce (16, or 12), and use it with the rest.  A
 * struct seal draws the first 16 bytes once, so its derived key is computed once; a reader keeps
 * the derived key of the last box it opened. */
#include "codec/seal.h"

#include <openssl/evp.h>
#include <sodium.h>
#include <stdlib.h>

#define PREFIX 16u /* random bytes of a nonce; a counter follows */
#define BLOCK  16u
#define SHORT  12u /* nonce of the ciphers below */

/* A derived key, of the boxes whose nonces begin like this. */
struct derived {
    bool known;
    uint8_t prefix[PREFIX];
    EVP_CIPHER_CTX *aead; /* has the key */
};
/* One cipher under one key. */
struct under {
    enum seal_cipher cipher;
    uint8_t key[SEAL_KEY];
    uint8_t k1[BLOCK]; /* aes: XAES's K1 */
    EVP_CIPHER_CTX *ecb;
    struct derived shut, open;
};
struct seal {
    enum seal_cipher cipher; /* of new boxes */
    uint8_t prefix[PREFIX];
    uint64_t counter;
    struct under under[2]; /* that cipher; the other one, which only opens */
};

void seal_random(void *dst, size_t n)
{
    randombytes_buf(dst, n);
}

void *seal_alloc(size_t n)
{
    /* The pages end where the memory does: a multiple of 16 keeps it aligned. */
    return sodium_init() < 0 ? NULL : sodium_malloc((n + 15) & ~(size_t)15);
}

void seal_release(void *p)
{
    sodium_free(p);
}

void seal_wipe(void *p, size_t n)
{
    sodium_memzero(p, n);
}

void seal_key_of(uint8_t key[SEAL_KEY], struct mf_slice text, const uint8_t salt[SEAL_SALT])
{
    uint8_t first[SEAL_KEY];

    /* Twice: libsodium's keys have at most 64 bytes, a text has any length. */
    crypto_generichash(first, sizeof first, text.ptr, text.len, NULL, 0);
    crypto_generichash(key, SEAL_KEY, salt, SEAL_SALT, first, sizeof first);
    sodium_memzero(first, sizeof first);
}

/* Where something is sealed.  None of these calls allocates or reads anything, so none can fail
 * once the contexts are made.  If one does, going on would write what was to be sealed.  Opening
 * fails instead. */
static void must_succeed(int ok)
{
    if (ok != 1)
        abort();
}

/* --- AES ------------------------------------------------------------------------------------ */

static bool ecb_blocks(struct under *u, uint8_t *dst, const uint8_t *src, int n)
{
    int len;

    return EVP_EncryptUpdate(u->ecb, dst, &len, src, n) == 1 && len == n;
}

static EVP_CIPHER_CTX *context_new(const EVP_CIPHER *cipher, const uint8_t *key)
{
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();

    if (c != NULL && EVP_EncryptInit_ex(c, cipher, NULL, key, NULL) == 1 &&
        EVP_CIPHER_CTX_set_padding(c, 0) == 1)
        return c;
    EVP_CIPHER_CTX_free(c);
    return NULL;
}

static bool aes_init(struct under *u)
{
    static const uint8_t zeros[BLOCK];
    unsigned carry = 0;

    u->ecb = context_new(EVP_aes_256_ecb(), u->key);
    if (u->ecb == NULL || !ecb_blocks(u, u->k1, zeros, BLOCK))
        return false;
    /* Doubled in GF(2^128): a key of CMAC. */
    for (size_t i = BLOCK; i-- > 0;) {
        unsigned b = u->k1[i];
        u->k1[i] = (uint8_t)(b << 1 | carry);
        carry = b >> 7;
    }
    u->k1[BLOCK - 1] ^= carry != 0 ? 0x87 : 0;
    return true;
}

static bool aes_derive(struct under *u, const uint8_t *nonce, uint8_t derived[SEAL_KEY])
{
    uint8_t m[2 * BLOCK] = {0};

    for (size_t i = 0; i < 2; i++) {
        uint8_t *p = m + i * BLOCK;
        p[1] = (uint8_t)(i + 1);
        p[2] = 'X';
        memcpy(p + 4, nonce, SHORT);
        for (size_t k = 0; k < BLOCK; k++)
            p[k] ^= u->k1[k];
    }
    return ecb_blocks(u, derived, m, sizeof m);
}

/* --- both ----------------------------------------------------------------------------------- */

static void aead_shut(struct derived *d, const uint8_t *nonce, uint8_t *box, size_t n,
                      struct mf_slice ad)
{
    int len;

    must_succeed(EVP_EncryptInit_ex(d->aead, NULL, NULL, NULL, nonce));
    if (ad.len > 0)
        must_succeed(EVP_EncryptUpdate(d->aead, NULL, &len, ad.ptr, (int)ad.len));
    if (n > 0)
        must_succeed(EVP_EncryptUpdate(d->aead, box + SEAL_ROOM, &len, box + SEAL_ROOM, (int)n));
    must_succeed(EVP_EncryptFinal_ex(d->aead, box + SEAL_ROOM + n, &len));
    must_succeed(EVP_CIPHER_CTX_ctrl(d->aead, EVP_CTRL_AEAD_GET_TAG, SEAL_TAG, box + SEAL_NONCE));
}

static bool aead_open(struct derived *d, const uint8_t *nonce, const uint8_t *box, size_t n,
                      struct mf_slice ad, uint8_t *dst)
{
    uint8_t tag[SEAL_TAG], none[BLOCK];
    int len;

    memcpy(tag, box + SEAL_NONCE, sizeof tag);
    return EVP_DecryptInit_ex(d->aead, NULL, NULL, NULL, nonce) == 1 &&
           (ad.len == 0 || EVP_DecryptUpdate(d->aead, NULL, &len, ad.ptr, (int)ad.len) == 1) &&
           (n == 0 || EVP_DecryptUpdate(d->aead, dst, &len, box + SEAL_ROOM, (int)n) == 1) &&
           EVP_CIPHER_CTX_ctrl(d->aead, EVP_CTRL_AEAD_SET_TAG, SEAL_TAG, tag) == 1 &&
           EVP_DecryptFinal_ex(d->aead, none, &len) == 1;
}

static bool under_init(struct under *u, enum seal_cipher cipher, const uint8_t key[SEAL_KEY],
                       bool shuts)
{
    const EVP_CIPHER *aead = cipher == SEAL_AES ? EVP_aes_256_gcm() : EVP_chacha20_poly1305();

    u->cipher = cipher;
    memcpy(u->key, key, SEAL_KEY);
    u->shut.aead = shuts ? context_new(aead, NULL) : NULL;
    u->open.aead = context_new(aead, NULL);
    return (u->shut.aead != NULL || !shuts) && u->open.aead != NULL &&
           (cipher != SEAL_AES || aes_init(u));
}

static void under_fini(struct under *u)
{
    EVP_CIPHER_CTX_free(u->ecb); /* they wipe their keys */
    EVP_CIPHER_CTX_free(u->shut.aead);
    EVP_CIPHER_CTX_free(u->open.aead);
    sodium_memzero(u, sizeof *u);
}

static bool derive_key(struct under *u, struct derived *d, const uint8_t *nonce)
{
    uint8_t key[SEAL_KEY];

    if (d->known && memcmp(d->prefix, nonce, PREFIX) == 0)
        return true;
    memcpy(d->prefix, nonce, PREFIX);
    d->known = u->cipher == SEAL_AES ? aes_derive(u, nonce, key)
                                     : crypto_core_hchacha20(key, nonce, u->key, NULL) == 0;
    d->known = d->known && EVP_CipherInit_ex(d->aead, NULL, NULL, key, NULL, d == &u->shut) == 1;
    sodium_memzero(key, sizeof key);
    return d->known;
}

/* The rest of the nonce, for the cipher below. */
static void shorten_nonce(const struct under *u, const uint8_t *nonce, uint8_t dst[SHORT])
{
    if (u->cipher == SEAL_AES) {
        memcpy(dst, nonce + SHORT, SHORT);
        return;
    }
    memset(dst, 0, SHORT - 8);
    memcpy(dst + SHORT - 8, nonce + PREFIX, 8);
}

static void shut_box(struct under *u, uint8_t *box, size_t n, struct mf_slice ad)
{
    uint8_t nonce[SHORT];

    must_succeed(derive_key(u, &u->shut, box));
    shorten_nonce(u, box, nonce);
    aead_shut(&u->shut, nonce, box, n, ad);
}

/* Keys of the ciphers differ, so that a change of the cipher gives neither away. */
static void key_for(uint8_t dst[SEAL_KEY], const uint8_t key[SEAL_KEY], enum seal_cipher cipher)
{
    static const char context[crypto_kdf_CONTEXTBYTES + 1] = "mfly-box";

    (void)crypto_kdf_derive_from_key(dst, SEAL_KEY, (uint64_t)cipher, context, key);
}

static enum seal_cipher other_than(enum seal_cipher cipher)
{
    return cipher == SEAL_AES ? SEAL_CHACHA : SEAL_AES;
}

struct seal *seal_new(const uint8_t key[SEAL_KEY], enum seal_cipher cipher)
{
    uint8_t own[SEAL_KEY], other[SEAL_KEY];
    struct seal *s = sodium_init() < 0 ? NULL : calloc(1, sizeof *s);

    if (s == NULL)
        return NULL;
    s->cipher = cipher;
    key_for(own, key, cipher);
    key_for(other, key, other_than(cipher));
    bool ok = under_init(&s->under[0], cipher, own, true) &&
              under_init(&s->under[1], other_than(cipher), other, false);
    sodium_memzero(own, sizeof own);
    sodium_memzero(other, sizeof other);
    randombytes_buf(s->prefix, PREFIX);
    if (ok)
        return s;
    seal_free(s);
    return NULL;
}

void seal_free(struct seal *s)
{
    if (s == NULL)
        return;
    under_fini(&s->under[0]);
    under_fini(&s->under[1]);
    sodium_memzero(s, sizeof *s);
    free(s);
}

enum seal_cipher seal_cipher(const struct seal *s)
{
    return s->cipher;
}

void seal_shut(struct seal *s, uint8_t *box, size_t n, struct mf_slice ad)
{
    uint64_t count = ++s->counter;

    memcpy(box, s->prefix, PREFIX);
    memcpy(box + PREFIX, &count, sizeof count);
    shut_box(&s->under[0], box, n, ad);
}

bool seal_open(struct seal *s, enum seal_cipher cipher, const uint8_t *box, size_t n,
               struct mf_slice ad, uint8_t *dst)
{
    /* Boxes of the other cipher are those from before a change of the configuration. */
    struct under *u = &s->under[cipher != s->cipher];
    uint8_t nonce[SHORT];

    shorten_nonce(u, box, nonce);
    bool ok = derive_key(u, &u->open, box) && aead_open(&u->open, nonce, box, n, ad, dst);
    if (!ok)
        sodium_memzero(dst, n);
    return ok;
}

void seal_shut_with(const uint8_t key[SEAL_KEY], enum seal_cipher cipher,
                    const uint8_t nonce[SEAL_NONCE], uint8_t *box, size_t n, struct mf_slice ad)
{
    struct under u = {0};

    must_succeed(sodium_init() >= 0 && under_init(&u, cipher, key, true));
    memcpy(box, nonce, SEAL_NONCE);
    shut_box(&u, box, n, ad);
    under_fini(&u);
}
