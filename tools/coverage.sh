# coverage.sh: what `./dev coverage` runs.  Sourced by ./dev; needs the steps of test.sh.
# gcov writes its counts when a program ends in good order: mayflyd does on SIGTERM, which is how the
# scenarios stop it.  What a server did that was killed (some scenarios, test/fault/kill) is not counted.
# shellcheck shell=bash

configure_cov() {
    configure_in build-cov --enable-coverage --with-unity="$UNITY_DIR" CFLAGS='-O0 -g'
}

# Every test that runs the core folders: unit and fault tests at their size in `make check`, replays of
# the fuzzers' seeds; then, unless quick, real clients and raw sockets against the server.
coverage_run() {
    local quick=$1 f
    find build-cov -name '*.gcda' -delete
    P=0
    F=0
    say "unit and fault tests, seeds of the fuzzers"
    counted env MAYFLYD="$TOP/build-cov/mayflyd" make -s -C build-cov -j"$JOBS" check >"$LOGS/coverage-check.log" 2>&1
    if [ -z "$quick" ]; then
        say "wire dialogs and scenarios of clients"
        for f in test/wire/*.mjs; do
            tallied node "$f" "$TOP/build-cov/mayflyd"
        done >"$LOGS/coverage-wire.log" 2>&1
        MAYFLY_SHARED=$(shared_data) MAYFLYD="$TOP/build-cov/mayflyd" \
            tallied node test/interop/run.mjs >"$LOGS/coverage-interop.log" 2>&1
    fi
    [ "$F" -eq 0 ] || say "note: $F tests failed, see ${LOGS#"$TOP"/}/coverage-*.log; what they ran is counted"
}

# Pages to click through, by lcov; its figures differ by the asserts, which it counts.
coverage_html() {
    local f dirs=()
    command -v genhtml >/dev/null || apt_install lcov
    for f in "$@"; do dirs+=(-d "build-cov/src/${f#src/}"); done
    logged lcov lcov -q --rc lcov_branch_coverage=1 -c "${dirs[@]}" -o build-cov/coverage.info &&
        logged genhtml genhtml -q --branch-coverage -o build-cov/coverage build-cov/coverage.info ||
        die "lcov failed: $LOGS/lcov.log, $LOGS/genhtml.log"
    say "open build-cov/coverage/index.html"
}

run_coverage() {
    local arg quick='' report='' html='' rc show=() folders=()
    for arg in "$@"; do
        case "$arg" in
        --quick) quick=1 ;;
        --report) report=1 ;;
        --html) html=1 ;;
        --gaps | --min=*) show+=("$arg") ;;
        -*) die "coverage: unknown argument $arg" ;;
        *) folders+=("$arg") ;;
        esac
    done
    if [ -z "$report" ]; then
        configure_cov
        make_in build-cov all || die "build failed: $LOGS/make-build-cov.log"
        make_in build-cov check TESTS= || die "the tests did not build: $LOGS/make-build-cov.log"
        coverage_run "$quick"
    fi
    node tools/coverage.mjs build-cov "${show[@]}" "${folders[@]}"
    rc=$?
    [ ${#folders[@]} -gt 0 ] || folders=(store ttl markers stream proto router)
    [ -z "$html" ] || coverage_html "${folders[@]}"
    return $rc
}
