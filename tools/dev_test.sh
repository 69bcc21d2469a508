#!/bin/bash
# dev_test.sh BUILT: ./dev run with a server that is built already, the progress of a build, and what systems
# without apt-get are told.  Ends with `N passed, N failed`.
set -u
cd "$(dirname "$0")/.." || exit 2
built=${1:?usage: tools/dev_test.sh BUILT}
scratch=$(mktemp -d)
. tools/checks.sh
pid=
end() {
    [ -z "$pid" ] || kill "$pid" 2>/dev/null
    rm -rf "$scratch"
    end_checks
}
trap end EXIT

says() { grep -qE -- "$2" "$scratch/$1" || { cat "$scratch/$1"; return 1; }; }
# run NAME FLAG...: ./dev run in the background, its words in NAME.
run() {
    local name=$1
    shift
    MAYFLY_BUILT=$built MAYFLY_DATA="$scratch/$name.data" ./dev run "$@" >"$scratch/$name" 2>&1 &
    pid=$!
}

run one -p -1 -m -1
ok "run: starts and says how to go on" wait_for grep -q 'status page at http' "$scratch/one"
port=$(sed -n 's/.*client connections on 127.0.0.1:\([0-9]*\).*/\1/p' "$scratch/one")
pages=$(sed -n 's/.*http monitor on 127.0.0.1:\([0-9]*\).*/\1/p' "$scratch/one")
ok "run: the ports are the real ones" says one "clients at nats://127.0.0.1:$port, status page at http://127.0.0.1:$pages, data in $scratch/one.data"
ok "run: other ports are for the tool too" says one "NATS_URL=nats://127.0.0.1:$port"
ok "run: the check it names works" "$built/mayfly" server check "http://127.0.0.1:$pages"
# typed FILE: the commands of the hint that end by themselves.
typed() {
    { grep -E '^ *export (PATH|NATS_URL)=' "$scratch/$1" && grep -E '^ *mayfly kv (create|put) ' "$scratch/$1"; } >"$scratch/typed" &&
        [ "$(wc -l <"$scratch/typed")" -eq 4 ] && bash -e "$scratch/typed"
}
ok "run: what it says to type works" typed one
ok "run: it names the demo" says one "^ +mayfly demo"
ok "run: the server has a name" says one 'Name: +mayfly$'
ok "run: with JetStream" says one 'Starting JetStream'
ok "run: on this machine alone" not grep -q 'Everybody who reaches' "$scratch/one"
run two -p "$port" -m=-1
wait "$pid"
ok "run: a busy port ends it" test $? -eq 1
ok "run: a busy port says what to type" says two "port $port is in use.*"
ok "run: ... with free ports" says two "^ +\./dev run -p [0-9]+ -m [0-9]+$"
pid=
run three -p -1 "--http_port=$pages"
wait "$pid"
ok "run: a busy port of pages, by another name of the flag" says three "port $pages is in use"

# What it said to type works, beside another server of the same tree.
other=$(sed -n 's/^ *\.\/dev run -p \([0-9]*\) -m [0-9]*$/\1/p' "$scratch/two")
shared=$PWD/.dev/data-$other
had=$(test -e "$shared" && echo yes)
MAYFLY_BUILT=$built ./dev run -p "$other" -m -1 >"$scratch/four" 2>&1 &
pid=$!
ok "run: the ports that it said are free" wait_for grep -q "clients at nats://127.0.0.1:$other, .* data in $shared" "$scratch/four"
kill -INT "$pid"
wait "$pid"
ok "run: ... and the server had a folder of its own" says four 'Starting JetStream'
[ -n "$had" ] || rm -rf "$shared"

pid=$(sed -n 's/^\[\([0-9]*\)\].*Server is ready.*/\1/p' "$scratch/one")
ok "run: SIGINT ends the server" kill -INT "$pid"
ok "run: ... with an orderly end" wait_for grep -q 'Server Exiting' "$scratch/one"
pid=

# Servers that the documents start: the same.
open_starts() {
    grep -nE '^[ $]*(build/)?mayflyd ' README.md docs/*.md docs/howto/*.md docs/understanding/*.md |
        grep -vE ' (-t|-c|--signal|-sl|-v|--version|--help)\b' | grep -vE ' -a 127\.0\.0\.1 .*-js\b'
}
ok "documents start servers with JetStream, on this machine alone" not open_starts

# What ./dev has besides commands.
in_dev() { bash -c 'say() { echo "dev: $*" >&2; }; die() { echo "dev: $*" >&2; exit 1; }; . tools/deps.sh; '"$1"; }
in_dev 'have_apt() { false; }; BUILD_LIBRARIES="zlib nosuchlib>=2"; BUILD_COMMANDS="make nosuchcommand"; deps_build; echo went on' >"$scratch/other" 2>&1
ok "other systems: what is missing, by name" says other 'Missing: nosuchcommand nosuchlib>=2'
ok "other systems: nothing goes on then" not grep -q 'went on' "$scratch/other"
in_dev 'have_apt() { false; }; deps_build; echo went on' >"$scratch/whole" 2>&1
ok "other systems: everything is there, so it goes on" says whole 'went on'

# A build of three files, on a terminal and without one.
mkdir -p "$scratch/b"
printf 'all: a b c\na b c:\n\t@echo "  CC       src/$@.o"; touch $@\n' >"$scratch/b/Makefile"
sed -n '/^logged()/,/^}/p; /^make_in()/,/^}/p; /^make_shown()/,/^}/p' dev >"$scratch/functions"
shown() { # COMMAND: runs it with those functions
    printf 'say() { echo "dev: $*" >&2; }\nLOGS=%s JOBS=2\n. %s/functions\ncd %s && %s\n' "$scratch" "$scratch" "$scratch" "$1" >"$scratch/script"
}
shown 'make_shown b'
bash "$scratch/script" >"$scratch/plain" 2>&1
ok "build: plain lines without a terminal" test "$(cat "$scratch/plain")" = "dev: building b: 3 steps
dev: building b: 33 %
dev: building b: 66 %"
bash "$scratch/script" >"$scratch/plain" 2>&1
ok "build: nothing to do, nothing said" not test -s "$scratch/plain"
rm -f "$scratch"/b/{a,b,c}
script -qec "bash $scratch/script" /dev/null >"$scratch/tty" 2>&1 </dev/null
ok "build: progress on a terminal" says tty '100 %  3 of 3  src/[abc].o'
printf 'all:\n\t@echo "  CC       x.o"; echo "x.c:1: error: no luck" >&2; false\n' >"$scratch/b/Makefile"
script -qec "bash $scratch/script" /dev/null >"$scratch/tty" 2>&1 </dev/null
ok "build: a failed build on a terminal fails" test $? -eq 1
ok "build: ... and shows its errors" says tty 'x.c:1: error: no luck'
bash "$scratch/script" >"$scratch/plain" 2>&1
ok "build: a failed build without a terminal fails" test $? -eq 1
ok "build: ... and shows its errors too" says plain 'x.c:1: error: no luck'
tell_checks
