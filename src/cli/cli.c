/* cli.c: the frame of the tool: parses the command line by the row of its command and runs it. */
#include "cli/cli_impl.h"

#include "base/array.h"

#include "cli/connect.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* --- errors ----------------------------------------------------------------------------------- */

static void print_failure(const char *fmt, va_list ap)
{
    struct mf_buf text = MF_BUF_INIT, safe = MF_BUF_INIT;

    mf_buf_vprintf(&text, fmt, ap);
    term_safe(&safe, mf_buf_slice(&text));
    (void)fflush(stdout);
    (void)fprintf(stderr, "mayfly: %s\n", mf_buf_cstr(&safe));
    mf_buf_fini(&text);
    mf_buf_fini(&safe);
}

int cli_fail(struct cli *c, int code, const char *fmt, ...)
{
    va_list ap;

    (void)c;
    va_start(ap, fmt);
    print_failure(fmt, ap);
    va_end(ap);
    return code;
}

int cli_usage(struct cli *c, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    print_failure(fmt, ap);
    va_end(ap);
    if (c->command != NULL)
        (void)fprintf(stderr, "usage: mayfly %s%s%s [FLAGS]   (mayfly %s --help says more)\n",
                      c->command->name, c->command->args == NULL ? "" : " ",
                      c->command->args == NULL ? "" : c->command->args, c->command->name);
    return CLI_USAGE;
}

/* --- interrupts ------------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void note_signal(int sig)
{
    /* The second one ends the program at once. */
    if (interrupted) {
        (void)signal(sig, SIG_DFL);
        (void)raise(sig); /* taken when this handler returns */
    }
    interrupted = 1;
}

bool cli_interrupted(void)
{
    return interrupted != 0;
}

static void catch_signals(void)
{
    struct sigaction sa = {.sa_handler = note_signal};

    (void)sigemptyset(&sa.sa_mask);
    (void)sigaction(SIGINT, &sa, NULL);
    (void)sigaction(SIGTERM, &sa, NULL);
    (void)signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of fflush() at the end */
}

/* --- values ----------------------------------------------------------------------------------- */

/* The occurrence of a flag after `skip` others, or NULL. */
static const struct cli_given *find_given(const struct cli *c, const char *flag, size_t skip)
{
    assert(cli_find_flag(c->command, flag, strlen(flag)) != NULL);
    for (size_t i = 0; i < c->ngiven; i++)
        if (strcmp(c->given[i].flag->name, flag) == 0 && skip-- == 0)
            return &c->given[i];
    return NULL;
}

bool cli_on(const struct cli *c, const char *flag)
{
    return find_given(c, flag, 0) != NULL;
}

const char *cli_text_at(const struct cli *c, const char *flag, size_t i)
{
    const struct cli_given *g = find_given(c, flag, i);

    return g == NULL ? NULL : g->text;
}

const char *cli_text(const struct cli *c, const char *flag)
{
    return cli_text_at(c, flag, 0);
}

int64_t cli_number(const struct cli *c, const char *flag, int64_t otherwise)
{
    const struct cli_given *g = find_given(c, flag, 0);

    return g == NULL ? otherwise : g->number;
}

int64_t cli_duration(const struct cli *c, const char *flag, int64_t otherwise_ns)
{
    return cli_number(c, flag, otherwise_ns);
}

int64_t cli_size(const struct cli *c, const char *flag, int64_t otherwise)
{
    return cli_number(c, flag, otherwise);
}

const char *cli_arg(const struct cli *c, int i)
{
    return i < c->nargs ? c->args[i] : NULL;
}

/* --- the command line ------------------------------------------------------------------------- */

static int parse_value(struct cli *c, struct cli_given *g)
{
    const char *name = g->flag->name;
    uint64_t n;

    switch (g->flag->kind) {
    case CLI_NUMBER:
        if (mf_parse_u64(mf_str(g->text), &n) != 0 || n > INT64_MAX)
            return cli_usage(c, "--%s: %s is not a whole number", name, g->text);
        g->number = (int64_t)n;
        return 0;
    case CLI_DURATION:
        if (cli_parse_duration(g->text, &g->number) != 0)
            return cli_usage(c, "--%s: %s is not a duration; write 90s, 1h30m or 7d", name,
                             g->text);
        return 0;
    case CLI_SIZE:
        if (cli_parse_size(g->text, &g->number) != 0)
            return cli_usage(c, "--%s: %s is not a size; write 512, 64K, 10MB or 1GiB", name,
                             g->text);
        return 0;
    default:
        return 0;
    }
}

static int add_given(struct cli *c, const struct cli_flag *flag, const char *text)
{
    struct cli_given *g;

    if (flag->kind != CLI_TEXTS && flag->kind != CLI_SWITCH && cli_on(c, flag->name))
        return cli_usage(c, "--%s is given twice", flag->name);
    if (mf_array_reserve(&c->given, &c->given_cap, c->ngiven + 1, sizeof *c->given) != 0)
        return cli_fail(c, CLI_USAGE, "out of memory");
    g = &c->given[c->ngiven++];
    *g = (struct cli_given){.flag = flag, .text = text};
    return parse_value(c, g);
}

static int refuse_flag(struct cli *c, const char *s)
{
    size_t len = s[1] == '-' ? strcspn(s + 2, "=") : 0;
    const char *near = len == 0 ? NULL : help_suggest_flag(c->command, s + 2, len);

    if (near == NULL)
        return cli_usage(c, "unknown flag %s", s);
    return cli_usage(c, "unknown flag %s; did you mean --%s?", s, near);
}

/* One flag at argv[*i]; *i moves on to its value.  -x, -xVALUE, --name, --name=VALUE. */
static int parse_flag(struct cli *c, int argc, char **argv, int *i)
{
    const char *s = argv[*i], *value = NULL;
    const struct cli_flag *flag;

    if (s[1] == '-') {
        const char *equals = strchr(s, '=');
        size_t len = equals == NULL ? strlen(s + 2) : (size_t)(equals - s - 2);

        flag = cli_find_flag(c->command, s + 2, len);
        value = equals == NULL ? NULL : equals + 1;
    } else {
        flag = cli_find_letter(c->command, s[1]);
        value = s[2] == '\0' ? NULL : s + 2;
    }
    if (flag == NULL)
        return refuse_flag(c, s);
    if (flag->kind == CLI_SWITCH)
        return value == NULL ? add_given(c, flag, NULL)
                             : cli_usage(c, "--%s takes no value", flag->name);
    if (value == NULL && *i + 1 < argc)
        value = argv[++*i];
    if (value == NULL)
        return cli_usage(c, "--%s needs a value: --%s %s", flag->name, flag->name, flag->value);
    return add_given(c, flag, value);
}

/* Flags may stand anywhere; behind "--" everything is an argument. */
static int parse_line(struct cli *c, int argc, char **argv)
{
    int fewest, most, rc;
    bool flags = true;

    for (int i = 0; i < argc; i++) {
        if (flags && strcmp(argv[i], "--") == 0)
            flags = false;
        else if (flags && argv[i][0] == '-' && argv[i][1] != '\0') {
            if ((rc = parse_flag(c, argc, argv, &i)) != 0)
                return rc;
        } else
            c->args[c->nargs++] = argv[i];
    }
    cli_count_args(c->command->args, &fewest, &most);
    if (cli_on(c, "help"))
        return 0;
    if (c->nargs < fewest)
        return cli_usage(c, "%s needs %s", c->command->name, c->command->args);
    if (c->nargs > most)
        return cli_usage(c, "unexpected %s", c->args[most]);
    return 0;
}

/* --- running ---------------------------------------------------------------------------------- */

/* A command that was started without stdout must not get a socket in its place. */
static void fill_standard_files(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
            abort();
}

/* The exit code of a program whose output may be lost.  fflush() knows only of the last piece. */
static int finish_output(int rc)
{
    struct cli c = {.command = NULL};

    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return rc;
    (void)cli_fail(&c, CLI_USAGE, "the output could not be written");
    return rc == CLI_OK ? CLI_USAGE : rc;
}

static int run_command(struct cli *c)
{
    int rc;

    if (cli_on(c, "help")) {
        help_print_command(stdout, c->command);
        return CLI_OK;
    }
    c->json = cli_on(c, "json");
    term_init(&c->term, cli_on(c, "no-color"));
    rc = c->command->run(c);
    connect_close(c);
    return rc;
}

static int refuse_words(const struct cli_command *const *tables, int argc, char **argv)
{
    struct cli c = {.command = NULL};
    const char *near;

    if (argc < 2) {
        help_print_all(stderr, tables);
        return CLI_USAGE;
    }
    if (help_print_group(stderr, tables, argv[1])) {
        near = argc > 2 ? help_suggest(tables, argv[1], argv[2]) : NULL;
        if (near != NULL && argv[2][0] != '-')
            return cli_fail(&c, CLI_USAGE, "there is no command %s %s; did you mean %s %s?",
                            argv[1], argv[2], argv[1], near);
        if (argc > 2 && argv[2][0] != '-')
            return cli_fail(&c, CLI_USAGE, "there is no command %s %s", argv[1], argv[2]);
        return CLI_USAGE;
    }
    near = help_suggest(tables, NULL, argv[1]);
    if (near != NULL)
        return cli_fail(&c, CLI_USAGE, "there is no command %s; did you mean %s?", argv[1], near);
    return cli_fail(&c, CLI_USAGE, "there is no command %s; mayfly help lists them", argv[1]);
}

/* --help and --version before any command. */
static bool run_leading_flag(const struct cli_command *const *tables, int argc, char **argv)
{
    bool help = argc > 1 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0);

    if (help)
        help_print_all(stdout, tables);
    if (!help && argc > 2 && (strcmp(argv[2], "-h") == 0 || strcmp(argv[2], "--help") == 0))
        return help_print_group(stdout, tables, argv[1]);
    return help;
}

/* How many words of argv are global flags with their values, before the command. */
static int count_leading(int argc, char **argv)
{
    static const struct cli_command none = {.name = "mayfly"};
    int n = 0;

    while (n + 1 < argc && argv[n + 1][0] == '-' && argv[n + 1][1] != '\0') {
        const char *s = argv[n + 1];
        bool name = s[1] == '-', joined = name ? strchr(s, '=') != NULL : s[2] != '\0';
        const struct cli_flag *flag =
            name ? cli_find_flag(&none, s + 2, strcspn(s + 2, "=")) : cli_find_letter(&none, s[1]);

        if (flag == NULL || strcmp(flag->name, "help") == 0)
            break;
        n += flag->kind == CLI_SWITCH || joined ? 1 : 2;
    }
    return n < argc ? n : argc - 1;
}

/* Moves `n` flags from before the command to behind its name: mayfly -s URL kv ls.  Where no
 * command follows they say nothing and are left out.  Returns the new argc. */
static int move_leading(const struct cli_command *const *tables, int argc, char **argv, int n)
{
    char **flags = calloc((size_t)n + 1, sizeof *flags);
    int words;

    if (flags == NULL)
        return MF_NOMEM;
    memcpy(flags, argv + 1, (size_t)n * sizeof *flags);
    argc -= n;
    memmove(argv + 1, argv + 1 + n, (size_t)(argc - 1) * sizeof *argv);
    if (cli_find_command(tables, argc, argv, &words) != NULL) {
        memmove(argv + words + n, argv + words, (size_t)(argc - words) * sizeof *argv);
        memcpy(argv + words, flags, (size_t)n * sizeof *flags);
        argc += n;
    }
    free(flags);
    return argc;
}

static int run_line(const struct cli_command *const *tables, int argc, char **argv)
{
    struct cli c = {.tables = tables};
    int words = 1, rc, leading = count_leading(argc, argv);

    if (leading > 0 && leading + 1 < argc)
        argc = move_leading(tables, argc, argv, leading);
    if (argc < 0)
        return cli_fail(&c, CLI_USAGE, "out of memory");
    if (argc > 1 && (strcmp(argv[1], "-v") == 0 || strcmp(argv[1], "--version") == 0))
        argv[1] = (char *)"version";
    c.command = cli_find_command(tables, argc, argv, &words);
    if (c.command == NULL)
        return run_leading_flag(tables, argc, argv) ? CLI_OK : refuse_words(tables, argc, argv);
    if (c.command->run_raw != NULL)
        return c.command->run_raw(argc - words, argv + words);
    catch_signals();
    c.args = calloc((size_t)argc + 1, sizeof *c.args);
    if (c.args == NULL)
        return cli_fail(&c, CLI_USAGE, "out of memory");
    rc = parse_line(&c, argc - words, argv + words);
    if (rc == 0)
        rc = run_command(&c);
    free(c.given);
    free(c.args);
    return rc;
}

int cli_main(const struct cli_command *const *tables, int argc, char **argv)
{
    fill_standard_files();
    return finish_output(run_line(tables, argc, argv));
}
