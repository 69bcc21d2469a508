# jwt: tokens of operator mode and of auth callouts.  Pure.
noinst_LIBRARIES += %D%/libjwt.a
%C%_libjwt_a_SOURCES = \
	%D%/claims_account.c %D%/claims_impl.h %D%/claims_other.c %D%/claims_share.c %D%/claims_user.c %D%/jwt.c %D%/jwt.h \
	%D%/jwt_account.h %D%/jwt_activation.h %D%/jwt_callout.h %D%/jwt_impl.h %D%/jwt_operator.h \
	%D%/jwt_scope.h %D%/jwt_user.h %D%/xkey.h
%C%_libjwt_a_CPPFLAGS = $(AM_CPPFLAGS) $(SODIUM_CFLAGS)

JWT_LIBS = %D%/libjwt.a src/subject/libsubject.a $(CODEC_LIBS) $(SODIUM_LIBS)
