# Load generators; built by `./dev bench`, not installed.
EXTRA_PROGRAMS += %D%/bench_matrix
bench_bench_matrix_SOURCES = %D%/js_consume.c %D%/js_consume.h %D%/js_expiry.c %D%/js_expiry.h \
	%D%/js_load.c %D%/js_load.h %D%/js_pipe.c %D%/js_pipe.h %D%/js_other.c %D%/js_other.h %D%/js_server.c %D%/js_server.h \
	%D%/js_watched.c %D%/js_watched.h %D%/js_watcher.c %D%/js_watcher.h %D%/js_wire.c %D%/js_wire.h %D%/load.c %D%/load.h %D%/matrix.c %D%/matrix.h \
	%D%/part_consume.c %D%/part_core.c %D%/part_crash.c %D%/part_ends.c %D%/part_expiry.c \
	%D%/part_policy.c %D%/part_publish.c %D%/part_streams.c %D%/part_ttl.c %D%/part_wires.c %D%/proc.c %D%/proc.h
bench_bench_matrix_CPPFLAGS = $(AM_CPPFLAGS) $(OPENSSL_CFLAGS)
bench_bench_matrix_LDADD = $(OPENSSL_LIBS)
CLEANFILES += %D%/bench_matrix
EXTRA_DIST += %D%/matrix.sh %D%/plots.mjs %D%/report.mjs %D%/rows.mjs %D%/smoke.sh

# make %D%/bench_wheel
EXTRA_PROGRAMS += %D%/bench_wheel
bench_bench_wheel_SOURCES = %D%/bench_wheel.c
bench_bench_wheel_LDADD = $(WHEEL_LIBS)
CLEANFILES += %D%/bench_wheel
# make %D%/bench_index
EXTRA_PROGRAMS += %D%/bench_index
bench_bench_index_SOURCES = %D%/bench_index.c
bench_bench_index_LDADD = $(STORE_LIBS)
CLEANFILES += %D%/bench_index
# make %D%/bench_store
EXTRA_PROGRAMS += %D%/bench_store
bench_bench_store_SOURCES = %D%/bench_store.c
bench_bench_store_LDADD = $(STORE_LIBS)
CLEANFILES += %D%/bench_store
EXTRA_DIST += %D%/instructions.sh %D%/instructions.mjs
EXTRA_DIST += %D%/store.sh %D%/watchers.sh %D%/watchers.mjs %D%/stall.sh %D%/stall.mjs %D%/stall_attacks.mjs \
	%D%/stall_api.mjs %D%/stall_state.mjs %D%/stall_large.mjs
# make %D%/bench_embed: of ./dev bench embed
EXTRA_PROGRAMS += %D%/bench_embed
bench_bench_embed_SOURCES = %D%/bench_embed.c
bench_bench_embed_LDADD = $(MAYFLY_LIBS)
CLEANFILES += %D%/bench_embed
EXTRA_DIST += %D%/embed.sh %D%/encryption.mjs %D%/encryption.sh %D%/leaf.mjs %D%/leaf.sh %D%/spread.mjs %D%/spread.sh
# make %D%/bench_operator: of ./dev bench operator
EXTRA_PROGRAMS += %D%/bench_operator
bench_bench_operator_SOURCES = %D%/bench_operator.c
bench_bench_operator_CPPFLAGS = $(AM_CPPFLAGS) $(SODIUM_CFLAGS)
bench_bench_operator_LDADD = $(SODIUM_LIBS)
CLEANFILES += %D%/bench_operator
EXTRA_DIST += %D%/operator.mjs %D%/operator.sh
