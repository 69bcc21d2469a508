# session: what clients and links of other servers share.
noinst_LIBRARIES += %D%/libsession.a
%C%_libsession_a_SOURCES = %D%/connect.c %D%/connect.h %D%/delivery.c %D%/delivery.h %D%/grants.c %D%/grants.h %D%/login.c %D%/login.h \
	%D%/nonce.c %D%/nonce.h %D%/proxy.c %D%/proxy.h %D%/reason.c %D%/reason.h %D%/s2_pipe.c %D%/s2_pipe.h %D%/through_proxy.h %D%/tls_setup.c %D%/tls_setup.h \
	%D%/trace.c %D%/trace.h
%C%_libsession_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)

# grants, proxy, reason: pure, so nothing else of a session need be there.
UNIT_TESTS += test/unit/session/grants test/unit/session/proxy test/unit/session/reason
test_unit_session_proxy_SOURCES = test/unit/session/test_proxy.c
test_unit_session_proxy_LDADD = %D%/libsession.a $(CODEC_LIBS) $(UNITY_LIBS)
test_unit_session_proxy_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_session_grants_SOURCES = test/unit/session/test_grants.c
test_unit_session_grants_LDADD = %D%/libsession.a $(CODEC_LIBS) $(UNITY_LIBS)
test_unit_session_grants_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_session_reason_SOURCES = test/unit/session/test_reason.c
test_unit_session_reason_LDADD = %D%/libsession.a $(CODEC_LIBS) $(UNITY_LIBS)
test_unit_session_reason_CPPFLAGS = $(TEST_CPPFLAGS)

UNIT_TESTS += test/unit/session/s2_pipe
test_unit_session_s2_pipe_SOURCES = test/unit/session/test_s2_pipe.c $(NET_FIXTURE)
test_unit_session_s2_pipe_LDADD = %D%/libsession.a $(NET_TEST_LIBS)
test_unit_session_s2_pipe_CPPFLAGS = $(NET_TEST_CPPFLAGS)
