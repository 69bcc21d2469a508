# Load generators; built by `./dev bench`, not installed.
EXTRA_PROGRAMS += bench/bench_core
bench_bench_core_SOURCES = bench/bench_core.c bench/load.c bench/load.h bench/proc.c bench/proc.h
CLEANFILES += bench/bench_core
EXTRA_DIST += bench/core.sh

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
EXTRA_DIST += bench/store.sh
# make bench/bench_stream
EXTRA_PROGRAMS += bench/bench_stream
bench_bench_stream_SOURCES = bench/bench_stream.c bench/js_expiry.c bench/js_expiry.h bench/js_load.c \
	bench/js_load.h bench/js_report.c bench/js_report.h bench/js_wire.c bench/js_wire.h bench/proc.c \
	bench/proc.h
CLEANFILES += bench/bench_stream
EXTRA_DIST += bench/stream.sh
# make bench/bench_consume
EXTRA_PROGRAMS += bench/bench_consume
bench_bench_consume_SOURCES = bench/bench_consume.c bench/js_consume.c bench/js_consume.h bench/js_load.c \
	bench/js_load.h bench/js_report.h bench/js_server.c bench/js_server.h bench/js_wire.c \
	bench/js_wire.h bench/proc.c bench/proc.h
CLEANFILES += bench/bench_consume
EXTRA_DIST += bench/consume.sh
