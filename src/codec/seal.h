/* seal.h: bytes that only the owner of a key can read, and that nobody can change unseen.
 *
 * A box is a nonce of 24 bytes, a tag of 16, and as many bytes as were sealed.  Two ciphers:
 * XChaCha20-Poly1305, and XAES-256-GCM (c2sp.org/XAES-256-GCM), which is AES-256-GCM with a derived
 * key, so that its nonce has 24 bytes too.  A nonce has 16 random bytes, drawn for each struct
 * seal, and a counter: it is never used twice, whatever a crash or a copy of a disk makes of the
 * boxes.
 *
 * Cost: about half a microsecond a box, and a nanosecond for each byte; 3 KB a struct seal. */
#ifndef CODEC_SEAL_H
#define CODEC_SEAL_H

#include "base/base.h"

enum seal_cipher {
    SEAL_NONE = 0,
    SEAL_CHACHA = 1,
    SEAL_AES = 2,
};
#define SEAL_KEY   32u
#define SEAL_NONCE 24u
#define SEAL_TAG   16u
#define SEAL_ROOM  (SEAL_NONCE + SEAL_TAG) /* of a box beside the sealed bytes */

/* One thread at a time.  Shuts boxes by this cipher, opens those of both; a key of its own for each
 * is derived from `key`.  NULL: no memory. */
struct seal;
struct seal *seal_new(const uint8_t key[SEAL_KEY], enum seal_cipher cipher);
void seal_free(struct seal *s); /* wiped; NULL is fine */

/* Seals the n bytes behind the first SEAL_ROOM of box, in place.  ad: bytes that are not in the
 * box, and without which it does not open. */
void seal_shut(struct seal *s, uint8_t *box, size_t n, struct mf_slice ad);
enum seal_cipher seal_cipher(const struct seal *s); /* that shuts */
/* n: the sealed bytes, for which dst has room.  False: another key, another ad, or changed bytes;
 * dst holds nothing then. */
MF_MUSTCHECK bool seal_open(struct seal *s, enum seal_cipher cipher, const uint8_t *box, size_t n,
                            struct mf_slice ad, uint8_t *dst);
static inline bool seal_known(unsigned cipher)
{
    return cipher == SEAL_CHACHA || cipher == SEAL_AES;
}

/* A key from a text of any length.  Text with little in it is guessed fast: no work is made of it.
 */
#define SEAL_SALT 16u
void seal_key_of(uint8_t key[SEAL_KEY], struct mf_slice text, const uint8_t salt[SEAL_SALT]);
void seal_random(void *dst, size_t n);
/* Memory between guard pages, locked where the system allows it, and left out of core files; wiped
 * by seal_release().  Some pages each: for a few keys.  NULL: no memory. */
void *seal_alloc(size_t n);
void seal_release(void *p);        /* NULL is fine */
void seal_wipe(void *p, size_t n); /* zeros that no compiler leaves out */

/* For tests: of these bytes, for vectors.  key: of the cipher itself. */
void seal_shut_with(const uint8_t key[SEAL_KEY], enum seal_cipher cipher,
                    const uint8_t nonce[SEAL_NONCE], uint8_t *box, size_t n, struct mf_slice ad);

#endif
