/* log.c: makes log lines and hands them to the sink of the thread's log. */
#include "base/log.h"

#include "base/log_sink_impl.h"
#include "base/utf8.h"

#include "base/clock.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Texts up to this length are logged without allocating, so that "out of memory" can be logged.
 * Without memory longer texts are cut to it. */
#define TEXT_KEPT 1024u
/* Each byte as \u001b, and the rest of the line. */
#define LINE_KEPT (6 * TEXT_KEPT + 256)

enum sink { SINK_STDERR, SINK_FILE, SINK_SYSLOG, SINK_CALL };

/* Bit n is set when level n is on. */
#define LEVELS_ALWAYS (1u << LOG_FATAL_ | 1u << LOG_ERROR_ | 1u << LOG_WARN_ | 1u << LOG_INFO_)

/* Everything from `sink` on is guarded by the mutex. */
struct log {
    atomic_uint refs;
    _Atomic unsigned levels;
    bool of_thread; /* made by log_open(), so log_close() frees it */
    pthread_mutex_t mutex;
    enum sink sink;
    bool time, utc, color;
    log_json_fn *json; /* NULL: text lines */
    log_call_fn *call;
    void *call_arg;
    struct log_file file;
    struct log_syslog syslog;
    struct mf_buf line; /* LINE_KEPT bytes, from log_open() or the first line on */
};

static _Thread_local struct log *current; /* NULL: lines of this thread go to stderr */

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

static void put_time(const struct log *l, struct mf_buf *out, int64_t wall_ns)
{
    time_t s = (time_t)(wall_ns / CLOCK_S);
    struct tm tm;
    char text[32];

    if (l->utc)
        gmtime_r(&s, &tm);
    else
        localtime_r(&s, &tm);
    strftime(text, sizeof text, "%Y/%m/%d %H:%M:%S", &tm);
    mf_buf_printf(out, "%s.%06d ", text, (int)(wall_ns % CLOCK_S / CLOCK_US));
}

static void put_line(const struct log *l, struct mf_buf *out, enum log_level level, int64_t wall_ns,
                     struct mf_slice text)
{
    if (l->json != NULL) {
        l->json(out, level_text[level].json, l->time ? &wall_ns : NULL, text);
    } else {
        mf_buf_printf(out, "[%d] ", (int)getpid());
        if (l->time)
            put_time(l, out, wall_ns);
        mf_buf_puts(out, l->color ? level_text[level].colored : level_text[level].label);
        put_safe(out, text);
    }
    mf_buf_byte(out, '\n');
}

/* One line to the sink, no rotation.  `line` is scratch.  False: no memory for it. */
static bool emit_with(struct log *l, struct mf_buf *line, enum log_level level, int64_t wall_ns,
                      struct mf_slice text)
{
    mf_buf_clear(line);
    if (l->sink == SINK_SYSLOG || l->sink == SINK_CALL) {
        put_safe(line, text);
        const char *safe = mf_buf_cstr(line);
        if (!mf_buf_failed(line) && l->sink == SINK_SYSLOG)
            log_syslog_write(&l->syslog, level, wall_ns, safe);
        else if (!mf_buf_failed(line) && l->call != NULL)
            l->call(l->call_arg, level, safe);
        return !mf_buf_failed(line);
    }
    put_line(l, line, level, wall_ns, text);
    if (mf_buf_failed(line))
        return false;
    if (l->sink == SINK_FILE)
        log_file_write(&l->file, mf_buf_slice(line));
    else
        (void)log_fd_write(STDERR_FILENO, mf_buf_slice(line));
    return true;
}

static bool line_kept(struct log *l)
{
    mf_buf_clear(&l->line);
    return mf_buf_reserve(&l->line, LINE_KEPT) != NULL;
}

static void emit_line(struct log *l, enum log_level level, int64_t wall_ns, struct mf_slice text)
{
    struct mf_buf large = MF_BUF_INIT;
    bool written = text.len > TEXT_KEPT && emit_with(l, &large, level, wall_ns, text);

    mf_buf_fini(&large);
    if (written)
        return;
    if (text.len > TEXT_KEPT)
        text.len = TEXT_KEPT;
    (void)line_kept(l);
    (void)emit_with(l, &l->line, level, wall_ns, text);
}

static void rotate_file(struct log *l, int64_t wall_ns)
{
    struct mf_buf said = MF_BUF_INIT;

    log_file_rotate(&l->file, wall_ns, l->utc, &said);
    struct mf_slice rest = mf_buf_slice(&said);
    while (rest.len > 0) {
        const uint8_t *end = memchr(rest.ptr, '\n', rest.len);
        if (end == NULL)
            break;
        size_t n = (size_t)(end - rest.ptr);
        emit_line(l, rest.ptr[0] == 'E' ? LOG_ERROR_ : LOG_INFO_, wall_ns,
                  mf_slice(rest.ptr + 1, n - 1));
        rest = mf_slice(end + 1, rest.len - n - 1);
    }
    mf_buf_fini(&said);
}

static void write_locked(struct log *l, enum log_level level, struct mf_slice text)
{
    int64_t now = clock_wall_ns(); /* under the mutex, so that the times in a log ascend */

    emit_line(l, level, now, text);
    if (l->sink == SINK_FILE && log_file_due(&l->file))
        rotate_file(l, now);
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

static void log_formatted(struct log *l, enum log_level level, const char *fmt, ...)
    MF_PRINTF(3, 4);
static void log_formatted(struct log *l, enum log_level level, const char *fmt, ...)
{
    struct formatted t;
    va_list ap;

    va_start(ap, fmt);
    format_text(&t, fmt, ap);
    va_end(ap);
    write_locked(l, level, t.text);
    mf_buf_fini(&t.more);
}

/* A thread without a log: a line with the time, to stderr. */
static void write_plain(enum log_level level, struct mf_slice text)
{
    char room[LINE_KEPT];
    struct log l = {.sink = SINK_STDERR, .time = true};
    struct mf_buf large = MF_BUF_INIT, line = {.ptr = (uint8_t *)room, .cap = sizeof room};

    if (text.len <= TEXT_KEPT || !emit_with(&l, &large, level, clock_wall_ns(), text)) {
        text.len = text.len > TEXT_KEPT ? TEXT_KEPT : text.len;
        (void)emit_with(&l, &line, level, clock_wall_ns(), text);
    }
    mf_buf_fini(&large);
}

bool log_enabled(enum log_level level)
{
    const struct log *l = current;
    unsigned on =
        l == NULL ? LEVELS_ALWAYS : atomic_load_explicit(&l->levels, memory_order_relaxed);

    return (on >> level & 1u) != 0;
}

void log_write(enum log_level level, const char *fmt, ...)
{
    struct log *l = current;
    struct formatted t;
    va_list ap;

    if (!log_enabled(level))
        return;
    va_start(ap, fmt);
    format_text(&t, fmt, ap);
    va_end(ap);
    if (l != NULL) {
        pthread_mutex_lock(&l->mutex);
        write_locked(l, level, t.text);
        pthread_mutex_unlock(&l->mutex);
    } else {
        write_plain(level, t.text);
    }
    mf_buf_fini(&t.more);
}

/* --- logs and threads ------------------------------------------------------------------------- */

struct log *log_new(void)
{
    struct log *l = calloc(1, sizeof *l);

    if (l == NULL)
        return NULL;
    l->refs = 1;
    l->levels = LEVELS_ALWAYS;
    l->time = true;
    l->file.fd = l->syslog.fd = -1;
    pthread_mutex_init(&l->mutex, NULL); /* does not fail on Linux */
    return l;
}

struct log *log_retain(struct log *l)
{
    if (l != NULL)
        atomic_fetch_add(&l->refs, 1);
    return l;
}

struct log *log_current(void)
{
    return current;
}

struct log *log_use(struct log *l)
{
    struct log *before = current;

    current = l;
    return before;
}

static void close_sink(struct log *l)
{
    if (l->sink == SINK_FILE)
        log_file_close(&l->file);
    else if (l->sink == SINK_SYSLOG)
        log_syslog_close(&l->syslog);
    l->sink = SINK_STDERR;
}

void log_release(struct log *l)
{
    if (l == NULL || atomic_fetch_sub(&l->refs, 1) > 1)
        return;
    close_sink(l);
    mf_buf_fini(&l->line);
    pthread_mutex_destroy(&l->mutex);
    free(l);
}

static int open_sink(enum sink sink, struct log_file *file, struct log_syslog *sys,
                     const struct log_options *o, struct mf_error *e)
{
    bool remote = o->remote_syslog != NULL && o->remote_syslog[0] != '\0';

    if (sink == SINK_FILE)
        return log_file_open(file, o, e);
    if (sink == SINK_SYSLOG)
        return log_syslog_open(sys, remote ? o->remote_syslog : NULL, o->guest, e);
    return 0;
}

static enum sink choose_sink(const struct log_options *o)
{
    if (o->file != NULL)
        return SINK_FILE;
    if (o->syslog || (o->remote_syslog != NULL && o->remote_syslog[0] != '\0'))
        return SINK_SYSLOG;
    return o->guest ? SINK_CALL : SINK_STDERR;
}

static struct log *log_of_thread(void)
{
    struct log *l = current;

    if (l != NULL || (l = log_new()) == NULL)
        return l;
    l->of_thread = true;
    return current = l;
}

int log_open(const struct log_options *o, struct mf_error *e)
{
    struct log_file file = {.fd = -1};
    struct log_syslog sys = {.fd = -1};
    enum sink sink = choose_sink(o);
    int rc = open_sink(sink, &file, &sys, o, e);
    struct log *l = rc != 0 ? NULL : log_of_thread();

    if (rc == 0 && l == NULL) {
        if (sink == SINK_FILE)
            log_file_close(&file);
        else if (sink == SINK_SYSLOG)
            log_syslog_close(&sys);
        rc = mf_fail(e, MF_NOMEM, "log");
    }
    if (rc != 0)
        return rc;
    pthread_mutex_lock(&l->mutex);
    if (sink != SINK_CALL)
        tzset();        /* localtime_r() need not look at TZ itself */
    (void)line_kept(l); /* else the first line tries again */
    close_sink(l);
    l->sink = sink;
    l->file = file;
    l->syslog = sys;
    l->time = o->time;
    l->utc = o->utc;
    l->json = o->json;
    l->call = o->call;
    l->call_arg = o->call_arg;
    l->color = o->color && sink == SINK_STDERR && isatty(STDERR_FILENO) != 0;
    atomic_store(&l->levels, LEVELS_ALWAYS | (o->debug ? 1u << LOG_DEBUG_ : 0) |
                                 (o->trace ? 1u << LOG_TRACE_ : 0));
    if (sink == SINK_FILE && log_file_due(&l->file))
        log_formatted(l, LOG_INFO_, "Rotating logfile...");
    pthread_mutex_unlock(&l->mutex);
    return 0;
}

void log_reopen(void)
{
    struct log *l = current;
    struct mf_error e;

    if (l == NULL) {
        log_info("File log re-open ignored, not a file logger");
        return;
    }
    pthread_mutex_lock(&l->mutex);
    if (l->sink != SINK_FILE)
        log_formatted(l, LOG_INFO_, "File log re-open ignored, not a file logger");
    else if (log_file_reopen(&l->file, &e) != 0)
        log_formatted(l, LOG_ERROR_, "File log not re-opened: %s", e.text);
    else
        log_formatted(l, LOG_INFO_, "File log re-opened");
    pthread_mutex_unlock(&l->mutex);
}

void log_close(void)
{
    struct log *l = current;

    if (l == NULL)
        return;
    pthread_mutex_lock(&l->mutex);
    close_sink(l);
    l->json = NULL;
    l->color = false;
    mf_buf_fini(&l->line);
    pthread_mutex_unlock(&l->mutex);
    if (l->of_thread) {
        current = NULL;
        log_release(l);
    }
}
