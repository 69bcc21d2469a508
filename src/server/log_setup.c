/* log_setup.c: opens the log according to the options. */
#include "server/server.h"

#include "base/log.h"
#include "codec/log_json.h"

#include <unistd.h>

int server_open_log(const struct options *o, const struct server_guest *guest, struct mf_error *e)
{
    struct log_options lo = {
        .file = o->log_file,
        .time = o->logtime,
        .utc = o->logtime_utc,
        .debug = o->debug,
        .trace = o->trace,
        .json = o->log_json ? log_json_line : NULL,
        .color = o->log_file == NULL && isatty(STDERR_FILENO),
        .syslog = o->syslog,
        .remote_syslog = o->remote_syslog,
        .size_limit = (uint64_t)o->log_size_limit,
        .max_files = (unsigned)o->log_max_num,
        .guest = guest != NULL,
        .call = guest != NULL ? guest->log : NULL,
        .call_arg = guest != NULL ? guest->log_arg : NULL,
    };
    return log_open(&lo, e);
}
