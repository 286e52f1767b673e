# schema/: numbered SQL migrations, embedded into detentd.
DT_SCHEMA = $(top_srcdir)/schema/0001-first.sql \
	$(top_srcdir)/schema/0002-measurement-plan.sql \
	$(top_srcdir)/schema/0003-certificate.sql \
	$(top_srcdir)/schema/0004-tuple-is-content.sql \
	$(top_srcdir)/schema/0005-backend-caches.sql \
	$(top_srcdir)/schema/0006-standing.sql \
	$(top_srcdir)/schema/0007-held-jobs.sql \
	$(top_srcdir)/schema/0008-contended.sql \
	$(top_srcdir)/schema/0009-job-device.sql
EXTRA_DIST += schema/embed.sh schema/0001-first.sql schema/0002-measurement-plan.sql \
	schema/0003-certificate.sql schema/0004-tuple-is-content.sql \
	schema/0005-backend-caches.sql schema/0006-standing.sql schema/0007-held-jobs.sql \
	schema/0008-contended.sql schema/0009-job-device.sql schema/README.md

schema/migrations.c: $(DT_SCHEMA) $(top_srcdir)/schema/embed.sh
	$(AM_V_GEN)$(MKDIR_P) schema && \
	sh $(top_srcdir)/schema/embed.sh $(DT_SCHEMA) > $@.tmp && mv $@.tmp $@
CLEANFILES += schema/migrations.c
