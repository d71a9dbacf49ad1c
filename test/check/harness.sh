#!/bin/sh
# docs/harness.md is true: its code is that of the files it names, which are built and run (make tube); it lists every
# statement with its arguments, every word of a flag, fault and reason, and every rule of conduct, and no others.
set -u
cd "$(dirname "$0")/../.."
log=${1:-build}/log
mkdir -p "$log"
manual=docs/harness.md
status=0

verdict() {
    if [ -z "$2" ]; then
        echo "ok - $1"
    else
        echo "not ok - $1"
        echo "$2" | head -n 12 | sed 's/^/# /'
        status=1
    fi
}

# The block of code behind a comment with a file's name.
block() {
    awk -v name="<!-- $1 -->" '$0 == name { wanted = 1; next } /^```/ { if (on) exit; on = wanted; next } on' "$manual"
}

files=$(sed -n 's/^<!-- \(examples.*\) -->$/\1/p' "$manual")
verdict "the manual's code is in files" "$([ "$(echo "$files" | wc -l)" -ge 3 ] || echo "too few: $files")"
for file in $files; do
    verdict "the manual's code is that of $file" "$(block "$file" | diff - "$file")"
done

# Rows of tables: { "word", "arguments", function }.
rows() {
    sed -nE 's/^ *\{ "([a-z ]+)", +"([^"]*)",.*/\1 \2/p' "$@" | sed 's/ *$//' | sort
}
shown() {
    sed -nE 's/^\| `([a-z][^`]*)` \|.*/\1/p' "$manual" | sort
}
rules=$(sed -nE 's/^ *\{ "([a-z-]+)", +"[^"]+" \},$/\1/p' harness/conduct.c | sort)
statements=$(rows harness/steps.c harness/expect.c harness/heading.c)
verdict "the manual lists all $(echo "$statements" | wc -l) statements and all $(echo "$rules" | wc -l) rules" "$(
    { echo "$statements"; echo "$rules"; } | sort >"$log/statements"
    shown | grep -vE '^(kind|name|thread|id)$' | diff "$log/statements" -
)"
verdict "the manual says of each rule what the harness says" "$(
    sed -nE 's/^ *\{ "([a-z-]+)", +"([^"]+)" \},$/| `\1` | \2 |/p' harness/conduct.c | while read -r line; do
        grep -qxF "$line" "$manual" || echo "$line"
    done
)"
words=$(sed -n '/^static const struct word/,/^};/p' harness/steps.c | grep -oE '\{ "[a-z-]+"' | tr -d '{ "')
verdict "the manual names all $(echo "$words" | wc -l) words of flags, faults and reasons" "$(
    for word in $words; do
        grep -q "\`$word\`" "$manual" || echo "$word"
    done
)"
exit $status
