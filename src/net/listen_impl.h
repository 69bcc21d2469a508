/* listen_impl.h: a listener, shared by listen.c and listen_unix.c only. */
#ifndef NET_LISTEN_IMPL_H
#define NET_LISTEN_IMPL_H

#include "net/net_impl.h"

#include <sys/stat.h>
#include <sys/un.h>

#define NET_BACKLOG 4096

struct net_listener {
    struct net_ctx *ctx;
    void (*accepted)(void *arg, struct net_conn *c);
    void *arg;
    struct loop_timer *rest;
    int64_t complained_ns;
    int fd;
    bool closed;
    uint16_t port;
    char host[INET6_ADDRSTRLEN];
    char *path;  /* of a socket of the file system, else NULL */
    bool made;   /* the file is ours to remove */
    dev_t dev;   /* the file that was made: */
    ino_t inode; /* another one of its name is not removed */
    uv_poll_t poll;
};

/* A listener for a socket that listens; fd is the caller's on failure. */
MF_MUSTCHECK int net_listener_open(struct net_listener **out, struct loop *l, int fd,
                                   void (*accepted)(void *arg, struct net_conn *c), void *arg,
                                   struct mf_error *e);
void net_listener_name_unix(struct net_listener *l, const struct sockaddr_un *su, socklen_t len);
void net_listener_unlink(struct net_listener *l); /* the socket file, if it is ours */

#endif
