/* source_impl.h: declarations shared by the files of src/source.
 *
 *     sources.c  all followers of one stream       follower.c   one follower: asks for a consumer
 *     receive.c  deliveries of an upstream         resume.c     resume positions after a restart
 *     track.c    which message is next (pure)      upstream*.c  names, requests, headers (pure)
 */
#ifndef SOURCE_IMPL_H
#define SOURCE_IMPL_H

#include "source/track_impl.h"

#include "base/lend.h"
#include "codec/sha256.h"
#include "source/source.h"
#include "subject/transform.h"

enum follower_state {
    FOLLOWER_WAITING,   /* for its time to ask */
    FOLLOWER_SEEKING,   /* for the message with the place to continue */
    FOLLOWER_ASKED,     /* for an answer */
    FOLLOWER_FOLLOWING, /* for messages; the timer watches for silence */
    FOLLOWER_CLOSED,    /* for the commit of its last message; then it is freed */
};

/* Follows one upstream.  track.sseq is the position: all messages up to it are accepted by the
 * stream's store, committed or not. */
struct follower {
    struct sources *all; /* NULL: closed */
    struct mf_list work; /* sources.work: it has work at the end of the turn */
    struct arena mem;    /* of the next few */
    struct stream_source src;
    char *index; /* upstream_index() */
    struct transform **maps;
    size_t nmaps;
    bool mirror, known; /* known: the resume position was looked up */
    enum follower_state state;
    struct loop_timer *timer;
    struct router_sub answer_sub, deliver_sub;
    char consumer[UPSTREAM_NAME]; /* as it is asked for */
    char *name;                   /* as the upstream called it; NULL: none */
    int level;                    /* of the API that is asked for: 5, 4; 0: an old server */
    struct track track;
    uint64_t seen; /* the last message that was accepted and was no duplicate */
    uint64_t lag;
    int64_t heard_ns; /* 0: never */
    int64_t asked_ns; /* the request that is under way */
    int64_t probe_ns; /* since then it must be heard of; 0: nobody asks */
    unsigned fails;
    bool failed; /* error says why */
    struct js_error error;
    char ident[SHA256_SHORT]; /* of the upstream; "": unknown */
    bool near;                /* a mirror that had nearly caught up */
    bool dirty;               /* a source whose resume position is not written yet */
    uint64_t upto;            /* the written resume position covers all up to here */
    /* Messages published to the stream, and those of them that are committed. */
    uint64_t accepted, completed;
    bool judging, refused; /* inside stream_publish(); it refused */
    /* The reply subject of flow control, due when `completed` reaches flow_at; empty: none. */
    struct mf_buf flow;
    uint64_t flow_at;
    struct track flow_track;
};

struct sources {
    struct stream *stream;
    struct source_host *host;
    struct mf_list node;  /* source_host.all */
    struct follower **at; /* in the order of the configuration */
    size_t n;
    struct mf_list work;
    struct loop_defer flush;
    struct loop_defer seek; /* resume.c */
    uint64_t seek_at;
    struct mf_buf hdr, mark; /* of the copy being made */
    char subject[4096];
};

/* --- follower.c ---------------------------------------------------------------------------------
 */

struct follower *follower_new(struct sources *all, const struct stream_source *src, bool mirror,
                              struct mf_error *e);
MF_MUSTCHECK int
follower_name(struct follower *l); /* its consumer's name, among the sources there are */
/* Ends it; forever: the consumer on the upstream is deleted.  It is freed after the commit of its
 * last message. */
void follower_close(struct follower *l, bool forever);
void follower_free(struct follower *l);
/* Asks again, this much later. */
void follower_later(struct follower *l, int64_t delay_ns);
/* Asks for a consumer now, or when the resume position is known. */
void follower_ask(struct follower *l);
/* A link became usable (sources_linked()). */
void follower_linked(struct follower *l);
/* It failed: asks again later, with a delay that grows with failures in a row. */
void follower_fail(struct follower *l, const struct js_error *e);
/* Publishes in the account. */
size_t follower_send(const struct follower *l, struct mf_slice subject, struct mf_slice reply,
                     struct mf_slice hdr, struct mf_slice body);

/* --- receive.c ---------------------------------------------------------------------------------
 */

bool receive_delivery(struct router_sub *sub, const struct router_msg *m);
void receive_pending(struct follower *l, uint64_t pending); /* pending: messages to come */
void receive_queue(struct follower *l);   /* queues its work for the end of the turn */
void receive_flush(struct loop_defer *d); /* of sources.flush: does the queued work */

/* --- resume.c ------------------------------------------------------------------------------- */

/* true: the resume position is known.  false: it is being looked for; follower_ask() follows. */
bool resume_find(struct follower *l);
void resume_write(struct follower *l); /* its resume position, if it changed */
void resume_commit(void *arg); /* the same for all, in the commit group that is written now */
void resume_close(struct follower *l); /* its resume position, for the next start */
void resume_forget(struct follower *l);

#endif
