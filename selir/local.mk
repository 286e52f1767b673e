# selir/: the language.  libdtvm is the part that engines link.
noinst_LTLIBRARIES += libdtvm.la libdtselir.la
libdtvm_la_SOURCES = \
	selir/op.c selir/op.h \
	selir/vm.c selir/vm.h selir/vm_int.h \
	selir/vm_load.c \
	selir/vm_text.c
libdtvm_la_LIBADD = libdtbase.la

libdtselir_la_SOURCES = \
	selir/domain.c \
	selir/emit.c selir/emit.h \
	selir/graph.c selir/graph.h \
	selir/interval.c \
	selir/range.c selir/range.h selir/range_int.h
libdtselir_la_LIBADD = libdtvm.la libdtbase.la
