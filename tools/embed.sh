#!/bin/sh
# embed.sh FILE...: prints C source that holds the files, as the table of src/status/assets_impl.h.
# Needs only what POSIX has: od, sed, cksum.  The ETag of a file is its checksum and its length.
set -u
LC_ALL=C
export LC_ALL

type_of() {
    case $1 in
    *.html) echo "text/html; charset=utf-8" ;;
    *.css) echo "text/css; charset=utf-8" ;;
    *.js) echo "text/javascript; charset=utf-8" ;;
    *.svg) echo "image/svg+xml" ;;
    *)
        echo "embed.sh: no content type for $1" >&2
        exit 1
        ;;
    esac
}

echo "/* Made by tools/embed.sh: the files of the status page. */"
echo '#include "status/assets_impl.h"'
n=0
for file; do
    [ -r "$file" ] || {
        echo "embed.sh: cannot read $file" >&2
        exit 1
    }
    echo "static const unsigned char file_$n[] = {"
    od -An -v -tx1 "$file" | sed -e 's/[[:space:]]*\([0-9a-f][0-9a-f]\)/0x\1,/g'
    echo "};"
    n=$((n + 1))
done
echo "const struct asset assets[] = {"
n=0
for file; do
    type=$(type_of "$file") || exit 1
    tag=$(cksum <"$file" | sed -e 's/[[:space:]]/-/g')
    printf '    {"/assets/%s", "%s", "W/\\"%s\\"", file_%d, sizeof file_%d},\n' "${file##*/}" "$type" "$tag" $n $n
    n=$((n + 1))
done
echo "};"
echo "const size_t asset_count = sizeof assets / sizeof assets[0];"
