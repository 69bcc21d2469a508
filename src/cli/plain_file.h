/* plain_file.h: opens a file that must be one: no FIFO that nobody writes to, no endless device. */
#ifndef CLI_PLAIN_FILE_H
#define CLI_PLAIN_FILE_H

#include "base/base.h"

#include <stdio.h>

/* For reading; NULL: e says why (MF_NOTFOUND, MF_IO).  Never waits. */
FILE *plain_file_open(const char *path, struct mf_error *e);

#endif
