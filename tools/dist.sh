#!/bin/bash
# dist.sh TARBALL: is every file that the documents name in the tarball, and each folder's README.md?  A name
# that is not in the tree either is reported too: the document is wrong then.  Names with <, * or { are patterns.
set -u
cd "$(dirname "$0")/.." || exit 2
tarball=${1:?usage: tools/dist.sh TARBALL}
packed=$(tar -tzf "$tarball" | sed 's|^[^/]*/||')
status=0

names() {
    local page dir
    # Paths in running text and in code, then links, relative to their page.
    while read -r page; do
        dir=$(dirname "$page")
        grep -ohE '(^|[^A-Za-z0-9_/.-])(src|include|test|docs|conf|tools|bench)/[A-Za-z0-9_.+/-]*[A-Za-z0-9]' "$page" | sed -E 's|^[^a-z]||'
        grep -ohE '\]\([A-Za-z0-9_./-]+\.(md|txt|conf|svg|png|yml|8|5|1)' "$page" | sed 's|^](||' |
            while read -r link; do realpath -ms --relative-to=. "$dir/$link"; done
    done < <(printf '%s\n' README.md CONTRIBUTING.md CHANGELOG.md test/README.md && find docs -name '*.md')
    find src test bench conf tools -name node_modules -prune -o -name README.md -print # docs/architecture.md: "its README.md"
    echo dev
}

while read -r name; do
    [ -d "$name" ] && continue
    [[ $name == *NAME* ]] && continue
    if [ ! -e "$name" ]; then
        [ -n "$(compgen -G "$name*")" ] && continue # the beginning of a pattern
        echo "not ok $name: named in the documents, not in the tree"
        status=1
    elif ! grep -qxF "$name" <<<"$packed"; then
        echo "not ok $name: named in the documents, not in the tarball"
        status=1
    fi
done < <(names | sort -u)
exit $status
