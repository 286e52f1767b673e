#!/bin/sh
# Seed the faults of tests/mutants.list one at a time into a copy of the tree, and run
# the tests that could tell, cheap ones first, until one does.  Prints a table; fails if
# a fault survives.  By hand: some 15 minutes on 2 cores.
#
#   tests/mutants.sh [NUMBER...]     all faults, or those only
#
# PROGRAMS=n: of the differential test, the last resort (200).  The outcome is kept in
# doc/selir-mutants.md.
set -eu
: "${top_srcdir:=$(cd "$(dirname "$0")/.." && pwd)}" "${PYTHON3:=python3}" "${PROGRAMS:=200}"
LIMIT=120 # seconds a test may take: some faults make a loop endless
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src" "$work/build"
(cd "$top_srcdir" && tar cf - --exclude=./build --exclude=./.git --exclude=./autom4te.cache .) |
    tar xf - -C "$work/src"
total=$("$PYTHON3" "$top_srcdir/tests/mutants.py" "$top_srcdir/tests/mutants.list" "$work/src" 0)
[ -x "$work/src/configure" ] || (cd "$work/src" && ./autogen.sh) >"$work/log" 2>&1
(cd "$work/build" && ../src/configure CFLAGS='-O1') >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }

# What each test needs.
needs ()
{
    case $1 in
    op_python.sh) echo tests/op_cases ;;
    legality_programs.sh) echo detentctl/detentctl ;;
    *.sh) echo tests/selir_eval ;;
    *) echo "tests/$1" ;;
    esac
}

# The tests that could tell a fault of a file, the likely and cheap ones first.
tests_of ()
{
    case $1 in
    selir/op*) echo test_op op_python.sh test_range ;;
    selir/interval.c|selir/range.c) echo test_range test_simplify ;;
    selir/pass_*|selir/simplify.c) echo test_simplify ;;
    selir/emit.c|selir/vm*) echo test_vm ;;
    selir/lex*) echo test_lex ;;
    selir/parse*) echo test_parse ;;
    solver/*) echo legality_programs.sh test_solve; return ;;
    esac
    echo test_specialise selir_edges.sh selir_differential.sh
}

# Run one test on the build as it is; 0 if it passes.
passes ()
{
    make -s -C "$work/build" $(needs "$1") >"$work/log" 2>&1 ||
        { echo "$1 does not build:"; tail -n 30 "$work/log"; exit 1; }
    case $1 in *.sh) program=$work/src/tests/$1 ;; *) program=$work/build/tests/$1 ;; esac
    (cd "$work" && top_srcdir=$work/src top_builddir=$work/build PYTHON3=$PYTHON3 \
        PROGRAMS=$PROGRAMS CK_FORK=yes timeout "$LIMIT" "$program") >"$work/log" 2>&1
}

for test in test_op op_python.sh test_range test_simplify test_vm test_lex test_parse $(tests_of .) $(tests_of solver/.); do
    passes "$test" || { echo "$test fails without a fault:"; tail -n 30 "$work/log"; exit 1; }
done

survived=0 done=0
echo '| fault | file | caught by | seconds |'
echo '|---|---|---|---|'
for number in ${*:-$(seq "$total")}; do
    row=$("$PYTHON3" "$top_srcdir/tests/mutants.py" "$top_srcdir/tests/mutants.list" "$work/src" "$number")
    name=${row%"$(printf '\t')"*} file=${row#*"$(printf '\t')"}
    begin=$(date +%s) by=
    for test in $(tests_of "$file"); do
        passes "$test" || { by=$test; break; }
    done
    [ -n "$by" ] || survived=$((survived + 1))
    echo "| \`$name\` | ${file#selir/} | ${by:-**survived**} | $(($(date +%s) - begin)) |"
    done=$((done + 1))
    cp "$top_srcdir/$file" "$work/src/$file"
done
echo
echo "$((done - survived)) of $done caught"
[ "$survived" = 0 ]
