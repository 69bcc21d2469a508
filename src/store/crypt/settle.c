/* settle.c: the key of a store that was opened: made, or sealed by another key. */
#include "store/store_impl.h"

#include "base/log.h"

#include <stdio.h>

int crypt_settle(struct store *s, const struct store_secret *secret, const struct recovery *r,
                 struct mf_error *e)
{
    if (secret == NULL)
        return 0;
    int rc = s->crypt != NULL
                 ? crypt_renew(s->crypt, s->io, secret, e)
                 : crypt_make(&s->crypt, s->io, secret, s->o.sync != STORE_SYNC_NEVER, e);
    if (rc != 0)
        return rc;
    if (s->crypt->damaged) { /* it was written anew */
        struct store_damage d = {.offset = s->crypt->damaged_at,
                                 .length = CRYPT_COPY,
                                 .what = "one of the two copies of the key was damaged"};
        snprintf(d.file, sizeof d.file, "%s", CRYPT_FILE);
        (void)damage_add(s, &d);
    }
    if (s->crypt->rewrapped)
        log_info("store %s: its key is sealed by the new key now", s->name);
    s->log.needs = SEGMENT_CRYPT;
    s->check.plain = !r->fresh && r->plain_checkpoint;
    return 0;
}
