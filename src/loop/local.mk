# loop: the one libuv loop: timers, worker jobs, posted calls, signals.
noinst_LIBRARIES += %D%/libloop.a
%C%_libloop_a_SOURCES = \
	%D%/loop.c %D%/timer.c %D%/signal.c %D%/post.c %D%/job.c %D%/spin.c %D%/work.c %D%/stall.c \
	%D%/loop_impl.h include/mayfly/loop.h include/mayfly/work.h
%C%_libloop_a_CPPFLAGS = $(AM_CPPFLAGS) $(UV_CFLAGS)

LOOP_LIBS = %D%/libloop.a $(BASE_LIBS) $(UV_LIBS)

UNIT_TESTS += test/unit/loop test/unit/loop_defer test/unit/loop_threads test/unit/loop_spin test/unit/work
test_unit_loop_SOURCES = test/unit/test_loop.c
test_unit_loop_LDADD = $(LOOP_LIBS) $(UNITY_LIBS)
test_unit_loop_CPPFLAGS = $(TEST_CPPFLAGS) $(UV_CFLAGS)
test_unit_loop_defer_SOURCES = test/unit/test_loop_defer.c
test_unit_loop_defer_LDADD = $(LOOP_LIBS) $(UNITY_LIBS)
test_unit_loop_defer_CPPFLAGS = $(TEST_CPPFLAGS) $(UV_CFLAGS)
test_unit_loop_threads_SOURCES = test/unit/test_loop_threads.c
test_unit_loop_threads_LDADD = $(LOOP_LIBS) $(UNITY_LIBS)
test_unit_loop_threads_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_loop_spin_SOURCES = test/unit/test_loop_spin.c
test_unit_loop_spin_LDADD = $(LOOP_LIBS) $(UNITY_LIBS) -lpthread
test_unit_loop_spin_CPPFLAGS = $(TEST_CPPFLAGS) $(UV_CFLAGS)
test_unit_work_SOURCES = test/unit/test_work.c
test_unit_work_LDADD = $(LOOP_LIBS) $(UNITY_LIBS)
test_unit_work_CPPFLAGS = $(TEST_CPPFLAGS)
