/* repair_log.h: writes a log from docs/disk-format.md: closed, every segment sealed. */
#ifndef CLI_REPAIR_LOG_H
#define CLI_REPAIR_LOG_H

#include "cli/check/check_impl.h"
#include "cli/check/repair.h"

struct repair_log {
    const struct repair_sink *to;
    uint8_t id[16];
    uint64_t number, key; /* of the segment in buf */
    struct mf_buf buf;    /* from offset 0 on */
    uint32_t chain;
    uint64_t group;
    uint64_t last; /* sequence, so far */
    int64_t mark_t, clock, now_ns;
    uint64_t mark_s;
    uint64_t segments, bytes;
    struct seal *seal; /* NULL: the copy is not encrypted; else all of it is */
};

/* The id, mark and clock are set before. */
MF_MUSTCHECK int repair_log_begin(struct repair_log *l, struct mf_error *e);
/* from: the record of the message, checked; its sequence is greater than all before. */
MF_MUSTCHECK int repair_log_message(struct repair_log *l, const struct rec *from, int64_t deadline,
                                    uint16_t flags, struct mf_error *e);
MF_MUSTCHECK int repair_log_blob(struct repair_log *l, struct mf_slice name, struct mf_slice body,
                                 struct mf_error *e);
/* last: the last sequence ever given. */
MF_MUSTCHECK int repair_log_end(struct repair_log *l, uint64_t last, struct mf_error *e);
void repair_log_fini(struct repair_log *l);

#endif
