#!/bin/bash
# embed.sh [ROUNDS [OPERATIONS]]: a client inside the process beside loopback TCP, one server, one run.  Called by
# `./dev bench embed`.  Exit code 1: a row is below its bar.
set -eu
cd "$(dirname "$0")/.."
make -s -C "${BUILD:-build}" bench/bench_embed
exec "${BUILD:-build}/bench/bench_embed" "$@"
