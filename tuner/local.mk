# tuner/: from a trace to the cheapest legal assignment, and the tuple's encoding.
noinst_LTLIBRARIES += libdttuner.la
libdttuner_la_SOURCES = \
	tuner/additive.c tuner/additive.h \
	tuner/calls.c tuner/calls.h \
	tuner/cells.c tuner/cells.h \
	tuner/cover.c tuner/cover.h \
	tuner/inputs.c tuner/inputs.h \
	tuner/observe.c \
	tuner/race.c tuner/race_looks.c tuner/race_rounds.c tuner/race_stages.c \
	tuner/race.h tuner/racing.h \
	tuner/refusal.c \
	tuner/sample.c tuner/sample.h \
	tuner/stats.c tuner/stats.h \
	tuner/tables.c tuner/tables.h \
	tuner/tune.c tuner/tune.h \
	tuner/tuple.c tuner/tuple.h
libdttuner_la_LIBADD = libdtsolver.la libdtvm.la libdttrace.la libdtbase.la -lm
EXTRA_DIST += tuner/README.md
