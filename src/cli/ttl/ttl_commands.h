/* ttl_commands.h: the table of this part's commands. */
#ifndef CLI_TTL_COMMANDS_H
#define CLI_TTL_COMMANDS_H

#include "cli/cli.h"

extern const struct cli_command ttl_commands[];

#endif
