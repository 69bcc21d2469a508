#!/bin/bash
# matrix.sh [--rows=PART,...] [--rounds=N] [--json FILE] [--write]: every row of docs/reports/performance.md,
# mayflyd beside nats-server and Redis.  Called by `./dev bench matrix`, which builds mayflyd and names
# the servers in MAYFLYD, NATS_SERVER and REDIS_SERVER.  Parts: fan idle publish kv streams read watch make plain
# marked watched busy loaded spread restart crash policy scope slide after touch walks memory backfill warn letters link, or by group:
# core stream consume expiry restart ttl.  --write: the table and plots in docs/reports are
# made of this run.  QUICK=1: one short round.  ROUNDS=N.  STORE_DIR: where the servers write (a
# directory in the build folder, some GB, removed afterwards); it must be on a real disk.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-$PWD/build}
json=''
write=''
args=("--rounds=${ROUNDS:-3}")
[ -z "${QUICK:-}" ] || args=(--rounds=1 --size=quick)
while [ $# -gt 0 ]; do
    case "$1" in
    --json)
        json=${2:?--json needs a file}
        shift
        ;;
    --json=*) json=${1#--json=} ;;
    --write) write=1 ;;
    *) args+=("$1") ;;
    esac
    shift
done
make -s -C "$build" bench/bench_matrix
TMPDIR=$(mktemp -d "${STORE_DIR:-$build}/bench-matrix.XXXXXX")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
case $(stat -f -c %T "$TMPDIR") in
tmpfs | ramfs) echo "bench: WARNING: $TMPDIR is not on a disk: nothing is ever synced there" >&2 ;;
esac
out=${json:-$TMPDIR/matrix.json}
bad=0
"$build/bench/bench_matrix" "--mayflyd=$MAYFLYD" "--nats=$NATS_SERVER" "--redis=$REDIS_SERVER" "--json=$out" \
    "--about=$(node bench/report.mjs --about "$MAYFLYD" "$NATS_SERVER" "$REDIS_SERVER")" "${args[@]}" || bad=$?
[ "$bad" -le 1 ] || exit "$bad"
node bench/report.mjs "$out"
[ -z "$write" ] || node bench/report.mjs --write "$out"
exit "$bad"
