/* marker.c: delete markers. */
#include "mayfly/marker.h"

#include "mayfly/clock.h"

#include <stdio.h>

bool marker_wanted(const struct marker_facts *f)
{
    return f->marker_ttl_ns > 0 && f->last_on_subject && !f->tombstone && !f->mirror;
}

bool marker_is_tombstone(struct mf_slice reason, struct mf_slice kv_operation, bool strict)
{
    return reason.len > 0 || mf_eq_str(kv_operation, "PURGE") ||
           (!strict && mf_eq_str(kv_operation, "DEL"));
}

/* The line that makes clients which look for KV-Operation only see a deleted key.  For MaxAge they
 * all know the reason, and nats-server writes no such line. */
static const char *kv_line(enum marker_reason why, struct mf_slice subject)
{
    static const char *const lines[] = {
        [MARKER_MAX_AGE] = "",
        [MARKER_REMOVE] = "KV-Operation: DEL\r\n",
        [MARKER_PURGE] = "KV-Operation: PURGE\r\n",
    };

    return subject.len > strlen("$KV.") && mf_starts(subject, "$KV.") ? lines[why] : "";
}

void marker_write(struct marker *m, enum marker_reason why, int64_t ttl_ns, struct mf_slice subject)
{
    static const char *const reasons[] = {
        [MARKER_MAX_AGE] = "MaxAge",
        [MARKER_REMOVE] = "Remove",
        [MARKER_PURGE] = "Purge",
    };
    char text[CLOCK_TEXT];
    /* The longest one is below MARKER_MAX: 20 bytes of duration, no part comes from outside. */
    int n = snprintf(
        (char *)m->hdr, sizeof m->hdr,
        "NATS/1.0\r\nNats-Marker-Reason: %s\r\nNats-TTL: %s\r\nNats-Rollup: sub\r\n%s\r\n",
        reasons[why], clock_duration(text, ttl_ns - ttl_ns % CLOCK_S), kv_line(why, subject));

    m->len = (size_t)n;
}
