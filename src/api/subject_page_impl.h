/* subject_page_impl.h: one page of the subjects of a stream. */
#ifndef API_SUBJECT_PAGE_IMPL_H
#define API_SUBJECT_PAGE_IMPL_H

#include "api/api_impl.h"

/* A page of the sorted subjects that match.  O(matches) plus the sort of the page, in slices. */
struct subject_page;
struct subject_page *subject_page_new(struct api_account *aa, struct stream *s,
                                      struct mf_slice filter, uint64_t offset, uint64_t limit);
/* Does one slice.  True: there is more. */
bool subject_page_step(struct subject_page *p);
/* After the last slice.  *text: the object with the members of the page, empty for an empty page;
 * valid until subject_page_free().  MF_NOMEM. */
MF_MUSTCHECK int subject_page_done(struct subject_page *p, uint64_t *total, struct mf_slice *text);
void subject_page_free(struct subject_page *p); /* NULL is fine */

#endif
