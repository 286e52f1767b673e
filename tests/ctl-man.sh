#!/bin/sh
# The manual and the programs say the same: options of each command, in detentctl(1)
# against --help; and mandoc finds no fault in a page.
set -eu
. "$top_srcdir/tests/lib.sh"
page=$top_srcdir/man/detentctl.1.scd

# "command|--name ARGUMENT|help" of each option.
"$ctl" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\( [a-z]\{2,\}\)\{0,1\}\)  .*/\1/p' > "$tmp/commands"
options () # TITLE COMMAND
{
    sed -n "/^$1:/,/^\$/s/^  \(-.*[^ ]\)   *\([^ ].*\)\$/$2|\1|\2/p"
}
{
    "$ctl" --help | options 'Common options' common
    while read -r command; do
        # shellcheck disable=SC2086 # a command may be two words
        "$ctl" $command --help > "$tmp/help"
        sed -n "3s/^/$command||/p" "$tmp/help"
        options Options "$command" < "$tmp/help"
    done < "$tmp/commands"
} > "$tmp/from-help"
awk '
    function clean(s) { gsub (/\\/, "", s); return s }
    /^# / { command = $0 == "# COMMON OPTIONS" ? "common" : ""; name = "" ; next }
    /^## / {
        command = substr ($0, 4)
        sub (/ [A-Z[].*| bash$/, "", command)
        describe = 1
        next
    }
    command == "" { next }
    /^\*-/ { name = clean($0); gsub (/[*_]/, "", name); describe = 0; next }
    /^\t/ && name != "" { print command "|" name "|" clean(substr ($0, 2)); name = ""; next }
    /^[^ \t]/ && describe { print command "||" clean($0); describe = 0 }
' "$page" > "$tmp/from-man"
diff -u "$tmp/from-man" "$tmp/from-help" || fail "detentctl(1) and --help differ"

# scdoc writes a paragraph after each heading, which mandoc finds needless.
if command -v mandoc >/dev/null; then
    for f in "$top_builddir"/man/*.[1-8] "$top_srcdir"/man/*.[1-8]; do
        [ -f "$f" ] || continue
        mandoc -Tlint -W warning "$f" | grep -v 'skipping paragraph macro' > "$tmp/lint" || true
        [ ! -s "$tmp/lint" ] || fail "$f: $(cat "$tmp/lint")"
    done
fi
for f in "$top_srcdir"/man/*.scd; do
    for section in 'EXIT STATUS' EXAMPLES; do
        grep -q "^# $section\$" "$f" || fail "$f has no $section"
    done
done
echo "ctl-man: $(wc -l < "$tmp/from-man") entries agree"
