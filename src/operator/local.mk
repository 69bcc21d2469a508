# operator: operator mode: trusted keys, resolvers of account JWTs.
noinst_LIBRARIES += %D%/liboperator.a
%C%_liboperator_a_SOURCES = \
	%D%/claims.c %D%/claims.h %D%/claims_ask.c %D%/claims_impl.h %D%/claims_update.c \
	%D%/dir_change.c %D%/dir_impl.h %D%/dir_walk.c %D%/resolver_dir.c \
	%D%/operator.c %D%/operator.h %D%/operator_account.c %D%/operator_claims.c %D%/operator_gate.c %D%/operator_share.c %D%/operator_system.c %D%/operator_impl.h %D%/operator_load.c %D%/operator_admit.c %D%/operator_login.c %D%/operator_login.h \
	%D%/operator_user.c %D%/operator_user_impl.h %D%/user_rights.c %D%/user_rights.h \
	%D%/dir_file.c %D%/dir_file_impl.h %D%/dir_index.c %D%/dir_index_impl.h %D%/resolver.c %D%/resolver.h %D%/resolver_impl.h \
	%D%/resolver_mem.c %D%/resolver_url.c %D%/token.c %D%/token_impl.h %D%/trust.c %D%/trust.h
%C%_liboperator_a_CPPFLAGS = $(AM_CPPFLAGS) $(SODIUM_CFLAGS)

OPERATOR_LIBS = %D%/liboperator.a src/session/libsession.a src/account/libaccount.a src/msgtrace/libmsgtrace.a src/auth/libauth.a src/router/librouter.a src/http/libhttp.a \
	src/net/libnet.a src/config/libconfig.a src/jwt/libjwt.a src/cron/libcron.a src/loop/libloop.a $(PROTO_LIBS) $(TTL_LIBS) \
	$(CODEC_LIBS) $(UV_LIBS) $(OPENSSL_LIBS) $(SODIUM_LIBS) $(CRYPT_LIBS) $(JANSSON_LIBS)
UNIT_TESTS += test/unit/operator/dir test/unit/operator/dir_faults test/unit/operator/url
test_unit_operator_dir_faults_SOURCES = test/unit/operator/test_dir_faults.c test/unit/operator/dir_fixture.h test/support/tokens.h
test_unit_operator_dir_faults_LDADD = $(OPERATOR_LIBS) $(UNITY_LIBS)
test_unit_operator_dir_faults_CPPFLAGS = $(TEST_CPPFLAGS) $(SODIUM_CFLAGS)
test_unit_operator_url_SOURCES = test/unit/operator/test_url.c test/support/tokens.h
test_unit_operator_url_LDADD = $(OPERATOR_LIBS) $(UNITY_LIBS)
test_unit_operator_url_CPPFLAGS = $(TEST_CPPFLAGS) $(SODIUM_CFLAGS)
test_unit_operator_dir_SOURCES = test/unit/operator/test_dir.c test/unit/operator/dir_fixture.h test/support/tokens.h
test_unit_operator_dir_LDADD = $(OPERATOR_LIBS) $(UNITY_LIBS)
test_unit_operator_dir_CPPFLAGS = $(TEST_CPPFLAGS) $(SODIUM_CFLAGS)
UNIT_TESTS += test/unit/operator/claims
test_unit_operator_claims_SOURCES = test/unit/operator/test_claims.c test/support/tokens.h
test_unit_operator_claims_LDADD = $(OPERATOR_LIBS) $(UNITY_LIBS)
test_unit_operator_claims_CPPFLAGS = $(TEST_CPPFLAGS) $(SODIUM_CFLAGS)
UNIT_TESTS += test/unit/operator/login test/unit/operator/login_renew test/unit/operator/user_rights
test_unit_operator_login_renew_SOURCES = test/unit/operator/test_login_renew.c test/unit/operator/login_fixture.h test/support/tokens.h
test_unit_operator_login_renew_LDADD = $(OPERATOR_LIBS) $(UNITY_LIBS)
test_unit_operator_login_renew_CPPFLAGS = $(TEST_CPPFLAGS) $(SODIUM_CFLAGS)
test_unit_operator_login_SOURCES = test/unit/operator/test_login.c test/unit/operator/login_fixture.h test/support/tokens.h
test_unit_operator_login_LDADD = $(OPERATOR_LIBS) $(UNITY_LIBS)
test_unit_operator_login_CPPFLAGS = $(TEST_CPPFLAGS) $(SODIUM_CFLAGS)
test_unit_operator_user_rights_SOURCES = test/unit/operator/test_user_rights.c
test_unit_operator_user_rights_LDADD = $(OPERATOR_LIBS) $(UNITY_LIBS)
test_unit_operator_user_rights_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/operator/account_claims
test_unit_operator_account_claims_SOURCES = test/unit/operator/test_account_claims.c test/support/tokens.h
test_unit_operator_account_claims_LDADD = $(OPERATOR_LIBS) $(UNITY_LIBS)
test_unit_operator_account_claims_CPPFLAGS = $(TEST_CPPFLAGS) $(SODIUM_CFLAGS)
