# solver/: from a graph to pins.
noinst_LTLIBRARIES += libdtsolver.la
libdtsolver_la_SOURCES = \
	solver/cut.c solver/cut.h \
	solver/deployment.c solver/deployment.h \
	solver/suggest.c solver/suggest.h \
	solver/yaml.c solver/yaml.h
libdtsolver_la_CFLAGS = $(AM_CFLAGS) $(YAML_CFLAGS)
libdtsolver_la_LIBADD = libdtselir.la libdtbase.la $(YAML_LIBS)

deploymentsdir = $(pkgdatadir)/deployments
dist_deployments_DATA = deployments/host-small.yaml
