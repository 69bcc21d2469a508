/* ops_commands.h: the table of this part's commands. */
#ifndef CLI_OPS_COMMANDS_H
#define CLI_OPS_COMMANDS_H

#include "cli/cli.h"

extern const struct cli_command ops_commands[];

#endif
