/* net_impl.h: connections and their per-loop context, shared by the files of this folder only.
 *
 *     bytes in:   socket > shared buffer > [TLS] > [filter] > handler; the rest is kept in the
 *                 carry
 *     bytes out:  app queue > [filter: encode] > [TLS] > send queue > socket
 *
 * Without TLS and filter the app queue is the send queue and `ext` is NULL.
 *
 * A net_* call must not run a callback or free: it notes such work in `todo`, and the context's
 * hook does it at the end of the turn. */
#ifndef NET_IMPL_H
#define NET_IMPL_H

#include "net/chunk_impl.h"
#include "base/list.h"
#include "net/net.h"
#include "base/table.h"
#include "loop/work.h"

#include <netinet/in.h>
#include <uv.h>

#define NET_READ_BUFFER (64u << 10) /* shared by all connections of a loop */
#define NET_READ_BUDGET                                                                            \
    (128u << 10) /* of one connection in one turn, so that none starves others */
#define NET_CARRY_COPY   (16u << 10) /* up to here kept bytes are copied before the next ones */
#define NET_FLUSH_EARLY  (64u << 10) /* queued bytes worth a system call before the turn ends */
#define NET_DIRTY_MAX    16384      /* connections with something to flush at the end of the turn */
#define NET_WRITE_BUDGET (1u << 20) /* as NET_READ_BUDGET */
#define NET_PUMP_MAX     (256u << 10) /* encoded bytes waiting for the socket; the rest stays plain */

/* Connections that share their turns; see lane.c. */
struct net_lane {
    struct work_owner owner;
    struct work_task reads, writes;
    struct mf_list readable; /* net_conn.ready: input waits */
    struct mf_list dirty;    /* net_conn.work: output, or other noted work, waits */
    struct net_ctx *ctx;
    struct table_node node; /* net_ctx.lanes, by name */
    char name[];
};

/* Of one loop, made by its first listener or connection, freed with the last. */
struct net_ctx {
    struct mf_list link; /* contexts of this thread */
    struct loop *loop;
    unsigned refs;
    struct chunk_pool pool;
    struct chunk_queue rubbish;       /* of those who left much behind */
    struct loop_defer rubbish_hook;   /* queued while there is some */
    const uint8_t *shown, *shown_end; /* what a handler sees just now; NULL: none does */
    const void *copied;               /* the payload that was last asked about, and how often */
    unsigned copies;
    struct mf_list lent, lent_spare; /* struct net_lent, see lend.c */
    unsigned lents;                  /* in both */
    uint8_t *wire;                   /* NET_READ_BUFFER bytes: what recv() brought */
    uint8_t *plain;                  /* as large: what TLS made of it; made on first use */
    struct mf_list work, timed;
    unsigned works,
        works_max; /* length of `work`; beyond the bound the oldest is flushed at once */
    struct loop_defer hook;
    uv_timer_t *timer; /* the earliest of `timed`, or a little later; NULL: none needed */
    int64_t timer_at;  /* INT64_MAX: not armed */
    int64_t trimmed_ns;
    struct table lanes;     /* struct net_lane */
    struct net_lane *lobby; /* of connections that belong to no account yet */
    uint64_t files_max;     /* descriptors that the process may have */
    unsigned files_kept;    /* net_keep_files() */
};
struct net_ctx *net_ctx_get(struct loop *l); /* NULL: out of memory */
void net_ctx_put(struct net_ctx *x);
/* Frees a queue that will not be sent; a long one over several turns. */
void net_queue_end(struct net_ctx *x, struct chunk_queue *q);
uint8_t *net_ctx_plain(struct net_ctx *x); /* NULL: out of memory */

enum {
    CONN_STARTED = 1 << 0, /* has a handler, may be shown bytes */
    CONN_PAUSED = 1 << 1,
    CONN_BLOCKED = 1 << 2,  /* the kernel takes no more: waiting for writability */
    CONN_CLOSING = 1 << 3,  /* no more bytes in, none new out */
    CONN_FLUSHING = 1 << 4, /* closing, once the queues are empty or the linger time is over */
    CONN_BROKEN = 1 << 5,   /* nothing can be written any more */
    CONN_DONE = 1 << 6,     /* over; only the handle is left to close */
    CONN_POLLED = 1 << 7,   /* `poll` is an open handle */
    CONN_CONNECTING = 1 << 8,
    CONN_HOT = 1 << 9, /* wrote much last turn: begins with a large chunk */
    CONN_WANT_DRAINED = 1 << 10,
    CONN_SWAPPED = 1 << 11,  /* handler, filter or TLS set while the handler ran */
    CONN_SHOWING = 1 << 12,  /* the handler runs */
    CONN_FAREWELL = 1 << 13, /* the filter said its last word */
    CONN_PUMPING = 1 << 14,  /* filter and TLS are filling the send queue for a flush */
    CONN_RETRYING = 1 << 15, /* `poll` is being closed for the next attempt to connect */
    CONN_HEAR = 1 << 16,     /* net_close_heard() */
    CONN_HEARING = 1 << 17,  /* all is sent and closed() was called; input is dropped */
    CONN_NOTIFIED = 1 << 18, /* closed() was called */
    CONN_YIELDED = 1 << 19,  /* net_yield(): kept bytes are shown in the lane's turn */
    CONN_LANED = 1 << 20,    /* `work` is in the lane's list, not in the context's */
    CONN_LOCAL = 1 << 21,    /* net_conn_is_local() */
    CONN_MORE = 1 << 22,     /* net_filter_more() */
};
enum {
    TODO_SHOW = 1 << 0, /* kept bytes have a new reader */
    TODO_FLUSH = 1 << 1,
    TODO_DRAINED = 1 << 2,
    TODO_CLOSE = 1 << 3,
    TODO_CONNECTED = 1 << 4,
    TODO_EXPIRED = 1 << 5,
};
/* The reader of the kept bytes. */
enum { FOR_HANDLER, FOR_FILTER, FOR_TLS };

/* [off, off+len) of base was not consumed yet.  cap is at most twice what once was in it. */
struct net_carry {
    uint8_t *base;
    size_t off, len, cap;
};

/* Of connections with a filter or TLS only. */
struct net_ext {
    const struct net_filter *filter;
    void *filter_state;
    struct tls_conn *tls;
    struct chunk_queue mid;  /* filter > TLS */
    struct chunk_queue send; /* to the socket */
};

struct net_conn {
    struct net_tail tail; /* first: net.h's inline calls look here */
    struct chunk_queue app;
    struct net_ctx *ctx;
    const struct net_handler *handler;
    void *arg;
    struct net_carry carry;
    struct net_ext *ext;
    struct net_lent *lent;      /* payloads to be sent from where they lie; NULL: none */
    struct net_dial *dial;      /* connecting, see connect.c */
    struct mf_list work, timed; /* in the context's or lane's lists, or alone */
    struct mf_list ready;       /* in lane->readable, or alone */
    struct net_lane *lane;
    int64_t expires_ns;  /* while timed */
    int64_t deadline_ns; /* net_set_write_deadline() */
    size_t low_water;
    size_t kept_max; /* net_set_kept_max(); 0: none */
    unsigned flags;  /* CONN_ */
    uint8_t todo, kept_for;
    uint8_t why;    /* enum net_why, while closing */
    uint8_t events; /* what poll watches */
    unsigned linger_ms;
    int error; /* errno behind `why`, 0: none */
    int fd;
    uint16_t port, local_port;
    char ip[INET6_ADDRSTRLEN];
    char *local_ip; /* looked up when asked for */
    uv_poll_t poll;
};

/* conn.c */
struct net_conn *net_conn_new(struct net_ctx *x);             /* NULL: out of memory */
MF_MUSTCHECK int net_conn_attach(struct net_conn *c, int fd); /* errno-like, negative */
void net_conn_poll(struct net_conn *c);                       /* watch what is needed now */
void net_conn_todo(struct net_conn *c, unsigned what);
void net_conn_work(struct net_conn *c);    /* does what is noted */
void net_conn_relieve(struct net_conn *c); /* keeps one write to very many from holding very much */
/* Begins the end; harmless when it has begun.  error: errno or 0. */
void net_conn_end(struct net_conn *c, enum net_why why, unsigned linger_ms, int error);
void net_conn_set_peer(struct net_conn *c, const struct sockaddr *sa);
void net_addr_text(const struct sockaddr *sa, char ip[INET6_ADDRSTRLEN], uint16_t *port);
MF_MUSTCHECK int net_conn_need_ext(struct net_conn *c);
void net_conn_swapped(struct net_conn *c, int kept_for);      /* the kept bytes have a new reader */
static inline bool net_conn_listens(const struct net_conn *c) /* may be shown bytes */
{
    return (c->flags & (CONN_STARTED | CONN_PAUSED | CONN_CLOSING | CONN_YIELDED)) == CONN_STARTED;
}

/* ctx.c: TODO_EXPIRED at c->expires_ns or a little later. */
void net_timed_set(struct net_conn *c, int64_t expires_ns);
void net_timed_stop(struct net_conn *c);

/* read.c */
struct net_space {
    uint8_t *base;
    size_t have, cap; /* [0,have) kept bytes, [have,cap) to fill */
};
void net_read(struct net_conn *c);
void net_read_turn(struct net_conn *c); /* the lane's turn: kept bytes first, then the socket */
/* The room for the next bytes of the handler, behind the kept ones; in `shared` if these are few.
 */
MF_MUSTCHECK int net_space_open(struct net_conn *c, uint8_t *shared, struct net_space *s);
void net_space_show(struct net_conn *c, const struct net_space *s, size_t added);
void net_show(struct net_conn *c); /* kept bytes to whom they are for now */
void net_carry_append(struct net_conn *c, const uint8_t *p, size_t n); /* and shows them */
void net_carry_free(struct net_conn *c);

/* lane.c */
void net_lane_read(struct net_conn *c);  /* its input waits for the lane's turn */
void net_lane_write(struct net_conn *c); /* so does the work noted; in no list when called */
void net_lanes_free(struct net_ctx *x);
struct net_lane *net_lane_get(struct net_ctx *x, const char *name); /* NULL: out of memory */

/* write.c */
void net_settle(struct net_conn *c); /* counts what was committed */
void net_flush_now(struct net_conn *c);
ssize_t net_send(int fd, struct iovec *iov, size_t count); /* bytes taken, or a negative errno */
/* The app queue's bytes leave before what is written from now on is encoded. */
void net_app_splice(struct net_conn *c, struct chunk_queue *dst);
void net_app_drop(struct net_conn *c, size_t n);
void net_queues_clear(struct net_conn *c);

/* lend.c */
/* Sends the queue with the bytes lent to it; nothing is lent to it afterwards.  Bytes taken, or a
 * negative errno; *asked: how many there were to take. */
ssize_t net_lent_send(struct net_conn *c, size_t *asked);
void net_lent_return(struct net_ctx *x);  /* what is being shown is about to go */
void net_lent_own(struct net_conn *c);    /* copies what is lent */
void net_lent_forget(struct net_conn *c); /* nothing of it will be sent */
void net_lent_trim(struct net_ctx *x);    /* frees the notes that are not in use */

/* filter.c */
void net_filter_pump(struct net_conn *c);
void net_filter_input(struct net_conn *c, const uint8_t *p, size_t n);

/* tls_conn.c */
void net_tls_pump(struct net_conn *c);
void net_tls_input(struct net_conn *c, const uint8_t *p, size_t n);
void net_tls_eof(struct net_conn *c);
const char *net_tls_text(const struct net_conn *c);
void net_tls_free(struct tls_conn *t); /* NULL is fine */

/* connect.c */
void net_dial_ready(struct net_conn *c); /* the socket can be written: connected, or not */
void net_dial_late(struct net_conn *c);  /* the time of this attempt is over */
void net_dial_done(struct net_conn *c);  /* calls connected() */
const char *net_dial_text(const struct net_conn *c);
void net_dial_free(struct net_conn *c);

#endif
