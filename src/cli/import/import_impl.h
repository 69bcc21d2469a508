/* import_impl.h: the command `mayfly import`.
 *
 * import_find.c: streams below a folder.  import_watch.c, import_running.c: is the store in use,
 * did it change?  nats_store.h: reads one stream.  import_send.c: sends it through STREAM.RESTORE.
 * import_report.c: the table, --json.  import.c: the command. */
#ifndef CLI_IMPORT_IMPL_H
#define CLI_IMPORT_IMPL_H

#include "cli/cli.h"
#include "cli/import/nats_store.h"
#include "cli/request.h"

enum import_outcome { IMPORT_READY, IMPORT_TAKEN, IMPORT_SKIPPED, IMPORT_REFUSED };

/* A file before it was read. */
struct import_mark {
    uint64_t size, inode;
    int64_t mtime_ns;
};
struct import_marks {
    uint64_t sum; /* of all files: names, sizes, times */
    size_t files;
};

struct import_stream {
    char *dir, *folder;        /* folder: its last part, the name until the configuration is read */
    struct nats_store *store;  /* NULL: could not be opened */
    struct import_marks marks; /* before the first read */
    enum import_outcome outcome;
    char why[600];  /* refused, skipped */
    json_t *stored; /* the server's state after the import */
};

struct import {
    struct cli *c;
    const char *dir;
    char account[256]; /* "": the folder is a single stream */
    char **accounts;   /* all below the folder that have streams */
    size_t naccounts, accounts_cap;
    struct import_stream *streams;
    size_t n, cap;
    bool asked; /* --dry-run: there was a server to ask */
};
const char *import_name(const struct import_stream *x);
void import_refuse(struct import_stream *x, const char *fmt, ...) MF_PRINTF(2, 3);

/* import_find.c: the streams of the chosen account, by --account and --stream.  0 or an exit code,
 * printed. */
MF_MUSTCHECK int import_find(struct import *m);

/* import_running.c: is the process `pid` a nats-server whose command line or configuration names
 * the store that dir is or belongs to?  dir: resolved. */
bool import_runs_on(const char *pid, const char *dir);

/* import_watch.c */

/* The process that uses dir (resolved); 0: none that this user may see. */
pid_t import_user_of(const char *dir);
/* Sizes and times of all files below dir.  MF_IO. */
MF_MUSTCHECK int import_mark(struct import_marks *k, const char *dir);
bool import_changed(const struct import_stream *x);

/* import_send.c: a message that is too large for the server: x is refused. */
void import_check_size(const struct import *m, struct import_stream *x);
/* The stream is created by the server, or x is refused.  0, or an exit code if
 * Ctrl-C came or the connection is of no more use. */
MF_MUSTCHECK int import_send(struct import *m, struct import_stream *x);

/* import_report.c */
void import_print(struct import *m, bool dry_run);

#endif
