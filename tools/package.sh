# package.sh: `./dev package`: the Debian package, built from the tarball of this tree.  Sourced by ./dev.
# shellcheck shell=bash

PACKAGE_PACKAGES="debhelper dpkg-dev fakeroot"
PACKAGES="$STATE/package"

deps_package() {
    local missing
    command -v apt-get >/dev/null || die "package: Debian's tools are needed: dpkg-buildpackage, debhelper"
    # shellcheck disable=SC2086
    missing=$(missing_packages $BUILD_PACKAGES $PACKAGE_PACKAGES)
    # shellcheck disable=SC2086
    [ -z "$missing" ] || apt_install $missing
}

# package_build DIR OPTION...: makes $PACKAGES/mayfly_VERSION_ARCH.deb from the tarball of a configured build
# folder, with options of Debian's policy (noopt).  The folder of the sources has the same name each time, so that
# a compiler cache knows them.
package_build() {
    local dir=$1 tarball
    shift
    rm -rf "$PACKAGES"
    mkdir -p "$PACKAGES/source"
    make_in "$dir" dist-gzip || die "package: make dist failed: $LOGS/make-$dir.log"
    tarball=$(ls -t "$dir"/mayfly-*.tar.gz | head -n 1)
    tar -xzf "$tarball" -C "$PACKAGES/source" --strip-components=1
    say "dpkg-buildpackage: a minute or two; $LOGS/dpkg-buildpackage.log grows meanwhile"
    (cd "$PACKAGES/source" && export DEB_BUILD_OPTIONS="parallel=$JOBS nocheck $*" &&
        logged dpkg-buildpackage dpkg-buildpackage -us -uc -b) || {
        tail -n 20 "$LOGS/dpkg-buildpackage.log" >&2
        die "package: dpkg-buildpackage failed: $LOGS/dpkg-buildpackage.log"
    }
    rm -rf "$PACKAGES/source"
}

run_package() {
    local test=no arg
    for arg in "$@"; do
        case "$arg" in
        --test) test=yes ;;
        *) die "package: unknown argument $arg; there is --test" ;;
        esac
    done
    [ $test = no ] || [ "$(id -u)" -eq 0 ] || die "package --test: only root can change into a scratch root"
    deps_package
    configure_release
    package_build build
    if [ $test = yes ]; then
        tools/package_test.sh "$PACKAGES"/mayfly_*.deb || exit 1
    else
        ls "$PACKAGES"/*.deb
        say "install it with: apt-get install $(ls "$PACKAGES"/mayfly_*.deb)"
    fi
}
