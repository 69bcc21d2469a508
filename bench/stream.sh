#!/bin/bash
# stream.sh [--rounds N] [--only LOADS|EXPIRY|MEMORY]: streams, mayflyd beside nats-server.  Called by
# `./dev bench stream`, which builds mayflyd and names both servers in MAYFLYD and NATS_SERVER.
# QUICK=1: one short round.  STORE_DIR: where to write (a directory in the build folder, some GB,
# removed afterwards); it must be on a real disk.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-$PWD/build}
make -s -C "$build" bench/bench_stream
TMPDIR=$(mktemp -d "${STORE_DIR:-$build}/bench-stream.XXXXXX")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
[ -z "${QUICK:-}" ] || set -- --quick "$@"
"$build/bench/bench_stream" "$MAYFLYD" "$NATS_SERVER" "$@"
