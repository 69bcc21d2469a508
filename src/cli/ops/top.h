/* top.h: mayfly top: a server's connections, streams and rates, redrawn. */
#ifndef CLI_OPS_TOP_H
#define CLI_OPS_TOP_H

#include "cli/cli.h"

extern const struct cli_flag top_flags[];

int top_run(struct cli *c); /* mayfly top [URL] */

#endif
