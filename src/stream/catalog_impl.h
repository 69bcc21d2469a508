/* catalog_impl.h: the catalog's insides. */
#ifndef CATALOG_IMPL_H
#define CATALOG_IMPL_H

#include "stream/catalog.h"
#include "subject/pattern_set.h"
#include "stream/stream_impl.h"

#include "store/store_folder.h"

#include <pthread.h>

/* A file in the folder of every stream of nats-server, and in none of ours. */
#define CATALOG_NATS_FILE "meta.inf"

enum entry_state { ENTRY_MAKING, ENTRY_READY, ENTRY_DELETING, ENTRY_OFFLINE };

/* Subjects of one stream in the catalog's tree, their texts copied. */
struct claims {
    struct pattern_entry *at;
    size_t n;
};

/* A file in the folder of every stream of nats-server, and in none of ours. */
#define CATALOG_NATS_FILE "meta.inf"

/* A name and what is behind it. */
struct entry {
    struct catalog *c;
    char *name;
    enum entry_state state;
    struct stream *stream;    /* READY, DELETING until it is closed */
    struct stream_config cfg; /* MAKING */
    struct claims claims;     /* MAKING, READY */
    struct claims wanted;     /* while it is changed: those of the new configuration */
    char **wanted_subjects;   /* its list: shows whether the stream has adopted it */
    int64_t created_ns;
    char *reason;         /* OFFLINE */
    struct mf_list waits; /* catalog_wait.node */
    /* While it is made or deleted: */
    struct catalog_op *op;
    struct stream_op update;
    struct store *store;
    struct store_io *io; /* of a stream on disk; the store owns it */
    struct loop_job *job;
    struct store_wait wait;
    struct mf_error error;
    int status;
    bool named;                   /* the folder may have its name */
    bool draft;                   /* its folder is a draft: removed at the next start */
    bool finishing;               /* catalog_finish() is under way */
    bool moving;                  /* READY: a worker renames the folder, so io must stay */
    bool leaving;                 /* READY: its delete has begun, and may fail */
    char gone[STORE_FOLDER_NAME]; /* DELETING: the folder's name now; "": still its own */
};

/* Entries in the order of names. */
struct catalog {
    struct catalog_opts o;
    char *dir;
    pthread_mutex_t mutex;       /* guards folder */
    struct store_folder *folder; /* NULL: not there yet, or not looked at */
    struct entry **at;
    size_t count, cap, ready;
    struct pattern_tree subjects; /* of all streams; their owners are the entries */
    size_t jobs;                  /* entries under way: closing waits for them */
    bool closing;
    size_t closing_streams;
    void (*closed)(void *arg);
    void *closed_arg;
};

/* A stream whose delete has begun is not found; it is found again if the delete fails. */
static inline bool entry_found(const struct entry *e)
{
    return e->state == ENTRY_READY && !e->leaving;
}
struct entry *entry_find(const struct catalog *c, struct mf_slice name, size_t *at);
/* A new one in its place; NULL: no memory. */
struct entry *entry_add(struct catalog *c, struct mf_slice name);
void entry_drop(struct entry *e); /* out of the list, freed; waiters for the name are notified */
void entry_told(struct entry *e); /* no longer under way: waiters for the name are notified */
/* The streams' folder, borrowed; on any thread.  MF_NOTFOUND (without make): it is not there. */
MF_MUSTCHECK int catalog_folder(struct catalog *c, bool make, struct store_folder **out,
                                struct mf_error *e);
/* The store's options for such a stream, but for the time; on any thread. */
void entry_store_opts(const struct entry *e, const struct stream_config *cfg, struct store_opts *o);
/* Commits of a file stream may go into the journal from now on. */
void entry_share(const struct entry *e, struct store *s, const struct stream_config *cfg);
/* The entry's subjects in the tree.  take: those of a configuration, beside what is there. MF_NOMEM
 * changes nothing. */
MF_MUSTCHECK int claims_add(struct claims *claims, struct entry *e,
                            const struct stream_config *cfg);
void claims_drop(struct claims *claims, struct catalog *c);
void catalog_check_closed(struct catalog *c);
void catalog_free(struct catalog *c); /* nothing of it is under way */

#endif
