/* check_report.h: the findings of `mayfly check` as text and JSON. */
#ifndef CLI_CHECK_REPORT_H
#define CLI_CHECK_REPORT_H

#include "cli/check/check.h"

#include "base/buf.h"

/* One of the checked stores. */
struct check_item {
    char *path;
    int rc; /* of check_store(); when not 0, error says why and result is empty */
    struct mf_error error;
    struct check_result result;
};

/* "clean", "damaged", "locked" or "error". */
const char *check_item_state(const struct check_item *it);
/* Several lines about one store, then its damage, a line each. */
void check_report_text(struct mf_buf *out, const struct check_item *it, bool segments);
/* One line per store and a total. */
void check_report_table(struct mf_buf *out, const struct check_item *items, size_t count);
/* One document for all stores. */
void check_report_json(struct mf_buf *out, const char *path, const struct check_item *items,
                       size_t count, bool segments, int exit_code);

#endif
