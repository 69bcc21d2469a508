/* import_commands.h: the table of this part's commands. */
#ifndef CLI_IMPORT_COMMANDS_H
#define CLI_IMPORT_COMMANDS_H

#include "cli/cli.h"

extern const struct cli_command import_commands[];

#endif
