# config: configuration language and command line into plain structs.
noinst_LIBRARIES += %D%/libconfig.a
%C%_libconfig_a_SOURCES = \
	%D%/conf_lex.c %D%/conf_lex_impl.h %D%/conf_word.c %D%/conf_parse.c \
	%D%/options.c %D%/options_impl.h %D%/options_places.c %D%/options_read.c %D%/options_text.c %D%/options_mapping.c \
	%D%/options_auth.c %D%/options_callout.c %D%/options_callout.h %D%/options_accounts.c %D%/options_exports.c %D%/options_accounts_check.c \
	%D%/options_tls.c %D%/options_jetstream.c %D%/options_ttl.c %D%/options_websocket.c %D%/options_unix.c %D%/options_blocks.c \
	%D%/options_leaf.c %D%/options_leaf_url.c %D%/options_leaf_reload.c %D%/options_leaf.h %D%/options_compress.c %D%/options_jwt.c %D%/options_proxies.c %D%/options_check.c %D%/options_flags.c \
	%D%/options_operator.c %D%/options_operator.h %D%/options_operator_impl.h %D%/options_resolver.c \
	%D%/options_usage.c %D%/options_store_dir.c %D%/options_reload.c \
	%D%/conf.h %D%/options.h %D%/options_listen.h
%C%_libconfig_a_CPPFLAGS = $(AM_CPPFLAGS)

CONFIG_LIBS = %D%/libconfig.a src/jwt/libjwt.a src/cron/libcron.a $(TTL_LIBS) $(CODEC_LIBS) $(SODIUM_LIBS)

UNIT_TESTS += test/unit/config/conf test/unit/config/options test/unit/config/options_errors test/unit/config/options_flags \
	test/unit/config/options_leaf test/unit/config/options_operator \
	test/unit/config/options_ttl test/unit/config/options_namespaces test/unit/config/mayfly_conf
test_unit_config_conf_SOURCES = test/unit/config/test_conf.c
test_unit_config_conf_LDADD = $(CONFIG_LIBS) $(UNITY_LIBS)
test_unit_config_conf_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_config_options_SOURCES = test/unit/config/test_options.c
test_unit_config_options_LDADD = $(CONFIG_LIBS) $(UNITY_LIBS)
test_unit_config_options_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_config_options_errors_SOURCES = test/unit/config/test_options_errors.c
test_unit_config_options_errors_LDADD = $(CONFIG_LIBS) $(UNITY_LIBS)
test_unit_config_options_errors_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_config_options_leaf_SOURCES = test/unit/config/test_options_leaf.c
test_unit_config_options_leaf_LDADD = $(CONFIG_LIBS) $(UNITY_LIBS)
test_unit_config_options_leaf_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_config_options_flags_SOURCES = test/unit/config/test_options_flags.c
test_unit_config_options_flags_LDADD = $(CONFIG_LIBS) $(UNITY_LIBS)
test_unit_config_options_flags_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_config_options_ttl_SOURCES = test/unit/config/test_options_ttl.c
test_unit_config_options_ttl_LDADD = $(CONFIG_LIBS) $(UNITY_LIBS)
test_unit_config_options_ttl_CPPFLAGS = $(TEST_CPPFLAGS) \
	-DSHIPPED_PATTERNS='"$(abs_top_srcdir)/conf/ttl-patterns.conf"'
test_unit_config_options_namespaces_SOURCES = test/unit/config/test_options_namespaces.c
test_unit_config_options_namespaces_LDADD = $(CONFIG_LIBS) $(UNITY_LIBS)
test_unit_config_options_namespaces_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_config_mayfly_conf_SOURCES = test/unit/config/test_mayfly_conf.c
test_unit_config_mayfly_conf_LDADD = $(CONFIG_LIBS) $(UNITY_LIBS)
test_unit_config_mayfly_conf_CPPFLAGS = $(TEST_CPPFLAGS) -DSHIPPED_CONF='"$(abs_top_srcdir)/conf/mayfly.conf"'
test_unit_config_options_operator_SOURCES = test/unit/config/test_options_operator.c test/support/tokens.h
test_unit_config_options_operator_LDADD = $(CONFIG_LIBS) $(UNITY_LIBS)
test_unit_config_options_operator_CPPFLAGS = $(TEST_CPPFLAGS) $(SODIUM_CFLAGS)
