/* server_report.h: tables of streams, consumers, connections and accounts from the pages. */
#ifndef CLI_OPS_SERVER_REPORT_H
#define CLI_OPS_SERVER_REPORT_H

#include "cli/cli.h"

extern const struct cli_flag server_report_flags[];

int server_report_run(struct cli *c); /* mayfly server report KIND [URL] */

#endif
