/* proxy.c: see proxy.h.
 *
 * Version 1:  PROXY TCP4 10.1.2.3 10.0.0.1 50312 4222 CR LF      (TCP6, or UNKNOWN with anything)
 * Version 2:   0  signature, 12 bytes         13  family (upper half), protocol (lower half)
 *             12  version, command            14  u16 length of what follows, big endian
 *             16  source, destination, source port, destination port; then extensions, ignored */
#include "session/proxy.h"

#include <arpa/inet.h>

#define TEXT_MAX 107u
#define FIELDS   6u
#define BINARY   16u
#define VERSION  0x20
#define STREAM   0x01
#define IPV4     0x10
#define IPV6     0x20

enum { COMMAND_LOCAL, COMMAND_PROXY };

static const char text_begin[] = "PROXY ";
static const uint8_t signature[12] = "\r\n\r\n\0\r\nQUIT\n";

/* --- version 1 -------------------------------------------------------------------------------- */

/* The words of a line; the number of all of them, also of those beyond FIELDS. */
static size_t split_words(struct mf_slice line, struct mf_slice words[FIELDS])
{
    size_t count = 0, i = 0;

    while (i < line.len) {
        size_t from = i;

        while (i < line.len && line.ptr[i] > ' ')
            i++;
        if (i > from && count++ < FIELDS)
            words[count - 1] = mf_slice(line.ptr + from, i - from);
        i += i < line.len;
    }
    return count;
}

static int read_port(struct mf_slice text, const char *which, int *out, struct mf_error *e)
{
    uint32_t port = 0;
    bool digits = text.len > 0;

    for (size_t i = 0; i < text.len; i++) {
        digits = digits && text.ptr[i] >= '0' && text.ptr[i] <= '9';
        if (port <= UINT16_MAX)
            port = port * 10 + (text.ptr[i] - '0');
    }
    if (!digits)
        return mf_fail(e, MF_INVAL,
                       "invalid %s port: strconv.ParseUint: parsing \"%.*s\": invalid syntax",
                       which, (int)text.len, (const char *)text.ptr);
    if (port > UINT16_MAX)
        return mf_fail(e, MF_INVAL,
                       "invalid %s port: strconv.ParseUint: parsing \"%.*s\": value out of range",
                       which, (int)text.len, (const char *)text.ptr);
    *out = (int)port;
    return 0;
}

/* AF_INET or AF_INET6, and the address in its usual form; 0: no address. */
static int read_address(struct mf_slice text, char ip[PROXY_IP])
{
    static const int families[] = {AF_INET, AF_INET6};
    uint8_t raw[16];

    if (text.len >= PROXY_IP)
        return 0;
    memcpy(ip, text.ptr, text.len);
    ip[text.len] = '\0';
    for (size_t i = 0; i < MF_COUNT(families); i++)
        if (inet_pton(families[i], ip, raw) == 1 &&
            inet_ntop(families[i], raw, ip, PROXY_IP) != NULL)
            return families[i];
    return 0;
}

static int read_text_peer(const struct mf_slice words[FIELDS], struct proxy_peer *out,
                          struct mf_error *e)
{
    bool four = mf_eq(words[1], mf_str("TCP4"));
    char own[PROXY_IP];
    int from = read_address(words[2], out->ip), to = read_address(words[3], own), port, rc;

    if (from == 0 || to == 0)
        return mf_fail(e, MF_INVAL, "invalid PROXY protocol header: invalid address");
    if ((rc = read_port(words[4], "source", &out->port, e)) != 0 ||
        (rc = read_port(words[5], "dest", &port, e)) != 0)
        return rc;
    if (!four && !mf_eq(words[1], mf_str("TCP6")))
        return mf_fail(e, MF_INVAL, "invalid PROXY protocol header: invalid protocol %.*s",
                       (int)words[1].len, (const char *)words[1].ptr);
    if (from != (four ? AF_INET : AF_INET6))
        return mf_fail(e, MF_INVAL, "invalid PROXY protocol header: %s with IPv%c address",
                       four ? "TCP4" : "TCP6", four ? '6' : '4');
    return 0;
}

static ssize_t parse_text(const uint8_t *p, size_t n, struct proxy_peer *out, struct mf_error *e)
{
    const uint8_t *end = memchr(p, '\n', n < TEXT_MAX ? n : TEXT_MAX);
    struct mf_slice words[FIELDS];
    size_t len, count;

    if (end == NULL && n < TEXT_MAX)
        return PROXY_MORE;
    len = end == NULL ? 0 : (size_t)(end - p) + 1;
    if (end == NULL)
        (void)mf_fail(e, MF_LIMIT, "invalid PROXY protocol header: v1 line too long");
    else if (end[-1] != '\r')
        (void)mf_fail(e, MF_INVAL, "invalid PROXY protocol header: invalid v1 format");
    else {
        count = split_words(mf_slice(p, len), words);
        if (count >= 2 && mf_eq(words[1], mf_str("UNKNOWN")))
            return (ssize_t)len;
        if (count == FIELDS)
            return read_text_peer(words, out, e) == 0 ? (ssize_t)len : PROXY_BAD;
        (void)mf_fail(e, MF_INVAL, "invalid PROXY protocol header: invalid v1 format");
    }
    return PROXY_BAD;
}

/* --- version 2 -------------------------------------------------------------------------------- */

static int check_binary(const uint8_t *p, struct mf_error *e)
{
    if ((p[12] & 0xf0) != VERSION)
        return mf_fail(e, MF_INVAL, "invalid PROXY protocol header: invalid version 0x%02x",
                       (unsigned)(p[12] & 0xf0));
    if ((p[12] & 0x0f) > COMMAND_PROXY)
        return mf_fail(e, MF_INVAL, "unknown PROXY protocol command: 0x%02x",
                       (unsigned)(p[12] & 0x0f));
    return 0;
}

static int read_binary_peer(const uint8_t *p, size_t len, struct proxy_peer *out,
                            struct mf_error *e)
{
    unsigned family = p[13] & 0xf0u;
    size_t one = family == IPV4 ? 4 : 16;

    if ((p[13] & 0x0f) != STREAM)
        return mf_fail(e, MF_UNSUPPORTED,
                       "unsupported PROXY protocol feature: only STREAM protocol supported");
    if (family == 0)
        return 0;
    if (family != IPV4 && family != IPV6)
        return mf_fail(e, MF_UNSUPPORTED,
                       "unsupported PROXY protocol feature: unsupported address family 0x%02x",
                       family);
    if (len < 2 * one + 4)
        return mf_fail(e, MF_INVAL, "IPv%c address data too short: %zu bytes",
                       family == IPV4 ? '4' : '6', len);
    p += BINARY;
    if (inet_ntop(family == IPV4 ? AF_INET : AF_INET6, p, out->ip, PROXY_IP) == NULL)
        return mf_fail(e, MF_INVAL, "invalid PROXY protocol header: invalid address");
    out->port = p[2 * one] << 8 | p[2 * one + 1];
    return 0;
}

static ssize_t parse_binary(const uint8_t *p, size_t n, struct proxy_peer *out, struct mf_error *e)
{
    size_t len;

    if (n < BINARY)
        return PROXY_MORE;
    if (check_binary(p, e) != 0)
        return PROXY_BAD;
    len = (size_t)(p[14] << 8 | p[15]);
    if (n < BINARY + len)
        return PROXY_MORE;
    if ((p[12] & 0x0f) == COMMAND_PROXY && read_binary_peer(p, len, out, e) != 0)
        return PROXY_BAD;
    return (ssize_t)(BINARY + len);
}

/* --- either ----------------------------------------------------------------------------------- */

/* Whether p begins as `begin` does, as far as both go. */
static bool begins_as(const uint8_t *p, size_t n, const void *begin, size_t len)
{
    return memcmp(p, begin, n < len ? n : len) == 0;
}

ssize_t proxy_parse(const uint8_t *p, size_t n, struct proxy_peer *out, struct mf_error *e)
{
    struct proxy_peer peer = {"", 0};
    ssize_t rv = PROXY_NONE;

    if (n == 0)
        return PROXY_MORE;
    if (begins_as(p, n, text_begin, sizeof text_begin - 1))
        rv = parse_text(p, n, &peer, e);
    else if (p[0] == '\r' && begins_as(p, n, signature, sizeof signature))
        rv = parse_binary(p, n, &peer, e);
    else if (n >= sizeof signature && begins_as(p, 4, signature, 4)) {
        (void)mf_fail(e, MF_INVAL, "invalid PROXY protocol header: invalid signature");
        rv = PROXY_BAD;
    }
    if (rv > 0)
        *out = peer;
    return rv;
}
