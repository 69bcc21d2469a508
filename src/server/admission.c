/* admission.c: the limit of connections, and the connection that is closed at the limit.
 *
 * Connections and the files of streams share the descriptors of the process.  A part of them is
 * reserved for files, so that clients cannot stop a stream from writing.  A client that sent
 * neither CONNECT nor any other command is unknown: as in nats-server, it may stay silent where no
 * credentials are required, but at the limit the oldest unknown client whose time to connect is
 * over is closed for the new one. */
#include "server/server_impl.h"

#include "base/log.h"

#include <sys/resource.h>

#define KEPT_LEAST 16
#define KEPT_MOST  1024

/* Descriptors that this server may use. */
static uint64_t guest_file_limit(const struct server_guest *g)
{
    struct rlimit files;
    uint64_t most = UINT64_MAX;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY)
        most = files.rlim_cur;
    return g->files_max > 0 && g->files_max < most ? g->files_max : most;
}

/* The soft limit is often 1024 for programs that use select(); mayflyd does not. nats-server
 * raises its limit, too. */
static uint64_t raise_file_limit(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return UINT64_MAX;
    if (files.rlim_cur < files.rlim_max) {
        rlim_t before = files.rlim_cur;
        files.rlim_cur = files.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &files) != 0)
            files.rlim_cur = before;
    }
    return files.rlim_cur == RLIM_INFINITY ? UINT64_MAX : (uint64_t)files.rlim_cur;
}

void admission_init(struct server *s)
{
    const struct server_guest *g = s->setup.guest;
    uint64_t files = g != NULL ? guest_file_limit(g) : raise_file_limit(), kept = files / 4;

    kept = kept < KEPT_LEAST ? KEPT_LEAST : kept > KEPT_MOST ? KEPT_MOST : kept;
    s->files_kept = (unsigned)kept;
    s->files_max = files;
    mf_list_init(&s->unknown);
}

uint64_t admission_limit(const struct server *s)
{
    uint64_t most = s->files_max > s->files_kept ? s->files_max - s->files_kept : 0;
    int64_t wanted = s->opts->max_connections;

    if (wanted < 0)
        return 0;
    return wanted > 0 && (uint64_t)wanted < most ? (uint64_t)wanted : most;
}

void admission_log(struct server *s)
{
    net_keep_files(s->loop, s->files_kept);
    if (s->opts->max_connections < 0)
        return;
    if (admission_limit(s) < (uint64_t)s->opts->max_connections)
        log_warn("At most %llu connections, not %lld: of %llu descriptors (ulimit -n) %u are kept "
                 "for files",
                 (unsigned long long)admission_limit(s), (long long)s->opts->max_connections,
                 (unsigned long long)s->files_max, s->files_kept);
    else
        log_info("At most %llu connections; of %llu descriptors %u are kept for files",
                 (unsigned long long)admission_limit(s), (unsigned long long)s->files_max,
                 s->files_kept);
}

void admission_add(struct client *c)
{
    mf_list_push(&c->srv->unknown, &c->unknown_link);
}

void admission_remove(struct client *c)
{
    mf_list_del(&c->unknown_link);
}

/* Closes the oldest unknown client whose time is over. */
static bool make_room(struct server *s)
{
    struct mf_list *pos;

    mf_list_each(pos, &s->unknown)
    {
        struct client *c = mf_container(pos, struct client, unknown_link);
        if (c->phase == CLIENT_CLOSING || c->phase == CLIENT_CHECKING)
            continue;
        if (loop_mono_ns(s->loop) - c->start_mono_ns < client_auth_timeout(c))
            return false; /* the others are younger */
        client_send_err(c, "Authentication Timeout");
        client_close(c, NULL,
                     REASON_AUTH_TIMEOUT); /* without lingering: its descriptor is needed */
        return true;
    }
    return false;
}

bool admission_allows(const struct client *c)
{
    struct server *s = c->srv;
    bool many = s->nclients > admission_limit(s);

    return (!many && !net_conn_crowds(c->conn)) || (admission_limit(s) > 0 && make_room(s));
}
