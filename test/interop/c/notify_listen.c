/* notify_listen.c: a service manager's end of $NOTIFY_SOCKET: prints each datagram as one line, its
 * lines joined by spaces.  usage: notify_listen PATH, or @NAME for an abstract socket. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

int main(int argc, char **argv)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    size_t len = argc == 2 ? strlen(argv[1]) : 0;
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    char text[4096];
    ssize_t n;

    if (len < 2 || len >= sizeof a.sun_path)
        return 2;
    memcpy(a.sun_path, argv[1], len);
    if (a.sun_path[0] == '@')
        a.sun_path[0] = '\0';
    if (bind(fd, (struct sockaddr *)&a,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) != 0) {
        perror("bind");
        return 1;
    }
    printf("listening\n");
    fflush(stdout);
    while ((n = recv(fd, text, sizeof text, 0)) >= 0) {
        for (ssize_t i = 0; i < n; i++)
            putchar(text[i] == '\n' ? ' ' : text[i]);
        putchar('\n');
        fflush(stdout);
    }
    return 0;
}
