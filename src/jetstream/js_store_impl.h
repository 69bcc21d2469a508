/* js_store_impl.h: the store directory and the folders of accounts in it. */
#ifndef JETSTREAM_JS_STORE_IMPL_H
#define JETSTREAM_JS_STORE_IMPL_H

#include "jetstream/jetstream_impl.h"

/* Opens and locks the store directory; sets js->store_dir and js->max. */
MF_MUSTCHECK int js_store_open(struct jetstream *js, struct mf_error *e);
void js_store_close(struct jetstream *js);
/* The folder of an account's streams below the root; the caller frees it.  NULL: no memory.  Any
 * account name becomes one folder in the root that does not begin with '.'. */
char *js_store_folder(const char *account);

#endif
