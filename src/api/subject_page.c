/* subject_page.c: one page of the subjects of a stream, in order.
 *
 * A stream may have millions of subjects and a page has 100,000: they are copied in one walk, and
 * then only the page is sorted: a quicksort that leaves alone what lies outside of it.  O(matches)
 * plus O(page log page). */
#include "api_impl.h"

#include "mayfly/rand.h"

#include <inttypes.h>
#include <stdlib.h>

struct subject_entry {
    size_t at, len; /* in the page's text */
    uint64_t count;
};

static bool collect(void *arg, const struct stream_subject *x)
{
    struct subject_page *p = arg;

    if (p->total == p->cap) {
        size_t cap = p->cap == 0 ? 64 : p->cap * 2;
        struct subject_entry *at =
            cap > SIZE_MAX / sizeof *at ? NULL : realloc(p->at, cap * sizeof *at);
        if (at == NULL) {
            p->failed = true;
            return false;
        }
        p->at = at;
        p->cap = cap;
    }
    p->at[p->total++] = (struct subject_entry){p->text.len, x->subject.len, x->count};
    mf_buf_append(&p->text, x->subject.ptr, x->subject.len);
    p->failed = mf_buf_failed(&p->text);
    return !p->failed;
}

static int compare(const struct subject_page *p, const struct subject_entry *a,
                   const struct subject_entry *b)
{
    return mf_compare(mf_slice(p->text.ptr + a->at, a->len), mf_slice(p->text.ptr + b->at, b->len));
}

static void swap(struct subject_entry *a, struct subject_entry *b)
{
    struct subject_entry t = *a;

    *a = *b;
    *b = t;
}

/* Moves what is less than a random one of [low, high) before it; returns where that one is. */
static size_t split(struct subject_page *p, size_t low, size_t high)
{
    size_t at = low;

    swap(&p->at[low + rand_fast() % (high - low)], &p->at[high - 1]);
    for (size_t i = low; i + 1 < high; i++)
        if (compare(p, &p->at[i], &p->at[high - 1]) < 0)
            swap(&p->at[i], &p->at[at++]);
    swap(&p->at[at], &p->at[high - 1]);
    return at;
}

/* Sorts [low, high) as far as the page needs it.  The smaller part by recursion: depth O(log). */
static void sort(struct subject_page *p, size_t low, size_t high)
{
    while (high - low > 1 && low < p->first + p->n && high > p->first) {
        size_t at = split(p, low, high);
        if (at - low < high - at - 1) {
            sort(p, low, at);
            low = at + 1;
        } else {
            sort(p, at + 1, high);
            high = at;
        }
    }
}

int subject_page_make(struct subject_page *p, struct stream *s, struct mf_slice filter,
                      uint64_t offset, uint64_t limit)
{
    *p = (struct subject_page){.text = MF_BUF_INIT};
    stream_each_subject(s, filter, collect, p);
    if (p->failed) {
        subject_page_fini(p);
        return MF_NOMEM;
    }
    p->first = offset < p->total ? offset : p->total;
    p->n = p->total - p->first < limit ? p->total - p->first : limit;
    if (p->n > 0)
        sort(p, 0, p->total);
    return 0;
}

/* A member for each.  Its key may be any bytes, so it is written as a value is. */
void subject_page_write(void *page, struct jsonw *w)
{
    const struct subject_page *p = page;

    for (size_t i = p->first; i < p->first + p->n; i++) {
        const struct subject_entry *x = &p->at[i];
        jsonw_slice(w, NULL, mf_slice(p->text.ptr + x->at, x->len));
        mf_buf_printf(w->out, ":%" PRIu64, x->count);
    }
}

void subject_page_fini(struct subject_page *p)
{
    mf_buf_fini(&p->text);
    free(p->at);
    *p = (struct subject_page){.text = MF_BUF_INIT};
}
