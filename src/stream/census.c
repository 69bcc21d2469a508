/* census.c: messages of some subjects counted by state and by groups (stream_census.h).
 *
 * Happy path: the times of some messages first, so that ages need no read; then the subjects.  The
 * walk descends the tree of tokens, so the subjects of a group follow one another: only one group
 * is being filled, and the largest ones are kept.  A group may appear in two parts (its prefix is a
 * subject, too, or left the tree and came back): those are added up.
 * Changes: the place is a sequence.  If that message was removed meanwhile, the messages of the
 * subject are passed from the first one on, without counting those that were counted. */
#include "stream/ages_impl.h"
#include "stream/lifetime_impl.h"
#include "stream/limits_impl.h"

#include "base/clock.h"
#include "codec/hash.h"
#include "stream/stream_census.h"

#include <stdlib.h>

#define KEPT    256u /* groups */
#define NODES   64u  /* of the tree, in one call */
#define HOUR_NS (3600 * CLOCK_S)

struct kept {
    uint64_t hash; /* of the prefix */
    struct stream_group g;
};

struct stream_census {
    struct stream *s;
    int64_t now_ns;
    unsigned depth;
    uint64_t steps;
    struct stream_subjects *walk;
    struct mf_slice subject;     /* the one that is being counted; the walk's memory */
    uint64_t at, passed, last;   /* its message; those up to `passed` are counted; at 0: none */
    uint64_t probe, first, upto; /* times: the next to look for, and between which */
    bool timed, sparse;          /* all times are there; not of each message */
    struct age_table times;
    struct ages ages;      /* of the group that is being filled */
    struct stream_group g; /* its counts; the prefix is: */
    struct mf_buf prefix;
    bool filling, done;
    struct stream_census_sum sum;
    struct kept kept[KEPT];
    size_t nkept, least; /* least: the smallest of them, when all are used */
    struct stream_group shown[KEPT];
};

/* --- life ------------------------------------------------------------------------------------- */

static bool begin_times(struct stream_census *c)
{
    struct stream_state st;

    stream_state(c->s, &st);
    c->sparse = st.msgs > STREAM_CENSUS_TIMES;
    c->first = c->probe = st.first_seq;
    c->upto = st.last_seq;
    c->times.cap = c->sparse ? STREAM_CENSUS_TIMES : (size_t)st.msgs;
    c->timed = c->times.cap == 0;
    if (c->timed)
        return true;
    c->times.at = malloc(c->times.cap * sizeof c->times.at[0]);
    return c->times.at != NULL;
}

struct stream_census *stream_census_new(struct stream *s, struct mf_slice filter, unsigned depth)
{
    struct stream_census *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    c->s = s;
    c->now_ns = stream_now(s);
    c->depth = depth;
    c->prefix = MF_BUF_INIT;
    c->timed = depth == 0;
    c->walk = stream_subjects_new(s, filter.len > 0 ? filter : MF_LIT(">"));
    if (c->walk != NULL && (c->timed || begin_times(c))) {
        stream_subjects_unseen(c->walk); /* overdue messages are counted, too */
        return c;
    }
    stream_census_free(c);
    return NULL;
}

void stream_census_free(struct stream_census *c)
{
    if (c == NULL)
        return;
    stream_subjects_free(c->walk);
    for (size_t i = 0; i < c->nkept; i++)
        free(c->kept[i].g.prefix);
    mf_buf_fini(&c->prefix);
    free(c->times.at);
    free(c);
}

/* --- times ------------------------------------------------------------------------------------ */

/* All messages, or some with equal distances between their sequences. */
uint64_t stream_census_wants(struct stream_census *c)
{
    uint64_t seq = c->timed || c->times.n == c->times.cap ? 0 : stream_next(c->s, c->probe);

    c->steps++;
    if (seq == 0 || seq > c->upto) {
        c->timed = true;
        return 0;
    }
    return seq;
}

void stream_census_time(struct stream_census *c, uint64_t seq, int64_t ts_ns)
{
    uint64_t apart = (c->upto - c->first) / (STREAM_CENSUS_TIMES - 1);

    if (ts_ns != 0)
        c->times.at[c->times.n++] = (struct age_point){seq, ts_ns};
    c->probe = seq + (c->sparse && apart > 1 ? apart : 1);
}

/* --- groups ----------------------------------------------------------------------------------- */

static void find_least(struct stream_census *c)
{
    c->least = 0;
    for (size_t i = 1; i < c->nkept; i++)
        if (c->kept[i].g.bytes < c->kept[c->least].g.bytes)
            c->least = i;
}

/* Ages of two parts: those of the larger one, and the older. */
static void merge_group(struct stream_group *to, const struct stream_group *g)
{
    if (g->items > to->items)
        to->age_p50_s = g->age_p50_s;
    if (g->age_p99_s > to->age_p99_s)
        to->age_p99_s = g->age_p99_s;
    to->items += g->items;
    to->with += g->with;
    to->without += g->without;
    to->infinite += g->infinite;
    to->bytes += g->bytes;
}

static struct kept *find_kept(struct stream_census *c, uint64_t hash)
{
    for (size_t i = 0; i < c->nkept; i++)
        if (c->kept[i].hash == hash && mf_eq(mf_str(c->kept[i].g.prefix), mf_buf_slice(&c->prefix)))
            return &c->kept[i];
    return NULL;
}

static int keep_group(struct stream_census *c)
{
    uint64_t hash = hash_slice(mf_buf_slice(&c->prefix));
    struct kept *k = find_kept(c, hash);

    if (k != NULL) {
        merge_group(&k->g, &c->g);
    } else if (c->nkept < KEPT || c->g.bytes > c->kept[c->least].g.bytes) {
        if ((c->g.prefix = mf_slice_dup(mf_buf_slice(&c->prefix))) == NULL)
            return MF_NOMEM;
        k = &c->kept[c->nkept < KEPT ? c->nkept++ : c->least];
        free(k->g.prefix);
        *k = (struct kept){hash, c->g};
    } else {
        return 0;
    }
    if (c->nkept == KEPT)
        find_least(c);
    return 0;
}

/* The group that is being filled is complete. */
static int end_group(struct stream_census *c)
{
    int rc = 0;

    if (!c->filling)
        return 0;
    c->filling = false;
    c->g.age_p50_s = ages_at(&c->ages, 0.5);
    c->g.age_p99_s = ages_at(&c->ages, 0.99);
    if (c->g.items > 0)
        rc = keep_group(c);
    ages_clear(&c->ages);
    c->g = (struct stream_group){.prefix = NULL};
    return rc;
}

static struct mf_slice first_tokens(struct mf_slice subject, unsigned depth)
{
    size_t n = 0;

    for (; n < subject.len; n++)
        if (subject.ptr[n] == '.' && --depth == 0)
            break;
    return mf_slice(subject.ptr, n);
}

/* The group of a subject is the one that is being filled. */
static int enter_group(struct stream_census *c)
{
    struct mf_slice prefix = first_tokens(c->subject, c->depth);

    if (c->filling && mf_eq(prefix, mf_buf_slice(&c->prefix)))
        return 0;
    int rc = end_group(c);
    mf_buf_clear(&c->prefix);
    mf_buf_append(&c->prefix, prefix.ptr, prefix.len);
    c->filling = true;
    return rc == 0 && mf_buf_failed(&c->prefix) ? MF_NOMEM : rc;
}

/* --- messages --------------------------------------------------------------------------------- */

static void count_in_group(struct stream_census *c, const struct store_facts *f, uint64_t bytes)
{
    int64_t ts_ns = age_table_time(&c->times, c->at);
    bool infinite = (f->flags & STORE_INFINITE) != 0;

    c->g.items++;
    c->g.with += f->deadline_ns != 0;
    c->g.infinite += f->deadline_ns == 0 && infinite;
    c->g.without += f->deadline_ns == 0 && !infinite;
    c->g.bytes += bytes;
    ages_add(&c->ages, ts_ns == 0 ? 0 : (c->now_ns - ts_ns + CLOCK_S / 2) / CLOCK_S);
}

static void count_deadline(struct stream_census *c, int64_t deadline_ns, uint64_t bytes)
{
    struct stream_census_sum *sum = &c->sum;
    int64_t left_ns = deadline_ns - c->now_ns;

    sum->with_bytes += bytes;
    sum->ending[0] += left_ns < HOUR_NS;
    sum->ending[1] += left_ns < 24 * HOUR_NS;
    sum->ending_bytes += left_ns < 24 * HOUR_NS ? bytes : 0;
    if (sum->next_ns == 0 || deadline_ns < sum->next_ns)
        sum->next_ns = deadline_ns;
}

static void count_message(struct stream_census *c, const struct store_facts *f)
{
    struct stream_census_sum *sum = &c->sum;
    uint64_t bytes = limits_sum(c->s, f->bytes, 1, (f->flags & MSG_HEADER) != 0);
    bool infinite = (f->flags & STORE_INFINITE) != 0;

    sum->lives.with += f->deadline_ns != 0;
    sum->lives.infinite += f->deadline_ns == 0 && infinite;
    sum->lives.without += f->deadline_ns == 0 && !infinite;
    sum->lives.pinned += (f->flags & STORE_PINNED) != 0;
    sum->lives.markers += (f->flags & MSG_TOMBSTONE) != 0;
    sum->bytes += bytes;
    if (f->deadline_ns != 0)
        count_deadline(c, f->deadline_ns, bytes);
    if (c->depth > 0)
        count_in_group(c, f, bytes);
}

/* The message at the place is counted, and the place moves on.  If it was removed, the messages of
 * the subject follow from the first one on. */
static void count_next(struct stream_census *c)
{
    struct store_facts f;
    uint64_t next;

    c->steps++;
    if (store_facts(c->s->store, c->at, &f)) {
        if (f.shown && c->at > c->passed)
            count_message(c, &f);
        c->sum.overdue += f.late && c->at > c->passed;
        next = f.newer;
    } else {
        next = c->at < c->last ? store_key_first_accepted(c->s->store, c->subject) : 0;
    }
    c->passed = c->at > c->passed ? c->at : c->passed;
    c->at = next <= c->last ? next : 0;
}

static int next_subject(struct stream_census *c, size_t steps)
{
    uint32_t nodes = steps < NODES ? (uint32_t)steps : NODES, before = nodes;
    struct stream_subject x;
    bool found = stream_subjects_next(c->walk, &nodes, &x);

    c->steps += before > nodes ? before - nodes : 1;
    if (found) {
        c->subject = x.subject;
        c->at = x.first_seq;
        c->passed = 0;
        c->last = x.last_seq;
        return c->depth > 0 ? enter_group(c) : 0;
    }
    c->done = nodes > 0;
    return c->done ? end_group(c) : 0;
}

int stream_census_step(struct stream_census *c, size_t steps)
{
    uint64_t stop = c->steps + steps;
    int rc = 0;

    (void)stream_now(c->s);
    while (rc == 0 && !c->done && c->steps < stop) {
        if (c->at == 0) {
            rc = next_subject(c, (size_t)(stop - c->steps));
            continue;
        }
        count_next(c);
    }
    return rc == 0 && !c->done ? MF_AGAIN : rc;
}

/* --- what it found ---------------------------------------------------------------------------- */

void stream_census_sum(const struct stream_census *c, struct stream_census_sum *out)
{
    *out = c->sum;
}

static int by_bytes(const void *a, const void *b)
{
    const struct stream_group *x = a, *y = b;

    return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : strcmp(x->prefix, y->prefix);
}

size_t stream_census_groups(struct stream_census *c, const struct stream_group **out)
{
    for (size_t i = 0; i < c->nkept; i++)
        c->shown[i] = c->kept[i].g;
    qsort(c->shown, c->nkept, sizeof c->shown[0], by_bytes);
    *out = c->shown;
    return c->nkept < STREAM_CENSUS_GROUPS ? c->nkept : STREAM_CENSUS_GROUPS;
}

bool stream_census_is_grouped(const struct stream_census *c)
{
    return c->depth > 0;
}

bool stream_census_sampled(const struct stream_census *c)
{
    return c->sparse;
}

uint64_t stream_census_steps(const struct stream_census *c)
{
    return c->steps;
}
