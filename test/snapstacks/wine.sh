#!/bin/sh
# wine.sh BUILD: a Windows program that Wine runs (wine.c), as snapstacks sees it on Linux: every thread's stack leads from
# Wine's ELF libraries through the Windows program to where Wine began it; the process, its capsule. TAP on standard
# output.
set -u
cd "$(dirname "$0")/../.."
mkdir -p "$1/wine"
build=$(cd "$1" && pwd)
out=$build/wine
tool=$build/tools/snapstacks/snapstacks
. test/snapstacks/look.sh
. test/support/wine.sh
title="a Windows program in Wine"
[ "$(uname -m)" = x86_64 ] || { echo "ok - $title # SKIP not x64"; exit 0; }
command -v x86_64-w64-mingw32-gcc >/dev/null 2>&1 || { echo "ok - $title # SKIP no x86_64-w64-mingw32-gcc command"; exit 0; }
find_wine || { echo "ok - $title # SKIP no wine64 command (package wine64)"; exit 0; }
x86_64-w64-mingw32-gcc -std=c11 -O2 -Wall -Wextra -Werror -Wl,--export-all-symbols -static -o "$out/wine.exe" \
    test/snapstacks/wine.c >"$out/seen" 2>&1
verdict $? "wine.c compiles"
use_wine "$out"
trap 'kill -KILL $started 2>/dev/null; leave_wine' EXIT
timeout 120 "$wine" cmd.exe /c exit >"$out/seen" 2>&1 </dev/null # makes the folder
[ -d "$WINEPREFIX/drive_c" ] || { echo "ok - $title # SKIP wine64 runs no program here"; exit $status; }

# chains FILE: of each thread the functions of the program and what is around it; a word each, sorted
chains() {
    awk '$1 == "frame" { name = $7; sub(/[+].*/, "", name); sub(/^.*!/, "", name); chain = chain name "," }
        $1 == "stop" { print chain $2; chain = "" }' "$1" |
        sed -nE 's/.*(__wine_syscall_dispatcher[a-z_]*|(spin_here)),([^,]*,)*(main|spins|sleeps|reads|locks|asks),/\2 \4,/p' | sort
}

# all_there FILE: six threads, each to the root
all_there() {
    [ "$(chains "$1" | sed 's/,.*,\(BaseThreadInitThunk,RtlUserThreadStart,root-zero\)$/,\1/' | paste -sd ' ')" = \
        "$(for thread in ' asks' ' locks' ' main' ' reads' ' sleeps' 'spin_here spins'; do
            echo "$thread,BaseThreadInitThunk,RtlUserThreadStart,root-zero"
        done | sort | paste -sd ' ')" ]
}

start "$wine" "$out/wine.exe"
for look in 1 2 3 4 5 6 7 8 9 10; do
    "$tool" --plain --no-lines --save "$out/capsule" "$pid" >"$out/live" 2>"$out/seen"
    # A thread that asks may be on its way, outside of the dispatcher.
    [ "$(grep -c '^stop root-zero' "$out/live")" = 6 ] && [ "$(grep -c '^stop' "$out/live")" = 6 ] || {
        cp "$out/live" "$out/bad"
        break
    }
    ! all_there "$out/live" || whole=$look
done
[ ! -f "$out/bad" ] && [ "${whole:-0}" -gt 0 ]
verdict $? "a process: all threads lead through Wine's two sides to the root" "$out/live"
"$tool" --plain --no-lines "$out/capsule" >"$out/read" 2>"$out/seen"
[ "$(grep '^frame' "$out/live")" = "$(grep '^frame' "$out/read")" ]
verdict $? "a capsule: the same" "$out/read"
exit $status
