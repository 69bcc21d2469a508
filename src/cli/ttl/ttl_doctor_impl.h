/* ttl_doctor_impl.h: what the two files of `mayfly ttl doctor` share. */
#ifndef CLI_TTL_DOCTOR_IMPL_H
#define CLI_TTL_DOCTOR_IMPL_H

#include "cli/ttl/ttl_impl.h"

/* All that is known of one stream; documents may be NULL where the server did not answer. */
struct doctor_facts {
    const char *stream;
    const json_t *policy;   /* POLICY */
    const json_t *info;     /* STREAM.INFO */
    const json_t *stats;    /* STATS */
    const json_t *forecast; /* FORECAST of a day */
    const json_t *infinite; /* LIST of infinite messages, the first 1,000 */
};

/* Findings, in the order they were made: [{"level":"WARN","stream":"S","text":"...","advice":""}]
 */
struct doctor {
    json_t *findings;
};
void doctor_check(struct doctor *d, const struct doctor_facts *f);
/* The server's time, as it answered between two moments of this machine; 0: it did not. */
void doctor_check_clock(struct doctor *d, int64_t server_ns, int64_t before_ns, int64_t after_ns);
/* Steps of the server's clock, as STATS of any stream has them; NULL: it did not answer. */
void doctor_check_steps(struct doctor *d, const json_t *stats);

#endif
