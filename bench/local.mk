# bench/

# kernels
noinst_PROGRAMS += bench/attention_host
bench_attention_host_SOURCES = bench/attention_host.c tests/attention_rig.c tests/attention_rig.h \
	tests/family_rig.c tests/family_rig.h
noinst_PROGRAMS += bench/gemm_host
bench_gemm_host_SOURCES = bench/gemm_host.c tests/family_rig.c tests/family_rig.h
bench_gemm_host_LDADD = -lm
noinst_PROGRAMS += bench/moe_host
bench_moe_host_SOURCES = bench/moe_host.c tests/family_rig.c tests/family_rig.h
bench_moe_host_LDADD = -lm

# kernels/cuda; needs nothing of CUDA to build, and a GPU to run
noinst_PROGRAMS += bench/gpu_gemm
bench_gpu_gemm_SOURCES = bench/gpu_gemm.c $(gpu_rig)
bench_gpu_gemm_LDADD = -lm

# selir
noinst_PROGRAMS += bench/selir
bench_selir_SOURCES = bench/selir.c
bench_selir_LDADD = libdtselir.la
# solver
if HAVE_CHECK
noinst_PROGRAMS += bench/solver
bench_solver_SOURCES = bench/solver.c bench/solver_hit.c bench/solver_hit.h \
    bench/solver_select.c bench/solver_select.h \
    bench/sources.c bench/sources.h $(detent_rig)
bench_solver_CFLAGS = $(detent_rig_cflags) $(SQLITE_CFLAGS)
bench_solver_LDADD = libdtdaemon.la libdtsolver.la libdttrace.la $(detent_rig_libs)
endif
EXTRA_DIST += bench/solver.py

# solver: what each pass is worth
noinst_PROGRAMS += bench/solver-ablation
bench_solver_ablation_SOURCES = bench/solver_ablation.c bench/sources.c bench/sources.h
bench_solver_ablation_LDADD = libdtsolver.la

# tuner
noinst_PROGRAMS += bench/tune_host
bench_tune_host_SOURCES = bench/tune_host.c detentd/message.c detentd/message.h
bench_tune_host_LDADD = libdtprofiler.la libdttuner.la -lm
EXTRA_DIST += bench/wide.yaml bench/wide_gemm.py
# kernels on GPUs, beside the libraries' own
EXTRA_DIST += bench/gpu bench/gpu_allreduce.c
if HAVE_CUDA
noinst_PROGRAMS += bench/gpu-allreduce
bench_gpu_allreduce_SOURCES = bench/gpu_allreduce.c tests/gpu/verdict.c $(gpu_processes)
bench_gpu_allreduce_CFLAGS = $(cuda_cflags)
bench_gpu_allreduce_LDADD = libdtcuda.la $(cuda_libs)
endif
