# Manual pages and documents that belong in a release.
dist_man_MANS += %D%/man/mayflyd.8 %D%/man/mayfly.conf.5 %D%/man/mayfly.1
EXTRA_DIST += docs/README.md docs/architecture.md docs/checks.md docs/compatibility.md docs/configuration.md \
	docs/coverage.md docs/deviations.md docs/disk-format.md docs/embedding.md docs/faq.md docs/glossary.md docs/install.md \
	docs/jetstream.md docs/layers.txt docs/metrics.md docs/page.md docs/pages.md docs/performance.md docs/reliability.md docs/security.md \
	docs/tool.md docs/troubleshooting.md docs/ttl.md docs/tutorial.md \
	docs/howto/auth-callout.md docs/howto/backup.md docs/howto/cluster.md docs/howto/encryption.md docs/howto/from-nats.md docs/howto/from-redis.md docs/howto/logout.md docs/howto/operator.md \
	docs/howto/prometheus.md docs/howto/repair.md docs/howto/sliding-ttl.md docs/howto/systemd.md \
	docs/howto/roles.md docs/howto/tls.md docs/howto/tracing.md docs/howto/upgrade.md docs/howto/warn.md docs/howto/watch.md \
	docs/understanding/capacity.md docs/understanding/durability.md docs/understanding/hardening.md \
	docs/understanding/performance.md \
	docs/reports/compatibility.md docs/reports/coverage.md docs/reports/first-hour.md docs/reports/foreign-suites.md docs/reports/house.md \
	docs/reports/mutants.md docs/reports/performance.md docs/reports/reliability.md docs/reports/requirements.md \
	docs/reports/requirements.tsv docs/reports/stalls.md docs/reports/surface.md \
	docs/reports/plots/expiry.svg docs/reports/plots/latency.svg docs/reports/plots/matrix.json \
	docs/reports/plots/ratios.svg
EXTRA_DIST += docs/images/page-light.png docs/images/page-dark.png docs/images/page-phone.png \
	docs/images/page-phone-streams.png docs/images/page-detail.png docs/images/page-lists.png
