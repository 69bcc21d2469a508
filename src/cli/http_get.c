/* http_get.c: one blocking HTTP/1.0 request.  1.0, so that the end of the connection is the end of
 * the body and there are no chunks. */
#include "cli/http_get.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define SCHEME "http://"

/* Copies n bytes and a NUL, or refuses what does not fit. */
static int copy_text(char *dst, size_t cap, const char *src, size_t n)
{
    if (n >= cap)
        return MF_LIMIT;
    memcpy(dst, src, n);
    dst[n] = '\0';
    return 0;
}

static int copy_port(struct http_url *out, const char *digits, size_t n)
{
    uint64_t port;

    if (mf_parse_u64(mf_slice(digits, n), &port) != 0 || port == 0 || port > 65535)
        return MF_INVAL;
    return copy_text(out->port, sizeof out->port, digits, n);
}

int http_url_parse(struct http_url *out, const char *text, struct mf_error *e)
{
    const char *host = text, *end, *colon, *path;
    size_t n;

    if (strncmp(text, "https://", 8) == 0)
        return mf_fail(e, MF_UNSUPPORTED, "%s: https is not supported yet", text);
    if (strncmp(text, SCHEME, strlen(SCHEME)) == 0)
        host += strlen(SCHEME);
    else if (strstr(text, "://") != NULL)
        return mf_fail(e, MF_INVAL, "%s: not an http:// address", text);
    path = host + strcspn(host, "/");
    if (host[0] == '[') {
        end = memchr(host, ']', (size_t)(path - host));
        if (end == NULL)
            return mf_fail(e, MF_INVAL, "%s: no closing bracket", text);
        host++;
        colon = end + 1;
    } else {
        colon = memchr(host, ':', (size_t)(path - host));
        end = colon == NULL ? path : colon;
        colon = end;
    }
    if (end == host || copy_text(out->host, sizeof out->host, host, (size_t)(end - host)) != 0)
        return mf_fail(e, MF_INVAL, "%s: no host", text);
    if (colon == path)
        (void)copy_text(out->port, sizeof out->port, "8222", 4);
    else if (*colon != ':' || copy_port(out, colon + 1, (size_t)(path - colon - 1)) != 0)
        return mf_fail(e, MF_INVAL, "%s: the port is a number from 1 to 65535", text);
    for (n = strlen(path); n > 0 && path[n - 1] == '/';)
        n--;
    if (copy_text(out->base, sizeof out->base, path, n) != 0)
        return mf_fail(e, MF_INVAL, "%s: the path is too long", text);
    return 0;
}

int http_response_parse(struct mf_slice raw, int *status, struct mf_slice *body, struct mf_error *e)
{
    const uint8_t *end = raw.ptr == NULL ? NULL : memmem(raw.ptr, raw.len, "\r\n\r\n", 4);
    const uint8_t *blank = raw.ptr == NULL ? NULL : memchr(raw.ptr, ' ', raw.len);
    uint64_t code;

    if (end == NULL || !mf_starts(raw, "HTTP/1.") || blank == NULL || blank + 4 > end)
        return mf_fail(e, MF_PROTO, "not an HTTP response");
    if (mf_parse_u64(mf_slice(blank + 1, 3), &code) != 0)
        return mf_fail(e, MF_PROTO, "not an HTTP status");
    *status = (int)code;
    *body = mf_slice(end + 4, raw.len - (size_t)(end + 4 - raw.ptr));
    return 0;
}

static int connect_to(const struct http_url *url, int *out, struct mf_error *e)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    const struct timeval limit = {.tv_sec = HTTP_GET_TIMEOUT_S};
    struct addrinfo *list = NULL;
    int fd = -1, rc;

    rc = getaddrinfo(url->host, url->port, &hints, &list);
    if (rc != 0)
        return mf_fail(e, MF_IO, "%s: %s", url->host, gai_strerror(rc));
    for (const struct addrinfo *a = list; a != NULL && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (fd < 0)
            continue;
        /* The send limit is connect()'s too. */
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        if (connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
            int why = errno;

            (void)close(fd);
            fd = -1;
            errno = why;
        }
    }
    if (fd < 0)
        rc = mf_fail_errno(e, MF_IO, "connect to %s port %s", url->host, url->port);
    freeaddrinfo(list);
    *out = fd;
    return fd < 0 ? rc : 0;
}

static int send_all(int fd, struct mf_slice s, struct mf_error *e)
{
    while (s.len > 0) {
        ssize_t n = send(fd, s.ptr, s.len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return mf_fail_errno(e, MF_IO, "send");
        s = mf_slice(s.ptr + n, s.len - (size_t)n);
    }
    return 0;
}

static int receive_all(int fd, struct mf_buf *raw, struct mf_error *e)
{
    for (;;) {
        uint8_t *room = mf_buf_reserve(raw, 65536);
        ssize_t n;

        if (room == NULL)
            return mf_fail(e, MF_NOMEM, "receive");
        n = recv(fd, room, 65536, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return mf_fail_errno(e, MF_IO, "receive");
        if (n == 0)
            return 0;
        raw->len += (size_t)n;
        if (raw->len > HTTP_GET_MAX_BYTES)
            return mf_fail(e, MF_LIMIT, "more than %u bytes", HTTP_GET_MAX_BYTES);
    }
}

int http_get(const struct http_url *url, const char *path, struct mf_buf *raw, int *status,
             struct mf_slice *body, struct mf_error *e)
{
    char request[1024];
    int fd = -1, rc;

    (void)snprintf(request, sizeof request,
                   "GET %s%s HTTP/1.0\r\nHost: %s\r\nUser-Agent: mayfly\r\n\r\n", url->base, path,
                   url->host);
    if (connect_to(url, &fd, e) != 0)
        goto err;
    rc = send_all(fd, mf_str(request), e);
    if (rc == 0)
        rc = receive_all(fd, raw, e);
    (void)close(fd);
    if (rc == 0 && http_response_parse(mf_buf_slice(raw), status, body, e) == 0)
        return 0;
err:
    return mf_wrap(e, "GET %s%s", url->base, path);
}
