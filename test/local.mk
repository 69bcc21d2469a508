# Tests: each unit test links only the archives its layer may see, listed in the folder's local.mk:
#
#     UNIT_TESTS += %D%/unit/router/router
#     test_unit_router_router_SOURCES = %D%/unit/router/test_router.c
#     test_unit_router_router_LDADD = $(ROUTER_LIBS) $(UNITY_LIBS)
#     test_unit_router_router_CPPFLAGS = $(TEST_CPPFLAGS)
TEST_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test -I$(UNITY_DIR)
UNITY_LIBS = %D%/libunity.a

if HAVE_UNITY
check_LIBRARIES += %D%/libunity.a
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
endif
test_libunity_a_SOURCES = %D%/support/unity_build.c
test_libunity_a_CPPFLAGS = -I$(UNITY_DIR)
test_libunity_a_CFLAGS = -O1

# Alert rules and dashboard of conf/, without a server.
EXTRA_DIST += test/README.md test/prometheus/run.mjs test/prometheus/metrics.txt
