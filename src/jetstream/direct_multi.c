/* direct_multi.c: multi_last of DIRECT.GET: the last messages of several subjects.
 *
 * Happy path: literal filters are looked up; each wildcard filter walks the subjects it may match.
 * When these walks have visited about as many nodes as the stream has subjects, the remaining
 * wildcard filters become a tree, and one walk over all subjects matches against it.  So the cost
 * is the sum of filters and subjects, not their product.  Subjects that also have messages after
 * up_to are then resolved one by one, and all messages are sent in sequence order.
 * Limit: more than MULTI_MAX subjects are refused with "413"; the search ends early if there are
 * many more. */
#include "jetstream/direct_batch_impl.h"

#include "subject/subject.h"

#include <stdlib.h>

#define MULTI_MAX  1024            /* subjects in one answer */
#define FOUND_MAX  (4 * MULTI_MAX) /* with those found twice because they changed meanwhile */
#define SEEN_SIZE  (4 * FOUND_MAX)
#define WALK_NODES 32u
#define TREE_AFTER 1000 /* nodes that walks may pass over whatever the size of the stream */

/* --- sending ---------------------------------------------------------------------------------- */

static void multi_send(struct direct_batch *b, struct stream *s)
{
    for (;;) {
        enum sent sent = SENT_YES;
        int64_t bytes = b->sent_bytes;
        uint64_t seq;

        if (b->full || b->at == b->nseqs || (b->req.batch > 0 && b->sent >= b->req.batch)) {
            batch_send_end(b);
            return;
        }
        seq = b->seqs[b->at++];
        b->pending = b->nseqs - b->at;
        if (seq >= b->req.seq)
            sent = batch_send_seq(b, s, seq);
        if (sent == SENT_LATER)
            return;
        if (sent == SENT_NEVER) {
            batch_end(b, DIRECT_NO_MEMORY);
            return;
        }
        if (batch_spent(b, (size_t)(b->sent_bytes - bytes) / 4096)) {
            batch_later(b);
            return;
        }
    }
}

static int compare_u64(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

    return (a > b) - (a < b);
}

static void multi_sort(struct direct_batch *b, struct stream *s)
{
    size_t n = 0;

    if (b->nseqs > 0)
        qsort(b->seqs, b->nseqs, sizeof b->seqs[0], compare_u64);
    for (size_t i = 0; i < b->nseqs; i++)
        if (n == 0 || b->seqs[n - 1] != b->seqs[i])
            b->seqs[n++] = b->seqs[i];
    b->nseqs = n;
    if (n == 0) {
        batch_end(b, DIRECT_NO_RESULTS);
    } else if (n > MULTI_MAX) {
        batch_end(b, DIRECT_TOO_MANY);
    } else {
        b->step = multi_send;
        multi_send(b, s);
    }
}

/* --- subjects with messages on both sides of up_to -------------------------------------------- */

/* The last message of the subject up to b->up_to: forward, as sequences are kept.  false: the
 * slice is over, or the batch has ended. */
static bool resolve_one(struct direct_batch *b, struct stream *s, struct mf_slice subject)
{
    bool more = true;

    if (b->cursor == NULL && stream_cursor_new(&b->cursor, s, subject, false, 0) != 0) {
        batch_end(b, DIRECT_NO_MEMORY);
        return false;
    }
    while (more) {
        uint64_t seq = stream_cursor_next(b->cursor, &more);

        if (seq > b->up_to)
            break;
        more = more || seq != 0;
        if (seq != 0)
            b->last_seq = seq; /* not used otherwise yet */
        if (more && batch_spent(b, 0)) {
            batch_later(b);
            return false;
        }
    }
    stream_cursor_free(b->cursor);
    b->cursor = NULL;
    return true;
}

static void multi_resolve(struct direct_batch *b, struct stream *s)
{
    while (b->npartial > 0) {
        if (!resolve_one(b, s, mf_str(b->partial[b->npartial - 1])))
            return;
        if (b->last_seq > 0)
            b->seqs[b->nseqs++] = b->last_seq; /* room for all was made */
        b->last_seq = 0;
        b->npartial--;
    }
    multi_sort(b, s);
}

/* --- finding the subjects --------------------------------------------------------------------- */

/* false: it was there. */
static bool seen_add(struct direct_batch *b, uint64_t seq)
{
    size_t i = (size_t)(seq * 0x9E3779B97F4A7C15u >> 32) % SEEN_SIZE;

    for (; b->seen[i] != 0; i = (i + 1) % SEEN_SIZE)
        if (b->seen[i] == seq)
            return false;
    b->seen[i] = seq;
    return true;
}

/* A subject of a filter.  false: that is enough, b->full or b->mem.failed say why. */
static bool multi_met(struct direct_batch *b, const struct stream_subject *x)
{
    char **grown, *copy;

    if (x->first_seq > b->up_to || !seen_add(b, x->last_seq))
        return true;
    if (b->nseqs + b->npartial == FOUND_MAX) {
        b->full = true;
        return false;
    }
    if (x->last_seq <= b->up_to) {
        b->seqs[b->nseqs++] = x->last_seq;
        return true;
    }
    grown = arena_grow(&b->mem, b->partial, b->npartial, sizeof *grown);
    copy = arena_dup(&b->mem, x->subject);
    if (grown == NULL || copy == NULL)
        return false;
    b->partial = grown;
    b->partial[b->npartial++] = copy;
    return true;
}

static void multi_collected(struct direct_batch *b, struct stream *s)
{
    if (b->mem.failed) {
        batch_end(b, DIRECT_NO_MEMORY);
    } else if (b->full) {
        batch_end(b, DIRECT_TOO_MANY);
    } else {
        b->step = multi_resolve;
        multi_resolve(b, s);
    }
}

/* Does a filter match it?  Those that have a walk of their own match all that it shows. */
static bool is_wanted(struct direct_batch *b, struct mf_slice subject)
{
    int rc = b->entries == NULL ? 1 : pattern_tree_match(&b->tree, subject);

    if (rc < 0)
        b->mem.failed = true;
    return rc == 1;
}

/* The walk over the subjects of b->subjects, some nodes of it.  true: it is over; false with more
 * to do. */
static bool walk_some(struct direct_batch *b, size_t *cost)
{
    uint32_t nodes = WALK_NODES;
    struct stream_subject x;
    bool go_on = true;

    *cost = 3;
    while (go_on && stream_subjects_next(b->subjects, &nodes, &x)) {
        if (is_wanted(b, x.subject))
            go_on = multi_met(b, &x);
        go_on = go_on && !b->mem.failed;
        *cost += b->entries != NULL;
    }
    b->passed += WALK_NODES - (nodes < WALK_NODES ? nodes : WALK_NODES) + 1;
    if (go_on && nodes == 0)
        return false;
    stream_subjects_free(b->subjects);
    b->subjects = NULL;
    return true;
}

static bool start_walk(struct direct_batch *b, struct stream *s, struct mf_slice pattern)
{
    b->subjects = stream_subjects_new(s, pattern);
    if (b->subjects == NULL)
        b->mem.failed = true;
    return b->subjects != NULL;
}

/* The last step with a tree: all subjects are asked. */
static void multi_match(struct direct_batch *b, struct stream *s)
{
    size_t cost;

    while (!walk_some(b, &cost))
        if (batch_spent(b, cost)) {
            batch_later(b);
            return;
        }
    multi_collected(b, s);
}

/* From b->filter on wildcards go into the tree.  Literals were looked up. */
static void multi_plant(struct direct_batch *b, struct stream *s)
{
    if (b->entries == NULL && (b->entries = calloc(b->req.multi.n, sizeof *b->entries)) == NULL)
        b->mem.failed = true;
    for (; !b->mem.failed && b->filter < b->req.multi.n; b->filter++) {
        struct mf_slice filter = mf_str(b->req.multi.at[b->filter]);
        b->entries[b->filter].text = filter;
        if (subject_has_wildcard(filter) && pattern_tree_add(&b->tree, &b->entries[b->filter]) != 0)
            b->mem.failed = true;
        if (batch_spent(b, filter.len / 64)) {
            b->filter++;
            batch_later(b);
            return;
        }
    }
    if (b->mem.failed || !start_walk(b, s, MF_LIT(">"))) {
        multi_collected(b, s);
        return;
    }
    b->step = multi_match;
    multi_match(b, s);
}

/* One filter: a literal is looked up, a wildcard begins a walk or is left for the tree. */
static void look_at_filter(struct direct_batch *b, struct stream *s, struct mf_slice filter)
{
    struct stream_state st;
    struct stream_subject x;

    if (!subject_has_wildcard(filter)) {
        if (stream_subject(s, filter, &x))
            (void)multi_met(b, &x);
        return;
    }
    if (b->tokens == 0 && b->passed > TREE_AFTER) {
        stream_state(s, &st);
        if (b->passed > TREE_AFTER + st.subjects)
            b->walk = b->filter; /* the first one for the tree */
        else
            (void)start_walk(b, s, filter);
    } else if (b->tokens == 0) {
        (void)start_walk(b, s, filter);
    }
    if (b->subjects == NULL)
        b->tokens += subject_tokens(filter);
}

static void multi_collect(struct direct_batch *b, struct stream *s)
{
    while (!b->full && !b->mem.failed && (b->subjects != NULL || b->filter < b->req.multi.n)) {
        size_t cost = 0;
        if (b->subjects != NULL) {
            (void)walk_some(b, &cost);
        } else {
            struct mf_slice filter = mf_str(b->req.multi.at[b->filter]);
            look_at_filter(b, s, filter);
            b->filter++;
            cost = filter.len / 64;
        }
        if (batch_spent(b, cost)) {
            batch_later(b);
            return;
        }
    }
    if (b->tokens == 0 || b->full || b->mem.failed) {
        multi_collected(b, s);
        return;
    }
    b->filter = (size_t)b->walk;
    b->step = multi_plant;
    multi_plant(b, s);
}

/* --- in --------------------------------------------------------------------------------------- */

static void multi_begin(struct direct_batch *b, struct stream *s)
{
    b->seqs = malloc(FOUND_MAX * sizeof b->seqs[0]);
    b->seen = calloc(SEEN_SIZE, sizeof b->seen[0]);
    if (b->seqs == NULL || b->seen == NULL) {
        batch_end(b, DIRECT_NO_MEMORY);
        return;
    }
    b->step = multi_collect;
    multi_collect(b, s);
}

static void multi_found(struct direct_batch *b, struct stream *s)
{
    struct stream_state st;

    stream_state(s, &st);
    if (b->seq == 0)
        b->seq = st.last_seq + 1;
    if (b->seq <= st.first_seq) {
        batch_end(b, DIRECT_NO_RESULTS);
        return;
    }
    b->up_to = b->seq - 1;
    multi_begin(b, s);
}

void multi_start(struct direct_batch *b, struct stream *s)
{
    struct stream_state st;

    if (b->req.has_up_to) {
        batch_seek(b, s, b->req.up_to_ns, multi_found);
        return;
    }
    stream_state(s, &st);
    b->up_to =
        b->req.up_to_seq > 0 && b->req.up_to_seq < st.last_seq ? b->req.up_to_seq : st.last_seq;
    multi_begin(b, s);
}
