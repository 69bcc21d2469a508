# net: TCP and TLS byte pipes with back-pressure.
noinst_LIBRARIES += %D%/libnet.a
%C%_libnet_a_SOURCES = \
	%D%/ctx.c %D%/chunk.c %D%/conn.c %D%/read.c %D%/lane.c %D%/write.c %D%/lend.c %D%/filter.c %D%/listen.c %D%/listen_unix.c %D%/listen_impl.h \
	%D%/connect.c %D%/tls_ctx.c %D%/tls_pair.c %D%/tls_conn.c %D%/tls_peer.c \
	%D%/chunk_impl.h %D%/net_impl.h %D%/tls_impl.h \
	%D%/net.h
%C%_libnet_a_CPPFLAGS = $(AM_CPPFLAGS) $(UV_CFLAGS) $(OPENSSL_CFLAGS)

NET_LIBS = %D%/libnet.a src/loop/libloop.a $(CODEC_LIBS) $(UV_LIBS) $(OPENSSL_LIBS)

NET_TEST_LIBS = $(NET_LIBS) $(UNITY_LIBS) -lpthread
NET_TEST_CPPFLAGS = $(TEST_CPPFLAGS) $(UV_CFLAGS) $(OPENSSL_CFLAGS)
NET_FIXTURE = test/support/net_fixture.c test/support/net_fixture.h
NET_TLS_FIXTURE = $(NET_FIXTURE) test/support/test_certs.c test/support/test_certs.h \
	test/support/tls_client.c test/support/tls_client.h

UNIT_TESTS += test/unit/net/net test/unit/net/net_flow test/unit/net/net_connect test/unit/net/net_dial test/unit/net/net_chunk \
	test/unit/net/net_filter test/unit/net/net_filter_more test/unit/net/net_lend test/unit/net/net_lane \
	test/unit/net/net_tls test/unit/net/net_tls_data
test_unit_net_net_SOURCES = test/unit/net/test_net.c $(NET_FIXTURE)
test_unit_net_net_LDADD = $(NET_TEST_LIBS)
test_unit_net_net_CPPFLAGS = $(NET_TEST_CPPFLAGS)
test_unit_net_net_flow_SOURCES = test/unit/net/test_net_flow.c $(NET_FIXTURE)
test_unit_net_net_flow_LDADD = $(NET_TEST_LIBS)
test_unit_net_net_flow_CPPFLAGS = $(NET_TEST_CPPFLAGS)
test_unit_net_net_connect_SOURCES = test/unit/net/test_net_connect.c $(NET_FIXTURE)
test_unit_net_net_connect_LDADD = $(NET_TEST_LIBS)
test_unit_net_net_connect_CPPFLAGS = $(NET_TEST_CPPFLAGS)
test_unit_net_net_dial_SOURCES = test/unit/net/test_net_dial.c $(NET_FIXTURE)
test_unit_net_net_dial_LDADD = $(NET_TEST_LIBS)
test_unit_net_net_dial_CPPFLAGS = $(NET_TEST_CPPFLAGS)
test_unit_net_net_chunk_SOURCES = test/unit/net/test_net_chunk.c
test_unit_net_net_chunk_LDADD = $(NET_TEST_LIBS)
test_unit_net_net_chunk_CPPFLAGS = $(NET_TEST_CPPFLAGS)
test_unit_net_net_lend_SOURCES = test/unit/net/test_net_lend.c $(NET_FIXTURE)
test_unit_net_net_lend_LDADD = $(NET_TEST_LIBS)
test_unit_net_net_lend_CPPFLAGS = $(NET_TEST_CPPFLAGS)
test_unit_net_net_lane_SOURCES = test/unit/net/test_net_lane.c $(NET_FIXTURE)
test_unit_net_net_lane_LDADD = $(NET_TEST_LIBS)
test_unit_net_net_lane_CPPFLAGS = $(NET_TEST_CPPFLAGS)
test_unit_net_net_filter_SOURCES = test/unit/net/test_net_filter.c $(NET_TLS_FIXTURE)
test_unit_net_net_filter_LDADD = $(NET_TEST_LIBS)
test_unit_net_net_filter_CPPFLAGS = $(NET_TEST_CPPFLAGS)
test_unit_net_net_filter_more_SOURCES = test/unit/net/test_net_filter_more.c $(NET_FIXTURE)
test_unit_net_net_filter_more_LDADD = $(NET_TEST_LIBS)
test_unit_net_net_filter_more_CPPFLAGS = $(NET_TEST_CPPFLAGS)
test_unit_net_net_tls_SOURCES = test/unit/net/test_net_tls.c $(NET_TLS_FIXTURE)
test_unit_net_net_tls_LDADD = $(NET_TEST_LIBS)
test_unit_net_net_tls_CPPFLAGS = $(NET_TEST_CPPFLAGS)
test_unit_net_net_tls_data_SOURCES = test/unit/net/test_net_tls_data.c $(NET_TLS_FIXTURE)
test_unit_net_net_tls_data_LDADD = $(NET_TEST_LIBS)
test_unit_net_net_tls_data_CPPFLAGS = $(NET_TEST_CPPFLAGS)
