/* cli.h: the frame of the tool `mayfly`: tables of commands, flags, exit codes.
 *
 * A command is a row of a table: its name, arguments, flags, texts and function.  The frame parses
 * the command line by that row, prints help and completion from it, and calls the function with a
 * struct cli.  A function returns the exit code; it has printed its error by then.
 *
 *     static const struct cli_flag within_flags[] = {
 *         {"within", 0, CLI_DURATION, "TIME", "only messages that expire within TIME"}, {0}};
 *     const struct cli_command ttl_commands[] = {
 *         {.name = "ttl ls", .args = "STREAM", .about = "list deadlines", .flags = within_flags,
 *          .example = "mayfly ttl ls drafts --within 1h\n", .run = list_deadlines}, {0}}; */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/base.h"

#include "cli/term.h"

/* Exit codes of every command. */
enum {
    CLI_OK = 0,
    CLI_FOUND = 1,     /* done, and something was found that scripts should react to */
    CLI_USAGE = 2,     /* command line wrong, server not reachable, no answer */
    CLI_NOT_FOUND = 3, /* stream, message, key, job */
    CLI_REFUSED = 4,   /* by the server */
    CLI_DENIED = 5     /* no permission */
};

enum cli_kind {
    CLI_SWITCH,   /* --all */
    CLI_TEXT,     /* --filter TEXT */
    CLI_TEXTS,    /* may be given several times */
    CLI_NUMBER,   /* a whole number from 0 on */
    CLI_DURATION, /* 90s, 1h30m, 7d */
    CLI_SIZE      /* bytes: 512, 64K, 10MB, 1GiB */
};

struct cli_flag {
    const char *name; /* without the dashes; NULL ends a table */
    char letter;      /* of the short form, or 0 */
    enum cli_kind kind;
    const char *value; /* its name in the help, NULL for a switch */
    const char *about;
};

struct cli;
struct cli_command {
    const char *name;  /* "ttl stats"; NULL ends a table */
    const char *args;  /* "STREAM [KEY]", "FILE..."; NULL: none */
    const char *about; /* one line for lists */
    const char *help;  /* more lines, or NULL */
    const struct cli_flag *flags;
    const char *example; /* lines */
    int (*run)(struct cli *c);
    int (*run_raw)(int argc, char **argv); /* instead of run: parses its own command line */
};

struct cli_given;
struct cli_connection;
struct cli {
    const struct cli_command *command;
    char **args; /* as many as the command's row allows */
    int nargs;
    bool json; /* --json: one document on stdout */
    struct term term;
    struct cli_given *given; /* flags on the command line */
    size_t ngiven, given_cap;
    struct cli_connection *connection; /* NULL until connect_open() */
    const struct cli_command *const *tables;
};

/* Parses the command line, runs the command, and returns its exit code.  tables ends with NULL. */
int cli_main(const struct cli_command *const *tables, int argc, char **argv);

/* Flags of the command or global ones.  The kind was checked while parsing; a name that is in no
 * table is a bug (assert).  Texts belong to the command line. */
bool cli_on(const struct cli *c, const char *flag);          /* a switch was given */
const char *cli_text(const struct cli *c, const char *flag); /* NULL: not given */
/* The i-th value of a flag that may be given several times; NULL behind the last. */
const char *cli_text_at(const struct cli *c, const char *flag, size_t i);
int64_t cli_number(const struct cli *c, const char *flag, int64_t otherwise);
int64_t cli_duration(const struct cli *c, const char *flag, int64_t otherwise_ns);
int64_t cli_size(const struct cli *c, const char *flag, int64_t otherwise);
/* The argument, or NULL if there are fewer. */
const char *cli_arg(const struct cli *c, int i);

/* Prints "mayfly: ..." to stderr and returns `code`. */
int cli_fail(struct cli *c, int code, const char *fmt, ...) MF_PRINTF(3, 4);
/* The same for a mistake on the command line: adds how to get help, returns CLI_USAGE. */
int cli_usage(struct cli *c, const char *fmt, ...) MF_PRINTF(2, 3);

/* Whether Ctrl-C or SIGTERM came.  Commands that wait look at it at least every 200 ms. */
bool cli_interrupted(void);

/* Texts of flags.  0 or MF_INVAL. */
MF_MUSTCHECK int cli_parse_duration(const char *text, int64_t *ns);
MF_MUSTCHECK int cli_parse_size(const char *text, int64_t *bytes);

/* The commands of the frame itself: help, completion, version. */
extern const struct cli_command help_commands[];

#endif
