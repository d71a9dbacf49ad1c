#!/bin/sh
# lint.sh BUILD [FILE...]: clang-tidy (.clang-tidy) and gcc's analyser over lib, src, harness and examples, or over the files that
# are named; one file a processor at a time. What is known and wrong stands in mk/lint.known, a line each with its
# reason; a line that nothing answers to any more is a finding, too. Last line: lint: N findings in M files.
set -u
cd "$(dirname "$0")/.."

flags='-std=c11 -D_GNU_SOURCE -Iinclude -Iharness -Iexamples/clr-in-a-tube/profilers -Ilib -Isrc'

# look OUT FILE: what both tools say of one file, in OUT/FILE.lint
if [ "${1:-}" = --one ]; then
    out=$2/$(echo "$3" | tr / -).lint
    # shellcheck disable=SC2086
    {
        clang-tidy --quiet "$3" -- $flags 2>&1 | grep -E '(warning|error): '
        for level in -O0 -O2; do # each sees what the other does not
            gcc $flags $level -fanalyzer -c "$3" -o /dev/null 2>&1 | grep -E '(warning|error): '
        done
    } | sed "s,^$PWD/,," | sort -u >"$out"
    echo "$3"
    exit 0
fi

build=$1
shift
out=$build/lint
for tool in clang-tidy gcc; do
    command -v "$tool" >/dev/null 2>&1 || {
        echo "lint: no $tool command (make deps installs it)" >&2
        exit 1
    }
done
all=
[ $# -ne 0 ] || all=yes
[ $# -ne 0 ] || set -- $(find lib src harness examples -name '*.c' ! -path '*/windows/*' | sort)
rm -rf "$out"
mkdir -p "$out"

printf '%s\n' "$@" | xargs -P "$(nproc 2>/dev/null || echo 1)" -n 1 "$0" --one "$out" |
    awk -v of=$# 'NR % 10 == 0 || NR == of { print "  LINT    " NR " of " of; fflush() }'
cat "$out"/*.lint | sort -u >"$out/all"

# Findings without the known ones: FILE FLAG REASON. Known by the file's last name: folders change.
awk -v known=mk/lint.known -v all="$all" '
    BEGIN {
        while ((getline line <known) > 0) {
            split(line, word, " ")
            if (line !~ /^(#|$)/)
                is_known[word[1] " " word[2]] = 1
        }
    }
    {
        name = $0
        sub(/:.*/, "", name)
        sub(/.*\//, "", name)
        flag = $0
        sub(/.*\[(-W)?/, "", flag)
        sub(/[],].*/, "", flag)
        if ((name " " flag) in is_known)
            seen[name " " flag] = 1
        else
            print
    }
    END {
        for (one in is_known)
            if (all && !(one in seen))
                print "mk/lint.known: not found any more: " one
    }' "$out/all" >"$out/findings"
cat "$out/findings"
count=$(wc -l <"$out/findings")
echo "lint: $count findings in $# files"
[ "$count" -eq 0 ]
