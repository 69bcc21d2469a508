/* backup_scan.c: see backup_scan.h. */
#include "cli/ops/backup_scan.h"

#include <openssl/evp.h>
#include <stdio.h>

#define MESSAGE_MAX (256u << 20)
#define MAGIC       "NATSARC1"
#define MAGIC_LEN   8u

int backup_scan_init(struct backup_scan *s, struct mf_error *e)
{
    memset(s, 0, sizeof *s);
    s2_reader_init(&s->s2);
    archive_reader_init(&s->archive, MESSAGE_MAX, MESSAGE_MAX);
    s->digest = EVP_MD_CTX_new();
    if (s->digest != NULL && EVP_DigestInit_ex(s->digest, EVP_sha256(), NULL) == 1)
        return 0;
    backup_scan_fini(s);
    return mf_fail(e, MF_NOMEM, "SHA-256");
}

void backup_scan_fini(struct backup_scan *s)
{
    s2_reader_fini(&s->s2);
    archive_reader_fini(&s->archive);
    mf_buf_fini(&s->plain);
    EVP_MD_CTX_free(s->digest);
    s->digest = NULL;
}

static int scan_archive(struct backup_scan *s, struct mf_error *e)
{
    struct mf_buf *in = archive_reader_ready(&s->archive);
    struct archive_entry entry;
    int rc = 0;

    if (s->archive.ended && s->plain.len > 0)
        return mf_fail(e, MF_CORRUPT, "bytes behind the end of the archive");
    mf_buf_append(in, s->plain.ptr, s->plain.len);
    mf_buf_clear(&s->plain);
    if (mf_buf_failed(in))
        return mf_fail(e, MF_NOMEM, "archive");
    while ((rc = archive_next(&s->archive, &entry)) == 0) {
        s->messages += entry.seq != 0;
        s->consumers += entry.seq == 0 && mf_starts(entry.name, ARCHIVE_CONSUMERS);
    }
    if (rc == MF_LIMIT)
        return mf_fail(e, rc, "message %llu is larger than 256 MB", (unsigned long long)entry.seq);
    if (rc != MF_AGAIN)
        return mf_fail(e, rc, "entry behind message %llu", (unsigned long long)s->messages);
    if (s->archive.ended && s->archive.done < s->archive.in.len)
        return mf_fail(e, MF_CORRUPT, "bytes behind the end of the archive");
    return 0;
}

static int scan_tar(struct backup_scan *s, struct mf_error *e)
{
    struct mf_slice in = mf_buf_slice(&s->plain);
    int rc = 0;

    while (rc == 0 && !s->tar.ended) {
        if (s->tar_open) {
            tar_take(&s->tar, &in, tar_data(&s->tar, in).len);
            if (s->tar.left > 0)
                break;
            s->tar_open = false;
        }
        rc = tar_next(&s->tar, &in);
        s->tar_open = rc == 0;
        s->consumers += rc == 0 && mf_starts(mf_str(s->tar.name), "obs/") &&
                        mf_ends(mf_str(s->tar.name), "/meta.inf");
    }
    if (s->tar.ended)
        in.len = 0; /* zeroes fill the last block */
    mf_buf_consume(&s->plain, s->plain.len - in.len);
    if (rc != 0 && rc != MF_AGAIN)
        return mf_fail(e, MF_CORRUPT, "tar: file behind %s", s->tar.name);
    return 0;
}

static int scan_plain(struct backup_scan *s, struct mf_error *e)
{
    if (s->form == SCAN_BEGIN) {
        if (s->plain.len < MAGIC_LEN)
            return 0;
        s->form = memcmp(s->plain.ptr, MAGIC, MAGIC_LEN) == 0 ? SCAN_ARCHIVE : SCAN_TAR;
    }
    return s->form == SCAN_ARCHIVE ? scan_archive(s, e) : scan_tar(s, e);
}

int backup_scan_feed(struct backup_scan *s, struct mf_slice piece, struct mf_error *e)
{
    struct mf_slice next = piece;
    int rc;

    s->bytes += piece.len;
    if (EVP_DigestUpdate(s->digest, piece.ptr, piece.len) != 1)
        return mf_fail(e, MF_NOMEM, "SHA-256");
    do {
        size_t before = s->plain.len;

        rc = s2_reader_feed(&s->s2, next, &s->plain);
        if (rc != 0 || mf_buf_failed(&s->plain))
            return mf_fail(e, rc == 0 ? MF_NOMEM : rc, "S2 frames near byte %llu",
                           (unsigned long long)s->bytes);
        s->unpacked += s->plain.len - before;
        rc = scan_plain(s, e);
        next = MF_SLICE_NONE;
    } while (rc == 0 && s2_reader_more(&s->s2));
    return rc;
}

int backup_scan_end(struct backup_scan *s, char digest[BACKUP_SCAN_DIGEST], struct mf_error *e)
{
    uint8_t raw[32];
    bool ended = s->form == SCAN_ARCHIVE ? s->archive.ended : s->form == SCAN_TAR && s->tar.ended;

    if (!s2_reader_clean(&s->s2) || !ended)
        return mf_fail(e, MF_CORRUPT, "the archive is cut off after %llu bytes",
                       (unsigned long long)s->bytes);
    if (EVP_DigestFinal_ex(s->digest, raw, NULL) != 1)
        return mf_fail(e, MF_NOMEM, "SHA-256");
    for (size_t i = 0; i < sizeof raw; i++)
        (void)snprintf(digest + 2 * i, 3, "%02x", raw[i]);
    return 0;
}
