/* check.c: -t: builds everything that can fail from a configuration, then frees it. */
#include "server/server_impl.h"

#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t no_time(void *arg)
{
    (void)arg;
    return 0;
}

/* Could a file of this path be written?  It is not created. */
static int check_file(const char *key, const char *path, struct mf_error *e)
{
    const char *slash = path == NULL ? NULL : strrchr(path, '/');
    char folder[4096] = ".";
    struct stat st;

    if (path == NULL || path[0] == '\0')
        return 0;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return mf_fail(e, MF_INVAL, "%s: %s is a folder", key, path);
    if (access(path, F_OK) == 0)
        return access(path, W_OK) == 0 ? 0 : mf_fail_errno(e, MF_IO, "%s: write %s", key, path);
    if (slash != NULL)
        snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    if (stat(folder, &st) != 0)
        return mf_fail_errno(e, MF_IO, "%s: the folder %s has to exist", key, folder);
    if (!S_ISDIR(st.st_mode))
        return mf_fail(e, MF_INVAL, "%s: %s is not a directory", key, folder);
    return access(folder, W_OK | X_OK) == 0
               ? 0
               : mf_fail_errno(e, MF_IO, "%s: write to %s", key, folder);
}

/* A syslog over the network must be found, or the server does not start. */
static int check_syslog(const struct options *o, struct mf_error *e)
{
    if (o->log_file != NULL || o->remote_syslog == NULL || o->remote_syslog[0] == '\0')
        return 0;
    if (server_open_log(o, NULL, e) != 0)
        return e->code;
    log_close();
    return 0;
}

static int check_files(const struct options *o, struct mf_error *e)
{
    char ports[4096];

    if (check_file("log_file", o->log_file, e) != 0 || check_file("pid_file", o->pid_file, e) != 0)
        return e->code;
    if (o->ports_file_dir == NULL || o->ports_file_dir[0] == '\0')
        return 0;
    snprintf(ports, sizeof ports, "%s/x.ports", o->ports_file_dir);
    return check_file("ports_file_dir", ports, e);
}

int server_check(const struct options *o, void (*say)(void *arg, const char *text), void *arg,
                 struct mf_error *e)
{
    struct accounts *accounts = NULL;
    struct auth *auth = NULL;
    struct net_tls *tls = NULL, *ws_tls = NULL;
    int rv = accounts_new(&accounts, o, no_time, NULL, e);

    if (rv == 0)
        rv = auth_new(&auth, o, e);
    if (rv == 0)
        rv = tls_setup(&tls, &o->tls, e);
    if (rv == 0)
        rv = tls_setup(&ws_tls, &o->websocket.tls, e);
    if (rv == 0)
        rv = check_files(o, e);
    if (rv == 0)
        rv = check_syslog(o, e);
    if (rv == 0)
        rv = unix_check(o, e);
    if (rv == 0)
        rv = ports_check(o, e);
    if (rv == 0)
        rv = ports_probe(o, say, arg, e);
    net_tls_release(ws_tls);
    net_tls_release(tls);
    auth_free(auth);
    accounts_free(accounts);
    return rv;
}
