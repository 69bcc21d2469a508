/* check.c: each check of a publish.  publish.c and batch.c call them in nats-server's order. */
#include "stream/stream_impl.h"

#define HEADER_MAX 65535
#define SETTLE     500 /* overdue messages, before it is asked again whether there is room */

int check_sealed(struct stream *s, struct js_error *e)
{
    return s->cfg.sealed ? js_error_set(e, JS_STREAM_SEALED) : 0;
}

int check_settled(struct stream *s, const struct intake *in, struct js_error *e)
{
    int rc = expire_settle(s, in->subject);

    if (rc != 0)
        stream_store_error(s, rc, e);
    return rc;
}

int check_size(struct stream *s, const struct intake *in, struct js_error *e)
{
    if (s->cfg.max_msg_size >= 0 &&
        in->hdr.len + in->payload.len > (size_t)(uint32_t)s->cfg.max_msg_size)
        return js_error_set(e, JS_STREAM_MESSAGE_EXCEEDS_MAXIMUM);
    if (in->hdr.len > HEADER_MAX)
        return js_error_set(e, JS_STREAM_HEADER_EXCEEDS_MAXIMUM);
    return 0;
}

int check_expected_stream(struct stream *s, const struct intake *in, struct js_error *e)
{
    if (in->h.expected_stream.len > 0 && !mf_eq_str(in->h.expected_stream, s->cfg.name))
        return js_error_set(e, JS_STREAM_NOT_MATCH);
    return 0;
}

/* --- TTL -------------------------------------------------------------------------------------- */

int check_ttl_allowed(struct stream *s, const struct intake *in, struct js_error *e)
{
    int64_t ttl;

    if (s->cfg.allow_msg_ttl || in->h.ttl.len == 0 ||
        ttl_parse(in->h.ttl, s->host->strict, &ttl) != 0 || ttl == TTL_NONE)
        return 0;
    return js_error_set(e, JS_MESSAGE_TTL_DISABLED);
}

int check_ttl_valid(struct stream *s, struct intake *in, struct js_error *e)
{
    in->ttl_ns = TTL_NONE;
    if (in->h.ttl.len > 0 && ttl_parse(in->h.ttl, s->host->strict, &in->ttl_ns) != 0)
        return js_error_set(e, JS_MESSAGE_TTL_INVALID);
    return 0;
}

/* --- expectations ----------------------------------------------------------------------------- */

int64_t check_parse_seq(struct mf_slice text)
{
    uint64_t n = 0;

    if (text.len == 0)
        return -1;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return -1;
        n = n * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    return (int64_t)n;
}

static int wrong_seq(struct js_error *e, uint64_t actual)
{
    char text[24];

    text[proto_put_u64((uint8_t *)text, actual)] = '\0';
    return js_error_set(e, JS_STREAM_WRONG_LAST_SEQUENCE, text);
}

/* The newest message there is or will be on these subjects, those past their deadline not
 * counted. */
static uint64_t last_on(struct stream *s, struct mf_slice subject)
{
    uint64_t count;

    if (!subject_has_wildcard(subject)) {
        (void)!expire_settle(s, subject);
        return store_key_last_accepted(s->store, subject, &count);
    }
    (void)expire_settle_all(s, SIZE_MAX);
    return store_pattern_last_accepted(s->store, subject);
}

int check_expected_subject_seq(struct stream *s, const struct intake *in, struct js_error *e)
{
    struct mf_slice filter = in->h.expected_subject_seq_subject;

    if (in->h.expected_subject_seq.len == 0)
        return filter.len == 0 ? 0
                               : js_error_set(e, JS_STREAM_EXPECTED_LAST_SEQ_PER_SUBJECT_INVALID);
    uint64_t last = last_on(s, filter.len > 0 ? filter : in->subject);
    if (check_parse_seq(in->h.expected_subject_seq) != (int64_t)last)
        return wrong_seq(e, last);
    return 0;
}

int check_expected_seq(struct stream *s, const struct intake *in, struct js_error *e)
{
    uint64_t msgs, bytes, last;

    if (in->h.expected_last_seq.len == 0)
        return 0;
    store_accepted(s->store, &msgs, &bytes, &last);
    if (check_parse_seq(in->h.expected_last_seq) != (int64_t)last)
        return wrong_seq(e, last);
    return 0;
}

int check_expected_msg_id(struct stream *s, const struct intake *in, struct js_error *e)
{
    if (in->h.expected_last_msg_id.len == 0 ||
        mf_eq(in->h.expected_last_msg_id, mf_buf_slice(&s->ends.last_msg_id)))
        return 0;
    return js_error_set(e, JS_STREAM_WRONG_LAST_MSG_ID, mf_buf_cstr(&s->ends.last_msg_id));
}

int check_stream_source(struct stream *s, const struct intake *in, struct js_error *e)
{
    (void)s;
    return in->h.stream_source.len > 0 ? js_error_set(e, JS_MESSAGE_SOURCE_HDR_NOT_ALLOWED) : 0;
}

/* --- rollup ----------------------------------------------------------------------------------- */

int check_rollup(struct stream *s, struct intake *in, struct js_error *e)
{
    struct mf_slice v = in->h.rollup;

    in->rollup = ROLLUP_NONE;
    if (v.len == 0)
        return 0;
    if (!s->cfg.allow_rollup || s->cfg.deny_purge)
        return js_error_set_text(e, JS_STREAM_ROLLUP_FAILED, "rollup not permitted");
    if (mf_eq_nocase(v, "sub"))
        in->rollup = subject_has_wildcard(in->subject) ? ROLLUP_MATCHING : ROLLUP_SUBJECT;
    else if (mf_eq_nocase(v, "all"))
        in->rollup = ROLLUP_ALL;
    else
        return js_error_set_text(e, JS_STREAM_ROLLUP_FAILED, "rollup value invalid: \"%.*s\"",
                                 MF_FMT(v));
    if (in->rollup == ROLLUP_MATCHING)
        (void)expire_settle_all(s, SIZE_MAX); /* a death gets its marker before it is rolled up */
    return 0;
}

/* --- room ---------------------------------------------------------------------------------- */

static bool exceeds_max(int64_t max, int64_t used, uint64_t more)
{
    return max >= 0 && used + (int64_t)more > max;
}

/* Its own index is counted again before a refusal: a purge frees it later than it is answered. */
static bool exceeds_index(struct stream *s)
{
    const struct stream_host *h = s->host;

    if (!exceeds_max(h->server_max.index, h->server_usage->memory + h->server_usage->index, 0))
        return false;
    limits_count_index(s);
    return exceeds_max(h->server_max.index, h->server_usage->memory + h->server_usage->index, 0);
}

int check_resources(struct stream *s, const struct intake *in, struct js_error *e)
{
    const struct stream_host *h = s->host;
    bool m = s->memory;

    (void)in;
    if (exceeds_max(m ? h->server_max.memory : h->server_max.file,
                    m ? h->server_usage->memory : h->server_usage->file, 0) ||
        exceeds_index(s))
        return js_error_set(e, JS_INSUFFICIENT_RESOURCES);
    return 0;
}

int check_account(struct stream *s, const struct intake *in, struct js_error *e)
{
    const struct stream_host *h = s->host;
    bool m = s->memory;

    if (h->account_none)
        return js_error_set(e, JS_NO_LIMITS);
    if (exceeds_max(m ? h->account_max.memory : h->account_max.file,
                    m ? h->account_usage->memory : h->account_usage->file,
                    limits_size(s, in->subject.len, in->hdr.len, in->payload.len)))
        return js_error_set(e, JS_ACCOUNT_RESOURCES_EXCEEDED);
    return 0;
}

/* May this message take the place of the oldest one of its subject? */
static bool replaces_oldest(const struct stream *s, const struct intake *in, uint64_t *oldest_size)
{
    uint64_t count, first;

    if (s->cfg.max_msgs_per_subject <= 0)
        return false;
    (void)store_key_last_accepted(s->store, in->subject, &count);
    if (count < (uint64_t)s->cfg.max_msgs_per_subject)
        return false;
    first = store_key_first_accepted(s->store, in->subject);
    *oldest_size = limits_stored_size(s, first);
    return true;
}

static int discard_new_subject(struct stream *s, const struct intake *in, struct js_error *e)
{
    uint64_t count;

    if (!s->cfg.discard_new_per_subject || s->cfg.max_msgs_per_subject <= 0 ||
        in->rollup != ROLLUP_NONE)
        return 0;
    (void)store_key_last_accepted(s->store, in->subject, &count);
    if (count < (uint64_t)s->cfg.max_msgs_per_subject)
        return 0;
    return js_error_set_text(e, JS_STREAM_STORE_FAILED, "maximum messages per subject exceeded");
}

int check_discard_new(struct stream *s, const struct intake *in, struct js_error *e)
{
    uint64_t msgs, bytes, old = 0;
    int rc;

    if (s->cfg.discard == DISCARD_NEW && (rc = discard_new_subject(s, in, e)) != 0)
        return rc;
    /* Expired messages use no room, and are not pushed out without their markers. */
    while (limits_full_with(s, in) && !expire_settle_all(s, SETTLE))
        ;
    if (s->cfg.discard != DISCARD_NEW || !limits_full_with(s, in))
        return 0;
    bool replace = replaces_oldest(s, in, &old);
    limits_accepted(s, &msgs, &bytes);
    if (s->cfg.max_msgs > 0 && msgs + 1 > (uint64_t)s->cfg.max_msgs && !replace)
        return js_error_set_text(e, JS_STREAM_STORE_FAILED, "maximum messages exceeded");
    uint64_t size = limits_size(s, in->subject.len, in->hdr.len, in->payload.len);
    if (s->cfg.max_bytes > 0 && bytes + size > (uint64_t)s->cfg.max_bytes &&
        !(replace && old >= size))
        return js_error_set_text(e, JS_STREAM_STORE_FAILED, "maximum bytes exceeded");
    return 0;
}
