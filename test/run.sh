#!/bin/sh
# run.sh BUILD [check | test | test-ci | test-all | arm64-test]: builds and runs the tests that groups.txt names for that command
# (test-ci: for ci; test-all: for test, ci and all), one more at a time than there are processors: some wait now and then. What
# each job printed is in BUILD/log. Last line: N passed, N failed[, N skipped].
#
#   ONLY=PATTERN  only groups and programs (unit-cache, step) whose name has a match of this extended regular expression
#   ROW=NAME      only the tests of that name (* and ? stand for others); programs of cmocka only
set -u
cd "$(dirname "$0")/.."
build=$1
set=${2:-test}
case $set in
test-all) set='test|ci|all' ;;
test-ci) set=ci ;;
esac
log=$build/log
processors=$(nproc 2>/dev/null || echo 1)
export ONLY="${ONLY:-}" ROW="${ROW:-}" CMOCKA_MESSAGE_OUTPUT=TAP
export ASAN_OPTIONS=detect_stack_use_after_return=0:allocator_may_return_null=1
export TSAN_OPTIONS=halt_on_error=1
rm -rf "$log"
mkdir -p "$log/jobs"

# The builds: name, folder, the command that makes targets in it.
builds() {
    make="make --no-print-directory -j$processors"
    # COM calls functions by the type of an interface; clang 17 and later would count that as undefined in C, too.
    san="-O1 -gline-tables-only -fno-omit-frame-pointer -fno-sanitize-recover=all"
    cat <<END
gcc     $build               $make BUILD=$build
clang   $build/clang         $make BUILD=$build/clang CC=clang CFLAGS='-O2 -gline-tables-only'
asan    $build/asan          $make BUILD=$build/asan TEST_O=-O0 ASSERTS=1 CC=clang CFLAGS='$san -fsanitize=address,undefined -fno-sanitize=function'
tsan    $build/tsan          $make BUILD=$build/tsan TEST_O=-O0 ASSERTS=1 CC=clang CFLAGS='$san -fsanitize=thread'
asserts $build/asserts       $make BUILD=$build/asserts ASSERTS=1 CFLAGS='-O1 -g'
arm64   $build/arm64/signed  mk/arm64.sh $build/arm64/signed
END
}

# What programs have that look at their own process.
own='snapwalk/(self|process)[.]h|sigaction'
# The sources of the programs of a kind.
sources() {
    case $1 in
    unit) ls test/unit/*.c ;;
    tube) ls test/harness/*.c ;;
    race) ls test/unit/*_race.c ;;
    own) grep -lE "$own" test/unit/*.c ;;
    pure) grep -LE "$own" test/unit/*.c ;;
    fuzz) ls test/fuzz/*.c ;;
    tools) ls test/profiler/*.c ;;
    check) ls -r test/check/*.sh ;;
    esac
}

chosen() {
    [ -z "$ONLY" ] || echo "$1" | grep -qE "$ONLY"
}

# Lines "build target name group command", one for each job that is asked for.
list() {
    grep -v '^#' test/groups.txt | while read -r in group of each command; do
        echo ",$in," | grep -qE ",($set)," || continue
        folder=$(builds | awk -v name="$of" '$1 == name { print $2 }')
        if [ "$each" = - ]; then
            [ -n "$ROW" ] || ! chosen "$group" || echo "$of - $group $group $command $build"
            continue
        fi
        for source in $(sources "$each"); do
            name=$group-$(basename "${source%.*}")
            program=$folder/${source%.c}
            chosen "$name" || continue
            case $each in
            check) [ -n "$ROW" ] || echo "$of - $name $group $source $build" ;;
            fuzz) [ -n "$ROW" ] || echo "$of $program $name $group $command $program" ;;
            *) echo "$of $program $name $group $command $program" ;;
            esac
        done
    done
}

now() { cut -d' ' -f1 /proc/uptime; }
since() { now | awk -v from="$1" '{ printf "%.0f", $1 - from }'; }
# What this process has waited for, in seconds of processors.
cpu() { awk '{ print ($16 + $17) / 100 }' "/proc/$$/stat"; }

# made NAME COMMAND...: what the jobs need of a build. Where it cannot be had, its jobs go, and one result stands for them.
made() {
    name=$1
    shift
    targets=$(awk -v name="$name" '$1 == name && $2 != "-" { print $2 }' "$log/list" | sort -u)
    ! grep -q "^$name - " "$log/list" || case $name in
    gcc) targets="$targets archive harness examples oracle clr-libraries tube-programs tools" ;;
    arm64) targets="$targets archive examples" ;;
    *) targets="$targets archive" ;;
    esac
    start=$(now)
    used=$(cpu)
    # shellcheck disable=SC2086
    "$@" $targets >"$log/build-$name" 2>&1
    status=$?
    seconds=$(since "$start")
    used=$(cpu | awk -v from="$used" '{ printf "%.0f", $1 - from }')
    echo "built $name in $seconds s, $used s of processors"
    [ "$status" -ne 0 ] || return 0
    sed -i "/^$name /d" "$log/list"
    if [ "$status" -eq 77 ]; then
        echo "build-$name build-$name 0 0 1 $seconds $used" >"$log/jobs/build-$name"
        echo "    skipped: $(tail -n 1 "$log/build-$name")"
    else
        echo "build-$name build-$name 0 1 0 $seconds $used" >"$log/jobs/build-$name"
        grep -E 'error|Error|undefined' "$log/build-$name" | head -n 20 | sed 's/^/    /'
    fi
}

began=$(now)
list >"$log/list"
builds >"$log/builds"
while read -r name folder command; do
    grep -q "^$name " "$log/list" || continue
    eval "made $name $command" </dev/null
done <"$log/builds"
cut -d' ' -f3- "$log/list" | tr '\n' '\0' | xargs -0 -r -n 1 -P "$((processors + 1))" test/job.sh "$log"

# Groups in the order of the table, their seconds and processor time summed over jobs, the longest job; then what failed, once more.
cat "$log"/jobs/* /dev/null | awk -v took="$(since "$began")" -v used="$(cpu)" -v processors="$processors" '
    { passed += $3; failed += $4; skipped += $5; n[$2]++; p[$2] += $3; f[$2] += $4; s[$2] += $5; t[$2] += $6; c[$2] += $7
      if (!($2 in most) || $6 > most[$2]) { most[$2] = $6; longest[$2] = $1 }
      if ($4) bad = bad "failed: " $1 "\n" }
    END {
        printf "\n%-18s %5s %7s %7s %7s %8s %7s  %s\n", "group", "jobs", "passed", "failed", "skipped", "seconds", "cpu", "the longest job"
        while ((getline line <"test/groups.txt") > 0) {
            split(line, word, " ")
            if (line ~ /^#/ || !(word[2] in n)) continue
            g = word[2]
            printf "%-18s %5d %7d %7d %7d %8.0f %7.0f  %s %.0f\n", g, n[g], p[g], f[g], s[g], t[g], c[g], longest[g], most[g]
            delete n[g]
        }
        for (i = 1; i <= 5; i++) {
            most_used = ""
            for (g in c) if (c[g] >= 1 && (most_used == "" || c[g] > c[most_used])) most_used = g
            if (most_used == "") break
            text = text sprintf("%s %s %.0f s", i > 1 ? "," : "", most_used, c[most_used])
            delete c[most_used]
        }
        if (text != "") print "most processor time:" text
        printf "all in %s s on %s processors, %.0f s of processor time\n\n%s", took, processors, used, bad
        if (passed + failed + skipped == 0) { print "no test has that name"; failed = 1 }
        printf "%d passed, %d failed%s\n", passed, failed, skipped ? ", " skipped " skipped" : ""
        exit failed > 0
    }'
