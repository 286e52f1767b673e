# profiler/: the worker process that runs kernels.
noinst_LTLIBRARIES += libdtprofiler.la
libdtprofiler_la_SOURCES = \
	profiler/backend.c profiler/backend.h \
	profiler/describe.c profiler/describe.h \
	profiler/device.c profiler/device.h \
	profiler/certify.c profiler/certify.h \
	profiler/certify_alone.c \
	profiler/certify_rival.c \
	profiler/certify_round.c profiler/certify_round.h \
	profiler/certify_values.c \
	profiler/lane.c profiler/lane.h \
	profiler/ranks.c profiler/ranks.h \
	profiler/worker.c profiler/worker.h
libdtprofiler_la_CFLAGS = $(AM_CFLAGS) $(PROTOBUF_C_CFLAGS)
libdtprofiler_la_LIBADD = libdtproto.la libdtbase.la

libexec_PROGRAMS += detent-profiler
detent_profiler_SOURCES = profiler/main.c
detent_profiler_LDADD = libdtprofiler.la
EXTRA_DIST += profiler/README.md
