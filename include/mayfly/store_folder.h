/* store_folder.h: folders of stores: made, listed and removed so that a crash leaves no half of
 * them.  All of it blocks: call it from workers, or before anybody is served. */
#ifndef MAYFLY_STORE_FOLDER_H
#define MAYFLY_STORE_FOLDER_H

#include "mayfly/base.h"

/* With all that is missing above it; on disk when it returns. */
MF_MUSTCHECK int store_folder_make(const char *path, struct mf_error *e);
/* In no order; names that begin with '.' are left out.  A path that is not there has none. Non-zero
 * from visit ends it.
 */
MF_MUSTCHECK int store_folder_list(const char *path, int (*visit)(void *arg, const char *name),
                                   void *arg, struct mf_error *e);
/* parent/name is gone for good when this returns (it is renamed, which is atomic); then its files
 * are removed. What a crash leaves of that, and of drafts, is removed by store_folder_tidy(). */
MF_MUSTCHECK int store_folder_remove(const char *parent, const char *name, struct mf_error *e);
void store_folder_tidy(const char *parent);
/* A folder that is being filled has a name no store has (it goes in store_folder_tidy()); it gets
 * its own when it is whole. */
void store_folder_draft(char *dst, size_t cap, const char *name);
/* *named: it has its name, though that may not be known to be on disk when this fails. */
MF_MUSTCHECK int store_folder_finish(const char *parent, const char *name, bool *named,
                                     struct mf_error *e);

#endif
