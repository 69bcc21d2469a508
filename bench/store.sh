#!/bin/bash
# store.sh [MILLIONS]: the store and the wheel beside what bounds them.  Called by `./dev bench store`.
# MILLIONS (10): live messages and timers.  STORE_DIR: where to write (a directory of its own in the
# build folder, some 5 GB, removed afterwards).
set -eu
cd "$(dirname "$0")/.."
millions=${1:-10}
make -s -C build bench/bench_store bench/bench_wheel
dir=${STORE_DIR:-$(mktemp -d "$PWD/build/bench-store.XXXXXX")}
trap 'rm -rf "$dir" "$dir.raw"' EXIT
build/bench/bench_store "$dir" "$millions"
build/bench/bench_wheel "$((millions * 1000000))"
