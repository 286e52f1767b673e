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
	kernels/gemm/host/shape.c \
	$(host_allreduce_sources) $(host_moe_sources) $(host_rowwise_sources)

host_allreduce_sources = \
	kernels/allreduce/host/allreduce.c kernels/allreduce/host/allreduce.h \
	kernels/allreduce/host/fill.c \
	kernels/allreduce/host/plant.h \
	kernels/allreduce/host/run.c kernels/allreduce/host/shape.c \
	kernels/host/team.c kernels/host/team.h
EXTRA_DIST += kernels/allreduce/README.md

host_moe_sources = \
	kernels/moe/host/fill.c \
	kernels/moe/host/moe.c kernels/moe/host/moe.h \
	kernels/moe/host/plant.h \
	kernels/moe/host/run.c \
	kernels/moe/host/shape.c

host_rowwise_sources = \
	kernels/rowwise/host/fill.c \
	kernels/rowwise/host/plant.h \
	kernels/rowwise/host/row.inc \
	kernels/rowwise/host/row_avx2.c kernels/rowwise/host/row_base.c \
	kernels/rowwise/host/rowwise.c kernels/rowwise/host/rowwise.h \
	kernels/rowwise/host/run.c kernels/rowwise/host/shape.c
EXTRA_DIST += kernels/rowwise/README.md

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

EXTRA_DIST += kernels/README.md kernels/attention/README.md kernels/gemm/README.md kernels/moe/README.md \
	kernels/host/README.md

# The CUDA backend: C for the host's side, CUDA C++ for kernels alone.
cuda_backend_main = kernels/cuda/backend.c
cuda_backend_c = \
	kernels/cuda/cuda.h \
	kernels/cuda/clock.c kernels/cuda/clock.h \
	kernels/cuda/error.c \
	kernels/cuda/library.c kernels/cuda/library.h \
	kernels/cuda/memory.c kernels/cuda/memory.h \
	kernels/cuda/nvml.c kernels/cuda/nvml.h \
	kernels/cuda/plant.h \
	kernels/cuda/settings.c kernels/cuda/settings.h \
	kernels/cuda/span.c kernels/cuda/span.h \
	kernels/cuda/sweep.h \
	kernels/cuda/timed.c kernels/cuda/timed.h \
	kernels/cuda/watch.c \
	kernels/allreduce/cuda/allreduce.c kernels/allreduce/cuda/allreduce.h \
	kernels/allreduce/cuda/group.c \
	kernels/allreduce/cuda/nccl.c kernels/allreduce/cuda/nccl/nccl.h \
	kernels/allreduce/cuda/plant.h \
	kernels/allreduce/cuda/shape.c \
	kernels/gemm/cuda/configs.c kernels/gemm/cuda/configs.inc \
	kernels/gemm/cuda/data.h \
	kernels/gemm/cuda/gemm.c kernels/gemm/cuda/gemm.h \
	kernels/gemm/cuda/lt.c kernels/gemm/cuda/lt.h \
	kernels/gemm/cuda/plant.h
cuda_backend_cu = \
	kernels/cuda/delay.cu \
	kernels/cuda/sweep.cu \
	kernels/allreduce/cuda/fill.cu \
	kernels/allreduce/cuda/reduce.cu \
	kernels/gemm/cuda/chain.cu \
	kernels/gemm/cuda/fill.cu
cuda_backend_all = $(cuda_backend_main) $(cuda_backend_c) $(cuda_backend_cu)
EXTRA_DIST += $(cuda_backend_all) kernels/gemm/cuda/scan.c kernels/cuda/nvcc-lo \
	kernels/cuda/README.md kernels/allreduce/cuda/README.md kernels/gemm/cuda/README.md

if HAVE_CUDA
# cudart is static, so that the plugin loads where no toolkit is; it stays loaded,
# since neither CUDA nor CUPTI survives being unloaded.
cuda_libs = $(CUDA_LIBDIR)/libcudart_static.a -lpthread -ldl -lrt
# NCCL's header is no part of the toolkit: ours is searched last.
cuda_cflags = $(AM_CFLAGS) $(CUDA_CPPFLAGS) -Wno-strict-prototypes \
	-idirafter $(top_srcdir)/kernels/allreduce/cuda/nccl
cuda_ldflags = $(AM_LDFLAGS) -module -avoid-version -shared -Wl,-z,nodelete
cuda_backend_lo = $(cuda_backend_cu:.cu=.lo)

noinst_LTLIBRARIES += libdtcuda.la
libdtcuda_la_SOURCES = $(cuda_backend_c)
libdtcuda_la_CFLAGS = $(cuda_cflags)
libdtcuda_la_LIBADD = $(cuda_backend_lo)
libdtcuda_la_DEPENDENCIES = $(cuda_backend_lo)

pkglib_LTLIBRARIES += detent-backend-cuda.la
detent_backend_cuda_la_SOURCES = $(cuda_backend_main)
nodist_detent_backend_cuda_la_SOURCES = kernels/cuda/build.h
detent_backend_cuda_la_CFLAGS = $(cuda_cflags)
detent_backend_cuda_la_LDFLAGS = $(cuda_ldflags)
detent_backend_cuda_la_LIBADD = libdtcuda.la $(cuda_libs)

libexec_PROGRAMS += detent-gemm-scan
detent_gemm_scan_SOURCES = kernels/gemm/cuda/scan.c
detent_gemm_scan_CFLAGS = $(cuda_cflags)
detent_gemm_scan_LDADD = libdtcuda.la $(cuda_libs)

BUILT_SOURCES += kernels/cuda/build.h
CLEANFILES += kernels/cuda/build.h
kernels/cuda/build.h: $(cuda_backend_all) Makefile
	$(AM_V_GEN)$(MKDIR_P) kernels/cuda && \
	{ for f in $(cuda_backend_all); do cat $(top_srcdir)/$$f || exit 1; done; \
	  $(CC) --version | head -n 1; $(NVCC) --version | tail -n 1; \
	  echo '$(DT_CFLAGS) $(CPPFLAGS) $(CFLAGS) $(nvcc_flags)'; } | sha256sum | \
	  sed 's/^\([0-9a-f]*\).*/#define CUDA_BUILD "\1"/' > $@.tmp && mv $@.tmp $@

$(detent_backend_cuda_la_OBJECTS): kernels/cuda/build.h
$(cuda_backend_lo): $(cuda_backend_c)
endif

# Kernels do not contract: a formula rounds the same wherever it stands.
SUFFIXES = .cu .lo
nvcc_flags = $(NVCC_ARCH) -std=c++17 -O2 --fmad=false -lineinfo -Xcompiler -fPIC \
	-Xcompiler -Wall,-fvisibility=hidden,-fno-threadsafe-statics,-fno-exceptions
nvcc_command = $(NVCC) $(nvcc_flags) -I$(top_srcdir) -I$(top_srcdir)/include -I$(top_builddir) \
	-Werror all-warnings
.cu.lo:
	$(AM_V_GEN)sh $(top_srcdir)/kernels/cuda/nvcc-lo $@ $< $(nvcc_command)
mostlyclean-local: mostlyclean-cuda
mostlyclean-cuda:
	rm -f $(cuda_backend_cu:.cu=.lo) $(cuda_backend_cu:.cu=.o)
.PHONY: mostlyclean-cuda
