# Scenarios of the leaf link (./dev leaf).
EXTRA_DIST += \
	%D%/run.mjs %D%/soak.mjs %D%/lib/copies.mjs %D%/lib/frames.mjs %D%/lib/played.mjs %D%/lib/ports.mjs %D%/lib/proxy.mjs %D%/lib/setup.mjs \
	%D%/accounts.mjs %D%/auth.mjs %D%/compression.mjs %D%/copies.mjs %D%/domains.mjs %D%/floods.mjs %D%/hostile.mjs %D%/imports.mjs %D%/trace_links.mjs %D%/interest.mjs %D%/jetstream.mjs %D%/link.mjs %D%/loops.mjs %D%/messages.mjs %D%/operator.mjs %D%/operator_creds.mjs %D%/outages.mjs \
	%D%/pages.mjs %D%/parser.mjs %D%/permissions.mjs %D%/reload.mjs %D%/roles.mjs %D%/settings.mjs %D%/tls.mjs %D%/ttl.mjs %D%/websocket.mjs
