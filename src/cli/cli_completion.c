/* cli_completion.c: completion scripts of bash and zsh, made from the tables of commands.
 *
 * One list serves both shells: a line for each command, "its name|its flags|those of them that take
 * a value|words that its argument may be".  A function in the language of both shells prints what
 * may follow; where it prints nothing the shell completes the names of files. */
#include "cli/cli_impl.h"

/* Commands whose first argument is one of a few words. */
static const struct {
    const char *command, *words;
} arguments[] = {
    {"completion", "bash zsh"},
    {"server report", "streams consumers connections accounts"},
    {"nkey make", "user account server operator cluster curve"},
};

static void print_flag_names(const struct cli_flag *flags, bool valued)
{
    for (; flags != NULL && flags->name != NULL; flags++) {
        if (valued && flags->kind == CLI_SWITCH)
            continue;
        (void)printf(" --%s", flags->name);
        if (flags->letter != 0)
            (void)printf(" -%c", flags->letter);
    }
}

static void print_list(const struct cli *c)
{
    for (const struct cli_command *const *t = c->tables; *t != NULL; t++)
        for (const struct cli_command *cmd = *t; cmd->name != NULL; cmd++) {
            (void)printf("%s|", cmd->name);
            print_flag_names(cmd->flags, false);
            (void)printf("|");
            print_flag_names(cmd->flags, true);
            (void)printf("|");
            for (size_t i = 0; i < MF_COUNT(arguments); i++)
                if (strcmp(arguments[i].command, cmd->name) == 0)
                    (void)printf("%s", arguments[i].words);
            (void)printf("\n");
        }
}

/* Words typed so far give the next words of matching names; a whole name gives its flags. */
static const char list_function[] =
    "# Prints what may follow: $1 is the unfinished word, the others are the words before it.\n"
    "_mayfly_next() {\n"
    "    local current=$1 typed= before= word name flags valued words\n"
    "    shift\n"
    "    for word; do\n"
    "        case \" $_mayfly_valued \" in\n"
    "        *\" $before \"*) [ -n \"$before\" ] && before= && continue ;;\n"
    "        esac\n"
    "        before=$word\n"
    "        case $word in -*) ;; *) typed=\"$typed${typed:+ }$word\" ;; esac\n"
    "    done\n"
    "    case \" $_mayfly_valued \" in *\" $before \"*) [ -n \"$before\" ] && return ;; esac\n"
    "    while IFS='|' read -r name flags valued words; do\n"
    "        case $current in -*) ;; *)\n"
    "            [ -z \"$typed\" ] && printf '%s\\n' \"${name%% *}\"\n"
    "            case $name in \"$typed \"*) word=${name#\"$typed \"} && printf '%s\\n' "
    "\"${word%% *}\" ;; esac\n"
    "            [ \"$typed\" = \"$name\" ] && printf '%s\\n' \"$words\" | tr ' ' '\\n' ;;\n"
    "        esac\n"
    "        case \"$typed \" in \"$name \"*)\n"
    "            case \" $valued \" in *\" $before \"*) continue ;; esac\n"
    "            case $current in -*) printf '%s\\n' \"$flags$_mayfly_global\" | tr ' ' '\\n' ;; "
    "esac ;;\n"
    "        esac\n"
    "    done <<<\"$_mayfly_list\" | sort -u | sed '/^$/d'\n"
    "}\n";

/* The line is split at blanks: bash's own words end at the colons of addresses, too. */
static const char bash_function[] =
    "_mayfly() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} current= words\n"
    "    read -ra words <<<\"$line\"\n"
    "    case $line in *[!\\ ]) current=${words[-1]} && unset 'words[-1]' ;; esac\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$(_mayfly_next \"$current\" \"${words[@]:1}\")\" -- "
    "\"$current\")\n"
    "}\n"
    "complete -o default -F _mayfly mayfly\n";

/* As a file of $fpath it is run at the first completion, sourced it registers itself. */
static const char zsh_function[] =
    "_mayfly() {\n"
    "    local -a found\n"
    "    found=(${(f)\"$(_mayfly_next \"$words[CURRENT]\" \"${(@)words[2,CURRENT-1]}\")\"})\n"
    "    if (($#found)); then compadd -a found; else _files; fi\n"
    "}\n"
    "if [[ $funcstack[1] == _mayfly ]]; then _mayfly \"$@\"; else compdef _mayfly mayfly; fi\n";

int completion_print(struct cli *c)
{
    bool zsh = strcmp(c->args[0], "zsh") == 0;

    if (!zsh && strcmp(c->args[0], "bash") != 0)
        return cli_usage(c, "there is completion for bash and zsh, not for %s", c->args[0]);
    (void)printf(zsh ? "#compdef mayfly\n" : "# bash completion of mayfly\n");
    (void)printf("_mayfly_list='");
    print_list(c);
    (void)printf("'\n_mayfly_global='");
    print_flag_names(cli_global_flags, false);
    (void)printf("'\n_mayfly_valued='");
    print_flag_names(cli_global_flags, true);
    (void)printf("'\n%s%s", list_function, zsh ? zsh_function : bash_function);
    return CLI_OK;
}
