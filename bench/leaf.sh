#!/bin/bash
# leaf.sh [--rounds=N] [--rows=TEXT,..] [--messages=N] [--json=FILE]: leaf links between two mayflyds beside links between two
# nats-servers, in one run.  Called by `./dev bench leaf`.  Exit code 1: a row is below its bar.
set -eu
cd "$(dirname "$0")/.."
exec node bench/leaf.mjs "$@"
