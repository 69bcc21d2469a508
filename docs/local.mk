# Manual pages and documents that belong in a release.
dist_man_MANS += docs/man/mayflyd.8 docs/man/mayfly.conf.5 docs/man/mayfly.1
EXTRA_DIST += conf/mayfly.conf conf/mayfly.service conf/ttl-patterns.conf \
	conf/prometheus/mayfly-ttl.rules.yml conf/grafana/mayfly-ttl.json docs/configuration.md docs/layers.txt \
	docs/architecture.md docs/compatibility.md docs/deviations.md docs/performance.md \
	docs/plots/expiry.svg docs/plots/latency.svg docs/plots/matrix.json docs/plots/ratios.svg \
	docs/reliability.md docs/security.md docs/coverage.md docs/reports/requirements.md \
	docs/reports/requirements.tsv docs/ttl.md docs/disk-format.md docs/glossary.md docs/checks.md docs/reports/surface.md docs/reports/foreign-suites.md
