# config: configuration language and command line into plain structs.
noinst_LIBRARIES += %D%/libconfig.a
%C%_libconfig_a_SOURCES = \
	%D%/conf_lex.c %D%/conf_lex.h %D%/conf_word.c %D%/conf_parse.c \
	%D%/options.c %D%/options_impl.h %D%/options_read.c %D%/options_text.c %D%/options_mapping.c \
	%D%/options_auth.c %D%/options_accounts.c %D%/options_doors.c %D%/options_accounts_check.c \
	%D%/options_tls.c %D%/options_jetstream.c %D%/options_ttl.c %D%/options_websocket.c %D%/options_blocks.c \
	%D%/options_leaf.c %D%/options_jwt.c %D%/options_check.c %D%/options_flags.c \
	%D%/options_usage.c %D%/options_store_dir.c %D%/options_reload.c \
	include/mayfly/conf.h include/mayfly/options.h
%C%_libconfig_a_CPPFLAGS = $(AM_CPPFLAGS)

CONFIG_LIBS = %D%/libconfig.a $(POLICY_LIBS) $(BASE_LIBS)

UNIT_TESTS += test/unit/conf test/unit/options test/unit/options_errors test/unit/options_flags \
	test/unit/options_ttl test/unit/options_namespaces test/unit/mayfly_conf
test_unit_conf_SOURCES = test/unit/test_conf.c
test_unit_conf_LDADD = $(CONFIG_LIBS) $(UNITY_LIBS)
test_unit_conf_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_options_SOURCES = test/unit/test_options.c
test_unit_options_LDADD = $(CONFIG_LIBS) $(UNITY_LIBS)
test_unit_options_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_options_errors_SOURCES = test/unit/test_options_errors.c
test_unit_options_errors_LDADD = $(CONFIG_LIBS) $(UNITY_LIBS)
test_unit_options_errors_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_options_flags_SOURCES = test/unit/test_options_flags.c
test_unit_options_flags_LDADD = $(CONFIG_LIBS) $(UNITY_LIBS)
test_unit_options_flags_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_options_ttl_SOURCES = test/unit/test_options_ttl.c
test_unit_options_ttl_LDADD = $(CONFIG_LIBS) $(UNITY_LIBS)
test_unit_options_ttl_CPPFLAGS = $(TEST_CPPFLAGS) \
	-DSHIPPED_PATTERNS='"$(abs_top_srcdir)/conf/ttl-patterns.conf"'
test_unit_options_namespaces_SOURCES = test/unit/test_options_namespaces.c
test_unit_options_namespaces_LDADD = $(CONFIG_LIBS) $(UNITY_LIBS)
test_unit_options_namespaces_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_mayfly_conf_SOURCES = test/unit/test_mayfly_conf.c
test_unit_mayfly_conf_LDADD = $(CONFIG_LIBS) $(UNITY_LIBS)
test_unit_mayfly_conf_CPPFLAGS = $(TEST_CPPFLAGS) -DSHIPPED_CONF='"$(abs_top_srcdir)/conf/mayfly.conf"'
