/* backup.h: what snapshots and restores share: the turns in which they work, and what they may take
 * of an account.
 *
 * However many of them there are on the server, one slice of one of them is worked on in a turn of
 * the loop; then events are served.  A slice is about BACKUP_SLICE bytes. */
#ifndef API_BACKUP_H
#define API_BACKUP_H

#include "api_impl.h"

#define BACKUP_SLICE  (256u << 10)
#define SNAPSHOTS_MAX 16 /* under way in an account */
#define RESTORES_MAX  16

struct backup_task {
    struct mf_list link; /* api.backups; initialised by its owner */
    void (*run)(struct backup_task *t);
};
/* Runs it once, later, after those that wait already.  Harmless while it waits. */
void backup_wake(struct api *a, struct backup_task *t);
void backup_cancel(struct backup_task *t);

void backups_init(struct api *a);
void backups_fini(struct api *a);

/* restore.c: bytes that restores of this account have reserved beyond what their streams promise
 * themselves; adds to *out. */
void restores_reserved(const struct api_account *aa, struct stream_usage *out);

#endif
