# loop: the one libuv loop: timers, worker jobs, posted calls, signals.
noinst_LIBRARIES += %D%/libloop.a
%C%_libloop_a_SOURCES = \
	%D%/loop.c %D%/timer.c %D%/signal.c %D%/post.c %D%/job.c %D%/spin.c %D%/work.c %D%/stall.c \
	%D%/loop_impl.h %D%/loop.h %D%/work.h
%C%_libloop_a_CPPFLAGS = $(AM_CPPFLAGS) $(UV_CFLAGS)

LOOP_LIBS = %D%/libloop.a $(CODEC_LIBS) $(UV_LIBS)

UNIT_TESTS += test/unit/loop/loop test/unit/loop/loop_defer test/unit/loop/loop_threads test/unit/loop/loop_spin test/unit/loop/work
test_unit_loop_loop_SOURCES = test/unit/loop/test_loop.c
test_unit_loop_loop_LDADD = $(LOOP_LIBS) $(UNITY_LIBS)
test_unit_loop_loop_CPPFLAGS = $(TEST_CPPFLAGS) $(UV_CFLAGS)
test_unit_loop_loop_defer_SOURCES = test/unit/loop/test_loop_defer.c
test_unit_loop_loop_defer_LDADD = $(LOOP_LIBS) $(UNITY_LIBS)
test_unit_loop_loop_defer_CPPFLAGS = $(TEST_CPPFLAGS) $(UV_CFLAGS)
test_unit_loop_loop_threads_SOURCES = test/unit/loop/test_loop_threads.c
test_unit_loop_loop_threads_LDADD = $(LOOP_LIBS) $(UNITY_LIBS)
test_unit_loop_loop_threads_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_loop_loop_spin_SOURCES = test/unit/loop/test_loop_spin.c
test_unit_loop_loop_spin_LDADD = $(LOOP_LIBS) $(UNITY_LIBS) -lpthread
test_unit_loop_loop_spin_CPPFLAGS = $(TEST_CPPFLAGS) $(UV_CFLAGS)
test_unit_loop_work_SOURCES = test/unit/loop/test_work.c
test_unit_loop_work_LDADD = $(LOOP_LIBS) $(UNITY_LIBS)
test_unit_loop_work_CPPFLAGS = $(TEST_CPPFLAGS)
