#!/bin/sh
# run.sh BUILD: the profiler in real .NET processes. What a program prints and how it ends is the same with it as without, and
# what the profile says is what the program did.
set -u
cd "$(dirname "$0")/../.."
mkdir -p "${1:-build}"
build=$(cd "${1:-build}" && pwd)
. mk/sample.sh
. test/profiler/program.sh
. test/support/wait.sh
out=$build/log/profiler.files
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
        cut -c1-200 "$@" </dev/null | head -n 8 | sed 's/^/# /'
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

if ! have_dotnet; then
    echo "ok - the profiler in .NET processes # SKIP no .NET SDK 10"
    exit $status
fi
build_program

# same KIND [SECONDS]: with the profiler as without
same() {
    program "$1" "${2:-0.3}" >"$out/$1.without" 2>&1
    code=$?
    profiled "$out/$1.folded" "$1" "${2:-0.3}" >"$out/$1.with" 2>&1
    [ $? -eq $code ] && cmp -s "$out/$1.without" "$out/$1.with" && ls "$out/$1"-*.folded >"$out/$1.files" 2>&1
    verdict $? "$1: the same output and status $code, and a profile" "$out/$1.with" "$out/$1.files"
}

for kind in names threads stacks processes contexts status forks exec; do
    same $kind
done
same native 1.5 # its frames are looked for, on busy machines too
# A signal while the runtime's handler stands on its alternate stack ended the process (clr-frames-by-version.md section 7).
SNAPWALK_HZ=10000 same faults

# ended FILE COMMAND...: what it prints goes there, and what a shell says of a crash nowhere.
ended() {
    to=$1
    shift
    {
        (
            ulimit -c 0
            exec timeout 600 "$@" >"$to" 2>&1
        )
    } 2>/dev/null
}
# ends STATUS WAY...: however a program ends, its output and status are the same, and there is one profile, with what it had done.
ends() {
    code=$1
    shift
    name=end-$(echo "$*" | tr ' ' -)
    ended "$out/$name.without" dotnet "$build/dotnet/profiled/profiled.dll" end "$@"
    without=$?
    ended "$out/$name.with" "$build/tools/snapwalk-profiler" run SNAPWALK_OUT="$out/$name.folded" \
        dotnet "$build/dotnet/profiled/profiled.dll" end "$@"
    with=$?
    # How deep an overflow gets differs by itself.
    for run in without with; do
        sed 's/Repeated [0-9]* times/Repeated often/' "$out/$name.$run" >"$out/$name.$run.said"
    done
    [ "$without $with" = "$code $code" ] && cmp -s "$out/$name.without.said" "$out/$name.with.said" &&
        [ "$(ls "$out/$name"-*.folded | wc -l)" -eq 1 ] && grep -q 'Profiled\.Ends\.Work' "$out/$name"-*.folded
    verdict $? "ends by $*: the same output and status $code, and a profile" "$out/$name.with"
}
for way in throw thread failfast abort access overflow; do
    ends 134 $way
done
ends 139 fault
ends 131 raise 3
ends 131 kill 3
ends 130 kill 2
ends 143 raise 15
# .NET survives the first SIGABRT that comes from outside: the program goes on, and so do its samples.
program end kill 6 >"$out/survives.without" 2>&1
profiled "$out/survives.folded" end kill 6 >"$out/survives.with" 2>&1
[ $? -eq 3 ] && cmp -s "$out/survives.without" "$out/survives.with" && [ "$(ls "$out"/survives-*.folded | wc -l)" -eq 2 ]
verdict $? "SIGABRT that a program survives: the same, and a file more" "$out/survives.with"
# The runtime's own dump of a crash lies before the profile.
ended "$out/said" env DOTNET_DbgEnableMiniDump=1 DOTNET_DbgMiniDumpType=1 DOTNET_DbgMiniDumpName="$out/crash.dump" \
    "$build/tools/snapwalk-profiler" run SNAPWALK_OUT="$out/dumped.folded" dotnet "$build/dotnet/profiled/profiled.dll" end abort
[ $? -eq 134 ] && [ -s "$out/crash.dump" ] && grep -q 'Profiled\.Ends\.Work' "$out"/dumped-*.folded
verdict $? "a crash dump and a profile" "$out/said"
rm -f "$out/crash.dump"

# Closures, unions, computation expressions, tail calls: what F# makes of its own.
if ls -d "$(dirname "$(readlink -f "$(command -v dotnet)")")"/sdk/*/FSharp >/dev/null 2>&1; then
    dotnet_build test/profiler/fsharp fsharp
    timeout 600 dotnet "$build/dotnet/fsharp/fsharp.dll" 0.8 >"$out/fsharp.without" 2>&1
    under "$out/fsharp.folded" timeout 600 dotnet "$build/dotnet/fsharp/fsharp.dll" 0.8 >"$out/fsharp.with" 2>&1
    [ $? -eq 5 ] && cmp -s "$out/fsharp.without" "$out/fsharp.with"
    verdict $? "F#: the same output and status" "$out/fsharp.with"
    has "F#: a function of a union" ';Workload\.Program\.insert\(int, Workload\.Program\+Tree\)' "$out"/fsharp-*.folded
    has "F#: closures and computation expressions" ';Workload\.Program\+(sum|spinning|later)@[0-9]+\.(Invoke|MoveNext)\(' "$out"/fsharp-*.folded
else
    echo "ok - F# # SKIP this SDK has no F#"
fi

has "a lambda on a thread: as written, to the work" \
    ';Profiled\.Busy\.Names\.\{lambda#[0-9]\}\(\);Profiled\.Busy\+Nested<System\.__Canon>\.Spin<System\.Int32>\(long, System\.ValueTuple<int, string>\)' \
    "$out"/names-*.folded
has "an async method: as written" ';Profiled\.Busy\.SpinLater;' "$out"/names-*.folded
has "an iterator: as written" ';Profiled\.Busy\.SpinOften;' "$out"/names-*.folded
# Inner functions of libc have names where its debug file is there, and are no other's where it is not.
libc=$(ldd "$build/libsnapwalk-profiler.so" | sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p')
id=$(readelf -n "$libc" 2>/dev/null | sed -n 's/.*Build ID: //p')
inner='\[libc\.so\.6\]'
[ ! -e "/usr/lib/debug/.build-id/$(echo "$id" | cut -c1-2)/$(echo "$id" | cut -c3-).debug" ] || inner='msort_with_tmp[^;]*'
has "native frames below managed ones, and between them" \
    '^\[dotnet\];.*__libc_start_main[^;]*;.*;Program\.<Main>\$\(string\[\]\);Profiled\.Kinds\.Native\(int\);.*'"$inner"';Profiled\.Kinds\.Compare' \
    "$out"/native-*.folded
awk '/Names\.\{lambda#[0-9]\}/ { thread += $NF } /SpinLater/ { later += $NF } END { exit !(thread > 5e6 && later > 5e6) }' \
    "$out"/names-*.folded
verdict $? "each has its processor time, in nanoseconds" "$out"/names-*.folded
count=$(ls "$out"/processes-*.folded | wc -l)
children=$(grep -l 'Profiled.Busy.Child' "$out"/processes-*.folded | wc -l)
[ "$count" -ge 2 ] && [ "$children" -eq $((count - 1)) ]
verdict $? "each child has a profile of its own" "$out/processes.files"

[ "$(ls "$out"/forks-* | wc -l)" -eq 1 ]
verdict $? "a child of fork alone writes nothing" "$out/forks.files"
has "its parent goes on" 'Forks\.Fork' "$out"/forks-*.folded
# A signal that is pending while the process becomes another program must not end that.
status_of_exec=0
for turn in 1 2 3 4 5; do
    SNAPWALK_MODE=wall SNAPWALK_HZ=5000 profiled "$out/became.folded" exec 0.1 >"$out/said" 2>&1
    [ $? -eq 3 ] || status_of_exec=1
done
verdict $status_of_exec "a program that becomes another one, while its threads are looked at" "$out/said"

SNAPWALK_RAW_NAMES=1 profiled "$out/raw.folded" names 0.1 >"$out/raw" 2>&1
has "raw names: the state machine" ';Profiled\.Busy\+<SpinLater>d__[0-9]+\.MoveNext\(\);' "$out"/raw-*.folded

# Events, off-CPU time, names of threads: read by a reader that is not ours.
SNAPWALK_HZ=100 SNAPWALK_MODE=alloc,exceptions,locks profiled "$out/events.pb.gz" exceptions 0.5 >"$out/said" 2>&1
SNAPWALK_HZ=100 SNAPWALK_MODE=wall profiled "$out/wall.pb.gz" names 0.5 >"$out/said" 2>&1
SNAPWALK_HZ=100 SNAPWALK_MODE=locks profiled "$out/locks.folded" locks 0.5 >"$out/said" 2>&1
if command -v go >/dev/null 2>&1; then
    pprof() { HOME=$out TZ=UTC timeout 600 go tool pprof "$@" 2>&1; }
    pprof -tags -sample_index=exceptions "$out"/events-*.pb.gz >"$out/tags"
    has "exceptions: their type" 'System\.InvalidOperationException' "$out/tags"
    pprof -traces -sample_index=exceptions "$out"/events-*.pb.gz >"$out/traces"
    has "exceptions: where they were thrown" '^ +1 +Profiled\.Kinds\.Deep\(int, int\)|Profiled\.Kinds\.Deep\(int, int\)' "$out/traces"
    pprof -tags -sample_index=alloc_space "$out"/events-*.pb.gz >"$out/tags"
    has "allocations: their type" 'System\.(InvalidOperationException|Byte\[\]|String)' "$out/tags"
    pprof -top "$out"/wall-*.pb.gz >"$out/top"
    has "the program is the first file" '^File: dotnet$' "$out/top"
    pprof -tags "$out"/wall-*.pb.gz >"$out/tags"
    has "wall clock: what waited is marked" 'off-CPU' "$out/tags"
    has "wall clock: what ran is marked" 'on-CPU' "$out/tags"
    has "a thread's whole name" 'a thread with a long name' "$out/tags"
    has "threads have names" '\.NET (TP Worker|Finalizer|Tiered Com)' "$out/tags"
fi
has "contended locks: who waited" 'Profiled\.Kinds\..*lambda.*;System\.Threading\.(Monitor|Lock)' "$out"/locks-*.folded

# The command, and a process that runs: it says "ready" and ends with its standard input.
tell() { timeout 600 "$build/tools/snapwalk-profiler" "$@" >"$out/said" 2>&1; }
does() {
    name=$1
    shift
    tell "$@"
    verdict $? "$name" "$out/said"
}
refuses() {
    name=$1
    pattern=$2
    shift 2
    ! tell "$@" && grep -qE -- "$pattern" "$out/said"
    verdict $? "$name" "$out/said"
}
# worked: the process has got 200 ms more of a processor, however long that takes
worked() {
    end=$(($(cut -d' ' -f14 "/proc/$sample/stat") + 20))
    tries=0
    until [ "$(cut -d' ' -f14 "/proc/$sample/stat")" -ge $end ] || [ $((tries += 1)) -gt 600 ]; do
        sleep 0.1
    done
}
work=
start_sample env -u SNAPWALK_HZ dotnet "$build/dotnet/profiled/profiled.dll" ready 60
refuses "a command for a process without a profiler" 'has no profiler' dump "$sample"
refuses "attach: a wrong option is refused" 'SNAPWALK_HZ=many: not a number' attach "$sample" SNAPWALK_HZ=many
refuses "attach: a folder that is not there" 'may not write files there: SNAPWALK_OUT has to name' attach "$sample" SNAPWALK_OUT=/nowhere/a.folded
socket=${TMPDIR:-/tmp}/dotnet-diagnostic-$sample-$(sed 's/.*) //' "/proc/$sample/stat" | cut -d' ' -f20)-socket
mv "$socket" "$socket.away"
refuses "attach: its socket is gone" 'nobody listens at .*the socket was removed' attach "$sample"
mv "$socket.away" "$socket"
# Files that a program has open are its own.
opened() { ls -l "/proc/$sample/fd" | sed -n 's|.* -> \(/.*\)|\1|p' | sort; }
opened >"$out/opened.before"
does "attach" attach "$sample" SNAPWALK_HZ=500 SNAPWALK_OUT="$out/attached.folded"
worked
does "dump: a first file" dump "$sample"
opened | diff "$out/opened.before" - >"$out/said"
verdict $? "no file stays open" "$out/said"
# Bit 22: SIGURG; bit 26: SIGPROF, whose default ends a process.
[ $((0x$(sed -n 's/^SigCgt:[^0-9a-f]*//p' "/proc/$sample/status" | tail -c 9) >> 22 & 17)) -eq 1 ]
verdict $? "the signal is one that ends no program" "$out/said"
has "methods compiled before the attach have names" ';Profiled\.Busy\.Ready.*;Profiled\.Busy\+Nested<System\.__Canon>\.Spin<System\.Int32>' \
    "$out/attached-$sample.folded"
refuses "attach: it is there already" 'there already' attach "$sample"
does "stop" stop "$sample"
does "dump: what came until the stop" dump "$sample"
sleep 0.3
does "dump: a third file" dump "$sample"
[ -e "$out/attached-$sample-3.folded" ] && [ ! -s "$out/attached-$sample-3.folded" ]
verdict $? "no sample came while it was stopped" "$out/attached-$sample-3.folded"
does "start" start "$sample"
worked
does "detach" detach "$sample"
has "a last file was written" 'Spin' "$out/attached-$sample-4.folded"
has_left() { ! tell detach "$sample" && grep -q 'no profiler runs there: attach starts one' "$out/said"; }
until_so has_left
verdict $? "detach: it is not attached" "$out/said"
# The profiler that leaves is waited for: at once behind a detach the runtime says for a while that another one is there.
again=0
while [ $again -lt 30 ] && tell attach "$sample" SNAPWALK_OUT="$out/again.folded" && tell detach "$sample"; do
    again=$((again + 1))
done
verdict $((again < 30)) "attach and detach, thirty times at once" "$out/said"
does "attach once more" attach "$sample" SNAPWALK_OUT="$out/attached.folded" SNAPWALK_HZ=500
worked
exec 3>&-
wait "$sample"
verdict $? "the process ends as it would have" "$work/err"
has "and writes its profile, not over another one of its own" 'Spin' "$out/attached-$sample-5.folded"
refuses "a process that has ended" 'no such process' attach "$sample"
end_sample
sample=
# A signal that nobody handles ends the program as it would, behind the profile. .NET 10 tells profilers nothing of it.
work=
start_sample "$build/tools/snapwalk-profiler" run SNAPWALK_HZ=500 SNAPWALK_OUT="$out/ended.folded" dotnet "$build/dotnet/profiled/profiled.dll" ready 60
worked
kill -TERM "$sample"
exec 3>&-
wait "$sample"
[ $? -eq 143 ]
verdict $? "SIGTERM: it ends of that" "$work/err"
has "and the profile is written" 'Spin' "$out/ended-$sample.folded"
end_sample
sample=
"$build/tools/snapwalk-profiler" run SNAPWALK_HZ=500 SNAPWALK_OUT="$out/run.folded" dotnet "$build/dotnet/profiled/profiled.dll" names 0.2 \
    >"$out/said" 2>&1
has "run: a program under the profiler" 'Spin' "$out"/run-*.folded

# Nobody listens at port 9 of this machine: the program is the same, and it is said.
SNAPWALK_ENDPOINT=http://127.0.0.1:9/ profiled "$out/sent.otlp" status 0.1 >"$out/said" 2>&1
has "OTLP to a receiver that is not there" '^snapwalk-profiler: http://127.0.0.1:9/: .*connect' "$out/said"
if command -v protoc >/dev/null 2>&1; then
    protoc --decode=otlp.ProfilesData -Itools/profile/proto otlp.proto <"$(ls "$out"/sent-*.otlp)" >"$out/otlp" 2>&1
    has "OTLP: managed frames" 'string_value: "dotnet"' "$out/otlp"
    has "OTLP: build ids of native files" 'string_table: "process.executable.build_id.gnu"' "$out/otlp"
    has "OTLP: the process" 'key: "process.pid"' "$out/otlp"
fi

# One that takes connections and never answers: samples are read meanwhile, so that the small buffer is enough, and the end is bounded.
${CC:-cc} -o "$out/silent" test/profiler/programs/silent.c || exit 1
mkfifo "$out/silent.stdin"
"$out/silent" <"$out/silent.stdin" >"$out/silent.port" &
exec 4>"$out/silent.stdin"
until_so test -s "$out/silent.port"
begun=$(date +%s)
SNAPWALK_MODE=wall SNAPWALK_VERBOSE=1 SNAPWALK_MEMORY_MB=4 SNAPWALK_INTERVAL=1 SNAPWALK_ENDPOINT="http://127.0.0.1:$(cat "$out/silent.port")/" \
    profiled "$out/silent.folded" names 7 >"$out/said" 2>&1
code=$?
took=$(($(date +%s) - begun))
# A program that returns from Main while the profile of its signal is still being sent ends of the signal all the same.
ended "$out/hung.with" "$build/tools/snapwalk-profiler" run SNAPWALK_OUT="$out/hung.folded" \
    SNAPWALK_ENDPOINT="http://127.0.0.1:$(cat "$out/silent.port")/" dotnet "$build/dotnet/profiled/profiled.dll" end raise 15
[ $? -eq 143 ] && [ "$(ls "$out"/hung-*.folded | wc -l)" -eq 1 ]
verdict $? "SIGTERM while a receiver hangs: it ends of that, and there is one file" "$out/hung.with"
exec 4>&-
[ $code -eq 0 ] && grep -q '^names: right$' "$out/said"
verdict $? "a receiver that hangs: the program is the same" "$out/said"
grep -q ': Timeout was reached$' "$out/said" && grep -q ' samples so far, 0 lost,' "$out/said" && ! grep -q 'samples lost' "$out"/silent-*.folded
verdict $? "and no sample is lost meanwhile" "$out/said"
[ $took -lt 40 ]
verdict $? "and it ends" "$out/said"

SNAPWALK_HZ=0 SNAPWALK_OUT="$out/bad.folded" SNAPWALK_VERBOSE=1 profiled "$out/bad.folded" status 0.1 >"$out/said" 2>&1
[ $? -eq 7 ]
verdict $? "a wrong option does not keep the program from running" "$out/said"
has "and is said" '^snapwalk-profiler: SNAPWALK_HZ=0: not a number from 1 to 10000$' "$out/said"
prlimit --sigpending=2:2 "$build/tools/snapwalk-profiler" run SNAPWALK_OUT="$out/few.folded" \
    dotnet "$build/dotnet/profiled/profiled.dll" status 0.1 >"$out/said" 2>&1
has "threads that are not sampled are said" '^snapwalk-profiler: some threads are not sampled: .*\(ulimit -i\)$' "$out/said"
# What containers' filters refuse.
${CC:-cc} -o "$out/refuse" test/profiler/programs/refuse.c || exit 1
# refused CALL MODE PATTERN: the program is the same, and it is said
refused() {
    "$out/refuse" "$1" "$build/tools/snapwalk-profiler" run SNAPWALK_MODE="$2" SNAPWALK_OUT="$out/refused.folded" \
        dotnet "$build/dotnet/profiled/profiled.dll" names 0.3 >"$out/said" 2>&1
    [ $? -eq 0 ] && grep -qE "^snapwalk-profiler: threads are not sampled: $1: Operation not permitted \(by a seccomp filter\?\)$3\$" "$out/said"
    verdict $? "$1 is refused: said" "$out/said"
}
if "$out/refuse" timer_create true 2>/dev/null; then
    refused timer_create cpu '; SNAPWALK_MODE=wall needs no timers'
    refused timer_settime cpu '; SNAPWALK_MODE=wall needs no timers'
    refused rt_tgsigqueueinfo wall ''
else
    echo "ok - system calls that are refused # SKIP no seccomp filters here"
fi

# Beside another profiler, as APMs bring: the runtime has one main profiler, and any number that are only notified.
${CC:-cc} -shared -fPIC -o "$out/other.so" test/profiler/programs/other.c || exit 1
beside="env CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER={DF63A541-5A33-4611-8829-F4E495985EE3} CORECLR_PROFILER_PATH_64=$out/other.so"
$beside "$build/tools/snapwalk-profiler" run SNAPWALK_OUT="$out/beside.folded" dotnet "$build/dotnet/profiled/profiled.dll" names 0.3 \
    >"$out/said" 2>&1
grep -q '^other profiler: begun' "$out/said" && grep -q '^other profiler: ended' "$out/said"
verdict $? "run beside another profiler: it stays the main one" "$out/said"
has "and there is a profile" ';Profiled\.Busy\.SpinLater;' "$out"/beside-*.folded
work=
start_sample $beside dotnet "$build/dotnet/profiled/profiled.dll" ready 60
does "attach beside another profiler" attach "$sample" SNAPWALK_HZ=500 SNAPWALK_OUT="$out/attached-beside.folded"
worked
does "detach beside another profiler" detach "$sample"
has "and a profile was written" 'Spin' "$out/attached-beside-$sample.folded"
end_sample
sample=

profiled /nowhere/a.folded status 0.1 >"$out/said" 2>&1
has "a folder that is not there is said at once" '^snapwalk-profiler: SNAPWALK_OUT=/nowhere/a\.folded: No such file or directory: there will be no file$' "$out/said"
has "a file that cannot be written is said" '^snapwalk-profiler: /nowhere/a-[0-9]+\.folded: No such file' "$out/said"
exit $status
