/* doc_ports.c: moves the fixed ports that a page names to free ones, for machines without network
 * namespaces.
 *
 * Preloaded into every program of a page (lib/doc_page.mjs).  DOC_PORTS is a list of FROM=TO: a
 * program that binds or connects to FROM uses TO, and reads FROM when it asks for the address of
 * its socket, so commands and output stay as the page has them. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* The port that stands beside `port` in DOC_PORTS; back: TO is asked for.  Others stay. */
static in_port_t map_port(in_port_t port, bool back)
{
    const char *p = getenv("DOC_PORTS");

    while (p != NULL && *p != '\0') {
        char *end;
        unsigned long from = strtoul(p, &end, 10), to;

        if (*end != '=')
            return port;
        to = strtoul(end + 1, &end, 10);
        if (port == htons((uint16_t)(back ? to : from)))
            return htons((uint16_t)(back ? from : to));
        p = *end == ',' ? end + 1 : end;
    }
    return port;
}

static void map_address(struct sockaddr_storage *a, bool back)
{
    struct sockaddr_in *four = (struct sockaddr_in *)a;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)a;

    if (a->ss_family == AF_INET)
        four->sin_port = map_port(four->sin_port, back);
    if (a->ss_family == AF_INET6)
        six->sin6_port = map_port(six->sin6_port, back);
}

typedef int (*address_call)(int fd, const struct sockaddr *a, socklen_t n);

static int call_mapped(const char *name, int fd, const struct sockaddr *a, socklen_t n)
{
    address_call real = (address_call)dlsym(RTLD_NEXT, name);
    struct sockaddr_storage copy = {0};

    if (n > sizeof copy)
        return real(fd, a, n);
    memcpy(&copy, a, n);
    map_address(&copy, false);
    return real(fd, (const struct sockaddr *)&copy, n);
}

int bind(int fd, const struct sockaddr *a, socklen_t n)
{
    return call_mapped("bind", fd, a, n);
}

int connect(int fd, const struct sockaddr *a, socklen_t n)
{
    return call_mapped("connect", fd, a, n);
}

int getsockname(int fd, struct sockaddr *a, socklen_t *n)
{
    int (*real)(int, struct sockaddr *, socklen_t *) =
        (int (*)(int, struct sockaddr *, socklen_t *))dlsym(RTLD_NEXT, "getsockname");
    struct sockaddr_storage whole = {0};
    socklen_t size = sizeof whole;
    int rc = real(fd, (struct sockaddr *)&whole, &size);

    if (rc != 0)
        return rc;
    map_address(&whole, true);
    memcpy(a, &whole, *n < size ? *n : size);
    *n = size;
    return 0;
}
