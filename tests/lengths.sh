#!/bin/sh
# Long files and functions, for a person to look at; never a failure.
# Usage: tests/lengths.sh  (or make lengths)
set -eu
cd "${top_srcdir:-$(dirname "$0")/..}"
max_file=300
max_function=60

list ()
{
    find base selir solver trace tuner proto kernels profiler schema detentd detentctl libdetent \
        verify engines bench tests include -type f \
        \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \) | LC_ALL=C sort
}

echo "files over $max_file lines:"
list | xargs wc -l | awk -v max=$max_file '$2 != "total" && $1 > max { print }' | sort -rn
# Other programs are called ctags too; only these know where a function ends.
if ctags --version 2> /dev/null | grep -Eq 'Universal|Exuberant'; then
    echo "functions over $max_function lines:"
    list | ctags -x --c-kinds=f --_xformat='%{end} %n %F %N' -L - --language-force=C 2> /dev/null |
        awk -v max=$max_function '$1 - $2 + 1 > max { printf "%7d %s:%d %s\n", $1 - $2 + 1, $3, $2, $4 }' |
        sort -rn
else
    echo "functions: not measured, universal-ctags is not here"
fi
