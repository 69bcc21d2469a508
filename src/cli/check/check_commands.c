/* check_commands.c: the table of commands about the files of stopped stores. */
#include "cli/check/check_commands.h"

#include "cli/check/check.h"

const struct cli_command check_commands[] = {
    {.name = "check",
     .args = "DIR",
     .about = "verify the files of stopped stores, or copy what is readable",
     .example = "mayfly check /var/lib/mayfly\n"
                "mayfly check --repair /var/lib/mayfly --to /var/tmp/mayfly\n",
     .run_raw = check_main},
    {0},
};
