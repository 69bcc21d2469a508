/* mayfly.h: the C API of libmayfly, for C and C++: a stream server inside another program.
 *
 *     struct mayfly_options o = {.size = sizeof o, .config = "jetstream: {store_dir:
 * /var/lib/app}"}; struct mayfly_error e; struct mayfly *m; if (mayfly_start(&m, &o, &e) != 0 ||
 * mayfly_wait_ready(m, -1, &e) != 0) puts(e.text); int fd = mayfly_connect(m, &e);    // speaks
 * NATS; no port is needed
 *     ...
 *     mayfly_free(m);
 *
 * Threads: a server runs on a thread of its own, with worker threads; all of them block all
 * signals. Every function may be called from any thread at any time, but for mayfly_free(), which
 * must be the last call with its server.  Inside the log callback only the functions that say so
 * are allowed; the others fail with MAYFLY_INVAL there. Process: several servers run in one process
 * and share nothing that can be changed.  The library installs no signal handlers, never exits,
 * changes neither folder, limits, environment nor locale, and writes to standard error only with
 * MAYFLY_LOG_STDERR.  Its descriptors are close-on-exec. Fork: a child may exec.  A child that does
 * not must not use a server of its parent: calls fail with MAYFLY_CLOSED, and mayfly_free() leaves
 * everything alone. Ownership: arguments are borrowed for the length of the call, unless a comment
 * says otherwise. Errors: functions return 0 or a number from enum mayfly_code, and then fill *e,
 * the whole story in words; e may be NULL.  Input never ends the process. */
#ifndef MAYFLY_H
#define MAYFLY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MAYFLY_VERSION "0.1.0"

#if defined(__GNUC__)
#define MAYFLY_API __attribute__((visibility("default")))
#else
#define MAYFLY_API
#endif

/* The version of the library that is linked, for comparison with MAYFLY_VERSION.  Static text. */
MAYFLY_API const char *mayfly_version(void);
/* The version of nats-server whose protocol and API this library serves.  Static text. */
MAYFLY_API const char *mayfly_nats_version(void);

enum mayfly_code {
    MAYFLY_NOMEM = -1,
    MAYFLY_INVAL = -2,        /* an option, a configuration or an argument is wrong */
    MAYFLY_NOTFOUND = -4,     /* no such address, or a file that is missing */
    MAYFLY_BUSY = -5,         /* the store or the port is in use */
    MAYFLY_LIMIT = -6,        /* a limit is reached */
    MAYFLY_IO = -7,           /* the system refused */
    MAYFLY_CORRUPT = -8,      /* stored data is damaged */
    MAYFLY_DENIED = -10,      /* not permitted */
    MAYFLY_CLOSED = -11,      /* the server has ended, or never became ready */
    MAYFLY_FULL = -12,        /* no space on the disk */
    MAYFLY_UNSUPPORTED = -13, /* for example a setting that a reload cannot change */
    MAYFLY_TIMEOUT = -14
};

struct mayfly_error {
    int code;       /* enum mayfly_code */
    char text[512]; /* such as "Can't start JetStream: /var/lib/app is in use by process 12" */
};

enum mayfly_log_level {
    MAYFLY_LOG_FATAL,
    MAYFLY_LOG_ERROR,
    MAYFLY_LOG_WARN,
    MAYFLY_LOG_INFO,
    MAYFLY_LOG_DEBUG,
    MAYFLY_LOG_TRACE
};

enum mayfly_flags {
    MAYFLY_LOG_STDERR = 1 /* lines to standard error, where there is no log callback */
};

/* Set everything to 0 first and `size` to sizeof(struct mayfly_options): members of later versions
 * come at the end.  Strings are copied.
 *
 * Parts that nobody asks for are off: without port, listen or host there is no client port, without http
 * no monitoring port, and without busy_poll no busy polling. */
struct mayfly_options {
    size_t size;
    const char *config;      /* a configuration in nats-server's language, or NULL */
    const char *config_file; /* the path of one, or NULL; not both */
    int argc;                /* flags as mayflyd has them, over the configuration; 0: none */
    char **argv;             /* as of main(): argv[0] is skipped */
    unsigned flags;          /* enum mayfly_flags */
    /* Each line of the log, without time and level, unless the configuration names a log file or
     * syslog.  Called by the server's threads, one call at a time for each server; the text is gone
     * after the call.  NULL: no lines. */
    void (*log)(void *arg, int level, const char *line);
    void *log_arg;
    /* Budgets; 0: none.  Messages that would exceed the memory are refused, connections that would
     * exceed the descriptors too. */
    uint64_t max_memory; /* bytes of memory streams, indexes of all streams, and queued output */
    uint64_t max_files;  /* descriptors: connections and files of streams */
};

struct mayfly; /* a server */

/* Starts a server and returns at once; recovery of the streams runs on the server's thread.  On
 * success *out is the caller's until mayfly_free().
 * Errors: MAYFLY_INVAL (the configuration, with file, line and column), MAYFLY_NOMEM. */
MAYFLY_API int mayfly_start(struct mayfly **out, const struct mayfly_options *o,
                            struct mayfly_error *e);
/* Waits until clients are served.  timeout_ms: negative for ever, 0 only looks.
 * Errors: MAYFLY_TIMEOUT; or the reason why the start failed: the server has ended then. */
MAYFLY_API int mayfly_wait_ready(struct mayfly *m, int timeout_ms, struct mayfly_error *e);

/* A client connection that needs no port: a connected stream socket that speaks NATS, blocking and
 * close-on-exec.  The caller owns it and closes it with close().  Credentials are those of any
 * client; TLS is not used.  It reads end-of-file when the server ends.
 * Returns the descriptor, or an error: MAYFLY_CLOSED, MAYFLY_LIMIT (no descriptor), MAYFLY_NOMEM.
 * May be called before the server is ready: then the greeting comes later. */
MAYFLY_API int mayfly_connect(struct mayfly *m, struct mayfly_error *e);

enum mayfly_address {
    MAYFLY_CLIENTS,
    MAYFLY_UNIX, /* of the file system */
    MAYFLY_MONITOR,
    MAYFLY_MONITOR_TLS,
    MAYFLY_WEBSOCKET
};
/* Writes the URL of an open listener, such as "nats://127.0.0.1:4222" or "unix:/run/app.sock",
 * NUL-terminated, to dst.  Returns the port, 0 for a socket of the file system.
 * Errors: MAYFLY_NOTFOUND (it is not open), MAYFLY_LIMIT (cap is too small), MAYFLY_CLOSED. */
MAYFLY_API int mayfly_address(struct mayfly *m, int which, char *dst, size_t cap,
                              struct mayfly_error *e);

/* Set size before the call; later versions add members at the end. */
struct mayfly_statistics {
    size_t size;
    uint64_t connections, total_connections, subscriptions;
    uint64_t in_messages, in_bytes, out_messages, out_bytes, slow_consumers;
    uint64_t streams, consumers;
    uint64_t stored_messages, stored_bytes; /* of all streams; file and memory */
    int64_t uptime_ns;
};
/* Errors: MAYFLY_INVAL (size), MAYFLY_CLOSED. */
MAYFLY_API int mayfly_stats(struct mayfly *m, struct mayfly_statistics *out,
                            struct mayfly_error *e);

/* Replaces the configuration, or nothing.  config: a new text; NULL reads the file, or the former
 * text, again.  Waits for the result.
 * Errors: MAYFLY_INVAL, MAYFLY_UNSUPPORTED (a setting that only a start can change), MAYFLY_CLOSED.
 */
MAYFLY_API int mayfly_reload(struct mayfly *m, const char *config, struct mayfly_error *e);

enum mayfly_how {
    MAYFLY_NOW,  /* connections end; everything that was acknowledged is on disk */
    MAYFLY_DRAIN /* lame duck mode: clients are asked to go, then closed one by one
                    (lame_duck_grace_period, lame_duck_duration), then as above */
};
/* Begins the end of the server and returns at once.  Allowed inside the log callback.  A server
 * that is not ready yet ends as soon as it is; MAYFLY_NOW may follow MAYFLY_DRAIN. */
MAYFLY_API void mayfly_stop(struct mayfly *m, int how);
/* Waits until the server has ended: its files are closed, its thread is over.  timeout_ms as above.
 * Errors: MAYFLY_TIMEOUT; or the reason why the server ended by itself. */
MAYFLY_API int mayfly_wait(struct mayfly *m, int timeout_ms, struct mayfly_error *e);
/* Stops the server at once if it runs, waits, and frees it.  NULL is fine. */
MAYFLY_API void mayfly_free(struct mayfly *m);

/* The program mayflyd: runs what the command line asks for, a server or one of --help, --version,
 * -t and -sl.  This one owns the process: it handles SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2,
 * raises the limit of descriptors, logs to standard error, and serves systemd's notification and
 * socket activation (LISTEN_FDS).  argv must stay unchanged until the call returns.
 * Returns the exit status of the program: 0, or 1 after an error. */
MAYFLY_API int mayfly_main(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
