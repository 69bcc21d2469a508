/* crash_log.h: what crash_io.c records and crash_cut.c turns into disks.  Private to the two. */
#ifndef TEST_CRASH_LOG_H
#define TEST_CRASH_LOG_H

#include "crash_io.h"

#include "base/buf.h"

enum change {
    CHANGE_CREATE,
    CHANGE_WRITE,
    CHANGE_TRUNCATE,
    CHANGE_RENAME,
    CHANGE_UNLINK,
    CHANGE_SYNC,
    CHANGE_SYNCDIR,
};

/* A file is a node, numbered as created: names come and go. */
struct crash_op {
    enum change kind;
    uint32_t node;
    uint64_t off, len;     /* WRITE; TRUNCATE to len */
    uint8_t *bytes;        /* WRITE */
    const char *name, *to; /* in `bytes`: CREATE, UNLINK; RENAME name to `to` */
};

/* The first `base` ops made what was there at the start: change n is ops[base + n - 1]. */
struct crash_log {
    struct crash_op *ops;
    size_t count, cap, base;
    uint32_t nodes;
};

/* Names of one moment: an array of these in a buffer; the text belongs to the log. */
struct crash_name {
    const char *name;
    uint32_t node;
};
#define CRASH_NO_NODE UINT32_MAX
static inline size_t crash_names_count(const struct mf_buf *names)
{
    return names->len / sizeof(struct crash_name);
}
static inline struct crash_name *crash_names_at(const struct mf_buf *names, size_t i)
{
    return (struct crash_name *)(void *)names->ptr + i;
}
struct crash_name *crash_names_find(const struct mf_buf *names, const char *name);
/* Room for one more name was reserved.  Returns the node that lost its name by it, or
 * CRASH_NO_NODE. */
uint32_t crash_names_apply(struct mf_buf *names, const struct crash_op *op);

/* A moment of the log: what is durable and what is not. */
struct crash_cut;
struct crash_cut *crash_cut_new(void); /* NULL: out of memory */
void crash_cut_free(struct crash_cut *c);
/* To after the first n ops of the log. */
MF_MUSTCHECK int crash_cut_move(struct crash_cut *c, const struct crash_log *log, size_t n);
MF_MUSTCHECK int crash_cut_image(struct crash_cut *c, const struct crash_log *log,
                                 enum crash_mode mode, uint64_t seed, struct store_io **out);
struct crash_unsynced crash_cut_unsynced(const struct crash_cut *c);

#endif
