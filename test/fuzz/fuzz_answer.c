/* fuzz_answer.c: responses of an auth callout's service.  The first byte: 's' the rest is sealed
 * by the service's key; 'r' the rest are the claims under "nats" of a response that is signed here,
 * 'u' those of a user inside a good response; else the rest is what arrives. */
#include "callout/answer.h"
#include "fuzz.h"
#include "jwt/jwt_callout.h"
#include "jwt/xkey.h"

static struct jwt_key issuer, server, ours, theirs, asked;

static bool signs(const void *arg, const char *signer)
{
    (void)arg;
    return strcmp(signer, issuer.text) == 0;
}

static void sign(struct mf_buf *out, struct mf_slice nats, const char *aud)
{
    struct jwt_unsigned c = {.sub = asked.text, .aud = aud, .nats = nats};

    FUZZ_CHECK(jwt_sign(out, &c, &issuer) == 0);
}

static void read_it(struct mf_slice body, bool curves)
{
    struct answer_rules r = {.account = "AUTH",
                             .server_id = server.text,
                             .user_nkey = asked.text,
                             .curve = curves ? &ours : NULL,
                             .xkey = curves ? theirs.text : NULL,
                             .signs = signs,
                             .now_s = 1700000000};
    struct mf_error e = {0};
    struct jwt *user;

    if (answer_read(&user, &r, body, &e) == 0) {
        FUZZ_CHECK(strcmp(user->sub, asked.text) == 0 && user->kind == JWT_USER);
        jwt_free(user);
    } else {
        FUZZ_CHECK(user == NULL && e.text[0] != '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mf_buf inner = MF_BUF_INIT, nats = MF_BUF_INIT, out = MF_BUF_INIT;
    struct mf_slice rest = mf_slice(size > 0 ? data + 1 : data, size > 0 ? size - 1 : 0);

    if (issuer.text[0] == '\0') {
        jwt_key_random(&issuer, NKEY_ACCOUNT);
        jwt_key_random(&server, NKEY_SERVER);
        jwt_key_random(&ours, NKEY_CURVE);
        jwt_key_random(&theirs, NKEY_CURVE);
        jwt_key_random(&asked, NKEY_USER);
    }
    switch (size > 0 ? data[0] : 0) {
    case 's':
        FUZZ_CHECK(xkey_seal(&out, rest, &theirs, mf_str(ours.text)) == 0);
        break;
    case 'r':
        sign(&out, rest, server.text);
        break;
    case 'u':
        sign(&inner, rest, "APP");
        jwt_auth_response_write(&nats, &(struct jwt_auth_response){.jwt = mf_buf_cstr(&inner)});
        sign(&out, mf_buf_slice(&nats), server.text);
        break;
    default:
        mf_buf_append(&out, data, size);
    }
    read_it(mf_buf_slice(&out), false);
    read_it(mf_buf_slice(&out), true);
    mf_buf_fini(&inner);
    mf_buf_fini(&nats);
    mf_buf_fini(&out);
    return 0;
}
