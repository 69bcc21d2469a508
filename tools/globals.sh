#!/bin/bash
# globals.sh BUILD: data of the process that libmayfly can change: every server in a process would share it.
#
# Looks at the writable data of all archives below BUILD/src but those of the tool (src/cli).  Each symbol must stand in
# tools/globals.txt with its reason; an entry there without a symbol is an error too.  BUILD: a build without
# AddressSanitizer and gcov, which have data of their own.
set -u -o pipefail
export LC_ALL=C
build=${1:?usage: tools/globals.sh BUILD}
top=$(cd "$(dirname "$0")/.." && pwd)
archives=$(find "$build/src" -name '*.a' -not -path '*/cli/*' | sort)
[ -n "$archives" ] || {
    echo "globals: $build has no archives"
    exit 1
}
# Constants that need relocation are in .data.rel.ro: not writable in a program.
# shellcheck disable=SC2086
found=$(objdump -t $archives | awk '
    /file format/ { file = $1; sub(/:$/, "", file); sub(/^lib[a-z]*_a-/, "", file); sub(/\.o$/, ".c", file) }
    { for (i = 2; i < NF; i++)
          if ($i ~ /^\.(t?data|t?bss|lbss|ldata)(\.|$)/ && $i !~ /^\.data\.rel\.ro/ && $NF !~ /^\./) {
              name = $NF; sub(/\.[0-9]+$/, "", name); sub(/^.*\./, "", name); print file, name; break
          } else if ($i == "*COM*") { print file, $NF; break } }' | sort -u)
known=$(sed -e 's/#.*//' "$top/tools/globals.txt" | awk 'NF { print $1, $2 }' | sort -u)
rc=0
while read -r line; do
    [ -n "$line" ] || continue
    echo "globals: $line belongs to the process and can be changed: give it to the server, or add a reason to tools/globals.txt"
    rc=1
done < <(comm -23 <(printf '%s\n' "$found") <(printf '%s\n' "$known"))
while read -r line; do
    [ -n "$line" ] || continue
    echo "globals: tools/globals.txt names $line, which is no more"
    rc=1
done < <(comm -13 <(printf '%s\n' "$found") <(printf '%s\n' "$known"))
[ $rc -ne 0 ] || echo "globals: $(printf '%s\n' "$found" | grep -c .) symbols, each with a reason"
exit $rc
