/* counter.c: Nats-Incr.  A counter is the last message of its subject: {"val":"N"}.
 *
 * The last message may be accepted but not on disk yet, where no read sees it; so values are kept
 * here, each with the sequence it belongs to, and hold as long as that is the last one.  A value
 * whose message is on disk may be forgotten at any time. */
#include "stream/counter_impl.h"

#include "stream/decimal_impl.h"

#include "codec/hash.h"
#include "proto/header.h"

#include <stdlib.h>

#define KEEP_COUNT 16384
#define KEEP_BYTES (16u << 20)
#define SOURCES    "Nats-Counter-Sources"

/* --- checks ----------------------------------------------------------------------------------- */

int counter_check(struct stream *s, const struct intake *in, struct js_error *e)
{
    const struct intake_headers *h = &in->h;
    struct decimal d;

    if (h->incr.len == 0)
        return 0;
    if (!decimal_parse(h->incr, &d))
        return js_error_set(e, JS_MESSAGE_INCR_INVALID);
    if (!s->cfg.allow_msg_counter)
        return js_error_set(e, JS_MESSAGE_INCR_DISABLED);
    if (in->payload.len > 0)
        return js_error_set(e, JS_MESSAGE_INCR_PAYLOAD);
    if (h->rollup.len > 0 || h->expected_stream.len > 0 || h->expected_last_msg_id.len > 0 ||
        h->expected_last_seq.len > 0 || h->expected_subject_seq.len > 0 ||
        h->expected_subject_seq_subject.len > 0)
        return js_error_set(e, JS_MESSAGE_INCR_INVALID);
    return 0;
}

int counter_check_present(struct stream *s, const struct intake *in, struct js_error *e)
{
    if (s->cfg.allow_msg_counter && in->h.incr.len == 0)
        return js_error_set(e, JS_MESSAGE_INCR_MISSING);
    return 0;
}

/* --- the table -------------------------------------------------------------------------------- */

struct counters *counter_table(struct stream *s)
{
    struct counters *c = s->counters;

    if (c == NULL && (c = calloc(1, sizeof *c)) != NULL) {
        mf_list_init(&c->used);
        mf_list_init(&c->parked);
        c->stream = s;
        s->counters = c;
    }
    return c;
}

static void counter_drop(struct counters *c, struct counter *x)
{
    table_del(&c->table, &x->node);
    mf_list_del(&x->used);
    c->size -= x->size;
    free(x->value);
    free(x->sources);
    free(x);
}

static struct counter *find_counter(const struct counters *c, struct mf_slice subject)
{
    struct table_node *n = table_first(&c->table, hash_slice(subject));

    for (; n != NULL; n = table_next(n)) {
        struct counter *x = mf_container(n, struct counter, node);
        if (mf_eq(mf_slice(x->subject, x->subject_len), subject))
            return x;
    }
    return NULL;
}

/* Forgets the least used; but not what only this table knows. */
static void make_room(struct stream *s, struct counters *c)
{
    uint64_t last = store_last_seq(s->store);

    if (c->table.count <= KEEP_COUNT && c->size <= KEEP_BYTES)
        return;
    while (c->table.count > KEEP_COUNT || c->size > KEEP_BYTES) {
        struct mf_list *l = mf_list_first(&c->used);
        struct counter *x = l == NULL ? NULL : mf_container(l, struct counter, used);
        if (x == NULL || x->seq > last || x->stage != 0)
            return; /* those behind it were used later still */
        counter_drop(c, x);
    }
}

static struct counter *counter_new(struct counters *c, struct mf_slice subject)
{
    struct counter *x = calloc(1, sizeof *x + subject.len);

    if (x == NULL || table_add(&c->table, &x->node, hash_slice(subject)) != 0) {
        free(x);
        return NULL;
    }
    x->subject_len = subject.len;
    memcpy(x->subject, subject.ptr, subject.len);
    mf_list_push(&c->used, &x->used);
    return x;
}

/* A value for this subject, in place of the one before.  NULL: no memory, and all is as it was. */
static struct counter *counter_put(struct stream *s, struct mf_slice subject, struct mf_slice value,
                                   struct mf_slice sources, uint64_t seq)
{
    struct counters *c = counter_table(s);
    struct counter *x = c == NULL ? NULL : find_counter(c, subject);
    char *text = mf_slice_dup(value), *more = sources.len > 0 ? mf_slice_dup(sources) : NULL;

    if (c == NULL || text == NULL || (sources.len > 0 && more == NULL) ||
        (x == NULL && (x = counter_new(c, subject)) == NULL)) {
        free(text);
        free(more);
        return NULL;
    }
    free(x->value);
    free(x->sources);
    c->size -= x->size;
    x->value = text;
    x->sources = more;
    x->seq = seq;
    x->stage = 0;
    x->broken = false;
    x->size = sizeof *x + subject.len + value.len + sources.len;
    c->size += x->size;
    mf_list_del(&x->used);
    mf_list_push(&c->used, &x->used);
    make_room(s, c);
    return x;
}

/* --- stored values ---------------------------------------------------------------------------- */

struct value {
    char *val;
};
static const struct json_field value_fields[] = {
    {.name = "val", .kind = JSON_STR, .offset = offsetof(struct value, val)}};
static const struct json_type value_type = {"CounterValue", sizeof(struct value), value_fields, 1};

/* A document whose val is no number counts as zero, as in nats-server; one that is none, or whose
 * val is no string, is broken. */
int counter_value_read(struct mf_slice payload, struct mf_buf *out)
{
    struct value v = {NULL};
    struct arena mem = {0};
    struct mf_error e;
    struct decimal d;
    int rc =
        json_is_document(payload) ? json_read(payload, &value_type, &v, &mem, false, &e) : MF_INVAL;

    if (rc == 0 && decimal_parse(mf_str(v.val), &d)) {
        if (d.negative)
            mf_buf_byte(out, '-');
        mf_buf_append(out, d.digits.ptr, d.digits.len);
    } else if (rc == 0) {
        mf_buf_byte(out, '0');
    }
    arena_fini(&mem);
    return mf_buf_failed(out) ? MF_NOMEM : rc;
}

void counter_learn(struct stream *s, const struct stream_msg *m)
{
    struct mf_slice sources = MF_SLICE_NONE;
    struct mf_buf value = MF_BUF_INIT;
    int rc = counter_value_read(m->payload, &value);

    if (m->hdr.len > 0)
        (void)header_get(m->hdr, SOURCES, &sources);
    if (rc != MF_NOMEM) { /* then it is read again when it is asked for again */
        struct counter *x = counter_put(s, m->subject, mf_buf_slice(&value), sources, m->seq);
        if (x != NULL)
            x->broken = rc != 0;
    }
    mf_buf_fini(&value);
}

int counter_find(struct stream *s, struct mf_slice subject, struct counter **out, uint64_t *seq)
{
    struct counters *c = s->counters;
    struct counter *x = c == NULL ? NULL : find_counter(c, subject);
    struct stream_msg m;
    uint64_t count;
    int rc;

    *out = NULL;
    if (x != NULL && c->stage != 0 && x->stage == c->stage) {
        *out = x;
        return 0;
    }
    if ((rc = expire_settle(s, subject)) != 0)
        return rc;
    *seq = store_key_last_accepted(s->store, subject, &count);
    if (*seq == 0)
        return 0;
    if (x == NULL || x->seq != *seq) {
        if ((rc = stream_get(s, *seq, &m)) != 0)
            return rc == MF_CORRUPT ? MF_DENIED : rc;
        counter_learn(s, &m);
        stream_msg_end(&m);
        if (s->counters == NULL || (x = find_counter(s->counters, subject)) == NULL ||
            x->seq != *seq)
            return MF_NOMEM;
    }
    *out = x;
    return x->broken ? MF_DENIED : 0;
}

/* --- counting --------------------------------------------------------------------------------- */

static int refuse_unknown(struct stream *s, int rc, struct js_error *e)
{
    if (rc == MF_DENIED)
        return js_error_set(e, JS_MESSAGE_COUNTER_BROKEN);
    stream_store_error(s, rc == MF_NOTFOUND ? MF_AGAIN : rc, e);
    return rc;
}

/* The sum, as text and as payload, in c's buffers. */
static int add_increment(struct stream *s, struct counters *c, const struct counter *x,
                         struct intake *in, struct mf_slice sources, struct js_error *e)
{
    struct decimal now = DECIMAL_ZERO, more;
    int rc;

    if (!decimal_parse(in->h.incr, &more) || (x != NULL && !decimal_parse(mf_str(x->value), &now)))
        return js_error_set(e, JS_MESSAGE_COUNTER_BROKEN);
    mf_buf_clear(&c->sum);
    rc = decimal_add(&c->sum, now, more);
    if (rc == MF_LIMIT)
        return js_error_set(e, JS_STREAM_MESSAGE_EXCEEDS_MAXIMUM);
    lend_clear(&c->payload);
    mf_buf_puts(&c->payload, "{\"val\":\"");
    mf_buf_append(&c->payload, c->sum.ptr, c->sum.len);
    mf_buf_puts(&c->payload, "\"}");
    lend_clear(&c->hdr);
    if (sources.len > 0)
        header_set(&c->hdr, in->hdr, SOURCES, sources);
    if (rc != 0 || mf_buf_failed(&c->payload) || mf_buf_failed(&c->hdr)) {
        stream_store_error(s, MF_NOMEM, e);
        return MF_NOMEM;
    }
    return 0;
}

int counter_apply(struct stream *s, struct intake *in, const char **val, struct js_error *e)
{
    struct counters *c;
    struct counter *x = NULL;
    uint64_t seq, msgs, bytes;
    int rc;

    *val = NULL;
    if (in->h.incr.len == 0 || !s->cfg.allow_msg_counter)
        return 0;
    if ((c = counter_table(s)) == NULL)
        return refuse_unknown(s, MF_NOMEM, e);
    if ((rc = counter_find(s, in->subject, &x, &seq)) != 0)
        return refuse_unknown(s, rc, e);
    struct mf_slice sources =
        in->counter_sources.len > 0 ? in->counter_sources : mf_str(x == NULL ? NULL : x->sources);
    if ((rc = add_increment(s, c, x, in, sources, e)) != 0)
        return rc;
    struct mf_slice payload = in->payload, hdr = in->hdr;
    in->payload = lend_slice(&c->payload);
    if (c->hdr.len > 0)
        in->hdr = lend_slice(&c->hdr);
    rc = check_size(s, in, e);
    /* The sequence it is about to get.  If it does not, this value counts for nothing. */
    store_accepted(s->store, &msgs, &bytes, &seq);
    seq = c->stage != 0 ? c->staged_seq + 1 : seq + 1;
    if (rc == 0 && (x = counter_put(s, in->subject, mf_buf_slice(&c->sum), sources, seq)) == NULL) {
        stream_store_error(s, MF_NOMEM, e);
        rc = MF_NOMEM;
    }
    if (rc != 0) {
        in->payload = payload;
        in->hdr = hdr;
        return rc;
    }
    x->stage = c->stage;
    c->staged_seq = seq;
    *val = x->value;
    return 0;
}

/* --- batches ---------------------------------------------------------------------------------- */

int counter_stage(struct stream *s)
{
    struct counters *c = counter_table(s);
    uint64_t msgs, bytes;

    if (c == NULL)
        return MF_NOMEM;
    store_accepted(s->store, &msgs, &bytes, &c->staged_seq);
    c->stage = ++c->stages;
    return 0;
}

void counter_stage_end(struct stream *s)
{
    if (s->counters != NULL)
        s->counters->stage = 0;
}

void counter_settle(struct stream *s, struct mf_slice subject, bool stored)
{
    struct counter *x = s->counters == NULL ? NULL : find_counter(s->counters, subject);

    if (x != NULL && x->stage != 0) {
        x->stage = 0;
        if (!stored)
            counter_drop(s->counters, x);
    }
}

void counter_undo(struct stream *s, struct mf_slice subject)
{
    struct counter *x = s->counters == NULL ? NULL : find_counter(s->counters, subject);

    if (x != NULL)
        counter_drop(s->counters, x);
}

void counter_free(struct stream *s)
{
    struct counters *c = s->counters;

    if (c == NULL)
        return;
    counter_unpark(s);
    while (!mf_list_empty(&c->used))
        counter_drop(c, mf_container(mf_list_first(&c->used), struct counter, used));
    table_fini(&c->table);
    lend_clear(&c->payload);
    lend_clear(&c->hdr);
    lend_clear(&c->told);
    mf_buf_fini(&c->sum);
    mf_buf_fini(&c->payload);
    mf_buf_fini(&c->hdr);
    mf_buf_fini(&c->told);
    free(c);
    s->counters = NULL;
}
