/* stream_world.h: one stream on files in memory, on a loop whose jobs run inline, with a clock the
 * test sets.  The files stay when the stream is closed or killed, so it can be opened again. */
#ifndef TEST_STREAM_WORLD_H
#define TEST_STREAM_WORLD_H

#include "base/buf.h"
#include "stream/stream.h"

struct world {
    struct loop *loop;
    struct store_io *io; /* stays */
    void (*io_free)(struct store_io *io);
    struct stream_host host;
    struct stream_usage account, server;
    uint64_t batches, fasts;
    struct stream *stream; /* NULL: closed */
    int64_t now_ns;
    int64_t later_ns;   /* not 0: the time, if the files that are opened know of one after now_ns */
    int64_t step_ns;    /* each look at the clock takes so long */
    int64_t behind_ns;  /* the wall clock, which was set back */
    struct mf_buf said; /* what the stream published: "subject|header|payload\n" */
};

/* What a publisher was told. */
struct world_ack {
    bool done, duplicate, empty, silent;
    uint64_t seq;
    int err_code;
    char text[1024], val[128], batch[80];
    uint64_t batch_count;
};

void world_init(struct world *w);
void world_fini(struct world *w);
/* On these files from now on; they become the world's. */
void world_files(struct world *w, struct store_io *io);
/* Before world_open(): puts other files in front, fault_io_new() for instance. */
void world_wrap(struct world *w,
                int (*wrap)(struct store_io **out, struct store_io *under, struct mf_error *e));
/* Fields a test sets; strings may be literals.  Without subjects: the name. */
void world_open(struct world *w, const struct stream_config *cfg);
void world_close(struct world *w);
void world_kill(struct world *w);                 /* as kill -9 does */
void world_turns(struct world *w);                /* until nothing waits */
void world_time(struct world *w, int64_t now_ns); /* and until what is due was swept */

/* lines: "Nats-TTL: 5\r\n" or NULL.  Waits for the answer. */
struct world_ack world_publish(struct world *w, const char *subject, const char *lines,
                               const char *payload);
/* The same without waiting: *a is filled when it comes. */
void world_send(struct world *w, const char *subject, const char *reply, const char *lines,
                const char *payload, struct world_ack *a);
/* 0, or the err_code. */
int world_remove(struct world *w, uint64_t seq);
int world_purge(struct world *w, const char *filter, uint64_t below, uint64_t keep,
                uint64_t *purged);
/* "subject|header lines|payload" of a message, lines joined by ','; "" if it is not there. */
const char *world_message(struct world *w, uint64_t seq);
uint64_t world_count(struct world *w);
size_t world_blobs(struct world *w, const char *prefix); /* whose names begin so */
/* All of them, "seq subject|header lines|payload\n" each; replaces what out holds. */
void world_text(struct world *w, struct mf_buf *out);

#endif
