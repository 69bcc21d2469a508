#!/bin/bash
# core.sh [--rounds N] [--json]: core NATS, mayflyd beside nats-server.  Called by `./dev bench core`,
# which builds mayflyd and names both servers in MAYFLYD and NATS_SERVER.
set -eu
cd "$(dirname "$0")/.."
make -s -C build bench/bench_core
exec build/bench/bench_core "$MAYFLYD" "$NATS_SERVER" "$@"
