/* check_journal.h: a store together with what only the commit journal holds of it, written from
 * docs/disk-format.md. */
#ifndef CLI_CHECK_JOURNAL_H
#define CLI_CHECK_JOURNAL_H

#include "cli/check/check.h"

/* Parts of commit groups that lie in segments of one store. */
struct check_journal {
    const struct check_source *store;
    struct check_overlay {
        char name[24]; /* of the segment */
        uint64_t offset;
        uint32_t len;
        const uint8_t *bytes;
    } * part; /* in the order in which they are written */
    size_t parts, part_cap;
    uint8_t *all[2];         /* the journal's files */
    struct check_source src; /* the store as a start would leave it */
};

/* Reads the files of `journal` (those that are missing are passed over) and looks which parts of
 * them belong to `store`; both must outlive *out.  MF_UNSUPPORTED: a later version. */
MF_MUSTCHECK int check_journal_open(struct check_journal *out, const struct check_source *store,
                                    const struct check_source *journal, struct mf_error *e);
void check_journal_close(struct check_journal *j);

#endif
