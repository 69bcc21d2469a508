/* settle.c: the key of a store that was opened: made, or sealed by another key. */
#include "store/store_impl.h"

#include "base/log.h"

#include <stdio.h>

/* A key file that cannot be written now, on a full disk or a read-only one, is no reason to be
 * offline: what is there opens, and the next start tries again. */
static void renew_file(struct store *s, const struct store_secret *secret)
{
    struct mf_error why;
    bool renewed = crypt_renew(s->crypt, s->io, secret, &why) == 0;

    if (s->crypt->damaged) {
        struct store_damage d = {.offset = s->crypt->damaged_at,
                                 .length = CRYPT_COPY,
                                 .what = "one of the two copies of the key was damaged"};
        snprintf(d.file, sizeof d.file, "%s", CRYPT_FILE);
        (void)damage_add(s, &d);
    }
    if (!renewed)
        log_warn("store %s: %s stays as it is until the next start%s: %s", s->name, CRYPT_FILE,
                 s->crypt->rewrapped ? ", sealed by the key before: keep prev_key" : "", why.text);
    else if (s->crypt->rewrapped)
        log_info("store %s: its key is sealed by the new key now", s->name);
}

int crypt_settle(struct store *s, const struct store_secret *secret, const struct recovery *r,
                 struct mf_error *e)
{
    if (secret == NULL)
        return 0;
    if (s->crypt != NULL) {
        renew_file(s, secret);
    } else {
        int rc = crypt_make(&s->crypt, s->io, secret, s->id, s->o.sync != STORE_SYNC_NEVER, e);
        if (rc != 0) { /* nothing may be written without it */
            mf_wrap(e, "it is to be encrypted, and its key file could not be made");
            return rc;
        }
    }
    s->log.needs = SEGMENT_CRYPT;
    s->check.plain = !r->fresh && r->plain_checkpoint;
    return 0;
}
