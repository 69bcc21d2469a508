/* sign.c: keys that sign, and the tokens they sign. */
#include "jwt/jwt_impl.h"

#include "base/rand.h"
#include "codec/base64.h"
#include "codec/jsonw.h"

#include <sodium.h>

/* --- keys --------------------------------------------------------------------------------------
 */

static void make_public(struct jwt_key *k)
{
    uint8_t pk[32], sk[crypto_sign_SECRETKEYBYTES];

    if (sodium_init() < 0)
        return; /* cannot happen: random bytes are the kernel's */
    if (k->kind == NKEY_CURVE) {
        (void)crypto_scalarmult_base(pk, k->seed);
    } else {
        (void)crypto_sign_seed_keypair(pk, sk, k->seed); /* cannot fail */
        sodium_memzero(sk, sizeof sk);
    }
    nkey_encode(k->text, k->kind, pk);
}

void jwt_key_random(struct jwt_key *k, enum nkey_kind kind)
{
    *k = (struct jwt_key){.kind = kind};
    rand_bytes(k->seed, sizeof k->seed);
    make_public(k);
}

int jwt_key_from_seed(struct jwt_key *k, struct mf_slice seed_text)
{
    *k = (struct jwt_key){.kind = NKEY_USER};
    if (nkey_decode_seed(seed_text, &k->kind, k->seed) != 0) {
        jwt_key_wipe(k);
        return MF_INVAL;
    }
    make_public(k);
    return 0;
}

void jwt_key_wipe(struct jwt_key *k)
{
    explicit_bzero(k, sizeof *k);
}

void jwt_key_sign(const struct jwt_key *k, struct mf_slice bytes, uint8_t sig[64])
{
    uint8_t pk[32], sk[crypto_sign_SECRETKEYBYTES];

    (void)crypto_sign_seed_keypair(pk, sk, k->seed);
    (void)crypto_sign_detached(sig, NULL, bytes.ptr, bytes.len, sk);
    sodium_memzero(sk, sizeof sk);
}

/* --- tokens ------------------------------------------------------------------------------------
 */

/* The common claims in the order of nats-server's library; jti and nats only if given. */
static void write_claims(struct mf_buf *out, const struct jwt_unsigned *c, const char *iss,
                         const char *jti)
{
    struct jsonw w;

    jsonw_begin(&w, out, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    jsonw_opt_str(&w, "aud", c->aud);
    jsonw_opt_i64(&w, "exp", c->exp);
    jsonw_opt_str(&w, "jti", jti);
    jsonw_opt_i64(&w, "iat", c->iat);
    jsonw_opt_str(&w, "iss", iss);
    jsonw_opt_str(&w, "name", c->name);
    jsonw_opt_i64(&w, "nbf", c->nbf);
    jsonw_opt_str(&w, "sub", c->sub);
    if (jti != NULL)
        jsonw_raw(&w, "nats", c->nats);
    jsonw_end(&w);
}

/* Without the padding that base64_write() adds. */
static void write_part(struct mf_buf *out, struct mf_slice bytes)
{
    base64_write(out, bytes, BASE64_URL);
    while (out->len > 0 && out->ptr[out->len - 1] == '=')
        out->len--;
}

static void wipe(struct mf_buf *b)
{
    if (b->ptr != NULL)
        explicit_bzero(b->ptr, b->cap);
    mf_buf_fini(b);
}

int jwt_sign(struct mf_buf *out, const struct jwt_unsigned *c, const struct jwt_key *by)
{
    static const char head[] = "{\"typ\":\"JWT\",\"alg\":\"ed25519-nkey\"}";
    struct mf_buf json = MF_BUF_INIT;
    uint8_t hash[crypto_hash_sha256_BYTES], sig[crypto_sign_BYTES];
    char jti[2 * sizeof hash + 1];
    size_t start = out->len;

    write_claims(&json, c, by->text, NULL);
    (void)crypto_hash_sha256(hash, json.ptr, json.len);
    sodium_bin2hex(jti, sizeof jti, hash, sizeof hash);
    mf_buf_clear(&json);
    if (mf_buf_reserve(&json, 512 + c->nats.len) != NULL) /* one block: nothing is left behind */
        write_claims(&json, c, by->text, jti);
    write_part(out, mf_str(head));
    mf_buf_byte(out, '.');
    write_part(out, mf_buf_slice(&json));
    if (!mf_buf_failed(&json) && !mf_buf_failed(out)) {
        jwt_key_sign(by, mf_slice(out->ptr + start, out->len - start), sig);
        mf_buf_byte(out, '.');
        write_part(out, mf_slice(sig, sizeof sig));
    }
    bool failed = mf_buf_failed(&json) || mf_buf_failed(out);
    wipe(&json);
    return failed ? MF_NOMEM : 0;
}
