# http: HTTP request heads (pure), for monitor and ws.
noinst_LIBRARIES += %D%/libhttp.a
%C%_libhttp_a_SOURCES = \
	%D%/http.c %D%/http_text.c \
	%D%/http.h
%C%_libhttp_a_CPPFLAGS = $(AM_CPPFLAGS)

HTTP_LIBS = %D%/libhttp.a $(CODEC_LIBS)

UNIT_TESTS += test/unit/http/http
test_unit_http_http_SOURCES = test/unit/http/test_http.c test/support/guard.c test/support/guard.h
test_unit_http_http_LDADD = $(HTTP_LIBS) $(UNITY_LIBS)
test_unit_http_http_CPPFLAGS = $(TEST_CPPFLAGS)
