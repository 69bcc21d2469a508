/* msort.c: a bottom-up merge sort in steps. */
#include "base/msort.h"

#include <stdlib.h>

static size_t lower_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* At lo: the next pair of pieces, or the first one of pieces twice as long. */
static void begin_pair(struct msort *s)
{
    if (s->lo >= s->n) {
        uint8_t *sorted = s->spare;
        s->spare = s->at;
        s->at = sorted;
        s->run *= 2;
        s->lo = 0;
    }
    s->i = s->k = s->lo;
    s->j = lower_of(s->lo + s->run, s->n);
}

int msort_init(struct msort *s, void *array, size_t n, size_t size,
               int (*cmp)(const void *a, const void *b))
{
    *s = (struct msort){.at = array, .n = n, .size = size, .cmp = cmp, .run = 1};
    s->spare = malloc(n == 0 ? 1 : n * size);
    if (s->spare == NULL) {
        msort_fini(s);
        return MF_NOMEM;
    }
    begin_pair(s);
    return 0;
}

bool msort_step(struct msort *s, unsigned moves)
{
    for (; moves > 0 && s->run < s->n; moves--) {
        size_t mid = lower_of(s->lo + s->run, s->n), end = lower_of(mid + s->run, s->n), from;
        bool first = s->i < mid &&
                     (s->j >= end || s->cmp(s->at + s->i * s->size, s->at + s->j * s->size) <= 0);
        from = first ? s->i++ : s->j++;
        memcpy(s->spare + s->k++ * s->size, s->at + from * s->size, s->size);
        if (s->k == end) {
            s->lo = end;
            begin_pair(s);
        }
    }
    return s->run < s->n;
}

void *msort_take(struct msort *s)
{
    void *array = s->at;

    s->at = NULL;
    msort_fini(s);
    return array;
}

void msort_fini(struct msort *s)
{
    free(s->at);
    free(s->spare);
    *s = (struct msort){.at = NULL};
}
