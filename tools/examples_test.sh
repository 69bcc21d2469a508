#!/bin/bash
# examples_test.sh BUILD: installs BUILD into a scratch folder, builds the programs of examples/ against it as a user
# would, with pkg-config, and runs them.  Ends with `N passed, N failed`.
set -u
build=$(realpath "${1:?usage: tools/examples_test.sh BUILD}")
top=$(cd "$(dirname "$0")/.." && pwd)
root=$(mktemp -d)
# shellcheck source=tools/checks.sh
. "$top/tools/checks.sh"
trap 'end_checks; rm -rf "$root"; rm -f "$build"/conf/{mayfly.service,mayfly.sysusers,installed.conf}' EXIT
prefix=$(sed -n 's/^prefix = //p' "$build/Makefile")
export PKG_CONFIG_PATH="$root$prefix/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root" LD_LIBRARY_PATH="$root$prefix/lib"
# A library with sanitizers needs programs with them, and a Python that loads their library first.
sanitize=$(sed -n 's/^MF_SO_LDFLAGS = .*\(-fsanitize=[a-z,]*\).*/\1/p' "$build/Makefile")
preload=''
[ -z "$sanitize" ] || preload="$(cc -print-file-name=libasan.so) $(cc -print-file-name=libubsan.so)"

expected='alice is logged in
the session of alice has expired'
flags() { pkg-config "$@" mayfly; }
# shellcheck disable=SC2046,SC2086
compile() { "$1" $sanitize -Wall -Wextra -Werror "$top/examples/$2" $(flags --cflags --libs) -o "$root/$3"; }
# Only the program's own objects, pkg-config and the system's libraries: no file of the shared library is used.
# shellcheck disable=SC2046,SC2086
compile_static() {
    cc $sanitize -c -I "$root$prefix/include" "$top/examples/sessions.c" -o "$root/static.o" &&
        cc $sanitize "$root/static.o" "$root$prefix/lib/libmayfly.a" $(flags --static --libs | sed 's/-lmayfly//') -o "$root/static" &&
        ! ldd "$root/static" | grep libmayfly
}
says_all() { same "$(timeout 60 "$@" 2>&1)" "$expected"; }
python_says() {
    # Python itself leaves memory behind at its end.
    same "$(LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0 LIBMAYFLY=$LD_LIBRARY_PATH/libmayfly.so.0 timeout 60 python3 "$top/examples/sessions.py" "$root/python.data" 2>&1)" "$expected"
}
# Each block of the page that names a file is that file, or a part of it.
page_shows() {
    python3 - "$top/docs/embedding.md" "$top" <<'PY'
import re, sys
page, top = open(sys.argv[1]).read(), sys.argv[2]
blocks = re.findall(r"`(?:\.\./)?(examples/[\w.]+|include/[\w.]+)`[^\n]*\n\n```(\w+)\n(.*?)```", page, re.S)
named = {name for name, _, _ in blocks}
bad = [name for name, _, text in blocks if text not in open(f"{top}/{name}").read()]
print("blocks of", sorted(named))
sys.exit(0 if len(blocks) >= 3 and not bad else f"differs: {bad}")
PY
}

ok "install" make -s -C "$build" "DESTDIR=$root" install
ok "the header is C11 without warnings" cc -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c "$root$prefix/include/mayfly.h"
ok "the header is C++11 without warnings" c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c++ "$root$prefix/include/mayfly.h"
ok "C: builds" compile cc sessions.c c
ok "C: a session expires" says_all "$root/c" "$root/c.data"
ok "C, static: builds" compile_static
ok "C, static: a session expires" says_all "$root/static" "$root/static.data"
ok "C++: builds" compile c++ sessions.cpp cpp
ok "C++: a session expires" says_all "$root/cpp" "$root/cpp.data"
ok "Python: a session expires" python_says
ok "docs/embedding.md shows these programs" page_shows
tell_checks
