# jwt: tokens of operator mode and of auth callouts.  Pure.
noinst_LIBRARIES += %D%/libjwt.a
%C%_libjwt_a_SOURCES = \
	%D%/callout.c %D%/claims_account.c %D%/claims_impl.h %D%/claims_other.c %D%/claims_share.c %D%/claims_user.c %D%/jwt.c %D%/jwt.h \
	%D%/jwt_account.h %D%/jwt_activation.h %D%/jwt_callout.h %D%/jwt_impl.h %D%/jwt_operator.h \
	%D%/jwt_scope.h %D%/jwt_user.h %D%/scope.c %D%/sign.c %D%/validate.c %D%/validate_account.c \
	%D%/validate_import.c %D%/xkey.c %D%/xkey.h
%C%_libjwt_a_CPPFLAGS = $(AM_CPPFLAGS) $(SODIUM_CFLAGS)

JWT_LIBS = %D%/libjwt.a src/cron/libcron.a src/subject/libsubject.a $(CODEC_LIBS) $(SODIUM_LIBS)

UNIT_TESTS += test/unit/jwt/jwt test/unit/jwt/validate
test_unit_jwt_jwt_SOURCES = test/unit/jwt/test_jwt.c test/unit/jwt/cases.h
test_unit_jwt_jwt_LDADD = $(JWT_LIBS) $(UNITY_LIBS)
test_unit_jwt_jwt_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_jwt_validate_SOURCES = test/unit/jwt/test_validate.c test/unit/jwt/cases.h
test_unit_jwt_validate_LDADD = $(JWT_LIBS) $(UNITY_LIBS)
test_unit_jwt_validate_CPPFLAGS = $(TEST_CPPFLAGS)
