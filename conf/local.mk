# What `make install` adds to the programs: the unit and its user, the configuration, alerts and a dashboard.
# Paths in them follow --prefix, --sysconfdir and --localstatedir.
EXTRA_DIST += %D%/mayfly.conf %D%/mayfly.socket %D%/mayfly.service.in %D%/mayfly.sysusers.in %D%/ttl-patterns.conf \
	%D%/prometheus/mayfly-ttl.rules.yml %D%/grafana/mayfly-ttl.json

confdir = $(sysconfdir)/mayfly
statedir = $(localstatedir)/lib/mayfly
prometheusdir = $(pkgdatadir)/prometheus
dist_prometheus_DATA = %D%/prometheus/mayfly-ttl.rules.yml
systemdexampledir = $(pkgdatadir)/systemd
systemdexample_DATA = %D%/mayfly.socket
grafanadir = $(pkgdatadir)/grafana
dist_grafana_DATA = %D%/grafana/mayfly-ttl.json

# Shell completion, where bash and zsh look for it: printed by the tool itself, so not in a cross build.
bashcompletiondir = $(datadir)/bash-completion/completions
zshcompletiondir = $(datadir)/zsh/site-functions
if !CROSS
bashcompletion_DATA = %D%/bash/mayfly
zshcompletion_DATA = %D%/zsh/_mayfly
endif
%D%/bash/mayfly: mayfly$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) %D%/bash && ./mayfly$(EXEEXT) completion bash >$@.part && mv $@.part $@
%D%/zsh/_mayfly: mayfly$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) %D%/zsh && ./mayfly$(EXEEXT) completion zsh >$@.part && mv $@.part $@

CONF_MADE = %D%/mayfly.service %D%/mayfly.sysusers %D%/installed.conf
CLEANFILES += $(CONF_MADE) %D%/bash/mayfly %D%/zsh/_mayfly
if SYSTEMD
systemdsystemunit_DATA = %D%/mayfly.service
all-local: $(CONF_MADE)
else
all-local: %D%/installed.conf
endif

# systemd makes the state directory itself below /var; elsewhere the unit does, as root.
%D%/mayfly.service: $(srcdir)/%D%/mayfly.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) %D% && case '$(localstatedir)' in \
	    /var) state='StateDirectory=mayfly\nStateDirectoryMode=0700' ;; \
	    *) state='ExecStartPre=+/usr/bin/install -d -o mayfly -g mayfly -m 0700 $(statedir)\nReadWritePaths=-$(statedir)' ;; esac; \
	sed -e 's|@sbindir[@]|$(sbindir)|g' -e 's|@sysconfdir[@]|$(sysconfdir)|g' -e "s|@state[@]|$$state|" \
	    $(srcdir)/%D%/mayfly.service.in >$@.part && mv $@.part $@
%D%/mayfly.sysusers: $(srcdir)/%D%/mayfly.sysusers.in Makefile
	$(AM_V_GEN)$(MKDIR_P) %D% && sed 's|@localstatedir[@]|$(localstatedir)|g' $(srcdir)/%D%/mayfly.sysusers.in >$@.part && mv $@.part $@
# The example with the paths of this installation.
%D%/installed.conf: $(srcdir)/%D%/mayfly.conf Makefile
	$(AM_V_GEN)$(MKDIR_P) %D% && sed -e 's|/etc/mayfly|$(confdir)|g' -e 's|^    //store_dir: "/var/lib/mayfly"|    store_dir: "$(statedir)"|' \
	    $(srcdir)/%D%/mayfly.conf >$@.part && mv $@.part $@

# A file that is there already is the administrator's.  Files that nobody changed go with the rest.
install-data-hook:
	$(MKDIR_P) '$(DESTDIR)$(confdir)'
	@for pair in '%D%/installed.conf mayfly.conf' '$(srcdir)/%D%/ttl-patterns.conf ttl-patterns.conf'; do \
	    set -- $$pair; to='$(DESTDIR)$(confdir)'/$$2; \
	    if test -e "$$to"; then cmp -s $$1 "$$to" || echo "kept as it is: $$to"; \
	    else echo " $(INSTALL_DATA) $$1 $$to"; $(INSTALL_DATA) $$1 "$$to" || exit 1; fi; \
	done
if SYSTEMD
	$(MKDIR_P) '$(DESTDIR)$(prefix)/lib/sysusers.d'
	$(INSTALL_DATA) %D%/mayfly.sysusers '$(DESTDIR)$(prefix)/lib/sysusers.d/mayfly.conf'
	@test -n '$(DESTDIR)' || echo 'To start the service: systemd-sysusers && systemctl daemon-reload && systemctl enable --now mayfly'
endif
uninstall-hook:
	@for pair in '%D%/installed.conf mayfly.conf' '$(srcdir)/%D%/ttl-patterns.conf ttl-patterns.conf'; do \
	    set -- $$pair; to='$(DESTDIR)$(confdir)'/$$2; \
	    if cmp -s $$1 "$$to"; then rm -f "$$to"; elif test -e "$$to"; then echo "kept, it was changed: $$to"; fi; \
	done
	rm -f '$(DESTDIR)$(prefix)/lib/sysusers.d/mayfly.conf'
	-@for dir in '$(confdir)' '$(prefix)/lib/sysusers.d' '$(pkgdatadir)/prometheus' '$(pkgdatadir)/grafana' '$(pkgdatadir)/systemd' '$(pkgdatadir)'; do \
	    rmdir "$(DESTDIR)$$dir" 2>/dev/null; done; true
