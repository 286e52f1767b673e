# detentctl/: the client.  All but main is a library, so that tests can call it.
noinst_LTLIBRARIES += libdtctl.la
bin_PROGRAMS += detentctl/detentctl
libdtctl_la_SOURCES = \
	detentctl/bundle.c detentctl/bundle.h \
	detentctl/certificate_view.c detentctl/certificate_view.h \
	detentctl/cmd_attach.c \
	detentctl/cmd_cancel.c \
	detentctl/cmd_certify.c \
	detentctl/cmd_coverage.c \
	detentctl/cmd_commit.c \
	detentctl/cmd_completion.c \
	detentctl/cmd_deployment_check.c \
	detentctl/cmd_deployment_new.c \
	detentctl/cmd_explain.c \
	detentctl/cmd_export.c \
	detentctl/cmd_fetch.c \
	detentctl/cmd_jobs.c \
	detentctl/cmd_jobs_release.c \
	detentctl/cmd_log.c \
	detentctl/cmd_pins.c \
	detentctl/cmd_selir_check.c \
	detentctl/cmd_selir_run.c \
	detentctl/cmd_show.c \
	detentctl/cmd_solve.c \
	detentctl/cmd_status.c \
	detentctl/cmd_trace_import.c \
	detentctl/cmd_trace_list.c \
	detentctl/cmd_trace_show.c \
	detentctl/cmd_trace_submit.c \
	detentctl/cmd_tune.c \
	detentctl/collect.c detentctl/collect.h \
	detentctl/commands.c detentctl/commands.h \
	detentctl/commit_view.c detentctl/commit_view.h \
	detentctl/connect.c detentctl/connect.h \
	detentctl/dump.c detentctl/dump.h \
	detentctl/evaluate.c detentctl/evaluate.h \
	detentctl/families.c detentctl/families.h \
	detentctl/forced.c detentctl/forced.h \
	detentctl/gpu.c detentctl/gpu.h \
	detentctl/graphs.c detentctl/graphs.h \
	detentctl/help.c \
	detentctl/hold_view.c detentctl/hold_view.h \
	detentctl/job.c detentctl/job.h \
	detentctl/job_view.c \
	detentctl/model.c detentctl/model.h \
	detentctl/options.c detentctl/options.h \
	detentctl/print.c detentctl/print.h \
	detentctl/progress.c detentctl/progress.h \
	detentctl/selir.c detentctl/selir.h \
	detentctl/settings.c detentctl/settings.h \
	detentctl/sheet.c detentctl/sheet.h \
	detentctl/site.c detentctl/site.h \
	detentctl/solved.c detentctl/solved.h \
	detentctl/template.c detentctl/template.h \
	detentctl/trace_view.c detentctl/trace_view.h
libdtctl_la_CPPFLAGS = $(AM_CPPFLAGS) -DDT_PROGRAMS_DIR='"$(pkgdatadir)/programs"'
libdtctl_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(SMARTCOLS_CFLAGS) $(PROTOBUF_C_CFLAGS) $(SODIUM_CFLAGS)
libdtctl_la_LIBADD = libdtsolver.la libdtselir.la libdttrace.la libdtproto.la libdtbase.la \
	$(JANSSON_LIBS) $(SMARTCOLS_LIBS) $(SODIUM_LIBS)
detentctl_detentctl_SOURCES = detentctl/main.c
detentctl_detentctl_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(PROTOBUF_C_CFLAGS)
detentctl_detentctl_LDADD = libdtctl.la
EXTRA_DIST += detentctl/README.md
dist_doc_DATA = doc/selir.md
