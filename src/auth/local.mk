# auth: credentials, nkeys and permissions (pure, but for reading .creds files).
noinst_LIBRARIES += %D%/libauth.a
%C%_libauth_a_SOURCES = \
	%D%/auth.c %D%/auth_check.c %D%/auth_proxy.c %D%/auth_impl.h %D%/creds.c %D%/creds.h %D%/dn.c %D%/dn_impl.h %D%/nkey.c %D%/password.c \
	%D%/patset.c %D%/patset_impl.h %D%/perms.c \
	%D%/auth.h
%C%_libauth_a_CPPFLAGS = $(AM_CPPFLAGS) $(SODIUM_CFLAGS) $(CRYPT_CFLAGS)

AUTH_LIBS = %D%/libauth.a src/config/libconfig.a src/jwt/libjwt.a src/cron/libcron.a $(TTL_LIBS) $(CODEC_LIBS) $(SODIUM_LIBS) $(CRYPT_LIBS)

UNIT_TESTS += test/unit/auth/auth test/unit/auth/perms test/unit/auth/nkey test/unit/auth/password test/unit/auth/creds
test_unit_auth_auth_SOURCES = test/unit/auth/test_auth.c
test_unit_auth_auth_LDADD = $(AUTH_LIBS) $(UNITY_LIBS)
test_unit_auth_auth_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_auth_nkey_SOURCES = test/unit/auth/test_nkey.c
test_unit_auth_nkey_LDADD = $(AUTH_LIBS) $(UNITY_LIBS)
test_unit_auth_nkey_CPPFLAGS = $(TEST_CPPFLAGS) $(SODIUM_CFLAGS)
test_unit_auth_creds_SOURCES = test/unit/auth/test_creds.c
test_unit_auth_creds_LDADD = $(AUTH_LIBS) $(UNITY_LIBS)
test_unit_auth_creds_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_auth_password_SOURCES = test/unit/auth/test_password.c
test_unit_auth_password_LDADD = $(AUTH_LIBS) $(UNITY_LIBS)
test_unit_auth_password_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_auth_perms_SOURCES = test/unit/auth/test_perms.c
test_unit_auth_perms_LDADD = $(AUTH_LIBS) $(UNITY_LIBS)
test_unit_auth_perms_CPPFLAGS = $(TEST_CPPFLAGS)
