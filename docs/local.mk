# Manual pages and documents that belong in a release.
dist_man_MANS += %D%/man/mayflyd.8 %D%/man/mayfly.conf.5 %D%/man/mayfly.1
EXTRA_DIST += conf/mayfly.conf conf/mayfly.service conf/ttl-patterns.conf \
	conf/prometheus/mayfly-ttl.rules.yml conf/grafana/mayfly-ttl.json \
	docs/README.md docs/architecture.md docs/checks.md docs/compatibility.md docs/configuration.md \
	docs/coverage.md docs/deviations.md docs/disk-format.md docs/glossary.md docs/layers.txt \
	docs/performance.md docs/reliability.md docs/security.md docs/ttl.md \
	docs/reports/compatibility.md docs/reports/coverage.md docs/reports/foreign-suites.md docs/reports/house.md \
	docs/reports/performance.md docs/reports/reliability.md docs/reports/requirements.md \
	docs/reports/requirements.tsv docs/reports/stalls.md docs/reports/surface.md \
	docs/reports/plots/expiry.svg docs/reports/plots/latency.svg docs/reports/plots/matrix.json \
	docs/reports/plots/ratios.svg
