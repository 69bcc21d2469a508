#!/bin/bash
# layers.sh [ROOT]: checks every #include under src/ and include/ against docs/layers.txt.
#
#   - "mayfly/x.h" only from its owner or from a folder whose line in layers.txt names the owner
#     (the owner is the folder whose local.mk lists the header);
#   - a private header (src/folder/y.h) only from its own folder;
#   - <library.h> only where layers.txt allows the library after '|'; libc is free.
#
# src/*.c (main) is wiring: it may include any public header, and no private one.
# layers.sh --self-test breaks a small tree in each of these ways and expects to be told.
set -u -o pipefail
export LC_ALL=C

check_tree() {
    local root=$1
    (
        cd "$root" || exit 2
        # One stream for awk: the table, the owners, the private headers, then all includes.
        {
            sed -e 's/#.*//' docs/layers.txt | awk 'NF { print "layer", $0 }'
            for mk in src/*/local.mk; do
                grep -o 'include/mayfly/[A-Za-z0-9_]*\.h' "$mk" |
                    sed "s|^|owner $(basename "$(dirname "$mk")") |"
            done
            find src include -name '*.h' | sed 's/^/header /'
            find src include \( -name '*.c' -o -name '*.h' \) -print0 |
                xargs -0 -r grep -nHE '^[[:space:]]*#[[:space:]]*include' | sed 's/^/include /'
        } | awk -f <(layers_awk)
    )
}

layers_awk() {
    cat <<'AWK'
BEGIN {
    n = split("assert complex ctype errno fenv float inttypes limits locale math setjmp signal " \
              "stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string " \
              "strings time unistd fcntl poll pthread dirent getopt grp pwd netdb sched semaphore " \
              "spawn syslog termios glob fnmatch libgen wchar malloc execinfo cpuid " \
              "immintrin nmmintrin x86intrin arm_acle", w, " ")
    for (i = 1; i <= n; i++) libc[w[i] ".h"] = 1
}
function fail(where, text) { print where ": " text; bad++ }
function folder_of(file,   p) {
    if (file ~ /^include\/mayfly\//) return owner[file]
    if (split(file, p, "/") < 3) return "" # src/mayflyd.c
    return p[2]
}
$1 == "layer" {
    name = $2; sub(/:$/, "", name); known[name] = 1
    half = 0
    for (i = 3; i <= NF; i++) {
        if ($i == "|") half = 1
        else if (half) { lib[name, $i] = 1 }
        else {
            # Lowest first: a folder may name only what stands above it in the file.
            if (!($i in known)) fail("docs/layers.txt", name " may include " $i ", which is not below it")
            may[name, $i] = 1
        }
    }
    next
}
$1 == "owner" {
    if ($3 in owner && owner[$3] != $2) fail($3, "listed by src/" owner[$3] " and by src/" $2)
    owner[$3] = $2
    next
}
$1 == "header" {
    exists[$2] = 1
    if ($2 ~ /^include\/mayfly\// && !($2 in owner)) fail($2, "listed by no src/*/local.mk")
    next
}
$1 == "include" {
    line = $0; sub(/^include /, "", line)
    split(line, f, ":"); file = f[1]; where = f[1] ":" f[2]
    me = folder_of(file)
    top = file ~ /^src\/[^\/]*$/
    if (!top && !(me in known)) { if (!(me in told)) fail(file, "folder '" me "' is not in docs/layers.txt"); told[me] = 1; next }
    if (match(line, /"[^"]*"/)) {
        h = substr(line, RSTART + 1, RLENGTH - 2)
        if (h ~ /^mayfly\//) {
            o = owner["include/" h]
            if (!(("include/" h) in exists)) fail(where, "no such header: " h)
            else if (o == "" || top || o == me || (me, o) in may) ;
            else fail(where, "src/" me " must not see " h " (src/" o "): docs/layers.txt")
        } else if (h ~ /\//) {
            split(h, q, "/")
            if (q[1] != me) fail(where, "private header of another folder: " h)
        } else if (!(("src/" me "/" h) in exists)) fail(where, "private header of another folder, or missing: " h)
    } else if (match(line, /<[^>]*>/)) {
        h = substr(line, RSTART + 1, RLENGTH - 2)
        if (h in libc || h ~ /^(sys|netinet|arpa|net|linux|sanitizer|bits)\//) next
        split(h, q, "/")
        if ((me, h) in lib || (me, q[1]) in lib) next
        fail(where, (top ? "src/" : "src/" me) " must not use <" h ">: docs/layers.txt")
    }
}
END { exit bad ? 1 : 0 }
AWK
}

# --- self-test ---------------------------------------------------------------------------------------

# A tree of two layers, base below server, with a private header in each.
plant() {
    local t=$1
    mkdir -p "$t"/{docs,include/mayfly,src/base,src/server}
    printf 'base: |\nnet: base | uv.h\nserver: base net | jansson.h\n' >"$t/docs/layers.txt"
    echo 'x = include/mayfly/base.h' >"$t/src/base/local.mk"
    echo 'x = include/mayfly/server.h' >"$t/src/server/local.mk"
    echo '#include <stdint.h>' >"$t/include/mayfly/base.h"
    echo '#include "mayfly/base.h"' >"$t/include/mayfly/server.h"
    touch "$t/src/base/base_int.h" "$t/src/server/server_int.h"
    printf '#include "mayfly/base.h"\n#include "base_int.h"\n' >"$t/src/base/base.c"
    printf '#include "mayfly/server.h"\n#include "server_int.h"\n#include <jansson.h>\n' >"$t/src/server/server.c"
    printf '#include "mayfly/server.h"\n#include "mayfly/base.h"\n' >"$t/src/main.c"
}

# expect NAME PATTERN FILE TEXT: appending TEXT to FILE must be reported with PATTERN ('' = accepted).
expect() {
    local t out
    t=$(mktemp -d) || exit 2
    plant "$t"
    [ -z "$3" ] || printf '%s\n' "$4" >>"$t/$3"
    out=$(check_tree "$t")
    local rc=$?
    rm -rf "$t"
    if { [ -z "$2" ] && [ $rc -eq 0 ] && [ -z "$out" ]; } ||
        { [ -n "$2" ] && [ $rc -eq 1 ] && grep -qE -- "$2" <<<"$out"; }; then
        echo "ok layers self-test: $1"
    else
        echo "not ok layers self-test: $1: exit $rc, said: $out"
        SELF_BAD=1
    fi
}

self_test() {
    SELF_BAD=0
    expect "a clean tree is accepted" '' '' ''
    expect "an upward include is caught" 'base.c:3: .*must not see mayfly/server.h' \
        src/base/base.c '#include "mayfly/server.h"'
    expect "an upward include in a public header is caught" 'base.h:2: .*must not see' \
        include/mayfly/base.h '#  include "mayfly/server.h"'
    expect "a private header of another folder is caught" 'private header' \
        src/server/server.c '#include "base/base_int.h"'
    expect "a private header by its bare name is caught" 'private header' \
        src/server/server.c '#include "base_int.h"'
    expect "main sees no private header" 'main.c:3: private header' \
        src/main.c '#include "server/server_int.h"'
    expect "a library where it is not allowed is caught" 'base.c:3: .*must not use <uv.h>' \
        src/base/base.c '#include <uv.h>'
    expect "an unknown library is caught" 'must not use <curl/curl.h>' \
        src/server/server.c '#include <curl/curl.h>'
    expect "a header without an owner is caught" 'listed by no' \
        include/mayfly/stray.h '/* stray */'
    expect "a table that points upwards is caught" 'layers.txt: late may include later' \
        docs/layers.txt 'late: later |'
    return $SELF_BAD
}

case "${1:-}" in
--self-test) self_test ;;
*) check_tree "${1:-$(dirname "$0")/..}" ;;
esac
