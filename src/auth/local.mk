# auth: credentials, nkeys and permissions (pure).
noinst_LIBRARIES += %D%/libauth.a
%C%_libauth_a_SOURCES = \
	%D%/auth.c %D%/auth_check.c %D%/auth_int.h %D%/dn.c %D%/dn.h %D%/nkey.c %D%/password.c \
	%D%/patset.c %D%/patset.h %D%/perms.c \
	include/mayfly/auth.h
%C%_libauth_a_CPPFLAGS = $(AM_CPPFLAGS) $(SODIUM_CFLAGS) $(CRYPT_CFLAGS)

AUTH_LIBS = %D%/libauth.a src/config/libconfig.a $(POLICY_LIBS) $(BASE_LIBS) $(SODIUM_LIBS) $(CRYPT_LIBS)

UNIT_TESTS += test/unit/auth test/unit/perms test/unit/nkey test/unit/password
test_unit_auth_SOURCES = test/unit/test_auth.c
test_unit_auth_LDADD = $(AUTH_LIBS) $(UNITY_LIBS)
test_unit_auth_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_nkey_SOURCES = test/unit/test_nkey.c
test_unit_nkey_LDADD = $(AUTH_LIBS) $(UNITY_LIBS)
test_unit_nkey_CPPFLAGS = $(TEST_CPPFLAGS) $(SODIUM_CFLAGS)
test_unit_password_SOURCES = test/unit/test_password.c
test_unit_password_LDADD = $(AUTH_LIBS) $(UNITY_LIBS)
test_unit_password_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_perms_SOURCES = test/unit/test_perms.c
test_unit_perms_LDADD = $(AUTH_LIBS) $(UNITY_LIBS)
test_unit_perms_CPPFLAGS = $(TEST_CPPFLAGS)
