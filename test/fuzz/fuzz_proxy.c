/* fuzz_proxy.c: the first bytes of a connection, as headers of the PROXY protocol. */
#include "fuzz.h"
#include "session/proxy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct proxy_peer peer = {"untouched", -1}, again;
    struct mf_error e = {.code = 0};
    ssize_t n = proxy_parse(data, size, &peer, &e);

    FUZZ_CHECK(n <= (ssize_t)size && n >= PROXY_BAD);
    FUZZ_CHECK((n == PROXY_BAD) == (e.code != 0));
    if (n <= 0) {
        FUZZ_CHECK(peer.port == -1 && strcmp(peer.ip, "untouched") == 0);
        return 0;
    }
    FUZZ_CHECK(peer.port >= 0 && peer.port <= 65535 && strlen(peer.ip) < PROXY_IP);
    /* Byte by byte: incomplete until the same result. */
    for (size_t have = 0; have < (size_t)n; have++)
        FUZZ_CHECK(proxy_parse(data, have, &again, &e) == PROXY_MORE);
    FUZZ_CHECK(proxy_parse(data, (size_t)n, &again, &e) == n && again.port == peer.port);
    return 0;
}
