/* subject_page_impl.h: one page of the subjects of a stream. */
#ifndef API_SUBJECT_PAGE_IMPL_H
#define API_SUBJECT_PAGE_IMPL_H

#include "api/api_impl.h"

/* The subjects of a stream that match, sorted, a page of them.  O(matches) plus
 * the sorting of the page, in slices. */
struct subject_page;
struct subject_page *subject_page_new(struct api_account *aa, struct stream *s,
                                      struct mf_slice filter, uint64_t offset, uint64_t limit);
/* One slice.  true: there is more to do. */
bool subject_page_step(struct subject_page *p);
/* When it is done.  *text: the object with the members of the page; empty: the page is.  MF_NOMEM.
 */
MF_MUSTCHECK int subject_page_done(struct subject_page *p, uint64_t *total, struct mf_slice *text);
void subject_page_free(struct subject_page *p); /* NULL is fine */

#endif
