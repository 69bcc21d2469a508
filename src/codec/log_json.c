/* log_json.c: one log line as a JSON object. */
#include "codec/log_json.h"

#include "codec/jsonw.h"

#include <unistd.h>

void log_json_line(struct mf_buf *out, const char *level, const int64_t *wall_ns,
                   struct mf_slice text)
{
    struct jsonw w;

    jsonw_begin(&w, out, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    if (wall_ns != NULL)
        jsonw_time(&w, "time", *wall_ns);
    jsonw_str(&w, "level", level);
    jsonw_i64(&w, "pid", getpid());
    jsonw_slice(&w, "msg", text);
    jsonw_end(&w);
}
