# verify/: the battery.
noinst_LTLIBRARIES += libdtverify.la
libdtverify_la_SOURCES = \
	verify/battery.c verify/battery.h \
	verify/report.c \
	verify/runner.c verify/runner.h \
	verify/verify.c verify/verify.h
libdtverify_la_CPPFLAGS = $(AM_CPPFLAGS) -DDT_BACKEND_DIR='"$(pkglibdir)"'
bin_PROGRAMS += detent-verify
detent_verify_SOURCES = verify/main.c
detent_verify_LDADD = libdtverify.la libdetent.la libdtcalls.la libdtbase.la
EXTRA_DIST += verify/README.md
