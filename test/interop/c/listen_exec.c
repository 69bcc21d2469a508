/* listen_exec.c PATH PROGRAM ARGUMENT...: opens two sockets as a service manager does, a port of
 * 127.0.0.1 and PATH, prints the port, and becomes PROGRAM with them as descriptors 3 and 4. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    socklen_t len = sizeof in;
    int tcp = socket(AF_INET, SOCK_STREAM, 0), local = socket(AF_UNIX, SOCK_STREAM, 0);
    char pid[32];

    if (argc < 3 || strlen(argv[1]) >= sizeof un.sun_path)
        return 2;
    memcpy(un.sun_path, argv[1], strlen(argv[1]));
    if (bind(tcp, (struct sockaddr *)&in, sizeof in) != 0 || listen(tcp, 16) != 0 ||
        bind(local, (struct sockaddr *)&un, sizeof un) != 0 || listen(local, 16) != 0 ||
        getsockname(tcp, (struct sockaddr *)&in, &len) != 0)
        return 1;
    printf("%d\n", ntohs(in.sin_port));
    fflush(stdout);
    tcp = dup2(tcp, 10);
    local = dup2(local, 11);
    if (dup2(tcp, 3) != 3 || dup2(local, 4) != 4)
        return 1;
    close(tcp);
    close(local);
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", "2", 1);
    execv(argv[2], argv + 2);
    return 1;
}
