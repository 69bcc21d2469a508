# leaf: links to other servers.
noinst_LIBRARIES += %D%/libleaf.a
%C%_libleaf_a_SOURCES = \
	%D%/accept.c %D%/cross.c %D%/cross_trace.c %D%/dial.c %D%/family.c %D%/hello.c %D%/hello_impl.h %D%/leaf.c %D%/learn.c %D%/leaf.h %D%/leaf_impl.h %D%/leaf_view.h \
	%D%/link.c %D%/link_impl.h %D%/login.c %D%/realm.c %D%/realm_impl.h %D%/remote.c %D%/remote_impl.h %D%/rules.c %D%/service.c %D%/show.c %D%/use.c %D%/verb.c \
	%D%/verb_impl.h %D%/view.c
%C%_libleaf_a_CPPFLAGS = $(AM_CPPFLAGS)

UNIT_TESTS += test/unit/leaf/verb
test_unit_leaf_verb_SOURCES = test/unit/leaf/test_verb.c test/support/guard.c test/support/guard.h
test_unit_leaf_verb_LDADD = %D%/libleaf.a $(PROTO_LIBS) $(UNITY_LIBS)
test_unit_leaf_verb_CPPFLAGS = $(TEST_CPPFLAGS)

LEAF_LIBS = %D%/libleaf.a src/session/libsession.a src/ws/libws.a src/http/libhttp.a src/account/libaccount.a src/msgtrace/libmsgtrace.a src/auth/libauth.a \
	src/router/librouter.a src/net/libnet.a src/config/libconfig.a src/jwt/libjwt.a src/cron/libcron.a src/loop/libloop.a $(PROTO_LIBS) $(TTL_LIBS) \
	$(CODEC_LIBS) $(UV_LIBS) $(OPENSSL_LIBS) $(SODIUM_LIBS) $(CRYPT_LIBS) $(JANSSON_LIBS) $(WSLAY_LIBS) $(ZLIB_LIBS)
LEAF_WORLD = test/support/leaf_world.c test/support/leaf_world.h
UNIT_TESTS += test/unit/leaf/leaf test/unit/leaf/leaf_accept test/unit/leaf/leaf_announce test/unit/leaf/leaf_end test/unit/leaf/leaf_family test/unit/leaf/leaf_hostile test/unit/leaf/leaf_wants
test_unit_leaf_leaf_SOURCES = test/unit/leaf/test_leaf.c $(LEAF_WORLD)
test_unit_leaf_leaf_LDADD = $(LEAF_LIBS) $(UNITY_LIBS) -lpthread
test_unit_leaf_leaf_CPPFLAGS = $(TEST_CPPFLAGS) $(UV_CFLAGS) $(OPENSSL_CFLAGS)
test_unit_leaf_leaf_wants_SOURCES = test/unit/leaf/test_leaf_wants.c $(LEAF_WORLD)
test_unit_leaf_leaf_wants_LDADD = $(LEAF_LIBS) $(UNITY_LIBS) -lpthread
test_unit_leaf_leaf_wants_CPPFLAGS = $(TEST_CPPFLAGS) $(UV_CFLAGS) $(OPENSSL_CFLAGS)
test_unit_leaf_leaf_accept_SOURCES = test/unit/leaf/test_leaf_accept.c $(LEAF_WORLD)
test_unit_leaf_leaf_accept_LDADD = $(LEAF_LIBS) $(UNITY_LIBS) -lpthread
test_unit_leaf_leaf_accept_CPPFLAGS = $(TEST_CPPFLAGS) $(UV_CFLAGS) $(OPENSSL_CFLAGS)
test_unit_leaf_leaf_announce_SOURCES = test/unit/leaf/test_leaf_announce.c $(LEAF_WORLD)
test_unit_leaf_leaf_announce_LDADD = $(LEAF_LIBS) $(UNITY_LIBS) -lpthread
test_unit_leaf_leaf_announce_CPPFLAGS = $(TEST_CPPFLAGS) $(UV_CFLAGS) $(OPENSSL_CFLAGS)
test_unit_leaf_leaf_end_SOURCES = test/unit/leaf/test_leaf_end.c $(LEAF_WORLD)
test_unit_leaf_leaf_end_LDADD = $(LEAF_LIBS) $(UNITY_LIBS) -lpthread
test_unit_leaf_leaf_end_CPPFLAGS = $(TEST_CPPFLAGS) $(UV_CFLAGS) $(OPENSSL_CFLAGS)
test_unit_leaf_leaf_family_SOURCES = test/unit/leaf/test_leaf_family.c $(LEAF_WORLD)
test_unit_leaf_leaf_family_LDADD = $(LEAF_LIBS) $(UNITY_LIBS) -lpthread
test_unit_leaf_leaf_family_CPPFLAGS = $(TEST_CPPFLAGS) $(UV_CFLAGS) $(OPENSSL_CFLAGS)
test_unit_leaf_leaf_hostile_SOURCES = test/unit/leaf/test_leaf_hostile.c $(LEAF_WORLD)
test_unit_leaf_leaf_hostile_LDADD = $(LEAF_LIBS) $(UNITY_LIBS) -lpthread
test_unit_leaf_leaf_hostile_CPPFLAGS = $(TEST_CPPFLAGS) $(UV_CFLAGS) $(OPENSSL_CFLAGS)
