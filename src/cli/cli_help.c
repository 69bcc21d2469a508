/* cli_help.c: help made from the tables of commands. */
#include "cli/cli_impl.h"

#include "base/spell.h"
#include "mayfly.h"

#include <stdlib.h>

/* --- lists ------------------------------------------------------------------------------------ */

static bool begins_with_word(const char *name, const char *word)
{
    size_t len = strlen(word);

    return strncmp(name, word, len) == 0 && (name[len] == ' ' || name[len] == '\0');
}

static void print_line(FILE *f, const struct cli_command *cmd)
{
    char left[64];

    (void)snprintf(left, sizeof left, "%s%s%s", cmd->name, cmd->args == NULL ? "" : " ",
                   cmd->args == NULL ? "" : cmd->args);
    (void)fprintf(f, "  %-38s %s\n", left, cmd->about);
}

void help_print_all(FILE *f, const struct cli_command *const *tables)
{
    (void)fputs("usage: mayfly COMMAND [ARGUMENT...] [FLAGS]\n\n", f);
    for (; *tables != NULL; tables++) {
        for (const struct cli_command *cmd = *tables; cmd->name != NULL; cmd++)
            print_line(f, cmd);
        if ((*tables)->name != NULL)
            (void)fputc('\n', f);
    }
    (void)fputs("mayfly COMMAND --help shows flags and an example.  -s URL names the server\n"
                "(NATS_URL; nats://127.0.0.1:4222), --json prints JSON.\n",
                f);
}

bool help_print_group(FILE *f, const struct cli_command *const *tables, const char *group)
{
    bool any = false;

    for (; *tables != NULL; tables++)
        for (const struct cli_command *cmd = *tables; cmd->name != NULL; cmd++) {
            if (!begins_with_word(cmd->name, group))
                continue;
            if (!any)
                (void)fprintf(f, "usage: mayfly %s COMMAND [ARGUMENT...] [FLAGS]\n\n", group);
            any = true;
            print_line(f, cmd);
        }
    if (any)
        (void)fprintf(f, "\nmayfly %s COMMAND --help shows flags and an example.\n", group);
    return any;
}

/* --- one command ------------------------------------------------------------------------------ */

static void print_flags(FILE *f, const struct cli_flag *flags)
{
    for (; flags != NULL && flags->name != NULL; flags++) {
        char left[64];

        (void)snprintf(left, sizeof left, "%c%c%s --%s%s%s", flags->letter == 0 ? ' ' : '-',
                       flags->letter == 0 ? ' ' : flags->letter, flags->letter == 0 ? " " : ",",
                       flags->name, flags->value == NULL ? "" : " ",
                       flags->value == NULL ? "" : flags->value);
        (void)fprintf(f, "  %-28s %s\n", left, flags->about);
    }
}

static void print_indented(FILE *f, const char *lines)
{
    while (*lines != '\0') {
        size_t len = strcspn(lines, "\n");

        (void)fprintf(f, "  %.*s\n", (int)len, lines);
        lines += len;
        lines += *lines == '\n';
    }
}

void help_print_command(FILE *f, const struct cli_command *cmd)
{
    (void)fprintf(f, "usage: mayfly %s%s%s [FLAGS]\n\n%s\n", cmd->name,
                  cmd->args == NULL ? "" : " ", cmd->args == NULL ? "" : cmd->args, cmd->about);
    if (cmd->help != NULL)
        (void)fprintf(f, "\n%s%s", cmd->help, cmd->help[strlen(cmd->help) - 1] == '\n' ? "" : "\n");
    if (cmd->flags != NULL && cmd->flags->name != NULL) {
        (void)fputs("\nFlags:\n", f);
        print_flags(f, cmd->flags);
    }
    (void)fputs("\nFlags of every command:\n", f);
    print_flags(f, cli_global_flags);
    if (cmd->example != NULL) {
        (void)fputs("\nExamples:\n", f);
        print_indented(f, cmd->example);
    }
}

/* --- suggestions ------------------------------------------------------------------------------ */

#define NEAR 3 /* fewer wrong letters than this: perhaps that was meant */

/* Remembers a word that is nearer to what was typed than the best one before. */
struct nearest {
    const char *typed;
    unsigned distance;
    char *word;
    size_t size;
};

static void try_word(struct nearest *n, const char *word, size_t len)
{
    unsigned d = spell_distance(mf_str(n->typed), mf_slice(word, len));

    if (d < n->distance) {
        n->distance = d;
        (void)snprintf(n->word, n->size, "%.*s", (int)len, word);
    }
}

const char *help_suggest(const struct cli_command *const *tables, const char *group,
                         const char *typed)
{
    static char found[32];
    struct nearest n = {typed, NEAR, found, sizeof found};

    for (; *tables != NULL; tables++)
        for (const struct cli_command *cmd = *tables; cmd->name != NULL; cmd++) {
            const char *word = cmd->name;

            if (group != NULL && !begins_with_word(cmd->name, group))
                continue;
            if (group != NULL)
                word += strlen(group) + (cmd->name[strlen(group)] == ' ');
            try_word(&n, word, strcspn(word, " "));
        }
    return n.distance < NEAR ? found : NULL;
}

const char *help_suggest_flag(const struct cli_command *cmd, const char *typed, size_t len)
{
    static char found[32];
    const struct cli_flag *const lists[] = {cmd->flags, cli_global_flags};
    char text[32];
    struct nearest n = {text, NEAR, found, sizeof found};

    (void)snprintf(text, sizeof text, "%.*s", (int)len, typed);
    for (size_t i = 0; len < sizeof text && i < MF_COUNT(lists); i++)
        for (const struct cli_flag *f = lists[i]; f != NULL && f->name != NULL; f++)
            try_word(&n, f->name, strlen(f->name));
    return n.distance < NEAR && n.distance < len ? found : NULL;
}

/* --- commands --------------------------------------------------------------------------------- */

static int print_help(struct cli *c)
{
    const struct cli_command *cmd;
    char *words[4] = {NULL}; /* as a command line: behind the program's name */
    int n, found;

    if (cli_on(c, "man") && c->nargs > 0)
        return cli_usage(c, "--man prints all commands");
    if (c->nargs == 0) {
        if (cli_on(c, "man"))
            help_print_man(c->tables);
        else
            help_print_all(stdout, c->tables);
        return CLI_OK;
    }
    for (n = 0; n < c->nargs && n < 3; n++)
        words[n + 1] = c->args[n];
    cmd = cli_find_command(c->tables, n + 1, words, &found);
    if (cmd != NULL)
        help_print_command(stdout, cmd);
    else if (!help_print_group(stdout, c->tables, c->args[0]))
        return cli_fail(c, CLI_USAGE, "there is no command %s; mayfly help lists them", c->args[0]);
    return CLI_OK;
}

static int print_version(struct cli *c)
{
    if (c->json)
        (void)puts("{\"version\":\"" MAYFLY_VERSION "\"}");
    else
        (void)puts("mayfly " MAYFLY_VERSION);
    return CLI_OK;
}

static const struct cli_flag help_flags[] = {
    {"man", 0, CLI_SWITCH, NULL, "print all commands as roff, as in mayfly(1)"},
    {0},
};

const struct cli_command help_commands[] = {
    {.name = "completion",
     .args = "SHELL",
     .about = "print the completion of bash or zsh",
     .example = "mayfly completion bash > ~/.local/share/bash-completion/completions/mayfly\n"
                "mayfly completion zsh > ~/.zfunc/_mayfly\n",
     .run = completion_print},
    {.name = "version",
     .about = "print the version of this tool",
     .example = "mayfly version --json\n",
     .run = print_version},
    {.name = "help",
     .args = "[COMMAND...]",
     .about = "list the commands, or explain one",
     .flags = help_flags,
     .example = "mayfly help ttl\nmayfly help kv put\n",
     .run = print_help},
    {0},
};
