/* policy_subjects_impl.h: a stream's subjects, compared with others without comparing each with
 * each.  Private to ttl. */
#ifndef POLICY_SUBJECTS_H
#define POLICY_SUBJECTS_H

#include "codec/json.h"
#include "subject/pattern_set.h"

struct subjects {
    const struct json_strs *list; /* NULL: the stream has none, a mirror */
    struct pattern_set set;
};
/* O(length of the list).  MF_NOMEM. */
MF_MUSTCHECK int policy_subjects_init(struct subjects *s, const struct json_strs *list);
void policy_subjects_fini(struct subjects *s); /* also after a failed init */
/* 1, 0, MF_NOMEM, or MF_LIMIT: it would take more than PATTERN_STEPS.  O(tokens) for usual lists.
 */
MF_MUSTCHECK int policy_subjects_overlap(const struct subjects *s, struct mf_slice pattern);
/* Does one of the subjects cover all of the pattern?  As above. */
MF_MUSTCHECK int policy_subjects_cover(struct subjects *s, struct mf_slice pattern);

#endif
