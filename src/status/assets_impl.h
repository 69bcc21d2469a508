/* assets_impl.h: the files of the status page (assets/), embedded by tools/embed.sh.  The first one
 * is the page itself, index.html. */
#ifndef MAYFLY_STATUS_ASSETS_IMPL_H
#define MAYFLY_STATUS_ASSETS_IMPL_H

#include <stddef.h>

struct asset {
    const char *path; /* "/assets/page.js" */
    const char *content_type, *etag;
    const unsigned char *bytes;
    size_t n;
};
extern const struct asset assets[];
extern const size_t asset_count;

#endif
