/* restore.h: a stream that is being restored.  restore.c takes the chunks and answers;
 * restore_store.c makes the stream and puts what the archive holds into it. */
#ifndef API_RESTORE_H
#define API_RESTORE_H

#include "archive.h"
#include "api_impl.h"
#include "consumer_backup.h"

#include "mayfly/rand.h"
#include "mayfly/s2.h"

/* Of state.json and of the request. */
struct restore_state {
    uint64_t msgs, bytes, first_seq, last_seq, subjects, deleted_count;
    int64_t first_ts_ns, last_ts_ns, consumers;
    struct mf_slice subject_counts, deleted, lost; /* as they stand there; not looked at */
};
extern const struct json_type restore_state_type;

struct restore_tar; /* restore_tar.c */

struct restore {
    struct mf_list link; /* api_account.restores */
    struct api_account *aa;
    struct stream_config cfg; /* as it will be */
    char *name;
    struct mf_slice client; /* both behind the struct */
    int64_t start_ns;
    uint64_t total; /* bytes that came */
    char subject[sizeof "$JS.SNAPSHOT.RESTORE.." + 255 + RAND_NUID];
    struct router_sub sub;
    struct loop_timer *idle;
    struct loop_defer turn;
    struct mf_list chunks; /* waiting, in order; their bytes */
    size_t waiting;
    bool fed; /* the first of them was given to s2 */
    struct s2_reader s2;
    struct archive_reader archive;
    struct restore_tar *tar; /* NULL: it is not one */

    /* restore_store.c */
    struct restore_state state; /* of the archive */
    struct catalog_op op;
    struct catalog_wait busy;
    struct stream_op remove;
    bool pending; /* op, busy or remove is under way */
    bool begun;   /* state.json was read */
    bool made;    /* there is a stream of ours, made at */
    int64_t created_ns;
    uint64_t last_seq; /* the last one read */
    uint64_t stored;   /* the last one in the stream */
    size_t inflight, inflight_bytes;
    struct mf_list consumers; /* restore_consumers.c: read, not made yet */
    int64_t consumers_read;
    size_t consumer_bytes, making; /* of documents; under way */
    bool tail;                     /* the last sequence is held by a message that must go */
    bool failed;                   /* and why: */
    struct js_error error;
    bool complete; /* all of it is there, the stream is as it should be */
    bool stopped;  /* nobody waits for it: to be freed as soon as nothing is under way */
    unsigned held; /* by callers further up, who still look at it: not freed before they let go */
};

/* restore.c: something went on; look again what to do. */
void restore_wake(struct restore *r);

/* restore_store.c */

/* Takes what the archive holds now.  0: all of it; MF_AGAIN: wait, restore_wake() follows; else it
 * has failed. */
int restore_take(struct restore *r);
/* All was taken: makes the stream what it was.  MF_AGAIN as above, until r->complete or failed. */
int restore_complete(struct restore *r);
/* Remembers why (the first time) and deletes the stream. */
void restore_fail(struct restore *r, const char *fmt, ...) MF_PRINTF(2, 3);
void restore_fail_with(struct restore *r, const struct js_error *e);
/* The stream being restored, NULL: not made yet, or gone. */
struct stream *restore_stream(struct restore *r);
/* Nothing is under way that will call back. */
static inline bool restore_idle(const struct restore *r)
{
    return !r->pending && r->inflight == 0 && r->making == 0;
}

/* A message of the archive; one at a time, sequences going up. */
void restore_take_msg(struct restore *r, struct stream *s, const struct archive_entry *e);

/* restore_tar.c: a backup of nats-server 2.14 or older. */

/* r->archive.in does not begin like our archives. */
void restore_tar_begin(struct restore *r);
/* One step.  0: r->failed, or go on; MF_AGAIN: more bytes are needed. */
int restore_tar_step(struct restore *r);
/* All was read: deleted messages go, the last sequence is found.  0, or MF_AGAIN: once more. */
int restore_tar_finish(struct restore *r, struct stream *s);
void restore_tar_free(struct restore_tar *x); /* NULL is fine */

/* restore_consumers.c */

/* One entry of the archive that must be a consumer. */
void restore_take_consumer(struct restore *r, const struct archive_entry *e);
/* Takes *b over, checks it and keeps it. */
void restore_add_consumer(struct restore *r, struct mf_slice name, struct consumer_backup *b);
/* All messages are there: the consumers are made.  0: all, or r->failed.  MF_AGAIN as above. */
int restore_make_consumers(struct restore *r, struct stream *s);
void restore_drop_consumers(struct restore *r);

#endif
