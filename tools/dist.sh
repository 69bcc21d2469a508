#!/bin/bash
# dist.sh TARBALL: is every file that the documents name in the tarball?  A name that is not in the
# tree either is reported too: the document is wrong then.  Names with <, * or { are patterns.
set -u
cd "$(dirname "$0")/.." || exit 2
tarball=${1:?usage: tools/dist.sh TARBALL}
packed=$(tar -tzf "$tarball" | sed 's|^[^/]*/||')
status=0

names() {
    # Paths in running text and in code; links relative to docs/ or to the top.
    grep -ohE '(^|[^A-Za-z0-9_/-])(src|include|test|docs|conf|tools|bench)/[A-Za-z0-9_.+/-]*[A-Za-z0-9]' README.md CONTRIBUTING.md docs/*.md docs/reports/*.md |
        sed -E 's|^[^a-z]||'
    grep -ohE '\]\([A-Za-z0-9_./-]+\.(md|txt|conf|svg|png|8|1)' docs/*.md | sed -E 's|^\]\(|docs/|; s|docs/\.\./||'
    grep -ohE '\]\([A-Za-z0-9_./-]+\.(md|txt|conf|svg|png|8|1)' README.md CONTRIBUTING.md | sed -E 's|^\]\(||'
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
