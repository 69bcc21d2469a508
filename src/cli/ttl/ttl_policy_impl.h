/* ttl_policy_impl.h: what the two files of `mayfly ttl policy` share. */
#ifndef CLI_TTL_POLICY_IMPL_H
#define CLI_TTL_POLICY_IMPL_H

#include "cli/ttl/ttl_impl.h"

/* POLICY's answer for people. */
void policy_print(struct cli *c, const json_t *doc);

/* The keys of --set with their prefix: {"mayfly.ttl.default":"12h"}; CLI_USAGE, printed. */
MF_MUSTCHECK int policy_read_keys(struct cli *c, json_t **keys);
/* --set, and with --dry-run what it would change. */
int policy_set(struct cli *c, const struct request_stream *s);

#endif
