/* cli_man.c: the tables of commands as a part of the manual page mayfly(1): mayfly help --man. */
#include "cli/cli_impl.h"

#include <ctype.h>

/* One line of text for roff: hyphens stay hyphens, and no letter at the beginning is a request. */
static void print_text(const char *s, size_t len)
{
    if (len > 0 && (s[0] == '.' || s[0] == '\''))
        (void)fputs("\\&", stdout);
    for (size_t i = 0; i < len; i++)
        if (s[i] == '-')
            (void)fputs("\\-", stdout);
        else if (s[i] == '\\')
            (void)fputs("\\e", stdout);
        else
            (void)putchar(s[i]);
}

static void print_lines(const char *lines)
{
    while (*lines != '\0') {
        size_t len = strcspn(lines, "\n");

        print_text(lines, len);
        (void)putchar('\n');
        lines += len;
        lines += *lines == '\n';
    }
}

/* Texts of the tables begin with a small letter and end without a stop. */
static void print_sentence(const char *s)
{
    (void)putchar(toupper((unsigned char)s[0]));
    print_text(s + 1, strlen(s + 1));
    (void)puts(s[strlen(s) - 1] == '.' ? "" : ".");
}

static void print_man_flags(const struct cli_flag *flags)
{
    for (; flags != NULL && flags->name != NULL; flags++) {
        (void)fputs(".TP\n", stdout);
        if (flags->letter != 0)
            (void)printf("\\fB\\-%c\\fR, ", flags->letter);
        (void)fputs("\\fB\\-\\-", stdout);
        print_text(flags->name, strlen(flags->name));
        (void)fputs("\\fR", stdout);
        if (flags->value != NULL)
            (void)printf(" \\fI%s\\fR", flags->value);
        (void)putchar('\n');
        print_sentence(flags->about);
    }
}

static void print_man_command(const struct cli_command *cmd)
{
    (void)fputs(".SS \"mayfly ", stdout);
    print_text(cmd->name, strlen(cmd->name));
    if (cmd->args != NULL)
        (void)printf(" \\fI%s\\fP", cmd->args);
    (void)fputs("\"\n", stdout);
    print_sentence(cmd->about);
    if (cmd->help != NULL) {
        (void)fputs(".PP\n", stdout);
        print_lines(cmd->help);
    }
    print_man_flags(cmd->flags);
    if (cmd->example != NULL) {
        (void)fputs(".PP\nFor example:\n.PP\n.nf\n.RS\n", stdout);
        print_lines(cmd->example);
        (void)fputs(".RE\n.fi\n", stdout);
    }
}

void help_print_man(const struct cli_command *const *tables)
{
    (void)fputs(".SH FLAGS OF EVERY COMMAND\n"
                "They stand before the command, behind it, or between its arguments.\n",
                stdout);
    print_man_flags(cli_global_flags);
    (void)fputs(".SH COMMANDS\n", stdout);
    for (; *tables != NULL; tables++)
        for (const struct cli_command *cmd = *tables; cmd->name != NULL; cmd++)
            print_man_command(cmd);
}
