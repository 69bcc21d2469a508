#!/bin/bash
# store.sh [MILLIONS]: the store and the wheel beside what bounds them.  Called by `./dev bench store`.
# MILLIONS (10): live messages and timers.  STORE_DIR (the build folder): writes in a new folder there,
# some 5 GB, removed afterwards.
set -eu
cd "$(dirname "$0")/.."
millions=${1:-10}
make -s -C build bench/bench_store bench/bench_wheel
dir=$(mktemp -d "${STORE_DIR:-$PWD/build}/bench-store.XXXXXX")
trap 'rm -rf "$dir" "$dir.raw"' EXIT
build/bench/bench_store "$dir" "$millions"
build/bench/bench_wheel "$((millions * 1000000))"
