/* tokens.h: keys and signed tokens of operator mode for tests: a key is a letter and a number, so
 * that every run makes the same ones. */
#ifndef MAYFLY_TEST_TOKENS_H
#define MAYFLY_TEST_TOKENS_H

#include "base/buf.h"
#include "codec/base64.h"
#include "codec/nkey.h"

#include <sodium.h>
#include <stdlib.h>

struct token_key {
    char text[NKEY_TEXT];
    uint8_t secret[crypto_sign_SECRETKEYBYTES];
};

static inline struct token_key token_key(enum nkey_kind kind, uint32_t n)
{
    struct token_key k;
    uint8_t seed[32] = {(uint8_t)kind, (uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16)}, raw[32];

    if (sodium_init() < 0)
        abort();
    crypto_sign_seed_keypair(raw, k.secret, seed);
    nkey_encode(k.text, kind, raw);
    return k;
}

static inline void token_part(struct mf_buf *out, struct mf_slice bytes)
{
    base64_write(out, bytes, BASE64_URL);
    while (out->len > 0 && out->ptr[out->len - 1] == '=')
        out->len--;
}

/* The token with these claims; the caller frees it. */
static inline char *token_sign(const struct token_key *by, const char *claims)
{
    struct mf_buf t = {0};
    uint8_t sig[crypto_sign_BYTES];

    token_part(&t, mf_str("{\"typ\":\"JWT\",\"alg\":\"ed25519-nkey\"}"));
    mf_buf_byte(&t, '.');
    token_part(&t, mf_str(claims));
    crypto_sign_detached(sig, NULL, t.ptr, t.len, by->secret);
    mf_buf_byte(&t, '.');
    token_part(&t, mf_slice(sig, sizeof sig));
    return (char *)(uintptr_t)mf_buf_cstr(&t);
}

/* The same with the usual claims; more: members of `nats`, after a comma, or "". */
static inline char *token_make(const struct token_key *by, const struct token_key *of,
                               const char *type, long iat, long exp, const char *more)
{
    struct mf_buf c = {0};
    char *t;

    mf_buf_printf(&c, "{\"iss\":\"%s\",\"sub\":\"%s\",\"name\":\"N\",\"iat\":%ld,\"exp\":%ld,",
                  by->text, of->text, iat, exp);
    mf_buf_printf(&c, "\"nats\":{\"type\":\"%s\",\"version\":2%s}}", type, more);
    t = token_sign(by, mf_buf_cstr(&c));
    mf_buf_fini(&c);
    return t;
}

#endif
