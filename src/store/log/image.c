/* image.c: memory of commit groups and of lists of ranges. */
#include "store/log/image.h"

#include "base/array.h"

#include <stdlib.h>

int ranges_reserve(struct ranges *r, size_t n)
{
    if (n <= r->cap - r->count)
        return 0;
    return mf_array_reserve(&r->at, &r->cap, r->count + n, sizeof *r->at);
}

int ranges_add(struct ranges *r, uint64_t first, uint64_t last)
{
    if (r->count > r->done && r->at[r->count - 1].last + 1 == first) {
        r->at[r->count - 1].last = last;
        return 0;
    }
    if (ranges_reserve(r, 1) != 0)
        return MF_NOMEM;
    r->at[r->count++] = (struct range){first, last};
    return 0;
}

void ranges_fini(struct ranges *r)
{
    free(r->at);
    *r = (struct ranges){0};
}

int image_moved(struct image *im, uint64_t seq, uint64_t from, uint64_t to)
{
    if (mf_array_reserve(&im->moved, &im->moved_cap, im->moves + 1, sizeof *im->moved) != 0)
        return MF_NOMEM;
    im->moved[im->moves++] = (struct moved){seq, from, to};
    return 0;
}

int image_extent(struct image *im, struct extent x)
{
    if (mf_array_reserve(&im->extent, &im->extent_cap, im->extents + 1, sizeof *im->extent) != 0)
        return MF_NOMEM;
    im->extent[im->extents++] = x;
    return 0;
}

void image_fini(struct image *im)
{
    mf_buf_fini(&im->buf);
    free(im->extent);
    ranges_fini(&im->removed);
    ranges_fini(&im->expired);
    free(im->moved);
    *im = (struct image){0};
}
