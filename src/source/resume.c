/* resume.c: where a source continues after a restart.
 *
 * Its place is a blob, the last record of the group of writes that brings its messages to disk; it
 * stays when they are purged or expire.  A power failure may cut such a group short: then messages
 * behind the blob's `upto` are newer than it, and the newest one with a mark of the source has the
 * place.  They are walked from the end, in slices; so is the whole stream where there is no blob
 * (it came from a backup, or the source was removed and is back).  A mirror needs none of this: its
 * last sequence is its place.
 *
 * The blob, little endian:
 *    0  u8   2, the version             17  u8   length of the upstream's identity, at most 8
 *    1  u64  the upstream's sequence    18  u64  that of the last accepted message
 *    9  u64  upto: the stream's last    26  the identity, then the index of the source
 *            sequence by then
 * Version 1 lacks the field at 18. */
#include "source/source_impl.h"

#include "proto/header.h"
#include "base/le.h"
#include "base/log.h"

#include <stdio.h>

#define BLOB_VERSION 2
#define BLOB_HEAD    26
#define BLOB_HEAD_1  18
#define SEEK_SLICE   256

static struct mf_slice blob_name(const struct follower *l, char name[32])
{
    char hash[SHA256_SHORT];

    sha256_short(mf_str(l->index), hash);
    return mf_slice(name, (size_t)snprintf(name, 32, "source/%s", hash));
}

static void blob_read(struct follower *l)
{
    struct mf_slice b;
    char name[32];
    size_t ident, head;

    if (!stream_blob_get(l->all->stream, blob_name(l, name), &b) || b.len < BLOB_HEAD_1 ||
        b.ptr[0] < 1 || b.ptr[0] > BLOB_VERSION)
        return;
    head = b.ptr[0] == 1 ? BLOB_HEAD_1 : BLOB_HEAD;
    ident = b.ptr[17];
    if (ident >= sizeof l->ident || b.len < head + ident ||
        !mf_eq_str(mf_slice(b.ptr + head + ident, b.len - head - ident), l->index))
        return;
    l->track.sseq = le64_get(b.ptr + 1);
    l->seen = head == BLOB_HEAD ? le64_get(b.ptr + 18) : l->track.sseq;
    l->upto = le64_get(b.ptr + 9);
    memcpy(l->ident, b.ptr + head, ident);
    l->ident[ident] = '\0';
}

void resume_write(struct follower *l)
{
    struct mf_buf b = MF_BUF_INIT;
    uint8_t head[BLOB_HEAD] = {BLOB_VERSION};
    size_t ident = strlen(l->ident);
    char name[32];
    int rc;

    if (!l->dirty)
        return;
    l->upto = stream_accepted(l->all->stream);
    le64_put(head + 1, l->track.sseq);
    le64_put(head + 9, l->upto);
    head[17] = (uint8_t)ident;
    le64_put(head + 18, l->seen);
    mf_buf_append(&b, head, sizeof head);
    mf_buf_append(&b, l->ident, ident);
    mf_buf_puts(&b, l->index);
    rc = mf_buf_failed(&b)
             ? MF_NOMEM
             : stream_blob_put(l->all->stream, blob_name(l, name), mf_buf_slice(&b), NULL);
    l->dirty = rc != 0; /* on failure again with the next message */
    mf_buf_fini(&b);
}

void resume_close(struct follower *l)
{
    if (!l->mirror && l->known && l->upto != stream_accepted(l->all->stream))
        l->dirty = true; /* so that nothing has to be walked at the next start */
    resume_write(l);
}

void resume_commit(void *arg)
{
    struct sources *all = arg;
    struct mf_list *pos;

    mf_list_each(pos, &all->work) resume_write(mf_container(pos, struct follower, work));
}

void resume_forget(struct follower *l)
{
    struct mf_slice b;
    char name[32];

    if (!stream_blob_get(l->all->stream, blob_name(l, name), &b))
        return;
    if (stream_blob_del(l->all->stream, blob_name(l, name), NULL) != 0)
        log_debug("stream %s: the place in source %s stays", stream_name(l->all->stream),
                  l->src.name);
}

/* --- places without a blob -------------------------------------------------------------------- */

static void seek_end(struct follower *l)
{
    l->known = true;
    follower_later(l, 0);
}

static void resume_at(struct follower *l, uint64_t seq, struct mf_slice ident)
{
    l->track.sseq = l->seen = seq;
    l->dirty = true;
    if (ident.len < sizeof l->ident) {
        memcpy(l->ident, ident.ptr == NULL ? (const uint8_t *)"" : ident.ptr, ident.len);
        l->ident[ident.len] = '\0';
    }
    receive_queue(l);
    seek_end(l);
}

/* How many still seek. */
static size_t look_at(struct sources *all, const struct stream_msg *m)
{
    struct mf_slice value, ident;
    bool marked = m->hdr.len > 0 && header_get(m->hdr, "Nats-Stream-Source", &value);
    size_t left = 0;
    uint64_t seq;

    for (size_t i = 0; i < all->n; i++) {
        struct follower *l = all->at[i];
        if (l->state != FOLLOWER_SEEKING)
            continue;
        if (m->seq <= l->upto)
            seek_end(l); /* from here on the blob knows better */
        else if (marked && upstream_mark_read(value, mf_str(l->index), &seq, &ident))
            resume_at(l, seq, ident);
        else
            left++;
    }
    return left;
}

static void nothing_found(struct sources *all)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i]->state == FOLLOWER_SEEKING)
            seek_end(all->at[i]);
}

static void seek_slice(struct loop_defer *d)
{
    struct sources *all = mf_container(d, struct sources, seek);
    struct stream_msg m;

    for (unsigned i = 0; i < SEEK_SLICE; i++) {
        uint64_t seq = all->seek_at == 0 ? 0 : stream_prev(all->stream, all->seek_at);
        if (seq == 0) {
            nothing_found(all);
            return;
        }
        all->seek_at = seq - 1;
        if (stream_get_now(all->stream, seq, &m) != 0)
            continue;
        size_t left = look_at(all, &m);
        stream_msg_end(&m);
        if (left == 0)
            return;
    }
    loop_next(all->host->loop, d);
}

bool resume_find(struct follower *l)
{
    struct sources *all = l->all;

    if (l->known)
        return true;
    if (!l->mirror)
        blob_read(l);
    l->known = l->mirror || stream_prev(all->stream, UINT64_MAX) <= l->upto;
    if (l->known)
        return true;
    l->state = FOLLOWER_SEEKING;
    all->seek_at = UINT64_MAX; /* a running search starts again */
    all->seek.fn = seek_slice;
    loop_next(all->host->loop, &all->seek);
    return false;
}
