# selir/: the language.  libdtvm is the part that engines link.
noinst_LTLIBRARIES += libdtvm.la libdtselir.la
libdtvm_la_SOURCES = \
	selir/op.c selir/op.h
libdtvm_la_LIBADD = libdtbase.la

libdtselir_la_SOURCES = \
	selir/domain.c \
	selir/graph.c selir/graph.h
libdtselir_la_LIBADD = libdtvm.la libdtbase.la
