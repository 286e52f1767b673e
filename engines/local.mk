# engines/: integrations of engines.
noinst_PROGRAMS += detent-ref
detent_ref_SOURCES = engines/ref/ref.c
detent_ref_LDADD = libdetent.la libdtcalls.la libdtbase.la
noinst_PROGRAMS += detent-select
detent_select_SOURCES = engines/ref/select.c
detent_select_LDADD = libdetent.la
examplesdir = $(pkgdatadir)/examples
dist_examples_DATA = engines/ref/ref.c engines/ref/select.c
EXTRA_DIST += engines/ref/README.md
