# trace/: call schemas, the .dtrace format, log importers, the scheduler model.
noinst_LTLIBRARIES += libdttrace.la
libdttrace_la_SOURCES = \
	trace/azure.c \
	trace/dtrace.c trace/dtrace.h \
	trace/dtrace_decode.c \
	trace/dtrace_encode.c \
	trace/dtrace_format.h \
	trace/import.c trace/import.h \
	trace/log.h \
	trace/mooncake.c \
	trace/prefix.c trace/prefix.h \
	trace/schedule.c \
	trace/schema.c trace/schema.h
libdttrace_la_CFLAGS = $(AM_CFLAGS) $(ZSTD_CFLAGS) $(XXHASH_CFLAGS) $(JANSSON_CFLAGS)
libdttrace_la_LIBADD = libdtbase.la $(ZSTD_LIBS) $(XXHASH_LIBS) $(JANSSON_LIBS) -lm

samplesdir = $(pkgdatadir)/samples
dist_samples_DATA = \
	trace/samples/README.md \
	trace/samples/azure_conv_sample.csv \
	trace/samples/mooncake_conversation_sample.jsonl
EXTRA_DIST += trace/README.md
