# systemd/: the unit, with the paths of this installation.
systemdsystemunit_DATA += systemd/detentd.service
CLEANFILES += systemd/detentd.service
EXTRA_DIST += systemd/detentd.service.in systemd/README.md

systemd/detentd.service: systemd/detentd.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) systemd && \
	sed -e 's|@bindir[@]|$(bindir)|g' $(top_srcdir)/systemd/detentd.service.in > $@.tmp && mv $@.tmp $@
