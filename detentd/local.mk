# detentd/: the daemon.  Everything but main.c is in libdtdaemon.la, for tests.
noinst_LTLIBRARIES += libdtdaemon.la
libdtdaemon_la_SOURCES = \
	detentd/additive.c detentd/additive.h \
	detentd/ask.c detentd/ask.h \
	detentd/certifying.c detentd/certifying.h \
	detentd/commit.c detentd/commit.h \
	detentd/conditions.c detentd/conditions.h \
	detentd/covering.c detentd/covering.h \
	detentd/daemon.c detentd/daemon.h \
	detentd/describe.c detentd/describe.h \
	detentd/dispatch.c detentd/dispatch.h \
	detentd/families.c detentd/families.h \
	detentd/forced.c detentd/forced.h \
	detentd/holds.c detentd/holds.h \
	detentd/incumbent.c detentd/incumbent.h \
	detentd/job.c detentd/job.h \
	detentd/jobs.c detentd/jobs.h \
	detentd/key.c detentd/key.h \
	detentd/lease.c detentd/lease.h \
	detentd/loop.c detentd/loop.h \
	detentd/measure.c detentd/measure.h \
	detentd/message.c detentd/message.h \
	detentd/options.c detentd/options.h \
	detentd/place.c detentd/place.h \
	detentd/pool.c detentd/pool.h \
	detentd/probe.c detentd/probe.h detentd/probe_edges.c detentd/probing.h \
	detentd/publish.c detentd/publish.h \
	detentd/req_certify.c \
	detentd/req_commit.c \
	detentd/req_coverage.c \
	detentd/req_fetch.c \
	detentd/req_hold.c \
	detentd/req_job.c \
	detentd/req_solve.c \
	detentd/req_status.c \
	detentd/req_trace.c \
	detentd/req_tune.c \
	detentd/resume.c detentd/resume.h \
	detentd/round.c detentd/round.h detentd/round_ask.c detentd/round_binding.c \
	detentd/round_parts.h \
	detentd/sd.c detentd/sd.h \
	detentd/show.c detentd/show.h \
	detentd/solving.c detentd/solving.h \
	detentd/standing.c detentd/standing.h \
	detentd/store.c detentd/store.h \
	detentd/store_sql.c detentd/store_sql.h \
	detentd/store_certificate.c \
	detentd/store_commit.c \
	detentd/store_content.c \
	detentd/store_job.c \
	detentd/tuning.c detentd/tuning.h \
	detentd/tuning_parts.h detentd/tuning_site.c detentd/tuning_tuple.c \
	detentd/who.c detentd/who.h \
	detentd/worker.c detentd/worker.h
nodist_libdtdaemon_la_SOURCES = schema/migrations.c
libdtdaemon_la_CPPFLAGS = $(AM_CPPFLAGS) -DDT_BACKEND_DIR='"$(pkglibdir)"' \
	-DDT_PROFILER='"$(libexecdir)/detent-profiler"'
libdtdaemon_la_CFLAGS = $(AM_CFLAGS) $(PROTOBUF_C_CFLAGS) $(ZMQ_CFLAGS) $(SQLITE_CFLAGS) \
	$(SODIUM_CFLAGS) $(SYSTEMD_CFLAGS)
libdtdaemon_la_LIBADD = libdttuner.la libdtsolver.la libdtproto.la libdttrace.la libdtbase.la \
	$(ZMQ_LIBS) $(SQLITE_LIBS) $(SODIUM_LIBS) $(SYSTEMD_LIBS)

bin_PROGRAMS += detentd/detentd
detentd_detentd_SOURCES = detentd/main.c
detentd_detentd_LDADD = libdtdaemon.la
detentd_detentd_CFLAGS = $(AM_CFLAGS) $(PROTOBUF_C_CFLAGS) $(ZMQ_CFLAGS) $(SQLITE_CFLAGS)
EXTRA_DIST += detentd/README.md
