#!/bin/bash
# words.sh [--self-test]: language rules of the documents (CONTRIBUTING.md, Language).  Findings go to
# stdout as file:line: text; exit 1 when there are any.
#
# Checked in docs/, README.md, CONTRIBUTING.md, CHANGELOG.md and every README.md below src/ and test/:
#   - no sentence begins with "Who", "What", "That which"; questions and headings may
#   - nothing refers to what a reader does not have: facts/, ../shared, rows by number alone
#   - a relative link leads to a file
# In contract pages (docs/*.md) also: no dates.  Dates belong into docs/reports; examples in code blocks
# and inside backquotes may have them.  docs/reports is checked for links only: it quotes old runs.
set -u -o pipefail
cd "$(dirname "$0")/.." || exit 2
export LC_ALL=C

# plain FILE: its lines with numbers; code blocks, indented blocks and `code` are blanked.
plain() {
    awk '
        /^```/ { fence = !fence; print ""; next }
        fence || /^    / { print ""; next }
        { gsub(/`[^`]*`/, "x"); print }
    ' "$1"
}

# sentences FILE: the text of a paragraph is one line, so that a sentence may begin anywhere in a line.
begins() {
    plain "$1" | awk -v file="$1" '
        # A heading or a question is fine.  A sentence begins a paragraph, an item or a cell, or follows a full stop.
        /^#/ { prev = ""; next }
        {
            line = $0
            while (match(line, /(^|[.!?:][*]*  ?|^[-|*0-9. ]+|[|] )(Who|What|That which) /)) {
                start = RSTART; len = RLENGTH
                rest = substr(line, start + len)
                # Up to the end of the sentence: a question mark makes it a question.
                end = match(rest, /[.?!]/) ? substr(rest, RSTART, 1) : ""
                mid = start == 1 && line ~ /^(Who|What|That which) / && prev !~ /([.!?:|]|^)[*`_)]*$/
                if (end != "?" && !mid)
                    printf "%s:%d: a sentence begins with %s: %s\n", file, NR,
                           (match(substr(line, start, len), /Who|What|That which/) ? substr(line, start + RSTART - 1, RLENGTH) : ""),
                           substr(line, start, 70)
                line = rest
            }
            prev = $0
        }'
}

refers() {
    grep -nE '(^|[^a-z])facts/[a-z-]+\.md|\.\./shared|\b[Rr]ows? [0-9]+ to [0-9]+\b' "$1" |
        grep -vE 'rows? [0-9]+ to [0-9]+ of \[Publish\]|^[0-9]+:\| ' |
        sed "s|^|$1:|; s|\$|   <- a reader does not have this|"
}

dates() {
    plain "$1" | grep -nE '\b20[0-9]{2}-[01][0-9]-[0-3][0-9]\b|\b[0-3]?[0-9] (January|February|March|April|May|June|July|August|September|October|November|December)( 20[0-9]{2})?\b' |
        grep -vE '1970-01-01|2006-01-02' | sed "s|^|$1:|; s|\$|   <- a date: docs/reports is the place|"
}

links() {
    local dir target
    dir=$(dirname "$1")
    plain "$1" | grep -noE '\]\([^)# ]+' | sed 's/\](//' | while IFS=: read -r line target; do
        case $target in
        *://* | mailto:*) ;;
        *) [ -e "$dir/$target" ] || echo "$1:$line: no such file: $target" ;;
        esac
    done
}

check() {
    local f
    for f in "$@"; do
        links "$f"
        case $f in
        docs/reports/*) continue ;;
        esac
        begins "$f"
        refers "$f"
        case $f in
        docs/*.md) dates "$f" ;;
        esac
    done
}

self_test() {
    local t bad=0
    t=$(mktemp -d) || exit 2
    mkdir -p "$t/tools" "$t/docs"
    cp "$0" "$t/tools/words.sh" 2>/dev/null || cp tools/words.sh "$t/tools/words.sh"
    expect() { # expect NAME COUNT TEXT
        printf '%s\n' "$3" >"$t/docs/page.md"
        local n
        n=$(cd "$t" && tools/words.sh | grep -c .)
        if [ "$n" = "$2" ]; then echo "ok $1"; else
            echo "not ok $1: $n findings, $2 expected"
            bad=1
        fi
    }
    expect "plain text" 0 'A store is one directory.'
    expect "a sentence that begins with What" 1 'It is so. What is kept is told.'
    expect "a paragraph that begins with Who" 1 'Who asks is answered.'
    expect "a cell" 1 '| a | What is gone stays gone |'
    expect "a question" 0 'What is a deadline? A moment.'
    expect "a heading" 0 '## Who decides'
    expect "the middle of a sentence" 0 'The page says
What a line break cut off.'
    expect "code" 0 '    What is indented'
    expect "facts" 1 'See facts/streams.md, 1.2.'
    expect "rows by number" 1 'As in rows 1 to 15.'
    expect "a date" 1 'Measured on 2026-11-17.'
    expect "a date in code" 0 'As `2026-11-17T00:00:00Z`.'
    expect "a date in words" 1 'On 18 November it was so.'
    expect "a dead link" 1 'See [there](nowhere.md).'
    expect "a link" 0 'See [here](page.md#top).'
    rm -rf "$t"
    return $bad
}

if [ "${1:-}" = --self-test ]; then
    self_test
    exit
fi
# shellcheck disable=SC2046  # our file names hold no blanks
out=$(check $(find docs src test README.md CONTRIBUTING.md CHANGELOG.md -not -path '*/node_modules/*' \
    \( -path 'docs/*.md' -o -name README.md -o -name CONTRIBUTING.md -o -name CHANGELOG.md \) 2>/dev/null | sort -u))
[ -z "$out" ] || printf '%s\n' "$out"
[ -z "$out" ]
