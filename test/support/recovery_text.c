/* recovery_text.c: what a recovery found, as text. */
#include "recovery_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int by_name(const void *a, const void *b)
{
    const struct recovered_blob *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static void put_messages(struct mf_buf *b, const struct index *ix)
{
    static uint8_t key[KEYS_MAX];

    uint64_t seq = 0;

    for (uint32_t id; (id = index_next(ix, seq)) != INDEX_NONE;) {
        seq = index_seq(ix, id);
        uint64_t place = index_place(ix, id);
        struct mf_slice k = keys_text(index_keys(ix), index_key(ix, id), key);
        mf_buf_printf(b, "%" PRIu64 " %.*s at %" PRIu64 ":%" PRIu64 " len %u flags %u", //
                      seq, MF_FMT(k), place_segment(place), place_offset(place), place_len(place),
                      place_flags(place));
        if (index_deadline(ix, id) != 0)
            mf_buf_printf(b, " until %" PRId64, index_deadline(ix, id));
        mf_buf_puts(b, "\n");
        if (seq++ == UINT64_MAX)
            break;
    }
}

char *recovery_text(const struct recovery *r)
{
    struct mf_buf b = MF_BUF_INIT;

    if (r->index != NULL)
        put_messages(&b, r->index);
    for (size_t i = 0; i < r->segments; i++)
        if (r->segment[i].live_count > 0)
            mf_buf_printf(&b, "segment %" PRIu64 ": %" PRIu64 " live, %" PRIu64 " bytes\n",
                          r->segment[i].number, r->segment[i].live_count, r->segment[i].live_bytes);
    mf_buf_printf(&b, "last %" PRIu64 " mark %" PRId64 ",%" PRIu64 " first %" PRIu64 "\n",
                  r->last_seq, r->mark.time_ns, r->mark.seq, r->first_segment);
    if (r->blobs > 0)
        qsort(r->blob, r->blobs, sizeof *r->blob, by_name);
    for (size_t i = 0; i < r->blobs; i++)
        mf_buf_printf(&b, "blob %s = %.*s\n", r->blob[i].name, (int)r->blob[i].bytes_len,
                      (const char *)r->blob[i].bytes);
    char *text = strdup(mf_buf_cstr(&b));
    mf_buf_fini(&b);
    if (text == NULL)
        abort();
    return text;
}

void recover_ok(struct recovery *r, struct store_io *io)
{
    struct mf_error e;

    if (recover(r, io, NULL, '.', 0, &e) != 0) {
        fprintf(stderr, "recovery failed: %s\n", e.text);
        abort();
    }
    if (r->index != NULL)
        index_check(r->index);
}

char *recover_text(struct store_io *io)
{
    struct recovery r;

    recover_ok(&r, io);
    char *text = recovery_text(&r);
    recovery_fini(&r);
    return text;
}
