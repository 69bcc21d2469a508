#!/bin/bash
# install_test.sh BUILD: `make install` and `make uninstall` of a built tree, below a scratch folder.
# Ends with `N passed, N failed`.
set -u
build=${1:?usage: tools/install_test.sh BUILD}
top=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(sed -n 's/^prefix = //p' "$build/Makefile")
root=$(mktemp -d)
# shellcheck source=tools/checks.sh
. "$top/tools/checks.sh"
trap 'end_checks; rm -rf "$root"; rm -f "$build"/conf/{mayfly.service,mayfly.sysusers,installed.conf}' EXIT

has() { grep -qF -- "$2" "$root$1"; }
make_at() { make -s -C "$build" "DESTDIR=$root" "$@"; }
# refused ARGUMENT...: configure says no, and why.
refused() { (cd "$root/b" && ! "$top/configure" "$@" 2>&1) | grep 'blanks'; }

# try PREFIX ETC VAR: what was made for other paths is made again.
try() {
    local at=(prefix="$1" sysconfdir="$2" localstatedir="$3") unit="$1/lib/systemd/system/mayfly.service"
    rm -f "$build"/conf/{mayfly.service,mayfly.sysusers,installed.conf}
    ok "$1: install" make_at install "${at[@]}"
    ok "$1: the unit starts the installed server with the installed file" has "$unit" "ExecStart=$1/sbin/mayflyd -c $2/mayfly/mayfly.conf"
    ok "$1: nothing is left to replace" not grep -qE '@[a-z]+@' "$root$unit" "$root$1/lib/sysusers.d/mayfly.conf"
    ok "$1: the file has the state directory" has "$2/mayfly/mayfly.conf" "    store_dir: \"$3/lib/mayfly\""
    ok "$1: the file is valid" "$root$1/sbin/mayflyd" -t -c "$root$2/mayfly/mayfly.conf" -sd "$root/state" -p -1 -m -1
    ok "$1: programs on this machine alone can connect" has "$2/mayfly/mayfly.conf" 'listen: "127.0.0.1:4222"'
    ok "$1: pages are on this machine alone" has "$2/mayfly/mayfly.conf" 'http: "127.0.0.1:8222"'
    ok "$1: bash completes commands" completes "$root$1/share/bash-completion/completions/mayfly"
    ok "$1: zsh finds its function" same "$(head -n 1 "$root$1/share/zsh/site-functions/_mayfly")" "#compdef mayfly"
    ok "$1: ready after recovery, watched, reloaded, private" unit_says "$root$unit"
    ok "$1: manual pages" test -f "$root$1/share/man/man8/mayflyd.8" -a -f "$root$1/share/man/man5/mayfly.conf.5" -a -f "$root$1/share/man/man1/mayfly.1"
    if [ "$3" = /var ]; then
        ok "$1: systemd makes the state directory" has "$unit" "StateDirectory=mayfly"
    else
        ok "$1: the unit makes the state directory" has "$unit" "-m 0700 $3/lib/mayfly"
    fi
    if command -v systemd-analyze >/dev/null; then
        # Paths of the unit are below the scratch folder; pages of the manual are not looked for.
        sed -E "s|^(ExecStart=\|ExecReload=)$1|\1$root$1|; /^Documentation=/d" "$root$unit" >"$root/mayfly.service"
        ok "$1: systemd reads the unit" same "$(systemd-analyze verify --man=no "$root/mayfly.service" 2>&1 | grep -F mayfly.service)" ""
        ok "$1: systemd calls it safe" exposed_less "$root/mayfly.service" 20
        rm -f "$root/mayfly.service"
    fi
    echo "# mine" >"$root$2/mayfly/mayfly.conf"
    ok "$1: install again" make_at install "${at[@]}"
    ok "$1: a changed file is not touched by install" same "$(cat "$root$2/mayfly/mayfly.conf")" "# mine"
    ok "$1: uninstall" make_at uninstall "${at[@]}"
    ok "$1: uninstall leaves the changed file alone" same "$(find "$root" -type f)" "$root$2/mayfly/mayfly.conf"
    rm -rf "${root:?}"/*
    ok "$1: install once more" make_at install "${at[@]}"
    ok "$1: uninstall once more" make_at uninstall "${at[@]}"
    ok "$1: nothing is left" same "$(find "$root" -not -type d)$(find "$root" -name '*mayfly*')" ""
    rm -rf "${root:?}"/*
}
completes() {
    bash -c '. "$1"; COMP_LINE="mayfly kv "; COMP_POINT=${#COMP_LINE}; _mayfly; printf "%s\n" "${COMPREPLY[@]}"' - "$1" | grep -qx put
}
# unit_says UNIT: the lines by which systemd knows when the server is ready, alive, reloaded, and whose its files are.
unit_says() {
    local line
    for line in Type=notify NotifyAccess=main TimeoutStartSec=infinity 'WatchdogSec=[0-9]+' 'ExecReload=.*/mayflyd -t -c .*' \
        'ExecReload=/bin/kill -HUP \$MAINPID' UMask=0077 NoNewPrivileges=yes ProtectSystem=strict ProtectHome=yes; do
        grep -qxE "$line" "$1" || { echo "no $line"; return 1; }
    done
}
# exposed_less UNIT N: systemd's measure of what an attacker could do, in tenths.
exposed_less() {
    systemd-analyze security --offline=true --threshold="$2" "$1"
}

try /opt/m /opt/m/etc /opt/m/var
try /usr /etc /var

# A scratch folder with blanks, as on a foreign disk.
mkdir "$root/with a blank"
ok "DESTDIR with blanks: install" make_at install "DESTDIR=$root/with a blank"
ok "DESTDIR with blanks: everything is there" test -x "$root/with a blank$prefix/sbin/mayflyd" -a -s "$root/with a blank$prefix/etc/mayfly/mayfly.conf"
ok "DESTDIR with blanks: uninstall" make_at uninstall "DESTDIR=$root/with a blank"
ok "DESTDIR with blanks: nothing is left" same "$(find "$root" -type f)" ""
# A prefix with blanks would give a unit that systemd cannot read.
mkdir "$root/b"
ok "a prefix with blanks is refused" refused "--prefix=$root/a b"
tell_checks
