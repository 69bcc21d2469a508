/* server_info.h: the connected server and its account; the servers that answer. */
#ifndef CLI_OPS_SERVER_INFO_H
#define CLI_OPS_SERVER_INFO_H

#include "cli/cli.h"

int server_info_run(struct cli *c);  /* mayfly server info */
int server_info_list(struct cli *c); /* mayfly server ls */

#endif
