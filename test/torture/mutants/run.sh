#!/bin/bash
# run.sh: deliberate bugs, one at a time, and who finds them.
#
#     ./dev torture --mutants [--minutes=M] [--tests | --torture] [--seed=S] [NAME...]
#     ./dev torture --mutants --check | --list | --table          (`./dev mutants` is short for it)
#
# Each NAME.patch here breaks one promise in src/.  Its head says which, and who should notice:
#
#     Breaks: the promise.  Trials: those of `./dev torture`, in order
#     Class: what kind of bug it is
#     Tests: those of `./dev test`, the cheapest first: unit/X, fault/X, interop/FILE, wire/FILE, leaf/FILE
#     Build: asan            (only where a sanitizer is what notices)
#
# The tree is copied to .dev/mutants/tree and built there.  For each patch: apply, build, run the tests
# until one fails, then the trials until one finds something (M minutes at most, 10), revert.  A test
# or trial that does not pass on the tree without a patch counts for nothing.  What comes out is kept in
# .dev/mutants/result, one file for each; the table at the end is of all there are.
# --check only tells whether every patch still applies.  Exit 1: a bug was found by nobody.
set -u -o pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$HERE/../../.." && pwd)
WORK="$TOP/.dev/mutants"
TREE="$WORK/tree"
JOBS=${JOBS:-$(nproc)}
TEST_CAP=${TEST_CAP:-180} # seconds for one test; one that hangs has noticed something
minutes=10
seed=${SEED:-$(date +%s)}
want_tests=1
want_torture=1
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1:detect_stack_use_after_return=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}"
export LC_ALL=C

say() { printf '%s\n' "mutants: $*" >&2; }
die() {
    say "$*"
    exit 2
}

# --- the patches -----------------------------------------------------------------------------------

all_names() { (cd "$HERE" && for p in *.patch; do [ ! -f "$p" ] || echo "${p%.patch}"; done); }
patch_of() { echo "$HERE/$1.patch"; }
field() { sed -n "s/^$2: *//p;/^--- /q" "$(patch_of "$1")" | head -n 1; }
breaks_of() { field "$1" Breaks | sed 's/  *Trials:.*//'; }
trials_of() { field "$1" Breaks | sed -n 's/.*Trials: *//p' | sed 's/^-$//'; }
# Outside of a repository, whatever folder we are in: git would leave out what it does not track.
git_apply() { GIT_CEILING_DIRECTORIES="$(dirname "$TREE")" git -C "$TREE" apply "$@"; }

# The file of a test of ./dev test; of interop/FILE the first whose name begins with FILE.
file_of() {
    case "$1" in
    unit/*) echo "$TOP/test/$(dirname "$1")/test_$(basename "$1").c" ;;
    fault/*) echo "$TOP/test/$1.c" ;;
    *) find "$TOP/test/${1%/*}" -maxdepth 1 -name "${1#*/}*.mjs" | head -n 1 ;;
    esac
}

# Every patch has its head, names tests that exist, and applies to the tree as it stands.
check() {
    local name test wrong count=0 bad=0
    for name in $(all_names); do
        count=$((count + 1))
        wrong=
        if [ -z "$(breaks_of "$name")" ] || ! field "$name" Breaks | grep -q '  Trials: ' ||
            [ -z "$(field "$name" Class)" ] || [ -z "$(field "$name" Tests)" ]; then
            wrong="its head misses Breaks, Trials, Class or Tests"
        fi
        for test in $(field "$name" Tests); do
            [ -f "$(file_of "$test")" ] || wrong="there is no test $test"
        done
        git -C "$TOP" apply --check "$(patch_of "$name")" || wrong="it does not apply any more: make it anew"
        [ -n "$wrong" ] || continue
        echo "not ok $name.patch: $wrong"
        bad=$((bad + 1))
    done
    echo "$((count - bad)) of $count mutants apply"
    [ "$count" -gt 0 ] && [ "$bad" -eq 0 ]
}

# --- the copy --------------------------------------------------------------------------------------

# Only what differs is written, so that make builds only that.
copy_tree() {
    local f
    mkdir -p "$TREE"
    (cd "$TOP" && git ls-files -co --exclude-standard) | while read -r f; do
        [ -f "$TOP/$f" ] || continue
        cmp -s "$TOP/$f" "$TREE/$f" && continue
        mkdir -p "$TREE/$(dirname "$f")"
        cp -p "$TOP/$f" "$TREE/$f" && touch "$TREE/$f"
    done
    [ -e "$TREE/test/interop/node_modules" ] || [ ! -d "$TOP/test/interop/node_modules" ] ||
        ln -s "$(readlink -f "$TOP/test/interop/node_modules")" "$TREE/test/interop/node_modules"
}

bootstrap() {
    local key dir
    key=$(cd "$TREE" && find configure.ac Makefile.am m4 src test bench docs \( -name local.mk -o -name '*.m4' \
        -o -name configure.ac -o -name Makefile.am \) -not -path '*/node_modules/*' | sort | xargs sha256sum | sha256sum)
    [ -x "$TREE/configure" ] && [ "$(cat "$WORK/bootstrap" 2>/dev/null)" = "$key" ] && return
    say "autoreconf"
    (cd "$TREE" && autoreconf -i) >"$WORK/log/autoreconf.log" 2>&1 || die "autoreconf failed: .dev/mutants/log/autoreconf.log"
    for dir in plain asan; do
        [ ! -f "$WORK/$dir/config.status" ] ||
            (cd "$WORK/$dir" && ./config.status --recheck && ./config.status) >"$WORK/log/configure-$dir.log" 2>&1 ||
            rm -rf "${WORK:?}/$dir"
    done
    printf '%s\n' "$key" >"$WORK/bootstrap"
}

# make_in BUILD TARGET...: configures it when it is new.
make_in() {
    local build=$1 dir="$WORK/$1" flags=()
    shift
    if [ ! -f "$dir/config.status" ]; then
        [ "$build" = plain ] || flags=("--enable-sanitize=address,undefined")
        mkdir -p "$dir"
        (cd "$dir" && "$TREE/configure" --disable-maintainer-mode -q --with-unity="${UNITY_DIR:?}" \
            "${flags[@]}" CFLAGS='-O1 -g') >"$WORK/log/configure-$build.log" 2>&1 ||
            die "configure failed: .dev/mutants/log/configure-$build.log"
    fi
    make -s -C "$dir" -j"$JOBS" "$@" >"$WORK/log/make-$build.log" 2>&1
}

# --- who looks -------------------------------------------------------------------------------------

trial_path() { echo "$TREE/test/torture/trials/$1.mjs"; }

# targets_of LOOKER [SERVER]: what make has to build for it.  SERVER: a trial wants one, be it as it may.
targets_of() {
    case "$1" in
    unit/* | fault/*) echo "test/$1" ;;
    store-*) echo "test/fault/${1#store-}" "${2:-}" ;;
    interop/* | wire/*) echo mayflyd mayfly ;;
    leaf/*) echo mayflyd ;;
    *) echo mayflyd torture-programs ;;
    esac
}

# trial NAME SERVER SECONDS: as ./dev torture runs it, but only up to its first find.
trial() {
    local scratch pid rc end=$((SECONDS + $3 + 120))
    scratch=$(mktemp -d "$WORK/scratch-XXXXXX")
    setsid node "$(trial_path "$1")" --seconds="$3" --seed="$seed" --mayflyd="$2" --dir="$scratch" >"$scratch.log" 2>&1 &
    pid=$!
    running=$pid
    while kill -0 $pid 2>/dev/null && ! grep -aqs '^FOUND ' "$scratch.log" && [ $SECONDS -lt $end ]; do sleep 0.2; done
    if grep -aqs '^FOUND ' "$scratch.log" || [ $SECONDS -ge $end ]; then
        kill -KILL -- -$pid 2>/dev/null # with all the servers it started
    fi
    wait $pid
    rc=$?
    running=
    grep -aqs '^FOUND ' "$scratch.log" && rc=1
    cat "$scratch.log"
    umount "$scratch"/*/mnt 2>/dev/null # a trial that was killed left its small disk
    rm -rf "$scratch" "$scratch.log"
    [ $rc -le 2 ] || rc=1 # it hung, or died of what it met
    return $rc
}

# look LOOKER BUILD SECONDS: 0 nothing found, 1 found something, 2 could not look.  A test that takes
# longer than SECONDS hangs, and so finds something; a trial has just found nothing in its time.
look() {
    local looker=$1 dir="$WORK/$2" seconds=$3
    case "$looker" in
    unit/* | fault/*)
        (cd "$dir" && timeout -k 5 "$TEST_CAP" "test/$looker") || return 1
        ;;
    interop/*)
        MAYFLYD="$dir/mayflyd" MAYFLY="$dir/mayfly" timeout -k 5 "$TEST_CAP" \
            node "$TREE/test/interop/run.mjs" "^${looker#interop/}[a-z_]*:" || return 1
        ;;
    leaf/*)
        MAYFLYD="$dir/mayflyd" timeout -k 5 "$TEST_CAP" node "$TREE/test/leaf/run.mjs" --quick --pair=mayfly-mayfly \
            --only="^${looker#leaf/}:" || return 1
        ;;
    wire/*)
        timeout -k 5 "$((2 * TEST_CAP))" node "$TREE/test/$looker.mjs" "$dir/mayflyd" || return 1
        ;;
    *)
        [ -f "$(trial_path "$looker")" ] || return 2
        trial "$looker" "$dir/mayflyd" "$seconds"
        ;;
    esac
}

# sane LOOKER BUILD: does it pass without a patch?  Asked once for each tree.
sane() {
    local key="$WORK/sane/$2-${1//\//-}-$TREE_KEY"
    [ -f "$key" ] && return "$(cat "$key")"
    mkdir -p "$WORK/sane"
    # shellcheck disable=SC2046
    make_in "$2" $(targets_of "$1" mayflyd) || die "the tree does not build: .dev/mutants/log/make-$2.log"
    look "$1" "$2" 15 >"$WORK/log/sane-${1//\//-}.log" 2>&1
    local rc=$?
    [ $rc -ne 1 ] || say "$1 finds something where no mutant is: .dev/mutants/log/sane-${1//\//-}.log"
    echo $rc >"$key"
    return $rc
}

# hunt NAME BUILD SECONDS LOOKER...: sets HUNT to "LOOKER SECONDS" of the first that found something, or
# to "- SECONDS".  SECONDS is shared by all of them; tests have their own limit.
hunt() {
    local name=$1 build=$2 left=$3 looker start took=0 share rc n
    shift 3
    n=$#
    HUNT="- 0"
    for looker in "$@"; do
        [ "$(cat "$WORK/sane/$build-${looker//\//-}-$TREE_KEY")" = 0 ] || continue
        share=$((left / n))
        n=$((n - 1))
        # shellcheck disable=SC2046
        make_in "$build" $(targets_of "$looker") || {
            HUNT="! 0"
            return
        }
        start=${EPOCHREALTIME/./}
        look "$looker" "$build" "$share" >"$WORK/log/$name-${looker//\//-}.log" 2>&1
        rc=$?
        took=$((took + ${EPOCHREALTIME/./} - start))
        left=$((left - (${EPOCHREALTIME/./} - start) / 1000000))
        [ $left -ge 10 ] || left=10
        [ $n -gt 0 ] || n=1
        HUNT="- $((took / 100000))"
        if [ $rc -eq 1 ]; then
            HUNT="$looker $((took / 100000))"
            return
        fi
    done
}

# --- one mutant ------------------------------------------------------------------------------------

one() {
    local name=$1 build tests trials looker by_test="? 0" by_trial="? 0" old
    build=$(field "$name" Build)
    build=${build:-plain}
    tests=$(field "$name" Tests)
    trials=$(trials_of "$name")
    for looker in $([ $want_tests = 0 ] || echo "$tests") $([ $want_torture = 0 ] || echo "$trials"); do
        sane "$looker" "$build"
    done
    old="$WORK/result/$name"
    [ ! -f "$old" ] || { read -r by_test && read -r by_trial; } <"$old"
    applied=$name
    git_apply "$(patch_of "$name")" || die "$name.patch does not apply"
    if [ $want_tests = 1 ]; then
        # shellcheck disable=SC2086
        hunt "$name" "$build" "$TEST_CAP" $tests
        by_test=$HUNT
    fi
    if [ $want_torture = 1 ]; then
        # shellcheck disable=SC2086
        hunt "$name" "$build" $((minutes * 60)) $trials
        by_trial=$HUNT
    fi
    git_apply -R "$(patch_of "$name")" || die "$name.patch cannot be taken back"
    applied=
    [[ $by_test != '!'* && $by_trial != '!'* ]] || say "$name does not build: .dev/mutants/log/make-$build.log"
    printf '%s\n%s\n' "$by_test" "$by_trial" >"$old"
    say "$(printf '%-40s test: %-28s torture: %s' "$name" "$(shown "$by_test")" "$(shown "$by_trial")")"
}

# shown "LOOKER TENTHS"
shown() {
    local looker=${1% *} tenths=${1#* }
    case "$looker" in
    '?') echo "not asked" ;;
    '!') echo "does not build" ;;
    x) echo "not their work" ;;
    -) [ "$tenths" -eq 0 ] && echo "nobody" || echo "nobody in $((tenths / 10)) s" ;;
    *) echo "$looker, $((tenths / 10)).$((tenths % 10)) s" ;;
    esac
}

# --- all of them -----------------------------------------------------------------------------------

table() {
    local name by_test by_trial class tried=0 tests=0 torture=0 missed=0
    printf '| class | mutant | promise it breaks | test that fails | trial that finds it |\n|---|---|---|---|---|\n'
    for class in $(for name in $(all_names); do field "$name" Class; done | sort -u); do
        for name in $(all_names); do
            [[ $(field "$name" Class) == "$class" && -f $WORK/result/$name ]] || continue
            { read -r by_test && read -r by_trial; } <"$WORK/result/$name"
            tried=$((tried + 1))
            [[ ${by_test% *} == [-?!] ]] || tests=$((tests + 1))
            [[ ${by_trial% *} == [-?!] ]] || torture=$((torture + 1))
            [[ ${by_test% *} == [-?!] && ${by_trial% *} == [-?!] ]] && missed=$((missed + 1))
            [ -n "$(trials_of "$name")" ] || by_trial=x
            printf "| %s | \`%s\` | %s | %s | %s |\n" "$class" "$name" "$(breaks_of "$name")" "$(shown "$by_test")" \
                "$(shown "$by_trial")"
        done
    done
    printf '\nmutants: %d tried, %d found by tests, %d by torture, %d by nobody\n' $tried $tests $torture $missed
    [ $missed -eq 0 ]
}

applied=
running=
cleanup() {
    [ -z "$running" ] || kill -KILL -- "-$running" 2>/dev/null
    [ -z "$applied" ] || git_apply -R "$(patch_of "$applied")"
}

names=()
for arg in "$@"; do
    case "$arg" in
    --minutes=*) minutes=${arg#*=} ;;
    --seed=*) seed=${arg#*=} ;;
    --tests) want_torture=0 ;;
    --torture) want_tests=0 ;;
    --check) check && exit 0 || exit 1 ;;
    --table) table && exit 0 || exit 1 ;;
    --list)
        all_names
        exit 0
        ;;
    -*) die "unknown argument $arg" ;;
    *)
        [ -f "$(patch_of "$arg")" ] || die "no mutant $arg; --list names them"
        names+=("$arg")
        ;;
    esac
done
[ ${#names[@]} -gt 0 ] || mapfile -t names < <(all_names)
mkdir -p "$WORK/log" "$WORK/result"
copy_tree
TREE_KEY=$(cd "$TREE" && find src include test -type f -not -path '*/node_modules/*' -not -path 'test/torture/mutants/*' |
    sort | xargs sha256sum | sha256sum | cut -c 1-16)
bootstrap
trap cleanup EXIT
trap 'exit 130' INT TERM
for name in "${names[@]}"; do one "$name"; done
table
