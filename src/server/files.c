/* files.c: the pid file and the ports file, by which other programs find the server. */
#include "server/server_impl.h"

#include "codec/jsonw.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A device, a pipe or a link that stands there already is written to, never replaced. */
static bool is_special(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static int write_file(const char *path, struct mf_slice text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644);
    bool ok;

    if (fd < 0)
        return MF_IO;
    ok = write(fd, text.ptr, text.len) == (ssize_t)text.len;
    return close(fd) == 0 && ok ? 0 : MF_IO;
}

/* Written beside and renamed, so that a reader sees all of it or nothing. */
static int write_whole(const char *path, struct mf_slice text, struct mf_error *e)
{
    char part[4096];
    bool special = is_special(path);

    if (snprintf(part, sizeof part, "%s%s", path, special ? "" : ".part") >= (int)sizeof part)
        return mf_fail(e, MF_INVAL, "%s: path too long", path);
    errno = ENOSPC; /* what a short write means */
    if (write_file(part, text) == 0 && (special || rename(part, path) == 0))
        return 0;
    mf_fail_errno(e, MF_IO, "write %s", path);
    if (!special)
        (void)unlink(part);
    return MF_IO;
}

static int pid_write(struct server *s, struct mf_error *e)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%ld", (long)getpid());

    if (write_whole(s->opts->pid_file, mf_slice(text, (size_t)n), e) != 0)
        return e->code;
    s->pid_path = mf_slice_dup(mf_str(s->opts->pid_file));
    return 0;
}

/* "any" is shown as an address a local reader can use. */
static void port_entry(struct jsonw *w, const char *key, const char *scheme, const char *host,
                       int port)
{
    char url[512];
    bool any = host == NULL || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
    bool v6 = !any && strchr(host, ':') != NULL;

    snprintf(url, sizeof url, "%s://%s%s%s:%d", scheme, v6 ? "[" : "", any ? "127.0.0.1" : host,
             v6 ? "]" : "", port);
    jsonw_array(w, key);
    jsonw_str(w, NULL, url);
    jsonw_end(w);
}

static void ports_render(struct server *s, struct mf_buf *out)
{
    struct jsonw w;
    struct net_listener *cluster = s->idle_listeners[1];

    jsonw_begin(&w, out, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    if (s->listener != NULL)
        port_entry(&w, "nats", s->tls != NULL ? "tls" : "nats", net_listener_host(s->listener),
                   net_listener_port(s->listener));
    if (s->http != NULL)
        port_entry(&w, "monitoring", "http", monitor_host(s->http), monitor_port(s->http));
    else if (s->https != NULL)
        port_entry(&w, "monitoring", "https", monitor_host(s->https), monitor_port(s->https));
    if (cluster != NULL)
        port_entry(&w, "cluster", "nats", net_listener_host(cluster), net_listener_port(cluster));
    if (s->ws_listener != NULL)
        port_entry(&w, "websocket", s->ws_tls != NULL ? "wss" : "ws",
                   net_listener_host(s->ws_listener), net_listener_port(s->ws_listener));
    jsonw_end(&w);
}

static void ports_path(const struct server *s, char *dst, size_t cap)
{
    const char *base = s->setup.program != NULL ? strrchr(s->setup.program, '/') : NULL;

    base = base != NULL ? base + 1 : s->setup.program != NULL ? s->setup.program : "mayflyd";
    snprintf(dst, cap, "%s/%s_%ld.ports", s->opts->ports_file_dir, base, (long)getpid());
}

static int ports_write(struct server *s, struct mf_error *e)
{
    struct mf_buf b = MF_BUF_INIT;
    char path[4096];
    int rv;

    ports_path(s, path, sizeof path);
    ports_render(s, &b);
    rv = write_whole(path, mf_buf_slice(&b), e);
    mf_buf_fini(&b);
    if (rv == 0)
        s->ports_path = mf_slice_dup(mf_str(path));
    return rv;
}

int files_write(struct server *s, struct mf_error *e)
{
    if (s->opts->pid_file != NULL && pid_write(s, e) != 0)
        return e->code;
    if (s->opts->ports_file_dir != NULL && ports_write(s, e) != 0)
        return e->code;
    return 0;
}

static void file_remove(char **path)
{
    if (*path != NULL && !is_special(*path) && unlink(*path) != 0 && errno != ENOENT)
        log_warn("remove %s: %s", *path, strerror(errno));
    free(*path);
    *path = NULL;
}

void files_remove(struct server *s)
{
    file_remove(&s->pid_path);
    file_remove(&s->ports_path);
}

static bool has_moved(const char *from, const char *to)
{
    return strcmp(from != NULL ? from : "", to != NULL ? to : "") != 0;
}

void files_move(struct server *s, const struct options *old)
{
    struct mf_error e;

    if (has_moved(old->pid_file, s->opts->pid_file)) {
        file_remove(&s->pid_path);
        if (s->opts->pid_file != NULL && pid_write(s, &e) != 0)
            log_error("Failed to write the pid file: %s", e.text);
    }
    if (has_moved(old->ports_file_dir, s->opts->ports_file_dir)) {
        file_remove(&s->ports_path);
        if (s->opts->ports_file_dir != NULL && ports_write(s, &e) != 0)
            log_error("Failed to write the ports file: %s", e.text);
    }
}
