#!/bin/sh
# one.sh WORK baseline TEST: whether a test passes as things are.
# one.sh WORK mutant NUMBER: makes one mutant, runs its tests; its result goes to WORK/result.NUMBER, a line of the list
# with what happened in front. Called by run.sh.
set -u
work=$1
number=$3

# A command with the changed file in front of all others of its name.
with_changed() {
    sed "s| -Iinclude | -I$at/include -I$at/lib -I$at/src&|" "$1"
}

# passes TEST OBJECT...: A hang is told by processor time, which a busy machine does not change; of those that sleep, by
# ten times what the test took as things are.
passes() {
    test=$1
    shift
    object=$work/tests/$test.o
    case ${file:-} in *.h) # which the test may include as well
        object=$at/$test.o
        sh -c "$(with_changed "$work/tests/$test.compile") -w -o $object" >"$at/log" 2>&1 || end "does not compile"
        ;;
    esac
    OBJECTS="$object $*" sh -c "$(cat "$work/tests/$test.link") -o $at/$test" >"$at/log" 2>&1 || end "does not link"
    read -r seconds <"$work/tests/$test.seconds"
    (ulimit -t $((10 + 10 * seconds)) && ulimit -v 8000000 && ulimit -c 0 &&
        exec timeout -k 2 $((20 + 10 * seconds)) "$at/$test") >"$at/log" 2>&1 </dev/null
} 2>/dev/null

end() {
    printf '%s\t%s\n' "$1" "$line" >"$work/result.$number"
    case $1 in
    noticed*) [ "$kind" != equivalent ] || echo "NOT EQUIVALENT, $1: $file:$place: $text  ->  $new" ;;
    *) [ "$kind" = equivalent ] || echo "$1: $file:$place: $text  ->  $new" ;;
    esac
    exit 0
}

at=$work/at.$number
mkdir -p "$at"
trap 'rm -rf "$at"' EXIT
if [ "$2" = baseline ]; then
    echo 60 >"$work/tests/$number.seconds"
    read -r began idle </proc/uptime
    passes "$number"
    status=$?
    read -r ended idle </proc/uptime
    echo $((${ended%.*} - ${began%.*} + 1)) >"$work/tests/$number.seconds"
    [ $status -ne 0 ] || exit 0
    cat "$at/log"
    echo "without any change: $number fails"
    exit 255
fi

line=$(awk -F'\t' -v n="$number" '$1 == n' "$work/list")
field() { printf '%s' "$line" | cut -f"$1"; }
kind=$(field 2) file=$(field 3) place=$(field 4) tests=$(field 5) text=$(field 6) new=$(field 7)
mkdir -p "$at/$(dirname "$file")" "$at/objects" "$at/plain"
NEW=$new awk -v place="$place" 'NR == place { print ENVIRON["NEW"]; next } { print }' "$file" >"$at/$file"

objects=
same=1
for command in "$work/commands/$file"/*; do
    object=$(basename "$command")
    source=$(echo "${object%.o}.c" | tr + /)
    case $file in *.c) changed=$at/$source ;; *) changed=$source ;; esac
    AT=$at sh -c "$(with_changed "$command") -c $changed -o $at/objects/$object" \
        >"$at/log" 2>&1 || end "does not compile"
    if [ ! -f "$work/plain.$object" ]; then
        AT=$at sh -c "$(cat "$command") -c $source -o $at/plain/$object" || end "does not compile"
        mv "$at/plain/$object" "$work/plain.$object"
    fi
    cmp -s "$work/plain.$object" "$at/objects/$object" && continue
    same=0
    objects="$objects $at/objects/$object"
done
[ $same -eq 0 ] || end "same object code"

for test in $tests; do
    # shellcheck disable=SC2086
    passes "$test" $objects || end "noticed by $test"
done
end "NOT NOTICED"
