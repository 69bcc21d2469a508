# Load generators; built by `./dev bench`, not installed.
EXTRA_PROGRAMS += bench/bench_core
bench_bench_core_SOURCES = bench/bench_core.c bench/load.c bench/load.h bench/proc.c bench/proc.h
CLEANFILES += bench/bench_core
EXTRA_DIST += bench/core.sh
