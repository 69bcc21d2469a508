/* check_find.h: the stores in a directory or below it. */
#ifndef CLI_CHECK_FIND_H
#define CLI_CHECK_FIND_H

#include "base/base.h"

struct check_paths {
    char **path; /* ascending */
    size_t count;
    char *foreign; /* a stream of nats-server: the first one found */
};
/* At least one.  MF_NOTFOUND: none; MF_UNSUPPORTED: there is a stream of nats-server. */
MF_MUSTCHECK int check_find(struct check_paths *out, const char *dir, struct mf_error *e);
void check_paths_fini(struct check_paths *p);

#endif
