# http: HTTP request heads (pure), for monitor and ws.
noinst_LIBRARIES += %D%/libhttp.a
%C%_libhttp_a_SOURCES = \
	%D%/http.c %D%/http_text.c \
	include/mayfly/http.h
%C%_libhttp_a_CPPFLAGS = $(AM_CPPFLAGS)

HTTP_LIBS = %D%/libhttp.a $(BASE_LIBS)

UNIT_TESTS += test/unit/http
test_unit_http_SOURCES = test/unit/test_http.c test/support/guard.c test/support/guard.h
test_unit_http_LDADD = $(HTTP_LIBS) $(UNITY_LIBS)
test_unit_http_CPPFLAGS = $(TEST_CPPFLAGS)
