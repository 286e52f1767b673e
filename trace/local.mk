# trace/: call schemas, the .dtrace format, log importers, the scheduler model.
# libdtcalls is the part that engines link: calls and their format, no importers.
noinst_LTLIBRARIES += libdtcalls.la libdttrace.la
libdtcalls_la_SOURCES = \
	trace/dtrace.c trace/dtrace.h \
	trace/dtrace_decode.c \
	trace/dtrace_encode.c \
	trace/dtrace_format.h \
	trace/schema.c trace/schema.h
libdtcalls_la_CFLAGS = $(AM_CFLAGS) $(ZSTD_CFLAGS) $(XXHASH_CFLAGS)
libdtcalls_la_LIBADD = libdtbase.la $(ZSTD_LIBS) $(XXHASH_LIBS)

libdttrace_la_SOURCES = \
	trace/azure.c \
	trace/import.c trace/import.h \
	trace/log.h \
	trace/mooncake.c \
	trace/prefix.c trace/prefix.h \
	trace/schedule.c \
	trace/step.c trace/step.h
libdttrace_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
libdttrace_la_LIBADD = libdtcalls.la $(JANSSON_LIBS) -lm

samplesdir = $(pkgdatadir)/samples
dist_samples_DATA = \
	trace/samples/README.md \
	trace/samples/azure_conv_sample.csv \
	trace/samples/mooncake_conversation_sample.jsonl
EXTRA_DIST += trace/README.md
