/* cli_impl.h: what the files of the frame share: global flags, the search for a command, help. */
#ifndef CLI_CLI_IMPL_H
#define CLI_CLI_IMPL_H

#include "cli/cli.h"

#include <stdio.h>

struct cli_given {
    const struct cli_flag *flag;
    const char *text; /* NULL for a switch */
    int64_t number;   /* of kinds with a number */
};

extern const struct cli_flag cli_global_flags[];

/* The flag named by `name` (or by its letter) for this command: its own or a global one. */
const struct cli_flag *cli_find_flag(const struct cli_command *cmd, const char *name, size_t len);
const struct cli_flag *cli_find_letter(const struct cli_command *cmd, char letter);

/* Fewest and most arguments of a row; *most is INT_MAX for "...". */
void cli_count_args(const char *args, int *fewest, int *most);

/* The command that argv begins with; *words is the number of words of its name.  NULL: none. */
const struct cli_command *cli_find_command(const struct cli_command *const *tables, int argc,
                                           char **argv, int *words);

/* Help of everything, of the commands whose names begin with `group`, of one command. */
void help_print_all(FILE *f, const struct cli_command *const *tables);
bool help_print_group(FILE *f, const struct cli_command *const *tables, const char *group);
void help_print_command(FILE *f, const struct cli_command *cmd);
/* The commands and their flags as roff, for mayfly(1). */
void help_print_man(const struct cli_command *const *tables);
/* The command `completion`. */
int completion_print(struct cli *c);
/* The first word of a command that is nearest to what was typed, or with `group` the word behind
 * it; the flag of a command.  NULL: none is near.  Valid until the next call. */
const char *help_suggest(const struct cli_command *const *tables, const char *group,
                         const char *typed);
const char *help_suggest_flag(const struct cli_command *cmd, const char *typed, size_t len);

#endif
