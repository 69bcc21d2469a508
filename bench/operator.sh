#!/bin/bash
# operator.sh [--accounts=N] [--logins=N] [--rounds=N] [--rows=TEXT,..] [--json=FILE]: operator mode of mayflyd beside nats-server,
# in one run.  Called by `./dev bench operator`.  Exit code 1: a row is below its bar.
set -eu
cd "$(dirname "$0")/.."
make -s -C "${BUILD:-build}" bench/bench_operator
exec node bench/operator.mjs "$@"
