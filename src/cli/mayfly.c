/* mayfly.c: the operator's tool.  Finds the command; each command has a file of its own. */
#include "cli/check.h"
#include "cli/server_check.h"
#include "mayfly.h"

#include <stdio.h>

static int version_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    (void)puts("mayfly " MAYFLY_VERSION);
    return 0;
}

static int help_main(int argc, char **argv);

static const struct command {
    const char *group, *name; /* group "": the name stands alone */
    int (*run)(int argc, char **argv);
    const char *usage, *about;
} commands[] = {
    {"server", "check", server_check_main, "server check [URL] [--json]",
     "is the server well?  URL: its monitoring port (http://127.0.0.1:8222)"},
    {"", "check", check_main, "check DIR [OPTIONS]",
     "verify the files of stopped stores, changing nothing; check --help says more"},
    {"", "version", version_main, "version", "the version of this tool"},
    {"", "help", help_main, "help", "this list"},
};

static void print_help(FILE *f)
{
    (void)fputs("usage: mayfly COMMAND\n\n", f);
    for (size_t i = 0; i < MF_COUNT(commands); i++)
        (void)fprintf(f, "  %-28s %s\n", commands[i].usage, commands[i].about);
}

static int help_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    print_help(stdout);
    return 0;
}

/* Where the command's own arguments begin, or 0 when argv does not name it. */
static int match_command(const struct command *c, int argc, char **argv)
{
    if (c->group[0] == '\0')
        return argc > 1 && strcmp(argv[1], c->name) == 0 ? 2 : 0;
    return argc > 2 && strcmp(argv[1], c->group) == 0 && strcmp(argv[2], c->name) == 0 ? 3 : 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0))
        return help_main(argc, argv);
    if (argc > 1 && (strcmp(argv[1], "-v") == 0 || strcmp(argv[1], "--version") == 0))
        return version_main(argc, argv);
    for (size_t i = 0; i < MF_COUNT(commands); i++) {
        int first = match_command(&commands[i], argc, argv);

        if (first > 0)
            return commands[i].run(argc - first, argv + first);
    }
    print_help(stderr);
    return 2;
}
