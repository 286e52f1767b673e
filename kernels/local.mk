# kernels/: one plugin per backend, detent-backend-NAME.so.
host_backend_sources = \
	kernels/host/backend.c kernels/host/host.h \
	kernels/host/call.c kernels/host/call.h \
	kernels/host/lanes.h kernels/host/seed.h \
	kernels/host/pool.c kernels/host/pool.h \
	kernels/host/product.h kernels/host/product.inc \
	kernels/host/product_base.c kernels/host/product_fma.c \
	kernels/host/terms.h \
	kernels/attention/host/attention.c kernels/attention/host/attention.h \
	kernels/attention/host/fill.c \
	kernels/attention/host/plant.h \
	kernels/attention/host/run.c \
	kernels/attention/host/shape.c \
	kernels/attention/host/tile.inc \
	kernels/attention/host/tile_avx2.c \
	kernels/attention/host/tile_base.c \
	kernels/gemm/host/fill.c \
	kernels/gemm/host/gemm.c kernels/gemm/host/gemm.h \
	kernels/gemm/host/plant.h \
	kernels/gemm/host/run.c \
	kernels/gemm/host/shape.c

pkglib_LTLIBRARIES += detent-backend-host.la
detent_backend_host_la_SOURCES = $(host_backend_sources)
nodist_detent_backend_host_la_SOURCES = kernels/host/build.h
detent_backend_host_la_CFLAGS = $(AM_CFLAGS) -Wno-psabi
detent_backend_host_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared
detent_backend_host_la_LIBADD = -lm

# The backend's identity: a digest of its sources, its compiler and its flags.
BUILT_SOURCES += kernels/host/build.h
CLEANFILES += kernels/host/build.h
kernels/host/build.h: $(host_backend_sources) Makefile
	$(AM_V_GEN)$(MKDIR_P) kernels/host && \
	{ for f in $(host_backend_sources); do cat $(top_srcdir)/$$f || exit 1; done; \
	  $(CC) --version | head -n 1; \
	  echo '$(DT_CFLAGS) $(CPPFLAGS) $(CFLAGS)'; } | sha256sum | \
	  sed 's/^\([0-9a-f]*\).*/#define HOST_BUILD "\1"/' > $@.tmp && mv $@.tmp $@

$(detent_backend_host_la_OBJECTS): kernels/host/build.h

EXTRA_DIST += kernels/README.md kernels/attention/README.md kernels/gemm/README.md kernels/host/README.md
