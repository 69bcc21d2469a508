/* reason.h: why a connection closed, in nats-server's words, and as a WebSocket close status. */
#ifndef MAYFLY_SESSION_REASON_H
#define MAYFLY_SESSION_REASON_H

#include "net/net.h"

#define REASONS(X)                                                                                 \
    X(REASON_CLIENT_CLOSED, "Client Closed", 1000)                                                 \
    X(REASON_SHUTDOWN, "Server Shutdown", 1001)                                                    \
    X(REASON_STALE, "Stale Connection", 1001)                                                      \
    X(REASON_PROTOCOL, "Protocol Violation", 1002)                                                 \
    X(REASON_PARSE, "Parse Error", 1002)                                                           \
    X(REASON_BAD_VERSION, "Bad Client Protocol Version", 1002)                                     \
    X(REASON_MAX_PAYLOAD, "Maximum Message Payload Exceeded", 1009)                                \
    X(REASON_AUTH_FAILURE, "Authentication Failure", 1008)                                         \
    X(REASON_AUTH_TIMEOUT, "Authentication Timeout", 1008)                                         \
    X(REASON_AUTH_EXPIRED, "Authentication Expired", 1008)                                         \
    X(REASON_REVOKED, "Credentials Revoked", 1008)                                                 \
    X(REASON_PROXY_NOT_TRUSTED, "Proxy Not Trusted", 1011)                                         \
    X(REASON_PROXY_REQUIRED, "Proxy Required", 1011)                                               \
    X(REASON_SLOW_PENDING, "Slow Consumer (Pending Bytes)", 1008)                                  \
    X(REASON_SLOW_DEADLINE, "Slow Consumer (Write Deadline)", 1008)                                \
    X(REASON_MAX_CONNECTIONS, "Maximum Connections Exceeded", 1008)                                \
    X(REASON_MAX_ACCOUNT_CONNECTIONS, "Maximum Account Connections Exceeded", 1008)                \
    X(REASON_MAX_CONTROL_LINE, "Maximum Control Line Exceeded", 1011)                              \
    X(REASON_TLS, "TLS Handshake Failure", 1011)                                                   \
    X(REASON_NO_HEADERS, "No Responders Requires Headers", 1011)                                   \
    X(REASON_NO_MEMORY, "Out of Memory", 1011)                                                     \
    X(REASON_KICKED, "Kicked", 1011)                                                               \
    X(REASON_WRITE, "Write Error", 1011)                                                           \
    X(REASON_READ, "Read Error", 1011)                                                             \
    X(REASON_MAX_SUBS, "Maximum Subscriptions Exceeded", 1008)                                     \
    X(REASON_WRONG_PORT, "Incorrect Port", 1002)                                                   \
    X(REASON_CLUSTER_NAMES, "Cluster Names Identical", 1002)                                       \
    X(REASON_MIN_VERSION, "Minimum Version Required", 1002)                                        \
    X(REASON_DUPLICATE_LEAF, "Duplicate Remote LeafNode Connection", 1008)                         \
    X(REASON_MISSING_ACCOUNT, "Missing Account", 1008)                                             \
    X(REASON_LOOP, "Loop Detected", 1008)                                                          \
    X(REASON_REMOTE_REMOVED, "Remote Removed", 1001)
#define REASON_ENUM(name, text, status) name,
enum reason { REASON_NONE, REASONS(REASON_ENUM) };
#undef REASON_ENUM

const char *reason_text(enum reason r);      /* NULL for REASON_NONE */
unsigned reason_websocket(enum reason r);    /* RFC 6455, 7.4.1 */
enum reason reason_of_net(enum net_why why); /* of a connection that nobody closed on purpose */

#endif
