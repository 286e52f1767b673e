# proto/: what travels: the messages, generated from detent.proto, and their framing.
noinst_LTLIBRARIES += libdtproto.la libdtpb.la
libdtproto_la_SOURCES = \
	proto/certificate.c proto/certificate.h \
	proto/frame.c proto/frame.h \
	proto/wire.c proto/wire.h
libdtproto_la_CFLAGS = $(AM_CFLAGS) $(PROTOBUF_C_CFLAGS) $(ZMQ_CFLAGS)
libdtproto_la_LIBADD = libdtpb.la libdtbase.la $(ZMQ_LIBS)

# Generated code, in the build tree; our warnings are not for it.
nodist_libdtpb_la_SOURCES = proto/detent.pb-c.c proto/detent.pb-c.h
libdtpb_la_CFLAGS = $(AM_CFLAGS) $(PROTOBUF_C_CFLAGS) -w
libdtpb_la_LIBADD = $(PROTOBUF_C_LIBS)
BUILT_SOURCES += proto/detent.pb-c.h
CLEANFILES += proto/detent.pb-c.c proto/detent.pb-c.h
EXTRA_DIST += proto/README.md proto/detent.proto

proto/detent.pb-c.c: proto/detent.proto
	$(AM_V_GEN)$(MKDIR_P) proto && \
	$(PROTOC_C) --c_out=proto -I$(top_srcdir)/proto $(top_srcdir)/proto/detent.proto
proto/detent.pb-c.h: proto/detent.pb-c.c
	@test -f $@ || { rm -f proto/detent.pb-c.c; $(MAKE) $(AM_MAKEFLAGS) proto/detent.pb-c.c; }
