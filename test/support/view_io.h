/* view_io.h: several folders on one set of files, so that one recorder (crash_io.h, fault_io.h)
 * sees the changes of all of them in their order.  A folder's files are those whose names begin
 * with its prefix. */
#ifndef TEST_VIEW_IO_H
#define TEST_VIEW_IO_H

#include "store/store_io.h"

/* all: entered by the caller, and freed after every view.  syncdir() of a view syncs the names of
 * all. */
struct store_io *view_io_new(struct store_io *all, const char *prefix);
struct store_io *view_io_all(struct store_io *view);
/* Syncs every file of `all`, one after the other. */
MF_MUSTCHECK int view_io_sync_all(struct store_io *all, struct mf_error *e);
bool view_io_any(struct store_io *all, const char *prefix); /* is there such a file? */

#endif
