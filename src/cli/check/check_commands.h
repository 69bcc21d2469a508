/* check_commands.h: the table of this part's commands. */
#ifndef CLI_CHECK_COMMANDS_H
#define CLI_CHECK_COMMANDS_H

#include "cli/cli.h"

extern const struct cli_command check_commands[];

#endif
