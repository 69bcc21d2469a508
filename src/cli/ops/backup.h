/* backup.h: mayfly backup and mayfly restore: streams to folders and back. */
#ifndef CLI_OPS_BACKUP_H
#define CLI_OPS_BACKUP_H

#include "cli/cli.h"

extern const struct cli_flag backup_flags[];
extern const struct cli_flag restore_flags[];

int backup_run(struct cli *c);  /* mayfly backup [STREAM] DIR */
int restore_run(struct cli *c); /* mayfly restore DIR */

#endif
