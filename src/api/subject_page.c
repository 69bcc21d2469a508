/* subject_page.c: one page of the subjects of a stream, in order, in slices.
 *
 * A stream may have millions of subjects; a page has at most 100,000.  All matches are copied in
 * one walk; then only the page is sorted, by a quicksort that skips ranges outside of it; then the
 * page is written.  O(matches) plus O(page log page).  Unsorted ranges are on a stack; the smaller
 * one is sorted first, so the depth is at most the logarithm. */
#include "api/subject_page_impl.h"

#include "base/rand.h"

#include <stdlib.h>

#define WALK_NODES 32u
#define SMALL      16u /* sorted by insertion */
#define SPLIT_STEP 64u /* comparisons between two questions about the time */
#define DEPTH      64

struct subject_entry {
    uint64_t head;  /* the first bytes after the common prefix, as a number */
    size_t at, len; /* in the page's text */
    uint64_t count;
};

struct range {
    size_t low, high;
};

struct subject_page {
    const struct api_account *aa;
    struct stream_subjects *walk; /* NULL: all are collected */
    uint64_t limit;
    uint64_t total, first, n; /* the page is [first, first + n) of the sorted ones */
    struct mf_buf text;
    struct subject_entry *at;
    size_t cap;
    size_t common; /* bytes at the start of all of them */
    uint64_t headed, written;
    struct range todo[DEPTH];
    size_t ntodo;
    struct range split; /* under way; high 0: none */
    size_t split_i, split_at;
    struct mf_buf out;
    struct jsonw w;
    enum { PAGE_COLLECT, PAGE_HEADS, PAGE_SORT, PAGE_WRITE, PAGE_DONE } stage;
    bool failed;
};

struct subject_page *subject_page_new(struct api_account *aa, struct stream *s,
                                      struct mf_slice filter, uint64_t offset, uint64_t limit)
{
    struct subject_page *p = calloc(1, sizeof *p);

    if (p == NULL)
        return NULL;
    p->aa = aa;
    p->first = offset;
    p->limit = limit;
    p->text = p->out = MF_BUF_INIT;
    p->walk = stream_subjects_new(s, filter);
    if (p->walk == NULL) {
        free(p);
        return NULL;
    }
    return p;
}

void subject_page_free(struct subject_page *p)
{
    if (p == NULL)
        return;
    stream_subjects_free(p->walk);
    mf_buf_fini(&p->text);
    mf_buf_fini(&p->out);
    free(p->at);
    free(p);
}

static struct mf_slice text_of(const struct subject_page *p, const struct subject_entry *x)
{
    return mf_slice(p->text.ptr + x->at, x->len);
}

/* --- collecting ------------------------------------------------------------------------------- */

static bool grow_entries(struct subject_page *p)
{
    size_t cap = p->cap == 0 ? 64 : p->cap * 2;
    struct subject_entry *at =
        cap > SIZE_MAX / sizeof *at ? NULL : realloc(p->at, cap * sizeof *at);

    if (at == NULL)
        return false;
    p->at = at;
    p->cap = cap;
    return true;
}

static size_t common_bytes(struct mf_slice a, struct mf_slice b, size_t max)
{
    size_t n = 0;

    while (n < max && n < a.len && n < b.len && a.ptr[n] == b.ptr[n])
        n++;
    return n;
}

static bool collect_subject(struct subject_page *p, const struct stream_subject *x)
{
    if (p->total == p->cap && !grow_entries(p))
        return false;
    p->at[p->total] = (struct subject_entry){0, p->text.len, x->subject.len, x->count};
    mf_buf_append(&p->text, x->subject.ptr, x->subject.len);
    if (mf_buf_failed(&p->text))
        return false;
    p->common =
        p->total == 0 ? x->subject.len : common_bytes(text_of(p, &p->at[0]), x->subject, p->common);
    p->total++;
    return true;
}

static void collect_end(struct subject_page *p)
{
    stream_subjects_free(p->walk);
    p->walk = NULL;
    p->first = p->first < p->total ? p->first : p->total;
    p->n = p->total - p->first < p->limit ? p->total - p->first : p->limit;
    p->stage = PAGE_HEADS;
}

static void collect_step(struct subject_page *p)
{
    struct stream_subject x;
    uint32_t nodes = WALK_NODES;

    while (!p->failed && stream_subjects_next(p->walk, &nodes, &x))
        p->failed = !collect_subject(p, &x);
    if (nodes > 0 && !p->failed)
        collect_end(p);
}

/* --- sorting ---------------------------------------------------------------------------------- */

static void push_range(struct subject_page *p, size_t low, size_t high)
{
    if (high - low > 1 && low < p->first + p->n && high > p->first)
        p->todo[p->ntodo++] = (struct range){low, high};
}

/* Most comparisons are of two numbers, without a look at the texts. */
static void heads_step(struct subject_page *p)
{
    for (size_t i = 0; i < SPLIT_STEP && p->headed < p->total; i++, p->headed++) {
        struct subject_entry *x = &p->at[p->headed];
        struct mf_slice text = text_of(p, x);
        for (size_t k = 0; k < sizeof x->head; k++)
            x->head = x->head << 8 | (p->common + k < text.len ? text.ptr[p->common + k] : 0);
    }
    if (p->headed < p->total)
        return;
    push_range(p, 0, p->total);
    p->stage = PAGE_SORT;
}

static int compare_entries(const struct subject_page *p, const struct subject_entry *a,
                           const struct subject_entry *b)
{
    if (a->head != b->head)
        return a->head < b->head ? -1 : 1;
    return mf_compare(text_of(p, a), text_of(p, b));
}

static void swap_entries(struct subject_entry *a, struct subject_entry *b)
{
    struct subject_entry t = *a;

    *a = *b;
    *b = t;
}

static void insertion_sort(struct subject_page *p, struct range r)
{
    for (size_t i = r.low + 1; i < r.high; i++)
        for (size_t k = i; k > r.low && compare_entries(p, &p->at[k - 1], &p->at[k]) > 0; k--)
            swap_entries(&p->at[k - 1], &p->at[k]);
}

/* Some comparisons of a partition step.  At its end both parts are to be sorted. */
static void split_step(struct subject_page *p)
{
    struct range r = p->split;
    size_t last = r.high - 1, at;

    for (size_t i = 0; i < SPLIT_STEP && p->split_i < last; i++, p->split_i++)
        if (compare_entries(p, &p->at[p->split_i], &p->at[last]) < 0)
            swap_entries(&p->at[p->split_i], &p->at[p->split_at++]);
    if (p->split_i < last)
        return;
    at = p->split_at;
    swap_entries(&p->at[at], &p->at[last]);
    p->split.high = 0;
    if (at - r.low < r.high - at - 1) { /* the smaller one last: it is popped first */
        push_range(p, at + 1, r.high);
        push_range(p, r.low, at);
    } else {
        push_range(p, r.low, at);
        push_range(p, at + 1, r.high);
    }
}

static void sort_step(struct subject_page *p)
{
    if (p->split.high == 0) {
        if (p->ntodo == 0) {
            p->stage = PAGE_WRITE;
            return;
        }
        p->split = p->todo[--p->ntodo];
        p->split_i = p->split_at = p->split.low;
        if (p->split.high - p->split.low <= SMALL) {
            insertion_sort(p, p->split);
            p->split.high = 0;
            return;
        }
        swap_entries(&p->at[p->split.low + rand_fast() % (p->split.high - p->split.low)],
                     &p->at[p->split.high - 1]);
    }
    split_step(p);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* A member for each.  Its key may be any bytes, so it is written as a value is. */
static void write_step(struct subject_page *p)
{
    if (p->written == 0) {
        jsonw_begin(&p->w, &p->out, JSONW_COMPACT);
        jsonw_object(&p->w, NULL);
    }
    for (size_t i = 0; i < WALK_NODES && p->written < p->n; i++, p->written++) {
        const struct subject_entry *x = &p->at[p->first + p->written];
        jsonw_slice(&p->w, NULL, text_of(p, x));
        mf_buf_byte(&p->out, ':');
        mf_buf_u64(&p->out, x->count);
    }
    if (p->written < p->n)
        return;
    jsonw_end(&p->w);
    p->failed = mf_buf_failed(&p->out);
    p->stage = PAGE_DONE;
}

/* --- all of it -------------------------------------------------------------------------------- */

static void run_step(struct subject_page *p)
{
    switch (p->stage) {
    case PAGE_COLLECT:
        collect_step(p);
        break;
    case PAGE_HEADS:
        heads_step(p);
        break;
    case PAGE_SORT:
        sort_step(p);
        break;
    case PAGE_WRITE:
        write_step(p);
        break;
    case PAGE_DONE:
        break;
    }
}

bool subject_page_step(struct subject_page *p)
{
    while (p->stage != PAGE_DONE && !p->failed) {
        run_step(p);
        if (js_slice_spent(p->aa->ja, 0))
            break;
    }
    return p->stage != PAGE_DONE && !p->failed;
}

int subject_page_done(struct subject_page *p, uint64_t *total, struct mf_slice *text)
{
    *total = p->total;
    *text = p->n > 0 ? mf_buf_slice(&p->out) : MF_SLICE_NONE;
    return p->failed ? MF_NOMEM : 0;
}
