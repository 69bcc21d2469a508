# proto: wire parser and writer, header block.
noinst_LIBRARIES += %D%/libproto.a
%C%_libproto_a_SOURCES = \
	%D%/proto.c %D%/header.c \
	%D%/proto.h %D%/header.h
%C%_libproto_a_CPPFLAGS = $(AM_CPPFLAGS)

PROTO_LIBS = %D%/libproto.a $(CODEC_LIBS)

UNIT_TESTS += test/unit/proto/proto test/unit/proto/header
test_unit_proto_proto_SOURCES = \
	test/unit/proto/test_proto.c \
	test/support/guard.c test/support/guard.h \
	test/support/proto_model.c test/support/proto_model.h
test_unit_proto_proto_LDADD = $(PROTO_LIBS) $(UNITY_LIBS)
test_unit_proto_proto_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_proto_header_SOURCES = test/unit/proto/test_header.c test/support/guard.c test/support/guard.h
test_unit_proto_header_LDADD = $(PROTO_LIBS) $(UNITY_LIBS)
test_unit_proto_header_CPPFLAGS = $(TEST_CPPFLAGS)

EXTRA_PROGRAMS += bench/bench_proto
bench_bench_proto_SOURCES = bench/bench_proto.c
bench_bench_proto_LDADD = $(PROTO_LIBS)

# The same rules as dialogs, for whole servers.
EXTRA_DIST += test/wire/surface.mjs test/wire/surface/keys.txt test/wire/surface/others.txt \
	test/wire/violations.mjs test/wire/violations.txt \
	test/wire/storm.mjs test/wire/storm/kit.mjs test/wire/storm/chaos.mjs test/wire/storm/crowds.mjs \
	test/wire/storm/lies.mjs test/wire/storm/signals.mjs test/wire/storm/slow.mjs \
	test/wire/storm/starts.mjs test/wire/storm/subs.mjs
