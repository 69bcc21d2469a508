/* marker.c: delete markers. */
#include "markers/marker.h"

#include "base/clock.h"

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

bool marker_of_key(struct mf_slice subject)
{
    return subject.len > strlen("$KV.") && mf_starts(subject, "$KV.");
}

/* Clients that know markers read the same of their reason; to the others a marker without this line
 * is a value, and the key is not gone. */
static const char *kv_line(enum marker_reason why)
{
    return why == MARKER_REMOVE ? "KV-Operation: DEL\r\n" : "KV-Operation: PURGE\r\n";
}

void marker_write(struct marker *m, enum marker_reason why, int64_t ttl_ns, bool key)
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
        reasons[why], clock_duration(text, ttl_ns - ttl_ns % CLOCK_S), key ? kv_line(why) : "");

    m->len = (size_t)n;
}
