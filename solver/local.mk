# solver/: from a graph to pins.
noinst_LTLIBRARIES += libdtsolver.la
libdtsolver_la_SOURCES = \
	solver/batch.c solver/batch.h \
	solver/candidates.c solver/candidates.h \
	solver/check.c solver/check.h solver/check_float.c \
	solver/cut.c solver/cut.h \
	solver/default.c \
	solver/deployment.c solver/deployment.h \
	solver/encode.c \
	solver/explain.c solver/explain.h \
	solver/export.c solver/export.h solver/export_ops.c solver/export_ops.h \
	solver/family.c solver/family.h \
	solver/key.c \
	solver/reach.c solver/reach.h \
	solver/read.c solver/read.h \
	solver/residual.c solver/residual.h \
	solver/site.c solver/site.h \
	solver/solution.c solver/solution.h \
	solver/solve.c solver/solve.h solver/solve_int.h \
	solver/solve_candidates.c solver/solve_cut.c solver/solve_emit.c solver/solve_faults.c \
	solver/solve_pins.c solver/solve_points.c solver/solve_raises.c \
	solver/proof.h \
	solver/vra.c solver/vra.h solver/vra_int.h \
	solver/vra_limits.c solver/vra_part.c solver/vra_prove.c \
	solver/yaml.c solver/yaml.h
libdtsolver_la_CFLAGS = $(AM_CFLAGS) $(YAML_CFLAGS)
libdtsolver_la_LIBADD = libdtselir.la libdtbase.la $(YAML_LIBS)

deploymentsdir = $(pkgdatadir)/deployments
dist_deployments_DATA = deployments/host-families.yaml deployments/host-small.yaml
