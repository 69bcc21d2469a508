/* passwd.c: see passwd.h. */
#include "cli/ops/passwd.h"

#include "base/rand.h"

#include <crypt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#define COST_DEFAULT 11 /* as in the nats CLI */
#define BCRYPT_MAX   72
#define MINOR        2 /* where the letter of "$2b$" stands */

const struct cli_flag passwd_flags[] = {
    {"stdin", 0, CLI_SWITCH, NULL, "read the password from standard input, one line"},
    {"cost", 0, CLI_NUMBER, "N", "work of a comparison, 4 to 31, each step doubles it (11)"},
    {"name", 0, CLI_TEXT, "NAME", "user name in the lines for the configuration (alice)"},
    {0},
};

int passwd_hash(char dst[PASSWD_TEXT], struct mf_slice password, unsigned cost, struct mf_error *e)
{
    char setting[CRYPT_GENSALT_OUTPUT_SIZE], text[BCRYPT_MAX + 1], salt[16];
    struct crypt_data *work;
    const char *hash = NULL;

    if (cost < 4 || cost > 31)
        return mf_fail(e, MF_INVAL, "the cost is a number from 4 to 31");
    if (password.len == 0)
        return mf_fail(e, MF_INVAL, "the password is empty");
    if (password.len > BCRYPT_MAX)
        return mf_fail(e, MF_LIMIT, "bcrypt reads %d bytes of a password; this one has %zu",
                       BCRYPT_MAX, password.len);
    if (memchr(password.ptr, '\0', password.len) != NULL)
        return mf_fail(e, MF_INVAL, "the password holds a NUL");
    work = calloc(1, sizeof *work);
    if (work == NULL)
        return mf_fail(e, MF_NOMEM, "password");
    memcpy(text, password.ptr, password.len);
    text[password.len] = '\0';
    rand_bytes(salt, sizeof salt);
    /* "2b" of libcrypt is computed as every server computes "2a"; libcrypt's own "2a" would add a
     * countermeasure against an old bug.  Both are the same for the letters of a password. */
    if (crypt_gensalt_rn("$2b$", cost, salt, sizeof salt, setting, sizeof setting) != NULL)
        hash = crypt_r(text, setting, work);
    if (hash != NULL && strlen(hash) == PASSWD_TEXT - 1) {
        memcpy(dst, hash, PASSWD_TEXT);
        dst[MINOR] = 'a';
    } else
        hash = NULL;
    explicit_bzero(text, sizeof text);
    explicit_bzero(work, sizeof *work);
    free(work);
    return hash != NULL ? 0 : mf_fail(e, MF_UNSUPPORTED, "libcrypt knows no bcrypt");
}

/* --- asking ----------------------------------------------------------------------------------- */

/* A password as it was typed.  len counts all bytes of the line; text keeps what fits, which is
 * more than passwd_hash() accepts. */
struct secret {
    char text[256];
    size_t len;
};

/* One line without its end; false at the end of the input. */
static bool read_line(FILE *f, struct secret *s)
{
    int ch;

    s->len = 0;
    while ((ch = fgetc(f)) != EOF && ch != '\n') {
        if (s->len < sizeof s->text)
            s->text[s->len] = (char)ch;
        s->len++;
    }
    if (s->len > 0 && s->len <= sizeof s->text && s->text[s->len - 1] == '\r')
        s->len--;
    return ch != EOF || s->len > 0;
}

/* Asks on the terminal, without echo. */
static bool ask_secret(FILE *tty, const char *question, struct secret *out)
{
    struct termios saved, quiet;
    bool changed, ok;

    (void)fputs(question, tty);
    (void)fflush(tty);
    changed = tcgetattr(fileno(tty), &saved) == 0;
    if (changed) {
        quiet = saved;
        quiet.c_lflag &= ~(tcflag_t)ECHO;
        changed = tcsetattr(fileno(tty), TCSAFLUSH, &quiet) == 0;
    }
    ok = read_line(tty, out) && !cli_interrupted();
    if (changed)
        (void)tcsetattr(fileno(tty), TCSAFLUSH, &saved);
    (void)fputc('\n', tty);
    return ok;
}

static int ask_twice(struct cli *c, struct secret *out)
{
    FILE *tty = isatty(STDIN_FILENO) == 1 ? fopen("/dev/tty", "r+e") : NULL;
    struct secret again;
    int rc = 0;

    if (tty == NULL)
        return cli_usage(c, "there is no terminal to ask on; give the password with --stdin");
    if (!ask_secret(tty, "Password: ", out) || !ask_secret(tty, "Once more: ", &again))
        rc = cli_fail(c, CLI_USAGE, "no password was given");
    else if (out->len != again.len ||
             memcmp(out->text, again.text,
                    out->len < sizeof out->text ? out->len : sizeof out->text) != 0)
        rc = cli_fail(c, CLI_USAGE, "the two passwords differ; nothing was made");
    explicit_bzero(&again, sizeof again);
    (void)fclose(tty);
    return rc;
}

int passwd_run(struct cli *c)
{
    const char *name = cli_text(c, "name") == NULL ? "alice" : cli_text(c, "name");
    int64_t cost = cli_number(c, "cost", COST_DEFAULT);
    struct secret password = {.len = 0};
    char text[PASSWD_TEXT];
    struct mf_error e;
    json_t *doc;
    int rc = 0;

    if (cost < 4 || cost > 31)
        return cli_usage(c, "--cost is a number from 4 to 31");
    if (!cli_on(c, "stdin"))
        rc = ask_twice(c, &password);
    else if (!read_line(stdin, &password))
        rc = cli_fail(c, CLI_USAGE, "standard input holds no password");
    if (rc == 0 &&
        passwd_hash(text, mf_slice(password.text, password.len), (unsigned)cost, &e) != 0)
        rc = cli_fail(c, CLI_USAGE, "%s", e.text);
    explicit_bzero(&password, sizeof password);
    if (rc != 0)
        return rc;
    if (c->json) {
        doc = json_pack("{s:s, s:I}", "bcrypt", text, "cost", (json_int_t)cost);
        (void)json_dumpf(doc, stdout, JSON_COMPACT);
        (void)putchar('\n');
        json_decref(doc);
        return CLI_OK;
    }
    (void)puts(text);
    if (c->term.tty)
        (void)printf("\nIn the configuration:\n\n"
                     "authorization {\n  users: [ { user: %s, password: \"%s\" } ]\n}\n",
                     name, text);
    return CLI_OK;
}
