/* limits.c: how much a stream may hold, and what goes when it holds too much.
 *
 * Sizes are counted as nats-server counts them, so that limits and `bytes` mean the same there and
 * here: a message in a file takes 30 bytes, its subject and its payload, and 4 and its header block
 * if it has one; in memory 16, subject, header and payload. */
#include "stream_impl.h"

#include "mayfly/log.h"

#define FILE_OVERHEAD   30
#define HEADER_OVERHEAD 4
#define MEMORY_OVERHEAD 16
#define ENFORCE_SLICE   1000

uint64_t limits_size(const struct stream *s, size_t subject, size_t hdr, size_t payload)
{
    uint64_t n = subject + hdr + payload;

    if (s->memory)
        return n + MEMORY_OVERHEAD;
    return n + FILE_OVERHEAD + (hdr > 0 ? HEADER_OVERHEAD : 0);
}

/* The bytes of many: from their sum, their number and how many of them have a header. */
uint64_t limits_sum(const struct stream *s, uint64_t bytes, uint64_t msgs, uint64_t headers)
{
    if (s->memory)
        return bytes + MEMORY_OVERHEAD * msgs;
    return bytes + FILE_OVERHEAD * msgs + HEADER_OVERHEAD * headers;
}

void limits_accepted(const struct stream *s, uint64_t *msgs, uint64_t *bytes)
{
    uint64_t last;

    store_accepted(s->store, msgs, bytes, &last);
    *bytes = limits_sum(s, *bytes, *msgs, store_accepted_flagged(s->store, 1));
}

/* --- discard old ------------------------------------------------------------------------------ */

static bool too_much(const struct stream *s)
{
    uint64_t msgs, bytes;

    if (s->cfg.max_msgs <= 0 && s->cfg.max_bytes <= 0)
        return false;
    limits_accepted(s, &msgs, &bytes);
    return (s->cfg.max_msgs > 0 && msgs > (uint64_t)s->cfg.max_msgs) ||
           (s->cfg.max_bytes > 0 && bytes > (uint64_t)s->cfg.max_bytes);
}

bool limits_full_with(const struct stream *s, const struct intake *in)
{
    uint64_t msgs, bytes;

    if (s->cfg.max_msgs <= 0 && s->cfg.max_bytes <= 0)
        return false;
    limits_accepted(s, &msgs, &bytes);
    bytes += limits_size(s, in->subject.len, in->hdr.len, in->payload.len);
    return (s->cfg.max_msgs > 0 && msgs + 1 > (uint64_t)s->cfg.max_msgs) ||
           (s->cfg.max_bytes > 0 && bytes > (uint64_t)s->cfg.max_bytes);
}

static bool push_out(struct stream *s, uint64_t seq)
{
    dedup_before_removal(s->dedup, s->store, seq, seq);
    int rc = store_remove(s->store, seq, NULL);
    if (rc != 0)
        log_warn("stream %s: message %llu cannot be discarded: %s", s->cfg.name,
                 (unsigned long long)seq, mf_err_text(rc));
    return rc == 0;
}

static void push_out_subject(struct stream *s, struct mf_slice subject)
{
    uint64_t count, first;

    if (s->cfg.max_msgs_per_subject <= 0)
        return;
    for (;;) {
        (void)store_key_last_accepted(s->store, subject, &count);
        if (count <= (uint64_t)s->cfg.max_msgs_per_subject)
            return;
        first = store_key_first_accepted(s->store, subject);
        if (first == 0 || !push_out(s, first))
            return;
    }
}

void limits_push_out(struct stream *s, const struct intake *in)
{
    push_out_subject(s, in->subject);
    if (s->cfg.discard != DISCARD_OLD)
        return;
    while (too_much(s)) {
        uint64_t first = store_first_accepted(s->store);
        /* The message that has just come is never pushed out by itself. */
        if (first == 0 || first == in->seq || !push_out(s, first))
            return;
    }
}

/* --- after an update ---------------------------------------------------------------------------
 */

/* One slice of the walk over all subjects; true: there is more to do. */
static bool thin_out(struct stream *s)
{
    struct mf_slice subject;
    struct store_key key;

    for (size_t n = 0; s->thin != NULL && n < ENFORCE_SLICE; n++) {
        if (store_keys_next(s->thin, &subject, &key)) {
            push_out_subject(s, subject);
        } else {
            store_keys_free(s->thin);
            s->thin = NULL;
        }
    }
    return s->thin != NULL;
}

static bool push_out_oldest(struct stream *s)
{
    for (size_t n = 0; n < ENFORCE_SLICE; n++) {
        uint64_t first = too_much(s) ? store_first_accepted(s->store) : 0;
        if (first == 0 || !push_out(s, first))
            return false;
    }
    return true;
}

static void enforce_slice(struct loop_defer *d)
{
    struct stream *s = mf_container(d, struct stream, enforce_defer);
    bool more;

    if (s->closing)
        return;
    store_begin(s->store, true);
    more = thin_out(s);
    more = push_out_oldest(s) || more;
    if (store_end(s->store, NULL) != 0)
        return;
    limits_count(s);
    announce_poke(s);
    if (more)
        loop_defer(s->host->loop, &s->enforce_defer);
}

void limits_enforce(struct stream *s)
{
    if (s->thin == NULL && s->cfg.max_msgs_per_subject > 0)
        s->thin = store_keys_new(s->store, MF_LIT(">"));
    s->enforce_defer.fn = enforce_slice;
    enforce_slice(&s->enforce_defer);
}

void limits_stop(struct stream *s)
{
    store_keys_free(s->thin);
    s->thin = NULL;
    loop_defer_cancel(s->host->loop, &s->enforce_defer);
}

/* --- sums --------------------------------------------------------------------------------------
 */

void limits_count(struct stream *s)
{
    uint64_t msgs, bytes;

    limits_accepted(s, &msgs, &bytes);
    int64_t more = (int64_t)bytes - s->counted_bytes;
    if (s->memory) {
        s->host->account_usage->memory += more;
        s->host->server_usage->memory += more;
    } else {
        s->host->account_usage->file += more;
        s->host->server_usage->file += more;
    }
    s->counted_bytes = (int64_t)bytes;
}
