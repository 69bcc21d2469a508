#!/bin/bash
# consume.sh [--rounds N] [--relaxed] [--only READ|WATCH|CREATE|GET]: consumers, mayflyd beside
# nats-server.  Called by `./dev bench consume`, which builds mayflyd and names both servers in MAYFLYD
# and NATS_SERVER.  QUICK=1: one short round.  FULL=1: a replay of ten million messages.  STORE_DIR:
# where to write (a directory in the build folder, some GB, removed afterwards); it must be on a real
# disk.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-$PWD/build}
make -s -C "$build" bench/bench_consume
TMPDIR=$(mktemp -d "${STORE_DIR:-$build}/bench-consume.XXXXXX")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
[ -z "${QUICK:-}" ] || set -- --quick "$@"
[ -z "${FULL:-}" ] || set -- --full "$@"
"$build/bench/bench_consume" "$MAYFLYD" "$NATS_SERVER" "$@"
