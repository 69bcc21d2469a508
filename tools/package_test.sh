#!/bin/bash
# package_test.sh PACKAGE.deb: with the packages of the library beside it; installs the package into a scratch root, starts the server from it, upgrades,
# removes and purges it.  The root is made of copies of installed packages: no network, no mounts; it needs root.
# Ends with `N passed, N failed`.
set -u
deb=$(realpath "${1:?usage: tools/package_test.sh PACKAGE.deb}")
root=$(mktemp -d)
# shellcheck source=tools/checks.sh
. "$(dirname "$0")/checks.sh"
pid=
ports='' nats='' http=''
end() {
    [ -z "$pid" ] || kill "$pid" 2>/dev/null
    rm -rf "$root" "$root.library" "$root.purge" "$root.newer" "$root.newer.deb"
    end_checks
}
trap end EXIT
export LC_ALL=C

# --- a root with what every Debian system has, and what the package depends on --------------------------

# The installed packages that PACKAGE... need, and they themselves; of alternatives the first that is there.
closure() {
    local todo="$*" seen=' ' p dep alt
    while [ -n "${todo// /}" ]; do
        read -r p todo <<<"$todo"
        [[ $seen != *" $p "* ]] || continue
        seen+="$p "
        while read -r dep; do
            for alt in ${dep//|/ }; do
                dpkg-query -W -f='${db:Status-Status}' "$alt" 2>/dev/null | grep -qx installed || continue
                todo+=" $alt"
                break
            done
        done < <(dpkg-query -W -f='${Pre-Depends},${Depends}\n' "$p" | sed -E 's/\([^)]*\)//g; s/:any//g' | tr ',' '\n')
    done
    printf '%s' "$seen"
}

make_root() {
    local p packages depends
    depends=$(dpkg-deb -f "$deb" Depends Pre-Depends | sed -E 's/^[A-Za-z-]+://; s/\([^)]*\)//g; s/[,|]/ /g')
    # shellcheck disable=SC2086
    packages=$(closure base-files base-passwd dash coreutils sed grep libc-bin perl-base init-system-helpers login $depends)
    mkdir -p "$root"/usr/{bin,sbin,lib,lib64} "$root"/var/lib/dpkg/{info,updates,triggers} "$root"/{etc,dev,tmp,run,proc}
    for p in bin sbin lib lib64; do ln -s "usr/$p" "$root/$p"; done
    # shellcheck disable=SC2086
    dpkg -L $packages | sort -u | while read -r p; do [ -d "$p" ] && [ ! -L "$p" ] || echo ".$p"; done |
        grep -vE '^\./(usr/share/(doc|man|locale|info|zoneinfo)|usr/lib/[^/]*/gconv)/|^\.$' |
        tar -C / -cf - --no-recursion --ignore-failed-read -T - 2>/dev/null |
        tar -C "$root" -xf - --keep-directory-symlink
    # shellcheck disable=SC2086
    dpkg -s $packages >"$root/var/lib/dpkg/status"
    for p in $packages; do cp "/var/lib/dpkg/info/$p"{,:*}.list "$root/var/lib/dpkg/info/" 2>/dev/null; done
    touch "$root/var/lib/dpkg/available" "$root"/etc/{shadow,gshadow}
    cp -a /etc/pam.d "$root/etc/" # made by their packages' scripts, so no package lists them
    cp "$root/usr/share/base-passwd/passwd.master" "$root/etc/passwd"
    cp "$root/usr/share/base-passwd/group.master" "$root/etc/group"
    mknod -m 666 "$root/dev/null" c 1 3 2>/dev/null || install -m 666 /dev/null "$root/dev/null"
    chmod 755 "$root"
    chmod 1777 "$root/tmp"
}
in_root() { chroot "$root" "$@"; }
dpkg_root() { dpkg --root="$root" --force-unsafe-io "$@" </dev/null; }
state_of() { dpkg-query --admindir="$root/var/lib/dpkg" -W -f='${db:Status-Status}' mayfly 2>/dev/null; }
mode_of() { in_root stat -c '%a %U:%G' "$1"; }

# --- the server, as the unit would start it, on free ports -----------------------------------------------

field() { sed -n "s/.*\"$1\":\[\"\([^\"]*\)\"\].*/\1/p" "$root$ports"; }
server_start() {
    local command
    command=$(sed -n 's/^ExecStart=//p' "$root/lib/systemd/system/mayfly.service")
    # shellcheck disable=SC2086
    chroot --userspec=mayfly:mayfly "$root" $command -p -1 -m -1 --ports_file_dir /var/lib/mayfly >"$root/tmp/log" 2>&1 &
    pid=$!
    ports=/var/lib/mayfly/mayflyd_$pid.ports
    wait_for test -s "$root$ports" || { cat "$root/tmp/log"; return 1; }
    nats=$(field nats)
    http=$(field monitoring)
}
server_stop() {
    local rc
    kill -TERM "$pid" && wait "$pid"
    rc=$?
    pid=
    return $rc
}
# A stream with one message, by hand.
heard() { # TEXT: a line with it arrives
    local line
    while read -rt 20 line <&3; do [[ $line != *"$1"* ]] || return 0; done
    return 1
}
store_message() {
    local config='{"name":"S","subjects":["s"]}'
    exec 3<>"/dev/tcp/127.0.0.1/${nats##*:}"
    printf 'CONNECT {"verbose":false}\r\nSUB in 1\r\nPUB $JS.API.STREAM.CREATE.S in %d\r\n%s\r\n' ${#config} "$config" >&3
    heard 'stream_create_response' || return 1
    printf 'PUB s in 5\r\nhello\r\n' >&3
    heard '"seq":1' || return 1
    exec 3>&-
}

# newer: the same package with a higher version, another default configuration and another manual page.
newer() {
    local tree="$root.newer"
    dpkg-deb -R "$deb" "$tree" && sed -i 's/^Version: .*/&+newer/' "$tree/DEBIAN/control" &&
        sed -i '1s/.*/# a newer default/' "$tree/etc/mayfly/mayfly.conf" && rm -f "$tree/DEBIAN/md5sums" &&
        dpkg-deb --root-owner-group -b "$tree" "$root.newer.deb"
}
purge_aloud() { dpkg_root -P mayfly >"$root.purge" && grep -q 'deleting the streams in /var/lib/mayfly' "$root.purge"; }
version_of() { dpkg-query --admindir="$root/var/lib/dpkg" -W -f='${Version}' mayfly; }
holds() { dpkg-deb --fsys-tarfile "$deb" | tar -tf - | grep -qxF "./$1" || { echo "$1 is not in the package"; return 1; }; }

make_root
ok "install" dpkg_root -i "$deb"
ok "it is installed" same "$(state_of)" installed
ok "its user exists" in_root getent passwd mayfly
ok "the configuration is the administrator's (conffiles)" same "$(dpkg-deb -I "$deb" conffiles)" "/etc/mayfly/mayfly.conf
/etc/mayfly/ttl-patterns.conf"
ok "completion of bash" holds usr/share/bash-completion/completions/mayfly
ok "completion of zsh" holds usr/share/zsh/vendor-completions/_mayfly
ok "removing stops the unit first" grep -qE 'deb-systemd-invoke stop .*mayfly.service' "$root/var/lib/dpkg/info/mayfly.prerm"
ok "upgrading restarts the unit" grep -qE '_dh_action=restart' "$root/var/lib/dpkg/info/mayfly.postinst"
ok "the configuration is for the administrator and the server" same "$(mode_of /etc/mayfly/mayfly.conf)" "640 root:mayfly"
ok "the state is the server's alone" same "$(mode_of /var/lib/mayfly)" "700 mayfly:mayfly"
ok "the unit is enabled" test -L "$root/etc/systemd/system/multi-user.target.wants/mayfly.service"
ok "manual pages" test -f "$root/usr/share/man/man8/mayflyd.8.gz" -a -f "$root/usr/share/man/man1/mayfly.1.gz"
ok "copyright and changelog" test -f "$root/usr/share/doc/mayfly/copyright" -a -f "$root/usr/share/doc/mayfly/changelog.Debian.gz"
# pages_linked: README.md and the pages for users are there as text, and their links below docs/ lead somewhere.
pages_linked() {
    local dir="$root/usr/share/doc/mayfly" page to bad=0
    cd "$dir" || return 1
    for page in README.md docs/README.md docs/install.md docs/tutorial.md docs/howto/*.md docs/understanding/*.md; do
        while read -r to; do
            # Those out of docs/ are for developers, and the configuration, which is in /etc/mayfly.
            [[ $page == README.md && $to != docs/* || $page == docs/README.md && $to == ../* ]] && continue
            [ -e "$(dirname "$page")/$to" ] || { echo "$page: no $to"; bad=1; }
        done < <(grep -oE '\]\([^)#:]+|src="[^":]+' "$page" | sed -E 's/^(\]\(|src=")//')
    done
    [ -s docs/howto/tls.md ] && [ $bad -eq 0 ]
}
ok "the pages, with links that work" eval '(pages_linked)'
ok "clients connect on 127.0.0.1:4222" grep -qx 'listen: "127.0.0.1:4222"' "$root/etc/mayfly/mayfly.conf"
ok "pages are on 127.0.0.1:8222" grep -qx 'http: "127.0.0.1:8222"' "$root/etc/mayfly/mayfly.conf"
ok "streams are in /var/lib/mayfly" grep -qx '    store_dir: "/var/lib/mayfly"' "$root/etc/mayfly/mayfly.conf"
ok "the tool says its version" in_root mayfly --version
ok "the server starts" server_start
ok "it is well, says the tool" in_root mayfly server check "$http"
ok "it keeps a message" store_message
ok "the message is below /var/lib/mayfly" test -d "$root/var/lib/mayfly/jetstream"
ok "a newer package can be made" newer
# As apt would: the new default where nobody changed the file.
ok "upgrade while it runs" dpkg_root --force-confdef --force-confold -i "$root.newer.deb"
ok "it is the newer one" same "$(version_of)" "$(dpkg-deb -f "$deb" Version)+newer"
ok "upgrade brings the new default" grep -qx '# a newer default' "$root/etc/mayfly/mayfly.conf"
ok "upgrade keeps owner and mode of the configuration" same "$(mode_of /etc/mayfly/mayfly.conf)" "640 root:mayfly"
ok "upgrade keeps the state" same "$(mode_of /var/lib/mayfly)" "700 mayfly:mayfly"
ok "the old server still answers" in_root mayfly server check "$http"
ok "the server stops" server_stop
echo 'server_name: mine' >>"$root/etc/mayfly/mayfly.conf"
ok "back to the older one" dpkg_root --force-confdef --force-confold -i "$deb"
ok "an upgrade keeps the changed configuration" grep -qx 'server_name: mine' "$root/etc/mayfly/mayfly.conf"
ok "the server starts after both" server_start
ok "remove while it runs" dpkg_root -r mayfly
ok "a server whose files are gone ends in good order" server_stop
ok "the programs are gone" not test -e "$root/usr/sbin/mayflyd" -o -e "$root/usr/bin/mayfly"
ok "remove keeps the streams" test -d "$root/var/lib/mayfly/jetstream"
ok "remove keeps the configuration" grep -qx 'server_name: mine' "$root/etc/mayfly/mayfly.conf"
ok "install again" dpkg_root -i "$deb"
ok "the changed configuration is kept" grep -qx 'server_name: mine' "$root/etc/mayfly/mayfly.conf"
ok "the server starts again" server_start
ok "the log tells of the stream" grep -qE 'Recovered 1 stream\b.* 1 message\b' "$root/tmp/log"
ok "the server stops again" server_stop
ok "purge, which says that it deletes streams" purge_aloud
ok "purge deletes streams and configuration" same "$(find "$root" -name '*mayfly*' -not -path "$root/var/lib/dpkg/*")" ""

# --- the library, from its two packages, which stand beside the first ------------------------------------

library="$root.library"
library_unpacked() {
    local d
    for d in "$(dirname "$deb")"/libmayfly{0,-dev}_*.deb; do dpkg-deb -x "$d" "$library" || return 1; done
}
lib_of() { find "$library/usr/lib" -name "$1" | head -n 1; }
# The shared library is in the first package alone, what one needs to build in the second.
library_parted() {
    dpkg-deb -c "$(dirname "$deb")"/libmayfly0_*.deb | grep -q 'libmayfly\.so\.0 ' &&
        ! dpkg-deb -c "$(dirname "$deb")"/libmayfly0_*.deb | grep -qE 'include|libmayfly\.a|libmayfly\.so ' &&
        ! dpkg-deb -c "$deb" | grep -qE 'libmayfly|mayfly\.h|mayfly\.pc'
}
library_runs() {
    local pc
    pc=$(dirname "$(lib_of mayfly.pc)")
    # shellcheck disable=SC2046
    PKG_CONFIG_PATH="$pc" PKG_CONFIG_SYSROOT_DIR="$library" cc -o "$library/sessions" \
        "$library/usr/share/doc/libmayfly-dev/examples/sessions.c" \
        $(PKG_CONFIG_PATH="$pc" PKG_CONFIG_SYSROOT_DIR="$library" pkg-config --cflags --libs mayfly) &&
        same "$(LD_LIBRARY_PATH=$(dirname "$(lib_of libmayfly.so.0)") timeout 60 "$library/sessions" "$library/data" | tail -n 1)" "the session of alice has expired"
}
ok "libmayfly0 and libmayfly-dev unpack" library_unpacked
ok "each file is in one package" library_parted
ok "libmayfly-dev needs the same version" grep -qF "libmayfly0 (= $(dpkg-deb -f "$deb" Version))" <(dpkg-deb -f "$(dirname "$deb")"/libmayfly-dev_*.deb Depends)
ok "an example is built with them and runs" library_runs
if command -v lintian >/dev/null; then
    ok "lintian finds no error" lintian --allow-root --fail-on error --no-tag-display-limit "$deb"
fi
tell_checks
