/* consumer_backup.c: a consumer in a stream's archive, out and in. */
#include "backup/consumer_backup_impl.h"

#include "api/consumer_json.h"

#include "codec/json.h"
#include "codec/natsfile.h"

#include <stdio.h>
#include <stdlib.h>

/* --- out ------------------------------------------------------------------------------------ */

struct maps {
    struct mf_buf pending, again;
};

static void add_msg(void *arg, const struct consumer_saved_msg *m)
{
    struct maps *x = arg;
    unsigned long long seq = m->sseq;

    if (!m->given_up)
        mf_buf_printf(&x->pending, "%s\"%llu\":{\"Sequence\":%llu,\"Timestamp\":%lld}",
                      x->pending.len == 0 ? "{" : ",", seq, (unsigned long long)m->dseq,
                      (long long)m->sent_ns);
    if (m->count > 1 || m->given_up)
        mf_buf_printf(&x->again, "%s\"%llu\":%llu", x->again.len == 0 ? "{" : ",", seq,
                      m->count > 1 ? m->count - 1ull : 1ull);
}

static void write_pair(struct jsonw *w, const char *key, uint64_t consumer, uint64_t stream)
{
    jsonw_object(w, key);
    jsonw_u64(w, "consumer_seq", consumer);
    jsonw_u64(w, "stream_seq", stream);
    jsonw_end(w);
}

static void write_map(struct jsonw *w, const char *key, struct mf_buf *map)
{
    if (map->len == 0)
        return;
    mf_buf_byte(map, '}');
    jsonw_raw(w, key, mf_buf_slice(map));
}

void consumer_backup_write(struct mf_buf *out, struct consumer *c, uint64_t last_seq)
{
    struct maps x = {MF_BUF_INIT, MF_BUF_INIT};
    struct consumer_config cfg = *consumer_config(c);
    struct consumer_saved st;
    struct jsonw w;
    char name[256];

    consumer_save(c, last_seq, &st, add_msg, &x);
    if (cfg.name == NULL || *cfg.name == '\0') { /* readers look for it there */
        (void)snprintf(name, sizeof name, "%s", consumer_name(c));
        cfg.name = name;
    }
    jsonw_begin(&w, out, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    consumer_config_json_write(&w, "config", &cfg, false);
    jsonw_object(&w, "state");
    write_pair(&w, "delivered", st.dseq, st.sseq);
    write_pair(&w, "ack_floor", st.floor_dseq, st.floor_sseq);
    write_map(&w, "pending", &x.pending);
    write_map(&w, "redelivered", &x.again);
    if (st.next != 0)
        jsonw_u64(&w, "next", st.next);
    jsonw_end(&w);
    jsonw_end(&w);
    out->failed = out->failed || x.pending.failed || x.again.failed;
    mf_buf_fini(&x.pending);
    mf_buf_fini(&x.again);
}

/* --- in: the maps --------------------------------------------------------------------------- */

/* The rest of a map's text, which is valid JSON of unknown shape. */
struct scan {
    const uint8_t *at, *end;
};

static bool eat_char(struct scan *s, char c)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
        s->at++;
    if (s->at == s->end || *s->at != (uint8_t)c)
        return false;
    s->at++;
    return true;
}

static bool eat_number(struct scan *s, uint64_t *out)
{
    const uint8_t *from;

    (void)eat_char(s, ' '); /* blanks */
    from = s->at;
    while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
        s->at++;
    return mf_parse_u64(mf_slice(from, (size_t)(s->at - from)), out) == 0;
}

static bool eat_key(struct scan *s, struct mf_slice *key)
{
    const uint8_t *from;

    if (!eat_char(s, '"'))
        return false;
    from = s->at;
    while (s->at < s->end && *s->at != '"' && *s->at != '\\')
        s->at++;
    *key = mf_slice(from, (size_t)(s->at - from));
    return eat_char(s, '"') && eat_char(s, ':');
}

/* {"Sequence":N,"Timestamp":N} */
static bool eat_pending(struct scan *s, struct consumer_saved_msg *m)
{
    if (!eat_char(s, '{'))
        return false;
    if (eat_char(s, '}'))
        return true;
    do {
        struct mf_slice key;
        uint64_t n;
        bool minus;

        if (!eat_key(s, &key))
            return false;
        minus = eat_char(s, '-');
        if (!eat_number(s, &n) || (minus && n > INT64_MAX))
            return false;
        if (mf_eq_str(key, "Sequence") && !minus)
            m->dseq = n;
        else if (mf_eq_str(key, "Timestamp") && n <= INT64_MAX)
            m->sent_ns = minus ? -(int64_t)n : (int64_t)n;
        else
            return false;
    } while (eat_char(s, ','));
    return eat_char(s, '}');
}

static bool no_map(struct mf_slice text)
{
    return text.len == 0 || mf_eq_str(text, "null");
}

static size_t count_byte(struct mf_slice text, uint8_t c)
{
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++)
        n += text.ptr[i] == c;
    return n;
}

static int bad_map(const char *what, struct mf_error *e)
{
    return mf_fail(e, MF_INVAL, "its %s messages are not what they should be", what);
}

static int by_sequence(const void *a, const void *b)
{
    uint64_t x = ((const struct consumer_saved_msg *)a)->sseq;
    uint64_t y = ((const struct consumer_saved_msg *)b)->sseq;

    return (x > y) - (x < y);
}

void consumer_backup_again(struct consumer_saved *st, size_t waiting, uint64_t sseq, uint64_t n)
{
    const struct consumer_saved_msg key = {.sseq = sseq};
    struct consumer_saved_msg *m =
        waiting == 0 ? NULL : bsearch(&key, st->at, waiting, sizeof *st->at, by_sequence);

    if (m == NULL) {
        m = &st->at[st->n++];
        *m = (struct consumer_saved_msg){.sseq = sseq, .given_up = true};
    }
    m->count = n < INT32_MAX ? (uint32_t)n + 1 : INT32_MAX;
}

void consumer_backup_sort(struct consumer_saved *st)
{
    if (st->n > 1)
        qsort(st->at, st->n, sizeof *st->at, by_sequence);
}

static int read_pending(struct mf_slice text, struct consumer_saved *st, struct mf_error *e)
{
    size_t max = count_byte(text, '{');

    if (no_map(text)) /* perhaps nothing at all, which has no end either */
        return 0;
    struct scan s = {text.ptr, text.ptr + text.len};
    if (!eat_char(&s, '{'))
        return bad_map("pending", e);
    if (eat_char(&s, '}'))
        return 0;
    do {
        struct consumer_saved_msg m = {.count = 1};
        struct mf_slice key;

        if (st->n == max || !eat_key(&s, &key) || mf_parse_u64(key, &m.sseq) != 0 ||
            !eat_pending(&s, &m))
            return bad_map("pending", e);
        st->at[st->n++] = m;
    } while (eat_char(&s, ','));
    consumer_backup_sort(st);
    return eat_char(&s, '}') ? 0 : bad_map("pending", e);
}

static int read_redelivered(struct mf_slice text, struct consumer_saved *st, struct mf_error *e)
{
    size_t waiting = st->n;

    if (no_map(text))
        return 0;
    struct scan s = {text.ptr, text.ptr + text.len};
    if (!eat_char(&s, '{'))
        return bad_map("redelivered", e);
    if (eat_char(&s, '}'))
        return 0;
    do {
        struct mf_slice key;
        uint64_t seq, n;

        if (!eat_key(&s, &key) || mf_parse_u64(key, &seq) != 0 || !eat_number(&s, &n))
            return bad_map("redelivered", e);
        consumer_backup_again(st, waiting, seq, n);
    } while (eat_char(&s, ','));
    return eat_char(&s, '}') ? 0 : bad_map("redelivered", e);
}

/* --- in ------------------------------------------------------------------------------------- */

struct doc_pair {
    uint64_t consumer, stream;
};
struct doc_state {
    struct doc_pair delivered, floor;
    struct mf_slice pending, redelivered;
    uint64_t next;
};
struct doc {
    struct consumer_config config;
    struct doc_state state;
    bool has_config, has_state;
};

#define FIELD(json, what, of, member, sub)                                                         \
    {                                                                                              \
        .name = (json), .kind = (what), .offset = offsetof(struct of, member), .type = (sub)       \
    }
static const struct json_field pair_fields[] = {
    FIELD("consumer_seq", JSON_U64, doc_pair, consumer, NULL),
    FIELD("stream_seq", JSON_U64, doc_pair, stream, NULL),
};
static const struct json_type pair_type = {"SequencePair", sizeof(struct doc_pair), pair_fields,
                                           MF_COUNT(pair_fields)};
static const struct json_field state_fields[] = {
    FIELD("delivered", JSON_OBJECT, doc_state, delivered, &pair_type),
    FIELD("ack_floor", JSON_OBJECT, doc_state, floor, &pair_type),
    FIELD("pending", JSON_RAW, doc_state, pending, NULL),
    FIELD("redelivered", JSON_RAW, doc_state, redelivered, NULL),
    FIELD("next", JSON_U64, doc_state, next, NULL),
};
static const struct json_type state_type = {"ConsumerState", sizeof(struct doc_state), state_fields,
                                            MF_COUNT(state_fields)};
static const struct json_field doc_fields[] = {
    {.name = "config",
     .kind = JSON_OBJECT,
     .offset = offsetof(struct doc, config),
     .type = &consumer_config_json_type,
     .set_offset = offsetof(struct doc, has_config)},
    {.name = "state",
     .kind = JSON_OBJECT,
     .offset = offsetof(struct doc, state),
     .type = &state_type,
     .set_offset = offsetof(struct doc, has_state)},
};
static const struct json_type doc_type = {"SnapshotConsumerState", sizeof(struct doc), doc_fields,
                                          MF_COUNT(doc_fields)};

static int make_room(const struct doc_state *d, struct consumer_saved *st, struct arena *mem,
                     struct mf_error *e)
{
    size_t max = count_byte(d->pending, '{') + count_byte(d->redelivered, ':');

    if (max > CONSUMER_BACKUP_MAX) {
        mf_fail(e, MF_INVAL, "it has too many messages");
        return MF_INVAL;
    }
    st->at = arena_alloc(mem, (max + 1) * sizeof *st->at);
    return st->at != NULL ? 0 : mf_fail(e, MF_NOMEM, "%s", mf_err_text(MF_NOMEM));
}

int consumer_backup_read(struct mf_slice text, struct consumer_backup *b, struct mf_error *e)
{
    struct doc d = {.has_config = false};
    int rc;

    consumer_config_init(&d.config);
    rc = json_unmarshal(text, &doc_type, &d, &d.config.mem, e);
    *b = (struct consumer_backup){.has_config = d.has_config, .has_state = d.has_state};
    b->state = (struct consumer_saved){.dseq = d.state.delivered.consumer,
                                       .sseq = d.state.delivered.stream,
                                       .floor_dseq = d.state.floor.consumer,
                                       .floor_sseq = d.state.floor.stream,
                                       .next = d.state.next};
    if (rc == 0)
        rc = make_room(&d.state, &b->state, &b->mem, e);
    if (rc == 0)
        rc = read_pending(d.state.pending, &b->state, e);
    if (rc == 0)
        rc = read_redelivered(d.state.redelivered, &b->state, e);
    b->config = d.config;
    return rc;
}

void consumer_backup_fini(struct consumer_backup *b)
{
    consumer_config_fini(&b->config);
    arena_fini(&b->mem);
}

int consumer_backup_from_file(struct mf_slice bytes, struct consumer_saved *st, struct arena *mem)
{
    struct natsfile_consumer x;
    uint64_t seq, count;
    size_t waiting;

    *st = (struct consumer_saved){.n = 0};
    if (natsfile_consumer_open(&x, bytes) != 0 || x.pending + x.redelivered > CONSUMER_BACKUP_MAX)
        return MF_CORRUPT;
    st->floor_dseq = x.floor_dseq;
    st->floor_sseq = x.floor_sseq;
    st->dseq = x.dseq;
    st->sseq = x.sseq;
    st->at = arena_alloc(mem, (x.pending + x.redelivered + 1) * sizeof *st->at);
    if (st->at == NULL)
        return MF_NOMEM;
    while (x.pending > 0) {
        struct consumer_saved_msg m = {.count = 1};

        if (natsfile_consumer_pending(&x, &m.sseq, &m.dseq, &m.sent_ns) != 0)
            return MF_CORRUPT;
        st->at[st->n++] = m;
    }
    consumer_backup_sort(st);
    waiting = st->n;
    while (x.redelivered > 0) {
        if (natsfile_consumer_again(&x, &seq, &count) != 0)
            return MF_CORRUPT;
        consumer_backup_again(st, waiting, seq, count);
    }
    return 0;
}

static void floor_before(struct consumer_saved *st, const struct consumer_saved_msg *m)
{
    if (m->sseq > 0 && m->sseq <= st->floor_sseq)
        st->floor_sseq = m->sseq - 1;
    if (m->dseq > 0 && m->dseq <= st->floor_dseq)
        st->floor_dseq = m->dseq - 1;
}

int consumer_backup_check(struct consumer_backup *b, struct mf_error *e)
{
    struct consumer_saved *st = &b->state;

    if (st->floor_dseq > st->dseq || st->dseq > INT64_MAX)
        return mf_fail(e, MF_INVAL, "bad ack floor for consumer");
    if (st->floor_sseq > st->sseq || st->sseq > INT64_MAX || st->next > INT64_MAX)
        return mf_fail(e, MF_INVAL, "bad ack floor for stream");
    uint64_t floor = st->floor_sseq;
    for (size_t i = 0; i < st->n && b->config.ack_policy == ACK_EXPLICIT; i++)
        if (!st->at[i].given_up && st->at[i].sseq <= floor)
            floor_before(st, &st->at[i]);
    for (size_t i = 0; i < st->n; i++)
        if (!st->at[i].given_up && (st->at[i].sseq <= st->floor_sseq || st->at[i].sseq > st->sseq ||
                                    st->at[i].dseq > INT64_MAX))
            return mf_fail(e, MF_INVAL, "bad pending entry, sequence [%llu] out of range",
                           (unsigned long long)st->at[i].sseq);
    return 0;
}
