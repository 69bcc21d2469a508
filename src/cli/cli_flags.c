/* cli_flags.c: finds commands and flags in their tables; texts of durations and sizes. */
#include "cli/cli_impl.h"

#include "base/clock.h"

#include <limits.h>
#include <stdlib.h>
#include <strings.h>

/* As in the nats CLI. */
const struct cli_flag cli_global_flags[] = {
    {"server", 's', CLI_TEXT, "URL", "server, or several with commas (nats://127.0.0.1:4222)"},
    {"user", 0, CLI_TEXT, "NAME", "user name, or a token if there is no password"},
    {"password", 0, CLI_TEXT, "TEXT", "password"},
    {"token", 0, CLI_TEXT, "TEXT", "token"},
    {"creds", 0, CLI_TEXT, "FILE", "credentials file (user JWT and seed)"},
    {"nkey", 0, CLI_TEXT, "FILE", "file with an nkey seed"},
    {"tlscert", 0, CLI_TEXT, "FILE", "client certificate"},
    {"tlskey", 0, CLI_TEXT, "FILE", "private key of the client certificate"},
    {"tlsca", 0, CLI_TEXT, "FILE", "certificates of the authorities to trust"},
    {"context", 0, CLI_TEXT, "NAME", "a context of the nats CLI"},
    {"no-context", 0, CLI_SWITCH, NULL, "not the selected context"},
    {"js-domain", 0, CLI_TEXT, "NAME", "JetStream domain"},
    {"js-api-prefix", 0, CLI_TEXT, "SUBJECT", "prefix of an imported JetStream API"},
    {"inbox-prefix", 0, CLI_TEXT, "SUBJECT", "prefix of reply subjects (_INBOX)"},
    {"timeout", 0, CLI_DURATION, "TIME", "how long to wait for an answer (5s)"},
    {"json", 0, CLI_SWITCH, NULL, "print JSON for scripts"},
    {"no-color", 0, CLI_SWITCH, NULL, "no colours"},
    {"help", 'h', CLI_SWITCH, NULL, "show the help of the command"},
    {0},
};

static const struct cli_flag *find_in(const struct cli_flag *flags, const char *name, size_t len)
{
    for (; flags != NULL && flags->name != NULL; flags++)
        if (strlen(flags->name) == len && memcmp(flags->name, name, len) == 0)
            return flags;
    return NULL;
}

const struct cli_flag *cli_find_flag(const struct cli_command *cmd, const char *name, size_t len)
{
    const struct cli_flag *own = find_in(cmd->flags, name, len);

    return own != NULL ? own : find_in(cli_global_flags, name, len);
}

static const struct cli_flag *find_letter_in(const struct cli_flag *flags, char letter)
{
    for (; flags != NULL && flags->name != NULL; flags++)
        if (flags->letter == letter)
            return flags;
    return NULL;
}

const struct cli_flag *cli_find_letter(const struct cli_command *cmd, char letter)
{
    const struct cli_flag *own = find_letter_in(cmd->flags, letter);

    return own != NULL ? own : find_letter_in(cli_global_flags, letter);
}

void cli_count_args(const char *args, int *fewest, int *most)
{
    const char *p = args == NULL ? "" : args;

    *fewest = *most = 0;
    while (*p != '\0') {
        size_t len = strcspn(p, " ");

        if (*p != '[')
            (*fewest)++;
        (*most)++;
        if ((len >= 3 && strncmp(p + len - 3, "...", 3) == 0) ||
            (len >= 4 && strncmp(p + len - 4, "...]", 4) == 0)) {
            *most = INT_MAX;
            return;
        }
        p += len;
        p += strspn(p, " ");
    }
}

/* The number of words of `name` if argv begins with them, else 0. */
static int match_words(const char *name, int argc, char **argv)
{
    int n = 0;

    while (*name != '\0') {
        size_t len = strcspn(name, " ");

        if (n + 1 >= argc || strlen(argv[n + 1]) != len || memcmp(argv[n + 1], name, len) != 0)
            return 0;
        n++;
        name += len;
        name += strspn(name, " ");
    }
    return n;
}

const struct cli_command *cli_find_command(const struct cli_command *const *tables, int argc,
                                           char **argv, int *words)
{
    const struct cli_command *found = NULL;

    *words = 0;
    for (; *tables != NULL; tables++)
        for (const struct cli_command *cmd = *tables; cmd->name != NULL; cmd++) {
            int n = match_words(cmd->name, argc, argv);

            if (n > *words) { /* the longest name wins */
                found = cmd;
                *words = n;
            }
        }
    *words += 1; /* the program's own name */
    return found;
}

/* --- texts of values -------------------------------------------------------------------------- */

/* Days and weeks in front of what Go knows: 7d, 1w2d, 1d12h. */
int cli_parse_duration(const char *text, int64_t *ns)
{
    int64_t total = 0, rest = 0;
    char *end;

    for (;;) {
        unsigned long long n;
        int64_t unit;

        if (*text < '0' || *text > '9')
            break;
        n = strtoull(text, &end, 10);
        unit = *end == 'd' ? 86400 * CLOCK_S : *end == 'w' ? 7 * 86400 * CLOCK_S : 0;
        if (unit == 0)
            break;
        if (n > (unsigned long long)((INT64_MAX - total) / unit))
            return MF_INVAL;
        total += (int64_t)n * unit;
        text = end + 1;
        if (*text == '\0') {
            *ns = total;
            return 0;
        }
    }
    if (clock_parse_duration(mf_str(text), &rest) != 0 || rest < 0 || rest > INT64_MAX - total)
        return MF_INVAL;
    *ns = total + rest;
    return 0;
}

int cli_parse_size(const char *text, int64_t *bytes)
{
    static const char *const units[] = {"", "K", "M", "G", "T"};
    unsigned long long n;
    char *end;

    if (*text < '0' || *text > '9')
        return MF_INVAL;
    n = strtoull(text, &end, 10);
    for (size_t i = 0; i < MF_COUNT(units); i++) {
        size_t len = strlen(units[i]);
        const char *rest = end + len;

        if (strncasecmp(end, units[i], len) != 0)
            continue;
        if (*rest != '\0' && strcasecmp(rest, "B") != 0 && strcasecmp(rest, "iB") != 0)
            continue;
        if (n > (unsigned long long)INT64_MAX >> (10 * i))
            return MF_INVAL;
        *bytes = (int64_t)(n << (10 * i));
        return 0;
    }
    return MF_INVAL;
}
