/* top_impl.h: the parts of mayfly top: one round is one document, which is drawn or printed.
 *
 *    time, url, seconds         seconds since the round before; absent in the first
 *    server                     name, id, version, uptime, cpu, mem, connections, ...
 *      in_msgs, in_msgs_per_second, ...
 *    jetstream                  streams, consumers, messages, bytes, expired, overdue, lateness_ms;
 *                               absent without JetStream
 *    streams[]                  account, name, messages, bytes, consumers, last_seq, with_ttl,
 *                               expired and their rates
 *    connections[]              cid, name, account, ip, in_msgs, out_msgs, ... and their rates
 *
 * Members *_per_second are absent where there is nothing to compare with: in the first round and
 * after a restart of the server; `expired` is absent if the server has no /ttlz. */
#ifndef CLI_OPS_TOP_IMPL_H
#define CLI_OPS_TOP_IMPL_H

#include "cli/ops/pages.h"

/* Asks for the pages and compares with the round before (NULL: there is none), `seconds` ago.
 * *out is the caller's to decref.  Nothing is printed. */
MF_MUSTCHECK int top_load(const struct pages *p, const json_t *before, double seconds, json_t **out,
                          struct mf_error *e);

/* Sorts both lists: busiest first. */
void top_sort(json_t *doc);

/* Appends the screen; rows: lines for both lists together, 0: as many as there are. */
void top_draw(const struct term *t, const json_t *doc, int rows, struct mf_buf *out);

#endif
