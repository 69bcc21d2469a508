#!/bin/bash
# layers.sh [ROOT]: checks every #include under src/ against docs/layers.txt.
#
#   - "folder/x.h" only from that folder or from one whose line in layers.txt names it;
#   - "folder/x_impl.h" is private to its folder, "folder/part/x.h" too; "folder/part/x_impl.h" is
#     private to that part;
#   - headers drag in headers: all that a file sees in the end must be allowed to its folder, or
#     stand in its line in parentheses (types inside the structs of others; not to be included);
#   - a header of ours is spelled with its folder, and exists;
#   - <library.h> only where layers.txt allows the library after '|'; libc is free.
#
# src/*.c (main) is wiring: it may include any public header, and no private one.
# layers.sh --self-test breaks a small tree in each of these ways and expects a report of each.
set -u -o pipefail
export LC_ALL=C

check_tree() {
    local root=$1
    (
        cd "$root" || exit 2
        local roots=(src)
        [ ! -d include ] || roots+=(include)
        # One stream for awk: the table, the headers, then all includes.
        {
            sed -e 's/#.*//' docs/layers.txt | awk 'NF { print "layer", $0 }'
            find "${roots[@]}" -name '*.h' | sed 's/^/header /'
            find "${roots[@]}" \( -name '*.c' -o -name '*.h' \) -print0 |
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
              "spawn syslog termios langinfo glob fnmatch libgen wchar malloc execinfo cpuid " \
              "immintrin nmmintrin x86intrin arm_acle", w, " ")
    for (i = 1; i <= n; i++) libc[w[i] ".h"] = 1
}
function fail(where, text) { print where ": " text; bad++ }
function folder_of(path,   p) { # src/folder/...; "" for src/mayflyd.c and include/
    if (split(path, p, "/") < 3 || p[1] != "src") return ""
    return p[2]
}
function part_of(path,   p) { # the sub-folder of src/folder/part/x.c, or ""
    return split(path, p, "/") > 3 ? p[3] : ""
}
# Whether a file of `me` (its folder) and `part` may include the header src/h; reports if not.
function check_ours(where, me, part, h,   path, o, private) {
    path = "src/" h
    if (!(path in exists)) { fail(where, "no such header: " h " (spell it with its folder)"); return 0 }
    o = folder_of(path)
    private = path ~ /_impl\.h$/
    if (o != me && (private || part_of(path) != "")) { fail(where, "private header of another folder: " h); return 0 }
    if (o == me && private && part_of(path) != "" && part_of(path) != part) {
        fail(where, "private header of another part: " h); return 0
    }
    if (me != "" && o != me && !((me, o) in may)) {
        fail(where, "src/" me " must not see " h ": docs/layers.txt"); return 0
    }
    return 1
}
# Visits all headers that `file` sees; reports folders its own may not see.
function follow(file, me, top, depth,   i, h, o) {
    if (depth > 60) return
    for (i = 1; i <= count[file]; i++) {
        h = seen[file, i]
        if ((top, h) in visited) continue
        visited[top, h] = 1
        o = folder_of(h)
        if (depth > 0 && me != "" && o != me && !((me, o) in may) && !((me, o) in drag))
            fail(top, "sees " substr(h, 5) " through " substr(file, 5) "; src/" me " must not: docs/layers.txt")
        else
            follow(h, me, top, depth + 1)
    }
}
$1 == "layer" {
    name = $2; sub(/:$/, "", name); known[name] = 1
    half = 0
    for (i = 3; i <= NF; i++) {
        if ($i == "|") half = 1
        else if (half) { lib[name, $i] = 1 }
        else if ($i ~ /^\(.*\)$/) { drag[name, substr($i, 2, length($i) - 2)] = 1 }
        else {
            # Lowest first: a folder may name only what stands above it in the file.
            if (!($i in known)) fail("docs/layers.txt", name " may include " $i ", which is not below it")
            may[name, $i] = 1
        }
    }
    next
}
$1 == "header" { exists[$2] = 1; next }
$1 == "include" {
    line = $0; sub(/^include /, "", line)
    split(line, f, ":"); file = f[1]; where = f[1] ":" f[2]
    me = folder_of(file)
    if (me != "" && !(me in known)) {
        if (!(me in told)) fail(file, "folder '" me "' is not in docs/layers.txt")
        told[me] = 1; next
    }
    if (match(line, /"[^"]*"/)) {
        h = substr(line, RSTART + 1, RLENGTH - 2)
        if (("include/" h) in exists) next
        if (check_ours(where, me, part_of(file), h)) {
            if (!(file in count)) files[++nfiles] = file
            seen[file, ++count[file]] = "src/" h
        }
    } else if (match(line, /<[^>]*>/)) {
        h = substr(line, RSTART + 1, RLENGTH - 2)
        if (h in libc || h ~ /^(sys|netinet|arpa|net|linux|sanitizer|bits)\//) next
        split(h, q, "/")
        if ((me, h) in lib || (me, q[1]) in lib) next
        fail(where, (me == "" ? "src/" : "src/" me) " must not use <" h ">: docs/layers.txt")
    }
}
END {
    for (n = 1; n <= nfiles; n++) follow(files[n], folder_of(files[n]), files[n], 0)
    exit bad ? 1 : 0
}
AWK
}

# --- self-test ---------------------------------------------------------------------------------------

# A tree of three layers, base below net below server, with private headers and parts.
plant() {
    local t=$1
    mkdir -p "$t"/{docs,include,src/base/list,src/net,src/server}
    printf 'base: |\nnet: base | uv.h\nserver: base net | jansson.h\n' >"$t/docs/layers.txt"
    echo '#include <stdint.h>' >"$t/src/base/base.h"
    echo '#include "base/base.h"' >"$t/src/net/net.h"
    echo '#include "base/base.h"' >"$t/src/server/server.h"
    touch "$t/src/base/base_impl.h" "$t/src/base/list/list.h" "$t/src/base/list/list_impl.h" \
        "$t/src/server/server_impl.h" "$t/include/mayfly.h"
    printf '#include "base/base.h"\n#include "base/base_impl.h"\n' >"$t/src/base/base.c"
    printf '#include "base/list/list.h"\n#include "base/list/list_impl.h"\n' >"$t/src/base/list/list.c"
    printf '#include "server/server.h"\n#include "server/server_impl.h"\n#include <jansson.h>\n' >"$t/src/server/server.c"
    printf '#include "server/server.h"\n#include "base/base.h"\n#include "mayfly.h"\n' >"$t/src/main.c"
}

# expect NAME PATTERN FILE TEXT: appending TEXT to FILE must be reported with PATTERN ('' = accepted).
expect() {
    local t out
    t=$(mktemp -d) || exit 2
    plant "$t"
    case "$3" in src/*/*) mkdir -p "$t/${3%/*}" ;; esac
    if [ "$3" = src/late/late.c ]; then # late sees mid alone, mid sees net
        printf 'mid: base net |\nlate: mid |\n' >>"$t/docs/layers.txt"
        mkdir -p "$t/src/mid"
        echo '#include "net/net.h"' >"$t/src/mid/mid.h"
    fi
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
    expect "an upward include is caught" 'base.c:3: .*must not see server/server.h' \
        src/base/base.c '#include "server/server.h"'
    expect "an upward include in a header is caught" 'base.h:2: .*must not see' \
        src/base/base.h '#  include "server/server.h"'
    expect "a header that drags in a forbidden folder is caught" \
        'late.c: sees net/net.h through mid/mid.h' src/late/late.c '#include "mid/mid.h"'
    expect "what may only be dragged in is not included" 'late.c:1: .*must not see net/net.h' \
        src/late/late.c '#include "net/net.h"'
    expect "a private header of another folder is caught" 'server.c:4: private header of another folder' \
        src/server/server.c '#include "base/base_impl.h"'
    expect "a header of another folder's part is caught" 'server.c:4: private header of another folder' \
        src/server/server.c '#include "base/list/list.h"'
    expect "a part's header is seen in its folder" '' src/base/base.c '#include "base/list/list.h"'
    expect "a private header of a part is caught" 'base.c:3: private header of another part' \
        src/base/base.c '#include "base/list/list_impl.h"'
    expect "a header without its folder is caught" 'server.c:4: no such header: base_impl.h' \
        src/server/server.c '#include "base_impl.h"'
    expect "main sees no private header" 'main.c:4: private header' \
        src/main.c '#include "server/server_impl.h"'
    expect "a library where it is not allowed is caught" 'base.c:3: .*must not use <uv.h>' \
        src/base/base.c '#include <uv.h>'
    expect "an unknown library is caught" 'must not use <curl/curl.h>' \
        src/server/server.c '#include <curl/curl.h>'
    expect "a folder that is not in the table is caught" "folder 'stray' is not in" \
        src/stray/stray.c '#include "base/base.h"'
    expect "a table that points upwards is caught" 'layers.txt: early may include later' \
        docs/layers.txt 'early: later |'
    return $SELF_BAD
}

case "${1:-}" in
--self-test) self_test ;;
*) check_tree "${1:-$(dirname "$0")/..}" ;;
esac
