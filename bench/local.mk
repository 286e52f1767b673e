# bench/

# kernels
noinst_PROGRAMS += bench/attention_host
bench_attention_host_SOURCES = bench/attention_host.c tests/attention_rig.c tests/attention_rig.h

# selir
noinst_PROGRAMS += bench/selir
bench_selir_SOURCES = bench/selir.c
bench_selir_LDADD = libdtselir.la
# solver
noinst_PROGRAMS += bench/solver
bench_solver_LDADD = libdtsolver.la
