/* ttl_list_impl.h: what the two files of `mayfly ttl ls` share: answers of LIST, and their rows. */
#ifndef CLI_TTL_LIST_IMPL_H
#define CLI_TTL_LIST_IMPL_H

#include "cli/ttl/ttl_impl.h"

/* The messages of one stream in one state. */
struct list_part {
    struct request_stream stream;
    const char *state; /* with, without, infinite */
    json_t *doc;       /* the answers of LIST as one */
};
struct list_row {
    const struct list_part *part;
    const json_t *item;
};

struct list {
    struct cli *c;
    const char *state; /* as the flag has it: also never, which is two states */
    int64_t most;      /* rows, INT64_MAX: all */
    bool all_streams;
    struct list_part *parts;
    size_t nparts, parts_cap;
    struct list_row *rows;    /* of all parts, those to show */
    size_t nrows, tombstones; /* tombstones: of the rows */
    struct ttl_ask *by;       /* GET of each row, where the table has SET BY */
    bool more;                /* there are more such messages than rows */
    bool undecided;           /* SET BY is not known: GET is not permitted */
    bool marked;              /* a stream has tombstones, so totals count them too */
    bool total_known, total_about;
    uint64_t total; /* cut lists: of such messages; else of all messages in this state */
};

/* Whether the table has the columns for which list_print() needs `by`. */
bool list_is_wide(const struct list *l);
void list_print(struct list *l);

#endif
