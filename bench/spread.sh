#!/bin/bash
# spread.sh [--leafs=10,100,1000] [--subjects=N]: what many leaf servers on one hub cost it.  Called by `./dev bench spread`.
set -eu
cd "$(dirname "$0")/.."
exec node bench/spread.mjs "$@"
