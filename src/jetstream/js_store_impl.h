/* api_store.h: where streams are kept. */
#ifndef API_STORE_H
#define API_STORE_H

#include "api/api_impl.h"

MF_MUSTCHECK int api_store_open(struct api *a, struct mf_error *e);
void api_store_close(struct api *a);
/* The folder of an account's streams below the root, to be freed; NULL: no memory.  Whatever the
 * account's name holds, it stays one folder in the root, and not one that begins with '.'. */
char *api_store_folder(const char *account);

#endif
