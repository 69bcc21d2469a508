/* backup_impl.h: shared by snapshots and restores.
 *
 * backup.c: routes, accounts.  snapshot.c: a stream out.  restore.c: a stream in; restore_impl.h
 * names its parts.  codec/archive.h: nats-server's archive; codec/natsfile.h: files of its
 * older backups.
 * consumer_backup.c: a consumer in an archive.  backup_advisory.c: events. */
#ifndef BACKUP_BACKUP_IMPL_H
#define BACKUP_BACKUP_IMPL_H

#include "api/call.h"
#include "api/consumer_json.h"
#include "api/limits.h"
#include "api/stream_json.h"
#include "backup/backup.h"
#include "jetstream/advisory.h"
#include "jetstream/js_json.h"
#include "stream/js_error.h"

/* Backups of one account; api_account.extension. */
struct backup_account {
    struct mf_list restores, snapshots; /* under way */
    size_t nrestores, nsnapshots;
    size_t restore_memory; /* bytes that restores keep in memory */
};
static inline struct backup_account *backup_account(const struct api_account *aa)
{
    return aa->extension;
}

void snapshot_handle(struct api_call *call);
void restore_handle(struct api_call *call);
/* Before the account's streams are closed: ends all that are under way.  A restore deletes its
 * stream. */
void snapshots_stop(struct api_account *aa);
void restores_stop(struct api_account *aa);
/* Adds the bytes that streams under restore reserve. */
void restores_reserved(const struct api_account *aa, struct stream_usage *out);

/* backup_advisory.c: client is the JSON object of call->client, or empty. */
void advisory_snapshot_create(struct api_call *call, struct stream *s);
void advisory_snapshot_complete(struct api_account *aa, const char *stream, struct mf_slice client,
                                int64_t start_ns, int64_t end_ns, const char *error);
void advisory_restore_create(struct api_call *call, const char *stream);
void advisory_restore_complete(struct api_account *aa, const char *stream, struct mf_slice client,
                               int64_t start_ns, int64_t end_ns, uint64_t bytes);

#endif
