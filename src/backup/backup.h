/* backup.h: STREAM.SNAPSHOT and STREAM.RESTORE, as an extension of the API (api/call.h).
 *
 * A snapshot is sent as nats-server's archive; a restore accepts it, and backups of older versions.
 * An account has at most 16 snapshots and 16 restores under way. */
#ifndef BACKUP_BACKUP_H
#define BACKUP_BACKUP_H

#include "api/call.h"

extern const struct api_extension backup_extension; /* for api_setup.extension */

#endif
