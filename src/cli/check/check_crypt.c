/* check_crypt.c: what is sealed: the key file, records, blocks of a checkpoint.
 * docs/disk-format.md, "Encryption".  Only seal.h is shared with the server. */
#include "cli/check/check_impl.h"

#include "codec/checksum.h"

#include <inttypes.h>
#include <stdlib.h>

#define COPY_AT   4096u
#define OWNER_AT  32u /* the store's id */
#define SEALED_AT 48u /* all before it is what the box belongs to */
#define CHECK_AT  (SEALED_AT + SEAL_ROOM + SEAL_KEY)

static bool copy_ok(const uint8_t *file, uint64_t at)
{
    const uint8_t *p = file + at;

    return memcmp(p, "MAYFLYKY", 8) == 0 && checksum64(p, CHECK_AT, at) == rd64(p + CHECK_AT);
}

static const uint8_t *good_copy(const struct crypt *k)
{
    return k->file + (k->good == 2 || k->bad_at != 0 ? 0 : COPY_AT);
}

static int open_key(struct ctx *c, const uint8_t *p, struct mf_error *e)
{
    uint8_t outer[SEAL_KEY], key[SEAL_KEY];
    uint32_t cipher = rd32(p + 12);
    int rc = 0;

    seal_key_of(outer, c->o->key, p + 16);
    struct seal *s = seal_known(cipher) ? seal_new(outer, (enum seal_cipher)cipher) : NULL;
    if (s == NULL && seal_known(cipher))
        rc = mf_fail(e, MF_NOMEM, KEY_NAME);
    else if (s == NULL || !seal_open(s, (enum seal_cipher)cipher, p + SEALED_AT, SEAL_KEY,
                                     mf_slice(p, SEALED_AT), key))
        rc = mf_fail(e, MF_DENIED,
                     "the key does not open " KEY_NAME ": give the key that the server has");
    else if ((c->crypt.seal = seal_new(key, (enum seal_cipher)cipher)) == NULL)
        rc = mf_fail(e, MF_NOMEM, KEY_NAME);
    seal_free(s);
    seal_wipe(outer, sizeof outer);
    seal_wipe(key, sizeof key);
    return rc;
}

int check_crypt_begin(struct ctx *c, struct mf_error *e)
{
    uint8_t *file = c->crypt.file;
    size_t got = 0;

    if (!c->crypt.there)
        return 0;
    if (c->src->pread(c->src->arg, KEY_NAME, file, KEY_BYTES, 0, &got, e) != 0)
        return mf_wrap(e, KEY_NAME);
    memset(file + got, 0, KEY_BYTES - got);
    bool first = copy_ok(file, 0), second = copy_ok(file, COPY_AT);
    if (first && second && memcmp(file, file + COPY_AT, CHECK_AT) != 0)
        second = false;
    c->crypt.good = first + second;
    c->crypt.bad_at = first ? COPY_AT : 0;
    const uint8_t *p = file + (first ? 0 : COPY_AT);
    if (!first && !second)
        return 0;
    if (rd32(p + 8) > 1)
        return mf_fail(e, MF_UNSUPPORTED,
                       KEY_NAME ": a newer version: use the mayfly that came "
                                "with the server");
    return c->o->key.len > 0 ? open_key(c, p, e) : 0;
}

const uint8_t *check_crypt_owner(const struct crypt *k)
{
    return good_copy(k) + OWNER_AT;
}

void check_crypt_compare(struct ctx *c)
{
    c->crypt.foreign = c->crypt.good > 0 && memcmp(check_crypt_owner(&c->crypt), c->res->store_id,
                                                   sizeof c->res->store_id) != 0;
}

void check_crypt_copies(const struct crypt *k, uint8_t file[KEY_BYTES])
{
    const uint8_t *good = good_copy(k);

    memset(file, 0, KEY_BYTES);
    for (uint64_t at = 0; at <= COPY_AT; at += COPY_AT) {
        memcpy(file + at, good, CHECK_AT);
        uint64_t check = checksum64(file + at, CHECK_AT, at);
        for (unsigned i = 0; i < 8; i++)
            file[at + CHECK_AT + i] = (uint8_t)(check >> 8 * i);
    }
}

void check_crypt_report(struct ctx *c)
{
    struct check_damage *d = NULL;

    if (c->crypt.there && c->crypt.good < 2)
        d = check_found(c, CHECK_KEY, 0, c->crypt.bad_at,
                        c->crypt.good == 0 ? KEY_BYTES : CHECK_AT + 8,
                        c->crypt.good == 0 ? "both copies of the key are damaged: put the file "
                                             "back from a backup, nothing is readable without it"
                                           : "one of the two copies of the key is damaged");
    else if (!c->crypt.there && c->crypt.unread)
        d = check_found(c, CHECK_KEY, 0, 0, 0,
                        "the file is missing: put it back from a backup, nothing is readable "
                        "without it");
    else if (c->crypt.foreign)
        d = check_found(c, CHECK_KEY, 0, 0, CHECK_AT + 8,
                        "the key belongs to another stream: put the file of this one back from a "
                        "backup");
    if (d != NULL)
        memcpy(d->file, KEY_NAME, sizeof KEY_NAME);
    c->res->encrypted = c->crypt.there || c->crypt.unread;
    c->res->unread = c->crypt.unread;
    if (c->crypt.there && c->crypt.unread)
        check_note(c, "encrypted: checks and chain were verified, contents were not looked at; "
                      "--key-file FILE with the server's key looks at them");
    if (c->crypt.there && c->crypt.plain_records > 0)
        check_note(c,
                   "%" PRIu64 " records are from before the encryption: the server encrypts "
                   "them in the background",
                   c->crypt.plain_records);
}

void check_crypt_end(struct ctx *c)
{
    seal_free(c->crypt.seal);
    c->crypt.seal = NULL;
    free(c->crypt.plain);
}

/* --- records ---------------------------------------------------------------------------------- */

enum seal_cipher check_rec_cipher(const struct rec *r)
{
    if (r->type == REC_BLOB)
        return (enum seal_cipher)(rd16(r->p + 22) >> 8);
    return r->type == REC_MESSAGE || r->type == REC_COPY ? (enum seal_cipher)rd16(r->p + 46)
                                                         : SEAL_NONE;
}

uint32_t check_rec_length(const struct rec *r)
{
    return r->length - r->fixed - (check_rec_cipher(r) != SEAL_NONE ? SEAL_ROOM : 0);
}

struct mf_slice check_rec_ad(const uint8_t *p, uint8_t ad[CHECK_REC_AD])
{
    if (p[12] == REC_BLOB) {
        ad[0] = 'B';
        memcpy(ad + 1, p + 16, 6);
        ad[7] = p[22] & 1;
        return mf_slice(ad, 8);
    }
    ad[0] = 'M';
    memcpy(ad + 1, p + 16, 16);
    memcpy(ad + 17, p + 40, 6);
    ad[23] = p[14] & (uint8_t)~MSG_BITS;
    ad[24] = p[15];
    return mf_slice(ad, 25);
}

static uint8_t *plain_room(struct ctx *c, size_t n)
{
    if (n > c->crypt.plain_cap || c->crypt.plain == NULL) {
        free(c->crypt.plain);
        c->crypt.plain = malloc(n + 1);
        c->crypt.plain_cap = c->crypt.plain == NULL ? 0 : n;
    }
    return c->crypt.plain;
}

enum check_opened check_rec_open(struct ctx *c, const struct rec *r, const uint8_t **data)
{
    enum seal_cipher cipher = check_rec_cipher(r);
    uint8_t ad[CHECK_REC_AD], *dst;

    *data = r->p + r->fixed;
    if (cipher == SEAL_NONE)
        return CHECK_OPENED;
    if (c->crypt.seal == NULL) {
        c->crypt.unread = true;
        return CHECK_UNREAD;
    }
    if ((dst = plain_room(c, check_rec_length(r))) == NULL)
        return CHECK_OPEN_NOMEM;
    *data = dst;
    return seal_open(c->crypt.seal, cipher, r->p + r->fixed, check_rec_length(r),
                     check_rec_ad(r->p, ad), dst)
               ? CHECK_OPENED
               : CHECK_UNOPENED;
}

/* --- a block of a checkpoint ------------------------------------------------------------------ */

enum check_opened check_cp_open_block(struct ctx *c, enum seal_cipher cipher, uint8_t *block,
                                      uint64_t *length, uint64_t offset)
{
    uint8_t ad[24], *dst;

    if (cipher == SEAL_NONE)
        return CHECK_OPENED;
    if (c->crypt.seal == NULL) {
        c->crypt.unread = true;
        return CHECK_UNREAD;
    }
    if (*length < 24 + SEAL_ROOM)
        return CHECK_UNOPENED;
    size_t n = (size_t)*length - 24 - SEAL_ROOM;
    for (unsigned i = 0; i < 8; i++)
        ad[i] = (uint8_t)(offset >> 8 * i);
    memcpy(ad + 8, block + 8, 16);
    ad[8] = 'C';
    if ((dst = plain_room(c, n)) == NULL)
        return CHECK_OPEN_NOMEM;
    if (!seal_open(c->crypt.seal, cipher, block + 24, n, mf_slice(ad, sizeof ad), dst))
        return CHECK_UNOPENED;
    memcpy(block + 24, dst, n);
    *length -= SEAL_ROOM;
    return CHECK_OPENED;
}
