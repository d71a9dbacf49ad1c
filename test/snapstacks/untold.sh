#!/bin/sh
# untold.sh BUILD: code in no file, of which neither tables nor perf nor gdb know (untold.c): its stack goes on where a search
# finds what tables bear out, not what an earlier call left; the living process, its capsule, its core. Where the code has a
# stack of its own it ends with a sentence. TAP on standard output.
set -u
cd "$(dirname "$0")/../.."
mkdir -p "$1/untold"
build=$(cd "$1" && pwd)
out=$build/untold
tool=$build/tools/snapstacks/snapstacks
. test/snapstacks/look.sh
if [ "$(uname -m)" != x86_64 ]; then
    echo "ok - code that nobody is told of # SKIP not x64"
    exit 0
fi
"${CC:-gcc}" -O2 -fcf-protection=none -o "$out/untold" test/snapstacks/untold.c >"$out/seen" 2>&1
verdict $? "untold.c compiles"

# chain FILE: functions from the code on, with how they were found
chain() {
    awk '$1 == "frame" { name = $7; sub(/^.*!/, "", name); sub(/[+].*/, "", name); print name, $5, $6 } $1 == "stop" { print $2 }' "$1" |
        grep -E '^([?]|earlier|deepest|run_untold|main|root|no-rule)' | tr '\n' ';'
}
expected='? cfi exact;run_untold search guess;main cfi exact;root;'
start "$out/untold"
until_so sits "$pid"
"$tool" --plain --no-lines --save "$out/capsule" "$pid" >"$out/live" 2>"$out/seen"
[ "$(chain "$out/live")" = "$expected" ]
verdict $? "a process: the stack goes on behind code that nobody is told of" "$out/live"
"$tool" --plain --no-lines "$out/capsule" >"$out/read" 2>"$out/seen"
[ "$(grep '^frame' "$out/live")" = "$(grep '^frame' "$out/read")" ] && [ "$(chain "$out/read")" = "$expected" ]
verdict $? "a capsule: the same" "$out/read"
ends 0 "it is said that frames may be missing" '---- found by a search' "$tool" "$pid"
if command -v gcore >/dev/null 2>&1; then
    gcore -o "$out/core" "$pid" >"$out/seen" 2>&1
    "$tool" --plain --no-lines "$out/core.$pid" >"$out/read" 2>"$out/seen"
    [ "$(grep '^frame' "$out/live")" = "$(grep '^frame' "$out/read")" ]
    verdict $? "a core: the same" "$out/read"
    rm -f "$out/core.$pid"
else
    echo "ok - a core: the same # SKIP no gcore"
fi
start "$out/untold" away
until_so sits "$pid"
ends 0 "code with a stack of its own: why the stack ends is a sentence" \
    '^  cut: (no-rule: no table describes|bad-pc: what was taken for the return address of) the code at [0-9a-f]+' "$tool" "$pid"
# push rbx; sub rsp, 64; call rdi; add rsp, 64; pop rbx; ret
{ printf '\123\110\203\354\100\377\327\110\203\304\100\133\303' && head -c 4083 /dev/zero; } >"$out/code"
start "$out/untold" "$out/code"
until_so sits "$pid"
"$tool" --plain --no-lines --save "$out/capsule" "$pid" >"$out/live" 2>"$out/seen"
"$tool" --plain --no-lines "$out/capsule" >"$out/read" 2>"$out/seen"
grep -q ' forward .*run_untold' "$out/live" && [ "$(grep '^frame' "$out/live")" = "$(grep '^frame' "$out/read")" ]
verdict $? "a capsule has code of a file that is no image" "$out/read"

# ---- a stack that goes on in another (fibers.c): it changes as soon as the process runs on ----
"${CC:-gcc}" -O1 -fcf-protection=none -o "$out/fibers" test/snapstacks/fibers.c >"$out/seen" 2>&1
verdict $? "fibers.c compiles"
start "$out/fibers"
for look in 1 2 3 4 5 6 7 8 9 10; do
    "$tool" --plain --no-lines "$pid" 2>&1 | awk '{ sub(/^.*!/, ""); sub(/[+].*/, "") } { printf "%s ", $0 } END { print "" }'
done >"$out/looks"
[ "$(grep -cE 'on_lower run_there main .*stop root $' "$out/looks")" -eq 10 ] && grep -q 'on_upper run_there on_lower' "$out/looks"
verdict $? "a process that works: stacks go on in others" "$out/looks"
start "$out/fibers" wait
until_so sits "$pid"
"$tool" --plain --no-lines --save "$out/capsule" "$pid" >"$out/live" 2>"$out/seen"
"$tool" --plain --no-lines "$out/capsule" >"$out/read" 2>"$out/seen"
grep -q '^stop root' "$out/live" && [ "$(grep -c run_there "$out/live")" -eq 2 ] && [ "$(grep '^frame' "$out/live")" = "$(grep '^frame' "$out/read")" ]
verdict $? "a capsule has the other stacks" "$out/read"
exit $status
