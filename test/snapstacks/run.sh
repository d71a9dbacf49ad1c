#!/bin/sh
# run.sh BUILD: the installed tool as a user meets it: what it prints, how it groups, how it ends. TAP on standard output.
set -u
cd "$(dirname "$0")/../.."
. test/support/wait.sh
mkdir -p "${1:-build}/test/snapstacks"
build=$(cd "${1:-build}" && pwd)
out=$build/test/snapstacks
tool=$build/tools/snapstacks/snapstacks
status=0
started=
trap 'kill -KILL $started 2>/dev/null' EXIT
trap 'exit 1' HUP INT TERM

# verdict STATUS NAME [FILE]: what was printed, where it failed
verdict() {
    if [ "$1" -eq 0 ]; then
        echo "ok - $2"
    else
        echo "not ok - $2"
        head -n 30 "${3:-$out/seen}" | sed 's/^/# /'
        status=1
    fi
}

# start COMMAND...: its pid in $pid, when it is ready; it is ended with this script. Its standard input stays open.
start() {
    : >"$out/said"
    "$@" <&3 >"$out/said" 2>&1 &
    pid=$!
    started="$started $pid"
    until_so is_ready "$out/said" "$pid"
}

# ends CODE NAME PATTERN COMMAND...: with that exit code, and a line of the output or the complaint matches
ends() {
    code=$1
    name=$2
    pattern=$3
    shift 3
    "$@" >"$out/seen" 2>&1
    [ "$?" -eq "$code" ] && grep -qE -- "$pattern" "$out/seen"
    verdict $? "$name"
}

# ---- managed and native frames ----
mkfifo "$out/stdin.$$"
exec 3<>"$out/stdin.$$"
rm -f "$out/stdin.$$"
start "$build/examples/toyjit" 600
toy=$pid
ends 0 "a process by its id: managed frames with their names" '^  #2 .* jit     int Toy[.]pause::dotnet1\(int\)$' "$tool" "$toy"
[ "$(grep -c -- '---- called by managed code ----' "$out/seen")" -ge 3 ] && grep -q -- '---- called by native code ----' "$out/seen"
verdict $? "transitions are marked, both ways"
! grep -q "$(printf '\033')" "$out/seen"
verdict $? "no colours where the output is no terminal"
ends 0 "colours where they are asked for" "$(printf '\033')" "$tool" --color always "$toy"
ends 0 "--verbose says how each frame was found" '^  #1 .* native +cfi/exact +toyjit!in_pause\+0x' "$tool" --verbose "$toy"
ends 0 "--plain: words for programs" '^frame [0-9a-f]+ [0-9a-f]+ jit analysis [a-z]+ int Toy[.]pause::frameless2' "$tool" --plain "$toy"
ends 0 "--folded: root first, the number of threads last" '^.*run_thread;int Toy[.]pause.*;in_pause;pause 1$' "$tool" --folded "$toy"
ends 0 "--speedscope names its schema" 'speedscope[.]app/file-format-schema[.]json' "$tool" --speedscope "$toy"
"$tool" --pprof --output "$out/toy.pb.gz" "$toy" >"$out/seen" 2>&1
if command -v go >/dev/null 2>&1; then
    HOME=$out go tool pprof -top "$out/toy.pb.gz" >"$out/seen" 2>&1 && grep -q 'accounting for 5, 100% of 5 total' "$out/seen"
    verdict $? "--pprof: go tool pprof counts the threads"
else
    echo "ok - --pprof: go tool pprof counts the threads # SKIP no go command"
fi

# ---- threads that are alike ----
"${CC:-gcc}" -O1 -pthread -o "$out/idle" test/snapstacks/idle.c >"$out/seen" 2>&1
verdict $? "idle.c compiles"
start "$out/idle" 1000
idle=$pid
ends 0 "1,000 idle threads are one block" '^1000 threads "idle": [0-9 ]+ and 992 more$' "$tool" "$idle"
[ "$(grep -cE '^(thread|[0-9]+ threads) ' "$out/seen")" -eq 2 ]
verdict $? "and the main thread is the other one"
ends 0 "--all prints each" '^thread ' "$tool" --all "$idle"
[ "$(grep -c '^thread ' "$out/seen")" -eq 1001 ]
verdict $? "1,001 of them"
ends 0 "--folded counts threads" ';read 1000$' "$tool" --folded "$idle"
if command -v python3 >/dev/null 2>&1; then
    "$tool" --json "$idle" >"$out/seen" && python3 -c '
import json, sys
seen = json.load(open(sys.argv[1]))
threads = sorted(len(stack["threads"]) for stack in seen["stacks"])
assert threads == [1, 1000], threads
assert all(stack["whole"] and stack["frames"] for stack in seen["stacks"])
assert len({t["tid"] for stack in seen["stacks"] for t in stack["threads"]}) == 1001
' "$out/seen" 2>"$out/said"
    verdict $? "--json: each thread once, whole stacks" "$out/said"
else
    echo "ok - --json # SKIP no python3 command"
fi
if command -v gcore >/dev/null 2>&1; then
    start "$out/idle" 3
    gcore -o "$out/core" "$pid" >"$out/said" 2>&1
    frames() { awk '$1 == "frame" { print $2, $3, $7 } $1 == "thread" { print "thread", $2 }'; }
    "$tool" --plain "$pid" | frames >"$out/live"
    "$tool" --plain "$out/core.$pid" | frames | diff "$out/live" - >"$out/seen" 2>&1 && [ "$(wc -l <"$out/live")" -gt 20 ]
    verdict $? "a word that is a file is a core: the frames of the living process"
    rm -f "$out/core.$pid"
else
    echo "ok - a word that is a file is a core # SKIP no gcore command"
fi

# ---- names of processes ----
# Its name would have the terminal turn red.
named=$out/$(printf 'na\033[31med%s' $$)
cp /bin/sleep "$named"
"$named" 600 &
pid=$!
started="$started $pid"
is_named() { grep -q '^Name:.*na.*ed' "/proc/$1/status" && sits "$1"; }
until_so is_named "$pid"
ends 0 "a process by its name; what a terminal would obey is escaped" '^thread .*"na\\x1b\[31med' "$tool" --pid "$(basename "$named")"
! grep -q "$(printf '\033')" "$out/seen"
verdict $? "nothing is printed that a terminal would obey"
printf 'sleep 600 & echo $!; wait\n' >"$out/script$$.sh"
/bin/sh "$out/script$$.sh" >"$out/child" &
pid=$!
until_so test -s "$out/child"
started="$started $pid $(cat "$out/child")"
ends 0 "a process by its script, with or without its ending" "^process $pid " "$tool" "script$$"
cp /bin/sleep "$out/twice$$"
for _ in 1 2; do
    "$out/twice$$" 600 &
    pid=$!
    started="$started $pid"
    until_so sits "$pid"
done
ends 3 "several of a name: all are listed" "twice$$: 2 processes have this name; choose one: [0-9]+ [0-9]+\$" "$tool" "twice$$"
rm -f "$named" "$out/twice$$" "$out/script$$.sh"

# ---- ends ----
ends 0 "--help lists the exit codes" '^Exit codes: 0 done, 1 failed' "$tool" --help
ends 1 "an output that is full" '/dev/full: could not be written to its end$' "$tool" --output /dev/full "$toy"
ends 1 "an output that cannot be made" '/nowhere/x: cannot be written; choose another --output$' "$tool" --output /nowhere/x "$toy"
ends 2 "no target" 'a process or a core is needed; snapstacks --help' "$tool"
ends 2 "no such option" "^snapstacks: --nothing: no such option" "$tool" --nothing "$toy"
ends 2 "two targets" "a second target" "$tool" "$toy" "$idle"
ends 2 "--sysroot without a core" "is for cores only" "$tool" --sysroot / "$toy"
ends 3 "no process of that name" 'no process of this name is seen; `ps -e` lists them' "$tool" "nobody-is-called-so"
ends 3 "no process of that id" 'there is no such process; it may have ended$' "$tool" 4194305
ends 5 "a file that is no core" 'not a core file of x64 or ARM64$' "$tool" ./Makefile
ends 5 "a file that is not there" 'no such file$' "$tool" --core ./nothing
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null 2>&1 && setpriv --reuid=65534 --clear-groups test -x "$tool"; then
    ends 4 "a process of another user" "it is another user's: be that user" setpriv --reuid=65534 --clear-groups "$tool" "$toy"
else
    echo "ok - a process of another user # SKIP not root, no setpriv, or the build cannot be entered by others"
fi
start "$out/idle" vfork
ends 6 "a thread in uninterruptible sleep is named and left out" '^  left out: ' "$tool" "$pid"
child=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null)
started="$started $child"

# ---- .NET, without a perf map ----
# In a shell of its own, whose sample is ended with it.
look_at_dotnet() (
    dotnet_build examples/dotnet sample >"$out/said"
    export DOTNET_PerfMapEnabled=0
    start_sample dotnet "$build/dotnet/sample/sample.dll" 600
    ends 0 "a .NET process: its runtime is found" '^process [0-9]+ "dotnet", CLR [0-9]+, ' "$tool" "$sample"
    grep -q ' jit     sample!Sample[.]Calls[.]Recurse(int)$' "$out/seen"
    verdict $? "JIT methods are named out of memory"
    ! grep -qE '[?][+]0x|^  cut: ' "$out/seen"
    verdict $? "each frame has a name or a module, each walk comes to its root"
    awk '$4 == "jit" || $4 == "ngen"' >"$out/managed" <<END
$("$tool" --plain "$sample")
END
    named=$(awk '$7 ~ /!/ && $7 !~ /[+]0x/' "$out/managed" | wc -l) all=$(wc -l <"$out/managed")
    echo "# $named of $all managed frames are named"
    [ "$all" -gt 500 ] && [ $((1000 * named)) -ge $((999 * all)) ]
    verdict $? "at least 99.9 % of the managed frames are named" "$out/managed"
    "$tool" --raw "$sample" >"$out/raw" 2>&1
    ! grep -q '>d__[0-9]*[.]MoveNext' "$out/seen" && grep -q 'Exceptions[.]AsyncCatch$' "$out/seen" &&
        grep -q 'Exceptions[+]<AsyncCatch>d__[0-9]*[.]MoveNext()$' "$out/raw"
    verdict $? "state machines are shown as the methods that were written, and raw on request" "$out/raw"
    exit $status
)
. mk/sample.sh
if have_dotnet; then
    look_at_dotnet || status=1
else
    echo "ok - .NET without a perf map # SKIP no .NET SDK 10"
fi
exit $status
