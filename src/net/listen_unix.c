/* listen_unix.c: sockets of the file system.
 *
 * A server that was killed leaves its socket file behind.  Such a file is replaced, but only if
 * nobody serves it: a connection to it is refused.  Mode and owner are set between bind() and
 * listen(): before listen() no connection succeeds, so nobody slips in. */
#include "net/listen_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void net_listener_name_unix(struct net_listener *l, const struct sockaddr_un *su, socklen_t len)
{
    size_t head = offsetof(struct sockaddr_un, sun_path);
    size_t n = len > head ? strnlen(su->sun_path, len - head) : 0;

    memcpy(l->host, "unix", sizeof "unix");
    /* An abstract or unnamed socket has no path; "" says that it is no port either. */
    l->path = mf_slice_dup(mf_slice(su->sun_path, n));
}

void net_listener_unlink(struct net_listener *l)
{
    struct stat st;

    if (l->made && l->path != NULL && lstat(l->path, &st) == 0 && st.st_dev == l->dev &&
        st.st_ino == l->inode)
        (void)unlink(l->path);
}

static int set_address(struct sockaddr_un *su, const char *path, struct mf_error *e)
{
    size_t n = strlen(path);

    *su = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (n == 0 || n >= sizeof su->sun_path)
        return mf_fail(e, MF_INVAL, "listen unix %s: a path has 1 to %zu bytes", path,
                       sizeof su->sun_path - 1);
    memcpy(su->sun_path, path, n);
    return 0;
}

/* MF_EXISTS: somebody serves the socket, or something else has its name. */
static int remove_stale(const struct sockaddr_un *su, struct mf_error *e)
{
    struct stat st;
    int fd, rc, error;

    if (lstat(su->sun_path, &st) != 0)
        return 0; /* bind() says why it cannot be made */
    if (!S_ISSOCK(st.st_mode))
        return mf_fail(e, MF_EXISTS, "listen unix %s: the file is no socket", su->sun_path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return mf_fail_errno(e, MF_IO, "listen unix %s", su->sun_path);
    rc = connect(fd, (const struct sockaddr *)su, sizeof *su);
    error = errno;
    close(fd);
    if (rc == 0 || error != ECONNREFUSED)
        return mf_fail(e, MF_EXISTS, "listen unix %s: another server listens there", su->sun_path);
    if (unlink(su->sun_path) != 0 && errno != ENOENT)
        return mf_fail_errno(e, MF_IO, "listen unix %s: remove the old socket", su->sun_path);
    return 0;
}

static int prepare_file(int fd, const struct sockaddr_un *su, const struct net_unix *u,
                        struct stat *made, struct mf_error *e)
{
    const char *path = su->sun_path;
    uid_t uid = u->uid == NET_SAME ? (uid_t)-1 : (uid_t)u->uid;
    gid_t gid = u->gid == NET_SAME ? (gid_t)-1 : (gid_t)u->gid;

    if (bind(fd, (const struct sockaddr *)su, sizeof *su) != 0)
        return mf_fail_errno(e, errno == EADDRINUSE ? MF_EXISTS : MF_IO, "listen unix %s", path);
    if (lstat(path, made) != 0)
        return mf_fail_errno(e, MF_IO, "listen unix %s", path);
    if ((uid != (uid_t)-1 || gid != (gid_t)-1) && lchown(path, uid, gid) != 0)
        mf_fail_errno(e, MF_DENIED, "listen unix %s: owner", path);
    else if (chmod(path, u->mode != 0 ? (mode_t)u->mode : 0600) != 0)
        mf_fail_errno(e, MF_IO, "listen unix %s: mode", path);
    else if (listen(fd, NET_BACKLOG) != 0)
        mf_fail_errno(e, MF_IO, "listen unix %s", path);
    else
        return 0;
    (void)unlink(path);
    return e->code;
}

int net_listen_unix(struct net_listener **out, struct loop *l, const struct net_unix *u,
                    void (*accepted)(void *arg, struct net_conn *c), void *arg, struct mf_error *e)
{
    struct sockaddr_un su;
    struct stat made = {0};
    int fd;

    if (set_address(&su, u->path, e) != 0 || remove_stale(&su, e) != 0)
        return e->code;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return mf_fail_errno(e, MF_IO, "listen unix %s", u->path);
    if (prepare_file(fd, &su, u, &made, e) != 0) {
        close(fd);
        return e->code;
    }
    if (net_listener_open(out, l, fd, accepted, arg, e) != 0) {
        (void)unlink(u->path);
        close(fd);
        return mf_wrap(e, "listen unix %s", u->path);
    }
    net_listener_name_unix(*out, &su, sizeof su);
    (*out)->made = true;
    (*out)->dev = made.st_dev;
    (*out)->inode = made.st_ino;
    return 0;
}
