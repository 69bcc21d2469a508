#!/bin/bash
# watchers.sh [--keys=N] [--watchers=N] [--restart]: many watchers at once on a large bucket: mayflyd, then nats-server.
# Called by `./dev bench watchers`.  MAYFLYD and NATS_SERVER name the programs.
set -eu
cd "$(dirname "$0")/.."
for server in "$MAYFLYD" "${NATS_SERVER:-}"; do
    [ -z "$server" ] || node bench/watchers.mjs --server="$server" "$@"
done
