/* backup_dir.h: the folder of a stream's backup, as `nats stream backup` makes it:
 *
 *    backup.json    {"type", "config", "state"} of the snapshot; "mayfly" has size and digest
 *    stream.tar.s2  the archive
 *
 * Both are written as *.partial, synced and renamed, the archive first: a folder with backup.json
 * is finished. */
#ifndef CLI_OPS_BACKUP_DIR_H
#define CLI_OPS_BACKUP_DIR_H

#include "cli/ops/backup_scan.h"

#include <jansson.h>

#define BACKUP_DIR_META "backup.json"
#define BACKUP_DIR_DATA "stream.tar.s2"
#define BACKUP_DIR_PATH 4096

/* Whether a stream may have this name: it becomes a folder and a part of subjects. */
bool backup_dir_is_name(const char *stream);
/* Joins a folder and a name; MF_LIMIT. */
MF_MUSTCHECK int backup_dir_path(char dst[BACKUP_DIR_PATH], const char *dir, const char *name,
                                 struct mf_error *e);

/* The contents of a folder. */
struct backup_dir {
    json_t *meta; /* the document of backup.json; the caller's to decref */
    uint64_t bytes;
    const char *digest; /* of meta; NULL: another tool made the backup and recorded none */
};
/* MF_NOTFOUND: no finished backup is here.  MF_CORRUPT: a file is missing, or not as long as
 * recorded. */
MF_MUSTCHECK int backup_dir_open(struct backup_dir *d, const char *dir, struct mf_error *e);

/* Writing: begin, add, then finish or drop. */
struct backup_writer {
    char dir[BACKUP_DIR_PATH];
    int fd;
    uint64_t bytes;
};
MF_MUSTCHECK int backup_writer_begin(struct backup_writer *w, const char *dir, struct mf_error *e);
MF_MUSTCHECK int backup_writer_add(struct backup_writer *w, struct mf_slice bytes,
                                   struct mf_error *e);
/* meta gets the member "mayfly" with what the scan found. */
MF_MUSTCHECK int backup_writer_finish(struct backup_writer *w, json_t *meta,
                                      const struct backup_scan *s, const char *digest,
                                      struct mf_error *e);
void backup_writer_drop(struct backup_writer *w); /* removes the partial files */

#endif
