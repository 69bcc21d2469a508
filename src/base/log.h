/* log.h: the server's log in nats-server's line format, or as JSON lines.
 *     [pid] 2026/01/02 03:04:05.678901 [INF] text
 * Written with one write() a line, so lines never mix.  Any thread may log; a mutex guards the file
 * while it is written, reopened or rotated.  A line is one line whatever a client put into it:
 * control characters and bytes that are no UTF-8 are shown as \n, \x1b.  Without memory a line is
 * still written, a long one cut (except to a remote syslog).
 *
 * A thread writes to the log that it uses (log_use()); worker threads use the log of the thread
 * that starts them.  So each of several servers in a process has its own.  Lines of a thread
 * without a log go to stderr. */
#ifndef MAYFLY_LOG_H
#define MAYFLY_LOG_H

#include "base/base.h"

enum log_level { LOG_FATAL_, LOG_ERROR_, LOG_WARN_, LOG_INFO_, LOG_DEBUG_, LOG_TRACE_ };

/* Appends one line as a JSON object.  wall_ns: NULL without a time. */
struct mf_buf;
typedef void log_json_fn(struct mf_buf *out, const char *level, const int64_t *wall_ns,
                         struct mf_slice text);

/* One line, without time and level; called with the mutex held, so one call at a time. */
typedef void log_call_fn(void *arg, enum log_level level, const char *line);

struct log_options {
    const char *file;          /* NULL: stderr */
    bool time, utc;            /* show the time; in UTC */
    bool debug, trace;         /* levels below INF */
    log_json_fn *json;         /* log_json_line() of codec/log_json.h; NULL: text lines */
    bool color;                /* only honoured on a terminal */
    bool syslog;               /* syslog(3) instead of a file */
    const char *remote_syslog; /* udp://host:port, tcp://host:port, unix:///path; or NULL */
    uint64_t size_limit;       /* rotate beyond it; 0: never */
    unsigned max_files;        /* kept, the one being written included; 0: all */
    /* The process is somebody else's: lines without file and syslog are handed to call() (NULL:
     * dropped) instead of stderr, and syslog's settings of the process are left as they are. */
    bool guest;
    log_call_fn *call;
    void *call_arg;
};

/* Counted.  A new log writes to stderr; log_open() of a thread that uses it gives it a place. */
struct log;
struct log *log_new(void); /* NULL: no memory */
struct log *log_retain(struct log *l);
void log_release(struct log *l); /* closes it with the last one; NULL is fine */
struct log *log_current(void);   /* of this thread, borrowed; NULL: none */
/* This thread writes to l from now on.  Returns the one before; counts neither. */
struct log *log_use(struct log *l);

/* Copies *o; for the log of this thread, made if there is none.  file wins over remote_syslog, that
 * over syslog, as in nats-server.  On failure the former log stays in use.  May block on a name
 * lookup for remote_syslog; sending to it never does.
 */
MF_MUSTCHECK int log_open(const struct log_options *o, struct mf_error *e);
/* SIGUSR1: after logrotate moved the file.  Logs the result. */
void log_reopen(void);
void log_close(void); /* back to stderr */
bool log_enabled(enum log_level level);
void log_write(enum log_level level, const char *fmt, ...) MF_PRINTF(2, 3);

#define log_fatal(...) log_write(LOG_FATAL_, __VA_ARGS__) /* logs only; the caller exits */
#define log_error(...) log_write(LOG_ERROR_, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_WARN_, __VA_ARGS__)
#define log_info(...)  log_write(LOG_INFO_, __VA_ARGS__)
/* Arguments are not evaluated unless the level is on. */
#define log_debug(...)                                                                             \
    do {                                                                                           \
        if (MF_UNLIKELY(log_enabled(LOG_DEBUG_)))                                                  \
            log_write(LOG_DEBUG_, __VA_ARGS__);                                                    \
    } while (0)
#define log_trace(...)                                                                             \
    do {                                                                                           \
        if (MF_UNLIKELY(log_enabled(LOG_TRACE_)))                                                  \
            log_write(LOG_TRACE_, __VA_ARGS__);                                                    \
    } while (0)

#endif
