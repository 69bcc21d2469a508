/* log.c: makes log lines and hands them to the one sink in use. */
#include "base/log.h"

#include "base/log_sink_impl.h"
#include "base/utf8.h"

#include "base/clock.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Texts up to this length are logged without allocating, so that "out of memory" can be logged.
 * Without memory longer texts are cut to it. */
#define TEXT_KEPT 1024u
/* Each byte as \u001b, and the rest of the line. */
#define LINE_KEPT (6 * TEXT_KEPT + 256)

enum sink { SINK_STDERR, SINK_FILE, SINK_SYSLOG };

/* Everything but `levels` is guarded by the mutex. */
static struct {
    pthread_mutex_t mutex;
    enum sink sink;
    bool time, utc, color;
    log_json_fn *json; /* NULL: text lines */
    struct log_file file;
    struct log_syslog syslog;
    struct mf_buf line; /* LINE_KEPT bytes, from log_open() or the first line on */
} lg = {.mutex = PTHREAD_MUTEX_INITIALIZER, .time = true, .file.fd = -1, .syslog.fd = -1};

/* Bit n is set when level n is on. */
#define LEVELS_ALWAYS (1u << LOG_FATAL_ | 1u << LOG_ERROR_ | 1u << LOG_WARN_ | 1u << LOG_INFO_)
static _Atomic unsigned levels = LEVELS_ALWAYS;

static const struct {
    const char *label, *colored, *json;
} level_text[] = {
    [LOG_FATAL_] = {"[FTL] ", "[\x1b[31mFTL\x1b[0m] ", "fatal"},
    [LOG_ERROR_] = {"[ERR] ", "[\x1b[31mERR\x1b[0m] ", "error"},
    [LOG_WARN_] = {"[WRN] ", "[\x1b[0;93mWRN\x1b[0m] ", "warn"},
    [LOG_INFO_] = {"[INF] ", "[\x1b[32mINF\x1b[0m] ", "info"},
    [LOG_DEBUG_] = {"[DBG] ", "[\x1b[36mDBG\x1b[0m] ", "debug"},
    [LOG_TRACE_] = {"[TRC] ", "[\x1b[33mTRC\x1b[0m] ", "trace"},
};

/* Control characters and bytes that are no UTF-8 are escaped: bytes from a client can neither
 * start a new line nor control the terminal. */
static void put_safe(struct mf_buf *out, struct mf_slice s)
{
    for (size_t i = 0; i < s.len;) {
        uint32_t rune = 0;
        size_t n = utf8_next(s.ptr + i, s.len - i, &rune);
        bool plain = n > 0 && rune >= 0x20 && !(rune >= 0x7f && rune <= 0x9f);
        if (plain)
            mf_buf_append(out, s.ptr + i, n);
        else if (rune == '\n' || rune == '\r' || rune == '\t')
            mf_buf_puts(out, rune == '\n' ? "\\n" : rune == '\r' ? "\\r" : "\\t");
        else
            for (size_t k = 0; k < (n == 0 ? 1 : n); k++)
                mf_buf_printf(out, "\\x%02x", s.ptr[i + k]);
        i += n == 0 ? 1 : n;
    }
}

static void put_time(struct mf_buf *out, int64_t wall_ns)
{
    time_t s = (time_t)(wall_ns / CLOCK_S);
    struct tm tm;
    char text[32];

    if (lg.utc)
        gmtime_r(&s, &tm);
    else
        localtime_r(&s, &tm);
    strftime(text, sizeof text, "%Y/%m/%d %H:%M:%S", &tm);
    mf_buf_printf(out, "%s.%06d ", text, (int)(wall_ns % CLOCK_S / CLOCK_US));
}

static void put_line(struct mf_buf *out, enum log_level level, int64_t wall_ns,
                     struct mf_slice text)
{
    if (lg.json != NULL) {
        lg.json(out, level_text[level].json, lg.time ? &wall_ns : NULL, text);
    } else {
        mf_buf_printf(out, "[%d] ", (int)getpid());
        if (lg.time)
            put_time(out, wall_ns);
        mf_buf_puts(out, lg.color ? level_text[level].colored : level_text[level].label);
        put_safe(out, text);
    }
    mf_buf_byte(out, '\n');
}

/* One line to the sink, no rotation.  `line` is scratch.  False: no memory for it. */
static bool emit_with(struct mf_buf *line, enum log_level level, int64_t wall_ns,
                      struct mf_slice text)
{
    mf_buf_clear(line);
    if (lg.sink == SINK_SYSLOG) {
        put_safe(line, text);
        const char *safe = mf_buf_cstr(line);
        if (!mf_buf_failed(line))
            log_syslog_write(&lg.syslog, level, wall_ns, safe);
        return !mf_buf_failed(line);
    }
    put_line(line, level, wall_ns, text);
    if (mf_buf_failed(line))
        return false;
    if (lg.sink == SINK_FILE)
        log_file_write(&lg.file, mf_buf_slice(line));
    else
        (void)log_fd_write(STDERR_FILENO, mf_buf_slice(line));
    return true;
}

static bool line_kept(void)
{
    mf_buf_clear(&lg.line);
    return mf_buf_reserve(&lg.line, LINE_KEPT) != NULL;
}

static void emit_line(enum log_level level, int64_t wall_ns, struct mf_slice text)
{
    struct mf_buf large = MF_BUF_INIT;
    bool written = text.len > TEXT_KEPT && emit_with(&large, level, wall_ns, text);

    mf_buf_fini(&large);
    if (written)
        return;
    if (text.len > TEXT_KEPT)
        text.len = TEXT_KEPT;
    (void)line_kept();
    (void)emit_with(&lg.line, level, wall_ns, text);
}

static void rotate_file(int64_t wall_ns)
{
    struct mf_buf said = MF_BUF_INIT;

    log_file_rotate(&lg.file, wall_ns, lg.utc, &said);
    struct mf_slice rest = mf_buf_slice(&said);
    while (rest.len > 0) {
        const uint8_t *end = memchr(rest.ptr, '\n', rest.len);
        if (end == NULL)
            break;
        size_t n = (size_t)(end - rest.ptr);
        emit_line(rest.ptr[0] == 'E' ? LOG_ERROR_ : LOG_INFO_, wall_ns,
                  mf_slice(rest.ptr + 1, n - 1));
        rest = mf_slice(end + 1, rest.len - n - 1);
    }
    mf_buf_fini(&said);
}

static void write_locked(enum log_level level, struct mf_slice text)
{
    int64_t now = clock_wall_ns(); /* under the mutex, so that the times in a log ascend */

    emit_line(level, now, text);
    if (lg.sink == SINK_FILE && log_file_due(&lg.file))
        rotate_file(now);
}

/* A text: in its own room, or, if it is longer, in memory. */
struct formatted {
    char room[TEXT_KEPT + 1];
    struct mf_buf more;
    struct mf_slice text;
};

static void format_text(struct formatted *t, const char *fmt, va_list ap) MF_PRINTF(2, 0);
static void format_text(struct formatted *t, const char *fmt, va_list ap)
{
    va_list again;

    va_copy(again, ap);
    int n = vsnprintf(t->room, sizeof t->room, fmt, ap);
    t->more = MF_BUF_INIT;
    t->text = mf_slice(t->room, n < 0 ? 0 : (size_t)n < TEXT_KEPT ? (size_t)n : TEXT_KEPT);
    if (n > (int)TEXT_KEPT)
        mf_buf_vprintf(&t->more, fmt, again);
    if (n > (int)TEXT_KEPT && !mf_buf_failed(&t->more))
        t->text = mf_buf_slice(&t->more);
    va_end(again);
}

static void log_formatted(enum log_level level, const char *fmt, ...) MF_PRINTF(2, 3);
static void log_formatted(enum log_level level, const char *fmt, ...)
{
    struct formatted t;
    va_list ap;

    va_start(ap, fmt);
    format_text(&t, fmt, ap);
    va_end(ap);
    write_locked(level, t.text);
    mf_buf_fini(&t.more);
}

bool log_enabled(enum log_level level)
{
    return (atomic_load_explicit(&levels, memory_order_relaxed) >> level & 1u) != 0;
}

void log_write(enum log_level level, const char *fmt, ...)
{
    struct formatted t;
    va_list ap;

    if (!log_enabled(level))
        return;
    va_start(ap, fmt);
    format_text(&t, fmt, ap);
    va_end(ap);
    pthread_mutex_lock(&lg.mutex);
    write_locked(level, t.text);
    pthread_mutex_unlock(&lg.mutex);
    mf_buf_fini(&t.more);
}

static void close_sink(void)
{
    if (lg.sink == SINK_FILE)
        log_file_close(&lg.file);
    else if (lg.sink == SINK_SYSLOG)
        log_syslog_close(&lg.syslog);
    lg.sink = SINK_STDERR;
}

int log_open(const struct log_options *o, struct mf_error *e)
{
    struct log_file file = {.fd = -1};
    struct log_syslog sys = {.fd = -1};
    bool remote = o->remote_syslog != NULL && o->remote_syslog[0] != '\0';
    enum sink sink = o->file != NULL ? SINK_FILE : remote || o->syslog ? SINK_SYSLOG : SINK_STDERR;
    int rc = 0;

    if (sink == SINK_FILE)
        rc = log_file_open(&file, o, e);
    else if (sink == SINK_SYSLOG)
        rc = log_syslog_open(&sys, remote ? o->remote_syslog : NULL, e);
    if (rc != 0)
        return rc;
    pthread_mutex_lock(&lg.mutex);
    tzset();           /* localtime_r() need not look at TZ itself */
    (void)line_kept(); /* else the first line tries again */
    close_sink();
    lg.sink = sink;
    lg.file = file;
    lg.syslog = sys;
    lg.time = o->time;
    lg.utc = o->utc;
    lg.json = o->json;
    lg.color = o->color && sink == SINK_STDERR && isatty(STDERR_FILENO) != 0;
    atomic_store(&levels, LEVELS_ALWAYS | (o->debug ? 1u << LOG_DEBUG_ : 0) |
                              (o->trace ? 1u << LOG_TRACE_ : 0));
    if (sink == SINK_FILE && log_file_due(&lg.file))
        log_formatted(LOG_INFO_, "Rotating logfile...");
    pthread_mutex_unlock(&lg.mutex);
    return 0;
}

void log_reopen(void)
{
    struct mf_error e;

    pthread_mutex_lock(&lg.mutex);
    if (lg.sink != SINK_FILE)
        log_formatted(LOG_INFO_, "File log re-open ignored, not a file logger");
    else if (log_file_reopen(&lg.file, &e) != 0)
        log_formatted(LOG_ERROR_, "File log not re-opened: %s", e.text);
    else
        log_formatted(LOG_INFO_, "File log re-opened");
    pthread_mutex_unlock(&lg.mutex);
}

void log_close(void)
{
    pthread_mutex_lock(&lg.mutex);
    close_sink();
    lg.json = NULL;
    lg.color = false;
    mf_buf_fini(&lg.line);
    pthread_mutex_unlock(&lg.mutex);
}
