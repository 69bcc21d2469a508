/* log_sink_impl.h: the outputs of finished log lines.  Private to base; the caller holds the log's
 * mutex. */
#ifndef BASE_LOG_SINK_H
#define BASE_LOG_SINK_H

#include "base/buf.h"
#include "base/log.h"

#include <sys/socket.h>

/* Writes all of it, retrying what a signal interrupted; false when the descriptor refuses. */
bool log_fd_write(int fd, struct mf_slice bytes);

/* A file that is only appended to.  At most `limit` bytes and one line, if limit is not 0. */
struct log_file {
    char *path;
    int fd;
    uint64_t size, limit; /* limit grows while rotating fails, so as not to try at each line */
    uint64_t size_limit;  /* what was asked for */
    unsigned max_files;
};
MF_MUSTCHECK int log_file_open(struct log_file *f, const struct log_options *o, struct mf_error *e);
MF_MUSTCHECK int log_file_reopen(struct log_file *f,
                                 struct mf_error *e); /* on failure: as before */
void log_file_close(struct log_file *f);
void log_file_write(struct log_file *f, struct mf_slice line);
bool log_file_due(const struct log_file *f); /* beyond its limit: rotate */
/* Renames the file to PATH.yyyy.mm.dd.hh.mm.ss.nnnnnnnnn (the clock's time, local or UTC as the
 * log's lines) and starts a new one.  Appends to `said`, one per line, what happened: 'I' or 'E',
 * then the text.  O(files in the folder). */
void log_file_rotate(struct log_file *f, int64_t wall_ns, bool utc, struct mf_buf *said);

/* syslog(3), or a collector at udp://host:port, tcp://host:port or unix:///path. */
struct log_syslog {
    bool remote, guest;
    int fd; /* -1: syslog(3), or no connection to the collector */
    int type;
    int64_t connected_ns; /* when the last connect was tried */
    socklen_t addr_len;
    struct sockaddr_storage addr;
};
/* guest: openlog() and closelog(), which set the whole process, are not called. */
MF_MUSTCHECK int log_syslog_open(struct log_syslog *s, const char *url, bool guest,
                                 struct mf_error *e);
void log_syslog_close(struct log_syslog *s);
void log_syslog_write(struct log_syslog *s, enum log_level level, int64_t wall_ns,
                      const char *text);

#endif
