/* catalog.h: the streams of one account: created, found, updated, deleted, loaded at start.
 *
 * A stream is a folder DIR/NAME with a store in it; its configuration is a blob of that store, so a
 * stream exists as a whole or not at all.  Creating and deleting run in workers and answer later;
 * meanwhile the name is busy.  Finding is O(log streams).
 *
 * A delete begins with renaming the folder; from the call on the stream is not found.  Where that
 * fails, it is found and served as before. */
#ifndef MAYFLY_CATALOG_H
#define MAYFLY_CATALOG_H

#include "base/buf.h"
#include "store/store_journal.h" /* stream_host.journal, */
#include "store/store_patrol.h"  /* stream_host.patrol: made by who makes catalogs */
#include "store/store_secret.h"  /* catalog_opts.secret: the same */
#include "stream/stream.h"

struct catalog;

/* How a configuration is written: JSON is the api's. */
struct catalog_codec {
    int (*encode)(const struct stream_config *c, struct mf_buf *out);
    /* Into an initialised config.  MF_UNSUPPORTED: it asks for what this version does not know. */
    int (*decode)(struct mf_slice text, struct stream_config *c, struct mf_error *e);
};

/* The directory of all streams of a server.  It belongs to one process at a time.  It uses one
 * descriptor, and its lock another. */
struct store_folder;
/* <store_dir>/jetstream, made if it is missing, and locked.  Refused without a change: a directory
 * that is not ours or that others may write, one that holds streams of nats-server, one that
 * another server uses, one in which nothing can be written.  catalog_root_close() ends the lock. */
MF_MUSTCHECK int catalog_root_open(struct store_folder **out, const char *store_dir,
                                   struct mf_error *e);
/* Unused files of all streams keep at most n descriptors. */
void catalog_root_files(struct store_folder *root, unsigned n);
/* Would that succeed (another server's lock apart)?  Changes nothing. */
MF_MUSTCHECK int catalog_root_check(const char *store_dir, struct mf_error *e);
void catalog_root_close(struct store_folder *root); /* NULL is fine */
/* Is there a folder of this name, served or not? */
bool catalog_root_has(struct store_folder *root, const char *dir);

struct catalog_opts {
    struct store_folder *root;
    const char *dir; /* of the streams, below root: <account>/streams; made with the first stream */
    struct catalog_codec codec;
    const struct stream_host *host;
    int64_t sync_interval_ns; /* 0: every batch is synced */
    /* The keys of streams on disk; NULL: they are not encrypted.  The caller's, until the end. */
    const struct store_secret *secret;
    /* Streams that were made (or opened at a start), deleted, or changed in their configuration:
     * subscribe their subjects. */
    void (*added)(void *arg, struct stream *s);
    void (*changed)(void *arg, struct stream *s);
    void (*removed)(void *arg, struct stream *s); /* no longer there; freed after this call */
    void *arg;
};
/* Loads what is there; blocks (it is called before anybody is served).  A stream that cannot be
 * loaded is reported in the log, stays on disk untouched, and is listed as offline. */
MF_MUSTCHECK int catalog_open(struct catalog **out, const struct catalog_opts *o,
                              struct mf_error *e);
/* Closes all streams, then calls closed(). */
void catalog_close(struct catalog *c, void (*closed)(void *arg), void *arg);

struct stream *catalog_find(struct catalog *c, struct mf_slice name); /* ready ones only; NULL */
/* Of one that is being made, too; NULL. */
const struct stream_config *catalog_config(struct catalog *c, struct mf_slice name);
/* true: the name is being created, updated or deleted; w->done() is called afterwards, in the order
 * of the calls. */
struct catalog_wait {
    void (*done)(struct catalog_wait *w);
    struct mf_list node;
};
bool catalog_busy(struct catalog *c, struct mf_slice name, struct catalog_wait *w);
size_t catalog_count(const struct catalog *c);
/* In the order of names; visit may not create or delete.  subject not empty: only streams with a
 * subject that overlaps. */
void catalog_each(struct catalog *c, struct mf_slice subject,
                  void (*visit)(void *arg, struct stream *s), void *arg);
/* Does the stream have a subject that overlaps?  O(its subjects). */
bool catalog_touches(const struct stream *s, struct mf_slice subject);
/* All names in slices: places count from 0 in the order of names, and change when streams are made
 * and deleted.  behind: the place of the first name that is greater (empty: 0); O(log streams).
 * at: false: there are not that many.  stream and reason NULL: it is being made or deleted. */
struct catalog_item {
    const char *name;
    struct stream *stream;
    const char *reason; /* it is offline */
};
size_t catalog_behind(const struct catalog *c, struct mf_slice name);
bool catalog_at(const struct catalog *c, size_t place, struct catalog_item *out);
/* Streams on disk that this version cannot serve, in the order of names. */
void catalog_each_offline(struct catalog *c,
                          void (*visit)(void *arg, const char *name, const char *reason),
                          void *arg);
const char *catalog_offline(struct catalog *c, struct mf_slice name); /* the reason, or NULL */
/* 1: another stream (not called `except`) has a subject that overlaps, or one that is being
 * created. 0: none has.  MF_NOMEM.  MF_LIMIT: too many wildcards to compare.  O(its subjects),
 * usually. */
MF_MUSTCHECK int catalog_overlaps(struct catalog *c, const struct stream_config *cfg,
                                  const char *except);
/* Of all streams, those being made too: the sum of max_bytes that were asked for, by storage. */
void catalog_reserved(struct catalog *c, struct stream_usage *out);

struct catalog_op {
    /* Once, later.  s is NULL after a failure and after a delete. */
    void (*done)(struct catalog_op *op, struct stream *s, const struct js_error *e);
    /* Delete only; may be NULL: the stream is deleted on disk and is closed next. */
    void (*gone)(struct catalog_op *op, struct stream *s);
    struct mf_list node;
};
/* cfg passed every check and is taken over (moved out).  created_ns 0: now. */
/* None of these while catalog_busy() says so. */
void catalog_create(struct catalog *c, struct stream_config *cfg, int64_t created_ns,
                    struct catalog_op *op);
void catalog_update(struct catalog *c, struct stream *s, struct stream_config *cfg,
                    struct catalog_op *op);
void catalog_delete(struct catalog *c, struct stream *s, struct catalog_op *op);
/* A stream that is being filled, for restores.  It is found and listed like any other, but its
 * folder is a draft until catalog_finish(): after a crash before that, nothing of it remains. */
void catalog_create_draft(struct catalog *c, struct stream_config *cfg, struct catalog_op *op);
bool catalog_is_draft(struct catalog *c, struct mf_slice name);
/* Gives a draft its final configuration, then its name on disk; done() after both are on disk. */
void catalog_finish(struct catalog *c, struct stream *s, struct stream_config *cfg,
                    struct catalog_op *op);
/* For a stream nobody may see: not found from this call on.  A failure leaves it offline. */
void catalog_discard(struct catalog *c, struct stream *s, struct catalog_op *op);

#endif
