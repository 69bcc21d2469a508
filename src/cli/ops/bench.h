/* bench.h: measurements from a client's side: publishes, KV, expiry. */
#ifndef CLI_OPS_BENCH_H
#define CLI_OPS_BENCH_H

#include "cli/cli.h"

extern const struct cli_flag bench_pub_flags[];
extern const struct cli_flag bench_kv_flags[];
extern const struct cli_flag bench_expiry_flags[];

int bench_pub_run(struct cli *c);
int bench_kv_run(struct cli *c);
int bench_expiry_run(struct cli *c);

#endif
