#!/bin/sh
# run.sh BUILD: the profiler in real .NET processes. What a program prints and how it ends is the same with it as without, and
# what the profile says is what the program did.
set -u
cd "$(dirname "$0")/../.."
mkdir -p "${1:-build}"
build=$(cd "${1:-build}" && pwd)
. mk/sample.sh
. test/profiler/program.sh
out=$build/log/profiler
status=0
rm -rf "$out"
mkdir -p "$out"
export SNAPWALK_HZ=1000

# verdict STATUS NAME FILE...: the files where it failed
verdict() {
    if [ "$1" -eq 0 ]; then
        echo "ok - $2"
    else
        echo "not ok - $2"
        shift 2
        cut -c1-600 "$@" </dev/null | head -n 20 | sed 's/^/# /'
        status=1
    fi
}

# has NAME PATTERN FILES...: a line of one matches
has() {
    name=$1
    pattern=$2
    shift 2
    cat "$@" 2>/dev/null | grep -qE -- "$pattern"
    verdict $? "$name" "$@"
}

CMOCKA_MESSAGE_OUTPUT=TAP timeout 60 "$build/test/profiler/unit" >"$out/unit" 2>&1
verdict $? "parts that need no runtime: $(grep -c '^ok' "$out/unit") rows" "$out/unit"

if ! have_dotnet; then
    echo "ok - the profiler in .NET processes # SKIP no .NET SDK 10"
    exit $status
fi
build_program

# same KIND: with the profiler as without
same() {
    program "$1" 0.3 >"$out/$1.without" 2>&1
    code=$?
    profiled "$out/$1.folded" "$1" 0.3 >"$out/$1.with" 2>&1
    [ $? -eq $code ] && cmp -s "$out/$1.without" "$out/$1.with" && ls "$out/$1"-*.folded >"$out/$1.files" 2>&1
    verdict $? "$1: the same output and status $code, and a profile" "$out/$1.with" "$out/$1.files"
}

for kind in names threads processes contexts status; do
    same $kind
done

has "a lambda on a thread: as written, to the work" \
    ';Profiled\.Busy\.Names\.\{lambda#0\}\(\);Profiled\.Busy\+Nested<System\.__Canon>\.Spin<System\.Int32>\(long, System\.ValueTuple<int, string>\)' \
    "$out"/names-*.folded
has "an async method: as written" ';Profiled\.Busy\.SpinLater;' "$out"/names-*.folded
has "an iterator: as written" ';Profiled\.Busy\.SpinOften;' "$out"/names-*.folded
has "native frames above and below" '^\[dotnet\];.*__libc_start_main;.*;Program\.<Main>\$\(string\[\]\);.*clock_gettime' "$out"/names-*.folded
awk '/Names\.\{lambda#0\}/ { thread += $NF } /SpinLater/ { later += $NF } END { exit !(thread > 50e6 && later > 50e6) }' \
    "$out"/names-*.folded
verdict $? "each has its processor time, in nanoseconds" "$out"/names-*.folded
count=$(ls "$out"/processes-*.folded | wc -l)
children=$(grep -l 'Profiled.Busy.Child' "$out"/processes-*.folded | wc -l)
[ "$count" -ge 2 ] && [ "$children" -eq $((count - 1)) ]
verdict $? "each child has a profile of its own" "$out/processes.files"

SNAPWALK_RAW_NAMES=1 profiled "$out/raw.folded" names 0.1 >"$out/raw" 2>&1
has "raw names: the state machine" ';Profiled\.Busy\+<SpinLater>d__[0-9]+\.MoveNext\(\);' "$out"/raw-*.folded

# Events, off-CPU time, names of threads: read by a reader that is not ours.
SNAPWALK_HZ=100 SNAPWALK_MODE=alloc,exceptions,locks profiled "$out/events.pb.gz" exceptions 0.5 >"$out/said" 2>&1
SNAPWALK_HZ=100 SNAPWALK_MODE=wall profiled "$out/wall.pb.gz" names 0.5 >"$out/said" 2>&1
SNAPWALK_HZ=100 SNAPWALK_MODE=locks profiled "$out/locks.folded" locks 0.5 >"$out/said" 2>&1
if command -v go >/dev/null 2>&1; then
    pprof() { HOME=$out TZ=UTC timeout 60 go tool pprof "$@" 2>&1; }
    pprof -tags -sample_index=exceptions "$out"/events-*.pb.gz >"$out/tags"
    has "exceptions: their type" 'System\.InvalidOperationException' "$out/tags"
    pprof -traces -sample_index=exceptions "$out"/events-*.pb.gz >"$out/traces"
    has "exceptions: where they were thrown" '^ +1 +Profiled\.Kinds\.Deep\(int, int\)|Profiled\.Kinds\.Deep\(int, int\)' "$out/traces"
    pprof -tags -sample_index=alloc_space "$out"/events-*.pb.gz >"$out/tags"
    has "allocations: their type" 'System\.(InvalidOperationException|Byte\[\]|String)' "$out/tags"
    pprof -tags "$out"/wall-*.pb.gz >"$out/tags"
    has "wall clock: what waited is marked" 'off-CPU' "$out/tags"
    has "wall clock: what ran is marked" 'on-CPU' "$out/tags"
    has "threads have names" '\.NET (TP Worker|Finalizer|Tiered Com)' "$out/tags"
fi
has "contended locks: who waited" 'Profiled\.Kinds\..*lambda.*;System\.Threading\.(Monitor|Lock)' "$out"/locks-*.folded

SNAPWALK_HZ=0 SNAPWALK_OUT="$out/bad.folded" SNAPWALK_VERBOSE=1 profiled "$out/bad.folded" status 0.1 >"$out/said" 2>&1
[ $? -eq 7 ]
verdict $? "a wrong option does not keep the program from running" "$out/said"
has "and is said" '^snapwalk-profiler: SNAPWALK_HZ=0: not a number from 1 to 10000$' "$out/said"
profiled /nowhere/a.folded status 0.1 >"$out/said" 2>&1
has "a file that cannot be written is said" '^snapwalk-profiler: /nowhere/a-[0-9]+\.folded: No such file' "$out/said"
exit $status
