#!/bin/bash
# instructions.sh [BINARY...]: instructions of the server for one publish, by valgrind's callgrind; of the build, or of
# these binaries, each compared with the first.  Called by `./dev bench instructions`; minutes, not part of CI.
set -eu
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || { echo "instructions: valgrind is missing (Debian: apt install valgrind)" >&2; exit 1; }
MAYFLYD=${MAYFLYD:-build/mayflyd} exec node bench/instructions.mjs "$@"
