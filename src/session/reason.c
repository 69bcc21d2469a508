/* reason.c: the table of reasons. */
#include "session/reason.h"

static const struct {
    const char *text;
    unsigned websocket;
} table[] = {
#define REASON_ROW(name, text, status) [name] = {text, status},
    REASONS(REASON_ROW)
#undef REASON_ROW
};

const char *reason_text(enum reason r)
{
    return table[r].text;
}

unsigned reason_websocket(enum reason r)
{
    return table[r].websocket;
}

enum reason reason_of_net(enum net_why why)
{
    switch (why) {
    case NET_CLOSED_SLOW:
        return REASON_SLOW_DEADLINE;
    case NET_CLOSED_WRITE:
        return REASON_WRITE;
    case NET_CLOSED_RESET:
        return REASON_READ;
    case NET_CLOSED_TLS:
        return REASON_TLS;
    case NET_CLOSED_LOCAL:
        return REASON_SHUTDOWN;
    default:
        return REASON_CLIENT_CLOSED;
    }
}
