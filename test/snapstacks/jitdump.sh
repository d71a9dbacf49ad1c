#!/bin/sh
# jitdump.sh BUILD: programs that write a jitdump file, seen by snapstacks: one of ours (jitdump.c), here, in another pid
# namespace and in its capsule; Node, which writes call frame information for what it optimises. TAP on standard output.
set -u
cd "$(dirname "$0")/../.."
build=$(cd "$1" && pwd)
out=$build/test/snapstacks-jitdump
tool=$build/tools/snapstacks/snapstacks
mkdir -p "$out/dumps"
. test/snapstacks/look.sh

# chain FILE: the functions of the program, in order, with how they were found
chain() {
    awk '$1 == "frame" { name = $7; sub(/^.*!/, "", name); sub(/[+].*/, "", name); print name, $5, $6 } $1 == "stop" { print $2 }' "$1" |
        grep -E '^(wait_here|jit_|main|root)' | tr '\n' ';'
}

# looks NAME TARGET [OPTION...]: the chain is the expected one
looks() {
    name=$1
    shift
    "$tool" --plain --no-lines "$@" >"$out/live" 2>"$out/seen"
    chain "$out/live" >>"$out/seen"
    [ "$(chain "$out/live")" = 'wait_here cfi exact;jit_inner cfi exact;jit_outer cfi exact;main cfi exact;root;' ]
    verdict $? "$name"
}

if [ "$(uname -m)" = x86_64 ]; then
    "${CC:-gcc}" -O1 -fomit-frame-pointer test/snapstacks/jitdump.c -o "$out/jitdump" || exit 1
    start "$out/jitdump" "$out/dumps"
    looks "functions by name, and by the call frame information in the file" "$pid" --save "$out/capsule"
    looks "the capsule" "$out/capsule"
    file=$out/dumps/jit-$pid.dump
    size=$(($(wc -c <"$file") - 4))
    head -c "$size" "$file" >"$out/cut" && cat "$out/cut" >"$file"
    "$tool" --plain --no-lines "$pid" >"$out/live" 2>"$out/seen"
    [ "$?" -eq 0 ] && ! grep -q 'jitdump' "$out/seen" && grep -q 'jit_inner$' "$out/live"
    verdict $? "a last record that is cut is no complaint"
    printf 'no jitdump' | dd of="$file" conv=notrunc 2>"$out/seen"
    ends 0 "one that is none is said" 'jitdump file of [0-9]* was not read to its end: SW_E_MALFORMED' "$tool" --plain "$pid"
    rm -f "$file"
    if unshare --pid --mount --fork --mount-proc true 2>"$out/seen"; then
        start unshare --pid --mount --fork --mount-proc sh -c "mount -t tmpfs none '$out/dumps' && exec '$out/jitdump' '$out/dumps'"
        inner=$(cat "/proc/$pid/task/$pid/children")
        inner=${inner%% *}
        started="$started $inner"
        looks "in another pid namespace, on a file system of its own" "$inner"
    else
        echo "ok - in another pid namespace # SKIP unshare is not allowed"
    fi
else
    echo "ok - functions by name and call frame information # SKIP the program is for x64"
fi

# The functions of a script, as the tool tells them apart by V8's own structures.
scripts() {
    awk '$1 == "frame" && $7 ~ /rooms[.]js!/ { print $7 } $1 == "stop" { print $2 }' "$1"
}

if command -v node >/dev/null 2>&1; then
    rooms=$PWD/test/debuggers/programs/rooms.js
    start sh -c "cd '$out/dumps' && exec node --perf-prof --perf-prof-unwinding-info --no-logfile-per-isolate '$rooms'" # its files lie where it starts
    until_so sits "$pid"
    "$tool" --plain --no-lines "$pid" >"$out/with" 2>"$out/seen"
    kill -KILL "$pid"
    start node "$rooms"
    until_so sits "$pid"
    "$tool" --plain --no-lines "$pid" >"$out/without" 2>>"$out/seen"
    scripts "$out/with" >"$out/with.chain"
    scripts "$out/without" >"$out/without.chain"
    grep -q 'rooms[.]js' "$out/with.chain" && diff "$out/with.chain" "$out/without.chain" >>"$out/seen"
    verdict $? "node: the same functions with its file and without"
    rm -f "$out"/dumps/jit-*.dump "$out"/dumps/v8.log
else
    echo "ok - node # SKIP no node"
fi
exit $status
