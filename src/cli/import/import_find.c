/* import_find.c: which folders below DIR are streams of nats-server?
 *
 *     STORE_DIR/jetstream/ACCOUNT/streams/NAME
 *
 * DIR may be any of these folders. */
#include "cli/import/import_impl.h"

#include "base/array.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_MAX_BYTES 4096

static bool join_path(char out[PATH_MAX_BYTES], const char *dir, const char *name)
{
    return snprintf(out, PATH_MAX_BYTES, "%s/%s", dir, name) < PATH_MAX_BYTES;
}

static bool is_folder(const char *dir, const char *name)
{
    char path[PATH_MAX_BYTES];
    struct stat st;

    return join_path(path, dir, name) && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_file(const char *dir, const char *name)
{
    char path[PATH_MAX_BYTES];

    return join_path(path, dir, name) && access(path, F_OK) == 0;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

static int no_memory(struct import *m)
{
    return cli_fail(m->c, CLI_USAGE, "%s", mf_err_text(MF_NOMEM));
}

/* --- streams -------------------------------------------------------------------------------- */

static int add_stream(struct import *m, const char *dir)
{
    struct import_stream *x;

    if (mf_array_reserve(&m->streams, &m->cap, m->n + 1, sizeof *m->streams) != 0)
        return no_memory(m);
    x = &m->streams[m->n];
    *x = (struct import_stream){.dir = strdup(dir), .folder = strdup(last_part(dir))};
    m->n++;
    return x->dir == NULL || x->folder == NULL ? no_memory(m) : 0;
}

static bool is_wanted(const struct import *m, const char *name)
{
    const char *want;

    for (size_t i = 0; (want = cli_text_at(m->c, "stream", i)) != NULL; i++)
        if (strcmp(want, name) == 0)
            return true;
    return cli_text_at(m->c, "stream", 0) == NULL;
}

/* Each --stream must be there. */
static int check_wanted(struct import *m)
{
    const char *want;

    for (size_t i = 0; (want = cli_text_at(m->c, "stream", i)) != NULL; i++) {
        bool found = false;

        for (size_t j = 0; j < m->n; j++)
            found = found || strcmp(m->streams[j].folder, want) == 0;
        if (!found)
            return cli_fail(m->c, CLI_NOT_FOUND,
                            "account %s of the store has no stream %s on disk (streams in memory "
                            "leave nothing there); without --stream all streams are listed",
                            m->account, want);
    }
    return 0;
}

static int add_streams(struct import *m, const char *account_dir)
{
    char streams[PATH_MAX_BYTES], one[PATH_MAX_BYTES];
    struct dirent **list;
    int n, rc = 0;

    (void)join_path(streams, account_dir, "streams");
    n = scandir(streams, &list, NULL, alphasort);
    if (n < 0)
        return cli_fail(m->c, CLI_USAGE, "%s cannot be read", streams);
    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;

        if (rc == 0 && name[0] != '.' && is_wanted(m, name) && join_path(one, streams, name) &&
            is_folder(streams, name))
            rc = add_stream(m, one);
        free(list[i]);
    }
    free(list);
    return rc != 0 ? rc : check_wanted(m);
}

/* --- accounts ------------------------------------------------------------------------------- */

static int list_accounts(struct import *m, const char *dir)
{
    struct dirent **list;
    int n = scandir(dir, &list, NULL, alphasort), rc = 0;
    char path[PATH_MAX_BYTES];

    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;
        char *copy;

        if (rc == 0 && name[0] != '.' && join_path(path, dir, name) && is_folder(path, "streams")) {
            copy = strdup(name);
            if (copy == NULL || mf_array_reserve(&m->accounts, &m->accounts_cap, m->naccounts + 1,
                                                 sizeof *m->accounts) != 0) {
                free(copy);
                rc = no_memory(m);
            } else {
                m->accounts[m->naccounts++] = copy;
            }
        }
        free(list[i]);
    }
    if (n >= 0)
        free(list);
    return rc;
}

static bool has_account(const struct import *m, const char *name)
{
    for (size_t i = 0; i < m->naccounts; i++)
        if (strcmp(m->accounts[i], name) == 0)
            return true;
    return false;
}

static int name_accounts(struct import *m, int code, const char *what)
{
    struct mf_buf names = MF_BUF_INIT;
    int rc;

    for (size_t i = 0; i < m->naccounts; i++)
        mf_buf_printf(&names, "%s%s", i > 0 ? ", " : "", m->accounts[i]);
    rc = cli_fail(m->c, code,
                  "%s; the store has %s: run once for each, with --account NAME and a user of the "
                  "account that shall get its streams",
                  what, mf_buf_cstr(&names));
    mf_buf_fini(&names);
    return rc;
}

/* The one that was asked for, or the only one. */
static int choose_account(struct import *m)
{
    const char *want = cli_text(m->c, "account");
    char what[400];

    if (want != NULL && !has_account(m, want)) {
        (void)snprintf(what, sizeof what, "no account %s", want);
        return name_accounts(m, CLI_NOT_FOUND, what);
    }
    if (want == NULL && m->naccounts == 1)
        want = m->accounts[0];
    if (want == NULL && m->naccounts > 1)
        return name_accounts(m, CLI_USAGE, "streams of several accounts");
    (void)snprintf(m->account, sizeof m->account, "%s", want);
    return 0;
}

static int find_in_accounts(struct import *m, const char *dir)
{
    char path[PATH_MAX_BYTES];
    int rc = list_accounts(m, dir);

    if (rc == 0 && m->naccounts == 0)
        return cli_fail(m->c, CLI_NOT_FOUND,
                        "%s is no store of nats-server: there is no jetstream/ACCOUNT/streams "
                        "below it; name the store_dir of its configuration",
                        m->dir);
    if (rc == 0)
        rc = choose_account(m);
    if (rc == 0)
        rc = join_path(path, dir, m->account) ? add_streams(m, path) : no_memory(m);
    return rc;
}

int import_find(struct import *m)
{
    char path[PATH_MAX_BYTES], real[PATH_MAX_BYTES];

    if (realpath(m->dir, real) == NULL)
        return cli_fail(m->c, CLI_NOT_FOUND, "%s: no such folder", m->dir);
    if (is_file(real, "meta.inf") || is_file(real, "meta.key") || is_folder(real, "msgs"))
        return add_stream(m, real);
    if (is_folder(real, "streams")) {
        (void)snprintf(m->account, sizeof m->account, "%.255s", last_part(real));
        return add_streams(m, real);
    }
    if (is_folder(real, "jetstream") && join_path(path, real, "jetstream"))
        return find_in_accounts(m, path);
    return find_in_accounts(m, real);
}
