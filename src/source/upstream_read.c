/* upstream_read.c: reads an upstream's answers, and the replies and headers of its messages. */
#include "source/upstream_impl.h"

#include "proto/header.h"
#include "codec/json.h"
#include "proto/proto.h"
#include "subject/subject.h"

#include <stdio.h>

/* --- its answer ------------------------------------------------------------------------------- */

struct error_part {
    int64_t code, err_code;
    char *description;
};
struct config_part {
    char *deliver_subject, *ack_policy;
};
struct place_part {
    uint64_t stream_seq;
};
struct answer_parts {
    struct error_part *error;
    struct config_part *config;
    char *name;
    struct place_part delivered;
    uint64_t pending;
};

#define FIELD(type, name, member, kind)                                                            \
    {                                                                                              \
        name, kind, offsetof(struct type, member), NULL, NULL, 0                                   \
    }
#define PART(name, member, kind, part)                                                             \
    {                                                                                              \
        name, kind, offsetof(struct answer_parts, member), &part, NULL, 0                          \
    }
static const struct json_field error_fields[] = {
    FIELD(error_part, "code", code, JSON_INT),
    FIELD(error_part, "err_code", err_code, JSON_INT),
    FIELD(error_part, "description", description, JSON_STR),
};
static const struct json_type error_type = {"ApiError", sizeof(struct error_part), error_fields,
                                            MF_COUNT(error_fields)};
static const struct json_field config_fields[] = {
    FIELD(config_part, "deliver_subject", deliver_subject, JSON_STR),
    FIELD(config_part, "ack_policy", ack_policy, JSON_STR),
};
static const struct json_type config_type = {"ConsumerConfig", sizeof(struct config_part),
                                             config_fields, MF_COUNT(config_fields)};
static const struct json_field place_fields[] = {
    FIELD(place_part, "stream_seq", stream_seq, JSON_U64),
};
static const struct json_type place_type = {"SequenceInfo", sizeof(struct place_part), place_fields,
                                            MF_COUNT(place_fields)};
static const struct json_field answer_fields[] = {
    PART("error", error, JSON_POINTER, error_type),
    PART("config", config, JSON_POINTER, config_type),
    FIELD(answer_parts, "name", name, JSON_STR),
    PART("delivered", delivered, JSON_OBJECT, place_type),
    FIELD(answer_parts, "num_pending", pending, JSON_U64),
};
static const struct json_type answer_type = {"JSApiConsumerCreateResponse",
                                             sizeof(struct answer_parts), answer_fields,
                                             MF_COUNT(answer_fields)};

int upstream_answer_read(struct mf_slice body, struct upstream_answer *a, struct arena *mem)
{
    struct answer_parts p = {.error = NULL};
    int rc = json_unmarshal(body, &answer_type, &p, mem, NULL);

    *a = (struct upstream_answer){.refused = false};
    if (rc != 0)
        return rc;
    if (p.error != NULL) {
        a->refused = true;
        a->error.code = (uint16_t)p.error->code;
        a->error.err_code = (uint16_t)p.error->err_code;
        (void)snprintf(a->error.text, sizeof a->error.text, "%s",
                       p.error->description == NULL ? "" : p.error->description);
        return 0;
    }
    if (p.config == NULL || p.name == NULL)
        return MF_INVAL;
    a->name = p.name;
    a->deliver_subject = p.config->deliver_subject;
    a->ack_policy = p.config->ack_policy;
    a->delivered = p.delivered.stream_seq;
    a->pending = p.pending;
    return 0;
}

/* --- the reply of a delivery ------------------------------------------------------------------ */

#define ACK_SHORT 9  /* $JS.ACK.<stream>.<consumer> and five numbers */
#define ACK_LONG  11 /* or more, with the domain and the account before the stream */

bool upstream_reply_read(struct mf_slice reply, struct upstream_reply *r)
{
    unsigned n = subject_tokens(reply);
    struct mf_slice rest = reply, token;
    uint64_t number[5];

    if (!mf_starts(reply, "$JS.ACK.") || (n != ACK_SHORT && n < ACK_LONG))
        return false;
    for (unsigned i = 0; i < (n == ACK_SHORT ? 4u : 6u); i++)
        if (!subject_next_token(&rest, &r->consumer))
            return false;
    for (unsigned i = 0; i < MF_COUNT(number); i++)
        if (!subject_next_token(&rest, &token) || mf_parse_u64(token, &number[i]) != 0)
            return false;
    r->deliveries = number[0];
    r->sseq = number[1];
    r->dseq = number[2];
    r->ts_ns = (int64_t)number[3];
    r->pending = number[4];
    return true;
}

/* --- the mark of a source --------------------------------------------------------------------- */

/* Reads the next field; *rest continues after it. */
static struct mf_slice read_field(struct mf_slice *rest)
{
    const uint8_t *blank = rest->len == 0 ? NULL : memchr(rest->ptr, ' ', rest->len);
    struct mf_slice f = *rest;

    if (blank == NULL) {
        *rest = MF_SLICE_NONE;
        return f;
    }
    f.len = (size_t)(blank - rest->ptr);
    *rest = mf_slice(blank + 1, rest->len - f.len - 1);
    return f;
}

void upstream_mark(struct mf_buf *out, struct mf_slice index, uint64_t seq, struct mf_slice subject,
                   const char *ident)
{
    struct mf_slice rest = index, name = read_field(&rest);
    uint8_t text[20];

    mf_buf_append(out, name.ptr, name.len);
    mf_buf_byte(out, ' ');
    mf_buf_append(out, text, proto_put_u64(text, seq));
    mf_buf_byte(out, ' ');
    mf_buf_append(out, rest.ptr, rest.len);
    mf_buf_byte(out, ' ');
    mf_buf_append(out, subject.ptr, subject.len);
    if (*ident != '\0') {
        mf_buf_byte(out, ' ');
        mf_buf_puts(out, ident);
    }
}

bool upstream_mark_read(struct mf_slice value, struct mf_slice index, uint64_t *seq,
                        struct mf_slice *ident)
{
    struct mf_slice rest = value, of = index, name, filter, dest;
    struct mf_slice my_name = read_field(&of), my_filter = read_field(&of),
                    my_dest = read_field(&of);

    *ident = MF_SLICE_NONE;
    if (mf_starts(value, "$JS.ACK.")) {
        struct upstream_reply r;
        struct mf_slice stream = subject_token(value, subject_tokens(value) == ACK_SHORT ? 2 : 4);
        if (!upstream_reply_read(value, &r) || !mf_eq(stream, my_name))
            return false;
        *seq = r.sseq;
        return true;
    }
    name = read_field(&rest);
    if (!mf_eq(name, my_name) || mf_parse_u64(read_field(&rest), seq) != 0)
        return false;
    if (rest.len == 0)
        return true; /* before 2.10: the stream and the sequence */
    filter = read_field(&rest);
    dest = read_field(&rest);
    if (!mf_eq(filter, my_filter) || !mf_eq(dest, my_dest))
        return false;
    (void)read_field(&rest); /* the subject it had there */
    *ident = read_field(&rest);
    return true;
}

/* --- the headers of a copy -------------------------------------------------------------------- */

/* line: with its end. */
static bool drops_line(struct mf_slice line, bool marked)
{
    return mf_starts(line, "Nats-Expected-") || mf_starts(line, "Nats-Batch-") ||
           (marked && mf_starts(line, "Nats-Stream-Source:"));
}

static struct mf_slice next_line(struct mf_slice block, size_t at)
{
    const uint8_t *end = memchr(block.ptr + at, '\n', block.len - at);

    return mf_slice(block.ptr + at,
                    end == NULL ? block.len - at : (size_t)(end + 1 - block.ptr) - at);
}

static bool any_unwanted(struct mf_slice block)
{
    for (size_t at = 0; at < block.len;) {
        struct mf_slice line = next_line(block, at);
        if (at > 0 && drops_line(line, false))
            return true;
        at += line.len;
    }
    return false;
}

struct mf_slice upstream_header(struct mf_buf *out, struct mf_slice hdr, struct mf_slice mark)
{
    bool kept = false;

    if (mark.len == 0 && !any_unwanted(hdr))
        return hdr;
    mf_buf_clear(out);
    if (hdr.len == 0)
        header_begin(out, NULL);
    for (size_t at = 0; at < hdr.len;) {
        struct mf_slice line = next_line(hdr, at);
        bool blank = line.len <= 2 && (line.ptr[0] == '\r' || line.ptr[0] == '\n');
        if (at > 0 && blank)
            break;
        if (at == 0 || !drops_line(line, mark.len > 0)) {
            mf_buf_append(out, line.ptr, line.len);
            kept = kept || at > 0;
            if (line.ptr[line.len - 1] != '\n')
                mf_buf_puts(out, "\r\n");
        }
        at += line.len;
    }
    if (mark.len > 0)
        header_add(out, "Nats-Stream-Source", mark);
    else if (!kept)
        return MF_SLICE_NONE;
    header_end(out);
    return mf_buf_slice(out);
}
