# base/: errors, memory, buffers, digests, tables, files, clocks, log, suggestions.
noinst_LTLIBRARIES += libdtbase.la
libdtbase_la_SOURCES = \
	base/arena.c base/arena.h \
	base/buf.c base/buf.h \
	base/canon.c base/canon.h \
	base/digest.c base/digest.h \
	base/err.c base/err.h \
	base/file.c base/file.h \
	base/log.c base/log.h \
	base/mem.c base/mem.h \
	base/suggest.c base/suggest.h \
	base/table.c base/table.h \
	base/time.c base/time.h
libdtbase_la_CFLAGS = $(AM_CFLAGS) $(SODIUM_CFLAGS) $(XXHASH_CFLAGS)
libdtbase_la_LIBADD = $(SODIUM_LIBS) $(XXHASH_LIBS)
pkginclude_HEADERS += include/detent/backend.h
