/* pool.c: spare readers, inflaters and slabs, the writer and the deflaters. */
#include "ws/pool_impl.h"

#include "base/buf.h"

#include <stdlib.h>

/* Spares kept of each kind: more are in use only while many peers stop in the middle of a frame. */
#define SPARES 4

struct deflater {
    z_stream z;
    bool ready;
};
/* Of the loop thread. */
static _Thread_local struct {
    size_t users;
    struct mf_pool readers, inflaters, slabs;
    wslay_frame_context_ptr writers[2]; /* of plain and of masked frames */
    struct deflater small, large;
    struct mf_buf deflated;
} pool = {
    .readers = MF_POOL_INIT(SPARES),
    .inflaters = MF_POOL_INIT(SPARES),
    .slabs = MF_POOL_INIT(SPARES),
};

static void deflater_end(struct deflater *d)
{
    if (d->ready)
        deflateEnd(&d->z);
    d->ready = false;
}

static void inflater_free(struct ws_inflater *i)
{
    inflateEnd(&i->z);
    free(i);
}

void ws_pool_retain(void)
{
    pool.users++;
}

void ws_pool_release(void)
{
    struct mf_spare *s;

    if (--pool.users > 0)
        return;
    while ((s = mf_pool_take(&pool.readers)) != NULL)
        ws_reader_drop(mf_container(s, struct ws_reader, spare));
    while ((s = mf_pool_take(&pool.inflaters)) != NULL)
        inflater_free(mf_container(s, struct ws_inflater, spare));
    while ((s = mf_pool_take(&pool.slabs)) != NULL)
        free(mf_container(s, struct ws_slab, spare));
    ws_writer_drop(false);
    ws_writer_drop(true);
    deflater_end(&pool.small);
    deflater_end(&pool.large);
    mf_buf_fini(&pool.deflated);
}

/* --- readers ---------------------------------------------------------------------------------- */
static ssize_t reader_recv(uint8_t *buf, size_t len, int flags, void *arg)
{
    struct ws_reader *r = arg;
    size_t n = ws_unmask_give(&r->feed, buf, len);

    (void)flags;
    return n == 0 ? -1 : (ssize_t)n; /* -1: wslay wants more */
}

struct ws_reader *ws_reader_take(void)
{
    static const struct wslay_frame_callbacks callbacks = {.recv_callback = reader_recv};
    struct mf_spare *s = mf_pool_take(&pool.readers);
    struct ws_reader *r;

    if (s != NULL)
        return mf_container(s, struct ws_reader, spare);
    r = calloc(1, sizeof *r);
    if (r != NULL && wslay_frame_context_init(&r->ctx, &callbacks, r) != 0) {
        free(r);
        return NULL;
    }
    return r;
}

void ws_reader_drop(struct ws_reader *r)
{
    if (r == NULL)
        return;
    wslay_frame_context_free(r->ctx);
    free(r);
}

void ws_reader_give(struct ws_reader *r)
{
    if (r == NULL || !mf_pool_give(&pool.readers, &r->spare))
        ws_reader_drop(r);
}

/* --- inflaters and slabs ---------------------------------------------------------------------- */
struct ws_inflater *ws_inflater_take(void)
{
    struct mf_spare *s = mf_pool_take(&pool.inflaters);
    struct ws_inflater *i;

    if (s != NULL)
        return mf_container(s, struct ws_inflater, spare);
    i = calloc(1, sizeof *i);
    if (i != NULL && inflateInit2(&i->z, -MAX_WBITS) != Z_OK) {
        free(i);
        return NULL;
    }
    return i;
}

void ws_inflater_give(struct ws_inflater *i)
{
    if (i != NULL && (inflateReset(&i->z) != Z_OK || !mf_pool_give(&pool.inflaters, &i->spare)))
        inflater_free(i);
}

struct ws_slab *ws_slab_take(void)
{
    struct mf_spare *spare = mf_pool_take(&pool.slabs);
    struct ws_slab *s =
        spare != NULL ? mf_container(spare, struct ws_slab, spare) : malloc(sizeof *s);

    if (s != NULL)
        s->len = 0;
    return s;
}

void ws_slab_give(struct ws_slab *s)
{
    if (s == NULL || !mf_pool_give(&pool.slabs, &s->spare))
        free(s);
}

/* --- the writer ------------------------------------------------------------------------------- */
/* wslay goes on masking once it has: masked frames have a context of their own. */
wslay_frame_context_ptr ws_writer_get(const struct wslay_frame_callbacks *callbacks, void *arg,
                                      bool masked)
{
    wslay_frame_context_ptr *w = &pool.writers[masked];

    if (*w == NULL && wslay_frame_context_init(w, callbacks, arg) != 0)
        *w = NULL;
    return *w;
}

void ws_writer_drop(bool masked)
{
    wslay_frame_context_ptr *w = &pool.writers[masked];

    if (*w != NULL)
        wslay_frame_context_free(*w);
    *w = NULL;
}

/* --- the deflaters ---------------------------------------------------------------------------- */
/* Forgetting the last message costs as much as the tables are large: small messages have their own.
 */
#define SMALL_MESSAGE 4096

static bool deflater_start(struct deflater *d, int window_bits, int mem_level)
{
    if (d->ready)
        return deflateReset(&d->z) == Z_OK;
    memset(&d->z, 0, sizeof d->z);
    d->ready = deflateInit2(&d->z, Z_BEST_SPEED, Z_DEFLATED, -window_bits, mem_level,
                            Z_DEFAULT_STRATEGY) == Z_OK;
    return d->ready;
}

struct mf_slice ws_deflate(const uint8_t *p, size_t n)
{
    bool small = n <= SMALL_MESSAGE;
    struct deflater *d = small ? &pool.small : &pool.large;
    size_t room;
    uint8_t *dst;

    if (!deflater_start(d, small ? 12 : MAX_WBITS, small ? 5 : 8))
        return MF_SLICE_NONE;
    room = deflateBound(&d->z, n) + 16; /* the flush adds an empty block */
    mf_buf_clear(&pool.deflated);
    dst = mf_buf_reserve(&pool.deflated, room);
    if (dst == NULL)
        return MF_SLICE_NONE;
    d->z.next_in = (z_const Bytef *)p;
    d->z.avail_in = (uInt)n;
    d->z.next_out = dst;
    d->z.avail_out = (uInt)room;
    if (deflate(&d->z, Z_SYNC_FLUSH) != Z_OK || d->z.avail_in != 0 || d->z.avail_out == 0)
        return MF_SLICE_NONE;
    return mf_slice(dst, room - d->z.avail_out - 4); /* without the marker the peer adds again */
}
