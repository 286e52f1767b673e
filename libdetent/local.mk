# libdetent/: the engine's side, a shared library.
lib_LTLIBRARIES += libdetent.la
libdetent_la_SOURCES = \
	libdetent/attest.c \
	libdetent/bundle.c \
	libdetent/certified.c \
	libdetent/fetch.c \
	libdetent/handle.h \
	libdetent/limits.c \
	libdetent/open.c \
	libdetent/record.c \
	libdetent/seen.c libdetent/seen.h \
	libdetent/select.c \
	libdetent/selector.c libdetent/selector.h \
	libdetent/verify.c
libdetent_la_CFLAGS = $(AM_CFLAGS) $(SODIUM_CFLAGS) $(PROTOBUF_C_CFLAGS)
# The objects and not the convenience libraries, each of which holds base once more.
libdetent_parts = $(libdtbase_la_OBJECTS) $(libdtpb_la_OBJECTS) $(libdtproto_la_OBJECTS) \
	$(libdtcalls_la_OBJECTS) $(libdtvm_la_OBJECTS)
libdetent_la_LIBADD = $(libdetent_parts) $(ZMQ_LIBS) $(PROTOBUF_C_LIBS) $(SODIUM_LIBS) \
	$(XXHASH_LIBS) $(ZSTD_LIBS)
libdetent_la_DEPENDENCIES = $(libdetent_parts)
# current:revision:age; see "Updating library version information" in libtool's manual.
libdetent_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined \
	-export-symbols-regex '^detent_'
pkginclude_HEADERS += include/detent/detent.h include/detent/tuple.h
pkgconfig_DATA += libdetent/detent.pc
EXTRA_DIST += libdetent/README.md
