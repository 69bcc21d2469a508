/* source_impl.h: the insides of src/source, shared by its files only.
 *
 *     sources.c  all that one stream follows           follower.c    one of them: asking, waiting
 *     receive.c     what it delivers                      resume.c  where to go on after a restart
 *     track.c    which message is the next (pure)      upstream*.c names, requests, headers (pure)
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
    FOLLOWER_SEEKING,   /* for the message that tells where to go on */
    FOLLOWER_ASKED,     /* for an answer */
    FOLLOWER_FOLLOWING, /* for messages; the timer watches for silence */
    FOLLOWER_CLOSED,    /* for the last of its copies to come to disk; then it is freed */
};

/* One upstream.  What is accepted is in the stream's store, on disk or on its way: from there on
 * track.sseq tells where to go on. */
struct follower {
    struct sources *all; /* NULL: closed */
    struct mf_list work; /* sources.work: something to do at the end of the turn */
    struct arena mem;    /* of the next few */
    struct stream_source src;
    char *index; /* upstream_index() */
    struct transform **maps;
    size_t nmaps;
    bool mirror, known; /* known: it was looked up where to go on */
    enum follower_state state;
    struct loop_timer *timer;
    struct router_sub answer_sub, deliver_sub;
    char consumer[UPSTREAM_NAME]; /* as it is asked for */
    char *name;                   /* as the upstream called it; NULL: none */
    int level;                    /* of the API that is asked for: 5, 4; 0: an old server */
    struct track track;
    uint64_t seen; /* the last of its messages that was taken and was no duplicate */
    uint64_t lag;
    int64_t heard_ns; /* 0: never */
    unsigned fails;
    bool failed; /* error tells why */
    struct js_error error;
    char ident[SHA256_SHORT]; /* of the upstream; "": unknown */
    bool near;                /* a mirror that was as good as caught up */
    bool dirty;               /* a source whose place is not written yet */
    uint64_t upto;            /* all up to here is behind the place that is written */
    /* Copies handed to the stream, and those of them that are on disk. */
    uint64_t accepted, completed;
    bool judging, refused; /* inside stream_publish(); it said no */
    /* What flow control asked, due when `completed` is there; empty: nothing. */
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
/* Ends it; forever: the upstream is told.  It is freed when the last of its copies is done. */
void follower_close(struct follower *l, bool forever);
void follower_free(struct follower *l);
/* Asks again, this much later. */
void follower_later(struct follower *l, int64_t delay_ns);
/* Asks now, or as soon as it is known where to go on. */
void follower_ask(struct follower *l);
/* It cannot go on: later, the later the more often that was so. */
void follower_fail(struct follower *l, const struct js_error *e);
/* To whom it may concern, in the name of the account. */
size_t follower_send(const struct follower *l, struct mf_slice subject, struct mf_slice reply,
                     struct mf_slice hdr, struct mf_slice body);

/* --- receive.c ---------------------------------------------------------------------------------
 */

bool receive_delivery(struct router_sub *sub, const struct router_msg *m);
void receive_pending(struct follower *l, uint64_t pending); /* so many are to come */
void receive_queue(struct follower *l);   /* has something to do at the end of the turn */
void receive_flush(struct loop_defer *d); /* of sources.flush: does it */

/* --- resume.c ------------------------------------------------------------------------------- */

/* true: it is known where to go on.  false: it is being looked for; it asks then. */
bool resume_find(struct follower *l);
void resume_write(struct follower *l); /* its place, if it changed */
void resume_commit(void *arg);         /* the same for all, with the group that goes to disk now */
void resume_close(struct follower *l); /* its place, for the next start */
void resume_forget(struct follower *l);

#endif
