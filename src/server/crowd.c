/* crowd.c: how many connections there may be, and which of them gives way when there are too many.
 *
 * Descriptors are shared by connections and by the files of streams.  Connections leave a part of
 * them alone (crowd_open), so that clients cannot stop a stream from writing.  A client that sent
 * neither CONNECT nor any other command is a stranger: as nats-server does, it may stay silent
 * where no credentials are asked for, but at the limit the oldest stranger that had its time to
 * connect gives way to the newcomer. */
#include "server/server_impl.h"

#include "base/log.h"

#include <sys/resource.h>

#define KEPT_LEAST 16
#define KEPT_MOST  1024

/* The soft limit is often 1024 for the sake of programs that use select(); we do not, and neither
 * does Go, which does the same for nats-server. */
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

void crowd_init(struct server *s)
{
    uint64_t files = raise_file_limit(), kept = files / 4;

    kept = kept < KEPT_LEAST ? KEPT_LEAST : kept > KEPT_MOST ? KEPT_MOST : kept;
    s->files_kept = (unsigned)kept;
    s->files_max = files;
    mf_list_init(&s->strangers);
}

/* 0: nobody may come in. */
static uint64_t limit(const struct server *s)
{
    uint64_t most = s->files_max > s->files_kept ? s->files_max - s->files_kept : 0;
    int64_t wanted = s->opts->max_connections;

    if (wanted < 0)
        return 0;
    return wanted > 0 && (uint64_t)wanted < most ? (uint64_t)wanted : most;
}

void crowd_open(struct server *s)
{
    net_keep_files(s->loop, s->files_kept);
    if (s->opts->max_connections < 0)
        return;
    if (limit(s) < (uint64_t)s->opts->max_connections)
        log_warn("At most %llu connections, not %lld: of %llu descriptors (ulimit -n) %u are kept "
                 "for files",
                 (unsigned long long)limit(s), (long long)s->opts->max_connections,
                 (unsigned long long)s->files_max, s->files_kept);
    else
        log_info("At most %llu connections; of %llu descriptors %u are kept for files",
                 (unsigned long long)limit(s), (unsigned long long)s->files_max, s->files_kept);
}

void crowd_stranger(struct client *c)
{
    mf_list_push(&c->srv->strangers, &c->stranger_link);
}

void crowd_known(struct client *c)
{
    mf_list_del(&c->stranger_link);
}

/* The oldest stranger that had its time gives way. */
static bool make_room(struct server *s)
{
    struct mf_list *pos;

    mf_list_each(pos, &s->strangers)
    {
        struct client *c = mf_container(pos, struct client, stranger_link);
        if (c->phase == CLIENT_CLOSING || c->phase == CLIENT_CHECKING)
            continue;
        if (loop_mono_ns(s->loop) - c->start_mono_ns < client_auth_timeout(c))
            return false; /* the others are younger */
        client_send_err(c, "Authentication Timeout");
        client_close(c, NULL, REASON_AUTH_TIMEOUT); /* its descriptor is wanted soon */
        return true;
    }
    return false;
}

bool crowd_admits(const struct client *c)
{
    struct server *s = c->srv;
    bool many = s->nclients > limit(s);

    return (!many && !net_conn_crowds(c->conn)) || (limit(s) > 0 && make_room(s));
}
