#!/bin/bash
# smoke.sh: each row of the matrix with tiny counts, against every server it names, in a few seconds, so
# that the bench cannot rot.  Called by `./dev test`.  Most of a row is waiting for deadlines, so all run
# at once.  The last line is `N passed, N failed`.  Wants MAYFLYD, NATS_SERVER, REDIS_SERVER and BUILD.
set -u
cd "$(dirname "$0")/.." || exit 1
TMPDIR=$(mktemp -d "$BUILD/bench-smoke.XXXXXX")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
for setup in nats-synced nats mayfly mayfly-relaxed redis; do
    parts=(core,stream,consume,crash wires plain marked watched busy loaded spread restart)
    case $setup in
    mayfly) parts+=(policy,scope,slide,after,touch walks,memory,backfill,link warn letters) ;;
    redis) parts+=(touch,walks) ;;
    esac
    for rows in "${parts[@]}"; do
        "$BUILD/bench/bench_matrix" "--mayflyd=$MAYFLYD" "--nats=$NATS_SERVER" "--redis=$REDIS_SERVER" \
            --size=tiny --rounds=1 "--setups=$setup" "--rows=$rows" "--json=$TMPDIR/$setup-$rows.json" \
            >"$TMPDIR/$setup-$rows.log" 2>&1 || echo "not ok $setup $rows" >>"$TMPDIR/$setup-$rows.log" &
    done
done
wait
# The bar is not asked here: a loaded machine and sanitizers measure nothing.
"$BUILD/bench/bench_embed" 1 20 >"$TMPDIR/embed.log" 2>&1
[ $? -le 1 ] && [ "$(grep -c ratio "$TMPDIR/embed.log")" -eq 5 ] || echo "not ok embed" >>"$TMPDIR/embed.log"
grep -l '^not ok' "$TMPDIR"/*.log | xargs -r cat
node bench/report.mjs --check "$TMPDIR"/*.json
