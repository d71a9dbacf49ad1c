#!/bin/sh
# run.sh [-n COUNT] BUILD: makes one change at a time in the library, as the tables of this folder say (table.awk), and
# runs the unit tests that belong to it. Noticed is a change after which one of them fails, crashes or hangs. What
# nobody noticed is shown. Last line: mutants: N of N noticed
#
#   -n COUNT  only so many, spread over the table, with a line of TAP each; another commit takes others
#   ONLY=RE   only mutants of files whose name has a match
#   TABLE=F   another table than mutants.txt and equivalent.txt
#   KEEP=DIR  the results go there, one line a mutant
#
# An archive and tests with assertions are built in BUILD/asserts, as for the group of that name. Of a mutant only the
# object of its file is compiled, and linked in front of the archive; a header's, all objects that include it.
set -u
cd "$(dirname "$0")/../.."
count=0
[ "$1" != -n ] || { count=$2; shift 2; }
build=$1/asserts
here=test/mutants
processors=$(nproc 2>/dev/null || echo 1)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
make="make --no-print-directory BUILD=$build ASSERTS=1"
flags="-O1 -g"

# shellcheck disable=SC2086
awk -f $here/table.awk ${TABLE:-$here/mutants.txt $here/equivalent.txt} >"$work/all" || exit 1
if [ "$count" -gt 0 ]; then
    turn=$(git rev-list --count HEAD 2>/dev/null || echo 0)
    awk -F'\t' -v count="$count" -v turn="$turn" -v total="$(grep -c '	mutant	' "$work/all")" '
        $2 == "mutant" && ((n++ + turn) * count) % total < count' "$work/all" >"$work/list"
else
    awk -F'\t' -v only="${ONLY:-}" '$3 ~ only' "$work/all" >"$work/list"
fi

# What a target is made with; make says it and does nothing.
command_of() { # TARGET SOURCE
    $make CFLAGS="$flags" -n -W "$2" "$1" | grep -F -- " $2 " | tail -n 1 | sed 's/ -MMD -MP\( -MF [^ ]*\)\?//'
}

tests=$(cut -f5 "$work/list" | tr ' ' '\n' | sort -u)
for test in $tests; do
    [ -f "test/unit/$test.c" ] || { echo "there is no test/unit/$test.c"; exit 1; }
done
support=$build/test/support
$make -j"$processors" CFLAGS="$flags" archive "$support/row.o" "$support/libsupport.a" >"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
mkdir -p "$work/tests"
for test in $tests; do
    command=$(command_of "$build/test/unit/$test" "test/unit/$test.c")
    echo "$command" | sed "s| test/unit/$test.c .*| -c test/unit/$test.c|" >"$work/tests/$test.compile"
    echo "$(cat "$work/tests/$test.compile") -o $work/tests/$test.o" >>"$work/compile"
    # Of the link's command, what is mutated comes first.
    echo "$command" | sed "s| -o [^ ]*$||; s| test/unit/$test.c | \$OBJECTS |" >"$work/tests/$test.link"
done
xargs -P "$processors" -I{} sh -c {} <"$work/compile" || exit 1

# How each object that may change is compiled, and what it is unchanged.
for file in $(cut -f3 "$work/list" | sort -u); do
    case $file in
    *.c) objects=${file%.c}.o ;;
    *.h) objects=$(cd "$build" && find lib src -name '*.d' | xargs grep -lE "[ ]$file( |\$)" | sed 's/d$/o/') ;;
    esac
    mkdir -p "$work/commands/$file"
    for object in $objects; do
        command_of "$build/$object" "${object%.o}.c" | sed "s| -c .*| -w -g0 -fmacro-prefix-map=\$AT/=|" \
            >"$work/commands/$file/$(echo "$object" | tr / +)"
    done
done

start=$(cut -d. -f1 /proc/uptime)
# Each test must pass as things are.
xargs -r -P "$processors" -n 1 $here/one.sh "$work" baseline <<END || exit 1
$tests
END
cut -f1 "$work/list" | xargs -r -P "$processors" -n 1 $here/one.sh "$work" mutant
[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP"; cat "$work"/result.* >"$KEEP/results"; }
took=$(($(cut -d. -f1 /proc/uptime) - start))
cat "$work"/result.* /dev/null | awk -F'\t' -v tap="$count" -v took="$took" -f $here/sum.awk
