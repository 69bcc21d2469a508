/* unix_listen.c: clients without a network: the socket of the file system, sockets that the service
 * manager opened, and connections inside the process. */
#include "server/server_impl.h"

#include "base/log.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>

#define NAMES_ROOM 4096 /* of one entry of passwd or group */

static void accept_client(void *arg, struct net_conn *c)
{
    client_accept(arg, c);
}

/* A name, or a number. */
static int find_user(const char *name, unsigned *uid, struct mf_error *e)
{
    struct passwd entry, *found = NULL;
    char room[NAMES_ROOM];
    uint64_t n;

    *uid = NET_SAME;
    if (name == NULL || name[0] == '\0')
        return 0;
    if (mf_parse_u64(mf_str(name), &n) == 0 && n < NET_SAME) {
        *uid = (unsigned)n;
        return 0;
    }
    if (getpwnam_r(name, &entry, room, sizeof room, &found) != 0 || found == NULL)
        return mf_fail(e, MF_INVAL, "unix_socket owner: no user %s", name);
    *uid = found->pw_uid;
    return 0;
}

static int find_group(const char *name, unsigned *gid, struct mf_error *e)
{
    struct group entry, *found = NULL;
    char room[NAMES_ROOM];
    uint64_t n;

    *gid = NET_SAME;
    if (name == NULL || name[0] == '\0')
        return 0;
    if (mf_parse_u64(mf_str(name), &n) == 0 && n < NET_SAME) {
        *gid = (unsigned)n;
        return 0;
    }
    if (getgrnam_r(name, &entry, room, sizeof room, &found) != 0 || found == NULL)
        return mf_fail(e, MF_INVAL, "unix_socket group: no group %s", name);
    *gid = found->gr_gid;
    return 0;
}

int unix_check(const struct options *o, struct mf_error *e)
{
    unsigned id;

    if (find_user(o->unix_socket.owner, &id, e) != 0 ||
        find_group(o->unix_socket.group, &id, e) != 0)
        return e->code;
    return 0;
}

int unix_listen(struct server *s, struct mf_error *e)
{
    const struct options_unix *o = &s->opts->unix_socket;
    struct net_unix u = {.path = o->path, .mode = (unsigned)o->mode};

    if (o->path == NULL)
        return 0;
    if (find_user(o->owner, &u.uid, e) != 0 || find_group(o->group, &u.gid, e) != 0 ||
        net_listen_unix(&s->unix_listener, s->loop, &u, accept_client, s, e) != 0)
        return e->code;
    log_info("Listening for client connections on unix:%s", o->path);
    return 0;
}

int inherited_listen(struct server *s, struct mf_error *e)
{
    for (size_t i = 0; i < s->setup.nfds && i < SERVER_FDS; i++) {
        struct net_listener **l = &s->inherited[i];
        if (net_listen_fd(l, s->loop, s->setup.fds[i], accept_client, s, e) != 0)
            return mf_wrap(e, "socket of the service manager");
        if (net_listener_path(*l) != NULL)
            log_info("Listening for client connections on unix:%s, opened by the service manager",
                     net_listener_path(*l));
        else
            log_info("Listening for client connections on %s:%d, opened by the service manager",
                     net_listener_host(*l), net_listener_port(*l));
    }
    return 0;
}

void unix_close(struct server *s)
{
    net_listener_close(s->unix_listener);
    s->unix_listener = NULL;
    for (size_t i = 0; i < SERVER_FDS; i++) {
        net_listener_close(s->inherited[i]);
        s->inherited[i] = NULL;
    }
}

int server_adopt(struct server *s, int fd, struct mf_error *e)
{
    struct net_conn *c;

    if (net_adopt(&c, s->loop, fd, "in-process", e) != 0)
        return e->code;
    client_accept(s, c);
    return 0;
}
