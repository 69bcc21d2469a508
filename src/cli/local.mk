# cli: the operator's tool `mayfly`.
noinst_LIBRARIES += %D%/libcli.a
%C%_libcli_a_SOURCES = \
	%D%/http_get.c %D%/http_get.h %D%/server_check.c %D%/server_check.h
%C%_libcli_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)

CLI_LIBS = %D%/libcli.a $(BASE_LIBS) $(JANSSON_LIBS)

bin_PROGRAMS += mayfly
mayfly_SOURCES = %D%/mayfly.c
mayfly_CPPFLAGS = $(AM_CPPFLAGS) -DMAYFLY_VERSION='"$(PACKAGE_VERSION)"'
mayfly_LDADD = $(CLI_LIBS)

UNIT_TESTS += test/unit/http_get test/unit/server_check
test_unit_http_get_SOURCES = test/unit/test_http_get.c
test_unit_http_get_LDADD = $(CLI_LIBS) $(UNITY_LIBS)
test_unit_http_get_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_server_check_SOURCES = test/unit/test_server_check.c
test_unit_server_check_LDADD = $(CLI_LIBS) $(UNITY_LIBS)
test_unit_server_check_CPPFLAGS = $(TEST_CPPFLAGS)
