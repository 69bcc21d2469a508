#!/bin/bash
# stall.sh [--table] [--minutes=M] [ATTACK...]: how long a client's PING waits while another client sends one large request.
# Called by `./dev bench stall`.  ATTACK: names that begin so; without any: all of bench/stall_attacks.mjs.
set -eu
cd "$(dirname "$0")/.."
MAYFLYD=${MAYFLYD:-build/mayflyd} exec node bench/stall.mjs "$@"
