/* creds.c: reads .creds files, signs nonces. */
#include "auth/creds.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- the file --------------------------------------------------------------------------------- */

/* Not one that could keep us waiting (a pipe), and not a large one. */
static int open_file(const char *path, size_t *size, struct mf_error *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd < 0)
        return mf_fail(e, MF_IO, "credentials: open %s: %s", path, strerror(errno));
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= (off_t)CREDS_FILE_MAX) {
        *size = (size_t)st.st_size;
        return fd;
    }
    close(fd);
    return mf_fail(e, MF_LIMIT, "credentials: %s: not a file of at most %u bytes", path,
                   CREDS_FILE_MAX);
}

static int read_file(const char *path, char **text, size_t *n, struct mf_error *e)
{
    size_t size = 0, have = 0;
    ssize_t k = 1;
    int fd = open_file(path, &size, e);

    if (fd < 0)
        return fd;
    *text = malloc(size + 1);
    while (*text != NULL && have < size && k > 0) {
        k = read(fd, *text + have, size - have);
        have += k > 0 ? (size_t)k : 0;
    }
    close(fd);
    *n = have;
    return *text == NULL ? mf_fail(e, MF_NOMEM, "credentials") : 0;
}

/* --- blocks between dashes -------------------------------------------------------------------- */

static struct mf_slice next_line(struct mf_slice *rest)
{
    const uint8_t *lf = memchr(rest->ptr, '\n', rest->len);
    size_t n = lf == NULL ? rest->len : (size_t)(lf - rest->ptr);
    struct mf_slice line = mf_trim(mf_slice(rest->ptr, n));

    *rest = lf == NULL ? mf_slice(rest->ptr + rest->len, 0) : mf_slice(lf + 1, rest->len - n - 1);
    return line;
}

static bool is_dashes(struct mf_slice line)
{
    return line.len >= 6 && mf_starts(line, "---") && mf_ends(line, "---");
}

/* The line between the next two lines of dashes; false: there is none. */
static bool next_block(struct mf_slice *rest, struct mf_slice *block)
{
    while (rest->len > 0 && !is_dashes(next_line(rest)))
        ;
    *block = MF_SLICE_NONE;
    while (rest->len > 0) {
        struct mf_slice line = next_line(rest);
        if (is_dashes(line))
            return block->len > 0;
        if (line.len > 0 && block->len > 0)
            return false; /* two lines: not one of ours */
        if (line.len > 0)
            *block = line;
    }
    return false;
}

static bool is_jwt(struct mf_slice s)
{
    unsigned dots = 0;

    for (size_t i = 0; i < s.len; i++) {
        uint8_t c = s.ptr[i];
        dots += c == '.';
        if (!(c >= '0' && c <= '9') && !((c | 0x20) >= 'a' && (c | 0x20) <= 'z') &&
            strchr(".-_=", c) == NULL)
            return false;
    }
    return dots == 2;
}

static int parse_file(struct creds *out, const char *path, struct mf_slice text, struct mf_error *e)
{
    struct mf_slice jwt, seed;

    if (!next_block(&text, &jwt) || !next_block(&text, &seed) || !is_jwt(jwt))
        return mf_fail(e, MF_INVAL,
                       "credentials: %s: expected a block with a user JWT, then one with its seed",
                       path);
    if (creds_from_seed(out, seed, NULL) != 0)
        return mf_fail(e, MF_INVAL, "credentials: %s: the seed is not that of a user", path);
    out->jwt = mf_slice_dup(jwt);
    if (out->jwt != NULL)
        return 0;
    creds_wipe(out);
    return mf_fail(e, MF_NOMEM, "credentials");
}

int creds_load(struct creds *out, const char *path, struct mf_error *e)
{
    char *text = NULL;
    size_t n = 0;
    int rc = read_file(path, &text, &n, e);

    memset(out, 0, sizeof *out);
    if (rc != 0)
        return rc;
    rc = parse_file(out, path, mf_slice(text, n), e);
    sodium_memzero(text, n);
    free(text);
    return rc;
}

/* --- keys ------------------------------------------------------------------------------------- */

int creds_from_seed(struct creds *out, struct mf_slice seed, struct mf_error *e)
{
    uint8_t pk[crypto_sign_PUBLICKEYBYTES], sk[crypto_sign_SECRETKEYBYTES];
    enum nkey_kind kind;

    memset(out, 0, sizeof *out);
    if (nkey_decode_seed(seed, &kind, out->seed) != 0 || kind != NKEY_USER || sodium_init() < 0) {
        creds_wipe(out);
        return mf_fail(e, MF_INVAL, "not the seed of a user");
    }
    (void)crypto_sign_seed_keypair(pk, sk, out->seed);
    nkey_encode(out->nkey, NKEY_USER, pk);
    sodium_memzero(sk, sizeof sk);
    return 0;
}

void creds_sign(const struct creds *c, struct mf_slice nonce, char dst[CREDS_SIG])
{
    uint8_t pk[crypto_sign_PUBLICKEYBYTES], sk[crypto_sign_SECRETKEYBYTES];
    uint8_t sig[crypto_sign_BYTES];

    (void)crypto_sign_seed_keypair(pk, sk, c->seed);
    (void)crypto_sign_detached(sig, NULL, nonce.ptr, nonce.len, sk);
    sodium_bin2base64(dst, CREDS_SIG, sig, sizeof sig, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(sk, sizeof sk);
}

void creds_wipe(struct creds *c)
{
    if (c == NULL)
        return;
    if (c->jwt != NULL)
        sodium_memzero(c->jwt, strlen(c->jwt));
    free(c->jwt);
    sodium_memzero(c, sizeof *c);
}
