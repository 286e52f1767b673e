# tests/
EXTRA_DIST += tests/suite.h

# solver
if HAVE_CHECK
solver_tests = tests/test_check tests/test_cut tests/test_deployment tests/test_export \
	tests/test_solve tests/test_vra
check_PROGRAMS += $(solver_tests)
TESTS += $(solver_tests)
tests_test_check_SOURCES = tests/test_check.c tests/graph_random.h tests/solver_rig.h
tests_test_check_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_check_LDADD = libdtsolver.la $(CHECK_LIBS)
tests_test_cut_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_cut_LDADD = libdtsolver.la $(CHECK_LIBS)
tests_test_deployment_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_deployment_LDADD = libdtsolver.la $(CHECK_LIBS)
tests_test_export_SOURCES = tests/test_export.c tests/graph_random.h
tests_test_export_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_export_LDADD = libdtsolver.la $(CHECK_LIBS)
tests_test_solve_SOURCES = tests/test_solve.c tests/graph_random.h tests/solver_rig.h
tests_test_solve_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_solve_LDADD = libdtsolver.la $(CHECK_LIBS)
tests_test_vra_SOURCES = tests/test_vra.c tests/graph_random.h
tests_test_vra_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_vra_LDADD = libdtsolver.la $(CHECK_LIBS)
endif
check_PROGRAMS += tests/cut_graphs
tests_cut_graphs_LDADD = libdtsolver.la
dist_check_SCRIPTS += tests/cut-lemon.sh
TESTS += tests/cut-lemon.sh
EXTRA_DIST += tests/lemon_flow.cc
check_PROGRAMS += tests/fuzz/fuzz_deployment
tests_fuzz_fuzz_deployment_SOURCES = tests/fuzz/fuzz_deployment.c tests/fuzz/replay.c
tests_fuzz_fuzz_deployment_LDADD = libdtsolver.la

# base
if HAVE_CHECK
base_tests = tests/test_base_bytes tests/test_base_canon tests/test_base_mem tests/test_base_sys
check_PROGRAMS += $(base_tests)
TESTS += $(base_tests)
tests_test_base_bytes_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_base_bytes_LDADD = libdtbase.la $(CHECK_LIBS)
tests_test_base_canon_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_base_canon_LDADD = libdtbase.la $(CHECK_LIBS)
tests_test_base_mem_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_base_mem_LDADD = libdtbase.la $(CHECK_LIBS)
tests_test_base_sys_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_base_sys_LDADD = libdtbase.la $(CHECK_LIBS)
endif
dist_check_SCRIPTS += tests/check-layers.sh
TESTS += tests/check-layers.sh
EXTRA_DIST += tests/lengths.sh tests/fuzz-libfuzzer.sh

# Long files and functions, for a person to look at.
lengths:
	@top_srcdir='$(abs_top_srcdir)' sh '$(srcdir)/tests/lengths.sh'
.PHONY: lengths
# selir/, after the front end: graph, range, simplify, emit, vm
if HAVE_CHECK
selir_back_tests = tests/test_op tests/test_graph tests/test_vm tests/test_vm_plan tests/test_range tests/test_simplify
check_PROGRAMS += $(selir_back_tests)
TESTS += $(selir_back_tests)
tests_test_op_SOURCES = tests/test_op.c
tests_test_op_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_op_LDADD = libdtvm.la $(CHECK_LIBS)
tests_test_graph_SOURCES = tests/test_graph.c
tests_test_graph_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_graph_LDADD = libdtselir.la $(CHECK_LIBS)
tests_test_vm_SOURCES = tests/test_vm.c tests/graph_random.h
tests_test_vm_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_vm_LDADD = libdtselir.la $(CHECK_LIBS)
tests_test_vm_plan_SOURCES = tests/test_vm_plan.c
tests_test_vm_plan_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_vm_plan_LDADD = libdtselir.la $(CHECK_LIBS)
tests_test_range_SOURCES = tests/test_range.c tests/graph_random.h
tests_test_range_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_range_LDADD = libdtsolver.la libdtselir.la $(CHECK_LIBS)
tests_test_simplify_SOURCES = tests/test_simplify.c tests/graph_random.h
tests_test_simplify_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_simplify_LDADD = libdtselir.la $(CHECK_LIBS)
endif
check_PROGRAMS += tests/op_cases
tests_op_cases_SOURCES = tests/op_cases.c
tests_op_cases_LDADD = libdtvm.la
dist_check_SCRIPTS += tests/op_python.sh
TESTS += tests/op_python.sh
EXTRA_DIST += tests/op_python.py
check_PROGRAMS += tests/fuzz/fuzz_vm
tests_fuzz_fuzz_vm_SOURCES = tests/fuzz/fuzz_vm.c tests/fuzz/replay.c
tests_fuzz_fuzz_vm_LDADD = libdtvm.la
check_PROGRAMS += tests/fuzz/fuzz_simplify
tests_fuzz_fuzz_simplify_SOURCES = tests/fuzz/fuzz_simplify.c tests/fuzz/fuzz_program.h \
	tests/fuzz/replay.c
tests_fuzz_fuzz_simplify_LDADD = libdtselir.la

# kernels
if HAVE_CHECK
check_LTLIBRARIES += tests/backend-planted.la
tests_backend_planted_la_SOURCES = tests/backend-planted.c $(host_backend_sources)
nodist_tests_backend_planted_la_SOURCES = kernels/host/build.h
tests_backend_planted_la_CPPFLAGS = $(AM_CPPFLAGS) -DDT_PLANT
tests_backend_planted_la_CFLAGS = $(AM_CFLAGS) -Wno-psabi
tests_backend_planted_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
tests_backend_planted_la_LIBADD = -lm
$(tests_backend_planted_la_OBJECTS): kernels/host/build.h
attention_rig = tests/attention_rig.c tests/attention_rig.h tests/family_rig.c tests/family_rig.h
check_PROGRAMS += tests/test_attention tests/test_attention_invariance
TESTS += tests/test_attention tests/test_attention_invariance
tests_test_attention_SOURCES = tests/test_attention.c $(attention_rig)
tests_test_attention_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_attention_LDADD = $(CHECK_LIBS)
tests_test_attention_invariance_SOURCES = tests/test_attention_invariance.c $(attention_rig)
tests_test_attention_invariance_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_attention_invariance_LDADD = $(CHECK_LIBS)

# gemm on the host; tests/family_rig runs calls of any family, family_check asks what all
# of them are asked.
family_check = tests/family_check.c tests/family_check.h tests/family_rig.c tests/family_rig.h
check_PROGRAMS += tests/test_gemm tests/test_gemm_invariance
TESTS += tests/test_gemm tests/test_gemm_invariance
tests_test_gemm_SOURCES = tests/test_gemm.c $(family_check)
tests_test_gemm_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_gemm_LDADD = $(CHECK_LIBS) -lm
tests_test_gemm_invariance_SOURCES = tests/test_gemm_invariance.c $(family_check)
tests_test_gemm_invariance_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_gemm_invariance_LDADD = $(CHECK_LIBS) -lm

# moe on the host
check_PROGRAMS += tests/test_moe tests/test_moe_invariance
TESTS += tests/test_moe tests/test_moe_invariance
tests_test_moe_SOURCES = tests/test_moe.c $(family_check) tests/moe_rig.h
tests_test_moe_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_moe_LDADD = $(CHECK_LIBS) -lm
tests_test_moe_invariance_SOURCES = tests/test_moe_invariance.c $(family_check) tests/moe_rig.h
tests_test_moe_invariance_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_moe_invariance_LDADD = $(CHECK_LIBS) -lm
endif

# kernels: allreduce, rowwise
if HAVE_CHECK
check_PROGRAMS += tests/test_allreduce
TESTS += tests/test_allreduce
tests_test_allreduce_SOURCES = tests/test_allreduce.c $(family_check)
tests_test_allreduce_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_allreduce_LDADD = $(CHECK_LIBS) -lm
check_PROGRAMS += tests/test_rowwise
TESTS += tests/test_rowwise
tests_test_rowwise_SOURCES = tests/test_rowwise.c $(family_check)
tests_test_rowwise_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_rowwise_LDADD = $(CHECK_LIBS) -lm
endif

# proto
if HAVE_CHECK
proto_tests = tests/test_frame tests/test_wire
check_PROGRAMS += $(proto_tests)
TESTS += $(proto_tests)
tests_test_frame_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_frame_LDADD = libdtproto.la libdtbase.la $(CHECK_LIBS)
tests_test_wire_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) $(ZMQ_CFLAGS) $(PROTOBUF_C_CFLAGS)
tests_test_wire_LDADD = libdtproto.la libdtbase.la $(ZMQ_LIBS) $(CHECK_LIBS)
endif
dist_check_SCRIPTS += tests/proto-example.sh
TESTS += tests/proto-example.sh
# profiler/
check_LTLIBRARIES += backend-crash.la backend-hang.la backend-picky.la backend-ranks.la \
	backend-strict.la backend-told.la backend-steady.la
backend_steady_la_SOURCES = tests/backend-steady.c
backend_steady_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
backend_told_la_SOURCES = tests/backend-faulty.c
backend_told_la_CPPFLAGS = $(AM_CPPFLAGS) -DDT_FAULTY_TOLD
backend_told_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
backend_ranks_la_SOURCES = tests/backend-faulty.c
backend_ranks_la_CPPFLAGS = $(AM_CPPFLAGS) -DDT_FAULTY_RANKS
backend_ranks_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
backend_strict_la_SOURCES = tests/backend-faulty.c
backend_strict_la_CPPFLAGS = $(AM_CPPFLAGS) -DDT_FAULTY_STRICT
backend_strict_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
backend_picky_la_SOURCES = tests/backend-faulty.c
backend_picky_la_CPPFLAGS = $(AM_CPPFLAGS) -DDT_FAULTY_PICKY
backend_picky_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
backend_crash_la_SOURCES = tests/backend-faulty.c
backend_crash_la_CPPFLAGS = $(AM_CPPFLAGS) -DDT_FAULTY_CRASH
backend_crash_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
backend_hang_la_SOURCES = tests/backend-faulty.c
backend_hang_la_CPPFLAGS = $(AM_CPPFLAGS) -DDT_FAULTY_HANG
backend_hang_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
if HAVE_CHECK
check_PROGRAMS += tests/test_worker
TESTS += tests/test_worker
tests_test_worker_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) $(PROTOBUF_C_CFLAGS)
tests_test_worker_LDADD = libdtproto.la libdtbase.la $(CHECK_LIBS)
check_PROGRAMS += tests/test_lane
TESTS += tests/test_lane
tests_test_lane_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) $(PROTOBUF_C_CFLAGS)
tests_test_lane_LDADD = libdtprofiler.la $(CHECK_LIBS)
endif
# fuzz targets: replayed over their corpora without libFuzzer
fuzz_replay = tests/fuzz/replay.c
EXTRA_DIST += tests/fuzz/corpus
dist_check_SCRIPTS += tests/fuzz.sh
TESTS += tests/fuzz.sh
# trace/
if HAVE_CHECK
trace_tests = tests/test_schema tests/test_dtrace tests/test_import tests/test_schedule
check_PROGRAMS += $(trace_tests)
TESTS += $(trace_tests)
tests_test_schema_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_schema_LDADD = libdttrace.la $(CHECK_LIBS)
tests_test_dtrace_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_dtrace_LDADD = libdttrace.la $(CHECK_LIBS)
tests_test_import_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_import_LDADD = libdttrace.la $(CHECK_LIBS)
tests_test_schedule_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_schedule_LDADD = libdttrace.la $(CHECK_LIBS)
endif
check_PROGRAMS += tests/fuzz/fuzz_dtrace tests/fuzz/fuzz_import
tests_fuzz_fuzz_dtrace_SOURCES = tests/fuzz/fuzz_dtrace.c $(fuzz_replay)
tests_fuzz_fuzz_dtrace_LDADD = libdttrace.la
tests_fuzz_fuzz_import_SOURCES = tests/fuzz/fuzz_import.c $(fuzz_replay)
tests_fuzz_fuzz_import_LDADD = libdttrace.la

# libdetent
if HAVE_CHECK
detent_rig = tests/detent_rig.c tests/detent_rig.h
detent_rig_cflags = $(AM_CFLAGS) $(CHECK_CFLAGS) $(ZMQ_CFLAGS) $(PROTOBUF_C_CFLAGS) $(SODIUM_CFLAGS)
detent_rig_libs = libdetent.la libdtselir.la libdtpb.la $(ZMQ_LIBS) $(SODIUM_LIBS) $(CHECK_LIBS)
check_PROGRAMS += tests/test_libdetent tests/test_libdetent_threads
TESTS += tests/test_libdetent tests/test_libdetent_threads
tests_test_libdetent_SOURCES = tests/test_libdetent.c proto/certificate.c $(detent_rig)
tests_test_libdetent_CFLAGS = $(detent_rig_cflags)
tests_test_libdetent_LDADD = libdtcalls.la $(detent_rig_libs)
tests_test_libdetent_threads_SOURCES = tests/test_libdetent_threads.c $(detent_rig)
tests_test_libdetent_threads_CFLAGS = $(detent_rig_cflags)
tests_test_libdetent_threads_LDADD = $(detent_rig_libs)
# From inside: its objects, with the hook that makes an allocation fail.
check_PROGRAMS += tests/test_handle
TESTS += tests/test_handle
tests_test_handle_SOURCES = tests/test_handle.c $(detent_rig)
tests_test_handle_CFLAGS = $(detent_rig_cflags)
tests_test_handle_LDADD = $(libdetent_la_OBJECTS) libdtproto.la libdtcalls.la libdtselir.la \
	libdtbase.la $(ZMQ_LIBS) $(PROTOBUF_C_LIBS) $(SODIUM_LIBS) $(CHECK_LIBS)
tests_test_handle_DEPENDENCIES = $(libdetent_la_OBJECTS) libdtproto.la libdtcalls.la \
	libdtselir.la libdtbase.la
if !SANITIZED
# A sanitizer has a malloc of its own.
check_PROGRAMS += tests/test_noalloc
TESTS += tests/test_noalloc
tests_test_noalloc_SOURCES = tests/test_noalloc.c $(detent_rig)
tests_test_noalloc_CFLAGS = $(detent_rig_cflags)
tests_test_noalloc_LDADD = $(detent_rig_libs)
endif
endif

# detentd
EXTRA_DIST += tests/battery-traces.sh tests/kill-rounds.sh tests/tune-traces.sh
if HAVE_CHECK
daemon_tests = tests/test_store tests/test_dispatch tests/test_daemon tests/test_kill tests/test_tune \
	tests/test_requests
daemon_test_cflags = $(AM_CFLAGS) $(CHECK_CFLAGS) $(PROTOBUF_C_CFLAGS) $(ZMQ_CFLAGS) \
	$(SQLITE_CFLAGS) $(SODIUM_CFLAGS)
check_PROGRAMS += $(daemon_tests) tests/detentd_kill
TESTS += $(daemon_tests)
tests_test_store_CFLAGS = $(daemon_test_cflags)
tests_test_store_LDADD = libdtdaemon.la $(CHECK_LIBS)
tests_test_dispatch_CFLAGS = $(daemon_test_cflags)
tests_test_dispatch_LDADD = libdtdaemon.la $(CHECK_LIBS)
tests_test_daemon_SOURCES = tests/test_daemon.c tests/daemon_rig.c tests/daemon_rig.h
tests_test_daemon_CFLAGS = $(daemon_test_cflags)
tests_test_daemon_LDADD = libdtdaemon.la $(CHECK_LIBS)
tests_test_tune_SOURCES = tests/test_tune.c tests/daemon_rig.c tests/daemon_rig.h
tests_test_tune_CFLAGS = $(daemon_test_cflags)
tests_test_tune_LDADD = libdtdaemon.la $(CHECK_LIBS)
tests_test_requests_SOURCES = tests/test_requests.c tests/daemon_rig.c tests/daemon_rig.h
tests_test_requests_CFLAGS = $(daemon_test_cflags)
tests_test_requests_LDADD = libdtdaemon.la $(CHECK_LIBS)
tests_test_kill_SOURCES = tests/test_kill.c tests/daemon_rig.c tests/daemon_rig.h
tests_test_kill_CFLAGS = $(daemon_test_cflags)
tests_test_kill_LDADD = libdtdaemon.la $(CHECK_LIBS)
tests_detentd_kill_CFLAGS = $(daemon_test_cflags)
tests_detentd_kill_LDADD = libdtdaemon.la
endif
# libdetent against a real detentd
if HAVE_CHECK
check_PROGRAMS += tests/test_fetch
TESTS += tests/test_fetch
tests_test_fetch_SOURCES = tests/test_fetch.c tests/daemon_rig.c tests/daemon_rig.h $(detent_rig)
tests_test_fetch_CFLAGS = $(detent_rig_cflags) $(SQLITE_CFLAGS)
tests_test_fetch_LDADD = libdtdaemon.la $(detent_rig_libs)
endif

# verify, engines/ref
if HAVE_CHECK
check_PROGRAMS += tests/make_tokens tests/make_trace tests/serve_bundle tests/verify_varying
tests_make_tokens_SOURCES = tests/make_tokens.c
tests_make_tokens_LDADD = libdttrace.la
tests_make_trace_SOURCES = tests/make_trace.c
tests_make_trace_LDADD = libdttrace.la
tests_serve_bundle_SOURCES = tests/serve_bundle.c $(detent_rig)
tests_serve_bundle_CFLAGS = $(detent_rig_cflags)
tests_serve_bundle_LDADD = $(detent_rig_libs)
tests_verify_varying_SOURCES = tests/verify_varying.c
tests_verify_varying_LDADD = libdtverify.la libdetent.la libdtcalls.la libdtbase.la
TESTS += tests/verify.sh tests/families.sh
endif
dist_check_SCRIPTS += tests/verify.sh tests/families.sh
# selir/: the front end
check_PROGRAMS += tests/selir_eval tests/fuzz/fuzz_parse
tests_selir_eval_SOURCES = tests/selir_eval.c
tests_selir_eval_LDADD = libdtselir.la
tests_fuzz_fuzz_parse_SOURCES = tests/fuzz/fuzz_parse.c $(fuzz_replay)
tests_fuzz_fuzz_parse_LDADD = libdtselir.la
dist_check_SCRIPTS += tests/selir_differential.sh tests/selir_refusals.sh tests/selir_edges.sh
TESTS += tests/selir_differential.sh tests/selir_refusals.sh tests/selir_edges.sh
EXTRA_DIST += tests/selir_differential.py tests/selir_programs.py tests/selir_statements.py \
	tests/selir_refusals.py tests/selir_edges.py tests/mutants.sh tests/mutants.py tests/mutants.list \
	doc/selir-mutants.md
if HAVE_CHECK
check_PROGRAMS += tests/test_lex tests/test_parse tests/test_specialise
TESTS += tests/test_lex tests/test_parse tests/test_specialise
tests_test_lex_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_lex_LDADD = libdtselir.la $(CHECK_LIBS)
tests_test_parse_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_parse_LDADD = libdtselir.la $(CHECK_LIBS)
tests_test_specialise_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_specialise_LDADD = libdtselir.la $(CHECK_LIBS)
endif

# `make fuzz FUZZ_SECONDS=600 FUZZ_TARGETS=parse` looks for new inputs; it wants clang
# with libFuzzer, and is not part of `make check`, which replays the corpora.
FUZZ_SECONDS = 30
fuzz:
	@top_srcdir='$(abs_top_srcdir)' top_builddir='$(abs_top_builddir)' \
		FUZZ_SECONDS='$(FUZZ_SECONDS)' FUZZ_TARGETS='$(FUZZ_TARGETS)' \
		FUZZ_LIBS='$(SODIUM_LIBS) $(XXHASH_LIBS) $(ZSTD_LIBS) $(JANSSON_LIBS) $(YAML_LIBS)' \
		sh '$(srcdir)/tests/fuzz-libfuzzer.sh'
.PHONY: fuzz
# detentctl, man
ctl_tests = tests/ctl-man.sh tests/ctl-selir.sh tests/ctl-trace.sh tests/ctl-usage.sh tests/doc-selir.sh \
	tests/session.sh tests/session-selir.sh
EXTRA_DIST += tests/doc_selir.py tests/daemon.sh tests/lib.sh
dist_check_SCRIPTS += $(ctl_tests)
TESTS += $(ctl_tests)
# tuner/
if HAVE_CHECK
tuner_tests = tests/test_race tests/test_tables tests/test_tune_site tests/test_tuple
check_PROGRAMS += $(tuner_tests)
TESTS += $(tuner_tests)
tests_test_race_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_race_LDADD = libdttuner.la $(CHECK_LIBS)
EXTRA_DIST += tests/tuner-deployment.yaml
tests_test_tune_site_SOURCES = tests/test_tune_site.c tests/tuner_rig.c tests/tuner_rig.h
tests_test_tune_site_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_tune_site_LDADD = libdttuner.la $(CHECK_LIBS)
tests_test_tables_SOURCES = tests/test_tables.c tests/tuner_rig.c tests/tuner_rig.h
tests_test_tables_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_tables_LDADD = libdttuner.la $(CHECK_LIBS)
tests_test_tuple_SOURCES = tests/test_tuple.c tests/tuner_rig.c tests/tuner_rig.h
tests_test_tuple_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_tuple_LDADD = libdttuner.la $(CHECK_LIBS)
endif

# README
dist_check_SCRIPTS += tests/readme.sh
TESTS += tests/readme.sh
EXTRA_DIST += README.md HACKING.md NEWS LICENSE

# selir/program_digest
if HAVE_CHECK
check_PROGRAMS += tests/test_program_digest
TESTS += tests/test_program_digest
tests_test_program_digest_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_test_program_digest_LDADD = libdtselir.la $(CHECK_LIBS)
endif

# the daemon under valgrind, where no sanitizer is in the way
dist_check_SCRIPTS += tests/valgrind.sh
if !SANITIZED
TESTS += tests/valgrind.sh
endif

# What makes sense under --enable-sanitizers=thread, for
# make check TESTS='$(thread_tests)': threads that share memory, and no program whose
# libraries (ZeroMQ, SQLite) are not built for it.
thread_tests = tests/test_libdetent_threads tests/test_attention_invariance tests/test_attention

# programs/sglang
dist_check_SCRIPTS += tests/programs-sglang.sh tests/deployments.sh tests/deployments-cut.sh
TESTS += tests/programs-sglang.sh tests/deployments.sh tests/deployments-cut.sh
EXTRA_DIST += tests/programs_vm.py tests/programs_sglang.py tests/deployments.py tests/deployments_cut.py
# programs/vllm
dist_check_SCRIPTS += tests/programs-vllm.sh tests/deployment-new.sh
TESTS += tests/programs-vllm.sh tests/deployment-new.sh
EXTRA_DIST += tests/programs_vllm.py tests/configs/llama-3.1-70b.json tests/configs/qwen3-30b-a3b.json

# keys, and stores of another version; what once gave wrong answers, through detentctl
dist_check_SCRIPTS += tests/issues/b13-cuts.sh tests/issues/b19-tables.sh tests/issues/b07-unset.sh tests/issues/b32-neighbour.sh \
	tests/issues/b35-empty.sh
TESTS += tests/issues/b13-cuts.sh tests/issues/b19-tables.sh tests/issues/b07-unset.sh tests/issues/b32-neighbour.sh \
	tests/issues/b35-empty.sh
if HAVE_CHECK
check_PROGRAMS += tests/test_keys
TESTS += tests/test_keys
tests_test_keys_SOURCES = tests/test_keys.c tests/daemon_rig.c tests/daemon_rig.h
tests_test_keys_CFLAGS = $(daemon_test_cflags)
tests_test_keys_LDADD = libdtdaemon.la $(CHECK_LIBS)
endif

# kernels/cuda: what needs no GPU, and the programs that tests/gpu/run runs on one
gpu_rig = tests/gpu/rig.c tests/gpu/rig.h tests/gpu/verdict.c tests/gpu/verdict.h
gpu_processes = tests/gpu/processes.c tests/gpu/processes.h
dist_check_SCRIPTS += tests/no-device.sh
TESTS += tests/no-device.sh
EXTRA_DIST += tests/gpu/test_cuda_host.c tests/gpu/check.c tests/gpu/planted.c tests/gpu/cublaslt.c \
	$(gpu_rig) $(gpu_processes) tests/gpu/run tests/gpu/checks.sh tests/gpu/sessions.sh \
	tests/gpu/faults.sh tests/gpu/figures.sh tests/gpu/trap.cu tests/gpu/trap.h \
	tests/gpu/nccl.c tests/gpu/nccl.h tests/gpu/nvml.c tests/gpu/standin.c tests/gpu/standin.h \
	tests/gpu/test_cuda_frame.c
if HAVE_CUDA
if HAVE_CHECK
check_PROGRAMS += tests/gpu/test_cuda_frame
TESTS += tests/gpu/test_cuda_frame
tests_gpu_test_cuda_frame_SOURCES = tests/gpu/test_cuda_frame.c tests/gpu/standin.c $(cuda_backend_main)
nodist_tests_gpu_test_cuda_frame_SOURCES = kernels/cuda/build.h
tests_gpu_test_cuda_frame_CFLAGS = $(cuda_cflags) $(CHECK_CFLAGS)
tests_gpu_test_cuda_frame_LDADD = libdtcuda.la $(cuda_libs) $(CHECK_LIBS)
$(tests_gpu_test_cuda_frame_OBJECTS): kernels/cuda/build.h
# Every call that tests/gpu/standin.c stands in for.
tests_gpu_test_cuda_frame_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=cudaSetDevice \
	-Wl,--wrap=cudaStreamCreateWithFlags -Wl,--wrap=cudaStreamDestroy \
	-Wl,--wrap=cudaStreamSynchronize -Wl,--wrap=cudaStreamQuery \
	-Wl,--wrap=cudaStreamBeginCapture -Wl,--wrap=cudaStreamEndCapture \
	-Wl,--wrap=cudaGraphInstantiate -Wl,--wrap=cudaGraphUpload -Wl,--wrap=cudaGraphLaunch \
	-Wl,--wrap=cudaGraphGetNodes -Wl,--wrap=cudaGraphNodeGetType \
	-Wl,--wrap=cudaEventCreate -Wl,--wrap=cudaEventDestroy -Wl,--wrap=cudaEventRecord \
	-Wl,--wrap=cudaEventElapsedTime -Wl,--wrap=cudaDriverGetVersion -Wl,--wrap=cudaFreeHost \
	-Wl,--wrap=cudaGetDeviceCount -Wl,--wrap=cudaGetDeviceProperties \
	-Wl,--wrap=cudaDeviceGetPCIBusId -Wl,--wrap=cudaMalloc -Wl,--wrap=cudaFree \
	-Wl,--wrap=cudaHostAlloc -Wl,--wrap=cudaHostGetDevicePointer \
	-Wl,--wrap=cudaMemsetAsync -Wl,--wrap=cudaMemcpyAsync \
	-Wl,--wrap=cudaMemset -Wl,--wrap=cudaDeviceSynchronize -Wl,--wrap=cudaIpcGetMemHandle \
	-Wl,--wrap=cudaIpcOpenMemHandle -Wl,--wrap=cudaIpcCloseMemHandle \
	-Wl,--wrap=cuda_delay_launch -Wl,--wrap=cuda_sweep_launch -Wl,--wrap=gemm_fill_launch \
	-Wl,--wrap=gemm_chain_launch -Wl,--wrap=ar_load
check_LTLIBRARIES += tests/gpu/libnccl.la
tests_gpu_libnccl_la_SOURCES = tests/gpu/nccl.c tests/gpu/nccl.h
tests_gpu_libnccl_la_LDFLAGS = -shared -rpath /nowhere -version-info 2:0:0
check_LTLIBRARIES += tests/gpu/libnvidia-ml.la
tests_gpu_libnvidia_ml_la_SOURCES = tests/gpu/nvml.c
tests_gpu_libnvidia_ml_la_LDFLAGS = -shared -rpath /nowhere -version-info 1:0:0
check_PROGRAMS += tests/gpu/test_cuda_host
TESTS += tests/gpu/test_cuda_host
tests_gpu_test_cuda_host_CFLAGS = $(cuda_cflags) $(CHECK_CFLAGS)
tests_gpu_test_cuda_host_LDADD = libdtcuda.la $(cuda_libs) $(CHECK_LIBS)
# The name that the backend looks for is the name that the linker gives it.
check_LTLIBRARIES += tests/gpu/libcublasLt.la
tests_gpu_libcublasLt_la_SOURCES = tests/gpu/cublaslt.c
tests_gpu_libcublasLt_la_LDFLAGS = -shared -rpath /nowhere -version-info 13:0:0
endif
check_PROGRAMS += tests/gpu/check
tests_gpu_check_SOURCES = tests/gpu/check.c $(gpu_rig)
tests_gpu_check_CFLAGS = $(cuda_cflags)
tests_gpu_check_LDADD = libdtcuda.la $(cuda_libs)
check_LTLIBRARIES += tests/gpu/backend-cuda-planted.la
cuda_planted_lo = tests/gpu/delay-planted.lo tests/gpu/chain-planted.lo tests/gpu/fill-planted.lo \
	tests/gpu/reduce-planted.lo tests/gpu/sums-fill-planted.lo tests/gpu/trap.lo kernels/cuda/sweep.lo
tests_gpu_backend_cuda_planted_la_SOURCES = tests/gpu/planted.c \
	$(cuda_backend_main) $(cuda_backend_c)
nodist_tests_gpu_backend_cuda_planted_la_SOURCES = kernels/cuda/build.h
tests_gpu_backend_cuda_planted_la_CPPFLAGS = $(AM_CPPFLAGS) -DDT_PLANT
tests_gpu_backend_cuda_planted_la_CFLAGS = $(cuda_cflags)
tests_gpu_backend_cuda_planted_la_LDFLAGS = $(cuda_ldflags) -rpath /nowhere
tests_gpu_backend_cuda_planted_la_LIBADD = $(cuda_planted_lo) $(cuda_libs)
tests_gpu_backend_cuda_planted_la_DEPENDENCIES = $(cuda_planted_lo)
$(tests_gpu_backend_cuda_planted_la_OBJECTS): kernels/cuda/build.h
tests/gpu/delay-planted.lo: $(top_srcdir)/kernels/cuda/delay.cu $(cuda_backend_c)
	$(AM_V_GEN)sh $(top_srcdir)/kernels/cuda/nvcc-lo $@ $< $(nvcc_command) -DDT_PLANT
tests/gpu/trap.lo: $(top_srcdir)/tests/gpu/trap.cu $(top_srcdir)/tests/gpu/trap.h
	$(AM_V_GEN)sh $(top_srcdir)/kernels/cuda/nvcc-lo $@ $< $(nvcc_command)
tests/gpu/chain-planted.lo: $(top_srcdir)/kernels/gemm/cuda/chain.cu $(cuda_backend_c)
	$(AM_V_GEN)sh $(top_srcdir)/kernels/cuda/nvcc-lo $@ $< $(nvcc_command) -DDT_PLANT
tests/gpu/reduce-planted.lo: $(top_srcdir)/kernels/allreduce/cuda/reduce.cu $(cuda_backend_c)
	$(AM_V_GEN)sh $(top_srcdir)/kernels/cuda/nvcc-lo $@ $< $(nvcc_command) -DDT_PLANT
tests/gpu/sums-fill-planted.lo: $(top_srcdir)/kernels/allreduce/cuda/fill.cu $(cuda_backend_c)
	$(AM_V_GEN)sh $(top_srcdir)/kernels/cuda/nvcc-lo $@ $< $(nvcc_command) -DDT_PLANT
tests/gpu/fill-planted.lo: $(top_srcdir)/kernels/gemm/cuda/fill.cu $(cuda_backend_c)
	$(AM_V_GEN)sh $(top_srcdir)/kernels/cuda/nvcc-lo $@ $< $(nvcc_command) -DDT_PLANT
endif
# certificates
if HAVE_CHECK
check_PROGRAMS += tests/test_certify
TESTS += tests/test_certify
tests_test_certify_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) $(PROTOBUF_C_CFLAGS) $(SQLITE_CFLAGS)
tests_test_certify_LDADD = libdtdaemon.la $(CHECK_LIBS)
endif
EXTRA_DIST += tests/certify-deployment.yaml

# Assignments of the engines' attention, tried.
check_PROGRAMS += tests/legality
tests_legality_SOURCES = tests/legality.c bench/sources.c bench/sources.h
tests_legality_LDADD = libdtsolver.la
dist_check_SCRIPTS += tests/legality.sh tests/legality_programs.sh
TESTS += tests/legality.sh tests/legality_programs.sh
EXTRA_DIST += tests/legality_programs.py tests/legality_make.py
dist_check_SCRIPTS += tests/session-certify.sh
TESTS += tests/session-certify.sh
# kernels/allreduce/cuda: on GPUs alone
EXTRA_DIST += tests/gpu/ranks.c tests/gpu/group.c tests/gpu/sums.c tests/gpu/sums.h tests/gpu/committed.c \
	tests/gpu/records.c tests/gpu/caches.c tests/gpu/must.h
if HAVE_CUDA
check_PROGRAMS += tests/gpu/ranks
tests_gpu_ranks_SOURCES = tests/gpu/ranks.c tests/gpu/sums.c $(gpu_rig)
tests_gpu_ranks_CFLAGS = $(cuda_cflags)
tests_gpu_ranks_LDADD = libdtcuda.la $(cuda_libs) -lm
check_PROGRAMS += tests/gpu/group
tests_gpu_group_SOURCES = tests/gpu/group.c tests/gpu/sums.c $(gpu_rig) $(gpu_processes)
tests_gpu_group_CFLAGS = $(cuda_cflags)
tests_gpu_group_LDADD = libdtcuda.la $(cuda_libs) -lm
check_PROGRAMS += tests/gpu/committed
tests_gpu_committed_SOURCES = tests/gpu/committed.c $(gpu_rig) $(gpu_processes)
tests_gpu_committed_LDADD = libdetent.la
check_PROGRAMS += tests/gpu/records
tests_gpu_records_SOURCES = tests/gpu/records.c tests/gpu/verdict.c
tests_gpu_records_CFLAGS = $(cuda_cflags)
tests_gpu_records_LDADD = libdtcuda.la $(cuda_libs)
check_PROGRAMS += tests/gpu/caches
tests_gpu_caches_SOURCES = tests/gpu/caches.c tests/gpu/verdict.c
tests_gpu_caches_CFLAGS = $(cuda_cflags)
tests_gpu_caches_LDADD = libdtcuda.la $(cuda_libs)
endif

# Devices that are lost, shared, or leased to another detentd.
if HAVE_CHECK
check_PROGRAMS += tests/test_conditions
tests_test_conditions_SOURCES = tests/test_conditions.c
tests_test_conditions_CFLAGS = $(daemon_test_cflags)
tests_test_conditions_LDADD = libdtdaemon.la $(CHECK_LIBS)
TESTS += tests/test_conditions
endif
dist_check_SCRIPTS += tests/held.sh tests/hostile.sh tests/lease.sh
TESTS += tests/held.sh tests/hostile.sh tests/lease.sh

# A store on a full disk.
dist_check_SCRIPTS += tests/full-disk.sh
TESTS += tests/full-disk.sh

# Two families with sites of one name.
dist_check_SCRIPTS += tests/same-site.sh
TESTS += tests/same-site.sh
