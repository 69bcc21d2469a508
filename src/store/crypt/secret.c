/* secret.c: the owner's keys while a server runs, in memory that is wiped and in no core file. */
#include "store/store_secret.h"

#include "codec/seal.h"

struct kept {
    struct store_secret secret;
    uint8_t text[];
};

struct store_secret *store_secret_new(enum store_cipher cipher, struct mf_slice key,
                                      struct mf_slice prev)
{
    struct kept *k = seal_alloc(sizeof *k + key.len + prev.len);

    if (k == NULL)
        return NULL;
    memcpy(k->text, key.ptr, key.len);
    if (prev.len > 0)
        memcpy(k->text + key.len, prev.ptr, prev.len);
    k->secret = (struct store_secret){.cipher = cipher,
                                      .key = mf_slice(k->text, key.len),
                                      .prev = mf_slice(k->text + key.len, prev.len)};
    return &k->secret;
}

void store_secret_free(struct store_secret *s)
{
    seal_release(s == NULL ? NULL : mf_container(s, struct kept, secret));
}
