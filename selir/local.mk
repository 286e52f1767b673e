# selir/: the language.  libdtvm is the part that engines link.
noinst_LTLIBRARIES += libdtvm.la libdtselir.la
libdtvm_la_SOURCES = \
	selir/op.c selir/op.h selir/op_int.h \
	selir/op_float.c \
	selir/vm.c selir/vm.h selir/vm_int.h \
	selir/vm_load.c \
	selir/vm_plan.c \
	selir/vm_text.c
libdtvm_la_LIBADD = libdtbase.la

libdtselir_la_SOURCES = \
	selir/domain.c \
	selir/emit.c selir/emit.h \
	selir/graph.c selir/graph.h \
	selir/interval.c selir/interval_float.c \
	selir/pass_algebra.c \
	selir/pass_fold.c \
	selir/pass_path.c \
	selir/pass_range.c \
	selir/pass_select.c \
	selir/range.c selir/range.h selir/range_int.h \
	selir/simplify.c selir/simplify.h selir/simplify_int.h
libdtselir_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
libdtselir_la_LIBADD = libdtvm.la $(JANSSON_LIBS) libdtbase.la

# The front end: from source text to a graph.
libdtselir_la_SOURCES += \
	selir/ast.h \
	selir/builtins.c \
	selir/check.c selir/check.h \
	selir/check_class.c \
	selir/diag.c selir/diag.h \
	selir/lex.c selir/lex.h \
	selir/lex_literal.c \
	selir/outcome.c \
	selir/parse.c selir/parse.h \
	selir/parse_atom.c \
	selir/parse_def.c \
	selir/parse_expr.c \
	selir/program.c selir/program.h \
	selir/program_digest.c \
	selir/refuse.c selir/refuse.h \
	selir/spec.h \
	selir/spec_build.c \
	selir/spec_call.c \
	selir/spec_comp.c \
	selir/spec_compare.c \
	selir/spec_expr.c \
	selir/spec_fold.c \
	selir/spec_number.c \
	selir/spec_op.c \
	selir/spec_selir.c \
	selir/spec_sort.c \
	selir/spec_stmt.c \
	selir/spec_table.c \
	selir/spec_walk.c \
	selir/specialise.c \
	selir/value.c selir/value.h
