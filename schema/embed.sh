#!/bin/sh
# usage: embed.sh 0001-slug.sql ... > migrations.c
# The migrations as a C table, in order of their numbers; a gap is an error.
set -e
echo '/* Made by schema/embed.sh from schema/NNNN-slug.sql. */'
echo '#include "detentd/store_sql.h"'
echo
echo 'const struct dt_migration dt_migrations[] = {'
want=1
for f; do
    base=$(basename "$f" .sql)
    number=$(expr "${base%%-*}" + 0)
    [ "$number" = "$want" ] || { echo "embed.sh: $f: expected number $want" >&2; exit 1; }
    echo "    { $number, \"$base\","
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/      "/' -e 's/$/\\n"/' "$f"
    echo '    },'
    want=$((want + 1))
done
echo '};'
echo 'const size_t dt_n_migrations = sizeof dt_migrations / sizeof dt_migrations[0];'
