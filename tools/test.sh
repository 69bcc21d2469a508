# test.sh: what `./dev test` runs.  Sourced by ./dev.
# A step is a function that prints to its own log and sets P and F (passed and failed checks).
# shellcheck shell=bash

ALL_STEPS="layers format alerts build unit install wire torture interop leaf compare reference bench tsan clang tidy distcheck package"
QUICK_STEPS="layers format alerts build unit wire interop leaf"

PASSED=0
FAILED=0
BEHIND_PID=

# Steps that only compute.  They run at the lowest priority while the others mostly wait.
BEHIND="clang tidy distcheck package"
BEHIND_FROM=wire

# step_run NAME: what came out is in its result file: passed, failed, seconds.
step_run() {
    local name=$1 start=$SECONDS
    P=0
    F=0
    "step_$name" >"$LOGS/step-$name.log" 2>&1 </dev/null
    # A step that counted nothing has not tested anything.
    [ $((P + F)) -gt 0 ] || F=1
    printf '%d %d %d\n' "$P" "$F" $((SECONDS - start)) >"$LOGS/step-$name.result"
}

# step_show NAME: one line; on failure also what its log says about it.
step_show() {
    local name=$1 p=0 f=1 seconds=0
    read -r p f seconds <"$LOGS/step-$name.result"
    PASSED=$((PASSED + p))
    FAILED=$((FAILED + f))
    if [ "$f" -eq 0 ]; then
        printf '%5d passed  %4d s\n' "$p" "$seconds"
    else
        printf '%5d passed, %d FAILED  %4d s   (%s; load %s)\n' "$p" "$f" "$seconds" \
            "${LOGS#"$TOP"/}/step-$name.log" "$(cut -d' ' -f1-3 /proc/loadavg)"
        # The lines that say what failed; without any, the end of the log.
        grep -aE -A 8 '^not ok|:FAIL|^FAIL|error:|ERROR: |warning:' "$LOGS/step-$name.log" |
            cut -c 1-300 | head -n 80 | sed 's/^/    /' | grep . ||
            tail -n 15 "$LOGS/step-$name.log" | sed 's/^/    /'
    fi
}

# steps_behind NAME...: one after the other, in the background.
steps_behind() {
    (
        renice -n 19 -p "$BASHPID" >/dev/null
        for s in "$@"; do step_run "$s"; done
    ) &
    BEHIND_PID=$!
}

# counted COMMAND...: one check, by its exit code.
counted() {
    if "$@"; then P=$((P + 1)); else F=$((F + 1)); fi
}

# tallied COMMAND...: the command's last line ends with `N passed, N failed`.
tallied() {
    local out last rc
    out=$(mktemp)
    "$@" | tee "$out"
    rc=${PIPESTATUS[0]}
    last=$(tail -n 1 "$out")
    rm -f "$out"
    if [[ $last =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        P=$((P + BASH_REMATCH[1]))
        F=$((F + BASH_REMATCH[2]))
        [ "$rc" -eq 0 ] || [ "${BASH_REMATCH[2]}" -gt 0 ] || F=$((F + 1))
    else
        echo "not ok $*: exit $rc and no count"
        F=$((F + 1))
    fi
}

# unity_count LOG RC: adds a Unity program's own count; an ignored test is an open bug.
unity_count() {
    local line
    line=$(grep -aE '^[0-9]+ Tests [0-9]+ Failures [0-9]+ Ignored' "$1" | tail -n 1)
    if [[ $line =~ ^([0-9]+)\ Tests\ ([0-9]+)\ Failures\ ([0-9]+)\ Ignored ]]; then
        local bad=$((BASH_REMATCH[2] + BASH_REMATCH[3]))
        P=$((P + BASH_REMATCH[1] - bad))
        # A sanitizer that spoke after the summary, a leak for instance.
        [ "$2" -eq 0 ] || [ $bad -gt 0 ] || bad=1
        F=$((F + bad))
    elif [ "$2" -eq 0 ]; then
        P=$((P + 1))
    else
        F=$((F + 1))
    fi
    if [ "$2" -ne 0 ]; then
        echo "not ok ${1%.log}"
        tail -n 60 "$1"
    fi
}

# failed_tests DIR: what the test programs below DIR that did not pass have said, and how they ended.
failed_tests() {
    local trs
    find "$1" -name '*.trs' | LC_ALL=C sort | while read -r trs; do
        grep -q '^:test-result: PASS' "$trs" && continue
        echo "not ok ${trs%.trs}"
        grep -avE ':PASS$' "${trs%.trs}.log" | tail -n 60
    done
}

step_layers() {
    local out
    out=$(tools/layers.sh --self-test)
    printf '%s\n' "$out"
    P=$((P + $(grep -c '^ok ' <<<"$out")))
    F=$((F + $(grep -c '^not ok ' <<<"$out")))
    counted tools/layers.sh
}

step_format() {
    counted tools/lint.sh format
    counted tools/lint.sh words
    counted tools/words.sh --self-test
    counted test/torture/mutants/run.sh --check # a bug that cannot be made any more shows nothing
    tallied node tools/requirements_test.mjs
    counted node tools/requirements.mjs --check
}
# conf/prometheus and conf/grafana, without a server.
step_alerts() { PROMTOOL=$PROMTOOL tallied node test/prometheus/run.mjs; }
step_tidy() { counted tools/lint.sh tidy; }

step_build() {
    configure_test
    counted make -s -C build-test -j"$JOBS" all
    # Building the tests apart from running them: a compiler's error is not a failed test.
    counted make -s -C build-test -j"$JOBS" check TESTS=
}

# Everything that `make check` knows: unit and fault tests, corpus replays, nats.c.
step_unit() {
    local trs log rc
    find build-test -name '*.trs' -delete
    MAYFLYD="$TOP/build-test/mayflyd" make -s -C build-test -j"$JOBS" check
    for trs in $(find build-test -name '*.trs' | LC_ALL=C sort); do
        log=${trs%.trs}.log
        rc=1
        grep -q '^:test-result: PASS' "$trs" && rc=0
        unity_count "$log" $rc
    done
}

# make install and make uninstall, with two sets of paths; ./dev run and what other systems are told.
step_install() {
    tallied node tools/abi.mjs build-test
    tallied tools/install_test.sh build-test
    tallied tools/examples_test.sh build-test
    tallied tools/dev_test.sh build-test
}

# Raw sockets: dialogs by table, rough weather, and every name of nats-server.
step_wire() {
    local f
    for f in test/wire/*.mjs; do
        tallied node "$f" "$TOP/build-test/mayflyd"
    done
}

# A short form of `./dev torture`, on the server with sanitizers: the same seed each time, and a new one.
step_torture() {
    local seed out
    for seed in 1 $(($(date +%s) % 1000000007)); do
        out=$(node test/torture/run.mjs --minutes=0.4 --only=kill,power,lifetimes,clock,syscalls,disk,stalls --seed="$seed" \
            --mayflyd="$TOP/build-test/mayflyd" --log="$LOGS/torture")
        printf '%s\n' "$out"
        P=$((P + $(grep -cE '^[0-9]+:[0-9]+ .*, 0 found$' <<<"$out")))
        F=$((F + $(grep -cE '^[0-9]+:[0-9]+ .*, [1-9][0-9]* found$' <<<"$out")))
        sed -n 's/^[a-z]*: FOUND/FAIL &/p' <<<"$out"
    done
}

# Published schemas and tables that are not part of the project, where they lie beside it.
shared_data() { [ -d "$TOP/../shared" ] && printf '%s' "$TOP/../shared"; }

# NATS_SERVER: some carry backups from one server to the other.  PROMTOOL: reads /metrics.  REDIS_SERVER: a page moves its keys.
step_interop() {
    deps_redis
    export NATS_SERVER PROMTOOL REDIS_SERVER
    MAYFLY_SHARED=$(shared_data) MAYFLYD="$TOP/build-test/mayflyd" tallied node test/interop/run.mjs
}

# Leaf links: the short scenarios, with mayflyd in one place and in both.  `./dev leaf` has the others.
step_leaf() {
    local pair
    export NATS_SERVER MAYFLYD="$TOP/build-test/mayflyd"
    for pair in nats-mayfly mayfly-nats mayfly-mayfly; do
        PARALLEL=4 tallied node test/leaf/run.mjs --quick --pair=$pair
    done
}

# The same histories to mayflyd and nats-server: those that once differed, and random ones.  Those
# about streams also come from a seed that nobody has tried yet; it is printed.
step_compare() {
    local mode
    export NATS_SERVER MAYFLYD="$TOP/build-test/mayflyd"
    for mode in strict default; do
        tallied node test/compare/main.mjs --mode=$mode test/compare/scripts/*.json
        tallied node test/compare/main.mjs --mode=$mode --ops=2000 --seed=fixed --restarts=1
        tallied node test/compare/main.mjs --mode=$mode --ops=2000 --topic=streams --restarts=0
        tallied node test/compare/main.mjs --mode=$mode --ops=300 --topic=copies --seed=fixed --restarts=1
    done
}

# The same dialogs and scenarios against nats-server prove that the tests themselves are right.  It
# loses a race of its own now and then, so a scenario that fails there is run again by itself.
step_reference() {
    tallied node test/wire/violations.mjs "$NATS_SERVER"
    tallied node test/wire/surface.mjs --names "$NATS_SERVER"
    MAYFLY_SHARED=$(shared_data) MAYFLY="$TOP/build-test/mayfly" MAYFLYD=$NATS_SERVER TRIES=6 \
        tallied node test/interop/run.mjs
    NATS_SERVER=$NATS_SERVER PARALLEL=4 TRIES=6 tallied node test/leaf/run.mjs --quick --pair=nats-nats
    if [ -x build-test/test/interop/c/natsc ]; then
        MAYFLYD=$NATS_SERVER build-test/test/interop/c/natsc >"$LOGS/natsc-reference.log" 2>&1
        unity_count "$LOGS/natsc-reference.log" $?
    fi
}

# Each row of the bench, with tiny counts.
step_bench() {
    deps_redis
    configure_test
    counted make -s -C build-test -j"$JOBS" mayflyd bench/bench_matrix bench/bench_embed
    MAYFLYD="$TOP/build-test/mayflyd" NATS_SERVER=$NATS_SERVER REDIS_SERVER=$REDIS_SERVER BUILD="$TOP/build-test" \
        tallied bench/smoke.sh
}

# The only code that meets threads: the loop's workers and posts, the store's jobs.
step_tsan() {
    local t programs=()
    # shellcheck disable=SC2207
    programs=($(grep -hoE 'test/unit/(loop/(loop|work)[a-z_]*|base/log[a-z_]*|mayfly/(mayfly|process|unix)|store/store_(threads|io|io_kinds|index_bulk|purge))\b' \
        src/local.mk src/*/local.mk test/fault/local.mk | sort -u))
    [ ${#programs[@]} -gt 0 ] || return
    configure_tsan
    make -s -C build-tsan -j"$JOBS" "${programs[@]}" || return
    for t in "${programs[@]}"; do
        "build-tsan/$t" >"build-tsan/$t.log" 2>&1
        unity_count "build-tsan/$t.log" $?
    done
}

# A second compiler's opinion, with -Werror, of the whole tree and its tests.
step_clang() {
    configure_clang
    counted make -s -C build-clang -j"$JOBS" all
    counted make -s -C build-clang -j"$JOBS" check TESTS=
    counted tools/globals.sh build-clang
    # The memory of an idle server is that of a build without sanitizers.
    counted build-clang/test/unit/mayfly/idle
}

# unchanged STEP: the tree is the one that passed it; else tree_passed STEP remembers that.
tree_key() {
    find configure.ac Makefile.am src include test bench docs conf debian tools m4 -type f \
        -not -path '*/node_modules/*' | LC_ALL=C sort | xargs sha256sum | sha256sum
}
unchanged() {
    [ "$(cat "$STATE/$1" 2>/dev/null)" = "$(tree_key)" ] || return 1
    echo "unchanged since it passed"
    P=1
}
tree_passed() { tree_key >"$STATE/$1"; }

configure_dist() { configure_in build-dist CFLAGS=-O0 --with-unity="$UNITY_DIR"; }

# A release must build, test itself and install from its tarball: with a few of its tests, all of them
# were run before.  An unchanged tree that passed is not asked again.
step_distcheck() {
    bootstrap
    unchanged distcheck && return
    configure_dist
    local some="test/unit/base/base test/unit/store/store test/unit/stream/stream test/unit/consumer/consumer test/unit/api/api"
    counted make -s -C build-dist -j"$JOBS" distcheck check_PROGRAMS="$some" TESTS="$some" \
        DISTCHECK_CONFIGURE_FLAGS="--with-unity=$UNITY_DIR CFLAGS=-O0"
    counted tools/dist.sh build-dist/mayfly-*.tar.gz
    if [ "$F" -gt 0 ]; then
        failed_tests build-dist # the next attempt removes their logs
    else
        tree_passed distcheck
    fi
}

# The Debian package is built, without optimisation, and lives in a scratch root.  Only root can change into one.
step_package() {
    bootstrap
    unchanged packaged && return
    . tools/package.sh
    PACKAGES="$STATE/package-test" # not the one that somebody built to install
    (deps_package && configure_dist && package_build build-dist noopt) || {
        F=1
        return
    }
    if [ "$(id -u)" -eq 0 ]; then
        tallied tools/package_test.sh "$PACKAGES"/mayfly_*.deb
    else
        counted dpkg-deb --info "$PACKAGES"/mayfly_*.deb
        echo "not root: the package was built, not installed; as root: ./dev package --test"
    fi
    [ "$F" -gt 0 ] || tree_passed packaged
}

sorted() { printf '%s\n' "$@" | LC_ALL=C sort; }

run_tests() {
    local steps=$ALL_STEPS arg s
    for arg in "$@"; do
        case "$arg" in
        --quick) steps=$QUICK_STEPS ;;
        --only=*) steps=$(tr ',' ' ' <<<"${arg#--only=}") ;;
        --list)
            echo "$ALL_STEPS"
            exit 0
            ;;
        *) die "test: unknown argument $arg" ;;
        esac
    done
    bootstrap
    for s in $steps; do
        [ "$(type -t "step_$s")" = function ] || die "test: no step $s; there are: $ALL_STEPS"
    done
    # In their own order, whatever order they were named in.
    # shellcheck disable=SC2086
    steps=$(for s in $ALL_STEPS; do [[ " $steps " != *" $s "* ]] || printf '%s ' "$s"; done)
    # Steps that run the server: never an old one.
    if [[ " $steps " =~ \ (unit|install|wire|torture|interop|compare|reference)\  ]] && [[ " $steps " != *" build "* ]]; then
        configure_test
        make_in build-test all check TESTS= || die "the build failed: $LOGS/make-build-test.log"
    fi
    rm -f "$LOGS"/step-*.result
    for s in $steps; do
        # shellcheck disable=SC2046,SC2086
        [ "$s" != "$BEHIND_FROM" ] || steps_behind $(comm -12 <(sorted $BEHIND) <(sorted $steps))
        printf '%-10s ' "$s"
        if [ -n "$BEHIND_PID" ] && [[ " $BEHIND " == *" $s "* ]]; then
            while [ ! -s "$LOGS/step-$s.result" ] && kill -0 "$BEHIND_PID" 2>/dev/null; do sleep 1; done
        else
            step_run "$s"
        fi
        step_show "$s"
    done
    printf '%d passed, %d failed\n' "$PASSED" "$FAILED"
    [ "$FAILED" -eq 0 ]
}
