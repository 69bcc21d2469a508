/* data_commands.h: the table of this part's commands. */
#ifndef CLI_DATA_COMMANDS_H
#define CLI_DATA_COMMANDS_H

#include "cli/cli.h"

extern const struct cli_command data_commands[];

#endif
