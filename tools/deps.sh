# deps.sh: brings what building and testing need, and nothing when it is already there.
# Sourced by ./dev; works on Debian 12 with only Debian's and npm's packages within reach.
# shellcheck shell=bash

MF_CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/mayfly"

BUILD_PACKAGES="gcc libc6-dev make autoconf automake pkg-config libuv1-dev libjansson-dev libssl-dev
    libsodium-dev libwslay-dev zlib1g-dev libcrypt-dev libxxhash-dev libnats-dev"
TEST_PACKAGES="clang clang-format clang-tidy libclang-rt-14-dev openssl ca-certificates zsh bash-completion man-db iproute2 bsdutils"

# The same for other systems: commands, and libraries by their pkg-config names.
BUILD_COMMANDS="cc make autoconf automake pkg-config"
BUILD_LIBRARIES="libuv>=1.44 jansson>=2.14 openssl>=3.0 libsodium>=1.0.18 zlib libcrypt libxxhash libnats"

have_apt() { command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; }

# What is missing of them; wslay has no pkg-config file.
missing_libraries() {
    local x
    for x in $BUILD_COMMANDS; do command -v "$x" >/dev/null || printf '%s ' "$x"; done
    for x in $BUILD_LIBRARIES; do
        pkg-config --exists "${x/>=/ >= }" 2>/dev/null || printf '%s ' "$x"
    done
    echo '#include <wslay/wslay.h>' | ${CC:-cc} -E -o /dev/null - 2>/dev/null || printf 'wslay '
}

# Not a Debian system: goes on if everything is there.
deps_other() {
    local missing
    missing=$(missing_libraries)
    [ -z "$missing" ] || die "this system has no apt-get, so nothing is installed for you.  Missing: $missing
Install these with their headers, then try again:
    commands:                        $BUILD_COMMANDS
    libraries (names of pkg-config): $BUILD_LIBRARIES
    library without such a name:     wslay (wslay/wslay.h, libwslay)"
}

# Packages of a list that dpkg does not know as installed.
missing_packages() {
    local have p
    have=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null)
    for p in "$@"; do
        grep -qxF "$p installed" <<<"$have" || printf '%s ' "$p"
    done
}

# apt_install PACKAGE...: as root, else through sudo, else says what to type.
apt_install() {
    local cmd=(env DEBIAN_FRONTEND=noninteractive apt-get)
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            die "these Debian packages are missing; as root, run:
    apt-get update && apt-get install -y --no-install-recommends $*"
        fi
        say "installing with sudo: apt-get install -y --no-install-recommends $*"
        cmd=(sudo "${cmd[@]}")
    fi
    say "installing: $*"
    logged apt-update "${cmd[@]}" -q update || say "apt-get update failed; trying with the lists at hand"
    logged apt-install "${cmd[@]}" -q -y --no-install-recommends install "$@" ||
        die "apt-get install failed: $LOGS/apt-install.log"
}

deps_build() {
    local missing
    have_apt || {
        deps_other
        return
    }
    # shellcheck disable=SC2086
    missing=$(missing_packages $BUILD_PACKAGES)
    # shellcheck disable=SC2086
    [ -z "$missing" ] || apt_install $missing
}

deps_test() {
    local missing
    have_apt || die "the tests need Debian 12: their tools come from its packages; ./dev build and ./dev run work without"
    # shellcheck disable=SC2086
    missing=$(missing_packages $BUILD_PACKAGES $TEST_PACKAGES)
    # Any node with npm will do, whoever packaged it; the same for a browser.
    command -v node >/dev/null || missing+="nodejs "
    command -v npm >/dev/null || missing+="npm "
    command -v chromium >/dev/null || missing+="chromium "
    # shellcheck disable=SC2086
    [ -z "$missing" ] || apt_install $missing
    deps_unity
    deps_nats_server
    deps_promtool
    deps_npm
}

# --- packages of a later Debian, unpacked in our cache and never installed -----------------------

# suite_sources SUITE FILE: this machine's own Debian source with the suite renamed.
suite_sources() {
    local uri signed
    uri=$(awk '/^URIs:/ && $2 !~ /security/ { print $2; exit }
               /^deb / && $0 !~ /security/ { for (i = 2; i <= NF; i++) if ($i ~ /:\/\//) { print $i; exit } }' \
        /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list \
        /etc/apt/sources.list.d/*.list 2>/dev/null | head -n 1)
    [ -n "$uri" ] || die "no Debian source found under /etc/apt"
    signed=/usr/share/keyrings/debian-archive-keyring.gpg
    printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' \
        "$uri" "$1" "$signed" >"$2"
}

# suite_download SUITE PACKAGE DIR: unpacks the package's files below DIR.
suite_download() {
    local suite=$1 package=$2 dir=$3 apt="$MF_CACHE/apt-$1" opts
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$dir"
    suite_sources "$suite" "$apt/debian.sources"
    # The system's own sources and lists stay untouched and unread.  Signatures are checked; the age
    # of the list is not, because mirrors of a moving suite may lag.
    opts=(-q -o "Dir::Etc::sourcelist=$apt/debian.sources" -o Dir::Etc::sourceparts=/dev/null
        -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root
        -o Acquire::Languages=none
        -o Acquire::Check-Valid-Until=false)
    say "fetching $package from Debian's $suite"
    logged "apt-$suite" apt-get "${opts[@]}" update || return 1
    (cd "$dir" && logged "apt-$suite-$package" apt-get "${opts[@]}" download "$package" &&
        dpkg-deb -x "$package"_*.deb . && rm -f "$package"_*.deb) || return 1
    rm -rf "$apt" # lists are tens of megabytes and of no further use
}

# Debian 12 has no Unity of its own; Debian 13's cmock carries it.
UNITY_DIR="$MF_CACHE/unity/usr/share/cmock/vendor/unity/src"
deps_unity() {
    [ -f "$UNITY_DIR/unity.c" ] && return
    suite_download trixie cmock "$MF_CACHE/unity" && [ -f "$UNITY_DIR/unity.c" ] ||
        die "Unity could not be fetched (Debian 13's package cmock); see $LOGS"
}

# The server we compare with.  NATS_SERVER names another one.
NATS_SERVER="${NATS_SERVER:-$MF_CACHE/nats-server/usr/sbin/nats-server}"
deps_nats_server() {
    [ -x "$NATS_SERVER" ] && return
    suite_download forky nats-server "$MF_CACHE/nats-server" && [ -x "$NATS_SERVER" ] ||
        die "nats-server could not be fetched (Debian forky); NATS_SERVER=path uses your own; see $LOGS"
    case "$("$NATS_SERVER" -v)" in
    *v2.15.*) ;;
    *) say "note: $("$NATS_SERVER" -v), the facts were taken from 2.15.1" ;;
    esac
}

# What tests the alert rules.  Debian's package prometheus would start a server; only this program of
# it is unpacked.  PROMTOOL names another one.
PROMTOOL="${PROMTOOL:-$(command -v promtool || echo "$MF_CACHE/prometheus/usr/bin/promtool")}"
deps_promtool() {
    local dir="$MF_CACHE/prometheus"
    [ -x "$PROMTOOL" ] && return
    suite_download bookworm prometheus "$dir.new" && [ -x "$dir.new/usr/bin/promtool" ] ||
        die "promtool could not be fetched (Debian 12's package prometheus); PROMTOOL=path uses your own; see $LOGS"
    mkdir -p "$dir/usr/bin" && mv "$dir.new/usr/bin/promtool" "$dir/usr/bin/"
    rm -rf "$dir.new"
}

deps_node() { command -v node >/dev/null || apt_install nodejs; }

# What the bench also compares with.  redis-tools holds the server's binary under another name, and
# starts no service.  REDIS_SERVER names another one.
REDIS_SERVER="${REDIS_SERVER:-$(command -v redis-server || echo /usr/bin/redis-check-rdb)}"
deps_redis() {
    [ -x "$REDIS_SERVER" ] || apt_install redis-tools
    [ -x "$REDIS_SERVER" ] || die "no $REDIS_SERVER; REDIS_SERVER=path uses your own"
}

deps_npm() {
    local dir="$TOP/test/interop" key
    key=$(sha256sum <"$dir/package-lock.json")
    [ "$(cat "$dir/node_modules/.mayfly-stamp" 2>/dev/null)" = "$key" ] && return
    say "installing npm packages for test/interop"
    (cd "$dir" && logged npm npm ci --prefer-offline --no-audit --no-fund --loglevel=error) ||
        die "npm ci failed: $LOGS/npm.log"
    printf '%s\n' "$key" >"$dir/node_modules/.mayfly-stamp"
}
