# Manual pages and documents that belong in a release.
dist_man_MANS += %D%/man/mayflyd.8 %D%/man/mayfly.conf.5 %D%/man/mayfly.1
EXTRA_DIST += conf/mayfly.conf conf/mayfly.service conf/ttl-patterns.conf \
	conf/prometheus/mayfly-ttl.rules.yml conf/grafana/mayfly-ttl.json %D%/configuration.md %D%/layers.txt \
	%D%/architecture.md %D%/compatibility.md %D%/deviations.md %D%/performance.md \
	%D%/plots/expiry.svg %D%/plots/latency.svg %D%/plots/matrix.json %D%/plots/ratios.svg \
	%D%/reliability.md %D%/security.md %D%/coverage.md %D%/reports/requirements.md \
	%D%/reports/requirements.tsv %D%/ttl.md %D%/disk-format.md %D%/reports/surface.md %D%/reports/foreign-suites.md
