#!/bin/sh
# time.sh BUILD [PART...]: what a look at a large process costs, as a whole command: processor time, which other work on the machine
# changes least, and memory; beside ClrMD for .NET. ROUNDS: how often each command is run (default 5). A part whose runtime is not
# installed is skipped, with a line. Targets, where the machine is quiet: 1 s each, 200 MB for 10,000 threads, ClrMD 20x.
set -u
cd "$(dirname "$0")/../.."
. test/debuggers/chosen.sh
rounds=${ROUNDS:-5}
. mk/sample.sh
. test/snapstacks/look.sh

has() {
    command -v "$1" >/dev/null 2>&1 || {
        echo "$part: skipped: no $1"
        return 1
    }
}

# cost COMMAND...: milliseconds of processor time of one run, user's and system's.
cost() {
    sh -c 'rounds=$1; shift; for round in $(seq "$rounds"); do "$@" >/dev/null 2>&1; done; times' sh "$rounds" "$@" |
        awk -v rounds="$rounds" 'function s(t) { split(t, a, /[ms]/); return 60 * a[1] + a[2] }
            NR == 2 { printf "%.0f", 1000 * (s($1) + s($2)) / rounds }'
}

# look: the process $pid, which is at rest
look() {
    begun=$(date +%s%N)
    "$tool" "$pid" >"$out/$part.seen" 2>&1
    wall=$((($(date +%s%N) - begun) / 1000000))
    ours=$(cost "$tool" "$pid")
    plain=$(cost "$tool" --no-lines "$pid")
    sed -n "1s/^process [0-9]* \(.*\), stopped.*/$part: \1:/p" "$out/$part.seen" | tr -d '\n'
    echo " $ours ms of processor time, $plain without lines; $wall ms by the clock; load $(cut -d ' ' -f 1 /proc/loadavg)"
}

# beside: ClrMD, which prints managed frames, and no lines
beside() {
    theirs=$(cost dotnet "$build/dotnet/clrmd/clrmd.dll" "$pid")
    awk -v part="$part" -v theirs="$theirs" -v ours="$ours" -v plain="$plain" 'BEGIN {
        printf "%s: ClrMD %d ms: %.1fx, without lines %.1fx\n", part, theirs, theirs / ours, theirs / plain }'
}

have_clrmd() {
    has dotnet && { have_dotnet || { echo "$part: skipped: no .NET SDK 10" && return 1; }; } && dotnet_build test/clrmd clrmd
}

part_dotnet() {
    have_clrmd && dotnet_build examples/dotnet sample && start dotnet "$build/dotnet/sample/sample.dll" 600 || return 0
    kill -STOP "$pid"
    look
    beside
}

part_web() {
    have_clrmd || return 0
    dotnet --list-runtimes | grep -q '^Microsoft.AspNetCore.App 10' || { echo "web: skipped: no ASP.NET 10" && return 0; }
    dotnet_build "$here/web" web && start dotnet "$build/dotnet/web/web.dll" 200 || return 0
    kill -STOP "$pid"
    look
    beside
}

part_java() {
    has java && has javac && javac -d "$out" "$here/programs/Floors.java" && start java -Xss512k -cp "$out" Floors 500 && look
}

part_go() {
    has go && HOME=$out GOFLAGS=-mod=mod go build -o "$out/lots" "$here/programs/lots.go" && start "$out/lots" && look
}

part_threads() {
    has "${CC:-gcc}" && "${CC:-gcc}" -O1 -g -D_GNU_SOURCE -pthread -o "$out/idle" test/snapstacks/idle.c && start "$out/idle" 10000 || return 0
    look
    "$tool" "$pid" >/dev/null 2>&1 3<&- &
    looking=$! most=0
    while now=$(awk '/^VmHWM/ { print $2 }' "/proc/$looking/status" 2>/dev/null) && [ -n "$now" ]; do most=$now; done
    wait "$looking"
    echo "threads: $((most / 1024)) MB"
}

for part in dotnet web java go threads; do
    [ "$chosen" = "  " ] || case $chosen in *" $part "*) ;; *) continue ;; esac
    "part_$part"
    for one in $started; do kill -KILL "$one" 2>/dev/null; done
    started=
done
