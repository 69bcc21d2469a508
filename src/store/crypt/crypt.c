/* crypt.c: the key file of a store (docs/disk-format.md, Encryption).
 *
 * Happy path: crypt_load() reads it before recovery, which changes nothing yet; crypt_renew()
 * follows once the log was read.  A new store, or one that was not encrypted so far, gets one by
 * crypt_make().
 * Failure: the file is replaced as a whole, so at every moment one that opens is there. */
#include "store/crypt/crypt.h"

#include "codec/checksum.h"

#include <stdlib.h>

#define MAGIC   "MAYFLYKY"
#define VERSION 1u
#define SECOND  4096u /* where the second copy stands: damage of a page leaves one */
#define SIZE    (SECOND + 512u)

enum { /* offsets inside a copy */
       AT_VERSION = 8,
       AT_CIPHER = 12,
       AT_SALT = 16,
       AT_ID = 32, /* of the store: the file of another one does not fit */
       AT_BOX = AT_ID + STORE_ID,
       AT_CHECK = AT_BOX + SEAL_ROOM + SEAL_KEY,
};

struct key_file {
    uint8_t bytes[SIZE];
    bool good[2];
};

static struct mf_slice slice_at(const uint8_t *p, size_t n)
{
    return (struct mf_slice){p, n};
}

static int crypt_new(struct crypt **out, const struct store_secret *secret,
                     const uint8_t key[SEAL_KEY], const uint8_t id[STORE_ID], struct mf_error *e)
{
    struct crypt *c = calloc(1, sizeof *c);

    if (c == NULL)
        return mf_fail(e, MF_NOMEM, "%s", CRYPT_FILE);
    c->cipher = secret->cipher == STORE_AES ? SEAL_AES : SEAL_CHACHA;
    memcpy(c->key, key, SEAL_KEY);
    memcpy(c->id, id, STORE_ID);
    c->loop = seal_new(key, c->cipher);
    c->commit = seal_new(key, c->cipher);
    c->check = seal_new(key, c->cipher);
    if (c->loop == NULL || c->commit == NULL || c->check == NULL) {
        crypt_free(c);
        return mf_fail(e, MF_NOMEM, "%s", CRYPT_FILE);
    }
    *out = c;
    return 0;
}

void crypt_free(struct crypt *c)
{
    if (c == NULL)
        return;
    seal_free(c->loop);
    seal_free(c->commit);
    seal_free(c->check);
    seal_wipe(c, sizeof *c);
    free(c);
}

/* --- reading -------------------------------------------------------------------------------- */

static int read_file(struct key_file *k, struct store_io *io, struct mf_error *e)
{
    struct store_file *f;
    uint64_t size;
    int rc = io->open(io, CRYPT_FILE, false, &f, e);

    *k = (struct key_file){0};
    if (rc != 0)
        return rc;
    if ((rc = io->size(io, f, &size, e)) == 0 && size > 0)
        rc = io->pread(io, f, k->bytes, size < SIZE ? (size_t)size : SIZE, 0, e);
    io->close(io, f);
    for (size_t i = 0; i < 2 && rc == 0; i++) {
        const uint8_t *p = k->bytes + i * SECOND;
        k->good[i] = memcmp(p, MAGIC, 8) == 0 &&
                     checksum64(p, AT_CHECK, i * SECOND) == get_u64(p + AT_CHECK) &&
                     (get_u32(p + AT_VERSION) > VERSION || seal_known(get_u32(p + AT_CIPHER)));
    }
    if (rc == 0 && !k->good[0] && !k->good[1])
        rc = mf_fail(e, MF_CORRUPT,
                     "%s is damaged: without it the stream cannot be read; put it back from a "
                     "backup",
                     CRYPT_FILE);
    const uint8_t *p = k->bytes + (k->good[0] ? 0 : SECOND);
    if (rc == 0 && get_u32(p + AT_VERSION) > VERSION)
        rc = mf_fail(e, MF_UNSUPPORTED, "%s has version %u, this server reads only up to %u",
                     CRYPT_FILE, get_u32(p + AT_VERSION), VERSION);
    return rc;
}

/* 0, MF_DENIED (another key), MF_NOMEM. */
static int unwrap_key(const struct key_file *k, struct mf_slice text, uint8_t key[SEAL_KEY])
{
    const uint8_t *p = k->bytes + (k->good[0] ? 0 : SECOND);
    uint8_t outer[SEAL_KEY];

    if (text.len == 0)
        return MF_DENIED;
    enum seal_cipher cipher = (enum seal_cipher)get_u32(p + AT_CIPHER);
    seal_key_of(outer, text, p + AT_SALT);
    struct seal *s = seal_new(outer, cipher);
    seal_wipe(outer, sizeof outer);
    if (s == NULL)
        return MF_NOMEM;
    bool ok = seal_open(s, cipher, p + AT_BOX, SEAL_KEY, slice_at(p, AT_BOX), key);
    seal_free(s);
    return ok ? 0 : MF_DENIED;
}

static int unwrap_by(const struct key_file *k, const struct store_secret *secret,
                     uint8_t key[SEAL_KEY], bool *before, struct mf_error *e)
{
    int rc = unwrap_key(k, secret->key, key);

    *before = rc == MF_DENIED;
    if (*before)
        rc = unwrap_key(k, secret->prev, key);
    if (rc == MF_NOMEM)
        return mf_fail(e, rc, "%s", CRYPT_FILE);
    return rc == 0
               ? 0
               : mf_fail(e, rc,
                         "the configured key does not open %s: set jetstream { key } to the key "
                         "it was written with, or prev_key while keys are changed; nothing was "
                         "changed",
                         CRYPT_FILE);
}

int crypt_load(struct crypt **out, struct store_io *io, const struct store_secret *secret,
               struct mf_error *e)
{
    struct key_file k;
    uint8_t key[SEAL_KEY];
    bool before;
    int rc = read_file(&k, io, e);

    *out = NULL;
    if (rc == MF_NOTFOUND)
        return 0;
    if (rc != 0)
        return rc;
    if (secret == NULL)
        return mf_fail(e, MF_DENIED,
                       "it is encrypted, and no key is configured: set jetstream { key } to the "
                       "key it was written with; nothing was changed");
    if ((rc = unwrap_by(&k, secret, key, &before, e)) != 0)
        return rc;
    rc = crypt_new(out, secret, key, k.bytes + (k.good[0] ? 0 : SECOND) + AT_ID, e);
    seal_wipe(key, sizeof key);
    if (rc != 0)
        return rc;
    (*out)->rewrapped = before;
    (*out)->damaged = !k.good[0] || !k.good[1];
    (*out)->damaged_at = k.good[0] ? SECOND : 0;
    return 0;
}

/* --- writing -------------------------------------------------------------------------------- */

static int encode_file(uint8_t bytes[SIZE], const struct crypt *c,
                       const struct store_secret *secret, struct mf_error *e)
{
    uint8_t outer[SEAL_KEY];

    memset(bytes, 0, SIZE);
    memcpy(bytes, MAGIC, 8);
    put_u32(bytes + AT_VERSION, VERSION);
    put_u32(bytes + AT_CIPHER, (uint32_t)c->cipher);
    seal_random(bytes + AT_SALT, SEAL_SALT);
    memcpy(bytes + AT_ID, c->id, STORE_ID);
    seal_key_of(outer, secret->key, bytes + AT_SALT);
    struct seal *s = seal_new(outer, c->cipher);
    seal_wipe(outer, sizeof outer);
    if (s == NULL)
        return mf_fail(e, MF_NOMEM, "%s", CRYPT_FILE);
    memcpy(bytes + AT_BOX + SEAL_ROOM, c->key, SEAL_KEY);
    seal_shut(s, bytes + AT_BOX, SEAL_KEY, slice_at(bytes, AT_BOX));
    seal_free(s);
    memcpy(bytes + SECOND, bytes, AT_CHECK);
    put_u64(bytes + AT_CHECK, checksum64(bytes, AT_CHECK, 0));
    put_u64(bytes + SECOND + AT_CHECK, checksum64(bytes + SECOND, AT_CHECK, SECOND));
    return 0;
}

static int write_file(const struct crypt *c, struct store_io *io, const struct store_secret *secret,
                      bool sync, struct mf_error *e)
{
    uint8_t bytes[SIZE];
    struct mf_error ignored;
    struct store_file *f;
    int rc = encode_file(bytes, c, secret, e);

    if (rc != 0)
        return rc;
    rc = io->open(io, CRYPT_FILE_TMP, true, &f, e);
    if (rc == MF_EXISTS && io->unlink(io, CRYPT_FILE_TMP, e) == 0)
        rc = io->open(io, CRYPT_FILE_TMP, true, &f, e); /* left by a crash */
    if (rc != 0)
        return rc;
    rc = io->pwrite(io, f, bytes, sizeof bytes, 0, e);
    if (rc == 0 && sync)
        rc = io->sync(io, f, e);
    io->close(io, f);
    if (rc == 0)
        rc = io->rename(io, CRYPT_FILE_TMP, CRYPT_FILE, e);
    if (rc != 0)
        (void)io->unlink(io, CRYPT_FILE_TMP, &ignored);
    return rc == 0 && sync ? io->syncdir(io, e) : rc;
}

int crypt_make(struct crypt **out, struct store_io *io, const struct store_secret *secret,
               const uint8_t id[STORE_ID], bool sync, struct mf_error *e)
{
    uint8_t key[SEAL_KEY];

    *out = NULL;
    seal_random(key, sizeof key);
    int rc = crypt_new(out, secret, key, id, e);
    seal_wipe(key, sizeof key);
    if (rc == 0 && (rc = write_file(*out, io, secret, sync, e)) != 0) {
        crypt_free(*out);
        *out = NULL;
    }
    return rc;
}

int crypt_renew(struct crypt *c, struct store_io *io, const struct store_secret *secret,
                struct mf_error *e)
{
    return c->rewrapped || c->damaged ? write_file(c, io, secret, true, e) : 0;
}
