# The differential tester: mayflyd beside nats-server (./dev compare diff).
EXTRA_DIST += \
	%D%/audit.mjs %D%/backup.mjs %D%/compare.mjs %D%/lane.mjs %D%/main.mjs %D%/normalise.mjs %D%/pair.mjs %D%/rules.mjs %D%/rules_backups.mjs %D%/rules_consumers.mjs %D%/rules_copies.mjs %D%/rules_groups.mjs %D%/rules_help.mjs %D%/rules_list.mjs %D%/run.mjs \
	%D%/shrink.mjs %D%/wire.mjs %D%/scripts \
	%D%/gen/backups.mjs %D%/gen/consumers.mjs %D%/gen/copies.mjs %D%/gen/copies_time.mjs %D%/gen/groups.mjs %D%/gen/history.mjs %D%/gen/kv.mjs %D%/gen/publish.mjs %D%/gen/random.mjs %D%/gen/streams.mjs %D%/gen/time.mjs
