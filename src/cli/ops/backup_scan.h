/* backup_scan.h: whether the archive of a stream is whole: S2 frames with their checksums, and in
 * them nats-server's archive (2.15) or a tar (2.10 to 2.14) with its end.  Bytes come piece by
 * piece; memory: one message and one chunk. */
#ifndef CLI_OPS_BACKUP_SCAN_H
#define CLI_OPS_BACKUP_SCAN_H

#include "codec/archive.h"
#include "codec/s2.h"
#include "codec/tar.h"

#define BACKUP_SCAN_DIGEST 65 /* hexadecimal SHA-256, with the NUL */

struct evp_md_ctx_st;
struct backup_scan {
    struct s2_reader s2;
    struct archive_reader archive;
    struct tar_reader tar;
    struct mf_buf plain; /* unpacked, not looked at yet */
    struct evp_md_ctx_st *digest;
    enum { SCAN_BEGIN, SCAN_ARCHIVE, SCAN_TAR } form;
    bool tar_open;     /* between a file's header and its end */
    uint64_t bytes;    /* of the archive */
    uint64_t unpacked; /* bytes */
    uint64_t messages; /* of the archive of 2.15; a tar does not tell */
    uint64_t consumers;
};

MF_MUSTCHECK int backup_scan_init(struct backup_scan *s, struct mf_error *e);
void backup_scan_fini(struct backup_scan *s);
/* MF_CORRUPT, MF_LIMIT (a message of more than 256 MB), MF_NOMEM. */
MF_MUSTCHECK int backup_scan_feed(struct backup_scan *s, struct mf_slice piece, struct mf_error *e);
/* After the last piece: MF_CORRUPT if the archive is cut off. */
MF_MUSTCHECK int backup_scan_end(struct backup_scan *s, char digest[BACKUP_SCAN_DIGEST],
                                 struct mf_error *e);

#endif
