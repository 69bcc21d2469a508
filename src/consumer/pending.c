/* pending.c: messages that were delivered and wait for their acks. */
#include "consumer/consumer_impl.h"

#include "base/array.h"
#include "loop/work.h"

#include <stdlib.h>

static uint64_t hash_seq(uint64_t seq)
{
    return seq * 0x9E3779B97F4A7C15u;
}

void pending_init(struct pending *p, size_t *given_sum)
{
    *p = (struct pending){.given_sum = given_sum, .latest_ns = INT64_MIN};
    mf_list_init(&p->order);
    mf_list_init(&p->redeliver);
    mf_list_init(&p->given);
}

struct pend *pending_first(const struct pending *p)
{
    struct mf_list *n = mf_list_first(&p->order);

    return n == NULL ? NULL : mf_container(n, struct pend, order);
}

struct pend *pending_again(const struct pending *p)
{
    struct mf_list *n = mf_list_first(&p->redeliver);

    return n == NULL ? NULL : mf_container(n, struct pend, queued);
}

static struct pend *find_pend(const struct pending *p, uint64_t sseq, bool given_up)
{
    struct table_node *n;

    for (n = table_first(&p->by_seq, hash_seq(sseq)); n != NULL; n = table_next(n)) {
        struct pend *e = mf_container(n, struct pend, node);
        if (e->sseq == sseq && e->given_up == given_up)
            return e;
    }
    return NULL;
}

struct pend *pending_find(const struct pending *p, uint64_t sseq)
{
    return find_pend(p, sseq, false);
}

struct pend *pending_given(const struct pending *p, uint64_t sseq)
{
    return p->given_up == 0 ? NULL : find_pend(p, sseq, true);
}

/* --- the heap --------------------------------------------------------------------------------- */

/* Never as late as NEVER. */
static int64_t add_times(int64_t a, int64_t b)
{
    int64_t n;

    if (!__builtin_add_overflow(a, b, &n))
        return n < NEVER ? n : NEVER - 1;
    return a < 0 ? INT64_MIN + 1 : NEVER - 1;
}

static bool is_earlier(const struct pend *a, const struct pend *b)
{
    return a->deadline_ns != b->deadline_ns ? a->deadline_ns < b->deadline_ns : a->sseq < b->sseq;
}

static void heap_put(struct pending *p, size_t i, struct pend *e)
{
    p->heap[i] = e;
    e->heap = (uint32_t)i + 1;
}

static void sift_up(struct pending *p, size_t i, struct pend *e)
{
    while (i > 0 && is_earlier(e, p->heap[(i - 1) / 2])) {
        heap_put(p, i, p->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    heap_put(p, i, e);
}

static void sift_down(struct pending *p, size_t i, struct pend *e)
{
    for (;;) {
        size_t c = 2 * i + 1;
        if (c >= p->heaped)
            break;
        if (c + 1 < p->heaped && is_earlier(p->heap[c + 1], p->heap[c]))
            c++;
        if (!is_earlier(p->heap[c], e))
            break;
        heap_put(p, i, p->heap[c]);
        i = c;
    }
    heap_put(p, i, e);
}

/* NULL: it is in the heap, or in neither. */
static struct pending_move *move_of(const struct pending *p, const struct pend *e)
{
    struct pending_move *m = p->moves;

    while (m != NULL && (e->heap == 0 || e->heap > m->n || m->at[e->heap - 1] != e))
        m = m->next;
    return m;
}

static void move_remove(struct pending_move *m, struct pend *e)
{
    struct pend *last = m->at[--m->n];

    m->at[e->heap - 1] = last;
    last->heap = e->heap;
    e->heap = 0;
}

static void heap_remove(struct pending *p, struct pend *e)
{
    struct pending_move *m = p->moves == NULL ? NULL : move_of(p, e);

    if (m != NULL)
        move_remove(m, e);
    if (e->heap == 0)
        return;
    size_t i = e->heap - 1;
    struct pend *last = p->heap[--p->heaped];
    e->heap = 0;
    if (last == e)
        return;
    if (i > 0 && is_earlier(last, p->heap[(i - 1) / 2]))
        sift_up(p, i, last);
    else
        sift_down(p, i, last);
}

int pending_await(struct pending *p, struct pend *e, int64_t deadline_ns)
{
    if (p->heaped == p->heap_cap && (e->heap == 0 || move_of(p, e) != NULL) &&
        mf_array_reserve(&p->heap, &p->heap_cap, p->heaped + 1, sizeof(struct pend *)) != 0)
        return MF_NOMEM;
    mf_list_del(&e->queued);
    heap_remove(p, e);
    if (p->heaped == 0)
        p->shift_ns = 0;
    e->deadline_ns = add_times(deadline_ns, -p->shift_ns);
    if (deadline_ns > p->latest_ns)
        p->latest_ns = deadline_ns;
    sift_up(p, p->heaped++, e);
    return 0;
}

void pending_shift(struct pending *p, int64_t by_ns)
{
    p->shift_ns = add_times(p->shift_ns, by_ns);
    if (p->latest_ns != INT64_MIN)
        p->latest_ns = add_times(p->latest_ns, by_ns);
}

void pending_move_all(struct pending *p, pending_until until, const void *arg)
{
    int64_t shift_ns = p->shift_ns;

    p->shift_ns = 0;
    p->latest_ns = INT64_MIN;
    for (size_t i = 0; i < p->heaped; i++) {
        struct pend *e = p->heap[i];
        e->deadline_ns = until(arg, e, add_times(e->deadline_ns, shift_ns));
        p->latest_ns = e->deadline_ns > p->latest_ns ? e->deadline_ns : p->latest_ns;
    }
    for (size_t i = p->heaped / 2; i-- > 0;)
        sift_down(p, i, p->heap[i]);
}

int pending_move_begin(struct pending *p, void *arg, void (*drop)(void *arg))
{
    struct pending_move *m = malloc(sizeof *m);

    if (m == NULL)
        return MF_NOMEM;
    *m = (struct pending_move){p->moves, p->heap, p->heaped, p->shift_ns, p->latest_ns, arg, drop};
    p->moves = m;
    p->nmoves++;
    p->heap = NULL;
    p->heaped = p->heap_cap = 0;
    p->shift_ns = 0;
    p->latest_ns = INT64_MIN;
    return 0;
}

static void move_drop(struct pending *p)
{
    struct pending_move *m = p->moves;

    p->moves = m->next;
    p->nmoves--;
    m->drop(m->arg);
    free(m->at);
    free(m);
}

/* Without memory for the heap it is delivered again at once: late would be worse. */
static void move_one(struct pending *p, struct pending_move *m, pending_until until)
{
    struct pend *e = m->at[m->n - 1];

    if (pending_await(p, e, until(m->arg, e, add_times(e->deadline_ns, m->shift_ns))) != 0)
        pending_requeue(p, e);
}

bool pending_move_step(struct pending *p, pending_until until, unsigned many)
{
    while (p->moves != NULL && many-- > 0) {
        if (p->moves->n > 0)
            move_one(p, p->moves, until);
        if (p->moves->n == 0)
            move_drop(p);
    }
    return p->moves != NULL;
}

int64_t pending_latest(const struct pending *p)
{
    int64_t latest_ns = p->latest_ns;

    for (const struct pending_move *m = p->moves; m != NULL; m = m->next)
        latest_ns = m->n > 0 && m->latest_ns > latest_ns ? m->latest_ns : latest_ns;
    return latest_ns;
}

int64_t pending_next(const struct pending *p)
{
    return p->heaped == 0 ? NEVER : add_times(p->heap[0]->deadline_ns, p->shift_ns);
}

struct pend *pending_due(struct pending *p, int64_t now_ns)
{
    return pending_next(p) <= now_ns ? p->heap[0] : NULL;
}

void pending_requeue(struct pending *p, struct pend *e)
{
    heap_remove(p, e);
    mf_list_del(&e->queued);
    mf_list_push(&p->redeliver, &e->queued);
}

/* --- entries ---------------------------------------------------------------------------------- */

static uint64_t seq_of(const struct mf_list *at)
{
    return mf_container(at, struct pend, order)->sseq;
}

static bool nearer_first(const struct mf_list *list, uint64_t seq)
{
    uint64_t first, last;

    if (list->next == list)
        return false;
    first = seq_of(list->next);
    last = seq_of(list->prev);
    return seq < first || (seq < last && seq - first < last - seq);
}

/* Nearly always at the end: new messages have greater sequences than all before.  Given-up messages
 * arrive in any order, so the search starts at the nearer end. */
static void insert_in_order(struct mf_list *list, struct pend *e)
{
    struct mf_list *at = list->prev;

    if (nearer_first(list, e->sseq)) {
        for (at = list; seq_of(at->next) < e->sseq;)
            at = at->next;
    } else {
        while (at != list && seq_of(at) > e->sseq)
            at = at->prev;
    }
    mf_list_add_after(at, &e->order);
}

static void insert_pend(const struct pending *p, struct mf_list *list, struct pend *e)
{
    if (p->unsorted)
        mf_list_push(list, &e->order);
    else
        insert_in_order(list, e);
}

static int by_sequence(const void *a, const void *b)
{
    uint64_t x = (*(struct pend *const *)a)->sseq, y = (*(struct pend *const *)b)->sseq;

    return (x > y) - (x < y);
}

static void sort_list(struct mf_list *list, size_t many)
{
    struct pend **all = many < 2 ? NULL : malloc(many * sizeof(struct pend *));
    struct mf_list *n;
    size_t count = 0;

    if (all == NULL && many >= 2) { /* slow, but it needs nothing */
        struct mf_list any;
        mf_list_init(&any);
        mf_list_move(&any, list);
        while ((n = mf_list_pop(&any)) != NULL)
            insert_in_order(list, mf_container(n, struct pend, order));
    }
    if (all == NULL)
        return;
    while ((n = mf_list_pop(list)) != NULL)
        all[count++] = mf_container(n, struct pend, order);
    qsort(all, count, sizeof(struct pend *), by_sequence);
    for (size_t i = 0; i < count; i++)
        mf_list_push(list, &all[i]->order);
    free(all);
}

void pending_sort(struct pending *p)
{
    p->unsorted = false;
    sort_list(&p->order, p->count);
    sort_list(&p->given, p->given_up);
}

int pending_add(struct pending *p, uint64_t sseq, uint64_t dseq, struct pend **out)
{
    struct pend *e = calloc(1, sizeof *e), *given = pending_given(p, sseq);

    if (e == NULL || table_add(&p->by_seq, &e->node, hash_seq(sseq)) != 0) {
        free(e);
        return MF_NOMEM;
    }
    e->sseq = sseq;
    e->dseq = dseq;
    mf_list_init(&e->queued);
    insert_pend(p, &p->order, e);
    p->count++;
    if (given != NULL) /* it is delivered once more */
        pending_remove(p, given);
    *out = e;
    return 0;
}

/* Ends the wait for the ack. */
static void end_wait(struct pending *p, struct pend *e)
{
    heap_remove(p, e);
    mf_list_del(&e->queued);
    mf_list_del(&e->order);
    if (--p->count == 0)
        p->latest_ns = INT64_MIN;
    p->redelivered -= e->count > 1;
}

static void count_given(struct pending *p, bool more)
{
    p->given_up = more ? p->given_up + 1 : p->given_up - 1;
    if (p->given_sum != NULL)
        *p->given_sum = more ? *p->given_sum + 1 : *p->given_sum - 1;
}

void pending_remove(struct pending *p, struct pend *e)
{
    if (e->given_up) {
        mf_list_del(&e->order);
        count_given(p, false);
    } else {
        end_wait(p, e);
    }
    table_del(&p->by_seq, &e->node);
    free(e);
}

void pending_give_up(struct pending *p, struct pend *e)
{
    end_wait(p, e);
    e->given_up = 1;
    insert_pend(p, &p->given, e);
    count_given(p, true);
}

void pending_leave(struct pending *p)
{
    if (p->given_sum != NULL)
        *p->given_sum -= p->given_up;
    p->given_sum = NULL;
}

/* --- all of them ------------------------------------------------------------------------------ */

#define FEW 1000u /* freed at once */

/* Entries of an emptied set, freed in slices. */
struct waste {
    struct work_task task;
    struct loop *loop;
    struct mf_list order, given;
    struct pend **heap;
    struct table by_seq;
};

static bool list_within(const struct mf_list *list, uint64_t first, uint64_t last)
{
    return list->next == list || (seq_of(list->next) >= first && seq_of(list->prev) <= last);
}

bool pending_within(const struct pending *p, uint64_t first, uint64_t last)
{
    return p->count + p->given_up > 0 && !p->unsorted && list_within(&p->order, first, last) &&
           list_within(&p->given, first, last);
}

static bool free_waste(struct work_task *t)
{
    struct waste *x = mf_container(t, struct waste, task);
    struct mf_list *n;

    do {
        if ((n = mf_list_pop(&x->order)) == NULL && (n = mf_list_pop(&x->given)) == NULL) {
            free(x->heap);
            table_fini(&x->by_seq);
            free(x);
            return false;
        }
        free(mf_container(n, struct pend, order));
    } while (!work_spent_every(x->loop, 64));
    return true;
}

void pending_discard(struct pending *p, struct loop *l)
{
    size_t *sum = p->given_sum;
    struct waste *x = p->count + p->given_up > FEW ? calloc(1, sizeof *x) : NULL;

    pending_leave(p);
    while (x != NULL && p->moves != NULL)
        move_drop(p);
    if (x == NULL) {
        pending_fini(p);
    } else {
        x->task = (struct work_task){.run = free_waste, .cause = WORK_REMOVE, .what = "acks"};
        x->loop = l;
        mf_list_init(&x->order);
        mf_list_init(&x->given);
        mf_list_move(&x->order, &p->order);
        mf_list_move(&x->given, &p->given);
        x->heap = p->heap;
        x->by_seq = p->by_seq;
        work_discard(l, &x->task);
    }
    pending_init(p, sum);
}

void pending_fini(struct pending *p)
{
    struct pend *e;
    struct mf_list *n;

    while ((e = pending_first(p)) != NULL)
        pending_remove(p, e);
    while ((n = mf_list_first(&p->given)) != NULL)
        pending_remove(p, mf_container(n, struct pend, order));
    while (p->moves != NULL)
        move_drop(p);
    free(p->heap);
    table_fini(&p->by_seq);
}
