# Load generators; built by `./dev bench`, not installed.
EXTRA_PROGRAMS += bench/bench_matrix
bench_bench_matrix_SOURCES = bench/js_consume.c bench/js_consume.h bench/js_expiry.c bench/js_expiry.h \
	bench/js_load.c bench/js_load.h bench/js_other.c bench/js_other.h bench/js_server.c bench/js_server.h \
	bench/js_watched.c bench/js_watched.h bench/js_watcher.c bench/js_watcher.h bench/js_wire.c bench/js_wire.h bench/load.c bench/load.h bench/matrix.c bench/matrix.h \
	bench/part_consume.c bench/part_core.c bench/part_crash.c bench/part_ends.c bench/part_expiry.c \
	bench/part_policy.c bench/part_publish.c bench/part_ttl.c bench/proc.c bench/proc.h
CLEANFILES += bench/bench_matrix
EXTRA_DIST += bench/matrix.sh bench/plots.mjs bench/report.mjs bench/rows.mjs bench/smoke.sh

# make bench/bench_wheel
EXTRA_PROGRAMS += bench/bench_wheel
bench_bench_wheel_SOURCES = bench/bench_wheel.c
bench_bench_wheel_LDADD = $(TTL_LIBS)
CLEANFILES += bench/bench_wheel
# make bench/bench_index
EXTRA_PROGRAMS += bench/bench_index
bench_bench_index_SOURCES = bench/bench_index.c
bench_bench_index_LDADD = $(STORE_LIBS)
CLEANFILES += bench/bench_index
# make bench/bench_store
EXTRA_PROGRAMS += bench/bench_store
bench_bench_store_SOURCES = bench/bench_store.c
bench_bench_store_LDADD = $(STORE_LIBS)
CLEANFILES += bench/bench_store
EXTRA_DIST += bench/instructions.sh bench/instructions.mjs
EXTRA_DIST += bench/store.sh bench/watchers.sh bench/watchers.mjs bench/stall.sh bench/stall.mjs bench/stall_attacks.mjs \
	bench/stall_api.mjs bench/stall_state.mjs
