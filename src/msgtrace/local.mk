# msgtrace: the trace of one message.
noinst_LIBRARIES += %D%/libmsgtrace.a
%C%_libmsgtrace_a_SOURCES = %D%/msgtrace.c %D%/msgtrace.h %D%/msgtrace_header.c %D%/msgtrace_impl.h
%C%_libmsgtrace_a_CPPFLAGS = $(AM_CPPFLAGS)

MSGTRACE_LIBS = %D%/libmsgtrace.a $(PROTO_LIBS) $(CODEC_LIBS)

UNIT_TESTS += test/unit/msgtrace/msgtrace
test_unit_msgtrace_msgtrace_SOURCES = test/unit/msgtrace/test_msgtrace.c
test_unit_msgtrace_msgtrace_LDADD = $(MSGTRACE_LIBS) $(UNITY_LIBS)
test_unit_msgtrace_msgtrace_CPPFLAGS = $(TEST_CPPFLAGS)
