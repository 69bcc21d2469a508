#!/bin/bash
# encryption.sh: what encrypted streams cost a durable publish; see encryption.mjs.  Called by `./dev bench encryption`.
set -eu
cd "$(dirname "$0")/.."
make -s -C "${BUILD:-build}" bench/bench_matrix
exec node bench/encryption.mjs "$@"
