/* net.h: listeners and connections as byte pipes with back-pressure.  Knows TCP and TLS; nothing of
 * NATS or HTTP.
 *
 * Reading: all connections share one read buffer.  Bytes that a handler does not consume are kept
 * for the connection and shown again with the next ones, so an idle connection owns no read
 * buffer.
 * Writing: bytes are copied to pooled chunks and written once per loop turn (or sooner when many
 * are queued): many small messages make one writev.  A payload that was just read may be sent from
 * the read buffer, without a copy for each receiver.  An idle connection owns no write buffer.
 * Cost: O(bytes); no allocation per write in the steady state. */
#ifndef MAYFLY_NET_H
#define MAYFLY_NET_H

#include "loop/loop.h"

struct net_conn;
struct net_listener;
struct net_tls;

enum net_why {
    NET_CLOSED_LOCAL,  /* net_close() */
    NET_CLOSED_PEER,   /* orderly end by the peer */
    NET_CLOSED_RESET,  /* read error */
    NET_CLOSED_WRITE,  /* write error */
    NET_CLOSED_SLOW,   /* write deadline passed without progress */
    NET_CLOSED_TLS,    /* handshake or record failure */
    NET_CLOSED_FILTER, /* the filter gave up */
    NET_CLOSED_NOMEM,
};

/* All run on the loop, never from inside a net_* call of the same connection. */
struct net_handler {
    /* How many of the n bytes were consumed; the rest is shown again, followed by more.  May call
     * net_close().  Returning 0 asks for more bytes. */
    size_t (*bytes)(void *arg, const uint8_t *p, size_t n);
    /* Queued bytes fell below the low-water mark after net_want_drained(); may be NULL. */
    void (*drained)(void *arg);
    /* TLS handshake done (the server side may now write); may be NULL without TLS. */
    void (*secured)(void *arg);
    /* Exactly once, last; the connection is freed afterwards.  text: detail for the log. */
    void (*closed)(void *arg, enum net_why why, const char *text);
};

/* --- listeners -------------------------------------------------------------------------------- */
/* accepted() must call net_conn_start() or net_close().  host: address or name, NULL or "" for
 * any.  port 0 or -1: the kernel chooses.  Backlog 4096.  When the process is out of descriptors
 * the listener pauses briefly instead of spinning. */
MF_MUSTCHECK int net_listen(struct net_listener **out, struct loop *l, const char *host, int port,
                            void (*accepted)(void *arg, struct net_conn *c), void *arg,
                            struct mf_error *e);
/* Could something listen there?  Nothing does meanwhile.  address: as net_listener_host() would
 * say.  MF_EXISTS: the address is in use. */
#define NET_ADDRESS 64
MF_MUSTCHECK int net_listen_probe(const char *host, int port, char address[NET_ADDRESS],
                                  struct mf_error *e);
/* A socket of the file system.  A socket file that nobody serves is replaced, and removed again by
 * net_listener_close().  MF_EXISTS: somebody serves it, or it is no socket. */
struct net_unix {
    const char *path;
    unsigned mode;     /* of the file; 0: 0600 */
    unsigned uid, gid; /* NET_SAME: as the process */
};
#define NET_SAME UINT32_MAX
MF_MUSTCHECK int net_listen_unix(struct net_listener **out, struct loop *l,
                                 const struct net_unix *u,
                                 void (*accepted)(void *arg, struct net_conn *c), void *arg,
                                 struct mf_error *e);
/* A socket that listens already, from the service manager; the listener owns fd on success. */
MF_MUSTCHECK int net_listen_fd(struct net_listener **out, struct loop *l, int fd,
                               void (*accepted)(void *arg, struct net_conn *c), void *arg,
                               struct mf_error *e);
int net_listener_port(const struct net_listener *l);         /* 0: a socket of the file system */
const char *net_listener_host(const struct net_listener *l); /* numeric, as bound; or "unix" */
const char *net_listener_path(const struct net_listener *l); /* of such a socket; else NULL */
void net_listener_close(struct net_listener *l);             /* NULL is fine */
/* Keeps n descriptors for files: net_conn_crowds() is true for connections that leave fewer, and
 * those that leave less than half of them are not accepted.  After the first listener. */
void net_keep_files(struct loop *l, unsigned n);
bool net_conn_crowds(const struct net_conn *c);

/* --- connections ------------------------------------------------------------------------------ */
/* An outgoing connection; handler->closed() also reports a failed connect; connected() once. */
MF_MUSTCHECK int net_connect(struct net_conn **out, struct loop *l, const char *host, int port,
                             void (*connected)(void *arg), const struct net_handler *h, void *arg,
                             struct mf_error *e);
/* A connected stream socket, such as one end of a socketpair(), that the connection owns from now
 * on, also on failure.  name: shown as the peer's address. */
MF_MUSTCHECK int net_adopt(struct net_conn **out, struct loop *l, int fd, const char *name,
                           struct mf_error *e);
/* The peer came without a network: through a socket of the file system, or net_adopt(). */
bool net_conn_is_local(const struct net_conn *c);
/* The same for servers far away: one time limit over looking up the name and connecting, shared
 * among its addresses; these in turn from a random one on.  closed() names host and reason: "dial
 * tcp 10.0.0.1:7422: i/o timeout". */
struct net_dial_to {
    const char *host;
    int port;
    int64_t timeout_ns; /* 0: none */
    bool spread;        /* begin with any of the addresses */
};
MF_MUSTCHECK int net_dial(struct net_conn **out, struct loop *l, const struct net_dial_to *to,
                          void (*connected)(void *arg), const struct net_handler *h, void *arg,
                          struct mf_error *e);
/* Lets the kernel find a peer that is gone without a word: a probe after idle_s seconds of silence
 * and every interval_s, and the end when count of them, or bytes sent, stay without an answer for
 * that long. */
void net_conn_keep_alive(struct net_conn *c, int idle_s, int interval_s, int count);
/* Begins reading.  *h must outlive the connection (usually static). */
void net_conn_start(struct net_conn *c, const struct net_handler *h, void *arg);
/* Same connection, new owner (an HTTP listener hands over to a WebSocket client). */
void net_conn_set_handler(struct net_conn *c, const struct net_handler *h, void *arg);

/* Peer's and own address, numeric. */
const char *net_conn_ip(const struct net_conn *c);
int net_conn_port(const struct net_conn *c);
const char *net_conn_local_ip(const struct net_conn *c);
int net_conn_local_port(const struct net_conn *c);

/* The part of a connection that the inline calls below use; private to net. [mark, pos) of the
 * last chunk is filled but not yet counted in `sealed`; [pos, end) is free. Without a chunk, and
 * once closing, the three are NULL: the slow path decides. */
struct net_tail {
    uint8_t *pos, *end, *mark;
    size_t sealed;
};
static inline struct net_tail *net_tail_(const struct net_conn *c)
{
    return (struct net_tail *)(uintptr_t)c; /* its first member */
}
int net_write_slow(struct net_conn *c, const void *p, size_t n);
uint8_t *net_reserve_slow(struct net_conn *c, size_t n);

/* Copies.  0, MF_NOMEM (the connection is then closing) or MF_CLOSED.  No limit here: ask
 * net_queued() and act. */
static inline int net_write(struct net_conn *c, const void *p, size_t n)
{
    struct net_tail *t = net_tail_(c);
    if (MF_UNLIKELY(n == 0 || n >= (size_t)(t->end - t->pos)))
        return net_write_slow(c, p, n);
    memcpy(t->pos, p, n);
    t->pos += n;
    return 0;
}
/* n contiguous bytes to fill in place, then net_commit(used <= n) before any other net_* call;
 * NULL when closed or out of memory (the connection is then closing). */
static inline uint8_t *net_reserve(struct net_conn *c, size_t n)
{
    struct net_tail *t = net_tail_(c);
    return MF_LIKELY(n < (size_t)(t->end - t->pos)) ? t->pos : net_reserve_slow(c, n);
}
static inline void net_commit(struct net_conn *c, size_t used)
{
    net_tail_(c)->pos += used;
}
/* Bytes inside the buffer that a handler of this loop sees in bytes() can be sent from there.
 * net_may_lend(), called once for each receiver, is true if that is possible and worth it: the
 * first few receivers get copies.  net_lend() is then as net_write(). */
#define NET_LEND_LEAST 512
bool net_may_lend_(struct net_conn *c, const void *p, size_t n);
static inline bool net_may_lend(struct net_conn *c, const void *p, size_t n)
{
    return MF_UNLIKELY(n >= NET_LEND_LEAST) && net_may_lend_(c, p, n);
}
int net_lend(struct net_conn *c, const void *p, size_t n);
/* Bytes not yet taken by the kernel. */
static inline size_t net_queued(const struct net_conn *c)
{
    const struct net_tail *t = net_tail_(c);
    return t->sealed + (size_t)(t->pos - t->mark);
}
/* Writes as much as the kernel takes now, instead of at the end of the turn. */
void net_flush(struct net_conn *c);
/* drained() once, when net_queued() falls to low_water or below (also when it is there already). */
void net_want_drained(struct net_conn *c, size_t low_water);
/* 0: none.  Counts from the moment the kernel takes no more bytes, and starts again with each byte
 * it takes. */
void net_set_write_deadline(struct net_conn *c, int64_t ns);
/* 0: none.  How many bytes a filter may leave for a paused connection (deflated bytes can expand a
 * thousand times); a connection with more is closed. */
void net_set_kept_max(struct net_conn *c, size_t bytes);
void net_pause(struct net_conn *c);  /* stop reading; nests not */
void net_resume(struct net_conn *c); /* shows kept bytes again too */
/* Inside bytes(): the turn has no time for the rest.  Bytes that bytes() does not consume are
 * shown again in a later turn, without waiting for more. */
void net_yield(struct net_conn *c);
/* Connections with the same name (of their account) share their turns: when there is more to read
 * or write than a turn has time for, names take turns, however many connections each has. */
void net_conn_set_lane(struct net_conn *c, const char *name);
/* Flushes what is queued (at most linger_ms), then closes; closed() follows.  0: after one attempt
 * to write.  No bytes() and no drained() from now on. */
void net_close(struct net_conn *c, unsigned linger_ms);
/* The same after last bytes that the peer must get: closed() is called as soon as they are sent,
 * but the socket stays open for up to linger_ms while the peer still sends, so that no reset
 * destroys them. */
void net_close_heard(struct net_conn *c, unsigned linger_ms);
/* Ends every such wait on this loop at once, before the loop stops. */
void net_hangup(struct loop *l);
bool net_closing(const struct net_conn *c);

/* --- filters: a pipe inside the pipe (WebSocket) ---------------------------------------------- */
/* decode: wire bytes in, plain bytes to net_filter_plain(); encode: plain bytes in, wire bytes to
 * net_filter_wire().  Both take all n bytes and return 0 or a negative code, which closes the
 * connection.  encode() sees many small writes joined, when they are about to leave; net_write()
 * and net_flush() may run it, decode() and farewell() are never run from inside a net_* call. */
struct net_filter {
    int (*decode)(void *state, struct net_conn *c, const uint8_t *p, size_t n);
    int (*encode)(void *state, struct net_conn *c, const uint8_t *p, size_t n);
    /* Bytes to send before the end (a close frame); may be NULL. */
    void (*farewell)(void *state, struct net_conn *c, enum net_why why);
    void (*free)(void *state);
};
/* Earlier writes leave unfiltered; bytes that the handler has not consumed go through the filter.
 * c owns state from now on.  One filter a connection, for its life. */
void net_conn_set_filter(struct net_conn *c, const struct net_filter *f, void *state);
void net_filter_plain(struct net_conn *c, const uint8_t *p, size_t n); /* to the handler */
int net_filter_wire(struct net_conn *c, const uint8_t *p, size_t n);   /* to TLS or the socket */
/* Inside decode(): it has more to give, from bytes that it holds, than it should in this turn.  It
 * is called again without bytes in a later turn; until then nothing is read from the socket. */
void net_filter_more(struct net_conn *c);

/* --- TLS -------------------------------------------------------------------------------------- */
struct net_tls_pair {
    const char *cert_file, *key_file;
};
struct net_tls_options {
    const struct net_tls_pair *pairs;
    size_t npairs;
    const char *ca_file; /* NULL: the system's */
    bool verify;         /* server side: demand and check the client's certificate */
    bool insecure;       /* client side: do not check the server's */
    int min_version;     /* 0: 1.2; else 0x0301.. as in TLS */
    const char *ciphers; /* OpenSSL list for <= 1.2, NULL: default */
    const char *suites;  /* OpenSSL list for 1.3, NULL: default */
    const char *curves;  /* OpenSSL groups, NULL: default */
};
/* Counted; connections keep theirs, so a reload may replace it at any time.  With several pairs the
 * peer gets the first that fits the name it asks for (SNI) and the algorithms it offers, else the
 * first that fits the algorithms. */
MF_MUSTCHECK int net_tls_new(struct net_tls **out, const struct net_tls_options *o,
                             struct mf_error *e);
struct net_tls *net_tls_retain(struct net_tls *t);
void net_tls_release(struct net_tls *t); /* NULL is fine */
/* Server side: the peer speaks TLS from the next byte on (bytes the handler has not consumed
 * included); earlier writes leave in the clear, later ones after the handshake.  A handler may
 * look at the first byte, call this and consume nothing. */
MF_MUSTCHECK int net_conn_secure(struct net_conn *c, struct net_tls *t, struct mf_error *e);
/* Client side; server_name (may be NULL) is asked for and checked against the certificate. */
MF_MUSTCHECK int net_conn_secure_client(struct net_conn *c, struct net_tls *t,
                                        const char *server_name, struct mf_error *e);
bool net_conn_is_secure(const struct net_conn *c); /* the handshake is done */
struct net_tls_peer {
    const char *version, *cipher; /* "1.3", "TLS_AES_128_GCM_SHA256" */
    /* The certificate's subject in the three texts nats-server maps users by; each is "" without a
     * certificate, and when it does not fit (a cut subject could be another user's). dn: RFC 4514,
     * all attributes, in their order; "" if one is outside nats-server's table. subject: as Go
     * prints it, the known attributes in Go's order.  dcs: "DC=a,DC=b". */
    char subject[512], dn[512], dcs[256];
    char spki_sha256[65]; /* hex of the SHA-256 of its public key; "" without one */
    char cert_sha256[65];
    char sans[64][256]; /* e-mail, DNS and URI alternative names, in that order */
    size_t nsans;
};
void net_conn_tls_peer(const struct net_conn *c, struct net_tls_peer *out);
/* Calls each with the peer's certificates as PEM, its own first.  *verified: they are the chain
 * that was checked; else what the peer sent.  None without TLS or certificate. */
void net_conn_tls_chain(const struct net_conn *c, bool *verified,
                        void (*each)(void *arg, struct mf_slice pem), void *arg);

#endif
