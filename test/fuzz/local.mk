# Fuzzers: one harness per parser or API, one folder of seeds each in corpus/.
#
# With --enable-fuzz (clang) they are libFuzzer programs, built by `make fuzzers`:
#     %D%/fuzz_proto -dict=$(srcdir)/test/fuzz/proto.dict FOUND $(srcdir)/test/fuzz/corpus/proto
# Without, `make check` links the same files with replay_main.c and replays the seeds.
FUZZERS += %D%/fuzz_proto %D%/fuzz_header %D%/fuzz_conf %D%/fuzz_connect
FUZZFLAGS_CPP = $(AM_CPPFLAGS) -I$(top_srcdir)/test

if FUZZ
EXTRA_PROGRAMS += $(FUZZERS)
FUZZ_MAIN =
FUZZFLAGS_LD = $(AM_LDFLAGS) -fsanitize=fuzzer
else
check_PROGRAMS += $(FUZZERS)
TESTS += $(FUZZERS)
FUZZ_MAIN = %D%/replay_main.c
FUZZFLAGS_LD = $(AM_LDFLAGS)
endif

FUZZERS += %D%/fuzz_verb
%C%_fuzz_verb_SOURCES = %D%/fuzz_verb.c %D%/fuzz.h $(FUZZ_MAIN)
%C%_fuzz_verb_LDADD = src/leaf/libleaf.a $(PROTO_LIBS)
%C%_fuzz_verb_CPPFLAGS = $(FUZZFLAGS_CPP)
%C%_fuzz_verb_LDFLAGS = $(FUZZFLAGS_LD)

.PHONY: fuzzers
fuzzers: $(FUZZERS)

EXTRA_DIST += %D%/corpus %D%/proto.dict %D%/header.dict %D%/conf.dict %D%/connect.dict

%C%_fuzz_proto_SOURCES = %D%/fuzz_proto.c %D%/fuzz.h $(FUZZ_MAIN) \
	test/support/proto_model.c test/support/proto_model.h
%C%_fuzz_proto_LDADD = $(PROTO_LIBS)
%C%_fuzz_proto_CPPFLAGS = $(FUZZFLAGS_CPP)
%C%_fuzz_proto_LDFLAGS = $(FUZZFLAGS_LD)

%C%_fuzz_header_SOURCES = %D%/fuzz_header.c %D%/fuzz.h $(FUZZ_MAIN)
%C%_fuzz_header_LDADD = $(PROTO_LIBS)
%C%_fuzz_header_CPPFLAGS = $(FUZZFLAGS_CPP)
%C%_fuzz_header_LDFLAGS = $(FUZZFLAGS_LD)

%C%_fuzz_conf_SOURCES = %D%/fuzz_conf.c %D%/fuzz.h $(FUZZ_MAIN)
%C%_fuzz_conf_LDADD = $(CONFIG_LIBS)
%C%_fuzz_conf_CPPFLAGS = $(FUZZFLAGS_CPP)
%C%_fuzz_conf_LDFLAGS = $(FUZZFLAGS_LD)

%C%_fuzz_connect_SOURCES = %D%/fuzz_connect.c %D%/fuzz.h $(FUZZ_MAIN)
%C%_fuzz_connect_LDADD = src/session/libsession.a $(CODEC_LIBS) $(JANSSON_LIBS)
%C%_fuzz_connect_CPPFLAGS = $(FUZZFLAGS_CPP) $(JANSSON_CFLAGS)
%C%_fuzz_connect_LDFLAGS = $(FUZZFLAGS_LD)

FUZZERS += %D%/fuzz_proxy
%C%_fuzz_proxy_SOURCES = %D%/fuzz_proxy.c %D%/fuzz.h $(FUZZ_MAIN)
%C%_fuzz_proxy_LDADD = src/session/libsession.a $(CODEC_LIBS)
%C%_fuzz_proxy_CPPFLAGS = $(FUZZFLAGS_CPP)
%C%_fuzz_proxy_LDFLAGS = $(FUZZFLAGS_LD)

# ws and http: no net here, the harness is the connection.
FUZZERS += %D%/fuzz_ws %D%/fuzz_http
EXTRA_DIST += %D%/ws.dict %D%/http.dict

%C%_fuzz_ws_SOURCES = %D%/fuzz_ws.c %D%/fuzz.h $(FUZZ_MAIN)
%C%_fuzz_ws_LDADD = src/ws/libws.a $(HTTP_LIBS) $(WSLAY_LIBS) $(ZLIB_LIBS) $(OPENSSL_LIBS)
%C%_fuzz_ws_CPPFLAGS = $(FUZZFLAGS_CPP) $(ZLIB_CFLAGS)
%C%_fuzz_ws_LDFLAGS = $(FUZZFLAGS_LD)

%C%_fuzz_http_SOURCES = %D%/fuzz_http.c %D%/fuzz.h $(FUZZ_MAIN)
%C%_fuzz_http_LDADD = src/ws/libws.a src/monitor/libmonitor.a $(HTTP_LIBS) $(WSLAY_LIBS) \
	$(ZLIB_LIBS) $(OPENSSL_LIBS)
%C%_fuzz_http_CPPFLAGS = $(FUZZFLAGS_CPP) $(ZLIB_CFLAGS)
%C%_fuzz_http_LDFLAGS = $(FUZZFLAGS_LD)

# store: recovery on files in memory.
FUZZERS += %D%/fuzz_segment %D%/fuzz_checkpoint
FUZZ_STORE = %D%/fuzz.h test/support/log_maker.c test/support/log_maker.h \
	test/support/recovery_text.c test/support/recovery_text.h

%C%_fuzz_segment_SOURCES = %D%/fuzz_segment.c $(FUZZ_STORE) $(FUZZ_MAIN)
%C%_fuzz_segment_LDADD = $(STORE_LIBS)
%C%_fuzz_segment_CPPFLAGS = $(FUZZFLAGS_CPP)
%C%_fuzz_segment_LDFLAGS = $(FUZZFLAGS_LD)

%C%_fuzz_checkpoint_SOURCES = %D%/fuzz_checkpoint.c $(FUZZ_STORE) $(FUZZ_MAIN)
%C%_fuzz_checkpoint_LDADD = $(STORE_LIBS)
%C%_fuzz_checkpoint_CPPFLAGS = $(FUZZFLAGS_CPP)
%C%_fuzz_checkpoint_LDFLAGS = $(FUZZFLAGS_LD)

FUZZERS += %D%/fuzz_journal
%C%_fuzz_journal_SOURCES = %D%/fuzz_journal.c %D%/fuzz.h test/support/view_io.c test/support/view_io.h \
	test/support/must.c test/support/must.h $(FUZZ_MAIN)
%C%_fuzz_journal_LDADD = $(STORE_LIBS)
%C%_fuzz_journal_CPPFLAGS = $(FUZZFLAGS_CPP)
%C%_fuzz_journal_LDFLAGS = $(FUZZFLAGS_LD)

# ttl: values of Nats-TTL and Nats-Schedule.
FUZZERS += %D%/fuzz_ttl
EXTRA_DIST += %D%/ttl.dict

%C%_fuzz_ttl_SOURCES = %D%/fuzz_ttl.c %D%/fuzz.h $(FUZZ_MAIN)
%C%_fuzz_ttl_LDADD = $(TTL_LIBS) $(CRON_LIBS)
%C%_fuzz_ttl_CPPFLAGS = $(FUZZFLAGS_CPP)
%C%_fuzz_ttl_LDFLAGS = $(FUZZFLAGS_LD)

# json: the configuration of a stream, in and out.
FUZZERS += %D%/fuzz_json
EXTRA_DIST += %D%/json.dict

%C%_fuzz_json_SOURCES = %D%/fuzz_json.c %D%/fuzz.h src/api/config_json.c $(FUZZ_MAIN)
%C%_fuzz_json_LDADD = $(STREAM_LIBS) -lm
%C%_fuzz_json_CPPFLAGS = $(FUZZFLAGS_CPP)
%C%_fuzz_json_LDFLAGS = $(FUZZFLAGS_LD)

# s2: blocks and framed streams.
FUZZERS += %D%/fuzz_s2

%C%_fuzz_s2_SOURCES = %D%/fuzz_s2.c %D%/fuzz.h $(FUZZ_MAIN)
%C%_fuzz_s2_LDADD = $(CODEC_LIBS)
%C%_fuzz_s2_CPPFLAGS = $(FUZZFLAGS_CPP)
%C%_fuzz_s2_LDFLAGS = $(FUZZFLAGS_LD)

# natsfile: what old backups of nats-server hold.
FUZZERS += %D%/fuzz_natsfile

%C%_fuzz_natsfile_SOURCES = %D%/fuzz_natsfile.c %D%/fuzz.h $(FUZZ_MAIN)
%C%_fuzz_natsfile_LDADD = $(BACKUP_LIBS) $(ACCOUNT_LIBS)
%C%_fuzz_natsfile_CPPFLAGS = $(FUZZFLAGS_CPP) -I$(top_srcdir)/src
%C%_fuzz_natsfile_LDFLAGS = $(FUZZFLAGS_LD)

# restore: the whole of it, with the api around it.
FUZZERS += %D%/fuzz_restore

%C%_fuzz_restore_SOURCES = %D%/fuzz_restore.c %D%/fuzz.h test/support/api_world.h \
	test/support/must.c test/support/must.h $(FUZZ_MAIN)
%C%_fuzz_restore_LDADD = $(BACKUP_LIBS) $(ACCOUNT_LIBS)
%C%_fuzz_restore_CPPFLAGS = $(FUZZFLAGS_CPP) -I$(top_srcdir)/src
%C%_fuzz_restore_LDFLAGS = $(FUZZFLAGS_LD)

# policy: keys and rules of a stream, TTL expressions, values of payloads.
FUZZERS += %D%/fuzz_policy %D%/fuzz_policy_expr %D%/fuzz_policy_json
EXTRA_DIST += %D%/policy.dict %D%/policy_expr.dict %D%/policy_json.dict

%C%_fuzz_policy_SOURCES = %D%/fuzz_policy.c %D%/fuzz.h $(FUZZ_MAIN)
%C%_fuzz_policy_LDADD = $(TTL_LIBS)
%C%_fuzz_policy_CPPFLAGS = $(FUZZFLAGS_CPP)
%C%_fuzz_policy_LDFLAGS = $(FUZZFLAGS_LD)

%C%_fuzz_policy_expr_SOURCES = %D%/fuzz_policy_expr.c %D%/fuzz.h $(FUZZ_MAIN)
%C%_fuzz_policy_expr_LDADD = $(TTL_LIBS)
%C%_fuzz_policy_expr_CPPFLAGS = $(FUZZFLAGS_CPP)
%C%_fuzz_policy_expr_LDFLAGS = $(FUZZFLAGS_LD)

%C%_fuzz_policy_json_SOURCES = %D%/fuzz_policy_json.c %D%/fuzz.h $(FUZZ_MAIN)
%C%_fuzz_policy_json_LDADD = $(TTL_LIBS)
%C%_fuzz_policy_json_CPPFLAGS = $(FUZZFLAGS_CPP)
%C%_fuzz_policy_json_LDFLAGS = $(FUZZFLAGS_LD)

# jwt: texts of tokens, and claims of tokens that the harness signs.
FUZZERS += %D%/fuzz_jwt
EXTRA_DIST += %D%/jwt.dict

%C%_fuzz_jwt_SOURCES = %D%/fuzz_jwt.c %D%/fuzz.h $(FUZZ_MAIN)
%C%_fuzz_jwt_LDADD = $(JWT_LIBS)
%C%_fuzz_jwt_CPPFLAGS = $(FUZZFLAGS_CPP)
%C%_fuzz_jwt_LDFLAGS = $(FUZZFLAGS_LD)

# answer: responses of an auth callout's service, in clear, sealed, and signed by the harness.
FUZZERS += %D%/fuzz_answer

%C%_fuzz_answer_SOURCES = %D%/fuzz_answer.c %D%/fuzz.h $(FUZZ_MAIN)
%C%_fuzz_answer_LDADD = $(CALLOUT_LIBS)
%C%_fuzz_answer_CPPFLAGS = $(FUZZFLAGS_CPP) -I$(top_srcdir)/src
%C%_fuzz_answer_LDFLAGS = $(FUZZFLAGS_LD)

# ttl_api: requests of the TTL API, with the api around them.
FUZZERS += %D%/fuzz_ttl_api
EXTRA_DIST += %D%/ttl_api.dict

%C%_fuzz_ttl_api_SOURCES = %D%/fuzz_ttl_api.c %D%/fuzz.h test/support/api_world.h \
	test/support/must.c test/support/must.h $(FUZZ_MAIN)
%C%_fuzz_ttl_api_LDADD = $(BACKUP_LIBS) $(ACCOUNT_LIBS)
%C%_fuzz_ttl_api_CPPFLAGS = $(FUZZFLAGS_CPP) -I$(top_srcdir)/src
%C%_fuzz_ttl_api_LDFLAGS = $(FUZZFLAGS_LD)
