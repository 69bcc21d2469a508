# Stock clients against the fresh build.  nats.c is a check program; run.mjs is ./dev test's.
if HAVE_UNITY
check_PROGRAMS += %D%/c/natsc
TESTS += %D%/c/natsc
endif
%C%_c_natsc_SOURCES = \
	%D%/c/natsc.c %D%/c/natsc_core.c %D%/c/natsc_auth.c %D%/c/natsc_life.c %D%/c/natsc_stream.c %D%/c/natsc_js.c %D%/c/natsc_mirror.c %D%/c/natsc_watch.c \
	%D%/c/natsc.h \
	%D%/c/server_proc.c %D%/c/server_proc.h %D%/c/certs.c %D%/c/certs.h
%C%_c_natsc_CPPFLAGS = $(TEST_CPPFLAGS) $(NATS_CFLAGS) $(OPENSSL_CFLAGS)
%C%_c_natsc_LDADD = $(UNITY_LIBS) $(NATS_LIBS) $(OPENSSL_LIBS)

EXTRA_DIST += \
	%D%/package.json %D%/package-lock.json %D%/run.mjs %D%/lib/bundle.mjs %D%/lib/certs.mjs %D%/lib/operator.mjs %D%/lib/callout.mjs %D%/callout.mjs %D%/callout_operator.mjs %D%/lib/clients.mjs \
	%D%/lib/dice.mjs %D%/lib/patience.mjs %D%/lib/prometheus.mjs %D%/lib/raw.mjs %D%/lib/scenario.mjs %D%/lib/server.mjs %D%/lib/stamp.mjs %D%/lib/wait.mjs \
	%D%/accounts.mjs %D%/auth.mjs %D%/authorisation.mjs %D%/browser.mjs %D%/cli.mjs %D%/core.mjs %D%/direct.mjs %D%/encryption.mjs %D%/limits.mjs %D%/monitor.mjs %D%/options.mjs %D%/orders.mjs \
	%D%/operations.mjs %D%/pages.mjs %D%/permissions.mjs %D%/proxy_protocol.mjs %D%/reconnect.mjs %D%/reload.mjs %D%/streams_api.mjs %D%/sys.mjs %D%/system.mjs \
	%D%/lib/backup.mjs %D%/backup_cli.mjs %D%/shortage.mjs %D%/snapshot.mjs %D%/snapshot_consumers.mjs %D%/lib/tar.mjs %D%/snapshot_tar.mjs %D%/tls.mjs %D%/websocket.mjs

EXTRA_DIST += %D%/batches.mjs %D%/counters.mjs %D%/trace_messages.mjs %D%/trusted_proxies.mjs %D%/schedules.mjs

EXTRA_DIST += \
	%D%/lib/archive.mjs %D%/lib/js.mjs %D%/lib/reentry.mjs %D%/limits_streams.mjs %D%/markers.mjs %D%/publish_checks.mjs \
	%D%/erase.mjs %D%/reentry.mjs %D%/reentry_random.mjs %D%/restores.mjs %D%/regressions.mjs %D%/restarts.mjs %D%/store_dir.mjs %D%/ttl_requirement.mjs %D%/ttl_values.mjs

EXTRA_DIST += %D%/jsz.mjs %D%/lib/ttl.mjs %D%/ttl_paths.mjs %D%/ttl_policy.mjs %D%/ttl_rules.mjs %D%/damage.mjs %D%/tracing.mjs %D%/protocol_trace.mjs %D%/ttl_moments.mjs %D%/ttl_out.mjs %D%/lib/ttl_api.mjs %D%/ttl_api.mjs %D%/ttl_api_access.mjs %D%/ttl_api_walks.mjs %D%/ttl_api_account.mjs

EXTRA_DIST += \
	%D%/docs.mjs %D%/lib/doc.mjs %D%/lib/doc_child.mjs %D%/lib/doc_page.mjs %D%/lib/doc_ports.mjs %D%/lib/doc_run.mjs %D%/lib/doc_text.mjs %D%/lib/doc_tool.mjs %D%/lib/nats_standin.mjs %D%/lib/python/nats.py %D%/c/doc_ports.c %D%/c/nats_standin.c \
	%D%/ttl_drafts.mjs %D%/ttl_examples.mjs

EXTRA_DIST += %D%/errors.mjs %D%/hostile.mjs %D%/lib/page.mjs %D%/status_page.mjs %D%/status_page_access.mjs %D%/status_page_cost.mjs %D%/lib/schema.mjs %D%/schemas.mjs

EXTRA_DIST += %D%/acks.mjs

EXTRA_DIST += %D%/consumers_api.mjs

EXTRA_DIST += \
	%D%/lib/consumer.mjs %D%/lib/dials.mjs %D%/consumer_restarts.mjs %D%/kv.mjs %D%/obj.mjs %D%/pull.mjs %D%/pull_groups.mjs %D%/push.mjs \
	%D%/redelivery.mjs %D%/retention.mjs %D%/watch_history.mjs

EXTRA_DIST += %D%/lib/copies.mjs %D%/kv_mirror.mjs %D%/mirrors.mjs %D%/mirrors_external.mjs %D%/mirrors_life.mjs %D%/mirrors_reads.mjs %D%/mirrors_restarts.mjs %D%/mirrors_ttl.mjs %D%/sources.mjs

EXTRA_DIST += %D%/advice.mjs %D%/service.mjs %D%/c/listen_exec.c %D%/c/notify_listen.c
EXTRA_DIST += %D%/lib/tool.mjs %D%/tool_connect.mjs %D%/ttl_tool.mjs %D%/ttl_tool_terminal.mjs %D%/ttl_tool_answers.mjs %D%/ttl_tool_counts.mjs %D%/ttl_tool_screen.mjs %D%/tool_demo.mjs %D%/tool_backup.mjs %D%/tool_ops.mjs %D%/tool_ops_bench.mjs %D%/tool_ops_keys.mjs %D%/tool_top.mjs %D%/tool_output.mjs %D%/tool_liars.mjs

EXTRA_DIST += %D%/import.mjs %D%/tool_data.mjs %D%/tool_data_kv.mjs %D%/tool_data_objects.mjs %D%/tool_data_terminal.mjs %D%/import_lifetimes.mjs %D%/import_refusals.mjs %D%/lib/nats_files.mjs

EXTRA_DIST += %D%/operator_tokens.mjs %D%/operator_logins.mjs %D%/operator_start.mjs %D%/operator_pages.mjs %D%/operator_jetstream.mjs
EXTRA_DIST += %D%/operator_accounts.mjs %D%/operator_kv.mjs %D%/operator_live.mjs %D%/operator_others.mjs %D%/operator_random.mjs %D%/operator_resolvers.mjs %D%/operator_shares.mjs
