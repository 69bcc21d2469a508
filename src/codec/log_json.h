/* log_json.h: log lines as JSON objects, for log_options.json.
 *     {"time":"...","level":"info","pid":1,"msg":"..."} */
#ifndef CODEC_LOG_JSON_H
#define CODEC_LOG_JSON_H

#include "base/log.h"

/* A log_json_fn. */
void log_json_line(struct mf_buf *out, const char *level, const int64_t *wall_ns,
                   struct mf_slice text);

#endif
