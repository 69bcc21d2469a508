/* mayfly.c: the tool `mayfly`: all its tables of commands. */
#include "cli/cli.h"

#include "cli/check/check_commands.h"
#include "cli/data/data_commands.h"
#include "cli/import/import_commands.h"
#include "cli/ops/ops_commands.h"
#include "cli/ttl/ttl_commands.h"

/* In the order of `mayfly help`. */
static const struct cli_command *const tables[] = {
    data_commands, ttl_commands, ops_commands, import_commands, check_commands, help_commands, NULL,
};

int main(int argc, char **argv)
{
    return cli_main(tables, argc, argv);
}
