#!/bin/bash
# lint.sh [layers|format|words|tidy]: what can be said about the code without running it.
# Without an argument: all four.  Findings go to stdout; exit 1 when there are any.
# shellcheck disable=SC2046  # our file names hold no blanks
set -u -o pipefail
cd "$(dirname "$0")/.." || exit 2
export LC_ALL=C
JOBS=${JOBS:-$(nproc)}
# How far the analyzer follows one function; clang's own limit, 225000, takes five times as long.
export TIDY_NODES=${TIDY_NODES:-40000}
CACHE=.dev/tidy # one empty file per source that was found clean, named by a hash of all it depends on

c_files() { find "$@" -name '*.[ch]' -not -path '*/node_modules/*' | sort; }

lint_layers() { tools/layers.sh; }

lint_format() {
    local out
    # The comment above each file's first line is part of the format: what is it for?
    out=$(
        c_files src test bench | xargs clang-format --dry-run --Werror 2>&1 | grep -E '^[^ ]+:[0-9]+:[0-9]+: error:' | sort -u
        for f in $(c_files src test bench); do
            [ "$(head -c 3 "$f")" = "/* " ] || echo "$f:1: line one does not say what the file is for"
        done
    )
    [ -z "$out" ] || printf '%s\n' "$out"
    [ -z "$out" ]
}

# Words we do without, and sizes we keep.
lint_words() {
    local out
    out=$(
        grep -nE '\b(strcpy|strcat|sprintf|vsprintf|gets|strtok|alloca)[[:space:]]*\(' $(c_files src test bench) |
            sed 's/$/   <- unbounded or stateful; use the bounded one/'
        grep -nE '\b(TODO|FIXME|XXX|HACK)\b' $(c_files src test bench) |
            sed 's/$/   <- finish it, or write an issue/'
        # Time is a parameter: only loop and base/clock read a clock.
        grep -nE '\b(clock_gettime|gettimeofday|uv_hrtime|uv_now|time)[[:space:]]*\((NULL|&|CLOCK_|[a-z]*loop|\))' \
            $(c_files src | grep -vE '^src/(loop/|base/clock)') | sed 's/$/   <- only loop and base\/clock read a clock/'
        # A buffer of the process is filled again by a nested call while it is still being sent (lend.h).
        grep -nE '^[[:space:]]*static (_Thread_local )?struct (mf_buf|jsonw)[[:space:]]+[a-z_]+[;= ]' $(c_files src) |
            sed 's/$/   <- take a buffer of the pool: lend_take()/'
        # A release must be able to test itself: each script stands in a local.mk, alone or by its folder.
        for f in $(find test -name '*.mjs' -not -path '*/node_modules/*' | sort); do
            grep -qE "(^|[ 	])(%D%|test)/([a-z/]*/)?($(basename "$f")|$(basename "$(dirname "$f")"))( |\$)" \
                src/*/local.mk test/local.mk test/*/local.mk || echo "$f: in no local.mk"
        done
        tools/words.sh # the language of the documents
        node tools/house.mjs --check # and of the comments
        wc -l $(c_files src test bench | grep '\.c$') | awk '$2 != "total" && $1 > 600 { print $2 ": " $1 " lines, 600 allowed" }'
        wc -l $(c_files src | grep '\.h$') | awk '$2 != "total" && $2 !~ /_table\.h$/ && $1 > 300 { print $2 ": " $1 " lines, 300 allowed" }'
    )
    [ -z "$out" ] || printf '%s\n' "$out"
    [ -z "$out" ]
}

tidy_flags() {
    echo "-std=c11 -D_GNU_SOURCE -Iinclude -Isrc $(pkg-config --cflags libuv jansson openssl libsodium libxxhash zlib libnats 2>/dev/null)" \
        "-Xclang -analyzer-config -Xclang max-nodes=$TIDY_NODES"
}

# tidy_one FILE: clean files are remembered by everything that could change the verdict.
tidy_one() {
    local file=$1 key out new
    # shellcheck disable=SC2086
    key=$({ cat .clang-tidy tools/tidy-known.txt; clang-tidy --version; echo "$TIDY_NODES"; cat $(clang -MM $(tidy_flags) "$file" | sed -e 's/^[^:]*://' -e 's/\\$//'); } |
        sha256sum | cut -d' ' -f1)
    [ -f "$CACHE/$key" ] && return 0
    out=$(clang-tidy --quiet "$file" -- $(tidy_flags) 2>/dev/null)
    new=$(grep -E ' (warning|error): ' <<<"$out" | while read -r line; do
        check=$(grep -oE '\[[a-z][^],]*' <<<"$line" | tail -n 1 | tr -d '[')
        grep -qE "^$file +$check( |\$)" tools/tidy-known.txt || printf '%s\n' "$line"
    done)
    if [ -n "$new" ]; then
        printf '%s\n' "$out"
        return 1
    fi
    touch "$CACHE/$key"
}

lint_tidy() {
    mkdir -p "$CACHE"
    export -f tidy_one tidy_flags
    export CACHE
    find src -name '*.c' | sort | xargs -P "$JOBS" -n 1 bash -c 'tidy_one "$1"' _
}

bad=0
for what in ${1:-layers format words tidy}; do
    [ "$(type -t "lint_$what")" = function ] || {
        echo "usage: tools/lint.sh [layers|format|words|tidy]" >&2
        exit 2
    }
    "lint_$what" || {
        echo "lint: $what: see above"
        bad=1
    }
done
exit $bad
