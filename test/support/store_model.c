/* store_model.c: see store_model.h. */
#include "store_model.h"

#include "must.h"

#include "codec/checksum.h"

/* --- one state -------------------------------------------------------------------------------- */

void state_init(struct model_state *s, uint64_t first_seq)
{
    *s = (struct model_state){.last_seq = first_seq - 1};
}

void state_fini(struct model_state *s)
{
    free(s->msg);
    free(s->blob);
    *s = (struct model_state){0};
}

void state_copy(struct model_state *dst, const struct model_state *src)
{
    if (dst->msgs_cap < src->msgs) {
        dst->msgs_cap = src->msgs + 64;
        dst->msg = must_alloc(dst->msg, dst->msgs_cap, sizeof *dst->msg);
    }
    if (dst->blobs_cap < src->blobs) {
        dst->blobs_cap = src->blobs + 8;
        dst->blob = must_alloc(dst->blob, dst->blobs_cap, sizeof *dst->blob);
    }
    if (src->msgs > 0)
        memcpy(dst->msg, src->msg, src->msgs * sizeof *dst->msg);
    if (src->blobs > 0)
        memcpy(dst->blob, src->blob, src->blobs * sizeof *dst->blob);
    dst->msgs = src->msgs;
    dst->blobs = src->blobs;
    dst->last_seq = src->last_seq;
}

/* Index of the first message at or after seq. */
static size_t lower(const struct model_state *s, uint64_t seq)
{
    size_t lo = 0, hi = s->msgs;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->msg[mid].seq < seq)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct model_msg *state_find(const struct model_state *s, uint64_t seq)
{
    size_t i = lower(s, seq);

    return i < s->msgs && s->msg[i].seq == seq ? &s->msg[i] : NULL;
}

static void cut(struct model_state *s, uint64_t first, uint64_t last)
{
    size_t i = lower(s, first), j = last == UINT64_MAX ? s->msgs : lower(s, last + 1);

    if (i < j) {
        memmove(s->msg + i, s->msg + j, (s->msgs - j) * sizeof *s->msg);
        s->msgs -= j - i;
    }
}

static void append(struct model_state *s, const struct model_msg *m)
{
    MUST(m->seq > s->last_seq, "sequence %llu given after %llu", (unsigned long long)m->seq,
         (unsigned long long)s->last_seq);
    if (s->msgs == s->msgs_cap) {
        s->msgs_cap = s->msgs_cap * 2 + 64;
        s->msg = must_alloc(s->msg, s->msgs_cap, sizeof *s->msg);
    }
    s->msg[s->msgs++] = *m;
    s->last_seq = m->seq;
}

static void blob_del(struct model_state *s, const char *name)
{
    for (size_t i = 0; i < s->blobs; i++)
        if (strcmp(s->blob[i].name, name) == 0) {
            s->blob[i] = s->blob[--s->blobs];
            return;
        }
}

static void blob_put(struct model_state *s, const struct model_blob *b)
{
    blob_del(s, b->name);
    if (s->blobs == s->blobs_cap) {
        s->blobs_cap = s->blobs_cap * 2 + 8;
        s->blob = must_alloc(s->blob, s->blobs_cap, sizeof *s->blob);
    }
    s->blob[s->blobs++] = *b;
}

void state_apply(struct model_state *s, const struct model_op *op)
{
    struct model_msg *m;

    switch (op->kind) {
    case MODEL_APPEND:
        append(s, &op->msg);
        break;
    case MODEL_REMOVE:
    case MODEL_ERASE:
        cut(s, op->first, op->first);
        break;
    case MODEL_RANGE:
        cut(s, op->first, op->last);
        if (op->last > s->last_seq)
            s->last_seq = op->last;
        break;
    case MODEL_DEADLINE:
        m = state_find(s, op->first);
        if (m == NULL)
            break;
        m->deadline_ns = op->deadline_ns;
        m->flags = (uint16_t)((m->flags & ~MODEL_BITS) | op->flags);
        break;
    case MODEL_BLOB:
        blob_put(s, &op->blob);
        break;
    case MODEL_BLOB_DEL:
        blob_del(s, op->blob.name);
        break;
    }
}

void state_apply_batch(struct model_state *s, const struct model *m, size_t b)
{
    const struct model_batch *batch = &m->batch[b];

    for (size_t i = 0; i < batch->ops; i++)
        state_apply(s, &m->op[batch->op + i]);
}

/* --- sums ------------------------------------------------------------------------------------- */

uint64_t model_content(struct mf_slice key, struct mf_slice head, struct mf_slice body)
{
    uint64_t sum = checksum64(key.ptr, key.len, 1);

    sum = checksum64(head.ptr, head.len, sum);
    return checksum64(body.ptr, body.len, sum);
}

uint64_t model_msg_sum(const struct model_msg *m)
{
    uint64_t field[] = {m->seq, m->content, (uint64_t)m->ts_ns, (uint64_t)m->deadline_ns, m->flags};

    return checksum64(field, sizeof field, 2);
}

uint64_t model_blob_sum(struct mf_slice name, uint64_t content)
{
    return checksum64(name.ptr, name.len, content);
}

uint64_t state_sum(const struct model_state *s, int64_t now_ns)
{
    uint64_t sum = s->last_seq * 0x9E3779B97F4A7C15u;

    for (size_t i = 0; i < s->msgs; i++)
        if (model_visible(&s->msg[i], now_ns))
            sum += model_msg_sum(&s->msg[i]);
    for (size_t i = 0; i < s->blobs; i++)
        sum += model_blob_sum(mf_str(s->blob[i].name), s->blob[i].content);
    return sum;
}

/* --- reading ---------------------------------------------------------------------------------- */

const struct model_msg *state_next(const struct model_state *s, uint64_t from, int64_t now_ns)
{
    for (size_t i = lower(s, from); i < s->msgs; i++)
        if (model_visible(&s->msg[i], now_ns))
            return &s->msg[i];
    return NULL;
}

const struct model_msg *state_prev(const struct model_state *s, uint64_t from, int64_t now_ns)
{
    for (size_t i = from == UINT64_MAX ? s->msgs : lower(s, from + 1); i-- > 0;)
        if (model_visible(&s->msg[i], now_ns))
            return &s->msg[i];
    return NULL;
}

bool state_key(const struct model_state *s, const char *key, int64_t now_ns, struct model_key *out)
{
    *out = (struct model_key){0};
    for (size_t i = 0; i < s->msgs; i++) {
        const struct model_msg *m = &s->msg[i];
        if (!model_visible(m, now_ns) || strcmp(m->key, key) != 0)
            continue;
        if (out->count++ == 0)
            out->first_seq = m->seq;
        out->last_seq = m->seq;
    }
    return out->count > 0;
}

const struct model_msg *state_due(const struct model_state *s, int64_t now_ns)
{
    const struct model_msg *first = NULL;

    for (size_t i = 0; i < s->msgs; i++) {
        const struct model_msg *m = &s->msg[i];
        if (!model_visible(m, now_ns) && (first == NULL || m->deadline_ns < first->deadline_ns))
            first = m;
    }
    return first;
}

const struct model_blob *state_blob(const struct model_state *s, struct mf_slice name)
{
    for (size_t i = 0; i < s->blobs; i++)
        if (mf_eq_str(name, s->blob[i].name))
            return &s->blob[i];
    return NULL;
}

bool model_match(const char *pattern, const char *key)
{
    for (;;) {
        if (strcmp(pattern, ">") == 0)
            return true; /* at least one token is left: keys have no empty tail here */
        size_t p = strcspn(pattern, "."), k = strcspn(key, ".");
        bool any = p == 1 && pattern[0] == '*';
        if (!any && (p != k || memcmp(pattern, key, p) != 0))
            return false;
        if (pattern[p] == '\0' || key[k] == '\0')
            return pattern[p] == key[k];
        pattern += p + 1;
        key += k + 1;
    }
}

static bool is_last(const struct model_state *s, const struct model_msg *m, int64_t now_ns)
{
    for (const struct model_msg *n = m + 1; n < s->msg + s->msgs; n++)
        if (model_visible(n, now_ns) && strcmp(n->key, m->key) == 0)
            return false;
    return true;
}

uint64_t state_cursor(const struct model_state *s, const char *pattern, bool last_only,
                      uint64_t from, int64_t now_ns)
{
    for (size_t i = lower(s, from); i < s->msgs; i++) {
        const struct model_msg *m = &s->msg[i];
        if (model_visible(m, now_ns) && model_match(pattern, m->key) &&
            (!last_only || is_last(s, m, now_ns)))
            return m->seq;
    }
    return 0;
}

uint64_t state_newest(const struct model_state *s, const char *pattern, uint64_t upto,
                      uint64_t from, int64_t now_ns)
{
    for (size_t i = lower(s, from); i < s->msgs && s->msg[i].seq <= upto; i++) {
        const struct model_msg *m = &s->msg[i], *n = m + 1;
        if (!model_visible(m, now_ns) || !model_match(pattern, m->key))
            continue;
        while (n < s->msg + s->msgs && n->seq <= upto && strcmp(n->key, m->key) != 0)
            n++;
        if (n == s->msg + s->msgs || n->seq > upto)
            return m->seq;
    }
    return 0;
}

/* --- the journal ------------------------------------------------------------------------------ */

void model_start(struct model *m, uint64_t first_seq)
{
    *m = (struct model){0};
    state_init(&m->accepted, first_seq);
    state_init(&m->committed, first_seq);
}

void model_end(struct model *m)
{
    state_fini(&m->accepted);
    state_fini(&m->committed);
    free(m->op);
    free(m->batch);
    *m = (struct model){0};
}

void model_open(struct model *m, uint64_t at, int64_t now_ns)
{
    if (m->batches == m->batches_cap) {
        m->batches_cap = m->batches_cap * 2 + 256;
        m->batch = must_alloc(m->batch, m->batches_cap, sizeof *m->batch);
    }
    m->batch[m->batches++] = (struct model_batch){.op = m->ops,
                                                  .accepted_at = at,
                                                  .acked_at = UINT64_MAX,
                                                  .erased_at = UINT64_MAX,
                                                  .now_ns = now_ns};
    m->open = true;
}

void model_close(struct model *m)
{
    m->open = false;
}

void model_add(struct model *m, const struct model_op *op, uint64_t at, int64_t now_ns)
{
    bool alone = !m->open;

    if (alone)
        model_open(m, at, now_ns);
    if (m->ops == m->ops_cap) {
        m->ops_cap = m->ops_cap * 2 + 256;
        m->op = must_alloc(m->op, m->ops_cap, sizeof *m->op);
    }
    m->op[m->ops++] = *op;
    m->batch[m->batches - 1].ops++;
    state_apply(&m->accepted, op);
    if (alone)
        model_close(m);
}

void model_commit(struct model *m, size_t b, uint64_t at)
{
    for (; m->done <= b && m->done < m->batches; m->done++) {
        m->batch[m->done].acked_at = at;
        state_apply_batch(&m->committed, m, m->done);
    }
}

void model_trim(struct model *m)
{
    MUST(m->done == m->batches && !m->open, "trimmed with batches under way");
    m->ops = m->batches = m->done = 0;
}
