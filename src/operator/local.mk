# operator: operator mode: trusted keys, resolvers of account JWTs.
noinst_LIBRARIES += %D%/liboperator.a
%C%_liboperator_a_SOURCES = \
	%D%/dir_file.c %D%/dir_file_impl.h %D%/dir_index.c %D%/dir_index_impl.h %D%/resolver.c %D%/resolver.h %D%/resolver_impl.h \
	%D%/resolver_mem.c %D%/token.c %D%/token_impl.h %D%/trust.c %D%/trust.h
%C%_liboperator_a_CPPFLAGS = $(AM_CPPFLAGS) $(SODIUM_CFLAGS)
